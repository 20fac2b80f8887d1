// Constant folding while a plan is made, and the check which nodes their operators refuse.
#include <algorithm>
#include <array>
#include <span>

#include "base/memory_account.h"
#include "check/shapes/abstract_value.h"
#include "check/shapes/shape_check.h"
#include "check/shapes/symbol_samples.h"
#include "ir/walk.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

// Programs that make large tensors from nothing make them at run time, under the account of the
// call. The bytes of the weights come on top: results of the same sizes may replace them, as in
// convolutions with standardized weights. Large models have no memory to spare for that.
constexpr int64_t kMostFoldedBytes = 16 << 20;
constexpr int64_t kMostOfWeights = 512 << 20;
constexpr uint64_t kMostMemory = 256 << 20;  // that kernels use while they run
constexpr uint64_t kMemoryOfWeight = 2;
constexpr uint64_t kMostWork = 1 << 29;
constexpr uint64_t kWorkOfByte = 4;
// Dequantized weights come on top. These limits are for each byte of quantized weights in the file.
constexpr int64_t kBytesOfLevel = 4;
constexpr uint64_t kMemoryOfLevel = 32;
constexpr uint64_t kWorkOfLevel = 256;

bool is_tensor(const Argument& output) { return output.is<ValueId>(); }

// Values for all symbols. A symbol without an example is divisible (64) in one choice and 1 in the
// other.
class SymbolChoices {
 public:
  explicit SymbolChoices(const Graph& graph) {
    const PlacedGraph placed{.graph = &graph};
    hints_ = check::hint_bindings({&placed, 1});
    choices_ = {hints_, hints_};
    for (size_t i = 0; i < records_.size(); ++i) records_[i] = check::by_record(choices_[i]);
  }

  // True if the operator refuses tensors of the sizes of every choice. A wrong answer for other
  // sizes does no harm: without a step the reference executor asks the operator again.
  bool are_refused(const Graph& graph, const BoundNode& node) {
    check::ShapeCheck check(graph, *node.node, node.op);
    size_t count = 1;
    for_each_operand(*node.node, [&](ValueId id) {
      check::for_each_symbolic(graph.value(id), [&](const auto& number) {
        if (choose_for(number.expr())) count = choices_.size();
      });
    });
    return std::ranges::all_of(std::span(records_).first(count), [&](const auto& record) {
      const auto results = check.infer(record);
      return !results && results.error().code != ErrorCode::unsupported;
    });
  }

 private:
  static constexpr int64_t kSizes[] = {64, 1};

  // Chooses values for the symbols of the expression. True if one has no example. Many nodes may
  // read one long expression, so each is visited once.
  bool choose_for(Expr expr) {
    const auto [found, is_new] = has_choice_.try_emplace(expr.operator->(), false);
    if (!is_new) return found->second;
    for (const SymbolId symbol : free_symbols(expr)) {
      if (hints_.find(symbol) != nullptr) continue;
      found->second = true;
      // The records stay right: those asked for so far have no symbol without a value.
      for (size_t i = 0; i < choices_.size(); ++i) choices_[i].bind(symbol, kSizes[i]);
    }
    return found->second;
  }

  SymbolBindings hints_;
  std::array<SymbolBindings, std::size(kSizes)> choices_;
  std::array<check::Abstraction, std::size(kSizes)> records_;  // by choices_
  std::unordered_map<const ExprNode*, bool> has_choice_;
};

}  // namespace

bool computes_alone(const BoundNode& node) {
  return node.op && node.higher_order == nullptr && node.op.custom == nullptr &&
         node.batched.empty() && !node.op.may_draw() && !may_write_to_arguments(node);
}

// A step's kernel does not check its arguments. So each node is checked by the very rule that the
// reference executor applies.
NodeSet refused_nodes(const BoundGraph& bound) {
  SymbolChoices choices(*bound.graph);
  NodeSet out;
  for (const BoundNode& node : bound.nodes)
    if (own_row(node) != nullptr && choices.are_refused(*bound.graph, node)) out.insert(&node);
  return out;
}

WeightBytes count_bytes(std::span<const Value> weights) {
  WeightBytes out;
  std::unordered_set<const Storage*> seen;
  for (const Value& weight : weights) {
    const auto* tensor = weight.get_if<Tensor>();
    if (tensor == nullptr || !tensor->defined() || !seen.insert(tensor->storage().get()).second)
      continue;
    const auto bytes = static_cast<int64_t>(tensor->storage()->size());
    out.all += bytes;
    if (dtype_size(tensor->dtype()) == 1 && tensor->dtype() != Dtype::bool_) out.levels += bytes;
  }
  return out;
}

void fold_constants(Plan& plan, std::vector<Value>& constants, const KeepsNode& keeps,
                    const WeightBytes& weights, NodeSet& folded) {
  if (std::ranges::any_of(plan.graph->nodes, opens_region)) return;
  const int64_t as_weights = std::min(weights.all, kMostOfWeights);
  const int64_t most_bytes = kMostFoldedBytes + as_weights + kBytesOfLevel * weights.levels;
  const auto all = static_cast<uint64_t>(as_weights),
             levels = static_cast<uint64_t>(weights.levels);
  Limits limits;
  limits.max_work = kMostWork + kWorkOfByte * all + kWorkOfLevel * levels;
  ops::Context context;
  context.max_tensor_bytes = most_bytes;
  Executor executor(context, limits);
  const MemoryAccount::Scope scope(std::make_shared<MemoryAccount>(
      kMostMemory + kMemoryOfWeight * all + kMemoryOfLevel * levels, limits.max_work));
  int64_t bytes = 0;
  const auto count_made = [&](const Value& value, const BoundNode& node) -> int64_t {
    const auto* tensor = value.get_if<Tensor>();
    return tensor == nullptr || node.op.def->is_view() ? 0 : tensor->nbytes();
  };
  const Graph& graph = *plan.graph->graph;
  for (const BoundNode& node : plan.graph->nodes) {
    if (!computes_alone(node) || node.node->outputs.empty() ||
        !std::ranges::all_of(node.node->outputs, is_tensor))
      continue;
    const auto value_of = [&](const Argument& output) -> Value& {
      return constants[static_cast<size_t>(*output.get_if<ValueId>())];
    };
    int64_t added = 0;
    const auto count_all = [&] {
      for (const Argument& output : node.node->outputs) added += count_made(value_of(output), node);
    };
    if (folded.contains(&node)) {
      count_all();
      bytes += added;
      continue;
    }
    if (keeps(node)) continue;
    bool known = true;
    const auto check = [&](ValueId id) {
      known = known && !constants[static_cast<size_t>(id)].is_none();
    };
    for_each_operand(*node.node, check);
    for_each_result(*node.node,
                    [&](ValueId id) { known = known && !plan.written[static_cast<size_t>(id)]; });
    // An error is left to the call, which reports it.
    if (!known || !executor.run_node(graph, node, constants)) continue;
    count_all();
    const bool fits = bytes + added <= most_bytes;
    if (fits) {
      bytes += added;
      folded.insert(&node);
    }
    for (const Argument& output : node.node->outputs) {
      if (fits)
        plan.constants.emplace_back(*output.get_if<ValueId>(), value_of(output));
      else
        value_of(output) = Value();
    }
  }
}

void finish_constants(Plan& plan, const NodeSet& folded) {
  std::unordered_set<ValueId> used;
  const auto use = [&](ValueId id) { used.insert(id); };
  for (const BoundNode& node : plan.graph->nodes)
    if (!folded.contains(&node)) for_each_operand(*node.node, use);
  for (const Argument& output : plan.graph->graph->outputs()) for_each_value(output, use);
  std::erase_if(plan.constants, [&](const auto& each) { return !used.contains(each.first); });
  for (const auto& [id, value] : plan.constants)
    if (const auto* tensor = value.get_if<Tensor>(); tensor != nullptr && tensor->defined())
      plan.computed.push_back(tensor->storage().get());
  std::ranges::sort(plan.computed);
}

}  // namespace pt2::run
