#include "run/reference/higher_order.h"

#include <algorithm>
#include <iterator>

#include "run/reference/executor.h"

namespace pt2::run {
// For switches that have no effect here: there are no gradients, and vmap is resolved when binding.
Result<std::vector<Value>> no_effect(Executor&, const BoundNode&, std::vector<Value>) {
  return std::vector<Value>{Value()};
}

namespace {

constexpr HigherOrderFunction not_run = nullptr;

Result<std::vector<Value>> run_body(Executor& executor, const BoundNode& node,
                                    std::vector<Value> arguments) {
  const HigherOrderRow& row = *node.higher_order;
  return run_subgraph(executor, node, row.first_graph,
                      operands_from(node, std::move(arguments), row.first_operand));
}

// The pass forward_derivatives removes these nodes inside torch.func.jvp.
Result<std::vector<Value>> outside_of_jvp(Executor&, const BoundNode&, std::vector<Value>) {
  return ops::operator_error("a dual number outside of torch.func.jvp");
}

using enum HigherOrderRow::Trait;
constexpr HigherOrder kHigherOrder[] = {
#define PT2_PYTHON_FUNCTION(target, function) {{target}, function},
#include "ir/higher_order.def"
};
constexpr HigherOrder kOperators[] = {
#define PT2_HIGHER_ORDER(name, first_graph, graph_count, first_operand, callee, traits, function) \
  {{name, first_graph, graph_count, first_operand, callee, traits}, function},
#include "ir/higher_order.def"
};

constexpr std::string_view kNamespace = "torch.ops.higher_order.";

}  // namespace

const HigherOrder* find_higher_order(std::string_view target) {
  if (const HigherOrderRow* row = find_higher_order_operator(target)) {
    const HigherOrder& found = kOperators[row - higher_order_operators().data()];
    return found.function == not_run ? nullptr : &found;
  }
  const auto* found = std::ranges::find(kHigherOrder, target, &HigherOrder::name);
  return found == std::end(kHigherOrder) ? nullptr : found;
}

std::vector<std::string> higher_order_targets() {
  std::vector<std::string> out;
  for (const HigherOrder& row : kHigherOrder) out.emplace_back(row.name);
  for (const HigherOrder& row : kOperators)
    if (row.function != not_run) out.push_back(std::string(kNamespace) + std::string(row.name));
  return out;
}

bool calls_print(const Node& node) {
  const HigherOrder* caller = find_higher_order(node.target);
  const std::string* callee = called_operator(node);
  if (caller == nullptr || caller->function != with_effects || callee == nullptr) return false;
  const HigherOrder* called = find_higher_order(*callee);
  return called != nullptr && called->function == print;
}

Result<std::vector<Value>> run_subgraph(Executor& executor, const BoundNode& node, size_t position,
                                        std::vector<Value> inputs) {
  for (const auto& [index, graph] : node.subgraphs)
    if (index == position) {
      PT2_TRY_VOID(executor.count_work(Executor::kHandedWork * inputs.size()));
      return executor.run_nested(node, *graph, std::move(inputs));
    }
  return ops::operator_error("argument " + std::to_string(position) + " is not a graph");
}

std::vector<Value> operands_from(const BoundNode& node, std::vector<Value> arguments,
                                 size_t first) {
  std::vector<Value> out;
  for (size_t i = first; i < arguments.size(); ++i) {
    if (!node.node->inputs[i].name.empty()) continue;
    // hints_wrapper(graph, operands, {}, hints=…): the empty dictionary stands for omitted keyword
    // operands.
    const auto* map = node.node->inputs[i].arg.get_if<ArgumentMap>();
    if (map != nullptr && map->items.empty()) continue;
    if (auto* list = arguments[i].get_if<Value::List>())
      std::ranges::move(*list, std::back_inserter(out));
    else
      out.push_back(std::move(arguments[i]));
  }
  return out;
}

}  // namespace pt2::run
