#include "run/plan/planned_engine.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/memory_account.h"
#include "base/platform.h"
#include "check/shapes/recorded_sizes.h"
#include "ir/graph_place.h"
#include "ir/symbols/sym_int.h"
#include "ir/walk.h"
#include "lower/decompose/decompose.h"
#include "lower/functional/functionalize.h"
#include "lower/functional/reinplace.h"
#include "lower/new_nodes.h"
#include "lower/pass.h"
#include "lower/written_memory.h"
#include "ops/table.h"
#include "run/output_memory.h"
#include "run/plan/plan.h"
#include "run/plan/planner.h"
#include "run/reference/reference_engine.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace pt2::run {
namespace {

constexpr unsigned kMostThreads = 1024;

// Notes each node's name in its metadata, which passes copy to the nodes that replace it.
void note_sources(Program& program) {
  for_each_graph(program.graph, [](Graph& graph) {
    for (const NodeId id : graph.nodes()) {
      Metadata metadata = graph.node(id).metadata;
      metadata.emplace_back(kSourceNode, node_name(graph, graph.node(id)));
      graph.set_node_metadata(id, std::move(metadata));
    }
  });
}

// Returns the program with all writes to inputs moved to its end. Nothing (nullopt) if an operator
// has no form without writes.
std::optional<Program> writing_last(const Program& program, const NodeBudget& budget) {
  Program out = program;
  NodeBudget left = budget;
  const FunctionalGraph functional = functionalize(out.graph, {}, left);
  if (!functional.failures.empty()) return std::nullopt;
  for (const FunctionalGraph::Mutation& each : functional.mutations) {
    const GraphValue& input = out.graph.value(each.input);
    const auto copy =
        out.graph.add_value({.name = out.graph.unused_name(input.name), .meta = input.meta});
    if (!copy) return std::nullopt;
    out.graph.add_node(
        {.target = "torch.ops.aten.copy_.default",
         .inputs = {{.name = "self", .arg = each.input}, {.name = "src", .arg = each.value}},
         .outputs = {Argument(*copy)}});
  }
  return out;
}

// True if a node updates the statistics of batch normalization. If these are written last,
// normalization and activation are one step. Other state, such as a few rows of a cache, is better
// written in place.
bool updates_statistics(const Graph& graph) {
  return any_node(graph, [](const Node& node) {
    const ops::Operator op = ops::find_operator(node.target);
    return op && !op.def->facts.updates_statistics_if.empty();
  });
}

// What the program writes to its inputs.
enum class Writes : uint8_t {
  none,
  small,  // state that costs little to copy
  large,  // or of unknown size
};

// Returns the number of elements, with the numbers that were recorded for symbols.
uint64_t recorded_elements(const Graph& graph, ValueId id) {
  const TensorMeta* meta = graph.value(id).tensor();
  if (meta == nullptr) return 0;
  uint64_t count = 1;
  for (const SymInt& size : meta->sizes) count = saturating_product(count, estimated_size(size));
  return count;
}

// Returns the node that makes the value if it is a view; else null.
const Node* made_by_view(const Graph& graph, ValueId id) {
  const Node* maker = find_maker(graph, id);
  const ops::Operator op = maker != nullptr ? ops::find_operator(maker->target) : ops::Operator();
  const bool is_view =
      op && op.custom == nullptr && op.def->is_view() && op.form == ops::Operator::Form::as_written;
  return is_view && !maker->inputs.empty() ? maker : nullptr;
}

// The elements that the nodes of a program in functional form give. In it, a write to a view is a
// copy of each value that the view shows a part of, by a node such as select_scatter: a loop that
// writes its results row by row, y[:, t] = h, takes the time of its rows squared.
struct NodeElements {
  uint64_t written = 0;   // copies that the program does not have yet: it writes to views
  uint64_t replaced = 0;  // copies that it has
  uint64_t computed = 0;

  static constexpr uint64_t kFew = uint64_t{1} << 20;
  bool are_mainly_copies() const {
    const uint64_t copied = saturating_sum(written, replaced);
    return copied > kFew && copied / 2 > computed;
  }
};
NodeElements node_elements(const Graph& graph) {
  constexpr size_t kMostViews = 8;  // of views
  NodeElements out;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const std::vector<ValueId> written = written_values(graph, node);
    for (ValueId value : written)
      for (size_t i = 0; i < kMostViews; ++i) {
        const Node* view = made_by_view(graph, value);
        const auto* whole = view == nullptr ? nullptr : view->inputs[0].arg.get_if<ValueId>();
        if (whole == nullptr) break;
        value = *whole;
        out.written = saturating_sum(out.written, recorded_elements(graph, value));
      }
    for_each_result(node, [&](ValueId value) {
      if (written.empty() && made_by_view(graph, value) == nullptr)
        out.computed = saturating_sum(out.computed, recorded_elements(graph, value));
    });
  }
  // A small program is not searched for the nodes that copy: that would delay its start.
  if (out.computed <= NodeElements::kFew) return out;
  for (const NodeId id : graph.nodes())
    if (replaces_part(graph, id)) {
      const uint64_t elements = recorded_elements(graph, only_output(graph.node(id)));
      out.replaced = saturating_sum(out.replaced, elements);
      out.computed -= std::min(out.computed, elements);
    }
  return out;
}

// Adds to `targets` the operators that the plan leaves to the reference executor although they are
// formulas of, or other names for, operators that may have steps. Returns the number of nodes that
// call them.
uint64_t add_formulas(const Plan& plan, std::set<std::string, std::less<>>& targets) {
  uint64_t count = 0;
  for (const StepPointer& step : plan.steps) {
    if (step->name() != kReference) continue;
    const BoundNode& node = *step->nodes()[0];
    const ops::OpDef* row = own_row(node);
    const bool is_formula = row != nullptr && row->formula != nullptr && row->function == nullptr;
    if (!is_formula && (row == nullptr || row->facts.same_as.empty())) continue;
    targets.insert(node.node->target);
    ++count;
  }
  for (const auto& [graph, nested] : plan.nested) count += add_formulas(*nested, targets);
  return count;
}

// True if the weights, which come from the file, have their recorded dtypes. Calls check their own
// inputs.
bool weights_have_recorded_dtypes(const EngineSource& source) {
  const std::span<const Argument> inputs = source.program.graph.inputs();
  for (size_t i = 0; i < source.weights.size(); ++i) {
    const auto* id = inputs[i].get_if<ValueId>();
    const auto* weight = source.weights[i].get_if<Tensor>();
    if (id == nullptr || weight == nullptr || !weight->defined()) continue;
    const TensorMeta* meta = source.program.graph.value(*id).tensor();
    if (meta == nullptr || meta->dtype.dtype() != weight->dtype()) return false;
  }
  return true;
}

const Storage* storage_of(const Value& value) {
  const auto* tensor = value.get_if<Tensor>();
  return tensor == nullptr ? nullptr : tensor->storage().get();
}

// Returns the new values of inputs whose memory no other weight has. Of inputs from the caller,
// calls check that (may_overlap).
std::vector<NewValue> separate_new_values(const EngineSource& source) {
  std::unordered_map<const Storage*, size_t> uses;
  for (const Value& weight : source.weights)
    if (const Storage* storage = storage_of(weight)) ++uses[storage];
  std::vector<NewValue> out;
  for (size_t i = 0; i < source.outputs.size(); ++i) {
    const GraphOutput& output = source.outputs[i];
    if (output.role != GraphOutput::Role::mutation || !output.target) continue;
    const Value& weight = source.weights[*output.target];
    const auto* input = source.program.graph.inputs()[*output.target].get_if<ValueId>();
    const auto* tensor = weight.get_if<Tensor>();
    const bool is_separate = weight.is_none() || (tensor != nullptr && tensor->is_contiguous() &&
                                                  uses[storage_of(weight)] == 1);
    if (input != nullptr && is_separate) out.push_back({.input = *input, .output = i});
  }
  return out;
}

// Returns the program as `change` writes its values in place; nullopt if there are none such.
template <class Change>
std::optional<Program> changed_in_place(const EngineSource& source, const Change& change) {
  if (looks_at_strides(source.program.graph)) return std::nullopt;
  Program out = source.program;
  note_sources(out);
  // Afterwards as well: a part that a scatter refuses may fit the copy that it becomes.
  if (!change(out.graph) || !check::recorded_sizes_hold(source.program) ||
      !check::recorded_sizes_hold(out))
    return std::nullopt;
  return out;
}

// Returns the program with the updates of its state in place. State may begin within a storage,
// where a new value does not.
std::optional<Program> updating_in_place(const EngineSource& source) {
  const std::vector<NewValue> new_values = separate_new_values(source);
  if (new_values.empty()) return std::nullopt;
  return changed_in_place(source, [&](Graph& graph) { return reinplace(graph, new_values); });
}

// Returns the program, or `out` if it is another form of it, in the form that suits plans best;
// nullopt if it has that form already. A pass that fails leaves its part of the program unchanged.
std::optional<Program> prepared(const EngineSource& source, Writes writes,
                                std::optional<Program> out) {
  const Program& program = source.program;
  const NodeBudget budget(source.limits.max_new_nodes);
  for (const Pass pass : {Pass::forward_derivatives, Pass::explicit_autocast, Pass::inline_regions,
                          Pass::functionalize, Pass::drop_idle, Pass::reroll}) {
    const Program& now = out ? *out : program;
    // The functional form copies written values back to the inputs at the end, however large they
    // are.
    if (pass == Pass::functionalize && writes != Writes::none &&
        (writes == Writes::large || !updates_statistics(now.graph)))
      continue;
    const PassInfo& info = pass_info(pass);
    if (!has_form(now.graph, info.needs) || has_form(now.graph, info.gives)) continue;
    if (info.surety == Surety::where_proven && !weights_have_recorded_dtypes(source)) continue;
    // The functional form views written values again as the file records them.
    if (pass == Pass::functionalize && !check::recorded_sizes_hold(now)) continue;
    Program changed = now;
    if (!out) note_sources(changed);
    if (pass == Pass::functionalize && writes != Writes::none) {
      if (auto last = writing_last(changed, budget)) out = *std::move(last);
      continue;
    }
    Pipeline pipeline{.budget = budget};
    const PassResult result = run_pass(pass, changed, pipeline);
    if (result.changed && result.failures.empty() &&
        changed.graph.outputs().size() == program.graph.outputs().size() &&
        changed.graph.inputs().size() == program.graph.inputs().size())
      out = std::move(changed);
  }
  return out;
}

// Returns freed memory to the system. The allocator keeps blocks that lie between used ones.
void return_free_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

class PlannedEngine final : public Engine {
 public:
  explicit PlannedEngine(const EngineSource& source) : source_(source) {}

  Result<void> prepare() {
    PT2_TRY(reference_, prepare_reference_engine(source_));
    written_ = reference_->written_inputs();
    find_state();
    const Writes writes = writes_of_program();
    has_state_ = writes != Writes::none;
    std::optional<Program> in_place;
    if (has_state_) in_place = updating_in_place(source_);
    updates_in_place_ = in_place.has_value();
    const NodeElements elements =
        has_state_ ? NodeElements() : node_elements(source_.program.graph);
    bool in_parts = elements.are_mainly_copies();
    if (in_parts && elements.replaced > 0) {
      in_place = changed_in_place(source_, reinplace_parts);
      in_parts = pt2::writes((in_place ? *in_place : source_.program).graph);
    }
    may_record_ = writes != Writes::large && !in_parts;
    lowered_ = prepared(source_, in_parts ? Writes::large : writes, std::move(in_place));
    PT2_TRY_VOID(bind_and_plan());
    // A formula may decompose into formulas again.
    constexpr int kMostRounds = 3;
    for (int i = 0; i < kMostRounds && take_apart(); ++i) PT2_TRY_VOID(bind_and_plan());
    return {};
  }

  std::vector<bool> written_inputs() const override { return written_; }
  std::vector<PlannedStep> steps() const override { return plan_->describe(); }
  std::unique_ptr<EngineSession> start_session(const SessionOptions& options) const override;
  uint64_t trim() const override {
    std::vector<std::unique_ptr<Workspace>> idle;
    {
      const std::lock_guard lock(mutex_);
      idle.swap(workspaces_);
    }
    uint64_t bytes = 0;
    for (const std::unique_ptr<Workspace>& workspace : idle) bytes += workspace->bytes();
    idle.clear();
    return_free_memory();
    return bytes;
  }

  const Engine& reference() const { return *reference_; }
  int available_threads() const { return available_threads_; }
  const std::shared_ptr<const Plan>& plan() const { return plan_; }
  // True if calls differ only in their inputs and perhaps in state.
  bool may_record() const { return may_record_ && !plan_->looks_at_strides; }
  bool has_state() const { return has_state_; }

  // Returns a plan that assumes nothing about the weights marked in `replaced`. Error `limit` if
  // the steps' copies of weights need too much memory.
  Result<std::shared_ptr<const Plan>> plan_for(const std::vector<bool>& replaced) const {
    std::vector<bool> known(source_.weights.size());
    for (size_t i = 0; i < known.size(); ++i) known[i] = !replaced[i] && !written_[i];
    return within_memory([&]() -> Result<std::shared_ptr<const Plan>> {
      return std::shared_ptr<const Plan>(make_plan(*bound_, source_.weights, known));
    });
  }

  // Marks each weight for which the call brings another tensor than the model has.
  std::vector<bool> replaced(std::span<const Value> inputs) const {
    std::vector<bool> out(inputs.size(), false);
    for (size_t i = 0; i < inputs.size(); ++i)
      out[i] = !source_.weights[i].is_none() && !written_[i] &&
               storage_of(inputs[i]) != storage_of(source_.weights[i]);
    return out;
  }

  // True if a written input shares memory with another input and the caller brings one of the two.
  // A plan may read the other input later than the program does. A caller may borrow the same
  // memory for two storages.
  bool may_overlap(std::span<const Value> inputs) const {
    if (!has_state_) return false;
    MemoryRanges brought_and_written, brought, state, weights;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Storage* storage = storage_of(inputs[i]);
      if (storage == nullptr) continue;
      if (source_.weights[i].is_none())
        (written_[i] ? brought_and_written : brought).add(*storage);
      else
        (written_[i] ? state : weights).add(*storage);
    }
    return brought_and_written.overlap_each_other() || brought_and_written.overlap(brought) ||
           brought_and_written.overlap(state) || brought_and_written.overlap(weights) ||
           brought.overlap(state);
  }

  // Copies the inputs from the caller that the plan updates in place and that are not dense: their
  // elements may overlap, and a new value would have views that they do not have. A new value that
  // lies in other memory is copied to the input after the call.
  void make_dense(std::span<Value> inputs) const {
    if (!updates_in_place_) return;
    for (const GraphOutput& output : source_.outputs) {
      if (output.role != GraphOutput::Role::mutation || !output.target ||
          !source_.weights[*output.target].is_none())
        continue;
      if (auto* tensor = inputs[*output.target].get_if<Tensor>()) *tensor = tensor->contiguous();
    }
  }

  // Sessions pass workspaces on, so that a short-lived session finds memory and threads.
  std::unique_ptr<Workspace> take_workspace(int threads) const {
    // Asking whether the process was forked takes as long as a part of a small call.
    constexpr uint64_t kBetweenChecks = 64;
    {
      const std::lock_guard lock(mutex_);
      if (++taken_ % kBetweenChecks == 0)
        std::erase_if(workspaces_, [](const std::unique_ptr<Workspace>& workspace) {
          return !workspace->threads.has_its_threads();
        });
      for (std::unique_ptr<Workspace>& workspace : workspaces_)
        if (workspace->wanted_threads == threads) {
          std::swap(workspace, workspaces_.back());
          std::unique_ptr<Workspace> out = std::move(workspaces_.back());
          workspaces_.pop_back();
          return out;
        }
    }
    return std::make_unique<Workspace>(threads);
  }
  void give_back(std::unique_ptr<Workspace> workspace) const {
    const std::lock_guard lock(mutex_);
    workspaces_.push_back(std::move(workspace));
  }

 private:
  const Program& program() const { return lowered_ ? *lowered_ : source_.program; }

  Result<void> bind_and_plan() {
    plan_ = nullptr;  // the plan refers to the bound graph
    PT2_TRY(bound_, bind_graph(program().graph, source_.operators));
    PT2_TRY(plan_, plan_for(std::vector<bool>(source_.weights.size(), false)));
    return {};
  }

  // Decomposes the formula operators that have no step; false if there are none.
  bool take_apart() {
    // Limits the nodes made for each formula. A network over packed sequences is a formula of a
    // dozen nodes for each time step.
    constexpr uint64_t kMostParts = 64;
    OperatorSet kept;
    const uint64_t count = add_formulas(*plan_, kept.all_but);
    // Formulas are written for the recorded sizes.
    if (kept.all_but.empty() || !has_form(program().graph, Form::without_vmap_regions))
      return false;
    if (!sizes_hold_) sizes_hold_ = check::recorded_sizes_hold(program());
    if (!*sizes_hold_) return false;
    Program changed = program();
    if (!lowered_) note_sources(changed);
    Pipeline pipeline{.budget =
                          NodeBudget(std::min(source_.limits.max_new_nodes, kMostParts * count))};
    if (!decompose_to(kept, changed, pipeline).changed) return false;
    lowered_ = std::move(changed);
    return true;
  }

  // Marks weights that get a new value after the last node, and weights that share a storage with a
  // written one. They are not constants either: each session has its own.
  void find_state() {
    for (const GraphOutput& output : source_.outputs)
      if (output.role == GraphOutput::Role::mutation && output.target)
        written_[*output.target] = true;
    std::unordered_set<const Storage*> storages;
    for (size_t i = 0; i < written_.size(); ++i)
      if (written_[i]) storages.insert(storage_of(source_.weights[i]));
    storages.erase(nullptr);
    for (size_t i = 0; i < written_.size(); ++i)
      if (storages.contains(storage_of(source_.weights[i]))) written_[i] = true;
  }

  // Returns `small` for state that is cheap to copy twice in each call and whose tensors each have
  // a storage of their own.
  Writes writes_of_program() const {
    constexpr int64_t kMostBytes = int64_t{1} << 18;
    if (std::ranges::find(written_, true) == written_.end()) return Writes::none;
    int64_t bytes = 0;
    std::unordered_set<const Storage*> storages;
    for (size_t i = 0; i < written_.size(); ++i) {
      if (!written_[i]) continue;
      const auto* tensor = source_.weights[i].get_if<Tensor>();
      if (tensor == nullptr || !tensor->defined() || !tensor->is_contiguous() ||
          !storages.insert(tensor->storage().get()).second)
        return Writes::large;
      bytes += tensor->nbytes();
    }
    return bytes <= kMostBytes ? Writes::small : Writes::large;
  }

  EngineSource source_;
  int available_threads_ = kernels::available_threads();  // the function reads files
  std::unique_ptr<const Engine> reference_;
  std::vector<bool> written_;
  std::optional<bool> sizes_hold_;  // recorded_sizes_hold, once it has been asked
  std::optional<Program> lowered_;  // the program as plans need it, if it differs from the source
  std::unique_ptr<BoundGraph> bound_;
  std::shared_ptr<const Plan> plan_;
  bool may_record_ = false;
  bool has_state_ = false;
  bool updates_in_place_ = false;  // although the program itself computes new values
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Workspace>> workspaces_;
  mutable uint64_t taken_ = 0;  // how often a workspace was taken
};

class PlannedSession final : public EngineSession {
 public:
  PlannedSession(const PlannedEngine& engine, const SessionOptions& options)
      : engine_(engine),
        options_(options),
        threads_(options.threads == 0 ? engine.available_threads()
                                      : static_cast<int>(std::min(options.threads, kMostThreads))),
        plan_(engine.plan()) {}

  Result<std::vector<Value>> run(std::vector<Value> inputs, const EngineCall& call) override {
    if (call.observer != nullptr || engine_.may_overlap(inputs))
      return engine_.reference().start_session(options_)->run(std::move(inputs), call);
    if (std::vector<bool> replaced = engine_.replaced(inputs); replaced != replaced_) {
      std::shared_ptr<const Plan> plan = engine_.plan();
      if (std::ranges::find(replaced, true) != replaced.end()) {
        PT2_TRY(plan, engine_.plan_for(replaced));
      }
      plan_ = std::move(plan);
      replaced_ = std::move(replaced);
    }
    engine_.make_dense(inputs);
    std::unique_ptr<Workspace> workspace = engine_.take_workspace(threads_);
    Result<std::vector<Value>> results = run_in(*workspace, std::move(inputs), call);
    workspace->memory.finish_run();
    engine_.give_back(std::move(workspace));
    return results;
  }

  Result<std::optional<std::vector<Value>>> run_again(std::span<const Value> inputs,
                                                      const Cancellation& cancellation) override {
    using Results = std::optional<std::vector<Value>>;
    return with_workspace<Results>(inputs, [&](Workspace& workspace) -> Result<Results> {
      const Recording* recording = workspace.recordings.recording_for(given_);
      if (recording == nullptr) return Results();
      PT2_TRY(const bool ran, recording->run(given_, cancellation));
      if (!ran) return Results();
      Results results = recording->results(workspace.memory);
      workspace.memory.finish_run();
      return results;
    });
  }

  Result<bool> run_again_into(std::span<const Value> inputs, std::span<Value> outputs,
                              const Cancellation& cancellation) override {
    return with_workspace<bool>(inputs, [&](Workspace& workspace) {
      return run_recorded(workspace, outputs, cancellation);
    });
  }

 private:
  // Returns the result of `body` with the inputs in given_; T() if there are no recordings.
  template <class T, class F>
  Result<T> with_workspace(std::span<const Value> inputs, const F& body) {
    if (!engine_.may_record() || engine_.has_state()) return T();
    std::unique_ptr<Workspace> workspace = engine_.take_workspace(threads_);
    given_.clear();
    for (const Value& input : inputs) given_.push_back(&input);
    Result<T> out = body(*workspace);
    engine_.give_back(std::move(workspace));
    return out;
  }

  // Runs the recording for the inputs in given_ and copies its results to `outputs`. False if there
  // is none or the outputs do not fit.
  Result<bool> run_recorded(Workspace& workspace, std::span<Value> outputs,
                            const Cancellation& cancellation) {
    storages_.clear();
    storages_.reserve(outputs.size());  // before there is a recording, which allocates nothing
    const Recording* recording = workspace.recordings.recording_for(given_);
    if (recording == nullptr || outputs.size() != recording->outputs().size()) return false;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto* memory = outputs[i].get_if<Tensor>();
      const Tensor& result = recording->outputs()[i];
      if (memory == nullptr || !memory->defined() || !memory->has_memory() ||
          memory->dtype() != result.dtype() || memory->sizes() != result.sizes() ||
          !memory->is_contiguous() || memory->storage()->is_read_only())
        return false;
      storages_.push_back(memory->storage().get());
    }
    // Results that share a storage may overlap; the full call gives each its memory in turn.
    std::ranges::sort(storages_);
    if (std::ranges::adjacent_find(storages_) != storages_.end()) return false;
    PT2_TRY(const bool ran, recording->run(given_, cancellation));
    if (!ran) return false;
    for (size_t i = 0; i < outputs.size(); ++i)
      copy_to_contiguous(recording->outputs()[i], outputs[i].get_if<Tensor>()->raw_data());
    return true;
  }

  // Returns the inputs that a recording takes for state: tensors that no call brings.
  std::vector<Tensor> state_of(std::span<const Value> inputs) const {
    std::vector<Tensor> out;
    if (!engine_.has_state()) return out;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (plan_->changing[i] && !plan_->given[i]) out.push_back(*inputs[i].get_if<Tensor>());
    return out;
  }

  // Runs the call in full or repeats its recording. The second call with inputs of the same sizes
  // is recorded.
  Result<std::vector<Value>> run_in(Workspace& workspace, std::vector<Value> inputs,
                                    const EngineCall& call) {
    RecordedCalls* calls = nullptr;
    if (engine_.may_record() && plan_ == engine_.plan() && call.on_step == nullptr &&
        call.growing.empty()) {
      given_.clear();
      for (size_t i = 0; i < inputs.size(); ++i)
        if (plan_->changing[i]) given_.push_back(&inputs[i]);
      calls = workspace.recordings.find(given_);
    }
    ops::Context context = context_of(call);
    if (calls != nullptr && calls->recording != nullptr) {
      Executor counting(context, call.limits, call.cancellation);
      // A call that may not compute as much as the recorded one runs in full, up to its limit.
      if (counting.count_work(calls->work)) {
        PT2_TRY(const bool ran, calls->recording->run(given_, call.cancellation, &counting));
        count_call(counting.work());
        if (ran) return calls->recording->results(workspace.memory, state_of(inputs));
        calls->note_refusal();
      }
      calls = nullptr;
    }
    Executor executor(context, call.limits, call.cancellation);
    if (calls == nullptr || calls->refused || calls->is_large() || calls->calls < 2) {
      auto results = plan_->run(std::move(inputs), call, executor, workspace);
      count_call(executor.work());
      if (calls != nullptr) calls->bytes = workspace.memory.most_used_in_run();
      return results;
    }
    const std::vector<Tensor> state = state_of(inputs);
    auto recording = std::make_unique<Recording>(*plan_->graph->graph, calls->bytes, false);
    workspace.memory = MemoryPool();  // the recording has its own; later calls need no other
    Result<std::vector<Value>> computed =
        plan_->run(std::move(inputs), call, executor, workspace, recording.get());
    count_call(executor.work());
    PT2_TRY(std::vector<Value> results, std::move(computed));
    calls->work = executor.work() - recording->repeated_work();
    recording->write_back(state);
    calls->refused = !recording->is_usable();
    if (calls->refused) {
      // Results that are views of copied state become views of the state itself, which may get a
      // new value after the last node.
      for (Value& result : results)
        if (const auto* tensor = result.get_if<Tensor>())
          result = Value(recording->of_state(*tensor, state));
      return results;
    }
    results = recording->results(workspace.memory, state);
    calls->recording = std::move(recording);
    workspace.recordings.limit_memory();
    return results;
  }

  const PlannedEngine& engine_;
  SessionOptions options_;
  int threads_;
  std::shared_ptr<const Plan> plan_;
  std::vector<bool> replaced_;  // weights about which plan_ assumes nothing; empty: none
  // The changing inputs of a call, and the storages of its outputs. The memory is reused.
  std::vector<const Value*> given_;
  std::vector<const Storage*> storages_;
};

std::unique_ptr<EngineSession> PlannedEngine::start_session(const SessionOptions& options) const {
  return std::make_unique<PlannedSession>(*this, options);
}

}  // namespace

Result<std::unique_ptr<const Engine>> prepare_planned_engine(const EngineSource& source) {
  auto engine = std::make_unique<PlannedEngine>(source);
  PT2_TRY_VOID(engine->prepare());
  return std::unique_ptr<const Engine>(std::move(engine));
}

}  // namespace pt2::run
