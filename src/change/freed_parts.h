// Where a freed size lies among the elements of the tensors that follow from it.
#ifndef PT2_CHANGE_FREED_PARTS_H
#define PT2_CHANGE_FREED_PARTS_H

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "pt2/ir/graph.h"

namespace pt2 {

class FreedParts {
 public:
  // `old_size` is the number that `symbol` stands for in the export. The graph must outlive the
  // object.
  FreedParts(const Graph& graph, Expr symbol, int64_t old_size)
      : graph_(graph), symbol_(symbol), old_size_(old_size) {}

  // Notes where the freed size lies in the sizes of the node's results: a later reshape needs it,
  // for view(y, [5, 2, 8]) of 10 x 8 elements may split off the freed size or the others.
  void note(NodeId id);

  // Returns the argument in which a reshape gets its sizes, with -1 for a size that the freed one
  // may be part of, and its position: one for each such size, the likeliest first. Nothing for
  // other nodes.
  std::vector<std::pair<size_t, Argument>> inferring_arguments(NodeId id) const;

 private:
  // In which dim the freed size lies, and how many elements of that dim lie behind it: 5 if the dim
  // holds n batches of 5 frames, 1 if it holds 5 frames of n batches.
  struct Part {
    size_t dim = 0;
    int64_t inner = 1;
  };

  bool is_appended(ValueId value) const;
  std::optional<size_t> freed_dim(const TensorMeta& meta) const;
  std::vector<Part> reshaped(ValueId taken, const TensorMeta& to) const;
  std::optional<std::pair<size_t, Argument>> inferring_argument(const Node& node,
                                                                const TensorMeta& to,
                                                                size_t dim) const;
  std::optional<int64_t> inner_of(const Node& node, ValueId result) const;

  const Graph& graph_;
  const Expr symbol_;
  const int64_t old_size_;
  std::map<ValueId, int64_t> inner_;  // Part::inner, where it is known
};

}  // namespace pt2

#endif  // PT2_CHANGE_FREED_PARTS_H
