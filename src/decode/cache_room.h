// How many tokens fit into the tensors of a program that keeps its cache itself, in buffers.
#ifndef PT2_DECODE_CACHE_ROOM_H
#define PT2_DECODE_CACHE_ROOM_H

#include <cstdint>
#include <optional>
#include <span>

#include "pt2/ir/graph.h"

namespace pt2::decode {

// Returns the least size of the graph inputs' dimensions into which nodes write at the token's
// position, given the indices of the graph inputs that are positions. Nothing if there are none, or
// if places are computed otherwise than by adding to positions: a ring of the latest tokens has no
// bound. Linear.
std::optional<int64_t> cache_room(const Graph& graph, std::span<const size_t> positions);

}  // namespace pt2::decode

#endif  // PT2_DECODE_CACHE_ROOM_H
