// A node that no kernel computes, in a call that is done again: its operator is called with the
// arguments that it had, whose elements are other ones then.
#ifndef PT2_RUN_PLAN_REPEATED_NODE_H
#define PT2_RUN_PLAN_REPEATED_NODE_H

#include <optional>
#include <vector>

#include "run/cancellation.h"
#include "run/reference/executor.h"

namespace pt2::run {

// Whether the node computes its results of its arguments alone, nested graphs and all, and changes
// nothing.
bool may_repeat(const BoundNode& node);
// Whether the node computes of its arguments alone what it writes to the first one, its result.
bool may_write_again(const BoundNode& node);

class RepeatedNode {
 public:
  // Of a node that may_repeat() or may_write_again(). Nothing where `values`, which has arguments
  // and results, holds what cannot be copied to where it lay. What the executor is limited to holds
  // for the later calls.
  static std::optional<RepeatedNode> of(const BoundNode& node, const std::vector<Value>& values,
                                        const Executor& executor);

  // Writes the results to where they lay, unless the node does that itself. False where these have
  // other sizes, or are other numbers that are no tensors: what follows was made for those that
  // there were. So are errors.
  bool run(const Cancellation& cancellation) const;

  // Of the results.
  uint64_t bytes() const;

 private:
  const BoundNode* node_ = nullptr;
  std::vector<Value> arguments_;  // of the operator
  std::vector<Value> results_;    // one for each output of the node
  Limits limits_;
  std::shared_ptr<const NestedGraphs> nested_;
};

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_REPEATED_NODE_H
