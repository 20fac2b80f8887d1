// Higher-order operators: those that run nested graphs or call another operator, and the switches
// of autocast and vmap regions. One row each, in higher_order.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/value.h"

namespace pt2::run {

struct BoundNode;
class Executor;

// `arguments` are those of the node, in order; nested graphs and what cannot be computed with are
// none there. A result for every output of the node, or all of them in a list.
using HigherOrderFunction = Result<std::vector<Value>> (*)(Executor& executor,
                                                           const BoundNode& node,
                                                           std::vector<Value> arguments);

struct HigherOrder {
  std::string_view name;  // "cond"; the whole target where it is a Python function
  HigherOrderFunction function = nullptr;
  // The position of the argument that names an operator to call.
  std::optional<size_t> callee{};
  // The operator called writes to copies, not to the arguments.
  bool copies_arguments = false;
};
// Null when the target is none: "torch.ops.higher_order.cond", or as releases up to 2.4 wrote it,
// "torch.ops.cond" and "torch._higher_order_ops.cond.cond".
const HigherOrder* find_higher_order(std::string_view target);
std::vector<std::string> higher_order_targets();

// Runs the nested graph at `position` of the node's arguments.
Result<std::vector<Value>> run_subgraph(Executor& executor, const BoundNode& node, size_t position,
                                        std::vector<Value> inputs);
// The positional arguments from `first` on, with a list spread out: older releases pass operands as
// one list. Keyword arguments are hints for compilers.
std::vector<Value> operands_from(const BoundNode& node, std::vector<Value> arguments, size_t first);

// control_flow.cpp
Result<std::vector<Value>> cond(Executor&, const BoundNode&, std::vector<Value>);
Result<std::vector<Value>> while_loop(Executor&, const BoundNode&, std::vector<Value>);
Result<std::vector<Value>> while_loop_stack_output(Executor&, const BoundNode&, std::vector<Value>);
Result<std::vector<Value>> map_impl(Executor&, const BoundNode&, std::vector<Value>);
Result<std::vector<Value>> scan(Executor&, const BoundNode&, std::vector<Value>);
Result<std::vector<Value>> associative_scan(Executor&, const BoundNode&, std::vector<Value>);

// called_operators.cpp
Result<std::vector<Value>> with_effects(Executor&, const BoundNode&, std::vector<Value>);
Result<std::vector<Value>> auto_functionalized(Executor&, const BoundNode&, std::vector<Value>);
Result<std::vector<Value>> auto_functionalized_v2(Executor&, const BoundNode&, std::vector<Value>);
Result<std::vector<Value>> out_dtype(Executor&, const BoundNode&, std::vector<Value>);

// autocast.cpp
Result<std::vector<Value>> wrap_with_autocast(Executor&, const BoundNode&, std::vector<Value>);
Result<std::vector<Value>> enter_autocast(Executor&, const BoundNode&, std::vector<Value>);
Result<std::vector<Value>> exit_autocast(Executor&, const BoundNode&, std::vector<Value>);

// vmap.cpp
Result<std::vector<Value>> add_batch_dim(Executor&, const BoundNode&, std::vector<Value>);
Result<std::vector<Value>> remove_batch_dim(Executor&, const BoundNode&, std::vector<Value>);

}  // namespace pt2::run
