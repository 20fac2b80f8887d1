// Edits beyond the tables of one graph: edits that the signature must follow, and extracting a part
// of a graph. Single steps are Graph's own members.
#ifndef PT2_IR_EDIT_H
#define PT2_IR_EDIT_H

#include <span>
#include <string>
#include <vector>

#include "pt2/ir/graph.h"
#include "pt2/ir/program.h"
#include "pt2/result.h"

namespace pt2 {

// Renames a value of the program's graph, in the signature and in module_call_graph too. Error
// `invalid` when the name is taken. O(1) but for the signature.
Result<void> rename_value(Program& program, ValueId id, std::string name);

// Graph::erase_node of the program's graph. A module call whose signature names a result of the
// node keeps its place in the hierarchy and loses the signature: it cannot be called by itself any
// more. Error `invalid` when a result is still used. Linear in the module calls.
Result<void> erase_node(Program& program, NodeId id);

// As Graph::replace_all_uses, and updates the output specs, as
// ExportGraphSignature.get_replace_hook does for torch.fx (torch/export/graph_signature.py).
void replace_all_uses(Program& program, ValueId value, ValueId replacement);

// Some nodes of a graph as a graph of their own.
struct ExtractedGraph {
  Graph graph{};
  // Of the original graph, in the order of the extracted graph's inputs and outputs.
  std::vector<ValueId> inputs{};
  std::vector<ValueId> outputs{};
};
// Copies `nodes`, with the graphs nested in them. Inputs are the values that the nodes use but do
// not define, in order of first use; outputs are the values that other nodes use, in order of
// definition. Names stay. Error `invalid` when the nodes could not be executed as one: one of their
// inputs depends on one of their results. Linear in the graph.
Result<ExtractedGraph> extract_graph(const Graph& graph, std::span<const NodeId> nodes);

}  // namespace pt2

#endif  // PT2_IR_EDIT_H
