#include "run/plan/plan.h"

#include <algorithm>
#include <iterator>

#include "base/memory_account.h"
#include "ir/graph_place.h"
#include "ir/target.h"
#include "ir/walk.h"
#include "kernels/targets.h"
#include "ops/result_memory.h"
#include "run/bound_graph.h"
#include "run/plan/layout.h"
#include "run/plan/nested_plans.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

// The cost of finding a step's operands and making its results, in elements (Limits::max_work).
constexpr uint64_t kStepWork = 512;

// True if the node is a view that exists for any strides. Other views take elements in their order,
// or by their bytes.
bool takes_any_strides(const BoundNode& node) {
  const ops::OpDef* row = own_row(node);
  if (row == nullptr || !row->is_view() || !node.batched.empty()) return false;
  switch (row->facts.inverse) {
    case ops::Inverse::none:
    case ops::Inverse::reshape:
      return false;
    case ops::Inverse::same:
    case ops::Inverse::expand:
    case ops::Inverse::repeat:
    case ops::Inverse::permute:
    case ops::Inverse::move:
    case ops::Inverse::scatter:
    case ops::Inverse::narrow:
    case ops::Inverse::pieces:
    case ops::Inverse::unbind:
      return true;
  }
  return false;
}

bool has_recorded_strides(const Graph& graph, ValueId id, const Tensor& tensor) {
  const TensorMeta* record = graph.value(id).tensor();
  return record != nullptr &&
         std::ranges::equal(record->strides, tensor.strides(), [](const SymInt& a, int64_t b) {
           return !a.is_symbolic() && a.literal() == b;
         });
}

// True if only some strides have such a view: it takes elements in their order, or by their bytes.
bool depends_on_strides(const ops::OpDef& row) {
  const bool takes_bytes = row.is_view() && row.facts.inverse == ops::Inverse::none;
  return row.facts.inverse == ops::Inverse::reshape || (takes_bytes && !row.facts.looks_at_strides);
}

// A kernel's result may be row-major where the program's own has another layout: elementwise
// results have that of their operands. A view to other sizes, or of pairs as complex numbers, may
// then not exist. This function makes the viewed value row-major, for which every view exists.
// False if it is row-major already, may not change, or has the strides that the program records:
// then PyTorch refuses the view, too.
bool straighten_viewed(Frame& frame, const BoundNode& node) {
  const ops::OpDef* row = own_row(node);
  if (row == nullptr || !node.batched.empty() || !depends_on_strides(*row)) return false;
  const auto id = Frame::value_id(node.arguments[0]);
  const Tensor* viewed = frame.tensor(node.arguments[0]);
  if (!id || viewed == nullptr || viewed->is_contiguous() || !frame.may_rearrange(*id) ||
      has_recorded_strides(frame.graph(), *id, *viewed))
    return false;
  frame.set(*id, to_row_major(frame, *viewed), false);
  return true;
}

Result<void> run_node(Frame& frame, const BoundNode& node) {
  bool rearranged = false;
  const bool any_strides = takes_any_strides(node);
  for_each_operand(*node.node, [&](ValueId id) {
    if (!frame.is_rearranged(id)) return;
    if (any_strides)
      rearranged = true;
    else
      frame.as_written(id);
  });
  std::optional<ops::ResultMemory> place;
  if (frame.places_results())
    if (std::optional<Tensor> memory = frame.take_place()) place.emplace(*std::move(memory));
  const uint64_t before = frame.executor().work();
  Result<void> ran = frame.executor().run_node(frame.graph(), node, frame.values);
  if (!ran && straighten_viewed(frame, node))
    ran = frame.executor().run_node(frame.graph(), node, frame.values);
  PT2_TRY_VOID(std::move(ran));
  if (frame.recording() != nullptr)
    frame.recording()->note_node(node, frame.values, frame.executor(),
                                 frame.executor().work() - before);
  if (!rearranged) return {};
  for_each_result(*node.node, [&](ValueId id) {
    if (const auto* view = frame.values[static_cast<size_t>(id)].get_if<Tensor>())
      frame.set(id, *view, true);
  });
  return {};
}

// Counts a kernel's operands before it computes: an expanded tensor takes no memory, but time. The
// reference executor does its own counting.
Result<void> count_operands(Frame& frame, const Step& step) {
  if (step.name() == kReference) return {};
  for (const BoundNode* node : step.nodes()) {
    Result<void> counted;
    for_each_operand(*node->node, [&](ValueId id) {
      if (counted)
        counted = frame.executor().count_elements({&frame.values[static_cast<size_t>(id)], 1});
    });
    PT2_TRY_VOID(std::move(counted));
  }
  return {};
}

// Lays the results of a node, which no other value shows yet, as the program records them if a node
// writes to them.
void lay_written(Frame& frame, const BoundNode& node) {
  for_each_result(*node.node, [&](ValueId id) {
    if (!frame.may_rearrange(id)) lay_as_recorded(frame, id);
  });
}

// Runs the step's own kernel; false if it does not handle the operands.
Result<bool> run_kernel(Frame& frame, const Step& step) {
  PT2_TRY(const bool done, step.run(frame));
  kernels::zero_upper_halves();
  if (done) lay_written(frame, *step.nodes().back());
  return done;
}

// Sets `by_kernel` to true if the step's own kernel computed the result.
Result<void> run_step(Frame& frame, const Step& step, bool* by_kernel = nullptr) {
  PT2_TRY_VOID(frame.executor().check_cancellation());
  PT2_TRY_VOID(frame.executor().count_work(kStepWork));
  const std::vector<Argument>& outputs = step.nodes().back()->node->outputs;
  const auto* first = outputs.empty() ? nullptr : outputs[0].get_if<ValueId>();
  const auto made = first == nullptr ? std::nullopt : std::optional(*first);
  frame.begin_step(made);
  if (Result<void> counted = count_operands(frame, step); !counted)
    return at_node(std::move(counted).error(), frame.graph(), *step.first().node);
  const uint64_t inner = MemoryAccount::inner_work();
  Recording* const recording = frame.recording();
  if (recording != nullptr) recording->begin_step(step.nodes());
  const Result<bool> done = within_memory([&] { return run_kernel(frame, step); });
  if (!done) return at_node(done.error(), frame.graph(), *step.first().node);
  if (recording != nullptr) recording->end_step(step.nodes(), frame.values);
  if (by_kernel != nullptr) *by_kernel = *done;
  if (*done) {
    PT2_TRY_VOID(frame.executor().count_work(MemoryAccount::inner_work() - inner));
    const auto* result = frame.values[static_cast<size_t>(step.result())].get_if<Tensor>();
    return frame.executor().count_work(static_cast<uint64_t>(result->numel()));
  }
  for (const BoundNode* node : step.nodes()) {
    frame.begin_step(node == step.nodes().back() ? made : std::nullopt);
    if (Result<void> ran = run_node(frame, *node); !ran)
      return at_node(std::move(ran).error(), frame.graph(), *node->node);
  }
  // The reference kernels give results the strides of operands, which may not be the program's.
  const BoundNode& last = *step.nodes().back();
  if (!frame.has_kernels() || !computes_alone(last) || may_return_arguments(last)) return {};
  return within_memory([&]() -> Result<void> {
    lay_written(frame, last);
    return {};
  });
}

Result<void> timed_step(Frame& frame, const Step& step,
                        const std::function<void(const StepTime&)>& on_step) {
  const auto start = std::chrono::steady_clock::now();
  bool by_kernel = true;
  PT2_TRY_VOID(run_step(frame, step, &by_kernel));
  const auto time = std::chrono::steady_clock::now() - start;
  std::vector<const Node*> nodes;
  for (const BoundNode* node : step.nodes()) nodes.push_back(node->node);
  on_step({.kernel = by_kernel ? step.name() : kReference, .nodes = nodes, .time = time});
  return {};
}

// Copies a value whose memory other calls read, since the caller may write to it. `shared` is
// sorted.
Value own(Value value, const std::vector<const Storage*>& shared) {
  if (auto* tensor = value.get_if<Tensor>(); tensor != nullptr && tensor->defined()) {
    if (std::ranges::binary_search(shared, tensor->storage().get())) return Value(tensor->clone());
  } else if (auto* list = value.get_if<Value::List>()) {
    for (Value& item : *list) item = own(std::move(item), shared);
  }
  return value;
}

}  // namespace

std::vector<PlannedStep> Plan::describe() const {
  std::vector<PlannedStep> out;
  for (const StepPointer& step : steps) {
    const auto is_inside = [&](const Definition& definition) {
      return definition.by == Definition::By::node &&
             std::ranges::any_of(step->nodes(), [&](const BoundNode* node) {
               return node->node == &graph->graph->node(definition.node);
             });
    };
    PlannedStep each{.kernel = step->name(),
                     .result = node_name(*graph->graph, *step->nodes().back()->node)};
    for (const BoundNode* node : step->nodes())
      each.operators.emplace_back(short_target(node->node->target));
    for (const ValueId id : step->released) {
      const GraphValue& value = graph->graph->value(id);
      const bool is_weight =
          value.definition.by == Definition::By::graph_input && !given[value.definition.index];
      if (!is_weight && !is_inside(value.definition)) each.released.push_back(value.name);
    }
    out.push_back(std::move(each));
  }
  return out;
}

Result<std::vector<Value>> Plan::run(std::vector<Value> inputs, const EngineCall& call,
                                     Executor& executor, Workspace& workspace,
                                     Recording* recording) const {
  const Graph& program = *graph->graph;
  if (inputs.size() != program.inputs().size())
    return ops::operator_error("the graph takes " + std::to_string(program.inputs().size()) +
                               " inputs, found " + std::to_string(inputs.size()));
  if (!nested.empty()) executor.run_nested_by(std::make_shared<NestedPlans>(*this, workspace));
  PT2_TRY_VOID(
      executor.count_work(Executor::kValueWork * program.value_count() +
                          Executor::kHandedWork * (constants.size() + program.outputs().size())));
  Frame frame(program, written, executor, workspace, recording, !looks_at_strides);
  if (call.outputs != nullptr && recording == nullptr) {
    std::unordered_map<ValueId, Tensor> places;
    for (auto& [output, memory] : call.outputs->get_all(program, inputs))
      places.emplace(*program.outputs()[output].get_if<ValueId>(), std::move(memory));
    frame.place_results(std::move(places));
  }
  for (const auto& [id, value] : constants) {
    frame.values[static_cast<size_t>(id)] = value;
    if (recording != nullptr) recording->fix(id);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto* id = program.inputs()[i].get_if<ValueId>();
    if (id == nullptr) continue;
    if (recording != nullptr && changing[i])
      inputs[i] = Value(recording->add_input(*inputs[i].get_if<Tensor>(), !given[i]));
    else if (recording != nullptr)
      recording->fix(*id);
    frame.values[static_cast<size_t>(*id)] = std::move(inputs[i]);
  }
  for (const GrowingInput& growing : call.growing)
    if (const auto* id = program.inputs()[growing.input].get_if<ValueId>())
      frame.let_grow(*id, growing);
  for (const StepPointer& step : steps) {
    PT2_TRY_VOID(call.on_step == nullptr ? run_step(frame, *step)
                                         : timed_step(frame, *step, *call.on_step));
    for (const ValueId id : step->released) frame.values[static_cast<size_t>(id)] = Value();
  }
  std::vector<Value> outputs;
  for (const Argument& output : program.outputs()) {
    const auto* single = output.get_if<ValueId>();
    if (const Tensor* grown = single == nullptr ? nullptr : frame.grown(*single)) {
      outputs.emplace_back(*grown);
      continue;
    }
    for_each_value(output, [&](ValueId id) { frame.as_written(id); });
    PT2_TRY(Value value, evaluate_argument(output, frame.values));
    if (recording != nullptr) {
      // A recording's results are row-major. Views of state must not be copied, so a call that
      // returns other ones is not recorded.
      if (const auto* tensor = value.get_if<Tensor>();
          tensor != nullptr && tensor->numel() > 0 && !recording->is_state(*tensor))
        value = Value(to_row_major(frame, *tensor));
      recording->add_output(value);
    }
    outputs.push_back(own(std::move(value), computed));
  }
  return outputs;
}

}  // namespace pt2::run
