// Plans of recurrent networks.
#include "run/plan/plan_case.h"

namespace pt2::run {
namespace {

struct Network {
  std::string name;
  int64_t layers = 1;
  bool bidirectional = false;
  bool batch_first = false;
  bool has_biases = true;
  bool projects = false;
  std::optional<Dtype> halves{};
};

// Makes a value a result. Float16 and bfloat16 values are converted to float32, which Case
// compares.
void output_floats(Case& graph, ValueId id, bool are_halves) {
  const ScalarType floats{dtype_info(Dtype::float32).schema_number};
  graph.output(!are_halves
                   ? id
                   : graph.call("_to_copy.default", {self(id), named("dtype", Argument(floats))}));
}
Names without_casts(Names names, bool are_halves) {
  if (are_halves) std::erase(names, "reference");
  return names;
}

// Returns the steps of a network with 3 sequences, 5 time steps, 6 features and 9 hidden units.
Names check(const Network& network) {
  Case graph;
  // The reference executor rounds sums and states to 16 bits, the step rounds only its results.
  if (network.halves) graph.tolerance = network.halves == Dtype::float16 ? 1e-2 : 8e-2;
  const auto rounded = [&](ValueId id) {
    if (network.halves) graph.make_halves(id, *network.halves);
    return id;
  };
  constexpr int64_t kFeatures = 6, kHidden = 9, kBatch = 3, kSteps = 5;
  const bool is_lstm = network.name == "lstm";
  const int64_t gates = (is_lstm ? 4 : network.name == "gru" ? 3 : 1) * kHidden;
  const int64_t directions = network.bidirectional ? 2 : 1;
  const int64_t width = network.projects ? 4 : kHidden;
  ArgumentList params{.kind = ListKind::tensors, .items = {}};
  for (int64_t i = 0; i < network.layers * directions; ++i) {
    const int64_t features = i < directions ? kFeatures : directions * width;
    params.items.emplace_back(rounded(graph.weight({gates, features})));
    params.items.emplace_back(rounded(graph.weight({gates, width})));
    if (network.has_biases)
      for (int j = 0; j < 2; ++j) params.items.emplace_back(rounded(graph.weight({gates})));
    if (network.projects) params.items.emplace_back(graph.weight({width, kHidden}));
  }
  const ValueId x = rounded(graph.input(network.batch_first ? Sizes{kBatch, kSteps, kFeatures}
                                                            : Sizes{kSteps, kBatch, kFeatures}));
  const ValueId h = rounded(graph.input({network.layers * directions, kBatch, width}));
  Argument states(h);
  if (is_lstm)
    states = Argument(ArgumentList{
        .kind = ListKind::tensors,
        .items = {Argument(h),
                  Argument(rounded(graph.input({network.layers * directions, kBatch, kHidden})))}});
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
    output_floats(graph, id, network.halves.has_value());
  return without_casts(graph.check(), network.halves.has_value());
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

TEST(PlanRecurrent, NetworksOfHalves) {
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16})
    for (const std::string name : {"lstm", "gru", "rnn_tanh", "rnn_relu"}) {
      const testing::ScopedTrace trace(__FILE__, __LINE__, name);
      EXPECT_EQ(check({.name = name,
                       .layers = 2,
                       .bidirectional = name == "gru",
                       .batch_first = name == "lstm",
                       .halves = dtype}),
                Names{"recurrent"});
    }
}

// Returns the steps of a sequence of recurrent cells.
Names check_cells(const std::string& name, bool has_biases, int64_t batch,
                  std::optional<Dtype> halves = std::nullopt) {
  Case graph;
  if (halves) graph.tolerance = halves == Dtype::float16 ? 1e-2 : 8e-2;
  const auto rounded = [&](ValueId id) {
    if (halves) graph.make_halves(id, *halves);
    return id;
  };
  constexpr int64_t kFeatures = 6, kHidden = 9;
  const bool is_lstm = name == "lstm_cell";
  const int64_t gates = (is_lstm ? 4 : name == "gru_cell" ? 3 : 1) * kHidden;
  std::vector<NamedArgument> weights{
      named("w_ih", Argument(rounded(graph.weight({gates, kFeatures})))),
      named("w_hh", Argument(rounded(graph.weight({gates, kHidden}))))};
  if (has_biases)
    for (const char* bias : {"b_ih", "b_hh"})
      weights.push_back(named(bias, Argument(rounded(graph.weight({gates})))));
  const ValueId x = rounded(graph.input({batch, kFeatures}));
  ValueId state = rounded(graph.input({batch, kHidden})),
          cell = rounded(graph.input({batch, kHidden}));
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
  output_floats(graph, state, halves.has_value());
  if (is_lstm) output_floats(graph, cell, halves.has_value());
  const Names names = without_casts(graph.check(), halves.has_value());
  EXPECT_TRUE(halves || (graph.was_recorded() && graph.took_others()));
  return names;
}

TEST(PlanRecurrent, SingleSteps) {
  for (const std::string name : {"lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"})
    for (const bool has_biases : {false, true})
      for (const int64_t batch : {1, 7}) {
        const testing::ScopedTrace trace(__FILE__, __LINE__, name);
        EXPECT_EQ(check_cells(name, has_biases, batch), (Names{"recurrent", "recurrent"}));
        EXPECT_EQ(check_cells(name, has_biases, batch, Dtype::bfloat16),
                  (Names{"recurrent", "recurrent"}));
      }
}

TEST(PlanRecurrent, ProjectionsAreComputedByTheReference) {
  EXPECT_EQ(check({.name = "lstm", .projects = true}), Names{"reference"});
}

}  // namespace
}  // namespace pt2::run
