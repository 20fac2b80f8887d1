#include "run/reference/executor.h"

#include <algorithm>

#include "base/check.h"
#include "base/memory_account.h"
#include "base/platform.h"
#include "ir/graph_place.h"
#include "ir/values/constant_value.h"
#include "ir/values/record.h"
#include "kernels/targets.h"
#include "ops/bind.h"
#include "ops/forms/autocast.h"
#include "ops/shape/pieces.h"
#include "pt2/ir/type_text.h"
#include "run/reference/vmap.h"

namespace pt2::run {
namespace {

// Stores a result in the node's output: a value, or each value of a list. Error if a value that the
// program has as a tensor would be a list: steps of plans rely on the kind.
Result<void> store(const Graph& graph, const Argument& output, Value result,
                   std::vector<Value>& values) {
  if (const auto* id = output.get_if<ValueId>()) {
    if (result.is<Value::List>() && graph.value(*id).tensor() != nullptr)
      return ops::operator_error("found " + result.type_text() + " as a result, expected a tensor");
    values[static_cast<size_t>(*id)] = std::move(result);
    return {};
  }
  const auto* list = output.get_if<ArgumentList>();
  if (list == nullptr) return {};
  auto* items = result.get_if<Value::List>();
  if (items == nullptr || items->size() < list->items.size())
    return ops::operator_error("found " + result.type_text() + " as a result, expected a list of " +
                               std::to_string(list->items.size()));
  for (size_t i = 0; i < list->items.size(); ++i)
    PT2_TRY_VOID(store(graph, list->items[i], std::move((*items)[i]), values));
  return {};
}

Result<void> check_record(const Graph& graph, const Argument& output, const Value& result) {
  if (const auto* id = output.get_if<ValueId>()) {
    const GraphValue& value = graph.value(*id);
    const auto* tensor = result.get_if<Tensor>();
    if (value.tensor() == nullptr || tensor == nullptr || fits_record(*tensor, *value.tensor()))
      return {};
    return Error{ErrorCode::argument,
                 "the kernel returned " + result.type_text() + ", the program has '" + value.name +
                     "' as " + type_text(*value.tensor()),
                 ""};
  }
  const auto* list = output.get_if<ArgumentList>();
  const auto* items = result.get_if<Value::List>();
  if (list == nullptr || items == nullptr) return {};
  for (size_t i = 0; i < std::min(list->items.size(), items->size()); ++i)
    PT2_TRY_VOID(check_record(graph, list->items[i], (*items)[i]));
  return {};
}

}  // namespace

Result<Value> evaluate_argument(const Argument& argument, const std::vector<Value>& values) {
  if (const auto* id = argument.get_if<ValueId>()) return values[static_cast<size_t>(*id)];
  if (const auto* list = argument.get_if<ArgumentList>()) {
    Value::List items;
    items.reserve(list->items.size());
    int64_t dims = 0;
    for (const Argument& item : list->items) {
      PT2_TRY(Value value, evaluate_argument(item, values));
      if (const auto* tensor = value.get_if<Tensor>()) dims += tensor->dim();
      PT2_TRY_VOID(ops::check_dims_together(dims));
      items.push_back(std::move(value));
    }
    return Value(std::move(items));
  }
  return constant_value(argument);
}

Result<std::vector<Value>> Executor::run(const BoundGraph& bound, std::vector<Value> inputs) {
  const Graph& graph = *bound.graph;
  if (inputs.size() != graph.inputs().size())
    return ops::operator_error("graph '" + graph.name + "' takes " +
                               std::to_string(graph.inputs().size()) + " inputs, found " +
                               std::to_string(inputs.size()));
  // Checked here as well, because the body of a loop may have no node.
  PT2_TRY_VOID(cancellation_.check());
  PT2_TRY_VOID(count_work(kValueWork * graph.value_count() + kHandedWork * graph.outputs().size()));
  std::vector<Value> values(graph.value_count());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const auto* id = graph.inputs()[i].get_if<ValueId>())
      values[static_cast<size_t>(*id)] = std::move(inputs[i]);
  const size_t entered = autocasts_.size();
  PT2_TRY_VOID(run_nodes(bound, values));
  autocasts_.resize(entered);
  std::vector<Value> outputs;
  for (const Argument& output : graph.outputs()) {
    PT2_TRY(Value value, evaluate_argument(output, values));
    outputs.push_back(std::move(value));
  }
  return outputs;
}

Result<std::vector<Value>> Executor::run_nested(const BoundNode& node, const BoundGraph& graph,
                                                std::vector<Value> inputs) {
  if (observer_ == nullptr && nested_ != nullptr && autocasts_.empty())
    return nested_->run(graph, std::move(inputs), *this);
  if (observer_ == nullptr) return run(graph, std::move(inputs));
  const size_t length = path_.size();
  path_ += node_name(*frame_.graph, *node.node) + "." + graph.graph->name;
  if (const size_t number = frame_.runs[&graph]++; number > 0)
    path_ += "[" + std::to_string(number) + "]";
  path_ += ".";
  Result<std::vector<Value>> results = run(graph, std::move(inputs));
  path_.resize(length);
  return results;
}

Result<void> Executor::tell(const Graph& graph, const Node& node, const Argument& output,
                            const std::vector<Value>& values) {
  // The cost of recording a value with its name, and that of writing or comparing an element, in
  // elements. A view has elements although it cost nothing.
  constexpr uint64_t kObserved = 4096, kObservedElement = 8;
  if (const auto* id = output.get_if<ValueId>()) {
    const Value& value = values[static_cast<size_t>(*id)];
    PT2_TRY_VOID(count_work(kObserved));
    PT2_TRY_VOID((*observer_)(
        {.name = path_ + graph.value(*id).name, .graph = graph, .node = node, .value = value}));
    // The observer's own error comes first: it tells more of a value that is too large to write.
    return count_work(saturating_product(ops::elements_of({&value, 1}), kObservedElement));
  }
  if (const auto* list = output.get_if<ArgumentList>())
    for (const Argument& item : list->items) PT2_TRY_VOID(tell(graph, node, item, values));
  return {};
}

Result<void> Executor::run_nodes(const BoundGraph& bound, std::vector<Value>& values) {
  for (const BoundNode& node : bound.nodes) {
    if (Result<void> done = run_node(*bound.graph, node, values); !done)
      return at_node(std::move(done).error(), *bound.graph, *node.node);
    for (ValueId id : node.released) values[static_cast<size_t>(id)] = Value();
  }
  return {};
}

Result<std::vector<Value>> Executor::compute(const BoundNode& node,
                                             const std::vector<Value>& values) {
  PT2_TRY_VOID(cancellation_.check());
  PT2_TRY(std::vector<Value> arguments, arguments_of(node, values));
  return compute_with(node, std::move(arguments));
}

Result<std::vector<Value>> Executor::compute_with(const BoundNode& node,
                                                  std::vector<Value> arguments) {
  if (node.higher_order == nullptr) return call(node.op, std::move(arguments));
  PT2_TRY(std::vector<Value> results,
          node.higher_order->function(*this, node, std::move(arguments)));
  // A nested graph returns its results one by one, while the file may record them as one list.
  const std::vector<Argument>& outputs = node.node->outputs;
  if (outputs.size() == 1 && outputs[0].is<ArgumentList>() &&
      !(results.size() == 1 && results[0].is<Value::List>()))
    results = {Value(Value::List(std::move(results)))};
  return results;
}

Result<std::vector<Value>> Executor::arguments_of(const BoundNode& node,
                                                  const std::vector<Value>& values) {
  std::vector<Value> arguments;
  arguments.reserve(node.arguments.size());
  for (size_t i = 0; i < node.arguments.size(); ++i) {
    const BoundArgument& argument = node.arguments[i];
    if (argument.dynamic == nullptr) {
      arguments.push_back(argument.constant);
      continue;
    }
    PT2_TRY(Value value, evaluate_argument(*argument.dynamic, values));
    if (node.higher_order == nullptr) {
      PT2_TRY(value, ops::coerce(node.op.signature().parameter_array[i], std::move(value)));
    }
    arguments.push_back(std::move(value));
  }
  return arguments;
}

Result<std::vector<Value>> Executor::call(const ops::Operator& op, std::vector<Value> arguments) {
  const std::optional<Dtype> region = autocasts_.empty() ? std::nullopt : autocasts_.back();
  if (region) PT2_TRY_VOID(apply_autocast(region, op, arguments));
  if (op.custom != nullptr) return ops::call_custom(*op.custom, arguments);
  const uint64_t inner = MemoryAccount::inner_work();
  const auto run = [&]() -> Result<std::vector<Value>> {
    if (!region || !ops::casts_change_dtypes(op, *region, arguments))
      return ops::call(op, context_, arguments);
    ops::Runner runner(context_);
    ops::CastingEmitter emitter(*region, runner);
    return op.def->write_boxed(*op.def, emitter, arguments);
  };
  PT2_TRY(std::vector<Value> results, run());
  kernels::zero_upper_halves();
  PT2_TRY_VOID(count_work(MemoryAccount::inner_work() - inner));
  return results;
}

Result<void> Executor::count_elements(std::span<const Value> values) {
  return count_work(ops::elements_of(values));
}

Result<void> Executor::count_work(uint64_t elements) {
  if (elements > limits_.max_work - work_)
    return Error{ErrorCode::limit, MemoryAccount::work_text(limits_.max_work), ""};
  work_ += elements;
  return {};
}

Result<void> Executor::count_iterations(int64_t count) {
  const auto most = static_cast<int64_t>(limits_.max_loop_rounds);
  if (count > most - iterations_)
    return Error{ErrorCode::limit,
                 "loops run for more than " + std::to_string(most) + " rounds (max_loop_rounds)",
                 ""};
  iterations_ += count;
  return {};
}

Result<void> Executor::check_records(const Graph& graph, const BoundNode& node,
                                     const std::vector<Value>& results) const {
  // Inside autocast and vmap, the program's records describe other calls than those made here.
  if (node.op.custom == nullptr || node.higher_order != nullptr || !autocasts_.empty() ||
      !node.batched.empty())
    return {};
  for (size_t i = 0; i < node.node->outputs.size(); ++i)
    PT2_TRY_VOID(check_record(graph, node.node->outputs[i], results[i]));
  return {};
}

Result<void> Executor::run_node(const Graph& graph, const BoundNode& node,
                                std::vector<Value>& values) {
  PT2_TRY_VOID(count_work(kNodeWork));
  Frame callers{&graph};
  std::swap(frame_, callers);
  PT2_TRY(std::vector<Value> results,
          node.batched.empty() ? compute(node, values) : compute_batched(*this, node, values));
  const std::vector<Argument>& outputs = node.node->outputs;
  if (results.size() < outputs.size())
    return ops::operator_error("found " + std::to_string(results.size()) + " results, expected " +
                               std::to_string(outputs.size()));
  PT2_TRY_VOID(check_records(graph, node, results));
  for (size_t i = 0; i < outputs.size(); ++i)
    PT2_TRY_VOID(store(graph, outputs[i], std::move(results[i]), values));
  std::swap(frame_, callers);
  if (observer_ != nullptr)
    for (const Argument& output : outputs) PT2_TRY_VOID(tell(graph, *node.node, output, values));
  return {};
}

}  // namespace pt2::run
