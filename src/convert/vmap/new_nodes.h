// Nodes that rewritings put into a graph, and what the result of a vmap region becomes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/graph.h"

namespace pt2 {

NamedArgument positional(std::string name, Argument argument);
NamedArgument keyword(std::string name, Argument argument);
Argument int_list(std::span<const int64_t> numbers);
Argument tensor_list(const std::vector<ValueId>& values);

// The value of a node with one result.
inline ValueId only_output(const Node& node) { return *node.outputs[0].get_if<ValueId>(); }

// Another operator and other arguments for the same results.
void become(Graph& graph, NodeId id, std::string_view target, std::vector<NamedArgument> inputs);

// Inserts before a node, with its metadata.
class NewNodes {
 public:
  NewNodes(Graph& graph, NodeId before) : graph_(graph), before_(before) {}

  // The name is made unique.
  ValueId add_value(std::string_view name, TensorMeta meta);
  NodeId insert(Node node);
  // A call with one result.
  ValueId call(std::string_view target, std::string_view name, TensorMeta meta,
               std::vector<NamedArgument> inputs);

 private:
  Graph& graph_;
  NodeId before_;
};

// `base_1` or the like: a name that no nested graph has.
std::string unused_graph_name(const Graph& graph, std::string_view base);

// The dimensions of a tensor from the one with the longest stride to the one with the shortest;
// `first`, then the others, where strides are not known.
std::vector<int64_t> memory_order(const TensorMeta& meta, int64_t first);
// `meta` with its dimensions in another order.
TensorMeta permuted(const TensorMeta& meta, std::span<const int64_t> order);
std::vector<int64_t> inverse(std::span<const int64_t> order);

// The node becomes a permutation of `stacked`, whose batch dimension comes first, with that
// dimension at `dim`. It gets the strides that it had: nodes behind it may take a view of it.
void arrange_result(Graph& graph, NodeId id, ValueId stacked, int64_t dim);
// The node becomes `value`, which is the same for all elements, `size` times along a new dimension.
void expand_result(Graph& graph, NodeId id, ValueId value, const Argument& size, int64_t dim);

}  // namespace pt2
