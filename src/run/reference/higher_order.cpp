#include "run/reference/higher_order.h"

#include <algorithm>
#include <iterator>

#include "ir/target.h"
#include "run/reference/executor.h"

namespace pt2::run {
namespace {

template <size_t Graph, size_t FirstOperand>
Result<std::vector<Value>> run_body(Executor& executor, const BoundNode& node,
                                    std::vector<Value> arguments) {
  return run_subgraph(executor, node, Graph,
                      operands_from(node, std::move(arguments), FirstOperand));
}

// Switches without a meaning here: gradients do not exist, and vmap is resolved when binding.
Result<std::vector<Value>> no_effect(Executor&, const BoundNode&, std::vector<Value>) {
  return std::vector<Value>{Value()};
}

// What forward_derivative.h takes out of graphs.
Result<std::vector<Value>> outside_of_jvp(Executor&, const BoundNode&, std::vector<Value>) {
  return ops::operator_error("a dual number outside of torch.func.jvp");
}

// clang-format off
constexpr HigherOrder kRows[] = {
    {"torch._C._set_grad_enabled",                             no_effect},
    {"torch._functorch.predispatch._add_batch_dim",            add_batch_dim},
    {"torch._functorch.predispatch._enter_dual_level",         outside_of_jvp},
    {"torch._functorch.predispatch._exit_dual_level",          outside_of_jvp},
    {"torch._functorch.predispatch._jvp_decrement_nesting",    outside_of_jvp},
    {"torch._functorch.predispatch._jvp_increment_nesting",    outside_of_jvp},
    {"torch._functorch.predispatch._make_dual",                outside_of_jvp},
    {"torch._functorch.predispatch._remove_batch_dim",         remove_batch_dim},
    {"torch._functorch.predispatch._unpack_dual",              outside_of_jvp},
    {"torch._functorch.predispatch._unwrap_for_grad",          outside_of_jvp},
    {"torch._functorch.predispatch._vmap_decrement_nesting",   no_effect},
    {"torch._functorch.predispatch._vmap_increment_nesting",   no_effect},
    {"torch._functorch.predispatch.lazy_load_decompositions",  no_effect},
    {"torch.amp.autocast_mode._enter_autocast",                enter_autocast},
    {"torch.amp.autocast_mode._exit_autocast",                 exit_autocast},
    {"associative_scan",             associative_scan},
    {"auto_functionalized",          auto_functionalized,     0, true},
    {"auto_functionalized_v2",       auto_functionalized_v2,  0, true},
    {"cond",                         cond},
    {"foreach_map",                  run_body<0, 1>},
    {"hints_wrapper",                run_body<0, 1>},
    {"invoke_quant",                 run_body<0, 1>},
    {"invoke_quant_packed",          run_body<0, 1>},
    {"invoke_subgraph",              run_body<0, 2>},
    {"map_impl",                     map_impl},
    {"out_dtype",                    out_dtype,               0},
    {"run_const_graph",              run_body<0, 1>},
    {"scan",                         scan},
    {"strict_mode",                  run_body<0, 1>},
    {"tag_activation_checkpoint",    run_body<0, 1>},
    {"while_loop",                   while_loop},
    {"while_loop_stack_output",      while_loop_stack_output},
    {"with_effects",                 with_effects,            1},
    {"wrap",                         run_body<0, 1>},
    {"wrap_activation_checkpoint",   run_body<0, 1>},
    {"wrap_with_autocast",           wrap_with_autocast},
    {"wrap_with_set_grad_enabled",   run_body<1, 2>},
};
// clang-format on

constexpr std::string_view kNamespace = "torch.ops.higher_order.";

// A Python function's row is spelled in full.
bool is_function(const HigherOrder& row) { return row.name.starts_with("torch."); }

}  // namespace

const HigherOrder* find_higher_order(std::string_view target) {
  const bool is_operator = target_form(target) == TargetForm::higher_order;
  const std::string_view name = is_operator ? last_part(target) : target;
  const auto* row = std::ranges::find(kRows, name, &HigherOrder::name);
  return row == std::end(kRows) || is_function(*row) == is_operator ? nullptr : row;
}

std::vector<std::string> higher_order_targets() {
  std::vector<std::string> out;
  for (const HigherOrder& row : kRows)
    out.push_back((is_function(row) ? "" : std::string(kNamespace)) + std::string(row.name));
  return out;
}

Result<std::vector<Value>> run_subgraph(Executor& executor, const BoundNode& node, size_t position,
                                        std::vector<Value> inputs) {
  for (const auto& [index, graph] : node.subgraphs)
    if (index == position) return executor.run_nested(node, *graph, std::move(inputs));
  return ops::operator_error("argument " + std::to_string(position) + " is not a graph");
}

std::vector<Value> operands_from(const BoundNode& node, std::vector<Value> arguments,
                                 size_t first) {
  std::vector<Value> out;
  for (size_t i = first; i < arguments.size(); ++i) {
    if (!node.node->inputs[i].name.empty()) continue;
    if (auto* list = arguments[i].get_if<Value::List>())
      std::ranges::move(*list, std::back_inserter(out));
    else
      out.push_back(std::move(arguments[i]));
  }
  return out;
}

}  // namespace pt2::run
