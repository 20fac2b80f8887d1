#include "run/plan/nested_plans.h"

#include <algorithm>

#include "ops/result_memory.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

// Copying at most so many bytes of a round costs less than looking up its steps.
constexpr int64_t kMostCopied = int64_t{1} << 17;

bool only_computes(const BoundGraph& graph) {
  return std::ranges::none_of(graph.nodes, [](const BoundNode& node) {
    return opens_region(node) || may_write_to_arguments(node);
  });
}

// Returns a value for each input of the nested graph; None if it is unknown.
std::vector<Value> known_inputs(const BoundNode& node, const BoundGraph& graph,
                                const std::vector<Value>& constants) {
  std::vector<Value> out(graph.graph->inputs().size());
  const ArgumentList* operands = lasting_operands(node);
  if (operands == nullptr || operands->items.size() > out.size()) return out;
  const size_t first = out.size() - operands->items.size();
  for (size_t i = 0; i < operands->items.size(); ++i)
    if (const auto* id = operands->items[i].get_if<ValueId>())
      if (const Value& value = constants[static_cast<size_t>(*id)]; value.is<Tensor>())
        out[first + i] = value;
  return out;
}

}  // namespace

void plan_nested_graphs(const BoundNode& node, const std::vector<Value>& constants, Plan& plan) {
  if (node.higher_order == nullptr || !node.batched.empty()) return;
  for (const auto& [position, graph] : node.subgraphs) {
    if (!only_computes(*graph)) continue;
    const std::vector<Value> known = known_inputs(node, *graph, constants);
    auto made = std::make_unique<Plan>();
    fill_plan(*made, *graph, known, std::vector<bool>(known.size(), true));
    plan.nested.merge(made->nested);
    plan.nested.emplace(graph, std::move(made));
  }
}

Result<std::vector<Value>> NestedPlans::run(const BoundGraph& graph, std::vector<Value> inputs,
                                            Executor& executor) const {
  const auto found = plan_.nested.find(&graph);
  if (found == plan_.nested.end()) return executor.run(graph, std::move(inputs));
  const Plan& plan = *found->second;
  // Steps check for cancellation, but a body may have no steps.
  PT2_TRY_VOID(executor.check_cancellation());
  if (inputs.size() != plan.given.size()) return executor.run(graph, std::move(inputs));
  // Known inputs are the same in every round, so only the others are looked up. The call may bring
  // a copy of a known one in another layout, which a recording would outlive.
  std::vector<const Value*> given;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (plan.given[i])
      given.push_back(&inputs[i]);
    else if (!plan.known[i].is_none())
      inputs[i] = plan.known[i];
  RecordedCalls* calls = nullptr;
  if (!plan.looks_at_strides)
    calls = workspace_.nested_recordings(plan_.identity, plan).find(given, kMostCopied);
  if (calls != nullptr && calls->recording != nullptr) {
    PT2_TRY_VOID(executor.count_work(calls->work));
    PT2_TRY(const bool ran, calls->recording->run(given, executor.cancellation(), &executor));
    if (ran) return calls->recording->results(workspace_.memory);
    calls->note_refusal();
    calls = nullptr;
  }
  if (calls == nullptr || calls->refused || calls->calls < 2)
    return plan.run(std::move(inputs), {}, executor, workspace_);
  // The caller's memory for the result of the node belongs to this call alone: none is offered to
  // what the recording keeps.
  const ops::ResultMemory none{Tensor()};
  auto recording = std::make_unique<Recording>(*plan.graph->graph, 0, true);
  const uint64_t work = executor.work();
  PT2_TRY(std::vector<Value> results,
          plan.run(std::move(inputs), {}, executor, workspace_, recording.get()));
  calls->work = executor.work() - work - recording->repeated_work();
  calls->refused = !recording->is_usable() || !workspace_.may_hold_nested(recording->bytes());
  if (calls->refused) return results;
  results = recording->results(workspace_.memory);
  calls->recording = std::move(recording);
  return results;
}

}  // namespace pt2::run
