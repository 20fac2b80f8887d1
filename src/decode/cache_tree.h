// What the leaves of a cache are called. Transformers flattens the objects of its caches to lists
// of tensors; the JSON of their tree says what each was (exporter_dynamo.py, _flatten_to_context).
#ifndef PT2_DECODE_CACHE_TREE_H
#define PT2_DECODE_CACHE_TREE_H

#include <optional>
#include <string>
#include <vector>

#include "pt2/ir/pytree.h"

namespace pt2::decode {

// What the tree tells of one layer (transformers/cache_utils.py).
struct CacheLayer {
  std::optional<int64_t> window{};  // how many tokens it looks at, the newest among them; none: all
  std::optional<int64_t> length{};  // how many its tensors have room for; none: they grow
  // The program was exported with a full window of fixed length: keys and values move up by the new
  // ones, which are last. Otherwise it writes each behind the one before.
  bool moves_up = false;

  bool operator==(const CacheLayer&) const = default;
};

struct CacheLeaf {
  std::string path{};                 // "layers[0].keys"
  std::optional<int64_t> initial{};   // what it is before the first token, where that is not zero
  std::optional<CacheLayer> layer{};  // that it belongs to
};

// One for each leaf of `spec`; those whose place the tree does not tell have an empty path.
std::vector<CacheLeaf> cache_leaves(const TreeSpec& spec);

}  // namespace pt2::decode

#endif  // PT2_DECODE_CACHE_TREE_H
