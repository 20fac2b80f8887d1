// The recording of a call with inputs of some sizes: its kernels in order, with their operands at
// fixed addresses. Running it again looks up, checks and allocates nothing.
//
// Steps and nodes are left out if sizes and weights alone decide their results, and so are views.
// Other nodes without a kernel are run again (repeated_node.h). A call cannot be recorded if a node
// changes anything but state, or draws random numbers.
#ifndef PT2_RUN_PLAN_RECORDING_H
#define PT2_RUN_PLAN_RECORDING_H

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "pt2/value.h"
#include "run/bound_graph.h"
#include "run/cancellation.h"
#include "run/plan/memory_pool.h"
#include "run/reference/executor.h"

namespace pt2::run {

class Recording {
 public:
  // `bytes`: the most memory that such a call uses at once, as far as that is known.
  // `copies_inputs`: a result that is an input may be a copy of it.
  Recording(const Graph& graph, uint64_t bytes, bool copies_inputs)
      : memory_(MemoryPool::keeping_addresses(bytes + bytes / 8)),
        copies_inputs_(copies_inputs),
        fixed_(graph.value_count(), false) {}

  // The memory of the call's values, reserved for this recording. What the current step computes of
  // values that are the same in each call lies apart: launches that are repeated write nothing
  // there.
  MemoryPool& memory() { return step_is_fixed_ ? fixed_memory_ : memory_; }

  void add(std::function<bool()> launch) {
    constexpr uint64_t kLaunchBytes = 256;  // with what most launches capture
    if (!usable_) return;
    launches_.push_back(std::move(launch));
    note_kept(kLaunchBytes);
  }
  // Notes that additions hold `bytes` besides memory(). Too many bytes make the recording give up.
  void note_kept(uint64_t bytes);
  // Marks the recording as unusable. Its launches will not run again, so it need not keep them and
  // their values.
  void give_up() {
    usable_ = false;
    launches_.clear();
    kept_.clear();
  }
  // False if copying inputs and results would take longer than the full call, which costs about a
  // microsecond for each launch.
  bool is_usable() const {
    constexpr int64_t kBytesForLaunch = int64_t{1} << 16;
    const auto launches = static_cast<int64_t>(launches_.size() + dropped_);
    return usable_ && input_bytes_ + output_bytes_ <= (launches + 1) * kBytesForLaunch;
  }

  // Marks a value as the same in each call with inputs of these sizes.
  void fix(ValueId id) { fixed_[static_cast<size_t>(id)] = true; }
  bool is_fixed(ValueId id) const { return fixed_[static_cast<size_t>(id)]; }
  // Notes that the reference executor has run the node, which took `work`.
  void note_node(const BoundNode& node, const std::vector<Value>& values, const Executor& executor,
                 uint64_t work);
  size_t launch_count() const { return launches_.size(); }
  // Must be called before and after a step launches its kernels. If it reads no value that changes,
  // its results are kept and the launches between the two calls need not run again.
  void begin_step(const std::vector<const BoundNode*>& nodes);
  void end_step(const std::vector<const BoundNode*>& nodes, const std::vector<Value>& values);
  // The work of the recorded call's nodes that each repetition counts anew.
  uint64_t repeated_work() const { return repeated_work_; }

  // Returns a copy of the row-major tensor at an address of its own. write_back() copies what was
  // written to a copy of state to the state.
  Tensor add_input(const Tensor& tensor, bool is_state = false);
  bool is_state(const Tensor& tensor) const;
  // `state` lists the tensors with such copies, in the order of add_input().
  void write_back(std::span<const Tensor> state) const;
  // Returns a view of a copy of state as the same view of the state; any other tensor unchanged.
  Tensor of_state(const Tensor& tensor, std::span<const Tensor> state) const;
  // Must be called for the results in their order.
  void add_output(const Value& value);

  // Computes with the elements of other inputs of the same sizes. False if the kernels do not
  // handle these elements: the call must then run in full. Error `cancelled`. `counting` counts the
  // work and rounds of repeated nodes. If it is null, they have the limits of the recorded call.
  Result<bool> run(std::span<const Value* const> inputs, const Cancellation& cancellation,
                   Executor* counting = nullptr) const;

  // Row-major results; valid until the next run.
  std::span<const Tensor> outputs() const { return outputs_; }
  // Returns the results in memory of their own, and results that are views of a copy of state as
  // views of the state, as a full call does.
  std::vector<Value> results(MemoryPool& memory, std::span<const Tensor> state = {}) const;
  // Bytes that the recording holds.
  uint64_t bytes() const { return memory_.bytes() + fixed_memory_.bytes() + kept_bytes_; }

 private:
  // False if the node does not write, or writes to anything but state.
  bool note_write(const BoundNode& node, const std::vector<Value>& values, const Executor& executor,
                  uint64_t work);
  // False where the node does not copy its argument.
  bool note_copy(const BoundNode& node, const std::vector<Value>& values);
  void repeat(const BoundNode& node, const std::vector<Value>& values, const Executor& executor,
              uint64_t work);

  MemoryPool memory_;
  MemoryPool fixed_memory_;  // of steps that read no value that changes
  bool step_is_fixed_ = false;
  size_t first_of_step_ = 0;  // the number of launches before the current step
  bool copies_inputs_;
  bool usable_ = true;
  std::vector<bool> fixed_;  // by value id
  std::vector<Value> kept_;  // other values that launches read
  uint64_t kept_bytes_ = 0;
  int64_t input_bytes_ = 0;
  int64_t output_bytes_ = 0;
  std::vector<Tensor> inputs_;
  std::vector<std::byte*> places_;  // addresses of inputs_
  std::vector<size_t> state_;       // indices of state in inputs_
  std::vector<Tensor> outputs_;
  std::vector<std::function<bool()>> launches_;
  size_t dropped_ = 0;  // launches that need not run again
  bool repeats_nodes_ = false;
  uint64_t repeated_work_ = 0;
  Limits limits_;  // of the recorded call
  uint64_t account_limit_ = Limits{}.max_tensor_bytes;
  // Counts for the running call's repeated nodes.
  std::shared_ptr<Executor*> counting_ = std::make_shared<Executor*>(nullptr);
};

// For calls with inputs of the same sizes: their number, and the recording of one of them.
struct RecordedCalls {
  std::vector<Value> inputs;  // tensors without elements
  uint64_t calls = 0;
  uint64_t last_call = 0;
  uint64_t refusals = 0;  // by the recording
  bool refused = false;
  // The work of one such call (Limits::max_work) without repeated nodes.
  uint64_t work = 0;
  uint64_t bytes = 0;  // most memory that the last full call used at once
  std::unique_ptr<const Recording> recording;

  // Notes that the recording refused a call's elements. A recording that refuses often costs more
  // than it saves.
  void note_refusal();
  // True if a call uses so much memory that its recording would save no time and would hold all of
  // that memory.
  bool is_large() const { return bytes > uint64_t{16} << 20; }
};

// The last few kinds of calls of a workspace, told apart by the sizes of their inputs.
class Recordings {
 public:
  // A repeated call copies its inputs and results. If these are larger (caches of a decoder, logits
  // of a vocabulary), copying costs more than the full call.
  static constexpr int64_t kMostCopied = int64_t{4} << 20;

  // Returns the entry for inputs of these sizes. A new entry replaces the least recently used one.
  // Null for inputs that cannot be recorded.
  RecordedCalls* find(std::span<const Value* const> inputs, int64_t most_bytes = kMostCopied);
  // Returns the recording for such inputs; null if there is none.
  const Recording* recording_for(std::span<const Value* const> inputs);
  // Must be called when an entry has got its recording.
  void limit_memory();
  // Bytes that all recordings hold.
  uint64_t bytes() const;

 private:
  RecordedCalls* known(std::span<const Value* const> inputs);

  static constexpr size_t kMost = 4;
  std::vector<RecordedCalls> calls_;
  uint64_t count_ = 0;
};

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_RECORDING_H
