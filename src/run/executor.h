// The reference executor: runs a bound graph node by node, as written, with real aliasing and
// mutation. It is the oracle that faster executors are compared with.
#pragma once

#include <vector>

#include "run/bound_graph.h"

namespace pt2::run {

// One running call.
class Executor {
 public:
  explicit Executor(ops::Context& context) : context_(context) {}

  // Inputs in the order of the graph's inputs; the results in the order of its outputs. Errors
  // carry the node.
  Result<std::vector<Value>> run(const BoundGraph& graph, std::vector<Value> inputs);

 private:
  Result<void> run_node(const BoundGraph& graph, const BoundNode& node, std::vector<Value>& values);

  ops::Context& context_;
};

}  // namespace pt2::run
