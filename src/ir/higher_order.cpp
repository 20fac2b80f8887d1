#include "ir/higher_order.h"

#include <algorithm>
#include <iterator>

#include "ir/target.h"

namespace pt2 {
namespace {

using enum HigherOrderRow::Trait;
constexpr HigherOrderRow kRows[] = {
#define PT2_HIGHER_ORDER(name, first_graph, graph_count, first_operand, callee, traits, function) \
  {name, first_graph, graph_count, first_operand, callee, traits},
#include "ir/higher_order.def"
};
static_assert(std::ranges::is_sorted(kRows, {}, &HigherOrderRow::name));

const HigherOrderRow* find_row(std::string_view name) {
  const auto* row = std::ranges::lower_bound(kRows, name, {}, &HigherOrderRow::name);
  return row != std::end(kRows) && row->name == name ? row : nullptr;
}

}  // namespace

std::span<const HigherOrderRow> higher_order_operators() { return kRows; }

const HigherOrderRow* find_higher_order_operator(std::string_view target) {
  return target_form(target) == TargetForm::higher_order ? find_row(last_part(target)) : nullptr;
}

std::vector<const Argument*> operands_of_graphs(const HigherOrderRow& row, const Node& node) {
  std::vector<const Argument*> out;
  for (size_t i = size_t{row.first_graph} + row.graph_count; i < node.inputs.size(); ++i) {
    const Argument& argument = node.inputs[i].arg;
    const auto* list = argument.get_if<ArgumentList>();
    for (const Argument& item : list != nullptr ? std::span(list->items) : std::span(&argument, 1))
      out.push_back(&item);
  }
  return out;
}

bool may_have_same_sizes(const TensorMeta& a, const TensorMeta& b) {
  return std::ranges::equal(a.sizes, b.sizes, [](const SymInt& x, const SymInt& y) {
    return x.is_symbolic() || y.is_symbolic() || x.literal() == y.literal();
  });
}

const std::string* called_operator(const Node& node) {
  const HigherOrderRow* row = find_higher_order_operator(node.target);
  if (row == nullptr || row->callee < 0) return nullptr;
  const auto position = static_cast<size_t>(row->callee);
  if (position >= node.inputs.size()) return nullptr;
  const auto* name = node.inputs[position].arg.get_if<OperatorName>();
  return name == nullptr ? nullptr : &name->target;
}

}  // namespace pt2
