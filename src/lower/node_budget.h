// Bounds the nodes that all passes together may add to a program: without it, a small file could
// expand into a huge program.
#ifndef PT2_LOWER_NODE_BUDGET_H
#define PT2_LOWER_NODE_BUDGET_H

#include <cstdint>
#include <string_view>

#include "pt2/ir/graph.h"
#include "pt2/limits.h"

namespace pt2 {

class NodeBudget {
 public:
  explicit NodeBudget(uint64_t most = Limits{}.max_new_nodes) : most_(most), left_(most) {}

  uint64_t most() const { return most_; }
  uint64_t left() const { return left_; }
  // True if a request exceeded the budget. From then on every request fails.
  bool is_spent() const { return is_spent_; }
  bool take(uint64_t nodes) {
    is_spent_ = is_spent_ || nodes > left_;
    if (!is_spent_) left_ -= nodes;
    return !is_spent_;
  }
  // The error that `who_adds` ("decomposition adds") too many nodes. Error `limit`, without a
  // place.
  Error exceeded_by(std::string_view who_adds) const;

 private:
  uint64_t most_;
  uint64_t left_;
  bool is_spent_ = false;
};

// Returns the node's memory, nested graphs included, in nodes of usual size.
uint64_t weight_of(const Graph& graph, const Node& node);

}  // namespace pt2

#endif  // PT2_LOWER_NODE_BUDGET_H
