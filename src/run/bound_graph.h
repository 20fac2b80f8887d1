// A graph prepared for execution: each node's operator is looked up, constants are converted once,
// and each value's last use is known.
#ifndef PT2_RUN_BOUND_GRAPH_H
#define PT2_RUN_BOUND_GRAPH_H

#include <memory>
#include <string>
#include <vector>

#include "ops/custom_operator.h"
#include "pt2/ir/graph.h"
#include "run/reference/higher_order.h"

namespace pt2::run {

struct BoundGraph;
// An argument of a step: a constant, or an expression over the graph's values.
struct BoundArgument {
  Value constant;
  // Null if the argument is a constant.
  const Argument* dynamic = nullptr;
};

// A value in a vmap region. Its first dimensions are hidden from the operators: one per level, in
// the order of `levels`.
struct BatchedValue {
  ValueId value{};
  std::vector<int64_t> levels;  // ascending
};

struct BoundNode {
  const Node* node = nullptr;
  // The node's operator, or the operator that its higher-order operator calls; null if there is
  // none.
  ops::Operator op;
  const HigherOrder* higher_order = nullptr;  // null for operators
  std::vector<BoundArgument> arguments;       // in signature order, or (higher-order) file order
  std::vector<ValueId> released;              // values whose last use is this node
  // The nested graphs among a higher-order operator's arguments, by position.
  std::vector<std::pair<size_t, const BoundGraph*>> subgraphs;
  // Inside vmap: the inputs with batch dimensions, and the union of their levels (vmap.h).
  std::vector<BatchedValue> batched;
  std::vector<int64_t> levels;
};

struct BoundGraph {
  const Graph* graph = nullptr;
  std::vector<BoundNode> nodes;
  std::vector<std::unique_ptr<BoundGraph>> subgraphs;
};

// Errors: `unsupported` naming every operator without a kernel; `invalid` if arguments do not fit a
// signature. The graph and `operators` must outlive the result.
Result<std::unique_ptr<BoundGraph>> bind_graph(const Graph& graph,
                                               const CustomOperators& operators = {});

// True if a node that calls an operator may write to the argument at `index` of its signature.
bool may_write_to_argument(const BoundNode& node, size_t index);
// may_write_to_arguments: true if a node may write to the storage of an argument.
// may_return_arguments: true if a result may share the storage of an argument.
bool may_write_to_arguments(const BoundNode& node);
bool may_return_arguments(const BoundNode& node);

// True for each graph input (by position) whose storage an operator may write to, directly or
// through views.
std::vector<bool> inputs_possibly_written(const BoundGraph& graph);

}  // namespace pt2::run

#endif  // PT2_RUN_BOUND_GRAPH_H
