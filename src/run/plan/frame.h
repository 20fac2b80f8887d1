// The values of a running call, and what steps compute them with.
#ifndef PT2_RUN_PLAN_FRAME_H
#define PT2_RUN_PLAN_FRAME_H

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "pt2/run_options.h"
#include "run/plan/workspace.h"
#include "run/reference/executor.h"

namespace pt2::run {

// Images lie channels last in a plan, whatever the program would have them lie in: sizes stay as
// they are, strides differ. Values of which that holds are `rearranged`; who depends on strides
// asks for them as_written() first.
class Frame {
 public:
  // `written` says of each value whether something may write to its storage. What is launched is
  // added to the recording, if there is one.
  Frame(const Graph& graph, const std::vector<bool>& written, Executor& executor,
        Workspace& workspace, Recording* recording)
      : values(graph.value_count()),
        graph_(graph),
        written_(written),
        executor_(executor),
        workspace_(workspace),
        recording_(recording),
        rearranged_(graph.value_count(), false) {}

  std::vector<Value> values;

  const Graph& graph() const { return graph_; }
  Executor& executor() { return executor_; }
  kernels::ThreadPool* threads() { return &workspace_.threads; }
  Recording* recording() { return recording_; }

  // Row-major if `strides` is empty; the elements are unspecified.
  Tensor make(Sizes sizes, Sizes strides = {}, Dtype dtype = Dtype::float32) {
    if (places_results())
      if (std::optional<Tensor> memory = result_memory(sizes, strides, dtype)) return *memory;
    MemoryPool& memory = recording_ == nullptr ? workspace_.memory : recording_->memory();
    return memory.tensor(dtype, std::move(sizes), std::move(strides));
  }

  // Whatever reads or writes elements, now and, if the call is recorded, when it is done again. It
  // holds copies of all it needs, pointers to memory of this call among them. What returns false
  // has met elements that it is not made for; this is then returned, too.
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

  // Bytes that what is launched next holds besides tensors.
  void note_kept(uint64_t bytes) {
    if (recording_ != nullptr) recording_->note_kept(bytes);
  }

  // Memory of the caller for results, row-major: the step that makes the value gets it.
  void place_results(std::vector<std::pair<ValueId, Tensor>> results) {
    results_ = std::move(results);
  }
  bool places_results() const { return !results_.empty(); }
  // The value that a step makes, which begins.
  void begin_step(std::optional<ValueId> result) { making_ = result; }
  // The memory for that, which make() gives no more; nothing where there is none.
  std::optional<Tensor> take_place();

  // The operand of a step; null if it is none or no tensor.
  const Tensor* tensor(const BoundArgument& argument) const;
  // The value that the argument is, alone; nothing for constants and lists.
  static std::optional<ValueId> value_id(const BoundArgument& argument);

  bool is_rearranged(ValueId id) const { return rearranged_[static_cast<size_t>(id)]; }
  // Whether it may become rearranged: not where a view of it may be written to.
  bool may_rearrange(ValueId id) const { return !written_[static_cast<size_t>(id)]; }
  void set(ValueId id, Tensor tensor, bool rearranged);
  // Gives a rearranged value the strides that it has in the program.
  void as_written(ValueId id);

  // The inputs that may grow, with the room for it; what it is given must outlive the frame.
  void let_grow(ValueId input, const GrowingInput& growing) {
    growing_.emplace_back(input, &growing);
  }
  // Null where the value is none of them.
  const GrowingInput* growing(ValueId id) const;
  // The value is `tensor`, the beginning of a room: as a result of the call it stays there.
  void set_grown(ValueId id, Tensor tensor);
  // Null where the value is none of these.
  const Tensor* grown(ValueId id) const;

 private:
  // Once for each.
  std::optional<Tensor> result_memory(const Sizes& sizes, const Sizes& strides, Dtype dtype);

  const Graph& graph_;
  const std::vector<bool>& written_;
  Executor& executor_;
  Workspace& workspace_;
  Recording* recording_;
  std::vector<bool> rearranged_;
  std::vector<std::pair<ValueId, const GrowingInput*>> growing_;
  std::vector<std::pair<ValueId, Tensor>> grown_;
  std::vector<std::pair<ValueId, Tensor>> results_;
  std::optional<ValueId> making_;
};

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_FRAME_H
