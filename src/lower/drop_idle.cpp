// Drops nodes whose result equals one of their arguments: dropout outside of training, detach, a
// conversion to the dtype that a tensor already has. Such nodes hide that their neighbors can be
// fused.
#include <algorithm>

#include "base/check.h"
#include "check/shapes/proven_dtypes.h"
#include "check/shapes/symbol_samples.h"
#include "ir/graph_place.h"
#include "lower/forms.h"
#include "lower/functional/views.h"
#include "lower/pass.h"

namespace pt2 {
namespace {

struct Idle {
  NodeId node{};
  ValueId argument{};
  ValueId result{};
  ops::Sharing sharing{};
  // True for a conversion to the recorded dtype of the argument.
  bool converts() const { return sharing == ops::Sharing::unless_cast; }
  bool straightens() const { return sharing == ops::Sharing::unless_contiguous; }
};

// Returns the node if its result equals its argument. A result of the graph must stay, because
// callers know it by name.
std::optional<Idle> find_idle(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const ops::Operator op = ops::find_operator(node.target);
  const auto* result = node.outputs.size() == 1 ? node.outputs[0].get_if<ValueId>() : nullptr;
  if (!op || result == nullptr) return std::nullopt;
  const Aliasing aliasing = aliasing_of(graph, node, op);
  if (!aliasing.view || aliasing.view->inverse != Inverse::same) return std::nullopt;
  const auto* argument = node.inputs[aliasing.view->input].arg.get_if<ValueId>();
  if (argument == nullptr) return std::nullopt;
  for (const Use& use : graph.uses(*result))
    if (!use.node) return std::nullopt;
  return Idle{id, *argument, *result, op.def->facts.sharing};
}

// True if an operator depends on the strides of its operands. Recorded strides may differ from the
// actual ones.
bool has_strides_looked_at(Program& program) {
  bool found = false;
  for_each_graph(program.graph, [&](const Graph& graph) {
    for (const NodeId id : graph.nodes()) {
      const ops::Operator op = ops::find_operator(graph.node(id).target);
      found = found || (op && op.def->facts.looks_at_strides);
    }
  });
  return found;
}

// Removes the conversions whose argument is not proven to have the dtype: a file may record a wrong
// one.
void leave_unproven(const Graph& graph, const SymbolBindings& hints, bool inputs_hold,
                    std::vector<Idle>& idle) {
  std::vector<bool> wanted(graph.value_count(), false);
  for (const Idle& each : idle)
    if (each.converts()) wanted[static_cast<size_t>(each.argument)] = true;
  const std::vector<bool> proven =
      check::proven_dtypes(graph, hints, inputs_hold, std::move(wanted));
  std::erase_if(idle, [&](const Idle& each) {
    return each.converts() && !proven[static_cast<size_t>(each.argument)];
  });
}

}  // namespace

bool has_no_idle_node(const Graph& graph) {
  return std::ranges::none_of(graph.nodes(),
                              [&](NodeId id) { return find_idle(graph, id).has_value(); });
}

PassResult drop_idle(Program& program, Pipeline&) {
  // Autocast converts implicitly, without nodes.
  const bool tells_dtypes = has_form(program.graph, Form::without_autocast);
  const bool keeps_strides = has_strides_looked_at(program);
  std::optional<SymbolBindings> hints;
  bool changed = false;
  for_each_graph(program.graph, [&](Graph& graph) {
    std::vector<Idle> idle;
    for (const NodeId id : graph.nodes())
      if (const std::optional<Idle> found = find_idle(graph, id))
        if ((tells_dtypes || !found->converts()) && (!keeps_strides || !found->straightens()))
          idle.push_back(*found);
    if (std::ranges::any_of(idle, &Idle::converts)) {
      if (!hints) hints = check::hint_bindings(placed_graphs(program));
      // Callers of a nested graph may pass other dtypes than it records.
      leave_unproven(graph, *hints, &graph == &program.graph, idle);
    }
    for (const Idle& each : idle) {
      // The argument may have been the result of a node that was dropped.
      const std::optional<Idle> now = find_idle(graph, each.node);
      if (!now) continue;
      graph.replace_all_uses(now->result, now->argument);
      PT2_CHECK(graph.erase_node(now->node).has_value());  // the result has no uses
      changed = true;
    }
  });
  return {.changed = changed};
}

}  // namespace pt2
