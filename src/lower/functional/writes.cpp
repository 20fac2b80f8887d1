#include "lower/functional/writes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "ir/target.h"
#include "lower/arguments.h"
#include "ops/meta.h"

namespace pt2 {
namespace {

constexpr std::string_view kAten = "torch.ops.aten.";

constexpr std::string_view kGiveBool[] = {
    "eq", "ge", "gt", "le", "logical_and", "logical_not", "logical_or", "logical_xor", "lt", "ne"};
// Of integers they give int64 where no dtype is asked for.
constexpr std::string_view kGiveInt64[] = {"cumprod", "cumsum"};
// Arguments that the result's dtype does not depend on.
constexpr std::string_view kNotPromoted[] = {"alpha", "beta",  "condition", "fill_value",
                                             "index", "mask",  "source",    "src",
                                             "value", "values"};

template <size_t N>
bool is_one_of(std::string_view name, const std::string_view (&names)[N]) {
  return std::ranges::find(names, name) != std::end(names);
}

std::string_view aten_name(std::string_view target) {
  return target.starts_with(kAten) ? target.substr(kAten.size()) : std::string_view();
}
std::string_view without_overload(std::string_view name) { return name.substr(0, name.find('.')); }

Write unknown(std::string text) { return {.form = Write::Form::unknown, .text = std::move(text)}; }

bool is_given(const Node& node, std::string_view name) {
  const Argument* argument = node.find_input(name);
  return argument != nullptr && !argument->is<None>();
}

// What computes the same without writing; empty where nothing does.
std::string functional_target(const ops::Operator& op) {
  const std::string_view form = op.def->facts.functional_form;
  return form.empty() ? std::string() : std::string(kAten) + std::string(form);
}

Write batch_norm(const Node& node, const ops::Operator& op) {
  const Argument* flag = node.find_input(op.def->facts.updates_statistics_if);
  const auto* is_training = flag != nullptr ? flag->get_if<bool>() : nullptr;
  if (!op.mutates()) {
    if (is_training != nullptr && !*is_training) return {};
    if (!is_given(node, "running_mean") && !is_given(node, "running_var")) return {};
  }
  std::string functional = functional_target(op);
  if (functional.empty() || is_training == nullptr)
    return unknown(
        fmt::format("{} writes running statistics, which no operator computes by "
                    "themselves",
                    node.target));
  return {.form = Write::Form::batch_norm, .target = std::move(functional)};
}

void add_operand(ops::Promotion& promotion, const Graph& graph, const Argument& argument) {
  if (const TensorMeta* meta = tensor_meta(graph, argument)) {
    const Sizes sizes(meta->sizes.empty() ? 0 : 1, 1);
    if (const auto dtype = meta->dtype.dtype())
      promotion.add(Tensor::without_elements(*dtype, sizes));
  } else if (const auto* flag = argument.get_if<bool>()) {
    promotion.add(Scalar(*flag));
  } else if (const auto* number = argument.get_if<int64_t>()) {
    promotion.add(Scalar(*number));
  } else if (const auto* fraction = argument.get_if<double>()) {
    promotion.add(Scalar(*fraction));
  }
}

// Of what the functional operator computes.
Dtype computed_dtype(const Graph& graph, const Node& node, const ops::Signature& signature,
                     Dtype stored, std::string_view functional) {
  const std::string_view name = without_overload(aten_name(functional));
  if (is_one_of(name, kGiveBool)) return Dtype::bool_;
  if (is_one_of(name, kGiveInt64) && dtype_category(stored) < DtypeCategory::floating &&
      !is_given(node, "dtype"))
    return Dtype::int64;
  ops::Promotion promotion;
  for (const NamedArgument& input : node.inputs) {
    const ops::Parameter* parameter = signature.find(input.name);
    if (parameter == nullptr || is_one_of(input.name, kNotPromoted)) continue;
    const ops::BaseType base = parameter->type.base;
    if (base == ops::BaseType::tensor || base == ops::BaseType::scalar)
      add_operand(promotion, graph, input.arg);
  }
  return promotion.result();
}

Write in_place(const Graph& graph, const Node& node, const ops::Signature& functional,
               const ops::Operator& op) {
  Write write{.form = Write::Form::in_place, .target = ops::target_of(functional)};
  if (functional.parameter_count == 0 || node.inputs.empty())
    return unknown(fmt::format("{} has no argument", node.target));
  const std::string_view self = op.signature().begin()->name;
  const auto found = std::ranges::find(node.inputs, self, &NamedArgument::name);
  const TensorMeta* meta = found != node.inputs.end() ? tensor_meta(graph, found->arg) : nullptr;
  const auto stored = meta != nullptr ? meta->dtype.dtype() : std::nullopt;
  if (!stored) return unknown(fmt::format("{} writes to something that is no tensor", node.target));
  write.input = static_cast<size_t>(found - node.inputs.begin());
  if (functional.begin()->name != self) write.names.emplace(self, functional.begin()->name);
  const Dtype computed = computed_dtype(graph, node, op.signature(), *stored, write.target);
  if (dtype_category(computed) > dtype_category(*stored))
    return unknown(
        fmt::format("{} writes numbers of another kind than those of its memory", node.target));
  if (computed != *stored) write.dtype = ScalarType{dtype_info(computed).schema_number};
  return write;
}

}  // namespace

Write write_of(const Graph& graph, const Node& node, const ops::Operator& op) {
  if (aten_name(node.target) == "detach_.default") return {};
  // A custom operator that gives nothing is there for what it does to its arguments.
  const bool says_so = op ? op.mutates() : name_says_mutable(node.target) || node.outputs.empty();
  // A form with outs, which has the row of the functional operator, writes to other arguments.
  const bool has_row = op && op.form == ops::Operator::Form::as_written;
  if (has_row && !op.def->facts.updates_statistics_if.empty()) return batch_norm(node, op);
  if (!says_so) return {};
  if (op && op.form == ops::Operator::Form::in_place)
    return in_place(graph, node, *op.def->signature, op);
  if (has_row && !op.def->facts.functional_form.empty())
    if (const auto functional = ops::find_operator(functional_target(op)))
      return in_place(graph, node, functional.signature(), op);
  return unknown(fmt::format("{} writes, and no operator computes what it does", node.target));
}

TensorMeta in_memory_of_its_own(TensorMeta meta) {
  meta.storage_offset = SymInt(0);
  const size_t rank = meta.sizes.size();
  const auto is_literal = [](const SymInt& number) { return !number.is_symbolic(); };
  if (meta.strides.size() != rank || !std::ranges::all_of(meta.sizes, is_literal) ||
      !std::ranges::all_of(meta.strides, is_literal))
    return meta;
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(),
                           [&](size_t dim) { return meta.strides[dim].literal(); });
  int64_t stride = 1;
  for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
    meta.strides[*dim] = SymInt(stride);
    if (__builtin_mul_overflow(stride, std::max<int64_t>(meta.sizes[*dim].literal(), 1), &stride))
      return meta;
  }
  return meta;
}

}  // namespace pt2
