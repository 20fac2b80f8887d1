#include "ops/neural/recurrent_formulas.h"

#include <algorithm>

#include "ops/checks.h"
#include "ops/compose.h"

namespace pt2::ops {
namespace {

struct StateFormula {
  Tensor hidden;
  Tensor cell;  // only for an LSTM
};

// The parameters of one direction of one layer, in the order of the parameter list.
struct CellWeights {
  Tensor input;
  Tensor hidden;
  OptionalTensor input_bias{};
  OptionalTensor hidden_bias{};
  OptionalTensor projection{};
};

Result<StateFormula> lstm_step(Emitter& e, const Tensor& gates, const CellWeights& weights,
                               StateFormula state) {
  const auto of_hidden =
      e(aten<"linear.default">, {state.hidden, weights.hidden, weights.hidden_bias});
  PT2_TRY(const Tensor sum, e(aten<"add.Tensor">, {gates, of_hidden}));
  PT2_TRY(const Tensors parts, e.pieces(aten<"unsafe_chunk.default">, {sum, 4, 1}));
  if (parts.size() != 4)
    return operator_error("gates: found " + std::to_string(parts.size()) + ", expected 4");
  const auto sigmoid = [&](const Tensor& part) { return e(aten<"sigmoid.default">, {part}); };
  const auto kept = e(aten<"mul.Tensor">, {sigmoid(parts[1]), state.cell});
  const auto added =
      e(aten<"mul.Tensor">, {sigmoid(parts[0]), e(aten<"tanh.default">, {parts[2]})});
  PT2_TRY(state.cell, e(aten<"add.Tensor">, {kept, added}));
  PT2_TRY(state.hidden,
          e(aten<"mul.Tensor">, {sigmoid(parts[3]), e(aten<"tanh.default">, {state.cell})}));
  if (weights.projection) {
    PT2_TRY(state.hidden, e(aten<"linear.default">, {state.hidden, *weights.projection}));
  }
  return state;
}

Result<StateFormula> gru_step(Emitter& e, const Tensor& gates, const CellWeights& weights,
                              StateFormula state) {
  PT2_TRY(const Tensor of_hidden,
          e(aten<"linear.default">, {state.hidden, weights.hidden, weights.hidden_bias}));
  PT2_TRY(const Tensors in, e.pieces(aten<"unsafe_chunk.default">, {gates, 3, 1}));
  PT2_TRY(const Tensors own, e.pieces(aten<"unsafe_chunk.default">, {of_hidden, 3, 1}));
  if (in.size() != 3 || own.size() != 3)
    return operator_error("gates: found " + std::to_string(in.size()) + " and " +
                          std::to_string(own.size()) + ", expected 3 each");
  const auto gate = [&](size_t i) {
    return e(aten<"sigmoid.default">, {e(aten<"add.Tensor">, {in[i], own[i]})});
  };
  const auto reset = e(aten<"mul.Tensor">, {own[2], gate(0)});
  PT2_TRY(const Tensor fresh, e(aten<"tanh.default">, {e(aten<"add.Tensor">, {in[2], reset})}));
  const auto difference = e(aten<"sub.Tensor">, {state.hidden, fresh});
  PT2_TRY(state.hidden,
          e(aten<"add.Tensor">, {e(aten<"mul.Tensor">, {difference, gate(1)}), fresh}));
  return state;
}

template <Handle Activation>
Result<StateFormula> plain_step(Emitter& e, const Tensor& gates, const CellWeights& weights,
                                StateFormula state) {
  const auto of_hidden =
      e(aten<"linear.default">, {state.hidden, weights.hidden, weights.hidden_bias});
  PT2_TRY(state.hidden, e(Activation, {e(aten<"add.Tensor">, {gates, of_hidden})}));
  return state;
}

using Step = Result<StateFormula> (*)(Emitter&, const Tensor&, const CellWeights&, StateFormula);

struct NetworkFormula {
  Step step;
  bool has_biases;
  int64_t layers;
  double dropout;  // 0 if not training
  int64_t directions;
  bool batch_first;
};

Result<std::vector<CellWeights>> parse_weights(const NetworkFormula& network,
                                               const Tensors& params) {
  const auto count = static_cast<size_t>(network.layers * network.directions);
  const size_t least = network.has_biases ? 4 : 2;
  const bool projects = count > 0 && params.size() == count * (least + 1);
  if (count == 0 || (!projects && params.size() != count * least))
    return operator_error("params: found " + std::to_string(params.size()) + " tensors for " +
                          std::to_string(count) + " layers and directions, expected " +
                          std::to_string(least) + " or " + std::to_string(least + 1) + " for each");
  std::vector<CellWeights> out;
  for (size_t at = 0; at < params.size();) {
    CellWeights weights{params[at], params[at + 1]};
    if (network.has_biases) {
      weights.input_bias = params[at + 2];
      weights.hidden_bias = params[at + 3];
    }
    if (projects) weights.projection = params[at + least];
    at += least + (projects ? 1 : 0);
    out.push_back(std::move(weights));
  }
  return out;
}

// Returns the hidden states of all time steps. `state` becomes the last state.
Result<Tensor> run_direction(Emitter& e, const NetworkFormula& network, const Tensor& input,
                             const CellWeights& weights, bool reverse, StateFormula& state) {
  PT2_TRY(const Tensor gates,
          e(aten<"linear.default">, {input, weights.input, weights.input_bias}));
  const int64_t length = input.size(0);
  Tensors states;
  for (int64_t i = 0; i < length; ++i) {
    PT2_TRY(const Tensor now, e(aten<"select.int">, {gates, 0, reverse ? length - 1 - i : i}));
    PT2_TRY(state, network.step(e, now, weights, std::move(state)));
    PT2_TRY(Tensor row, e(aten<"unsqueeze.default">, {state.hidden, 0}));
    states.push_back(std::move(row));
  }
  if (reverse) std::ranges::reverse(states);
  return e(aten<"cat.default">, {states, 0});
}

struct NetworkOutcome {
  Tensor output;
  Tensor hidden;
  Tensor cell;
};

// `cell` is null for networks without a cell state.
Result<NetworkOutcome> run_network(Emitter& e, const NetworkFormula& network, const Tensor& input,
                                   const Tensor& hidden, const Tensor* cell,
                                   const Tensors& params) {
  constexpr int64_t kLongest = 10'000;
  PT2_TRY_VOID(check_rank(input, 3, "input"));
  PT2_TRY_VOID(check_rank(hidden, 3, "hx"));
  PT2_TRY(const std::vector<CellWeights> weights, parse_weights(network, params));
  Tensor rows = input;
  if (network.batch_first) {
    PT2_TRY(rows, e(aten<"permute.default">, {input, Sizes{1, 0, 2}}));
  }
  if (rows.size(0) < 1 || rows.size(0) > kLongest)
    return Error{ErrorCode::unsupported, "it has " + std::to_string(rows.size(0)) + " steps", ""};
  Tensors hiddens, cells;
  const auto keep = [&](Tensors& all, const Tensor& last) -> Result<void> {
    PT2_TRY(Tensor row, e(aten<"unsqueeze.default">, {last, 0}));
    all.push_back(std::move(row));
    return {};
  };
  for (int64_t layer = 0; layer < network.layers; ++layer) {
    Tensors outs;
    for (int64_t direction = 0; direction < network.directions; ++direction) {
      const int64_t index = layer * network.directions + direction;
      StateFormula state;
      PT2_TRY(state.hidden, e(aten<"select.int">, {hidden, 0, index}));
      if (cell != nullptr) {
        PT2_TRY(state.cell, e(aten<"select.int">, {*cell, 0, index}));
      }
      PT2_TRY(Tensor out, run_direction(e, network, rows, weights[static_cast<size_t>(index)],
                                        direction == 1, state));
      outs.push_back(std::move(out));
      PT2_TRY_VOID(keep(hiddens, state.hidden));
      if (cell != nullptr) PT2_TRY_VOID(keep(cells, state.cell));
    }
    rows = outs[0];
    if (outs.size() > 1) {
      PT2_TRY(rows, e(aten<"cat.default">, {outs, 2}));
    }
    if (network.dropout > 0 && layer + 1 < network.layers) {
      PT2_TRY(rows, e(aten<"native_dropout.default">, {rows, network.dropout, true}));
    }
  }
  NetworkOutcome outcome;
  outcome.output = rows;
  if (network.batch_first) {
    PT2_TRY(outcome.output, e(aten<"permute.default">, {rows, Sizes{1, 0, 2}}));
  }
  PT2_TRY(outcome.hidden, e(aten<"cat.default">, {hiddens, 0}));
  if (cell != nullptr) {
    PT2_TRY(outcome.cell, e(aten<"cat.default">, {cells, 0}));
  }
  return outcome;
}

template <Step S>
RnnPair run_plain(Emitter& e, const Tensor& input, const Tensor& hx, const Tensors& params,
                  bool has_biases, int64_t num_layers, double dropout, bool train,
                  bool bidirectional, bool batch_first) {
  const NetworkFormula network{
      S, has_biases, num_layers, train ? dropout : 0, bidirectional ? 2 : 1, batch_first};
  PT2_TRY(NetworkOutcome outcome, run_network(e, network, input, hx, nullptr, params));
  return std::tuple(std::move(outcome.output), std::move(outcome.hidden));
}

Result<StateFormula> run_cell(Emitter& e, Step step, const Tensor& input,
                              const CellWeights& weights, StateFormula state) {
  PT2_TRY_VOID(check_rank(input, 2, "input"));
  PT2_TRY_VOID(check_rank(state.hidden, 2, "hx"));
  if (state.hidden.size(0) != input.size(0))
    return operator_error("hx: found " + state.hidden.type_text() + ", expected the batch of " +
                          input.type_text());
  PT2_TRY(const Tensor gates,
          e(aten<"linear.default">, {input, weights.input, weights.input_bias}));
  return step(e, gates, weights, std::move(state));
}
template <Step S>
Result<Tensor> run_plain_cell(Emitter& e, const Tensor& input, const Tensor& hx,
                              const CellWeights& weights) {
  PT2_TRY(StateFormula state, run_cell(e, S, input, weights, {hx, {}}));
  return std::move(state.hidden);
}

}  // namespace

Result<std::tuple<Tensor, Tensor, Tensor>> lstm_formula(Emitter& e, const Tensor& input,
                                                        const Tensors& hx, const Tensors& params,
                                                        bool has_biases, int64_t num_layers,
                                                        double dropout, bool train,
                                                        bool bidirectional, bool batch_first) {
  if (hx.size() != 2)
    return operator_error("hx: found " + std::to_string(hx.size()) + " tensors, expected 2");
  const NetworkFormula network{
      lstm_step, has_biases, num_layers, train ? dropout : 0, bidirectional ? 2 : 1, batch_first};
  PT2_TRY(NetworkOutcome outcome, run_network(e, network, input, hx[0], &hx[1], params));
  return std::tuple(std::move(outcome.output), std::move(outcome.hidden), std::move(outcome.cell));
}

RnnPair gru_formula(Emitter& e, const Tensor& input, const Tensor& hx, const Tensors& params,
                    bool has_biases, int64_t num_layers, double dropout, bool train,
                    bool bidirectional, bool batch_first) {
  return run_plain<gru_step>(e, input, hx, params, has_biases, num_layers, dropout, train,
                             bidirectional, batch_first);
}
RnnPair rnn_tanh_formula(Emitter& e, const Tensor& input, const Tensor& hx, const Tensors& params,
                         bool has_biases, int64_t num_layers, double dropout, bool train,
                         bool bidirectional, bool batch_first) {
  return run_plain<plain_step<aten<"tanh.default">>>(e, input, hx, params, has_biases, num_layers,
                                                     dropout, train, bidirectional, batch_first);
}
RnnPair rnn_relu_formula(Emitter& e, const Tensor& input, const Tensor& hx, const Tensors& params,
                         bool has_biases, int64_t num_layers, double dropout, bool train,
                         bool bidirectional, bool batch_first) {
  return run_plain<plain_step<aten<"relu.default">>>(e, input, hx, params, has_biases, num_layers,
                                                     dropout, train, bidirectional, batch_first);
}

RnnPair lstm_cell_formula(Emitter& e, const Tensor& input, const Tensors& hx, const Tensor& w_ih,
                          const Tensor& w_hh, const OptionalTensor& b_ih,
                          const OptionalTensor& b_hh) {
  if (hx.size() != 2)
    return operator_error("hx: found " + std::to_string(hx.size()) + " tensors, expected 2");
  PT2_TRY_VOID(check_sizes(hx[1], hx[0].sizes(), "hx"));
  PT2_TRY(StateFormula state,
          run_cell(e, lstm_step, input, {w_ih, w_hh, b_ih, b_hh}, {hx[0], hx[1]}));
  return std::tuple(std::move(state.hidden), std::move(state.cell));
}
Result<Tensor> gru_cell_formula(Emitter& e, const Tensor& input, const Tensor& hx,
                                const Tensor& w_ih, const Tensor& w_hh, const OptionalTensor& b_ih,
                                const OptionalTensor& b_hh) {
  return run_plain_cell<gru_step>(e, input, hx, {w_ih, w_hh, b_ih, b_hh});
}
Result<Tensor> rnn_tanh_cell_formula(Emitter& e, const Tensor& input, const Tensor& hx,
                                     const Tensor& w_ih, const Tensor& w_hh,
                                     const OptionalTensor& b_ih, const OptionalTensor& b_hh) {
  return run_plain_cell<plain_step<aten<"tanh.default">>>(e, input, hx, {w_ih, w_hh, b_ih, b_hh});
}
Result<Tensor> rnn_relu_cell_formula(Emitter& e, const Tensor& input, const Tensor& hx,
                                     const Tensor& w_ih, const Tensor& w_hh,
                                     const OptionalTensor& b_ih, const OptionalTensor& b_hh) {
  return run_plain_cell<plain_step<aten<"relu.default">>>(e, input, hx, {w_ih, w_hh, b_ih, b_hh});
}

}  // namespace pt2::ops
