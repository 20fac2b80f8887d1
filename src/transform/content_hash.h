// Hashes that distinguish nodes with the same target and the same kinds of arguments.
#ifndef PT2_TRANSFORM_CONTENT_HASH_H
#define PT2_TRANSFORM_CONTENT_HASH_H

#include <cstdint>
#include <span>
#include <vector>

#include "pt2/ir/graph.h"

namespace pt2 {

// Returns hashes by node id. A hash depends on the node's computation (target, constants,
// definitions of its inputs) and on the uses of its results (users, outputs), but not on names or
// on the order of nodes. Nodes with equal hashes are interchangeable, except for collisions. In
// `graph`, every value must be defined before it is used. Linear in the graph.
std::vector<uint64_t> content_hashes(const Graph& graph, std::span<const Argument> inputs,
                                     std::span<const Argument> outputs);

}  // namespace pt2

#endif  // PT2_TRANSFORM_CONTENT_HASH_H
