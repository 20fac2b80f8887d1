// What a plan computes once, when it is made.
#include <algorithm>

#include "base/memory_account.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

// Programs that make large tensors of nothing make them at run time, under the account of the call.
constexpr int64_t kMostFoldedBytes = 16 << 20;
constexpr uint64_t kMostMemory = 256 << 20;  // of kernels, while they run
constexpr uint64_t kMostWork = 1 << 28;

bool is_tensor(const Argument& output) { return output.is<ValueId>(); }

}  // namespace

bool computes_alone(const BoundNode& node) {
  return node.op && node.higher_order == nullptr && node.op.custom == nullptr &&
         node.batched.empty() && !node.op.may_draw() && !may_write_to_arguments(node);
}

std::unordered_set<const BoundNode*> fold_constants(Plan& plan, std::vector<Value>& constants) {
  std::unordered_set<const BoundNode*> folded;
  if (std::ranges::any_of(plan.graph->nodes, opens_region)) return folded;
  Limits limits;
  limits.max_work = kMostWork;
  ops::Context context;
  context.max_tensor_bytes = kMostFoldedBytes;
  Executor executor(context, limits);
  const MemoryAccount::Scope scope(std::make_shared<MemoryAccount>(kMostMemory));
  int64_t bytes = 0;
  const Graph& graph = *plan.graph->graph;
  for (const BoundNode& node : plan.graph->nodes) {
    if (!computes_alone(node) || node.node->outputs.empty() ||
        !std::ranges::all_of(node.node->outputs, is_tensor))
      continue;
    bool known = true;
    const auto check = [&](ValueId id) {
      known = known && !constants[static_cast<size_t>(id)].is_none();
    };
    for (const NamedArgument& input : node.node->inputs) for_each_value(input.arg, check);
    for (const Argument& output : node.node->outputs)
      for_each_value(output,
                     [&](ValueId id) { known = known && !plan.written[static_cast<size_t>(id)]; });
    // An error is one of the call.
    if (!known || !executor.run_node(graph, node, constants)) continue;
    int64_t added = 0;
    for (const Argument& output : node.node->outputs)
      if (const auto* tensor =
              constants[static_cast<size_t>(*output.get_if<ValueId>())].get_if<Tensor>();
          tensor != nullptr && !node.op.def->is_view())
        added += tensor->nbytes();
    const bool keeps = bytes + added <= kMostFoldedBytes;
    if (keeps) {
      bytes += added;
      folded.insert(&node);
    }
    for (const Argument& output : node.node->outputs) {
      Value& value = constants[static_cast<size_t>(*output.get_if<ValueId>())];
      if (!keeps) {
        value = Value();
        continue;
      }
      if (const auto* tensor = value.get_if<Tensor>(); tensor != nullptr && tensor->defined())
        plan.computed.push_back(tensor->storage().get());
      plan.constants.emplace_back(*output.get_if<ValueId>(), value);
    }
  }
  return folded;
}

}  // namespace pt2::run
