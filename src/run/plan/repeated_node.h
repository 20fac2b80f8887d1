// A node without a kernel in a repeated call: its operator is called again with the recorded
// arguments, whose elements differ then.
#ifndef PT2_RUN_PLAN_REPEATED_NODE_H
#define PT2_RUN_PLAN_REPEATED_NODE_H

#include <optional>
#include <vector>

#include "run/reference/executor.h"

namespace pt2::run {

// True if the node, nested graphs included, computes its results from its arguments alone and
// changes nothing.
bool may_repeat(const BoundNode& node);
// True if the node writes to its first argument, which is its result, and computes what it writes
// from its arguments alone.
bool may_write_again(const BoundNode& node);

class RepeatedNode {
 public:
  // Takes a node that may_repeat() or may_write_again(). `values` has its arguments and results.
  // Nothing (nullopt) if a result cannot be copied to its recorded place.
  static std::optional<RepeatedNode> of(const BoundNode& node, const std::vector<Value>& values,
                                        const Executor& executor);

  // Writes the results to their recorded places, unless the node writes there itself. False if
  // tensors have other sizes or if other values differ, for which later launches were not made.
  // False also for errors. `counting` counts the node's work and rounds, up to its limits.
  bool run(Executor& counting) const;

  // Bytes of the results.
  uint64_t bytes() const;

 private:
  const BoundNode* node_ = nullptr;
  std::vector<Value> arguments_;  // of the operator
  std::vector<Value> results_;    // one for each output of the node
  std::shared_ptr<const NestedGraphs> nested_;
};

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_REPEATED_NODE_H
