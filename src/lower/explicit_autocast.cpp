// Writes the casts of torch.autocast into the graph as nodes. A strict export records the dtypes of
// its trace, which casts nothing. The recorded dtypes are corrected for casts and for the nodes
// that follow.
#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "check/shapes/abstract_value.h"
#include "check/shapes/proven_dtypes.h"
#include "check/shapes/symbol_samples.h"
#include "ir/graph_place.h"
#include "ir/higher_order.h"
#include "lower/arguments.h"
#include "lower/autocast.h"
#include "lower/decompose/decompose.h"
#include "lower/decompose/rewriter.h"
#include "lower/new_nodes.h"
#include "lower/pass.h"
#include "ops/forms/autocast.h"
#include "pt2/ir/builder.h"

namespace pt2 {
namespace {

using Region = std::optional<Dtype>;

class Caster {
 public:
  Caster(const Program& program, Pipeline& pipeline)
      : program_(program),
        budget_(pipeline.budget),
        writer_(*program.expressions, pipeline.spelling),
        hints_(check::hint_bindings(placed_graphs(program))) {}

  void visit(Graph& graph, Region around) {
    Changed changed;
    visit(graph, around, changed);
  }

  PassResult result;

 private:
  // Values of a graph whose dtype differs from the file's.
  using Changed = std::unordered_set<ValueId>;

  void visit(Graph& graph, Region around, Changed& changed) {
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
          if (result.failures.empty()) visit_nested(graph, id, nested, inside, changed);
        });
      if (kind == AutocastSwitch::calls) switch_off(graph, id);
      if (kind == AutocastSwitch::none && inside && replace(graph, id, *inside, changed)) continue;
      const bool is_cast = kind == AutocastSwitch::none && inside && cast(graph, id, inside);
      if (!result.failures.empty()) return;
      if (is_cast || takes(graph, id, changed)) record_results(graph, id, changed);
    }
    // The node that leaves a region takes the result of the node that enters it, so the order is
    // reversed.
    for (; !switches.empty(); switches.pop_back()) {
      if (!graph.erase_node(switches.back()))
        return fail(graph, switches.back(), "its result has other uses");
      result.changed = true;
    }
  }

  // Returns the operator's row if its nested graphs take the node's operands and give the node's
  // results one by one, else null.
  static const HigherOrderRow* plain_call(const Node& node) {
    const HigherOrderRow* row = find_higher_order_operator(node.target);
    const auto otherwise = HigherOrderRow::kSlices | HigherOrderRow::kFirstIsCondition;
    return row != nullptr && row->graph_count > 0 && (row->traits & otherwise) == 0 ? row : nullptr;
  }

  void visit_nested(Graph& graph, NodeId id, SubgraphId nested, Region region, Changed& changed) {
    Changed inner;
    const HigherOrderRow* row = plain_call(graph.node(id));
    if (row != nullptr) {
      std::vector<Argument> operands;
      std::vector<NamedArgument> inputs = graph.node(id).inputs;
      for (size_t i = row->first_operand; i < inputs.size(); ++i)
        for_each_leaf(inputs[i].arg, [&](Argument& leaf) { operands.push_back(leaf); });
      Graph& body = graph.subgraph(nested);
      for (size_t i = 0; i < std::min(operands.size(), body.inputs().size()); ++i)
        if (const auto* operand = operands[i].get_if<ValueId>();
            operand != nullptr && changed.contains(*operand))
          hand_on(graph, *operand, body, body.inputs()[i], inner);
    }
    visit(graph.subgraph(nested), region, inner);
    if (row == nullptr) return;
    const std::vector<ValueId> results = results_of(graph.node(id));
    const Graph& body = graph.subgraph(nested);
    for (size_t i = 0; i < std::min(results.size(), body.outputs().size()); ++i)
      if (const auto* output = body.outputs()[i].get_if<ValueId>();
          output != nullptr && inner.contains(*output))
        hand_on(body, *output, graph, Argument(results[i]), changed);
  }

  void hand_on(const Graph& from, ValueId value, Graph& to, const Argument& receiver,
               Changed& changed) {
    const TensorMeta* meta = from.value(value).tensor();
    const auto* id = receiver.get_if<ValueId>();
    if (meta != nullptr && id != nullptr) record(to, *id, meta->dtype, changed);
  }

  void record(Graph& graph, ValueId id, ScalarType dtype, Changed& changed) {
    const TensorMeta* meta = graph.value(id).tensor();
    if (meta == nullptr || meta->dtype == dtype) return;
    TensorMeta other = *meta;
    other.dtype = dtype;
    graph.set_value_meta(id, std::move(other));
    changed.insert(id);
    result.changed = true;
  }

  static bool takes(const Graph& graph, NodeId id, const Changed& changed) {
    return any_operand(graph.node(id), [&](ValueId value) { return changed.contains(value); });
  }

  // Records the dtypes that the operator gives. Results of operators without a rule are left alone.
  void record_results(Graph& graph, NodeId id, Changed& changed) {
    const auto results = check::results_of_recorded_dtypes(graph, graph.node(id), hints_);
    if (!results) return;
    const std::vector<Argument> outputs = graph.node(id).outputs;
    for (size_t i = 0; i < std::min(outputs.size(), results->size()); ++i)
      for_each_pair(outputs[i], (*results)[i], [&](const Argument& output, const Value& computed) {
        const auto* made = output.get_if<ValueId>();
        const auto* tensor = computed.get_if<Tensor>();
        if (made != nullptr && tensor != nullptr)
          record(graph, *made, ScalarType{dtype_info(tensor->dtype()).schema_number}, changed);
      });
  }

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

  // Replaces a composed operator by its steps and their casts, if these give results of other
  // dtypes. True if it is replaced.
  bool replace(Graph& graph, NodeId id, Dtype region, Changed& changed) {
    const ops::Operator op = ops::find_operator(graph.node(id).target);
    if (!op || !ops::is_cast_in_steps(op)) return false;
    auto operands =
        check::abstract_arguments(graph, graph.node(id), op.signature(), check::by_record(hints_));
    if (!operands)
      operands = check::abstract_arguments(graph, graph.node(id), op.signature(),
                                           check::abstract_value_of_ones);
    if (!operands || !ops::casts_change_dtypes(op, region, *operands)) return false;
    if (choices_.empty()) choices_ = symbol_choices(program_);
    std::vector<std::pair<ValueId, ScalarType>> recorded;
    for_each_result(graph.node(id), [&](ValueId value) {
      if (const TensorMeta* meta = graph.value(value).tensor())
        recorded.emplace_back(value, meta->dtype);
    });
    const auto expands = [](const ops::Operator&) { return false; };
    auto done =
        rewrite_node({graph, id, op, state_of(graph), region}, budget_, writer_, choices_, expands);
    if (!done) {
      fail(graph, id, done.error().message, done.error().code);
      return false;
    }
    for (const auto& [value, dtype] : recorded)
      if (graph.value(value).tensor()->dtype != dtype) changed.insert(value);
    result.changed = true;
    return true;
  }

  GraphState& state_of(const Graph& graph) {
    auto [entry, is_new] = states_.try_emplace(&graph);
    GraphState& state = entry->second;
    if (!is_new) return state;
    state.is_nested = &graph != &program_.graph;
    return state;
  }

  // Inserts the casts of the node's operands. True if there are any.
  bool cast(Graph& graph, NodeId id, Region region) {
    const ops::Operator op = ops::find_operator(graph.node(id).target);
    if (!op) return false;
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
    if (!wanted) {
      fail(graph, id, std::move(wanted).error().message);
      return false;
    }
    if (!*wanted) return false;
    const ScalarType type{dtype_info(**wanted).schema_number};
    bool is_changed = false;
    for_each_tensor([&](Argument& leaf, const TensorMeta& meta, Dtype dtype) {
      if (dtype == **wanted || !budget_.take(1)) return;
      TensorMeta to = meta;
      to.dtype = type;
      const std::string& name = graph.value(*leaf.get_if<ValueId>()).name;
      leaf = Argument(NewNodes(graph, id).call("torch.ops.aten._to_copy.default", name + "_cast",
                                               std::move(to),
                                               {arg("self", leaf), kwarg("dtype", type)}));
      is_changed = true;
    });
    if (budget_.is_spent()) {
      fail(graph, id,
           "its casts take more than the " + std::to_string(budget_.most()) +
               " nodes that max_new_nodes allows",
           ErrorCode::limit);
      return false;
    }
    if (is_changed) graph.set_node_inputs(id, std::move(inputs));
    result.changed = result.changed || is_changed;
    return is_changed;
  }

  const Program& program_;
  NodeBudget& budget_;
  const NumberWriter writer_;
  const SymbolBindings hints_;
  std::vector<SymbolBindings> choices_;  // of the program, once a composed operator is replaced
  std::map<const Graph*, GraphState> states_;
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

// After a failure some casts may already be nodes, but the program stays equivalent.
PassResult explicit_autocast(Program& program, Pipeline& pipeline) {
  Caster caster(program, pipeline);
  caster.visit(program.graph, std::nullopt);
  if (caster.result.failures.empty() && inline_autocast_regions(program.graph))
    caster.result.changed = true;
  return std::move(caster.result);
}

bool has_no_autocast(const Graph& graph) {
  return std::ranges::none_of(graph.nodes(), [&](NodeId id) {
    const Node& node = graph.node(id);
    switch (autocast_switch(node)) {
      case AutocastSwitch::none:
        return false;
      case AutocastSwitch::calls:
        // Each region is tested as if no other region enclosed it: an enclosing region is tested at
        // its own node.
        return autocast_region_of(node, std::nullopt).value_or(Dtype::bfloat16).has_value();
      case AutocastSwitch::enters:
      case AutocastSwitch::leaves:
        break;
    }
    return true;
  });
}

}  // namespace pt2
