// Drops nodes whose result is one of their arguments: dropout outside of training, detach, a
// conversion to the dtype that a tensor has. Between two nodes they hide that these could be
// computed in one go.
#include "base/check.h"
#include "lower/forms.h"
#include "lower/functional/views.h"
#include "lower/pass.h"

namespace pt2 {
namespace {

struct Idle {
  ValueId argument{};
  ValueId result{};
};

// A result of the program stays: it has a name for its callers.
std::optional<Idle> find_idle(const Graph& graph, const Node& node) {
  const ops::Operator op = ops::find_operator(node.target);
  const auto* result = node.outputs.size() == 1 ? node.outputs[0].get_if<ValueId>() : nullptr;
  if (!op || result == nullptr) return std::nullopt;
  const Aliasing aliasing = aliasing_of(graph, node, op);
  if (!aliasing.view || aliasing.view->inverse != Inverse::same) return std::nullopt;
  const auto* argument = node.inputs[aliasing.view->input].arg.get_if<ValueId>();
  if (argument == nullptr) return std::nullopt;
  for (const Use& use : graph.uses(*result))
    if (!use.node) return std::nullopt;
  return Idle{*argument, *result};
}

}  // namespace

bool has_no_idle_node(const Graph& graph) {
  for (const NodeId id : graph.nodes())
    if (find_idle(graph, graph.node(id))) return false;
  return true;
}

PassResult drop_idle(Program& program, Pipeline&) {
  bool changed = false;
  for_each_graph(program.graph, [&](Graph& graph) {
    for (const NodeId id : graph.nodes()) {
      const std::optional<Idle> idle = find_idle(graph, graph.node(id));
      if (!idle) continue;
      graph.replace_all_uses(idle->result, idle->argument);
      PT2_CHECK(graph.erase_node(id).has_value());  // nobody uses its result
      changed = true;
    }
  });
  return {.changed = changed};
}

}  // namespace pt2
