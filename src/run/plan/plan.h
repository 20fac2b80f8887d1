// A program prepared to run fast: steps in order. Some steps are kernels of src/kernels that do the
// work of several nodes. The others run one node each with the reference executor.
#ifndef PT2_RUN_PLAN_PLAN_H
#define PT2_RUN_PLAN_PLAN_H

#include <memory>
#include <unordered_map>
#include <vector>

#include "run/engine.h"
#include "run/plan/step.h"

namespace pt2::run {

struct Plan {
  const BoundGraph* graph = nullptr;
  // Identifies the plan: a holder of this pointer never takes another plan at the same address for
  // it.
  std::shared_ptr<const void> identity = std::make_shared<const int>(0);
  std::vector<StepPointer> steps;
  // Results computed from weights alone when the plan was made, and their storages, sorted.
  std::vector<std::pair<ValueId, Value>> constants;
  std::vector<const Storage*> computed;
  // For each value: true if a node may write to its storage.
  std::vector<bool> written;
  // For each input: true if calls bring it; the others are weights.
  std::vector<bool> given;
  // The given inputs, and weights that may differ in each call: state.
  std::vector<bool> changing;
  // For each input: its value if calls bring this very weight, else None.
  std::vector<Value> known;
  // True if a node depends on strides or on the storage around a view (as_strided), or if a write
  // does. Then all nodes run one by one. A recording would give them copies of the inputs, so there
  // is none.
  bool looks_at_strides = false;
  // Plans of nested graphs, at any depth. These plans have no nested plans themselves.
  std::unordered_map<const BoundGraph*, std::unique_ptr<const Plan>> nested;

  std::vector<PlannedStep> describe() const;

  // Inputs and results are those of EngineSession::run. The results of a recorded call (`recording`
  // not null) belong to the recording. Nested graphs that have plans run with them; the workspace
  // and the plan must then outlive the owner of the executor's NestedGraphs.
  Result<std::vector<Value>> run(std::vector<Value> inputs, const EngineCall& call,
                                 Executor& executor, Workspace& workspace,
                                 Recording* recording = nullptr) const;
};

// `weights` has an entry for each graph input, None for inputs that are not weights. `known` says
// for each whether calls bring this very weight. The graph and what it is bound to must outlive the
// plan.
std::unique_ptr<const Plan> make_plan(const BoundGraph& graph, std::span<const Value> weights,
                                      const std::vector<bool>& known);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_PLAN_H
