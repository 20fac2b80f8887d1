// Drops nodes whose result equals one of their arguments: dropout outside of training, detach, a
// conversion to the dtype that a tensor already has. Drops the assertions of dtypes that export
// writes beside conversions, if they certainly hold. Such nodes hide that their neighbors can be
// fused.
#include <algorithm>

#include "base/check.h"
#include "check/shapes/proven_dtypes.h"
#include "check/shapes/symbol_samples.h"
#include "ir/graph_place.h"
#include "lower/arguments.h"
#include "lower/forms.h"
#include "lower/functional/views.h"
#include "lower/pass.h"
#include "lower/written_memory.h"

namespace pt2 {
namespace {

struct Idle {
  NodeId node{};
  ValueId argument{};
  std::optional<ValueId> result{};  // absent for an assertion
  ops::Sharing sharing{};
  // True if the node does nothing only because the argument has its recorded dtype: a conversion to
  // that dtype, or its assertion.
  bool needs_dtype() const { return !result || sharing == ops::Sharing::unless_cast; }
  bool straightens() const { return sharing == ops::Sharing::unless_contiguous; }
};

// Returns the assertion of the argument's recorded dtype. The device is not compared here either,
// and tensors are strided.
std::optional<Idle> find_assertion(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.target != "torch.ops.aten._assert_tensor_metadata.default" || !node.outputs.empty())
    return std::nullopt;
  const Argument* tensor = node.find_input("a");
  const TensorMeta* meta = tensor == nullptr ? nullptr : tensor_meta(graph, *tensor);
  if (meta == nullptr) return std::nullopt;
  // The operator refuses arguments of other names or kinds: such a node must stay.
  for (const NamedArgument& input : node.inputs) {
    const auto* dtype = input.arg.get_if<ScalarType>();
    const auto* layout = input.arg.get_if<Layout>();
    const bool is_none = input.arg.is<None>();
    const bool holds =
        (input.name == "a" && &input.arg == tensor) || (input.name == "size" && is_none) ||
        (input.name == "stride" && is_none) ||
        (input.name == "dtype" && (is_none || (dtype != nullptr && *dtype == meta->dtype))) ||
        (input.name == "device" && (is_none || device_argument(input.arg))) ||
        (input.name == "layout" && (is_none || (layout != nullptr && *layout == Layout::strided)));
    if (!holds || std::ranges::count(node.inputs, input.name, &NamedArgument::name) != 1)
      return std::nullopt;
  }
  return Idle{.node = id, .argument = *tensor->get_if<ValueId>()};
}

// Returns the node if its result equals its argument. A result of the graph must stay, because
// callers know it by name.
std::optional<Idle> find_idle(const Graph& graph, NodeId id) {
  if (const auto assertion = find_assertion(graph, id)) return assertion;
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

// Removes the nodes that need a dtype which their argument is not proven to have: a file may record
// a wrong one.
void leave_unproven(const Graph& graph, const SymbolBindings& hints, bool inputs_hold,
                    std::vector<Idle>& idle) {
  std::vector<bool> wanted(graph.value_count(), false);
  for (const Idle& each : idle)
    if (each.needs_dtype()) wanted[static_cast<size_t>(each.argument)] = true;
  const std::vector<bool> proven =
      check::proven_dtypes(graph, hints, inputs_hold, std::move(wanted));
  std::erase_if(idle, [&](const Idle& each) {
    return each.needs_dtype() && !proven[static_cast<size_t>(each.argument)];
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
  // Recorded strides may differ from the actual ones.
  const bool keeps_strides = looks_at_strides(program.graph);
  std::optional<SymbolBindings> hints;
  bool changed = false;
  for_each_graph(program.graph, [&](Graph& graph) {
    std::vector<Idle> idle;
    for (const NodeId id : graph.nodes())
      if (const std::optional<Idle> found = find_idle(graph, id))
        if ((tells_dtypes || !found->needs_dtype()) && (!keeps_strides || !found->straightens()))
          idle.push_back(*found);
    if (std::ranges::any_of(idle, &Idle::needs_dtype)) {
      if (!hints) hints = check::hint_bindings(placed_graphs(program));
      // Callers of a nested graph may pass other dtypes than it records.
      leave_unproven(graph, *hints, &graph == &program.graph, idle);
    }
    for (const Idle& each : idle) {
      // The argument may have been the result of a node that was dropped.
      const std::optional<Idle> now = find_idle(graph, each.node);
      if (!now) continue;
      if (now->result) graph.replace_all_uses(*now->result, now->argument);
      PT2_CHECK(graph.erase_node(now->node).has_value());  // the result has no uses
      changed = true;
    }
  });
  return {.changed = changed};
}

}  // namespace pt2
