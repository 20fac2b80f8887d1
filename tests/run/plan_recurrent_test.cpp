// Plans of recurrent networks.
#include "run/plan_case.h"

namespace pt2::run {
namespace {

struct Network {
  std::string name;
  int64_t layers = 1;
  bool bidirectional = false;
  bool batch_first = false;
  bool has_biases = true;
  bool projects = false;
};

// What the plan makes of a network of 3 sequences of 5 steps of 6 features, 9 hidden units.
Names check(const Network& network) {
  Case graph;
  constexpr int64_t kFeatures = 6, kHidden = 9, kBatch = 3, kSteps = 5;
  const bool is_lstm = network.name == "lstm";
  const int64_t gates = (is_lstm ? 4 : network.name == "gru" ? 3 : 1) * kHidden;
  const int64_t directions = network.bidirectional ? 2 : 1;
  const int64_t width = network.projects ? 4 : kHidden;
  ArgumentList params{.kind = ListKind::tensors, .items = {}};
  for (int64_t i = 0; i < network.layers * directions; ++i) {
    const int64_t features = i < directions ? kFeatures : directions * width;
    params.items.emplace_back(graph.weight({gates, features}));
    params.items.emplace_back(graph.weight({gates, width}));
    if (network.has_biases)
      for (int j = 0; j < 2; ++j) params.items.emplace_back(graph.weight({gates}));
    if (network.projects) params.items.emplace_back(graph.weight({width, kHidden}));
  }
  const ValueId x = graph.input(network.batch_first ? Sizes{kBatch, kSteps, kFeatures}
                                                    : Sizes{kSteps, kBatch, kFeatures});
  const ValueId h = graph.input({network.layers * directions, kBatch, width});
  Argument states(h);
  if (is_lstm)
    states = Argument(ArgumentList{
        .kind = ListKind::tensors,
        .items = {Argument(h),
                  Argument(graph.input({network.layers * directions, kBatch, kHidden}))}});
  for (const ValueId id :
       graph.calls(network.name + ".input",
                   {named("input", Argument(x)), named("hx", states),
                    named("params", Argument(std::move(params))),
                    named("has_biases", Argument(network.has_biases)),
                    named("num_layers", Argument(network.layers)), named("dropout", Argument(0.0)),
                    named("train", Argument(false)),
                    named("bidirectional", Argument(network.bidirectional)),
                    named("batch_first", Argument(network.batch_first))},
                   is_lstm ? 3 : 2))
    graph.output(id);
  return graph.check();
}

TEST(PlanRecurrent, EveryKindOfNetwork) {
  for (const std::string name : {"lstm", "gru", "rnn_tanh", "rnn_relu"})
    for (const bool bidirectional : {false, true})
      for (const bool batch_first : {false, true}) {
        const testing::ScopedTrace trace(__FILE__, __LINE__, name);
        EXPECT_EQ(check({.name = name,
                         .layers = batch_first ? 2 : 1,
                         .bidirectional = bidirectional,
                         .batch_first = batch_first,
                         .has_biases = name != "rnn_tanh"}),
                  Names{"recurrent"});
      }
}

// What the plan makes of `steps` cells behind one another.
Names check_cells(const std::string& name, bool has_biases, int64_t batch) {
  Case graph;
  constexpr int64_t kFeatures = 6, kHidden = 9;
  const bool is_lstm = name == "lstm_cell";
  const int64_t gates = (is_lstm ? 4 : name == "gru_cell" ? 3 : 1) * kHidden;
  std::vector<NamedArgument> weights{named("w_ih", Argument(graph.weight({gates, kFeatures}))),
                                     named("w_hh", Argument(graph.weight({gates, kHidden})))};
  if (has_biases)
    for (const char* bias : {"b_ih", "b_hh"})
      weights.push_back(named(bias, Argument(graph.weight({gates}))));
  const ValueId x = graph.input({batch, kFeatures});
  ValueId state = graph.input({batch, kHidden}), cell = graph.input({batch, kHidden});
  for (int step = 0; step < 2; ++step) {
    std::vector<NamedArgument> arguments{
        named("input", Argument(x)),
        named("hx", is_lstm ? Argument(ArgumentList{.kind = ListKind::tensors,
                                                    .items = {Argument(state), Argument(cell)}})
                            : Argument(state))};
    arguments.insert(arguments.end(), weights.begin(), weights.end());
    const auto results = graph.calls(name + ".default", arguments, is_lstm ? 2 : 1);
    state = results[0];
    if (is_lstm) cell = results[1];
  }
  graph.output(state);
  if (is_lstm) graph.output(cell);
  const Names names = graph.check();
  EXPECT_TRUE(graph.was_recorded() && graph.took_others());
  return names;
}

TEST(PlanRecurrent, SingleSteps) {
  for (const std::string name : {"lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"})
    for (const bool has_biases : {false, true})
      for (const int64_t batch : {1, 7}) {
        const testing::ScopedTrace trace(__FILE__, __LINE__, name);
        EXPECT_EQ(check_cells(name, has_biases, batch), (Names{"recurrent", "recurrent"}));
      }
}

TEST(PlanRecurrent, ProjectionsAreComputedByTheReference) {
  EXPECT_EQ(check({.name = "lstm", .projects = true}), Names{"reference"});
}

}  // namespace
}  // namespace pt2::run
