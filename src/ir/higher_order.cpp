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

size_t behind_graphs(const HigherOrderRow& row) {
  return size_t{row.first_graph} + row.graph_count;
}

const int64_t* number_at(const Node& node, size_t position) {
  return position < node.inputs.size() ? node.inputs[position].arg.get_if<int64_t>() : nullptr;
}

// True for the settings of operators that go over slices: the count of map_impl up to 2.2, the
// dimension and direction of scan and associative_scan up to 2.6. `position` is counted from the
// first argument that follows the graphs.
bool is_setting(const HigherOrderRow& row, const Argument& argument, size_t position) {
  return (argument.is<int64_t>() || argument.is<bool>()) &&
         (position == 0 || row.has(kPairs) || row.has(kCarries));
}

// Returns the dimension along which operands are sliced. From 2.7 on it is always 0.
int64_t slice_dim(const HigherOrderRow& row, const Node& node) {
  const size_t behind_slices = behind_graphs(row) + (row.has(kCarries) ? 2 : 1);
  const int64_t* dim =
      row.has(kPairs) || row.has(kCarries) ? number_at(node, behind_slices) : nullptr;
  return dim != nullptr ? *dim : 0;
}

}  // namespace

std::span<const HigherOrderRow> higher_order_operators() { return kRows; }

const HigherOrderRow* find_higher_order_operator(std::string_view target) {
  return target_form(target) == TargetForm::higher_order ? find_row(last_part(target)) : nullptr;
}

std::vector<GraphOperand> operands_of_graphs(const HigherOrderRow& row, const Node& node) {
  const size_t behind = behind_graphs(row);
  const bool slices = row.has(kSlices) && !row.has(kFirstIsCondition);
  // Up to 2.2 map_impl(graph, count, *sliced, *others); otherwise the sliced operands are one list.
  const bool may_count = slices && !row.has(kPairs) && !row.has(kCarries);
  const int64_t* count = may_count ? number_at(node, behind) : nullptr;
  const size_t first = behind + (count != nullptr || row.has(kCarries) ? 1 : 0);
  const int64_t length = count != nullptr ? *count : 1;
  std::vector<GraphOperand> out;
  for (size_t i = behind; i < node.inputs.size(); ++i) {
    const Argument& argument = node.inputs[i].arg;
    if (slices && is_setting(row, argument, i - behind)) continue;
    const auto* list = argument.get_if<ArgumentList>();
    GraphOperand operand{.in_list = list != nullptr};
    if (slices && i >= first && static_cast<int64_t>(i - first) < length)
      operand.sliced_along = slice_dim(row, node);
    for (const Argument& item :
         list != nullptr ? std::span(list->items) : std::span(&argument, 1)) {
      operand.argument = &item;
      out.push_back(operand);
    }
    if (row.has(kPairs) && operand.sliced_along) {
      const std::vector<GraphOperand> left = out;
      out.insert(out.end(), left.begin(), left.end());
    }
  }
  return out;
}

std::optional<int64_t> stacked_along(const HigherOrderRow& row, const Node& node, size_t index) {
  if (!row.has(kSlices)) return std::nullopt;
  if (row.has(kPairs)) return slice_dim(row, node);
  if (!row.has(kCarries)) return 0;
  const size_t behind = behind_graphs(row);
  const auto* carried =
      behind < node.inputs.size() ? node.inputs[behind].arg.get_if<ArgumentList>() : nullptr;
  return carried != nullptr && index < carried->items.size() ? std::nullopt
                                                             : std::optional<int64_t>(0);
}

bool may_have_sizes_of(const TensorMeta& part, const TensorMeta& whole,
                       std::optional<int64_t> sliced_along) {
  const auto may_be_same = [](const SymInt& x, const SymInt& y) {
    return x.is_symbolic() || y.is_symbolic() || x.literal() == y.literal();
  };
  if (!sliced_along) return std::ranges::equal(part.sizes, whole.sizes, may_be_same);
  const auto rank = static_cast<int64_t>(whole.sizes.size());
  const int64_t dim = *sliced_along < 0 ? *sliced_along + rank : *sliced_along;
  if (dim < 0 || dim >= rank) return false;
  const auto sizes = std::span(whole.sizes);
  const auto at = static_cast<size_t>(dim);
  return part.sizes.size() + 1 == sizes.size() &&
         std::ranges::equal(std::span(part.sizes).first(at), sizes.first(at), may_be_same) &&
         std::ranges::equal(std::span(part.sizes).subspan(at), sizes.subspan(at + 1), may_be_same);
}

const std::string* called_operator(const Node& node) {
  const HigherOrderRow* row = find_higher_order_operator(node.target);
  if (row == nullptr || row->callee < 0) return nullptr;
  const auto position = static_cast<size_t>(row->callee);
  if (position >= node.inputs.size()) return nullptr;
  const auto* name = node.inputs[position].arg.get_if<OperatorName>();
  return name == nullptr ? nullptr : &name->target;
}

std::optional<size_t> called_object(const Node& node) {
  const HigherOrderRow* row = find_higher_order_operator(node.target);
  size_t object = 0;
  if (const std::string* callee = called_operator(node)) {
    object = row->first_operand;
    row = find_higher_order_operator(*callee);
  }
  const bool is_method =
      row != nullptr && row->name == "call_torchbind" && object + 1 < node.inputs.size();
  return is_method ? std::optional(object) : std::nullopt;
}

std::optional<std::string> called_method(const Graph& graph, const Node& node) {
  const std::optional<size_t> position = called_object(node);
  if (!position) return std::nullopt;
  const auto* object = node.inputs[*position].arg.get_if<ValueId>();
  const auto* method = node.inputs[*position + 1].arg.get_if<std::string>();
  const auto* type =
      object == nullptr ? nullptr : std::get_if<CustomObjectType>(&graph.value(*object).meta);
  if (type == nullptr || method == nullptr) return std::nullopt;
  return type->class_fqn + "." + *method;
}

}  // namespace pt2
