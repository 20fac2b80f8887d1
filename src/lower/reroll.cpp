// Joins the time steps of recurrent networks: whoever runs a network as one operator packs its
// weights once, and its steps cost no more than their arithmetic.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "check/shapes/recorded_sizes.h"
#include "lower/arguments.h"
#include "lower/new_nodes.h"
#include "lower/pass.h"
#include "lower/time_steps.h"
#include "ops/table.h"
#include "pt2/ir/builder.h"
#include "pt2/ir/edit.h"

namespace pt2 {
namespace {

constexpr std::array<std::string_view, 4> kNetworks = {
    "torch.ops.aten.lstm.input", "torch.ops.aten.gru.input", "torch.ops.aten.rnn_tanh.input",
    "torch.ops.aten.rnn_relu.input"};

// Puts one node in the place of each network.
class Joiner {
 public:
  explicit Joiner(Program& program) : program_(program) {}

  bool join_all(NodeBudget& budget) {
    bool changed = false;
    for (std::vector<TimeStep>& chain : chains_of_steps(graph())) {
      constexpr size_t kMostOthers = 8;  // besides one slice for each step
      const size_t added = chain.size() + kMostOthers;
      // The input of a layer is known only after the layer before it was joined.
      const std::optional<Network> found = network_of(graph(), std::move(chain));
      if (!found || !budget.take(added)) continue;
      join(*found);
      changed = true;
    }
    return changed;
  }

 private:
  Graph& graph() { return program_.graph; }

  void join(const Network& network) {
    const TimeStep &first = network.steps.front(), &last = network.steps.back();
    NewNodes nodes(graph(), graph().value(first.state).definition.node);
    const TensorMeta state = *graph().value(first.state).tensor();
    const bool is_flat = state.sizes.size() == 2;
    const TensorMeta one = states_like(state, 1);
    const bool is_lstm = first.cell == Cell::lstm, has_biases = network.input.bias.has_value();
    const ValueId input =
        network.runs_backward ? reversed(nodes, network.sequence) : network.sequence;
    std::vector<ValueId> params = {network.input.weight, first.product.weight};
    if (has_biases) params.insert(params.end(), {*network.input.bias, *first.product.bias});
    const ValueId sequence =
        nodes.add_value("sequence", states_like(state, static_cast<int64_t>(network.steps.size())));
    const ValueId last_state = nodes.add_value("last_state", one);
    const auto lifted = [&](ValueId value) {
      return !is_flat
                 ? value
                 : nodes.call("torch.ops.aten.unsqueeze.default", "lifted", one,
                              {arg("self", Argument(value)), arg("dim", Argument(int64_t{0}))});
    };
    const Argument states =
        is_lstm ? tensors({lifted(network.first_state), lifted(first.last_cell_state)})
                : Argument(lifted(network.first_state));
    Node node{
        .target = std::string(kNetworks[static_cast<size_t>(first.cell)]),
        .inputs = {arg("input", Argument(input)), arg("hx", states), arg("params", tensors(params)),
                   arg("has_biases", Argument(has_biases)), arg("num_layers", Argument(int64_t{1})),
                   arg("dropout", Argument(0.0)), arg("train", Argument(false)),
                   arg("bidirectional", Argument(false)), arg("batch_first", Argument(false))},
        .outputs = {Argument(sequence), Argument(last_state)}};
    const ValueId cell_state = is_lstm ? nodes.add_value("last_cell_state", one) : ValueId{};
    if (is_lstm) node.outputs.emplace_back(cell_state);
    nodes.insert(std::move(node));
    if (is_lstm && is_used_outside(graph(), last.cell_state, inside(network)))
      replace_all_uses(program_, last.cell_state,
                       is_flat ? at(nodes, cell_state, 0, state) : cell_state);
    replace_states(network, nodes, sequence);
  }

  // Returns the metadata of `count` states, [count, batch, hidden].
  static TensorMeta states_like(TensorMeta state, int64_t count) {
    if (state.sizes.size() == 2) return stacked(std::move(state), count);
    state.sizes[0] = SymInt(count);
    return state;
  }

  // Returns the state at one place of a sequence.
  static ValueId at(NewNodes& nodes, ValueId sequence, int64_t place, const TensorMeta& state) {
    const auto number = [](std::string_view name, int64_t value) {
      return arg(std::string(name), Argument(value));
    };
    if (state.sizes.size() == 2)
      return nodes.call(
          "torch.ops.aten.select.int", "state", state,
          {arg("self", Argument(sequence)), number("dim", 0), number("index", place)});
    return nodes.call("torch.ops.aten.slice.Tensor", "state", state,
                      {arg("self", Argument(sequence)), number("dim", 0), number("start", place),
                       number("end", place + 1)});
  }

  // Returns the value with its first dimension reversed.
  ValueId reversed(NewNodes& nodes, ValueId value) {
    const TensorMeta meta = *graph().value(value).tensor();
    return nodes.call("torch.ops.aten.flip.default", "reversed", meta,
                      {arg("self", Argument(value)), arg("dims", ints({0}))});
  }

  // Replaces uses of the states: of their concatenation by the sequence, of others by its slices.
  void replace_states(const Network& network, NewNodes& nodes, ValueId sequence) {
    NodeSet nodes_inside = inside(network);
    std::vector<ValueId> states;
    for (const TimeStep& step : network.steps) states.push_back(step.state);
    for (const bool reversed_order : {false, true}) {
      for (const NodeId id : concatenations(states, nodes_inside))
        replace_all_uses(program_, only_output(graph().node(id)),
                         reversed_order ? reversed(nodes, sequence) : sequence);
      std::ranges::reverse(states);
    }
    const TensorMeta state = *graph().value(states[0]).tensor();
    for (size_t step = 0; step < states.size(); ++step)
      if (is_used_outside(graph(), states[step], nodes_inside))
        replace_all_uses(program_, states[step],
                         at(nodes, sequence, static_cast<int64_t>(step), state));
    erase({nodes_inside.begin(), nodes_inside.end()});
  }

  // Returns the nodes that concatenate the states in this order. Adds them, and views of the states
  // that they take, to `nodes`.
  std::vector<NodeId> concatenations(const std::vector<ValueId>& states, NodeSet& nodes) {
    std::vector<NodeId> out;
    const auto take = [&](const Use& use) {
      const Node* node = use.node ? &graph().node(*use.node) : nullptr;
      if (node == nullptr || node->target != "torch.ops.aten.cat.default" ||
          find_only_output(*node) == nullptr || literal(*node, "dim", 0) != 0)
        return;
      const auto* list = find_argument<ArgumentList>(*node, "tensors");
      if (list == nullptr || list->items.size() != states.size()) return;
      std::vector<NodeId> views;
      for (size_t i = 0; i < states.size(); ++i)
        if (!is_row(list->items[i], states[i], views)) return;
      nodes.insert(views.begin(), views.end());
      if (nodes.insert(*use.node).second) out.push_back(*use.node);
    };
    for (const Use& use : graph().uses(states[0])) {
      take(use);
      if (!use.node) continue;
      for (const Argument& output : graph().node(*use.node).outputs)
        if (const auto* view = output.get_if<ValueId>())
          for (const Use& next : graph().uses(*view)) take(next);
    }
    return out;
  }
  // True if the item is the state, f32[1, batch, hidden]. Adds the view that makes it so to
  // `views`.
  bool is_row(const Argument& item, ValueId state, std::vector<NodeId>& views) {
    const auto* id = item.get_if<ValueId>();
    if (id == nullptr || graph().value(state).tensor()->sizes.size() == 3)
      return id != nullptr && *id == state;
    const auto maker = maker_of(graph(), *id);
    if (!maker) return false;
    const Node& node = graph().node(*maker);
    const auto* lifted = find_argument<ValueId>(node, "self");
    views.push_back(*maker);
    return node.target == "torch.ops.aten.unsqueeze.default" && lifted != nullptr &&
           *lifted == state && literal(node, "dim", std::nullopt) == 0;
  }

  // Erases the nodes, and then what only they used.
  void erase(std::vector<NodeId> nodes) {
    while (!nodes.empty()) {
      const NodeId id = nodes.back();
      nodes.pop_back();
      if (!graph().contains(id) || !can_erase(graph().node(id))) continue;
      std::vector<NodeId> makers;
      for_each_operand(graph().node(id), [&](ValueId value) {
        if (const auto maker = maker_of(graph(), value)) makers.push_back(*maker);
      });
      PT2_CHECK(erase_node(program_, id).has_value());  // its results have no uses
      nodes.insert(nodes.end(), makers.begin(), makers.end());
    }
  }
  // True if nobody uses the results and the node does nothing else.
  bool can_erase(const Node& node) {
    const ops::Operator op = ops::find_operator(node.target);
    if (!op || op.custom != nullptr || op.may_draw() || node.outputs.empty()) return false;
    return !any_result(node, [&](ValueId value) { return !graph().uses(value).empty(); });
  }

  Program& program_;
};

}  // namespace

bool has_no_time_steps(const Graph& graph) {
  return std::ranges::none_of(chains_of_steps(graph), [&](std::vector<TimeStep>& chain) {
    return network_of(graph, std::move(chain)).has_value();
  });
}

PassResult reroll(Program& program, Pipeline& pipeline) {
  // The steps are recognised by recorded sizes.
  if (!check::recorded_sizes_hold(program)) return {};
  return {.changed = Joiner(program).join_all(pipeline.budget)};
}

}  // namespace pt2
