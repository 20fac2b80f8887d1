// What a call with inputs of some sizes did, to be done again: the kernels in their order with
// their operands, which lie where they lay. Nothing is looked up, checked or allocated for that.
//
// A node that the reference executor runs is left out where it makes a view or what sizes and
// weights alone decide, and is run again otherwise (repeated_node.h). A call cannot be recorded
// where a node changes something else than state, or draws random numbers.
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
  // `bytes`: what such a call uses at once, as far as that is known. `copies_inputs`: a result that
  // is an input may be a copy of it.
  Recording(const Graph& graph, uint64_t bytes, bool copies_inputs)
      : memory_(MemoryPool::keeping_addresses(bytes + bytes / 8)),
        copies_inputs_(copies_inputs),
        fixed_(graph.value_count(), false) {}

  // The memory of all values of the call, which nobody else takes.
  MemoryPool& memory() { return memory_; }

  void add(std::function<bool()> launch) { launches_.push_back(std::move(launch)); }
  // `bytes` are held by what is added, besides memory(). Too many of them are a reason to give up.
  void note_kept(uint64_t bytes);
  // It cannot be done again.
  void give_up() { usable_ = false; }
  // Not where copying its inputs and results would take longer than making the call in full, which
  // costs about a microsecond for each launch.
  bool is_usable() const {
    constexpr int64_t kBytesForLaunch = int64_t{1} << 16;
    const auto launches = static_cast<int64_t>(launches_.size());
    return usable_ && input_bytes_ + output_bytes_ <= (launches + 1) * kBytesForLaunch;
  }

  // A value that is the same in each call with inputs of these sizes.
  void fix(ValueId id) { fixed_[static_cast<size_t>(id)] = true; }
  bool is_fixed(ValueId id) const { return fixed_[static_cast<size_t>(id)]; }
  // The reference executor has run the node.
  void note_node(const BoundNode& node, const std::vector<Value>& values, const Executor& executor);

  // A copy of the tensor, which is row-major, at a place of its own. What is written to a copy of
  // state becomes the state by write_back.
  Tensor add_input(const Tensor& tensor, bool is_state = false);
  bool is_state(const Tensor& tensor) const;
  // `state` has the tensors of which there are such copies, in their order.
  void write_back(std::span<const Tensor> state) const;
  // A view of a copy of state as the same view of the state; any other tensor as it is.
  Tensor of_state(const Tensor& tensor, std::span<const Tensor> state) const;
  // In their order.
  void add_output(const Value& value);

  // Computes with the elements of other inputs of the same sizes. False where these are not what
  // the kernels take: the call has to be made in full. Error `cancelled`.
  Result<bool> run(std::span<const Value* const> inputs, const Cancellation& cancellation) const;

  // Row-major results; valid until the next run.
  std::span<const Tensor> outputs() const { return outputs_; }
  // What it holds.
  uint64_t bytes() const { return memory_.bytes() + kept_bytes_; }

 private:
  // False where the node does not write, or to something else than state.
  bool note_write(const BoundNode& node, const std::vector<Value>& values,
                  const Executor& executor);
  // False where the node does not copy its argument.
  bool note_copy(const BoundNode& node, const std::vector<Value>& values);
  void repeat(const BoundNode& node, const std::vector<Value>& values, const Executor& executor);

  MemoryPool memory_;
  bool copies_inputs_;
  bool usable_ = true;
  std::vector<bool> fixed_;  // by value
  std::vector<Value> kept_;  // what launches read besides
  uint64_t kept_bytes_ = 0;
  int64_t input_bytes_ = 0;
  int64_t output_bytes_ = 0;
  std::vector<Tensor> inputs_;
  std::vector<std::byte*> places_;  // of these
  std::vector<size_t> state_;       // positions among these
  std::vector<Tensor> outputs_;
  std::vector<std::function<bool()>> launches_;
  bool repeats_nodes_ = false;
  uint64_t account_limit_ = Limits{}.max_tensor_bytes;
  // Of the call that runs.
  std::shared_ptr<Cancellation> cancellation_ = std::make_shared<Cancellation>();
};

// Of calls with inputs of the same sizes: how often there were some, and the recording of one.
struct RecordedCalls {
  std::vector<Value> inputs;  // tensors without elements
  uint64_t calls = 0;
  uint64_t last_call = 0;
  uint64_t refusals = 0;  // of the recording
  bool refused = false;
  uint64_t work = 0;   // that one such call counted (Limits::max_work)
  uint64_t bytes = 0;  // what the last of them in full used at once
  std::unique_ptr<const Recording> recording;

  // The recording was not for these elements. One that refuses often costs more than it saves.
  void note_refusal();
  // One that moves through much memory takes so long that there is nothing to save, and its
  // recording would hold all of that.
  bool is_large() const { return bytes > uint64_t{16} << 20; }
};

// Results of a recording in memory of their own.
std::vector<Value> copies_of(std::span<const Tensor> results, MemoryPool& memory);

// The last few kinds of calls of a workspace.
class Recordings {
 public:
  // A call that is done again copies its inputs and its results. Where these are larger (caches of
  // a decoder, logits of a vocabulary) copying costs more than making the call in full.
  static constexpr int64_t kMostCopied = int64_t{4} << 20;

  // The entry for inputs of these sizes; a new one if there is none, in the place of the one that
  // was not needed for longest. Null for inputs that no recording takes.
  RecordedCalls* find(std::span<const Value* const> inputs, int64_t most_bytes = kMostCopied);
  // The recording for such inputs; null if there is none.
  const Recording* recording_for(std::span<const Value* const> inputs);
  // To be called when an entry has got its recording.
  void limit_memory();
  // What the recordings hold.
  uint64_t bytes() const;

 private:
  RecordedCalls* known(std::span<const Value* const> inputs);

  static constexpr size_t kMost = 4;
  std::vector<RecordedCalls> calls_;
  uint64_t count_ = 0;
};

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_RECORDING_H
