// Higher-order operators: those whose arguments are graphs.
#include <algorithm>
#include <iterator>

#include "ops/loops.h"
#include "run/executor.h"

namespace pt2::run {
namespace {

const BoundGraph* subgraph_at(const BoundNode& node, size_t position) {
  for (const auto& [index, graph] : node.subgraphs)
    if (index == position) return graph;
  return nullptr;
}

// Runs the nested graph at `position` on `inputs`. A tuple result of one value and a bare value
// look the same here.
Result<std::vector<Value>> run_subgraph(Executor& executor, const BoundNode& node, size_t position,
                                        std::vector<Value> inputs) {
  const BoundGraph* graph = subgraph_at(node, position);
  if (graph == nullptr)
    return ops::operator_error("argument " + std::to_string(position) + " is not a graph");
  return executor.run(*graph, std::move(inputs));
}

// The arguments from `first` on, with a list spread out: older releases pass operands as one list.
std::vector<Value> operands_from(std::vector<Value> arguments, size_t first) {
  std::vector<Value> out;
  for (size_t i = first; i < arguments.size(); ++i) {
    if (auto* list = arguments[i].get_if<Value::List>())
      std::ranges::move(*list, std::back_inserter(out));
    else
      out.push_back(std::move(arguments[i]));
  }
  return out;
}

// wrap_with_set_grad_enabled(enabled, graph, *operands): gradients do not exist here.
Result<std::vector<Value>> set_grad_enabled(Executor& executor, const BoundNode& node,
                                            std::vector<Value> arguments) {
  return run_subgraph(executor, node, 1, operands_from(std::move(arguments), 2));
}

// strict_mode(graph, operands), tag_activation_checkpoint(graph, *operands).
Result<std::vector<Value>> run_body(Executor& executor, const BoundNode& node,
                                    std::vector<Value> arguments) {
  return run_subgraph(executor, node, 0, operands_from(std::move(arguments), 1));
}

Result<bool> truth(const Value& value) {
  if (const auto* boolean = value.get_if<bool>()) return *boolean;
  if (const auto* integer = value.get_if<int64_t>()) return *integer != 0;
  const auto* tensor = value.get_if<Tensor>();
  if (tensor == nullptr || tensor->numel() != 1)
    return ops::operator_error("a condition must be a bool or a tensor of one element, found " +
                               value.type_text());
  double element = 0;
  ops::load_elements<double>(tensor->raw_data(), 1, tensor->dtype(), 1, &element);
  return element != 0;
}

// cond(predicate, true_graph, false_graph, operands).
Result<std::vector<Value>> cond(Executor& executor, const BoundNode& node,
                                std::vector<Value> arguments) {
  if (arguments.size() < 3) return ops::operator_error("cond takes a predicate and two graphs");
  PT2_TRY(const bool predicate, truth(arguments[0]));
  return run_subgraph(executor, node, predicate ? 1 : 2, operands_from(std::move(arguments), 3));
}

// torch._C._set_grad_enabled(mode): a switch without a result.
Result<std::vector<Value>> no_effect(Executor&, const BoundNode&, std::vector<Value>) {
  return std::vector<Value>{};
}

struct HigherOrderRow {
  std::string_view target;
  HigherOrderFunction function;
};
// clang-format off
constexpr HigherOrderRow kRows[] = {
    {"torch._C._set_grad_enabled",                              no_effect},
    {"torch.ops.higher_order.cond",                             cond},
    {"torch.ops.higher_order.strict_mode",                      run_body},
    {"torch.ops.higher_order.tag_activation_checkpoint",        run_body},
    {"torch.ops.higher_order.wrap_with_set_grad_enabled",       set_grad_enabled},
};
// clang-format on

}  // namespace

HigherOrderFunction find_higher_order(std::string_view target) {
  const auto* row = std::ranges::find(kRows, target, &HigherOrderRow::target);
  return row == std::end(kRows) ? nullptr : row->function;
}

std::vector<std::string> higher_order_targets() {
  std::vector<std::string> out;
  for (const HigherOrderRow& row : kRows) out.emplace_back(row.target);
  return out;
}

}  // namespace pt2::run
