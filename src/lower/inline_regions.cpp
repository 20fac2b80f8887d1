#include "lower/inline_regions.h"

#include <algorithm>
#include <unordered_map>

#include "ir/target.h"
#include "lower/arguments.h"
#include "lower/new_nodes.h"

namespace pt2 {
namespace {

// The call of a region: (enabled, region, *operands).
struct RegionCall {
  bool enabled = false;
  SubgraphId region{};
  std::vector<ValueId> results{};
};

std::optional<RegionCall> region_call(const Graph& graph, const Node& node) {
  if (target_form(node.target) != TargetForm::higher_order ||
      last_part(node.target) != "wrap_with_set_grad_enabled" || node.inputs.size() < 2)
    return std::nullopt;
  const auto* enabled = node.inputs[0].arg.get_if<bool>();
  const auto* region = node.inputs[1].arg.get_if<SubgraphId>();
  if (enabled == nullptr || region == nullptr) return std::nullopt;
  RegionCall call{.enabled = *enabled, .region = *region};
  for (const Argument& output : node.outputs)
    for_each_value(output, [&](ValueId id) { call.results.push_back(id); });
  const Graph& inner = graph.subgraph(call.region);
  const auto is_tensor = [&](const Argument& output) {
    return tensor_meta(inner, output) != nullptr;
  };
  if (inner.inputs().size() != node.inputs.size() - 2 ||
      inner.outputs().size() != call.results.size() ||
      !std::ranges::all_of(inner.outputs(), is_tensor))
    return std::nullopt;
  return call;
}

// Puts a region's nodes in front of its call, which it replaces.
class Inliner {
 public:
  Inliner(Graph& graph, GraphNames& names, NodeId call, const RegionCall& region)
      : graph_(graph),
        names_(names),
        call_(call),
        region_(region),
        inner_(graph.subgraph(region.region)) {}

  void run() {
    const std::vector<NamedArgument> passed = graph_.node(call_).inputs;
    for (size_t i = 0; i < inner_.inputs().size(); ++i)
      if (const auto* id = inner_.inputs()[i].get_if<ValueId>())
        outer_.emplace(*id, passed[i + 2].arg);
    for (const NodeId id : inner_.nodes()) copy(inner_.node(id));
    const Metadata metadata = graph_.node(call_).metadata;
    graph_.set_node_outputs(call_, {});
    for (size_t i = 0; i < region_.results.size(); ++i)
      graph_.insert_node({.target = region_.enabled ? "torch.ops.aten.alias.default"
                                                    : "torch.ops.aten.detach.default",
                          .inputs = {{.name = "self", .arg = translated(inner_.outputs()[i])}},
                          .outputs = {Argument(region_.results[i])},
                          .metadata = metadata},
                         call_);
    // It gives nothing any more.
    (void)graph_.erase_node(call_);
  }

 private:
  void copy(const Node& node) {
    Node out = node;
    out.name.reset();
    for (NamedArgument& input : out.inputs) input.arg = translated(input.arg);
    for (const Argument& output : node.outputs)
      for_each_value(output, [&](ValueId id) {
        const GraphValue& value = inner_.value(id);
        GraphValue added{.name = graph_.unused_name(value.name), .meta = value.meta};
        outer_.insert_or_assign(id, Argument(graph_.add_value(std::move(added)).value()));
      });
    for (Argument& output : out.outputs) output = translated(output);
    graph_.insert_node(std::move(out), call_);
  }

  Argument translated(Argument argument) {
    for_each_leaf(argument, [&](Argument& leaf) {
      if (const auto* id = leaf.get_if<ValueId>()) {
        if (const auto found = outer_.find(*id); found != outer_.end())
          leaf = Argument(found->second);
      } else if (const auto* nested = leaf.get_if<SubgraphId>()) {
        Graph moved = inner_.subgraph(*nested);
        moved.name = names_.unused(moved.name);
        leaf.variant = graph_.add_subgraph(std::move(moved));
      }
    });
    return argument;
  }

  Graph& graph_;
  GraphNames& names_;
  const NodeId call_;
  const RegionCall& region_;
  const Graph inner_;  // a copy: the graph's own may move
  std::unordered_map<ValueId, Argument> outer_;
};

}  // namespace

PassResult inline_regions(Graph& graph, const WantsRegion& wants) {
  PassResult result;
  for (size_t i = 0; i < graph.subgraphs().size(); ++i)
    result.changed |=
        inline_regions(graph.subgraph(SubgraphId{static_cast<uint32_t>(i)}), wants).changed;
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  GraphNames names(graph);
  for (const NodeId id : nodes) {
    const auto call = region_call(graph, graph.node(id));
    if (!call || !wants(graph.subgraph(call->region))) continue;
    Inliner(graph, names, id, *call).run();
    result.changed = true;
  }
  return result;
}

}  // namespace pt2
