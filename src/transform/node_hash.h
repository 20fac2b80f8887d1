// Hashes of a node's computation, for hash tables. Equal nodes have equal hashes; other nodes only
// by chance. If somebody may construct collisions, use digests (pt2/tools/hash.h).
#ifndef PT2_TRANSFORM_NODE_HASH_H
#define PT2_TRANSFORM_NODE_HASH_H

#include <cstdint>
#include <functional>
#include <string_view>

#include "pt2/ir/node.h"

namespace pt2 {

uint64_t mix_hash(uint64_t hash, uint64_t value);
uint64_t mix_hash(uint64_t hash, std::string_view text);

// Hashes for operands: `value` returns a value's hash; `subgraph` mixes a nested graph into a hash.
struct OperandHashes {
  std::function<uint64_t(ValueId)> value;
  std::function<uint64_t(uint64_t hash, SubgraphId)> subgraph = [](uint64_t hash, SubgraphId) {
    return hash;
  };
};

// Hashes the target and the arguments. Ignores the names of the node and its results, and the
// node's origin. Equal on all machines.
uint64_t hash_node(const Node& node, const OperandHashes& operands);

}  // namespace pt2

#endif  // PT2_TRANSFORM_NODE_HASH_H
