// Inlines regions whose nodes compute the same outside of the region: regions of another gradient
// mode, and regions of an autocast that casts nothing.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "ir/graph_place.h"
#include "ir/higher_order.h"
#include "ir/values/record.h"
#include "lower/arguments.h"
#include "lower/autocast.h"
#include "lower/functional/functionalize.h"
#include "lower/new_nodes.h"
#include "lower/pass.h"

namespace pt2 {
namespace {

bool sets_gradient_mode(const Node& node) {
  const HigherOrderRow* row = find_higher_order_operator(node.target);
  return row != nullptr && row->name == "wrap_with_set_grad_enabled";
}

// True if operators in the node's region cast their arguments, provided that no autocast encloses
// the node. Nothing for other nodes. Transformers' rotary embeddings turn autocast off.
std::optional<bool> turns_autocast_on(const Node& node) {
  if (autocast_switch(node) != AutocastSwitch::calls) return std::nullopt;
  const auto region = autocast_region_of(node, std::nullopt);
  return !region || region->has_value();
}

bool calls_what_writes(const Graph& graph, const Node& node) {
  bool found = false;
  for_each_callee(node,
                  [&](SubgraphId id) { found = found || !is_functional(graph.subgraph(id)); });
  return found;
}

struct RegionCall {
  bool detaches = false;  // the results have no gradients
  SubgraphId region{};
  size_t first_operand = 0;
  std::vector<ValueId> results{};
};

// True if result `i` of the region is a symbolic number that can replace the call's result. The
// call's result must not be a result of the graph, whose users know it by name.
bool gives_number(const Graph& graph, const Node& node, const RegionCall& call, size_t i) {
  const Graph& inner = graph.subgraph(call.region);
  const auto* id = inner.outputs()[i].get_if<ValueId>();
  if (id == nullptr || !is_number(inner.value(*id)) ||
      inner.value(*id).kind() != graph.value(call.results[i]).kind())
    return false;
  const Definition& definition = inner.value(*id).definition;
  if (definition.by == Definition::By::graph_input &&
      !node.inputs[definition.index + call.first_operand].arg.is<ValueId>())
    return false;
  return std::ranges::all_of(graph.uses(call.results[i]),
                             [](const Use& use) { return use.node.has_value(); });
}

std::optional<RegionCall> region_call(const Graph& graph, const Node& node) {
  const HigherOrderRow& row = *find_higher_order_operator(node.target);
  if (node.inputs.size() < row.first_operand) return std::nullopt;
  const auto* region = node.inputs[row.first_graph].arg.get_if<SubgraphId>();
  if (region == nullptr) return std::nullopt;
  RegionCall call{
      .region = *region, .first_operand = row.first_operand, .results = results_of(node)};
  if (sets_gradient_mode(node)) {
    const auto* enabled = node.inputs[0].arg.get_if<bool>();
    if (enabled == nullptr) return std::nullopt;
    call.detaches = !*enabled;
  }
  const Graph& inner = graph.subgraph(call.region);
  const auto is_tensor = [&](const Argument& output) {
    return tensor_meta(inner, output) != nullptr;
  };
  if (inner.inputs().size() != node.inputs.size() - call.first_operand ||
      inner.outputs().size() != call.results.size())
    return std::nullopt;
  // A file may pass a number or a graph where the region takes a tensor. Keyword arguments are not
  // operands.
  for (size_t i = 0; i < inner.inputs().size(); ++i) {
    const NamedArgument& operand = node.inputs[i + call.first_operand];
    if (!operand.name.empty() ||
        (is_tensor(inner.inputs()[i]) && tensor_meta(graph, operand.arg) == nullptr))
      return std::nullopt;
  }
  for (size_t i = 0; i < call.results.size(); ++i)
    if (!is_tensor(inner.outputs()[i]) && !gives_number(graph, node, call, i)) return std::nullopt;
  return call;
}

// Inserts a region's nodes before its call, and removes the call.
class Inliner {
 public:
  // `inner` is the graph of the region.
  Inliner(Graph& graph, GraphNames& names, NodeId call, const RegionCall& region, Graph inner)
      : graph_(graph), names_(names), call_(call), region_(region), inner_(std::move(inner)) {}

  void run() {
    const std::vector<NamedArgument> passed = graph_.node(call_).inputs;
    for (size_t i = 0; i < inner_.inputs().size(); ++i)
      if (const auto* id = inner_.inputs()[i].get_if<ValueId>())
        outer_.emplace(*id, passed[i + region_.first_operand].arg);
    for (const NodeId id : inner_.nodes()) copy(inner_.node(id));
    const Metadata metadata = graph_.node(call_).metadata;
    // The results that are numbers remain the call's and are erased with it.
    std::vector<Argument> numbers;
    for (const ValueId result : region_.results)
      if (is_number(graph_.value(result))) numbers.emplace_back(result);
    graph_.set_node_outputs(call_, std::move(numbers));
    for (size_t i = 0; i < region_.results.size(); ++i) {
      const ValueId result = region_.results[i];
      if (is_number(graph_.value(result))) {
        graph_.replace_all_uses(result, *translated(inner_.outputs()[i]).get_if<ValueId>());
        continue;
      }
      graph_.insert_node({.target = region_.detaches ? "torch.ops.aten.detach.default"
                                                     : "torch.ops.aten.alias.default",
                          .inputs = {{.name = "self", .arg = translated(inner_.outputs()[i])}},
                          .outputs = {Argument(result)},
                          .metadata = metadata},
                         call_);
    }
    // No result of the call has uses left.
    (void)graph_.erase_node(call_);
  }

 private:
  void copy(const Node& node) {
    Node out = node;
    out.name.reset();
    for (NamedArgument& input : out.inputs) input.arg = translated(input.arg);
    for_each_result(node, [&](ValueId id) {
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
  const Graph inner_;
  std::unordered_map<ValueId, Argument> outer_;
};

enum class Regions : uint8_t { all, writing, autocast };

bool is_inlined(const Graph& graph, const Node& node, Regions regions, bool autocast_around) {
  if (sets_gradient_mode(node))
    return regions == Regions::all ||
           (regions == Regions::writing && calls_what_writes(graph, node));
  return regions != Regions::writing && !autocast_around && !turns_autocast_on(node).value_or(true);
}

void inline_calls(Graph& graph, Regions regions, bool autocast_around, PassResult& result) {
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  // A region that separate nodes enter and leave may include any of the other nodes.
  autocast_around = autocast_around || any_node(graph, [](const Node& node) {
                      return autocast_switch(node) == AutocastSwitch::enters;
                    });
  std::vector<bool> casts(graph.subgraphs().size(), autocast_around);
  for (const NodeId id : nodes)
    if (turns_autocast_on(graph.node(id)).value_or(false))
      for_each_callee(graph.node(id),
                      [&](SubgraphId region) { casts[static_cast<size_t>(region)] = true; });
  for (size_t i = 0; i < casts.size(); ++i)
    inline_calls(graph.subgraph(SubgraphId{static_cast<uint32_t>(i)}), regions, casts[i], result);
  std::vector<size_t> uses(graph.subgraphs().size());
  for (const NodeId id : nodes)
    for_each_callee(graph.node(id), [&](SubgraphId each) { ++uses[static_cast<size_t>(each)]; });
  GraphNames names(graph);
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    if (!is_inlined(graph, node, regions, autocast_around)) continue;
    if (const auto call = region_call(graph, node)) {
      // The last call takes the region's graph out of this one. Otherwise copies of this graph
      // would hold both the region and its inlined nodes: twice as much at each level of nesting.
      Graph& region = graph.subgraph(call->region);
      const bool is_last = --uses[static_cast<size_t>(call->region)] == 0;
      Inliner(graph, names, id, *call, is_last ? std::exchange(region, Graph()) : region).run();
      result.changed = true;
    } else {
      result.failures.push_back(
          {.node = describe_node(graph, node),
           .text =
               "a region whose graph does not fit its call, or gives what cannot be handed on"});
    }
  }
}

}  // namespace

// A region that remains is a failure, but the program stays equivalent.
PassResult inline_regions(Program& program, Pipeline&) {
  PassResult result;
  inline_calls(program.graph, Regions::all, false, result);
  return result;
}

PassResult inline_writing_regions(Program& program, Pipeline&) {
  PassResult result;
  inline_calls(program.graph, Regions::writing, false, result);
  return result;
}

bool inline_autocast_regions(Graph& graph) {
  PassResult result;
  inline_calls(graph, Regions::autocast, false, result);
  return result.changed;
}

bool has_no_gradient_region(const Graph& graph) { return !any_node(graph, sets_gradient_mode); }

bool has_no_writing_region(const Graph& graph) {
  return !any_node(graph, [&](const Node& node) {
    return sets_gradient_mode(node) && calls_what_writes(graph, node);
  });
}

}  // namespace pt2
