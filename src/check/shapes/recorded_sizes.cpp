#include "check/shapes/recorded_sizes.h"

#include <algorithm>
#include <vector>

#include "check/shapes/shape_check.h"
#include "check/shapes/symbol_samples.h"
#include "ir/higher_order.h"
#include "ops/table.h"

namespace pt2::check {
namespace {

std::vector<const Argument*> items_from(std::span<const Argument> arguments) {
  std::vector<const Argument*> out;
  for (const Argument& argument : arguments) {
    const auto* list = argument.get_if<ArgumentList>();
    for (const Argument& item : list != nullptr ? std::span(list->items) : std::span(&argument, 1))
      out.push_back(&item);
  }
  return out;
}

const TensorMeta* record_of(const Graph& graph, const Argument& argument) {
  const auto* id = argument.get_if<ValueId>();
  return id == nullptr ? nullptr : graph.value(*id).tensor();
}

// Symbols are not compared: a nested graph may have its own.
bool agree(const TensorMeta* a, const TensorMeta* b) {
  return a == nullptr || b == nullptr ||
         std::ranges::equal(a->sizes, b->sizes, [](const SymInt& x, const SymInt& y) {
           return x.is_symbolic() || y.is_symbolic() || x.literal() == y.literal();
         });
}

// Of lists of different lengths it is unknown which items belong together.
bool agree(const Graph& outer, const std::vector<const Argument*>& given, const Graph& inner,
           std::span<const Argument> own) {
  for (size_t i = 0; given.size() == own.size() && i < own.size(); ++i)
    if (!agree(record_of(outer, *given[i]), record_of(inner, own[i]))) return false;
  return true;
}

bool fits_caller(const Graph& inner, const Graph& outer, const Node& caller) {
  const HigherOrderRow* row = find_higher_order_operator(caller.target);
  if (row == nullptr || row->graph_count == 0 || row->has(HigherOrderRow::kOwnOperands) ||
      row->has(HigherOrderRow::kSlices))
    return true;
  std::vector<Argument> operands;
  for (size_t i = size_t{row->first_graph} + row->graph_count; i < caller.inputs.size(); ++i)
    operands.push_back(caller.inputs[i].arg);
  if (!agree(outer, items_from(operands), inner, inner.inputs())) return false;
  const auto* first = caller.inputs[row->first_graph].arg.get_if<SubgraphId>();
  const bool is_condition = row->has(HigherOrderRow::kFirstIsCondition) && first != nullptr &&
                            &outer.subgraph(*first) == &inner;
  return is_condition || agree(outer, items_from(caller.outputs), inner, inner.outputs());
}

}  // namespace

bool recorded_sizes_hold(const Program& program) {
  const std::vector<PlacedGraph> graphs = placed_graphs(program);
  const SymbolBindings hints = hint_bindings(graphs);
  const Abstraction record = by_record(hints);
  for (const PlacedGraph& placed : graphs) {
    const Graph& graph = *placed.graph;
    if (placed.caller != nullptr &&
        !fits_caller(graph, *graphs[placed.caller_graph].graph, *placed.caller))
      return false;
    for (const NodeId id : graph.nodes()) {
      const ops::Operator op = ops::find_operator(graph.node(id).target);
      if (!op) continue;
      const auto fault = ShapeCheck(graph, graph.node(id), op).judge(record).fault;
      if (fault && fault->rule != Rule::operands) return false;
    }
  }
  return true;
}

}  // namespace pt2::check
