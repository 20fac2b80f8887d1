// Bodies of loops and branches, run by plans of their own. Rounds of a loop are alike, so they are
// recorded and repeated.
#ifndef PT2_RUN_PLAN_NESTED_PLANS_H
#define PT2_RUN_PLAN_NESTED_PLANS_H

#include "run/plan/plan.h"
#include "run/plan/workspace.h"

namespace pt2::run {

class NestedPlans final : public NestedGraphs {
 public:
  // Runs the nested graphs of `plan`. Plan and workspace must outlive it.
  NestedPlans(const Plan& plan, Workspace& workspace) : plan_(plan), workspace_(workspace) {}

  Result<std::vector<Value>> run(const BoundGraph& graph, std::vector<Value> inputs,
                                 Executor& executor) const override;

 private:
  const Plan& plan_;
  Workspace& workspace_;
};

// Makes a plan for each graph nested in the node that changes nothing but its own values.
// `constants` has the values of the node's own graph that are the same in every call.
void plan_nested_graphs(const BoundNode& node, const std::vector<Value>& constants, Plan& plan);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_NESTED_PLANS_H
