#include "check/shapes/proven_dtypes.h"

#include <algorithm>

#include "check/shapes/abstract_value.h"
#include "check/shapes/shape_check.h"
#include "ir/walk.h"
#include "ops/table.h"

namespace pt2::check {
namespace {

bool has_recorded_dtype(const Graph& graph, const Argument& output, const Value& computed) {
  const auto* list = output.get_if<ArgumentList>();
  const auto* items = computed.get_if<Value::List>();
  if (list != nullptr && items != nullptr)
    return std::ranges::equal(list->items, *items, [&](const Argument& item, const Value& value) {
      return has_recorded_dtype(graph, item, value);
    });
  const TensorMeta* meta = tensor_meta(graph, output);
  const auto* tensor = computed.get_if<Tensor>();
  return meta != nullptr && tensor != nullptr && meta->dtype.dtype() == tensor->dtype();
}

bool gives_recorded_dtypes(const Graph& graph, const Node& node, const Abstraction& hints) {
  const auto results = results_of_recorded_dtypes(graph, node, hints);
  return results && std::ranges::equal(node.outputs, *results,
                                       [&](const Argument& output, const Value& computed) {
                                         return has_recorded_dtype(graph, output, computed);
                                       });
}

}  // namespace

Result<std::vector<Value>> results_of_recorded_dtypes(const Graph& graph, const Node& node,
                                                      const Abstraction& hints) {
  const ops::Operator op = ops::find_operator(node.target);
  if (!op || op.def == nullptr) return Error{ErrorCode::unsupported, "no operator here"};
  ShapeCheck check(graph, node, op);
  auto results = check.infer(hints);
  // The dtypes of results depend only on ranks and dtypes, so sizes of 1 serve as well.
  return results ? std::move(results) : check.infer(abstract_value_of_ones);
}

std::vector<bool> proven_dtypes(const Graph& graph, const SymbolBindings& hints, bool inputs_hold,
                                std::vector<bool> wanted) {
  // Clang 14 cannot compile std::views of this standard library.
  std::vector<NodeId> last_first(graph.nodes().begin(), graph.nodes().end());
  std::ranges::reverse(last_first);
  std::vector<NodeId> asked;
  for (const NodeId id : last_first) {
    const Node& node = graph.node(id);
    if (!any_result(node, [&](ValueId value) { return wanted[static_cast<size_t>(value)]; }))
      continue;
    asked.push_back(id);
    for_each_operand(node, [&](ValueId value) { wanted[static_cast<size_t>(value)] = true; });
  }
  std::vector<bool> proven(graph.value_count(), false);
  for (const Argument& input : graph.inputs())
    for_each_value(input, [&](ValueId value) { proven[static_cast<size_t>(value)] = inputs_hold; });
  std::ranges::reverse(asked);
  const Abstraction by_hints = by_record(hints);
  for (const NodeId id : asked) {
    const Node& node = graph.node(id);
    // A number needs no proof: the record gives the kind of number, whatever its value is.
    const auto is_unproven = [&](ValueId value) {
      return graph.value(value).tensor() != nullptr && !proven[static_cast<size_t>(value)];
    };
    if (any_operand(node, is_unproven) || !gives_recorded_dtypes(graph, node, by_hints)) continue;
    for_each_result(node, [&](ValueId value) { proven[static_cast<size_t>(value)] = true; });
  }
  return proven;
}

}  // namespace pt2::check
