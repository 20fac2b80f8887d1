// The values of a running call, and the services that steps need to compute them.
#ifndef PT2_RUN_PLAN_FRAME_H
#define PT2_RUN_PLAN_FRAME_H

#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pt2/run_options.h"
#include "run/plan/workspace.h"
#include "run/reference/executor.h"

namespace pt2::run {

// In a plan images are channels last, whatever layout the program gives them: the sizes are the
// program's, the strides differ. Such values are `rearranged`. Code that depends on strides must
// call as_written() first.
class Frame {
 public:
  // `written` says for each value whether a node may write to its storage. Launches are added to
  // the recording, if there is one. Without kernels, reference kernels run each node, so that
  // values have the program's strides.
  Frame(const Graph& graph, const std::vector<bool>& written, Executor& executor,
        Workspace& workspace, Recording* recording, bool has_kernels)
      : values(graph.value_count()),
        graph_(graph),
        written_(written),
        executor_(executor),
        workspace_(workspace),
        recording_(recording),
        rearranged_(graph.value_count(), false),
        has_kernels_(has_kernels) {}

  std::vector<Value> values;

  const Graph& graph() const { return graph_; }
  Executor& executor() { return executor_; }
  kernels::ThreadPool* threads() { return &workspace_.threads; }
  Recording* recording() { return recording_; }
  bool has_kernels() const { return has_kernels_; }

  // Returns a tensor with unspecified elements, row-major if `strides` is empty.
  Tensor make(Sizes sizes, Sizes strides = {}, Dtype dtype = Dtype::float32) {
    if (places_results())
      if (std::optional<Tensor> memory = result_memory(sizes, strides, dtype)) return *memory;
    MemoryPool& memory = recording_ == nullptr ? workspace_.memory : recording_->memory();
    return memory.tensor(dtype, std::move(sizes), std::move(strides));
  }

  // Runs code that reads or writes elements. If the call is recorded, each repetition runs it
  // again, unless the step reads no value that changes. `function` holds copies of all it needs,
  // including pointers to memory of this call. A function that returns false has met elements that
  // it does not handle; launch() then returns false, too.
  template <class Function>
  bool launch(const Function& function) {
    if constexpr (std::is_void_v<decltype(function())>) {
      return launch([function] {
        function();
        return true;
      });
    } else {
      if (!function()) return false;
      if (recording_ != nullptr) recording_->add(function);
      return true;
    }
  }

  // Notes bytes that the next launch holds besides tensors.
  void note_kept(uint64_t bytes) {
    if (recording_ != nullptr) recording_->note_kept(bytes);
  }

  // Offers row-major memory of the caller for results. The step that makes a value gets its memory.
  void place_results(std::unordered_map<ValueId, Tensor> results) { results_ = std::move(results); }
  bool places_results() const { return !results_.empty(); }
  // Begins a step that makes the value `result`.
  void begin_step(std::optional<ValueId> result) { making_ = result; }
  // Takes the caller's memory for the current step's result, which make() then does not return;
  // nullopt if there is none.
  std::optional<Tensor> take_place();

  // Returns the tensor operand of a step; null if it is None or not a tensor.
  const Tensor* tensor(const BoundArgument& argument) const;
  // Returns the value if the argument is a single value; nullopt for constants and lists.
  static std::optional<ValueId> value_id(const BoundArgument& argument);

  bool is_rearranged(ValueId id) const { return rearranged_[static_cast<size_t>(id)]; }
  // True if the value may become rearranged: no node may write to its storage.
  bool may_rearrange(ValueId id) const { return !written_[static_cast<size_t>(id)]; }
  void set(ValueId id, Tensor tensor, bool rearranged);
  // Gives a rearranged value the strides that it has in the program.
  void as_written(ValueId id);

  // Declares an input that may grow, and the room for it. `growing` must outlive the frame.
  void let_grow(ValueId input, const GrowingInput& growing) {
    growing_.emplace_back(input, &growing);
  }
  // Returns null if the value is not a growing input.
  const GrowingInput* growing(ValueId id) const;
  // Sets the value to `tensor`, the beginning of a room, where it stays as a result of the call.
  void set_grown(ValueId id, Tensor tensor);
  // Returns null if set_grown() was not called for the value.
  const Tensor* grown(ValueId id) const;

 private:
  // Returns the memory of each result once.
  std::optional<Tensor> result_memory(const Sizes& sizes, const Sizes& strides, Dtype dtype);

  const Graph& graph_;
  const std::vector<bool>& written_;
  Executor& executor_;
  Workspace& workspace_;
  Recording* recording_;
  std::vector<bool> rearranged_;
  std::vector<std::pair<ValueId, const GrowingInput*>> growing_;
  std::vector<std::pair<ValueId, Tensor>> grown_;
  std::unordered_map<ValueId, Tensor> results_;
  std::optional<ValueId> making_;
  bool has_kernels_;
};

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_FRAME_H
