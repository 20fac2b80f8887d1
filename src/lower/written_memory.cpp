#include "lower/written_memory.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>

#include "ir/values/record.h"
#include "ops/table.h"

namespace pt2 {
namespace {

bool writes_to(const ops::Operator& op, size_t parameter) {
  return op.signature().parameter_array[parameter].mutated ||
         (op.form == ops::Operator::Form::in_place && parameter == 0);
}

// Calls `visit(const Argument&)` for every argument that the node may write to.
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
      visit(node.inputs[i].arg);
  }
}

}  // namespace

bool writes(const Graph& graph) {
  const auto mutates = [&](NodeId id) {
    const ops::Operator op = ops::find_operator(graph.node(id).target);
    return op && op.mutates();
  };
  return std::ranges::any_of(graph.nodes(), mutates) ||
         std::ranges::any_of(graph.subgraphs(), writes);
}

bool looks_at_strides(const Graph& graph) {
  const auto looks = [&](NodeId id) {
    const ops::Operator op = ops::find_operator(graph.node(id).target);
    return op && op.custom == nullptr && op.def->facts.looks_at_strides;
  };
  return std::ranges::any_of(graph.nodes(), looks) ||
         std::ranges::any_of(graph.subgraphs(), looks_at_strides);
}

std::vector<ValueId> written_values(const Graph& graph, const Node& node) {
  std::vector<ValueId> values;
  for_each_written(graph, node, [&](const Argument& argument) {
    for_each_value(argument, [&](ValueId id) { values.push_back(id); });
  });
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
    for (const NamedArgument& input : node.inputs) for_each_value(input.arg, join);
    for (const Argument& output : node.outputs) for_each_value(output, join);
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
  if (inputs_are_written)
    for (const Argument& input : graph.inputs())
      for_each_value(input, [&](ValueId id) { written_[static_cast<size_t>(id)] = true; });
  find_written(graph);
}

void WrittenMemory::find_written(const Graph& graph) {
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  const auto mark = [&](const Argument& argument) {
    for_each_value(argument, [&](ValueId id) { written_[static_cast<size_t>(id)] = true; });
  };
  const auto holds = [&](const Argument& argument) {
    bool found = false;
    for_each_value(argument, [&](ValueId id) { found = found || may_hold(id); });
    return found;
  };
  // Backward: marks the values that are written to and their bases.
  for (size_t i = nodes.size(); i-- > 0;) {
    const Node& node = graph.node(nodes[i]);
    for_each_written(graph, node, mark);
    if (may_share_memory(node) && std::ranges::any_of(node.outputs, holds))
      for (const NamedArgument& input : node.inputs) mark(input.arg);
  }
  // Forward: marks the views of marked values.
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    const auto input_holds = [&](const NamedArgument& input) { return holds(input.arg); };
    if (may_share_memory(node) && std::ranges::any_of(node.inputs, input_holds))
      for (const Argument& output : node.outputs) mark(output);
  }
}

}  // namespace pt2
