// Writes what torch.autocast casts into the graph.
#include <algorithm>

#include "ir/graph_place.h"
#include "ir/higher_order.h"
#include "lower/arguments.h"
#include "lower/autocast.h"
#include "lower/forms.h"
#include "lower/new_nodes.h"
#include "lower/pass.h"
#include "ops/forms/autocast.h"

namespace pt2 {
namespace {

using Region = std::optional<Dtype>;

class Caster {
 public:
  explicit Caster(NodeBudget& budget) : budget_(budget) {}

  void visit(Graph& graph, Region around) {
    std::vector<Region> open{around};
    std::vector<NodeId> switches;
    const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
    for (const NodeId id : nodes) {
      const AutocastSwitch kind = autocast_switch(graph.node(id));
      if (kind == AutocastSwitch::leaves && open.size() == 1)
        return fail(graph, id, "an autocast region is left that was not entered");
      if (kind == AutocastSwitch::leaves) open.pop_back();
      Region inside = open.back();
      if (kind == AutocastSwitch::calls || kind == AutocastSwitch::enters) {
        const auto opened = autocast_region_of(graph.node(id), open.back());
        if (!opened) return fail(graph, id, "takes a device, a dtype and whether it is enabled");
        inside = opened.value();
      }
      if (kind == AutocastSwitch::enters) open.push_back(inside);
      if (kind == AutocastSwitch::enters || kind == AutocastSwitch::leaves) switches.push_back(id);
      for (const NamedArgument& input : std::vector(graph.node(id).inputs))
        for_each_subgraph(input.arg, [&](SubgraphId nested) {
          if (result.failures.empty()) visit(graph.subgraph(nested), inside);
        });
      if (kind == AutocastSwitch::calls) switch_off(graph, id);
      if (kind == AutocastSwitch::none && inside) cast(graph, id, inside);
      if (!result.failures.empty()) return;
    }
    // What leaves a region takes the result of what enters it.
    for (; !switches.empty(); switches.pop_back()) {
      if (!graph.erase_node(switches.back()))
        return fail(graph, switches.back(), "its result has other uses");
      result.changed = true;
    }
  }

  PassResult result;

 private:
  void fail(const Graph& graph, NodeId id, std::string text,
            ErrorCode code = ErrorCode::unsupported) {
    result.failures.push_back(
        {.node = describe_node(graph, graph.node(id)), .text = std::move(text), .code = code});
  }

  void switch_off(Graph& graph, NodeId id) {
    if (!*autocast_region_of(graph.node(id), std::nullopt)) return;
    std::vector<NamedArgument> inputs = graph.node(id).inputs;
    inputs[2].arg = false;
    graph.set_node_inputs(id, std::move(inputs));
    result.changed = true;
  }

  void cast(Graph& graph, NodeId id, Region region) {
    const ops::Operator op = ops::find_operator(graph.node(id).target);
    if (!op) return;
    std::vector<NamedArgument> inputs = graph.node(id).inputs;
    std::vector<Dtype> dtypes;
    const auto for_each_tensor = [&](const auto& visit) {
      for (NamedArgument& input : inputs)
        for_each_leaf(input.arg, [&](Argument& leaf) {
          const TensorMeta* meta = tensor_meta(graph, leaf);
          const auto dtype = meta == nullptr ? std::nullopt : meta->dtype.dtype();
          if (dtype && ops::is_autocast(*dtype)) visit(leaf, *meta, *dtype);
        });
    };
    for_each_tensor([&](Argument&, const TensorMeta&, Dtype dtype) { dtypes.push_back(dtype); });
    auto wanted = ops::autocast_dtype(op, region, dtypes);
    if (!wanted) return fail(graph, id, std::move(wanted).error().message);
    if (!*wanted) return;
    const ScalarType type{dtype_info(**wanted).schema_number};
    bool is_changed = false;
    for_each_tensor([&](Argument& leaf, const TensorMeta& meta, Dtype dtype) {
      if (dtype == **wanted || !budget_.take(1)) return;
      TensorMeta to = meta;
      to.dtype = type;
      const std::string& name = graph.value(*leaf.get_if<ValueId>()).name;
      leaf = Argument(NewNodes(graph, id).call("torch.ops.aten._to_copy.default", name + "_cast",
                                               std::move(to),
                                               {positional("self", leaf), keyword("dtype", type)}));
      is_changed = true;
    });
    if (budget_.is_spent())
      return fail(graph, id,
                  "its casts take more than the " + std::to_string(budget_.most()) +
                      " nodes that max_new_nodes allows",
                  ErrorCode::limit);
    if (is_changed) graph.set_node_inputs(id, std::move(inputs));
    result.changed = result.changed || is_changed;
  }

  NodeBudget& budget_;
};

}  // namespace

AutocastSwitch autocast_switch(const Node& node) {
  if (node.target == "torch.amp.autocast_mode._enter_autocast") return AutocastSwitch::enters;
  if (node.target == "torch.amp.autocast_mode._exit_autocast") return AutocastSwitch::leaves;
  const HigherOrderRow* row = find_higher_order_operator(node.target);
  return row != nullptr && row->name == "wrap_with_autocast" ? AutocastSwitch::calls
                                                             : AutocastSwitch::none;
}

std::optional<Region> autocast_region_of(const Node& node, Region around) {
  if (node.inputs.size() < 3) return std::nullopt;
  const auto* device = node.inputs[0].arg.get_if<std::string>();
  const auto* dtype = node.inputs[1].arg.get_if<ScalarType>();
  const auto* enabled = node.inputs[2].arg.get_if<bool>();
  if (device == nullptr || enabled == nullptr) return std::nullopt;
  return ops::autocast_region(around, *device, dtype == nullptr ? std::nullopt : dtype->dtype(),
                              *enabled);
}

// After a failure some casts may be nodes; the program still computes the same.
PassResult explicit_autocast(Program& program, Pipeline& pipeline) {
  Caster caster(pipeline.budget);
  caster.visit(program.graph, std::nullopt);
  if (caster.result.failures.empty()) inline_autocast_regions(program.graph);
  return std::move(caster.result);
}

bool has_no_autocast(const Graph& graph) {
  return std::ranges::none_of(graph.nodes(), [&](NodeId id) {
    const Node& node = graph.node(id);
    switch (autocast_switch(node)) {
      case AutocastSwitch::none:
        return false;
      case AutocastSwitch::calls:
        // Of a region that another one encloses it is the same question there.
        return autocast_region_of(node, std::nullopt).value_or(Dtype::bfloat16).has_value();
      case AutocastSwitch::enters:
      case AutocastSwitch::leaves:
        break;
    }
    return true;
  });
}

}  // namespace pt2
