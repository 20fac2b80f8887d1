// Where the graphs and nodes of a program lie in its JSON.
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
  const Node* caller = nullptr;    // null: the program's own graph
  size_t caller_graph = SIZE_MAX;  // index in placed_graphs of the graph with `caller`

  std::string node_place(size_t position) const;
  std::string input_place(size_t position, size_t input) const;
  std::string output_place(size_t position, size_t output) const;
};

// The program's graph and all nested ones; each comes after the graph that calls it. Linear.
std::vector<PlacedGraph> placed_graphs(const Program& program);

// The node's own name, else that of its first result.
std::string node_name(const Graph& graph, const Node& node);
// The node's name, target, module and source line, for messages.
NodePlace describe_node(const Graph& graph, const Node& node);

// The innermost nodes on paths, places in the JSON that the program was read from. It must not be
// edited afterwards.
class NodePlaces {
 public:
  explicit NodePlaces(const Program& program) : program_(program) {}

  // Empty when there is none. Linear in `where`: a node with many findings is described once.
  const NodePlace& find(std::string_view where);

 private:
  const Program& program_;
  std::unordered_map<const Node*, NodePlace> described_;
};

// "%linear_1 (torch.ops.aten.linear.default) at model.py:12".
std::string node_place(const Graph& graph, const Node& node);
// Puts the node in front of the error's place: "%cond (...) > %add (...)".
Error at_node(Error error, const Graph& graph, const Node& node);

}  // namespace pt2

#endif  // PT2_IR_GRAPH_PLACE_H
