// Nodes that passes put into a graph.
#ifndef PT2_LOWER_NEW_NODES_H
#define PT2_LOWER_NEW_NODES_H

#include <string>
#include <string_view>
#include <vector>

#include "base/hash/text_hash.h"
#include "pt2/ir/graph.h"

namespace pt2 {

// Returns the result of a node with one result; null for other nodes, such as one that gives a
// list.
inline const ValueId* find_only_output(const Node& node) {
  return node.outputs.size() == 1 ? node.outputs[0].get_if<ValueId>() : nullptr;
}
inline ValueId only_output(const Node& node) { return *find_only_output(node); }

// Returns the metadata of `count` such tensors that are stacked in row-major order along a new
// first dimension. Its stride is 0 if sizes are symbolic.
TensorMeta stacked(TensorMeta meta, int64_t count);

// Replaces the node's operator and arguments; its results stay.
void become(Graph& graph, NodeId id, std::string_view target, std::vector<NamedArgument> inputs);

// Inserts nodes before a given node, with that node's metadata.
class NewNodes {
 public:
  NewNodes(Graph& graph, NodeId before) : graph_(graph), before_(before) {}

  // Adds a value; makes `name` unique.
  ValueId add_value(std::string_view name, TensorMeta meta);
  NodeId insert(Node node);
  // Inserts a call with one result.
  ValueId call(std::string_view target, std::string_view name, TensorMeta meta,
               std::vector<NamedArgument> inputs);

 private:
  Graph& graph_;
  NodeId before_;
};

// Names that are unique across a graph's nested graphs. Constant time each, as Graph::unused_name.
class GraphNames {
 public:
  explicit GraphNames(const Graph& graph);

  // Returns `name`, or `name_1` and so on. The returned name then counts as taken.
  std::string unused(const std::string& name);

 private:
  TextSet<std::string> taken_;
  TextMap<std::string, size_t> last_number_;
};

// Names of nodes, which no other node and no value of the graph has. A node with one result has the
// name of that; others need names of their own.
class NodeNames {
 public:
  // `graph` must outlive the object.
  explicit NodeNames(const Graph& graph);

  // Returns `name`, or `name_1` and so on. The returned name then counts as taken.
  std::string unused(std::string_view name);

 private:
  const Graph& graph_;
  TextMap<std::string, size_t> numbers_;
};

}  // namespace pt2

#endif  // PT2_LOWER_NEW_NODES_H
