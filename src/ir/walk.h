// Walks over graphs: the parts of an argument, the values that a node takes and gives, the node
// that makes a value, and the numbers that a file records of a value.
#ifndef PT2_IR_WALK_H
#define PT2_IR_WALK_H

#include <algorithm>
#include <concepts>
#include <optional>
#include <type_traits>
#include <vector>

#include "pt2/ir/graph.h"

namespace pt2 {

// Calls `visit(Argument&)` for the argument, or for every item of its lists and maps. The reader
// bounds their depth.
template <class Visit>
void for_each_leaf(Argument& argument, const Visit& visit) {
  if (auto* list = argument.get_if<ArgumentList>()) {
    for (Argument& item : list->items) for_each_leaf(item, visit);
  } else if (auto* map = argument.get_if<ArgumentMap>()) {
    for (auto& [key, item] : map->items) for_each_leaf(item, visit);
  } else {
    visit(argument);
  }
}

// Call `visit(ValueId)` for every value that the node takes or gives, those in lists included, in
// order. A node to be made, with other members but the same `inputs`, will do for what it takes.
template <class Call, class Visit>
void for_each_operand(const Call& node, Visit&& visit) {
  for (const NamedArgument& input : node.inputs) for_each_value(input.arg, visit);
}
template <class Visit>
void for_each_result(const Node& node, Visit&& visit) {
  for (const Argument& output : node.outputs) for_each_value(output, visit);
}
// Calls `visit(SubgraphId)` for every nested graph that the node calls.
template <class Visit>
void for_each_callee(const Node& node, Visit&& visit) {
  for (const NamedArgument& input : node.inputs) for_each_subgraph(input.arg, visit);
}

// True if `is_wanted(ValueId)` holds for a value of the argument, or for one that the node takes or
// gives.
template <class Wanted>
bool any_value(const Argument& argument, const Wanted& is_wanted) {
  bool found = false;
  for_each_value(argument, [&](ValueId id) { found = found || is_wanted(id); });
  return found;
}
template <class Call, class Wanted>
bool any_operand(const Call& node, const Wanted& is_wanted) {
  return std::ranges::any_of(
      node.inputs, [&](const NamedArgument& input) { return any_value(input.arg, is_wanted); });
}
template <class Wanted>
bool any_result(const Node& node, const Wanted& is_wanted) {
  return std::ranges::any_of(node.outputs,
                             [&](const Argument& output) { return any_value(output, is_wanted); });
}
// True if `is_wanted(const Node&)` holds for a node of the graph, nested graphs excluded.
template <class Wanted>
bool any_node(const Graph& graph, const Wanted& is_wanted) {
  return std::ranges::any_of(graph.nodes(), [&](NodeId id) { return is_wanted(graph.node(id)); });
}

// Returns the values that the node gives, or their number.
inline std::vector<ValueId> results_of(const Node& node) {
  std::vector<ValueId> results;
  for_each_result(node, [&](ValueId id) { results.push_back(id); });
  return results;
}

inline size_t result_count(const Node& node) {
  size_t count = 0;
  for_each_result(node, [&](ValueId) { ++count; });
  return count;
}

// Return the node that makes the value; nothing or null if none does.
inline std::optional<NodeId> maker_of(const Graph& graph, ValueId value) {
  const Definition& definition = graph.value(value).definition;
  return definition.by == Definition::By::node ? std::optional(definition.node) : std::nullopt;
}
inline const Node* find_maker(const Graph& graph, ValueId value) {
  const auto id = maker_of(graph, value);
  return id ? &graph.node(*id) : nullptr;
}

// Returns the metadata of a tensor argument; null for other arguments.
inline const TensorMeta* tensor_meta(const Graph& graph, const Argument& argument) {
  const auto* id = argument.get_if<ValueId>();
  return id != nullptr ? graph.value(*id).tensor() : nullptr;
}
inline const TensorMeta* tensor_meta(const Graph& graph, const Argument* argument) {
  return argument != nullptr ? tensor_meta(graph, *argument) : nullptr;
}

// Calls `visit` with each number that a file records of a value: a SymInt, SymFloat or SymBool that
// the value is, or the sizes, strides and storage offset of a tensor. `meta` is GraphValue::meta,
// or a copy of it that `visit` may change.
template <class Meta, class Visit>
void for_each_number(Meta& meta, const Visit& visit) {
  const auto visit_meta = [&](auto& each) {
    using T = std::remove_cvref_t<decltype(each)>;
    if constexpr (std::same_as<T, TensorMeta>) {
      for (auto& size : each.sizes) visit(size);
      for (auto& stride : each.strides) visit(stride);
      visit(each.storage_offset);
    } else if constexpr (!std::same_as<T, CustomObjectType>) {
      visit(each);
    }
  };
  std::visit(visit_meta, meta);
}

// Changes the numbers of all values of the graph and of its nested graphs by
// `change(number) -> Result<void>`. Error: the first failure.
template <class Change>
Result<void> change_numbers(Graph& graph, const Change& change) {
  Result<void> done;
  for_each_graph(graph, [&](Graph& each) {
    for (const ValueId id : each.values()) {
      auto meta = each.value(id).meta;
      for_each_number(meta, [&](auto& number) {
        if (done) done = change(number);
      });
      if (!done) return;
      each.set_value_meta(id, std::move(meta));
    }
  });
  return done;
}

}  // namespace pt2

#endif  // PT2_IR_WALK_H
