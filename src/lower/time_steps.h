// Recurrent networks that a decomposition wrote as their time steps: a product of the input for all
// times and then, for every time, a product of the state and the gates
// (torch/_decomp/decompositions.py, one_layer_lstm, one_layer_gru, one_layer_rnn).
#ifndef PT2_LOWER_TIME_STEPS_H
#define PT2_LOWER_TIME_STEPS_H

#include <optional>
#include <unordered_set>
#include <vector>

#include "pt2/ir/graph.h"

namespace pt2 {

enum class Cell : uint8_t { lstm, gru, rnn_tanh, rnn_relu };

// rows = input weight^T + bias
struct Linear {
  ValueId input{}, weight{};
  std::optional<ValueId> bias{};
};

// A time step: it computes `state`, f32[batch, hidden] or f32[1, batch, hidden], from the last
// state and from the sums of the input, f32[times, batch, gates * hidden], at one time.
struct TimeStep {
  Cell cell = Cell::lstm;
  ValueId state{}, last_state{};
  ValueId cell_state{}, last_cell_state{};  // of LSTM
  ValueId sums{};
  int64_t time = 0;  // the place of these sums
  Linear product{};
  // The nodes of the step, without those that it may share with others: views of weights and sums.
  std::vector<NodeId> nodes{};
  std::vector<NodeId> views{};  // between the last state and the product
};

// The time steps of one layer in one direction, in the order in which they run.
struct Network {
  std::vector<TimeStep> steps{};
  Linear input{};              // the product that gives the sums
  ValueId sequence{};          // its operand, [times, batch, features]
  ValueId first_state{};       // of the sizes of the states
  bool runs_backward = false;  // the first step takes the last time of the sequence
};

using NodeSet = std::unordered_set<NodeId>;
// Returns the nodes that are needed no longer once the network is one node.
NodeSet inside(const Network& network);
// True if the graph returns the value or a node outside takes it.
bool is_used_outside(const Graph& graph, ValueId value, const NodeSet& inside);

// Returns the time steps in sequences in which each step continues the one before it. Recorded
// sizes are trusted. Linear.
std::vector<std::vector<TimeStep>> chains_of_steps(const Graph& graph);
// Returns the network of the steps if they are all of its steps and nobody needs a value inside.
std::optional<Network> network_of(const Graph& graph, std::vector<TimeStep> steps);

}  // namespace pt2

#endif  // PT2_LOWER_TIME_STEPS_H
