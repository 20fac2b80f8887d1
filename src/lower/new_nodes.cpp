#include "lower/new_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pt2 {

TensorMeta stacked(TensorMeta meta, int64_t count) {
  int64_t stride = 1;
  for (const SymInt& size : meta.sizes)
    if (size.is_symbolic() || __builtin_mul_overflow(stride, size.literal(), &stride)) stride = 0;
  meta.sizes.insert(meta.sizes.begin(), SymInt(count));
  meta.strides.insert(meta.strides.begin(), SymInt(stride));
  meta.storage_offset = {};
  return meta;
}

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

NodeNames::NodeNames(const Graph& graph) : graph_(graph) {
  for (const NodeId id : graph.nodes())
    if (const auto& name = graph.node(id).name) numbers_.emplace(*name, 1);
}

std::string NodeNames::unused(std::string_view name) {
  std::string free(name);
  size_t& number = numbers_[free];
  const bool is_new = std::exchange(number, std::max<size_t>(number, 1)) == 0;
  if (is_new && !graph_.find_value(free)) return free;
  do free = fmt::format("{}_{}", name, number++);
  while (graph_.find_value(free) || !numbers_.emplace(free, 1).second);
  return free;
}

}  // namespace pt2
