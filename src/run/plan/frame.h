// The values of a running call, and what steps compute them with.
#ifndef PT2_RUN_PLAN_FRAME_H
#define PT2_RUN_PLAN_FRAME_H

#include <vector>

#include "run/plan/workspace.h"
#include "run/reference/executor.h"

namespace pt2::run {

// Images lie channels last in a plan, whatever the program would have them lie in: sizes stay as
// they are, strides differ. Values of which that holds are `rearranged`; who depends on strides
// asks for them as_written() first.
class Frame {
 public:
  // `written` says of each value whether something may write to its storage.
  Frame(const Graph& graph, const std::vector<bool>& written, Executor& executor,
        Workspace& workspace)
      : values(graph.value_count()),
        graph_(graph),
        written_(written),
        executor_(executor),
        workspace_(workspace),
        rearranged_(graph.value_count(), false) {}

  std::vector<Value> values;

  const Graph& graph() const { return graph_; }
  Executor& executor() { return executor_; }
  kernels::ThreadPool* threads() { return &workspace_.threads; }

  // Row-major if `strides` is empty; float32; the elements are unspecified.
  Tensor make(Sizes sizes, Sizes strides = {}) {
    return workspace_.memory.tensor(Dtype::float32, std::move(sizes), std::move(strides));
  }

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

 private:
  const Graph& graph_;
  const std::vector<bool>& written_;
  Executor& executor_;
  Workspace& workspace_;
  std::vector<bool> rearranged_;
};

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_FRAME_H
