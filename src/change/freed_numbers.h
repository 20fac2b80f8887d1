// The numbers that an export made of a size, among the arguments of the nodes.
#ifndef PT2_CHANGE_FREED_NUMBERS_H
#define PT2_CHANGE_FREED_NUMBERS_H

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "pt2/ir/graph.h"

namespace pt2 {

// An integer argument of a node, or an item of a list of integers, that may be `factor` times the
// freed size plus `offset`.
struct FreedNumber {
  NodeId node{};
  size_t position = 0;
  std::optional<size_t> item{};
  int64_t factor = 1;
  int64_t offset = 0;
  bool operator==(const FreedNumber&) const = default;
};
// Numbers that may all stand for the freed size together.
using FreedNumbers = std::vector<FreedNumber>;

// Which numbers that are multiples of the old size may stand for multiples of the freed size.
enum class Multiples : uint8_t { none, of_lists, all };  // of_lists: the sizes of expand and zeros

class NumberFinder {
 public:
  using Depends = std::function<bool(ValueId)>;

  // `old_size` is the size that the export fixed; 0 finds no numbers. `depends` tells whether a
  // value depends on it. The graph must outlive the object.
  NumberFinder(const Graph& graph, int64_t old_size, Depends depends)
      : graph_(graph), old_size_(old_size), depends_(std::move(depends)) {}

  // Returns what may stand for the freed size where a node refuses it, the likeliest first: numbers
  // of the node itself, then those of the nodes that make operands that do not depend on the size:
  // expand(token, [2, -1, -1]) or zeros([2, 8]) beside a batch of 2. Several such nodes may need it
  // together: cat([token, x, other_token]). Then all take it at their first number that equals the
  // old size, or all at their second, or third, maybe with a number of the node itself: the groups
  // of a convolution whose kernel is repeated for each. Or only the nearest such node of each
  // operand takes it. Multiples of the old size come last.
  std::vector<FreedNumbers> of_refusal(NodeId id, Multiples multiples) const;

  // Returns what may stand for the freed size although a node does not refuse the old one: the
  // lengths of what counts elements, such as arange(1) beside a batch of 1, which has only a first
  // row then.
  std::vector<FreedNumbers> of_counts(NodeId id) const;

  // Returns the same where no result of the node depends on the size: numbers of the nodes that
  // make its operands, and its own lists of sizes.
  std::vector<FreedNumbers> of_lost_size(NodeId id) const;

  // Returns the same for a node that takes elements of the freed input but has no freed size: the
  // old size of what it writes them to, as in scatter_add(zeros([8, 5]), 0, edges, x[edges]) of 8
  // nodes, and what it divides them by, as in x.sum(0) / 8 and x.T @ x / 7. Nothing for an old size
  // of 2 or a division by 2, which means too many other things.
  std::vector<FreedNumbers> of_hidden_size(NodeId id) const;

 private:
  std::vector<NodeId> fixed_makers(NodeId id) const;
  FreedNumbers nearest(NodeId id, size_t place,
                       const std::function<bool(const FreedNumber&)>& fits) const;
  FreedNumbers numbers_of(NodeId id) const;

  const Graph& graph_;
  const int64_t old_size_;
  const Depends depends_;
};

}  // namespace pt2

#endif  // PT2_CHANGE_FREED_NUMBERS_H
