// How much of the nodes' origin metadata is read.
#ifndef PT2_IR_NODE_ORIGINS_H
#define PT2_IR_NODE_ORIGINS_H

#include "pt2/ir/node.h"

namespace pt2 {

enum class NodeOrigins : bool { whole, brief };
// Keeps only the metadata that module_path and source_line need.
Metadata brief_metadata(Metadata metadata);

}  // namespace pt2

#endif  // PT2_IR_NODE_ORIGINS_H
