// Splits assertions of several conditions.
#include <algorithm>
#include <set>

#include "convert/converter.h"
#include "convert/operator_history.h"
#include "ir/walk.h"

namespace pt2 {
namespace {

constexpr std::string_view kAnd = "_operator.and_";
constexpr std::string_view kAssertScalar = "torch.ops.aten._assert_scalar.default";

bool is_condition(const Graph& graph, const Argument& argument) {
  const auto* id = argument.get_if<ValueId>();
  return id != nullptr && graph.value(*id).kind() == ValueKind::sym_bool;
}

// Returns the node that joins two conditions into this value; null if another node defines it.
const Node* joining_node(const Graph& graph, ValueId id) {
  const Node* node = find_maker(graph, id);
  const bool joins = node != nullptr && node->target == kAnd && node->inputs.size() == 2 &&
                     is_condition(graph, node->inputs[0].arg) &&
                     is_condition(graph, node->inputs[1].arg);
  return joins ? node : nullptr;
}

// Returns the conditions whose conjunction is the value, in the order of computation.
Result<std::vector<ValueId>> conditions_of(const Graph& graph, ValueId joint, NodeBudget& budget) {
  std::vector<ValueId> found, left = {joint};
  std::set<ValueId> seen;
  while (!left.empty()) {
    const ValueId id = left.back();
    left.pop_back();
    if (!seen.insert(id).second) continue;
    if (!budget.take(1)) return budget.exceeded_by("assertions add");
    if (const Node* node = joining_node(graph, id)) {
      for (size_t i = 2; i-- > 0;) left.push_back(*node->inputs[i].arg.get_if<ValueId>());
    } else {
      found.push_back(id);
    }
  }
  return found;
}

// The node itself asserts the last condition; new nodes before it assert the others.
Result<void> split_assertion(Converter& converter, Graph& graph, NodeId id) {
  if (graph.node(id).target != kAssertScalar) return {};
  std::vector<NamedArgument> inputs = graph.node(id).inputs;
  const auto asserted = std::ranges::find(inputs, "self", &NamedArgument::name);
  const auto* value = asserted == inputs.end() ? nullptr : asserted->arg.get_if<ValueId>();
  if (value == nullptr || joining_node(graph, *value) == nullptr) return {};
  PT2_TRY(const std::vector<ValueId> conditions,
          conditions_of(graph, *value, converter.pipeline.budget));
  for (const ValueId condition : conditions) {
    asserted->arg = Argument(condition);
    if (condition == conditions.back()) break;
    Node node = graph.node(id);
    node.name.reset();
    node.inputs = inputs;
    graph.insert_node(std::move(node), id);
  }
  graph.set_node_inputs(id, std::move(inputs));
  converter.changed = true;
  return {};
}

// Erases joining nodes without uses, in reverse order because joining nodes use earlier ones.
void erase_unused_joints(Converter& converter, Graph& graph) {
  std::vector<NodeId> joints;
  for (const NodeId id : graph.nodes())
    if (graph.node(id).target == kAnd) joints.push_back(id);
  for (size_t i = joints.size(); i-- > 0;)
    converter.changed |= static_cast<bool>(graph.erase_node(joints[i]));
}

}  // namespace

Result<void> rewrite_joint_assertions(Converter& converter) {
  const Lifetime* lifetime = find_operator_lifetime(kAnd);
  if (lifetime == nullptr || lifetime->includes(converter.target.release->number)) return {};
  Result<void> done;
  for_each_graph(converter.program.graph, [&](Graph& graph) {
    for (const NodeId id : graph.nodes())
      if (done) done = split_assertion(converter, graph, id);
    if (done) erase_unused_joints(converter, graph);
  });
  return done;
}

}  // namespace pt2
