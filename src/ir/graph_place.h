// Places of a program's graphs and nodes in its JSON.
#ifndef PT2_IR_GRAPH_PLACE_H
#define PT2_IR_GRAPH_PLACE_H

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pt2/diagnostics.h"
#include "pt2/ir/program.h"

namespace pt2 {

struct PlacedGraph {
  const Graph* graph = nullptr;
  std::string place{};             // ".graph_module.graph.nodes[3].inputs[1].arg.as_graph.graph"
  const Node* caller = nullptr;    // null for the program's own graph
  size_t caller_graph = SIZE_MAX;  // index in placed_graphs of the graph that contains `caller`

  std::string node_place(size_t position) const;
  std::string input_place(size_t position, size_t input) const;
  std::string output_place(size_t position, size_t output) const;
};

// Returns the program's graph and all nested ones; each comes after the graph that calls it.
// Linear.
std::vector<PlacedGraph> placed_graphs(const Program& program);

// Returns the node's own name, or else the name of its first result.
std::string node_name(const Graph& graph, const Node& node);
// Returns the node's name, target, module and source line, for messages.
NodePlace describe_node(const Graph& graph, const Node& node);

// Finds the innermost node on a path, a place in the JSON that the program was read from. The
// program must not be edited meanwhile.
class NodePlaces {
 public:
  explicit NodePlaces(const Program& program) : program_(program) {}

  // Empty if no node is on the path. Linear in `where`: a node with many findings is described only
  // once.
  const NodePlace& find(std::string_view where);

 private:
  const Program& program_;
  std::unordered_map<const Node*, NodePlace> described_;
};

// "%linear_1 (torch.ops.aten.linear.default) at model.py:12".
std::string node_place(const Graph& graph, const Node& node);
// Prepends the node to the error's place: "%cond (...) > %add (...)".
Error at_node(Error error, const Graph& graph, const Node& node);

}  // namespace pt2

#endif  // PT2_IR_GRAPH_PLACE_H
