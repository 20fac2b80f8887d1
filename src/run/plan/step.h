// A step of a plan: one node of the program, or several that are computed together.
#ifndef PT2_RUN_PLAN_STEP_H
#define PT2_RUN_PLAN_STEP_H

#include <memory>
#include <string>
#include <vector>

#include "run/plan/frame.h"

namespace pt2::run {

// The name of a step without a kernel of its own.
inline constexpr std::string_view kReference = "reference";

class Step {
 public:
  // In program order. Only later nodes of the step use a node's result, except for the last node.
  using Nodes = std::vector<const BoundNode*>;
  explicit Step(Nodes nodes) : nodes_(std::move(nodes)) {}
  virtual ~Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // Computes the result of the last node. False, with nothing done, if the step does not handle
  // this call's operands: the nodes then run one by one.
  virtual Result<bool> run(Frame& frame) const = 0;
  // The name of the kernel: "product", "reference".
  virtual std::string_view name() const = 0;

  const Nodes& nodes() const { return nodes_; }
  const BoundNode& first() const { return *nodes_.front(); }
  // The value that the step makes.
  ValueId result() const { return *nodes_.back()->node->outputs[0].get_if<ValueId>(); }

  std::vector<ValueId> released;  // values whose last use is this step

 private:
  Nodes nodes_;
};

using StepPointer = std::unique_ptr<Step>;

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_STEP_H
