// The reference executor: runs a bound graph node by node, as written, with real aliasing and
// mutation. Faster executors are compared with it.
#ifndef PT2_RUN_REFERENCE_EXECUTOR_H
#define PT2_RUN_REFERENCE_EXECUTOR_H

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/limits.h"
#include "pt2/tools/observer.h"
#include "run/bound_graph.h"
#include "run/cancellation.h"
#include "run/reference/autocast.h"

namespace pt2::run {

// Returns the value of an argument; `values` are those of its graph.
Result<Value> evaluate_argument(const Argument& argument, const std::vector<Value>& values);

class Executor;

// Runs nested graphs: bodies of loops, branches.
class NestedGraphs {
 public:
  virtual ~NestedGraphs() = default;
  virtual Result<std::vector<Value>> run(const BoundGraph& graph, std::vector<Value> inputs,
                                         Executor& executor) const = 0;
};

// One call while it runs.
class Executor {
 public:
  explicit Executor(ops::Context& context, const Limits& limits = {},
                    const Cancellation& cancellation = {})
      : context_(context), limits_(limits), cancellation_(cancellation) {}

  const Limits& limits() const { return limits_; }

  // `observer` is told every value of every graph; it must outlive the executor.
  void observe(const Observer* observer) { observer_ = observer; }
  // True if somebody is told what the program prints.
  bool prints() const { return context_.on_print != nullptr; }
  void print(std::string_view text) const { (*context_.on_print)(text); }
  // Sets what runs nested graphs; null, the default, means this executor. This executor also runs
  // them under an observer and in an open autocast region.
  void run_nested_by(std::shared_ptr<const NestedGraphs> nested) { nested_ = std::move(nested); }
  const std::shared_ptr<const NestedGraphs>& nested() const { return nested_; }

  // Takes the graph's inputs in order and returns its outputs in order. Errors name the node. May
  // fail with `cancelled` before any node, loop round or batch element.
  Result<std::vector<Value>> run(const BoundGraph& graph, std::vector<Value> inputs);

  // The same for a nested graph of the running node.
  Result<std::vector<Value>> run_nested(const BoundNode& node, const BoundGraph& graph,
                                        std::vector<Value> inputs);

  // Computes one node's results, taking its arguments from the graph's values.
  Result<std::vector<Value>> compute(const BoundNode& node, const std::vector<Value>& values);
  // The two halves of compute(): the arguments of a node, and its results, one per output, for
  // given arguments.
  static Result<std::vector<Value>> arguments_of(const BoundNode& node,
                                                 const std::vector<Value>& values);
  Result<std::vector<Value>> compute_with(const BoundNode& node, std::vector<Value> arguments);
  // Runs an operator under the current autocast region; the arguments must be bound to its
  // signature.
  Result<std::vector<Value>> call(const ops::Operator& op, std::vector<Value> arguments);
  // Runs a node: reads its arguments from `values` and stores its results there.
  Result<void> run_node(const Graph& graph, const BoundNode& node, std::vector<Value>& values);
  Result<void> check_cancellation() const { return cancellation_.check(); }
  // Must be called before loop rounds run. Error `limit` if all loops together run too many rounds.
  Result<void> count_iterations(int64_t count);
  // The fixed cost of a node (finding operands, storing results), in elements.
  static constexpr uint64_t kNodeWork = 512;
  // The cost of a value that a nested graph takes or returns, in elements.
  static constexpr uint64_t kHandedWork = 128;
  // The cost of room for a value of a graph, used or not, in elements.
  static constexpr uint64_t kValueWork = 4;
  // The memory of a value that a loop keeps for each round, without its storage, in bytes.
  static constexpr uint64_t kKeptBytes = 256;
  // Must be called before a node runs, and for the elements of its tensors. Error `limit` beyond
  // Limits::max_work.
  Result<void> count_work(uint64_t elements);
  // Counts the elements of tensors and of tensors in lists.
  Result<void> count_elements(std::span<const Value> values);
  uint64_t work() const { return work_; }
  // Goes on counting work and rounds where another executor of the same call stands.
  void count_from(const Executor& other) {
    iterations_ = other.iterations_;
    work_ = other.work_;
  }
  const Cancellation& cancellation() const { return cancellation_; }

  // The open autocast regions; the innermost, which is last, applies. A graph must leave them as it
  // found them.
  std::vector<std::optional<Dtype>>& autocasts() { return autocasts_; }

 private:
  Result<void> run_nodes(const BoundGraph& graph, std::vector<Value>& values);
  // Compares a custom kernel's results with what the program records of the node.
  Result<void> check_records(const Graph& graph, const BoundNode& node,
                             const std::vector<Value>& results) const;

  Result<void> tell(const Graph& graph, const Node& node, const Argument& output,
                    const std::vector<Value>& values);

  ops::Context& context_;
  Limits limits_;
  Cancellation cancellation_;
  const Observer* observer_ = nullptr;
  std::shared_ptr<const NestedGraphs> nested_;
  std::string path_;  // prefixes the names of values of the running graph
  // The graph of the running node, and how often each of its nested graphs has run.
  struct Frame {
    const Graph* graph = nullptr;
    std::map<const BoundGraph*, size_t> runs{};
  };
  Frame frame_;
  int64_t iterations_ = 0;
  uint64_t work_ = 0;
  std::vector<std::optional<Dtype>> autocasts_;
};

}  // namespace pt2::run

#endif  // PT2_RUN_REFERENCE_EXECUTOR_H
