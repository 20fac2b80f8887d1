// A number for what a node computes, for tables: equal for equal nodes, and for others only by
// chance. Where somebody may look for such a chance, digests are needed (pt2/tools/hash.h).
#ifndef PT2_TRANSFORM_NODE_HASH_H
#define PT2_TRANSFORM_NODE_HASH_H

#include <cstdint>
#include <functional>
#include <string_view>

#include "pt2/ir/node.h"

namespace pt2 {

uint64_t mix_hash(uint64_t hash, uint64_t value);
uint64_t mix_hash(uint64_t hash, std::string_view text);

// What stands for the operands: the hash of a value; the hash so far with a nested graph mixed in.
struct OperandHashes {
  std::function<uint64_t(ValueId)> value;
  std::function<uint64_t(uint64_t hash, SubgraphId)> subgraph = [](uint64_t hash, SubgraphId) {
    return hash;
  };
};

// Of target and arguments; what the node and its results are called, and where they come from, are
// left out. The same on every machine.
uint64_t hash_node(const Node& node, const OperandHashes& operands);

}  // namespace pt2

#endif  // PT2_TRANSFORM_NODE_HASH_H
