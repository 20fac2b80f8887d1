#include "check/shapes/recorded_sizes.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "check/shapes/shape_check.h"
#include "check/shapes/symbol_samples.h"
#include "ir/higher_order.h"
#include "ir/walk.h"
#include "ops/table.h"

namespace pt2::check {
namespace {

bool may_be_part(const Graph& inner, const Argument& part, const Graph& outer,
                 const Argument& whole, std::optional<int64_t> sliced_along) {
  const TensorMeta *x = tensor_meta(inner, part), *y = tensor_meta(outer, whole);
  return x == nullptr || y == nullptr || may_have_sizes_of(*x, *y, sliced_along);
}

// Of lists of different lengths it is unknown which items belong together.
bool fits_caller(const Graph& inner, const Graph& outer, const Node& caller) {
  const HigherOrderRow* row = find_higher_order_operator(caller.target);
  if (row == nullptr || row->graph_count == 0) return true;
  const std::vector<GraphOperand> operands = operands_of_graphs(*row, caller);
  for (size_t i = 0; operands.size() == inner.inputs().size() && i < operands.size(); ++i)
    if (!may_be_part(inner, inner.inputs()[i], outer, *operands[i].argument,
                     operands[i].sliced_along))
      return false;
  if (row->has(HigherOrderRow::kFirstIsCondition) && row->first_graph < caller.inputs.size()) {
    const auto* first = caller.inputs[row->first_graph].arg.get_if<SubgraphId>();
    if (first != nullptr && &outer.subgraph(*first) == &inner) return true;
  }
  const std::vector<ValueId> results = results_of(caller);
  for (size_t i = 0; results.size() == inner.outputs().size() && i < results.size(); ++i)
    if (!may_be_part(inner, inner.outputs()[i], outer, Argument(results[i]),
                     stacked_along(*row, caller, i)))
      return false;
  return true;
}

// True if a result that is used is recorded with constant sizes alone. torch.export makes a symbol
// for a size that depends on elements.
bool records_constant_sizes(const Graph& graph, const Node& node) {
  return any_result(
      node, [&](ValueId id) { return !graph.uses(id).empty() && !is_symbolic(graph.value(id)); });
}

}  // namespace

bool recorded_sizes_hold(const Program& program) {
  const std::vector<PlacedGraph> graphs = placed_graphs(program);
  const SymbolBindings hints = hint_bindings(graphs);
  const Abstraction record = by_record(hints, Layouts::any);
  for (const PlacedGraph& placed : graphs) {
    const Graph& graph = *placed.graph;
    if (placed.caller != nullptr &&
        !fits_caller(graph, *graphs[placed.caller_graph].graph, *placed.caller))
      return false;
    for (const NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      const ops::Operator op = ops::find_operator(node.target);
      if (!op) continue;
      const ops::Signature& signature = op.signature();
      if (node.outputs.size() != signature.return_count) return false;
      for (size_t i = 0; i < node.outputs.size(); ++i)
        if (!fits_result(graph, node.outputs[i], signature.return_array[i])) return false;
      const ShapeVerdict verdict =
          ShapeCheck(graph, node, op, Agreement::as_computed).judge(record);
      if (verdict.fault && !verdict.is_refused()) return false;
      if (verdict.depends_on_data && records_constant_sizes(graph, node)) return false;
    }
  }
  return true;
}

}  // namespace pt2::check
