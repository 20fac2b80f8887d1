// A step of a plan: one node of the program, or some that are computed in one go.
#ifndef PT2_RUN_PLAN_STEP_H
#define PT2_RUN_PLAN_STEP_H

#include <memory>
#include <string>
#include <vector>

#include "run/plan/frame.h"

namespace pt2::run {

// The name of what has no kernel of its own here.
inline constexpr std::string_view kReference = "reference";

class Step {
 public:
  // In the order of the program; only those behind it take the result of one, but for the last.
  using Nodes = std::vector<const BoundNode*>;
  explicit Step(Nodes nodes) : nodes_(std::move(nodes)) {}
  virtual ~Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // Computes the result of the last node. False, with nothing done, where this call's operands are
  // not what the step is made for: the nodes are then computed one by one.
  virtual Result<bool> run(Frame& frame) const = 0;
  // What computes it: "product", "reference".
  virtual std::string_view name() const = 0;

  const Nodes& nodes() const { return nodes_; }
  const BoundNode& first() const { return *nodes_.front(); }
  // The value that the step makes.
  ValueId result() const { return *nodes_.back()->node->outputs[0].get_if<ValueId>(); }

  std::vector<ValueId> released;  // not used after this step

 private:
  Nodes nodes_;
};

using StepPointer = std::unique_ptr<Step>;

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_STEP_H
