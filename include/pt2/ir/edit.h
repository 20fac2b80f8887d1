// Edits that affect more than one graph: edits that also change the signature, and extraction of a
// part of a graph. Members of Graph do single steps on one graph.
#ifndef PT2_IR_EDIT_H
#define PT2_IR_EDIT_H

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/ir/graph.h"
#include "pt2/ir/program.h"
#include "pt2/result.h"

namespace pt2 {

// Renames a value of the program's graph, also in the signature and in module_call_graph. Error
// `invalid` if the name is taken. O(1), plus the size of the signature.
Result<void> rename_value(Program& program, ValueId id, std::string name);

// Renames inputs of the program's graph, also in the signature: `new_name` returns the name that an
// input gets, followed by a number if it is taken, or nothing. True if an input got one. Linear in
// the signature.
bool rename_inputs(Program& program,
                   const std::function<std::optional<std::string>(std::string_view)>& new_name);

// Renames the values whose name a constant among the inputs has. The constant is no value, so
// Graph::unused_name gives its name out, but PyTorch makes a node of each input and loads no
// program with two nodes of one name (deserialize_graph). True if there were any. Linear in the
// signature.
bool leave_names_to_constants(Program& program);

// Erases a node of the program's graph, as Graph::erase_node. A module call whose signature names a
// result of the node keeps its place in the hierarchy but loses the signature, so it cannot be
// called by itself. Error `invalid` if a result is still used. Linear in the module calls.
Result<void> erase_node(Program& program, NodeId id);

// Replaces all uses of a value, as Graph::replace_all_uses, and updates the output specs, as
// ExportGraphSignature.get_replace_hook does for torch.fx (torch/export/graph_signature.py).
void replace_all_uses(Program& program, ValueId value, ValueId replacement);

// Some nodes of a graph as a graph of their own.
struct ExtractedGraph {
  Graph graph{};
  // Values of the original graph, in the order of the inputs and outputs of the extracted graph.
  std::vector<ValueId> inputs{};
  std::vector<ValueId> outputs{};
};
// Copies `nodes` and their nested graphs to a new graph. Its inputs are the values that the nodes
// use but do not define, in order of first use. Its outputs are the values that other nodes use, in
// order of definition. Names are kept. Error `invalid` if the nodes cannot be executed as a unit,
// because one of their inputs depends on one of their results. Linear in the graph.
Result<ExtractedGraph> extract_graph(const Graph& graph, std::span<const NodeId> nodes);

}  // namespace pt2

#endif  // PT2_IR_EDIT_H
