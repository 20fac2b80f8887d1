#include "lower/functional/writes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "check/shapes/abstract_value.h"
#include "ir/target.h"
#include "lower/arguments.h"
#include "ops/meta.h"

namespace pt2 {
namespace {

Write unknown(std::string text) { return {.form = Write::Form::unknown, .text = std::move(text)}; }

bool is_given(const Node& node, std::string_view name) {
  const Argument* argument = node.find_input(name);
  return argument != nullptr && !argument->is<None>();
}

// Returns the operator that computes the same without writing; empty if there is none.
std::string functional_target(const ops::Operator& op) {
  const std::string_view form = op.def->facts.functional_form;
  return form.empty() ? std::string() : std::string(kAten) + std::string(form);
}

Write batch_norm(const Node& node, const ops::Operator& op) {
  const auto* is_training = find_argument<bool>(node, op.def->facts.updates_statistics_if);
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
  return {.form = Write::Form::updates,
          .target = std::move(functional),
          .written = {"running_mean", "running_var"}};
}

Write in_place(const Graph& graph, const Node& node, const ops::Signature& functional,
               const ops::Operator& op) {
  Write write{.form = Write::Form::in_place, .target = ops::target_of(functional)};
  if (functional.parameter_count == 0 || node.inputs.empty())
    return unknown(fmt::format("{} has no argument", node.target));
  const std::string_view self = op.signature().begin()->name;
  const auto found = std::ranges::find(node.inputs, self, &NamedArgument::name);
  const TensorMeta* meta = found != node.inputs.end() ? tensor_meta(graph, found->arg) : nullptr;
  if (meta == nullptr)
    return unknown(fmt::format("{} writes to something that is not a tensor", node.target));
  write.input = static_cast<size_t>(found - node.inputs.begin());
  if (functional.find(self) == nullptr) write.names.emplace(self, functional.begin()->name);
  return write;
}

// A functional form that returns the results of the operator, followed by the new value of each
// argument that the operator writes to (torchgen/native_function_generation.py).
Write updates(const Node& node, const ops::Signature& own, const ops::Signature& functional) {
  Write write{.form = Write::Form::updates, .target = ops::target_of(functional)};
  for (const ops::Parameter& parameter : own)
    if (parameter.mutated) write.written.emplace_back(parameter.name);
  if (functional.return_count != own.return_count + write.written.size())
    return unknown(
        fmt::format("{} writes, and {} does not give what it writes", node.target, write.target));
  return write;
}
void collect_dtypes(const Value& value, std::vector<Dtype>& dtypes) {
  if (const auto* tensor = value.get_if<Tensor>()) dtypes.push_back(tensor->dtype());
  if (const auto* list = value.get_if<Value::List>())
    for (const Value& item : *list) collect_dtypes(item, dtypes);
}

}  // namespace

Write write_of(const Graph& graph, const Node& node, const ops::Operator& op) {
  // A custom operator without results must have effects on its arguments.
  const bool says_so = op ? op.mutates() : name_says_mutable(node.target) || node.outputs.empty();
  // An out= form shares the table row of its functional operator, but writes to other arguments.
  const bool has_row = op && op.form == ops::Operator::Form::as_written;
  if (has_row && !op.def->facts.updates_statistics_if.empty()) return batch_norm(node, op);
  if (!says_so) return {};
  if (op && op.form == ops::Operator::Form::in_place)
    return in_place(graph, node, *op.def->signature, op);
  if (has_row && !op.def->facts.functional_form.empty())
    if (const auto functional = ops::find_operator(functional_target(op))) {
      if (functional.def->is_view())
        return {.form = Write::Form::view, .target = functional_target(op)};
      return op.signature().return_count == 1 && functional.signature().return_count == 1
                 ? in_place(graph, node, functional.signature(), op)
                 : updates(node, op.signature(), functional.signature());
    }
  return unknown(fmt::format("{} writes, and no operator computes what it does", node.target));
}

std::optional<std::vector<Dtype>> dtypes_of_results(const Graph& graph, const Node& node) {
  const ops::Operator op = ops::find_operator(node.target);
  if (!op || !op.def->is_predictable()) return std::nullopt;
  const auto arguments =
      check::abstract_arguments(graph, node, op.signature(), check::abstract_value_of_ones);
  if (!arguments) return std::nullopt;
  const auto results = ops::infer_values(*op.def, *arguments);
  if (!results) return std::nullopt;
  std::vector<Dtype> dtypes;
  for (const Value& result : *results) collect_dtypes(result, dtypes);
  return dtypes;
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
