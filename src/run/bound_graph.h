// A graph made ready to execute: every node's operator found, constants converted once, and for
// every value the step after which nobody needs it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/table.h"
#include "pt2/graph.h"

namespace pt2::run {

struct BoundGraph;
struct BoundNode;
class Executor;

// An argument of a step: a constant, or an expression over the graph's values.
struct BoundArgument {
  Value constant;
  // Null for constants.
  const Argument* dynamic = nullptr;
};

// A higher-order operator: runs nested graphs itself.
using HigherOrderFunction = Result<std::vector<Value>> (*)(Executor& executor,
                                                           const BoundNode& node,
                                                           std::vector<Value> arguments);
// Null when the target is no known higher-order operator or has no effect here.
HigherOrderFunction find_higher_order(std::string_view target);
std::vector<std::string> higher_order_targets();

struct BoundNode {
  const Node* node = nullptr;
  ops::Operator op;                            // null for higher-order operators
  HigherOrderFunction higher_order = nullptr;  // null for operators
  std::vector<BoundArgument> arguments;        // in the order of the signature
  std::vector<ValueId> released;               // not used after this node
  // The nested graphs among a higher-order operator's arguments, by position.
  std::vector<std::pair<size_t, const BoundGraph*>> subgraphs;
};

struct BoundGraph {
  const Graph* graph = nullptr;
  std::vector<BoundNode> nodes;
  std::vector<std::unique_ptr<BoundGraph>> subgraphs;
};

// Error: `unsupported` naming every operator without a kernel; `invalid` when arguments do not fit
// a signature. The graph must outlive the result.
Result<std::unique_ptr<BoundGraph>> bind_graph(const Graph& graph);

// An argument that is no value of the graph. Error `unsupported` for what cannot be computed with.
Result<Value> constant_value(const Argument& argument);

// True for each graph input (by position) whose storage some operator may write to, directly or
// through views.
std::vector<bool> inputs_possibly_written(const BoundGraph& graph);

// "%linear_1 (torch.ops.aten.linear.default) at model.py:12".
std::string node_place(const Graph& graph, const Node& node);
// Puts the node in front of the error's place: "%cond (...) > %add (...)".
Error at_node(Error error, const Graph& graph, const Node& node);

}  // namespace pt2::run
