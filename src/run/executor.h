// The reference executor: runs a bound graph node by node, as written, with real aliasing and
// mutation. It is the oracle that faster executors are compared with.
#pragma once

#include <vector>

#include "run/autocast.h"
#include "run/bound_graph.h"

namespace pt2::run {

// Rounds of all loops of one call together (while_loop, scan, map, vmap): a condition that never
// turns false would run forever.
constexpr int64_t kMaxLoopIterations = 10'000'000;

// One running call.
class Executor {
 public:
  explicit Executor(ops::Context& context, int64_t max_loop_iterations = kMaxLoopIterations)
      : context_(context), max_iterations_(max_loop_iterations) {}

  // Inputs in the order of the graph's inputs; the results in the order of its outputs. Errors
  // carry the node.
  Result<std::vector<Value>> run(const BoundGraph& graph, std::vector<Value> inputs);

  // The results of one node, its arguments taken from the graph's values.
  Result<std::vector<Value>> compute(const BoundNode& node, const std::vector<Value>& values);
  // Runs an operator on arguments bound to its signature, under the present autocast.
  Result<std::vector<Value>> call(const ops::Operator& op, std::vector<Value> arguments);
  // To be called before rounds of a loop. Error `limit` when all loops together make too many.
  Result<void> count_iterations(int64_t count);

  // Of the regions that are entered; the last one holds. A graph leaves them as it found them.
  std::vector<Autocast>& autocasts() { return autocasts_; }

 private:
  Result<void> run_nodes(const BoundGraph& graph, std::vector<Value>& values);
  Result<void> run_node(const BoundNode& node, std::vector<Value>& values);

  ops::Context& context_;
  int64_t max_iterations_;
  int64_t iterations_ = 0;
  std::vector<Autocast> autocasts_;
};

}  // namespace pt2::run
