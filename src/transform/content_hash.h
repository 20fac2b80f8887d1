// What tells nodes apart that have the same target and the same kinds of arguments.
#ifndef PT2_TRANSFORM_CONTENT_HASH_H
#define PT2_TRANSFORM_CONTENT_HASH_H

#include <cstdint>
#include <span>
#include <vector>

#include "pt2/graph.h"

namespace pt2 {

// By node id. Depends on what a node computes (target, constants, what defines its values) and on
// what becomes of its results (users, outputs), not on names or on the order of nodes. Equal hashes
// mean nodes that nothing tells apart, but for collisions. `graph` must be in an order in which
// every value is defined before it is used. Linear in the graph.
std::vector<uint64_t> content_hashes(const Graph& graph, std::span<const Argument> inputs,
                                     std::span<const Argument> outputs);

}  // namespace pt2

#endif  // PT2_TRANSFORM_CONTENT_HASH_H
