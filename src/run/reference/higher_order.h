// Higher-order operators: those that run nested graphs or call another operator, and the switches
// of autocast and vmap regions. Each has one row in ir/higher_order.def.
#ifndef PT2_RUN_REFERENCE_HIGHER_ORDER_H
#define PT2_RUN_REFERENCE_HIGHER_ORDER_H

#include <string>
#include <string_view>
#include <vector>

#include "ir/higher_order.h"
#include "pt2/ir/argument.h"
#include "pt2/value.h"

namespace pt2::run {

struct BoundNode;
class Executor;

// `arguments` are those of the node, in order; nested graphs and other arguments that are not
// values are None. Returns one result per output of the node, or one list of the results.
using HigherOrderFunction = Result<std::vector<Value>> (*)(Executor& executor,
                                                           const BoundNode& node,
                                                           std::vector<Value> arguments);

struct HigherOrder : HigherOrderRow {
  HigherOrderFunction function = nullptr;
};
// Null if the target is not a higher-order operator that runs here.
const HigherOrder* find_higher_order(std::string_view target);
std::vector<std::string> higher_order_targets();
// True if the node is with_effects(token, print, …).
bool calls_print(const Node& node);

// Runs the nested graph at `position` of the node's arguments.
Result<std::vector<Value>> run_subgraph(Executor& executor, const BoundNode& node, size_t position,
                                        std::vector<Value> inputs);
// Returns the positional arguments from `first` on. Lists are flattened: older releases pass all
// operands as one list. Keyword arguments are hints for compilers and are dropped.
std::vector<Value> operands_from(const BoundNode& node, std::vector<Value> arguments, size_t first);

// control_flow.cpp
// Returns the list of operands that every call of the node's graphs takes last and unchanged; null
// if there is none, or if only the call determines it.
const ArgumentList* lasting_operands(const BoundNode& node);
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
Result<std::vector<Value>> call_torchbind(Executor&, const BoundNode&, std::vector<Value>);

// autocast.cpp
Result<std::vector<Value>> wrap_with_autocast(Executor&, const BoundNode&, std::vector<Value>);
Result<std::vector<Value>> enter_autocast(Executor&, const BoundNode&, std::vector<Value>);
Result<std::vector<Value>> exit_autocast(Executor&, const BoundNode&, std::vector<Value>);

// higher_order.cpp: operators that do not affect results.
Result<std::vector<Value>> no_effect(Executor&, const BoundNode&, std::vector<Value>);

// print.cpp
Result<std::vector<Value>> print(Executor&, const BoundNode&, std::vector<Value>);

// vmap.cpp
Result<std::vector<Value>> add_batch_dim(Executor&, const BoundNode&, std::vector<Value>);
Result<std::vector<Value>> remove_batch_dim(Executor&, const BoundNode&, std::vector<Value>);

}  // namespace pt2::run

#endif  // PT2_RUN_REFERENCE_HIGHER_ORDER_H
