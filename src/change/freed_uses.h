// Uses of a freed size that rarely mean what they compute.
#ifndef PT2_CHANGE_FREED_USES_H
#define PT2_CHANGE_FREED_USES_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "pt2/ir/graph.h"

namespace pt2 {

class FreedUses {
 public:
  using Depends = std::function<bool(ValueId)>;

  // `depends` tells whether a value depends on the freed size. The graph must outlive the object.
  FreedUses(const Graph& graph, Expr symbol, int64_t old_size, Depends depends);

  // Returns what the node, which nothing refuses, does to the freed size that is rarely meant, so
  // that a choice made before is the wrong one. At an old size of 1, the size meets itself: as two
  // sizes of a sum of tensors of n x 1 and 1 x n, in statistics, or in a product that sums over it.
  std::optional<std::string> unlikely(const Node& node) const;

 private:
  bool is_merged_and_more(ValueId value) const;
  size_t freed_sizes(ValueId value) const;
  bool broadcasts_to(ValueId value, ValueId result, size_t rank) const;
  bool indexes_beyond(const Node& node) const;
  bool counts_only(ValueId value) const;

  const Graph& graph_;
  const Expr symbol_;
  const int64_t old_size_;
  const Depends depends_;
  SymbolBindings none_, one_;  // of the symbol: 0 and 1
};

}  // namespace pt2

#endif  // PT2_CHANGE_FREED_USES_H
