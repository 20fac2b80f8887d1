// The origins of nodes: how much of them is read, and those of added nodes.
#ifndef PT2_IR_NODE_ORIGINS_H
#define PT2_IR_NODE_ORIGINS_H

#include "pt2/ir/graph.h"
#include "pt2/ir/node.h"

namespace pt2 {

enum class NodeOrigins : bool { whole, brief };
// Keeps only the metadata that module_path and source_line need.
Metadata brief_metadata(Metadata metadata);

// Returns the metadata that torch.export gives to a node of the outermost module: only that module,
// as the stack of another node names it. Empty if no node has such a stack. O(nodes).
Metadata root_metadata(const Graph& graph);

}  // namespace pt2

#endif  // PT2_IR_NODE_ORIGINS_H
