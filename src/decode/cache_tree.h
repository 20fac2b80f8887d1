// Names of the leaves of a cache. Transformers flattens its cache objects to lists of tensors; the
// JSON of their tree describes the original objects (exporter_dynamo.py, _flatten_to_context).
#ifndef PT2_DECODE_CACHE_TREE_H
#define PT2_DECODE_CACHE_TREE_H

#include <optional>
#include <string>
#include <vector>

#include "pt2/ir/pytree.h"

namespace pt2::decode {

// The description of one layer in the tree (transformers/cache_utils.py).
struct CacheLayer {
  std::optional<int64_t> window{};  // how many of the newest tokens it attends to; none: all
  std::optional<int64_t> length{};  // how many tokens its tensors hold; none: they grow
  // True if the program was exported with a full window of fixed length: keys and values move up,
  // and the new ones are last. Otherwise the program writes each after the previous one.
  bool moves_up = false;

  bool operator==(const CacheLayer&) const = default;
};

struct CacheLeaf {
  std::string path{};                 // "layers[0].keys"
  std::optional<int64_t> initial{};   // the value before the first token, if it is not zero
  std::optional<CacheLayer> layer{};  // the layer of the leaf
};

// Returns one entry for each leaf of `spec`; the path is empty if the tree does not tell the place.
std::vector<CacheLeaf> cache_leaves(const TreeSpec& spec);

}  // namespace pt2::decode

#endif  // PT2_DECODE_CACHE_TREE_H
