#include "lower/new_nodes.h"

#include <fmt/format.h>

namespace pt2 {

void become(Graph& graph, NodeId id, std::string_view target, std::vector<NamedArgument> inputs) {
  graph.set_node_target(id, std::string(target));
  graph.set_node_inputs(id, std::move(inputs));
}

ValueId NewNodes::add_value(std::string_view name, TensorMeta meta) {
  return graph_.add_value({.name = graph_.unused_name(name), .meta = std::move(meta)}).value();
}

NodeId NewNodes::insert(Node node) {
  node.metadata = graph_.node(before_).metadata;
  return graph_.insert_node(std::move(node), before_);
}

ValueId NewNodes::call(std::string_view target, std::string_view name, TensorMeta meta,
                       std::vector<NamedArgument> inputs) {
  const ValueId id = add_value(name, std::move(meta));
  insert({.target = std::string(target), .inputs = std::move(inputs), .outputs = {Argument(id)}});
  return id;
}

GraphNames::GraphNames(const Graph& graph) {
  for (const Graph& nested : graph.subgraphs()) taken_.insert(nested.name);
}

std::string GraphNames::unused(const std::string& name) {
  std::string free = name;
  while (!taken_.insert(free).second) free = fmt::format("{}_{}", name, ++last_number_[name]);
  return free;
}

}  // namespace pt2
