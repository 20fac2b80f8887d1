// A program made ready to run fast: steps in order, some of them kernels of src/kernels that do the
// work of several nodes, the others the reference executor's for one node each.
#ifndef PT2_RUN_PLAN_PLAN_H
#define PT2_RUN_PLAN_PLAN_H

#include <memory>
#include <vector>

#include "run/engine.h"
#include "run/plan/step.h"

namespace pt2::run {

struct Plan {
  const BoundGraph* graph = nullptr;
  // Whoever keeps it knows the plan again, when this is gone and another lies in its place, too.
  std::shared_ptr<const void> identity = std::make_shared<const int>(0);
  std::vector<StepPointer> steps;
  // What was computed of weights alone when the plan was made, and its storages.
  std::vector<std::pair<ValueId, Value>> constants;
  std::vector<const Storage*> computed;
  // For each value: something may write to its storage.
  std::vector<bool> written;
  // For each input: calls bring it; others are weights.
  std::vector<bool> given;
  // Those, and weights that are other ones in each call: state.
  std::vector<bool> changing;
  // Of nested graphs, at any depth; theirs have none themselves.
  std::vector<std::pair<const BoundGraph*, std::unique_ptr<const Plan>>> nested;

  std::vector<PlannedStep> describe() const;

  // Inputs and results as EngineSession::run has them. The results of a call that is recorded
  // (`recording` not null) are the recording's. Nested graphs with plans are run by these; the
  // workspace and the plan then outlive what holds the executor's NestedGraphs.
  Result<std::vector<Value>> run(std::vector<Value> inputs, const EngineCall& call,
                                 Executor& executor, Workspace& workspace,
                                 Recording* recording = nullptr) const;
};

// `weights` has an entry for each input of the graph, none for those that are none; `known` says of
// each whether calls bring this very one. The graph and what it is bound to must outlive the plan.
std::unique_ptr<const Plan> make_plan(const BoundGraph& graph, std::span<const Value> weights,
                                      const std::vector<bool>& known);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_PLAN_H
