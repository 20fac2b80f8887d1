#include "lower/written_memory.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>

#include "ir/values/record.h"
#include "ir/walk.h"
#include "ops/table.h"

namespace pt2 {
namespace {

bool writes_to(const ops::Operator& op, size_t parameter) {
  return op.signature().parameter_array[parameter].mutated ||
         (op.form == ops::Operator::Form::in_place && parameter == 0);
}

// True if `is_wanted` holds for an operator of the graph, or of a graph nested in it.
template <class Wanted>
bool any_operator(const Graph& graph, const Wanted& is_wanted) {
  const auto calls_wanted = [&](const Node& node) {
    const ops::Operator op = ops::find_operator(node.target);
    return op && is_wanted(op);
  };
  return any_node(graph, calls_wanted) ||
         std::ranges::any_of(graph.subgraphs(),
                             [&](const Graph& nested) { return any_operator(nested, is_wanted); });
}

// Calls `visit(ValueId)` for every value that the node may write to.
template <class Visit>
void for_each_written(const Graph& graph, const Node& node, Visit&& visit) {
  bool has_writes = false;
  for (const NamedArgument& input : node.inputs)
    for_each_subgraph(
        input.arg, [&](SubgraphId id) { has_writes = has_writes || writes(graph.subgraph(id)); });
  const ops::Operator op = ops::find_operator(node.target);
  if (!has_writes && (!op || !op.mutates())) return;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ops::Parameter* parameter = op ? op.signature().find(node.inputs[i].name) : nullptr;
    const bool is_known = parameter != nullptr && !has_writes;
    if (!is_known || writes_to(op, static_cast<size_t>(parameter - op.signature().parameter_array)))
      for_each_value(node.inputs[i].arg, visit);
  }
}

}  // namespace

bool writes(const Graph& graph) {
  return any_operator(graph, [](const ops::Operator& op) { return op.mutates(); });
}

bool looks_at_strides(const Graph& graph) {
  return any_operator(graph, [](const ops::Operator& op) {
    return op.custom == nullptr && op.def->facts.looks_at_strides;
  });
}

std::vector<ValueId> written_values(const Graph& graph, const Node& node) {
  std::vector<ValueId> values;
  for_each_written(graph, node, [&](ValueId id) { values.push_back(id); });
  return values;
}

std::vector<uint32_t> memory_classes(const Graph& graph) {
  std::vector<uint32_t> classes(graph.value_count());
  std::iota(classes.begin(), classes.end(), 0u);
  const auto root = [&](uint32_t value) {
    while (classes[value] != value) value = classes[value] = classes[classes[value]];
    return value;
  };
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (!may_share_memory(node)) continue;
    std::optional<uint32_t> first;
    const auto join = [&](ValueId value) {
      if (is_number(graph.value(value))) return;
      const uint32_t each = root(static_cast<uint32_t>(value));
      if (!first) first = each;
      classes[each] = root(*first);
    };
    for_each_operand(node, join);
    for_each_result(node, join);
  }
  for (uint32_t value = 0; value < classes.size(); ++value) classes[value] = root(value);
  return classes;
}

bool may_share_memory(const Node& node) {
  const ops::Operator op = ops::find_operator(node.target);
  if (!op || op.form == ops::Operator::Form::in_place || op.signature().may_alias()) return true;
  return op.custom == nullptr && op.def->facts.sharing != ops::Sharing::as_signed;
}

WrittenMemory::WrittenMemory(const Graph& graph, bool inputs_are_written)
    : written_(graph.value_count()) {
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  const auto mark = [&](ValueId id) { written_[static_cast<size_t>(id)] = true; };
  if (inputs_are_written)
    for (const Argument& input : graph.inputs()) for_each_value(input, mark);
  const auto holds = [&](ValueId id) { return may_hold(id); };
  // Backward: marks the values that are written to and their bases.
  for (size_t i = nodes.size(); i-- > 0;) {
    const Node& node = graph.node(nodes[i]);
    for_each_written(graph, node, mark);
    if (may_share_memory(node) && any_result(node, holds)) for_each_operand(node, mark);
  }
  // Forward: marks the views of marked values.
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    if (may_share_memory(node) && any_operand(node, holds)) for_each_result(node, mark);
  }
}

}  // namespace pt2
