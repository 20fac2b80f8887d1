// Recurrent networks. Half tensors are computed in float32 and rounded at the end.
#include <algorithm>
#include <cmath>

#include "base/memory_account.h"
#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/linear/matmul.h"
#include "ops/loops.h"
#include "ops/neural/recurrent_formulas.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

enum class Cell { tanh, relu, lstm, gru };

int64_t gate_count(Cell cell) { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }

// The parameters of one direction of one layer.
struct Weights {
  Tensor input;   // [gates * hidden, features]
  Tensor hidden;  // [gates * hidden, state]
  OptionalTensor input_bias;
  OptionalTensor hidden_bias;
  OptionalTensor projection;  // [state, hidden]: LSTM with a state smaller than its cell
};

template <class C>
C sigmoid(C x) {
  return C(1) / (C(1) + std::exp(-x));
}

// Computes the new state from the gates of input and state. The gates are in PyTorch's order: i f g
// o for LSTM, r z n for GRU. Only an LSTM has a `cell`.
template <class C>
void step_row(Cell kind, const C* from_input, const C* from_state, const C* old_state,
              int64_t hidden, C* new_state, C* cell) {
  for (int64_t j = 0; j < hidden; ++j) {
    auto gate = [&](int64_t k) { return from_input[k * hidden + j] + from_state[k * hidden + j]; };
    switch (kind) {
      case Cell::tanh:
        new_state[j] = std::tanh(gate(0));
        break;
      case Cell::relu:
        new_state[j] = gate(0) < C(0) ? C(0) : gate(0);
        break;
      case Cell::lstm:
        cell[j] = sigmoid(gate(1)) * cell[j] + sigmoid(gate(0)) * std::tanh(gate(2));
        new_state[j] = sigmoid(gate(3)) * std::tanh(cell[j]);
        break;
      case Cell::gru: {
        const C reset = sigmoid(gate(0));
        const C update = sigmoid(gate(1));
        const C candidate =
            std::tanh(from_input[2 * hidden + j] + reset * from_state[2 * hidden + j]);
        new_state[j] = candidate + update * (old_state[j] - candidate);
        break;
      }
    }
  }
}

struct State {
  Tensor hidden;  // [batch, state]
  Tensor cell;    // [batch, hidden]; LSTM only
};

// One time step for a batch. `from_input` holds the input's gates, [batch, gates * hidden].
Result<void> step(Cell kind, const Tensor& from_input, const Weights& weights, State& state) {
  constexpr int64_t kWorkOfStep = 512, kWorkOfGate = 12;
  PT2_TRY(const Tensor from_state, linear(state.hidden, weights.hidden, weights.hidden_bias));
  const int64_t batch = from_state.size(0);
  const int64_t hidden = from_state.size(1) / gate_count(kind);
  MemoryAccount::count_loops({from_state.numel(), kWorkOfGate}, 1);
  MemoryAccount::count_work(kWorkOfStep);
  Tensor next = Tensor::zeros(from_state.dtype(), {batch, hidden});
  with_float_compute_type(next.dtype(), [&]<class C>() {
    for (int64_t row = 0; row < batch; ++row)
      step_row(kind, from_input.data<C>() + row * from_input.size(1),
               from_state.data<C>() + row * from_state.size(1),
               state.hidden.data<C>() + row * state.hidden.size(1), hidden,
               next.data<C>() + row * hidden,
               kind == Cell::lstm ? state.cell.data<C>() + row * hidden : nullptr);
  });
  if (weights.projection) {
    PT2_TRY(next, linear(next, *weights.projection, std::nullopt));
  }
  state.hidden = next;
  return {};
}

Tensor time_slice(const Tensor& sequence, int64_t time) {
  return sequence.with_view({sequence.size(1), sequence.size(2)},
                            {sequence.stride(1), sequence.stride(2)},
                            sequence.storage_offset() + time * sequence.stride(0));
}

// Runs one direction over input [time, batch, features]. Writes the states into `out` [time, batch,
// ...], beginning at `column` of its last dimension.
Result<void> run_direction(Cell kind, const Tensor& input, const Weights& weights, bool reverse,
                           State& state, Tensor& out, int64_t column) {
  PT2_TRY(const Tensor gates, linear(input, weights.input, weights.input_bias));
  const int64_t length = input.size(0);
  for (int64_t i = 0; i < length; ++i) {
    const int64_t time = reverse ? length - 1 - i : i;
    PT2_TRY_VOID(step(kind, time_slice(gates, time), weights, state));
    Tensor target = time_slice(out, time);
    target =
        target.with_view(state.hidden.sizes(), target.strides(), target.storage_offset() + column);
    copy_elements(target, state.hidden);
  }
  return {};
}

struct Network {
  Cell kind;
  bool has_biases;
  int64_t layers;
  double dropout;
  bool train;
  bool bidirectional;
  bool batch_first;
  int64_t directions() const { return bidirectional ? 2 : 1; }
};

Dtype wide(Dtype dtype) { return dtype == Dtype::float64 ? Dtype::float64 : Dtype::float32; }

Tensor widened(const Tensor& tensor) {
  return to_dense(tensor, tensor.dtype(), wide(tensor.dtype()));
}

// The parameters of every layer and direction, in PyTorch's order.
Result<std::vector<Weights>> parse_weights(const Network& network, const Tensors& params,
                                           const Tensor& input) {
  if (network.layers < 1 || network.layers > static_cast<int64_t>(params.size()))
    return operator_error("num_layers: found " + std::to_string(network.layers) + " for " +
                          std::to_string(params.size()) +
                          " params, expected at least 1 and no more than params");
  const auto groups = static_cast<size_t>(network.layers * network.directions());
  const size_t base = network.has_biases ? 4 : 2;
  const bool projected = network.kind == Cell::lstm && params.size() == groups * (base + 1);
  const size_t each = projected ? base + 1 : base;
  if (params.size() != groups * each)
    return operator_error("params: found " + std::to_string(params.size()) + ", expected " +
                          std::to_string(groups * base));
  std::vector<Weights> out;
  for (size_t i = 0; i < params.size(); i += each) {
    for (size_t k = 0; k < each; ++k)
      PT2_TRY_VOID(check_same_dtype(params[i + k], input, "params"));
    Weights weights{widened(params[i]), widened(params[i + 1]), {}, {}, {}};
    if (network.has_biases) {
      weights.input_bias = widened(params[i + 2]);
      weights.hidden_bias = widened(params[i + 3]);
    }
    if (projected) weights.projection = widened(params[i + base]);
    out.push_back(std::move(weights));
  }
  return out;
}

Result<void> check_direction(Cell kind, const Weights& weights, int64_t features,
                             const State& state) {
  PT2_TRY_VOID(check_rank(weights.hidden, 2, "params"));
  const int64_t rows = weights.hidden.size(0);
  const int64_t gates = gate_count(kind);
  if (rows % gates != 0)
    return operator_error("params: found " + weights.hidden.type_text() + ", expected rows for " +
                          std::to_string(gates) + " gates");
  const int64_t hidden = rows / gates;
  const int64_t width = weights.hidden.size(1);
  PT2_TRY_VOID(check_sizes(weights.input, {rows, features}, "params"));
  for (const OptionalTensor* bias : {&weights.input_bias, &weights.hidden_bias})
    if (*bias) PT2_TRY_VOID(check_sizes(**bias, {rows}, "params"));
  if (weights.projection)
    PT2_TRY_VOID(check_sizes(*weights.projection, {width, hidden}, "params"));
  else if (width != hidden)
    return operator_error("params: found " + weights.hidden.type_text() + ", expected " +
                          std::to_string(hidden) + " columns");
  PT2_TRY_VOID(check_sizes(state.hidden, {state.hidden.size(0), width}, "hx"));
  if (kind == Cell::lstm)
    PT2_TRY_VOID(check_sizes(state.cell, {state.hidden.size(0), hidden}, "hx"));
  return {};
}

Tensor drop_randomly(Context& context, const Tensor& input, double p) {
  Tensor out = Tensor::zeros(input.dtype(), input.sizes());
  with_float_compute_type(input.dtype(), [&]<class C>() {
    const Input<C> x(input);
    for (int64_t i = 0; i < x.size(); ++i)
      if (context.random().bernoulli(1 - p)) out.data<C>()[i] = static_cast<C>(x[i] / (1 - p));
  });
  return out;
}

struct Outcome {
  Tensor output;
  Tensor hidden;
  Tensor cell;
};

Tensor layer_state(const Tensor& states, int64_t index) {
  return widened(time_slice(states, index));
}

// Runs the stacked layers. `hidden` and `cell` are [layers * directions, batch, ...]; input is
// [time, batch, features].
Result<Outcome> run_layers(Context& context, const Network& network, const Tensor& input,
                           const std::vector<Weights>& weights, const Tensor& hidden,
                           const Tensor& cell) {
  const int64_t directions = network.directions();
  const Dtype dtype = wide(input.dtype());
  Tensor sequence = widened(input);
  Outcome outcome;
  outcome.hidden = Tensor::zeros(input.dtype(), hidden.sizes());
  if (network.kind == Cell::lstm) outcome.cell = Tensor::zeros(input.dtype(), cell.sizes());
  for (int64_t layer = 0; layer < network.layers; ++layer) {
    const int64_t width = hidden.size(2);
    PT2_TRY(Tensor out,
            allocate(Meta(dtype, {sequence.size(0), sequence.size(1), width * directions})));
    for (int64_t direction = 0; direction < directions; ++direction) {
      const int64_t index = layer * directions + direction;
      const Weights& each = weights[static_cast<size_t>(index)];
      State state{layer_state(hidden, index).clone(), {}};
      if (network.kind == Cell::lstm) state.cell = layer_state(cell, index).clone();
      PT2_TRY_VOID(check_direction(network.kind, each, sequence.size(2), state));
      PT2_TRY_VOID(run_direction(network.kind, sequence, each, direction == 1, state, out,
                                 direction * width));
      Tensor final_hidden = time_slice(outcome.hidden, index);
      copy_elements(final_hidden, state.hidden);
      if (network.kind == Cell::lstm) {
        Tensor final_cell = time_slice(outcome.cell, index);
        copy_elements(final_cell, state.cell);
      }
    }
    const bool drops = network.train && network.dropout > 0 && layer + 1 < network.layers;
    sequence = drops ? drop_randomly(context, out, network.dropout) : out;
  }
  outcome.output = Tensor::zeros(input.dtype(), sequence.sizes());
  copy_elements(outcome.output, sequence);
  return outcome;
}

Tensor swap_batch_and_time(const Tensor& tensor) {
  return tensor.with_view({tensor.size(1), tensor.size(0), tensor.size(2)},
                          {tensor.stride(1), tensor.stride(0), tensor.stride(2)},
                          tensor.storage_offset());
}

Result<void> check_states(const Network& network, const Tensor& states, const Tensor& input,
                          int64_t batch) {
  PT2_TRY_VOID(check_rank(states, 3, "hx"));
  PT2_TRY_VOID(check_same_dtype(states, input, "hx"));
  PT2_TRY_VOID(
      check_sizes(states, {network.layers * network.directions(), batch, states.size(2)}, "hx"));
  return {};
}

Result<Outcome> run_network(Context& context, const Network& network, const Tensor& input,
                            const Tensor& hidden, const Tensor& cell, const Tensors& params) {
  PT2_TRY_VOID(check_floating(input, "input"));
  PT2_TRY_VOID(check_rank(input, 3, "input"));
  PT2_TRY(const std::vector<Weights> weights, parse_weights(network, params, input));
  const Tensor sequence = network.batch_first ? swap_batch_and_time(input) : input;
  if (sequence.size(0) == 0)
    return operator_error("input: found " + input.type_text() + ", expected at least one step");
  PT2_TRY_VOID(check_states(network, hidden, input, sequence.size(1)));
  if (network.kind == Cell::lstm)
    PT2_TRY_VOID(check_states(network, cell, input, sequence.size(1)));
  PT2_TRY(Outcome outcome, run_layers(context, network, sequence, weights, hidden, cell));
  if (network.batch_first) outcome.output = swap_batch_and_time(outcome.output);
  return outcome;
}

using LstmResult = std::tuple<Tensor, Tensor, Tensor>;

Result<LstmResult> lstm(Context& context, const Tensor& input, const Tensors& hx,
                        const Tensors& params, bool has_biases, int64_t num_layers, double dropout,
                        bool train, bool bidirectional, bool batch_first) {
  if (hx.size() != 2)
    return operator_error("hx: found " + std::to_string(hx.size()) + " tensors, expected 2");
  const Network network{Cell::lstm, has_biases,    num_layers, dropout,
                        train,      bidirectional, batch_first};
  PT2_TRY(Outcome outcome, run_network(context, network, input, hx[0], hx[1], params));
  return LstmResult{outcome.output, outcome.hidden, outcome.cell};
}

using RnnResult = std::tuple<Tensor, Tensor>;

template <Cell Kind>
Result<RnnResult> rnn(Context& context, const Tensor& input, const Tensor& hx,
                      const Tensors& params, bool has_biases, int64_t num_layers, double dropout,
                      bool train, bool bidirectional, bool batch_first) {
  const Network network{Kind, has_biases, num_layers, dropout, train, bidirectional, batch_first};
  PT2_TRY(Outcome outcome, run_network(context, network, input, hx, Tensor(), params));
  return RnnResult{outcome.output, outcome.hidden};
}

// --- Packed sequences: one tensor holds the steps of all sequences, first the first step of each
// sequence. `batch_sizes` gives the number of sequences at each step. Sequences are sorted by
// descending length, so the sequences that continue are always the first ones.

struct Packed {
  Tensor data;                 // [total steps, features]
  std::vector<int64_t> sizes;  // number of sequences at each step
};

Result<Packed> unpack(const Tensor& data, const Tensor& batch_sizes, int64_t batch) {
  PT2_TRY_VOID(check_floating(data, "data"));
  PT2_TRY_VOID(check_rank(data, 2, "data"));
  PT2_TRY_VOID(check_rank(batch_sizes, 1, "batch_sizes"));
  PT2_TRY_VOID(check_index_dtype(batch_sizes, "batch_sizes"));
  const Input<int64_t> numbers(batch_sizes);
  Packed packed{data, {}};
  int64_t most = batch;
  int64_t total = 0;
  for (int64_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 1 || numbers[i] > most || (i == 0 && numbers[i] != batch))
      return operator_error("batch_sizes: found " + std::to_string(numbers[i]) +
                            ", expected numbers that fall from " + std::to_string(batch));
    most = numbers[i];
    total += most;
    packed.sizes.push_back(most);
  }
  if (total != data.size(0))
    return operator_error("batch_sizes: found " + std::to_string(total) + " in all, expected " +
                          std::to_string(data.size(0)));
  return packed;
}

Tensor rows_of(const Tensor& matrix, int64_t first, int64_t count) {
  return matrix.with_view({count, matrix.size(1)}, matrix.strides(),
                          matrix.storage_offset() + first * matrix.stride(0));
}

// The state of a sequence stays unchanged after the end of the sequence.
Result<void> run_packed_direction(Cell kind, const Packed& packed, const Weights& weights,
                                  bool reverse, State& state, Tensor& out, int64_t column) {
  PT2_TRY(const Tensor gates, linear(packed.data, weights.input, weights.input_bias));
  const size_t length = packed.sizes.size();
  int64_t begin = reverse ? packed.data.size(0) : 0;
  for (size_t i = 0; i < length; ++i) {
    const int64_t count = packed.sizes[reverse ? length - 1 - i : i];
    if (reverse) begin -= count;
    State now{rows_of(state.hidden, 0, count), {}};
    if (kind == Cell::lstm) now.cell = rows_of(state.cell, 0, count);
    PT2_TRY_VOID(step(kind, rows_of(gates, begin, count), weights, now));
    Tensor kept = rows_of(state.hidden, 0, count);
    copy_elements(kept, now.hidden);
    Tensor target = rows_of(out, begin, count);
    target =
        target.with_view(now.hidden.sizes(), target.strides(), target.storage_offset() + column);
    copy_elements(target, now.hidden);
    if (!reverse) begin += count;
  }
  return {};
}

Result<Outcome> run_packed_layers(Context& context, const Network& network, Packed packed,
                                  const std::vector<Weights>& weights, const Tensor& hidden,
                                  const Tensor& cell) {
  const Dtype narrow = packed.data.dtype();
  const int64_t width = hidden.size(2);
  packed.data = widened(packed.data);
  Outcome outcome;
  outcome.hidden = Tensor::zeros(narrow, hidden.sizes());
  if (network.kind == Cell::lstm) outcome.cell = Tensor::zeros(narrow, cell.sizes());
  for (int64_t layer = 0; layer < network.layers; ++layer) {
    PT2_TRY(Tensor out, allocate(Meta(packed.data.dtype(),
                                      {packed.data.size(0), width * network.directions()})));
    for (int64_t direction = 0; direction < network.directions(); ++direction) {
      const int64_t index = layer * network.directions() + direction;
      const Weights& each = weights[static_cast<size_t>(index)];
      State state{layer_state(hidden, index).clone(), {}};
      if (network.kind == Cell::lstm) state.cell = layer_state(cell, index).clone();
      PT2_TRY_VOID(check_direction(network.kind, each, packed.data.size(1), state));
      PT2_TRY_VOID(run_packed_direction(network.kind, packed, each, direction == 1, state, out,
                                        direction * width));
      Tensor final_hidden = time_slice(outcome.hidden, index);
      copy_elements(final_hidden, state.hidden);
      if (network.kind != Cell::lstm) continue;
      Tensor final_cell = time_slice(outcome.cell, index);
      copy_elements(final_cell, state.cell);
    }
    const bool drops = network.train && network.dropout > 0 && layer + 1 < network.layers;
    packed.data = drops ? drop_randomly(context, out, network.dropout) : out;
  }
  outcome.output = Tensor::zeros(narrow, packed.data.sizes());
  copy_elements(outcome.output, packed.data);
  return outcome;
}

Result<Outcome> run_packed(Context& context, const Network& network, const Tensor& data,
                           const Tensor& batch_sizes, const Tensor& hidden, const Tensor& cell,
                           const Tensors& params) {
  PT2_TRY_VOID(check_rank(hidden, 3, "hx"));
  PT2_TRY(const Packed packed, unpack(data, batch_sizes, hidden.size(1)));
  PT2_TRY(const std::vector<Weights> weights, parse_weights(network, params, data));
  PT2_TRY_VOID(check_states(network, hidden, data, hidden.size(1)));
  if (network.kind == Cell::lstm) PT2_TRY_VOID(check_states(network, cell, data, hidden.size(1)));
  return run_packed_layers(context, network, packed, weights, hidden, cell);
}

Result<LstmResult> packed_lstm(Context& context, const Tensor& data, const Tensor& batch_sizes,
                               const Tensors& hx, const Tensors& params, bool has_biases,
                               int64_t num_layers, double dropout, bool train, bool bidirectional) {
  if (hx.size() != 2)
    return operator_error("hx: found " + std::to_string(hx.size()) + " tensors, expected 2");
  const Network network{Cell::lstm, has_biases, num_layers, dropout, train, bidirectional, false};
  PT2_TRY(Outcome outcome, run_packed(context, network, data, batch_sizes, hx[0], hx[1], params));
  return LstmResult{outcome.output, outcome.hidden, outcome.cell};
}
template <Cell Kind>
Result<RnnResult> packed_rnn(Context& context, const Tensor& data, const Tensor& batch_sizes,
                             const Tensor& hx, const Tensors& params, bool has_biases,
                             int64_t num_layers, double dropout, bool train, bool bidirectional) {
  const Network network{Kind, has_biases, num_layers, dropout, train, bidirectional, false};
  PT2_TRY(Outcome outcome, run_packed(context, network, data, batch_sizes, hx, Tensor(), params));
  return RnnResult{outcome.output, outcome.hidden};
}

// torch 2.2's decomposition of LSTMs on CPUs: one direction of one layer.
Result<std::tuple<Tensor, Tensor, Tensor, Tensor>> mkldnn_rnn_layer(
    const Tensor& input, const Tensor& weight0, const Tensor& weight1, const Tensor& weight2,
    const Tensor& weight3, const Tensor& hx, const Tensor& cx, bool reverse, const Sizes&,
    int64_t mode, int64_t, int64_t num_layers, bool has_biases, bool, bool, bool) {
  constexpr int64_t kLstm = 2;
  if (mode != kLstm || num_layers != 1)
    return Error{ErrorCode::unsupported, "mkldnn_rnn_layer of mode " + std::to_string(mode), ""};
  PT2_TRY_VOID(check_floating(input, "input"));
  PT2_TRY_VOID(check_rank(input, 3, "input"));
  const Network network{Cell::lstm, has_biases, 1, 0, false, false, false};
  Tensors params{weight0, weight1};
  if (has_biases) params.insert(params.end(), {weight2, weight3});
  PT2_TRY(const std::vector<Weights> weights, parse_weights(network, params, input));
  PT2_TRY_VOID(check_rank_at_least(hx, 2, "hx"));
  PT2_TRY_VOID(check_rank_at_least(cx, 2, "cx"));
  auto as_matrix = [](const Tensor& state) {
    const int64_t width = state.size(state.dim() - 1);
    const Tensor dense = widened(state);
    return dense.with_view({row_count(dense.numel(), width), width}, {width, 1},
                           dense.storage_offset());
  };
  State state{as_matrix(hx), as_matrix(cx).clone()};
  PT2_TRY_VOID(check_direction(Cell::lstm, weights[0], input.size(2), state));
  if (state.hidden.size(0) != input.size(1))
    return operator_error("hx: found " + hx.type_text() + ", expected the batch of " +
                          input.type_text());
  Tensor out = Tensor::zeros(input.dtype(), {input.size(0), input.size(1), state.hidden.size(1)});
  PT2_TRY_VOID(run_direction(Cell::lstm, widened(input), weights[0], reverse, state, out, 0));
  Tensor hidden = Tensor::zeros(input.dtype(), hx.sizes());
  Tensor cell = Tensor::zeros(input.dtype(), cx.sizes());
  copy_elements(hidden, state.hidden.with_view(hx.sizes(), contiguous_strides(hx.sizes()), 0));
  copy_elements(cell, state.cell.with_view(cx.sizes(), contiguous_strides(cx.sizes()), 0));
  return std::tuple{out, hidden, cell, Tensor::zeros(Dtype::uint8, {0})};
}

// The Meta of the output sequence, whose sizes follow from the parameters.
Result<Meta> sequence_meta(const Tensor& input, std::span<const Tensor> states, bool bidirectional,
                           bool batch_first) {
  PT2_TRY_VOID(check_rank(input, 3, "input"));
  for (const Tensor& state : states) {
    PT2_TRY_VOID(check_rank(state, 3, "hx"));
    PT2_TRY_VOID(
        check_sizes(state, {state.size(0), input.size(batch_first ? 0 : 1), state.size(2)}, "hx"));
  }
  return Meta(input.dtype(),
              {input.size(0), input.size(1), states[0].size(2) * (bidirectional ? 2 : 1)});
}
Result<std::array<Meta, 3>> lstm_meta(const Tensor& input, const Tensors& hx, const Tensors&, bool,
                                      int64_t, double, bool, bool bidirectional, bool batch_first) {
  if (hx.size() != 2)
    return operator_error("hx: found " + std::to_string(hx.size()) + " tensors, expected 2");
  PT2_TRY(Meta output, sequence_meta(input, hx, bidirectional, batch_first));
  return std::array{std::move(output), Meta::like(hx[0]), Meta::like(hx[1])};
}
Result<std::array<Meta, 2>> rnn_meta(const Tensor& input, const Tensor& hx, const Tensors&, bool,
                                     int64_t, double, bool, bool bidirectional, bool batch_first) {
  PT2_TRY(Meta output, sequence_meta(input, std::span(&hx, 1), bidirectional, batch_first));
  return std::array{std::move(output), Meta::like(hx)};
}
// The Meta of the output steps of packed sequences.
Result<Meta> packed_meta(const Tensor& data, std::span<const Tensor> states, bool bidirectional) {
  PT2_TRY_VOID(check_rank(data, 2, "data"));
  for (const Tensor& state : states) PT2_TRY_VOID(check_rank(state, 3, "hx"));
  PT2_TRY(const int64_t width, multiply_add(states[0].size(2), bidirectional ? 2 : 1));
  return Meta(data.dtype(), {data.size(0), width});
}
Result<std::array<Meta, 3>> packed_lstm_meta(const Tensor& data, const Tensor&, const Tensors& hx,
                                             const Tensors&, bool, int64_t, double, bool,
                                             bool bidirectional) {
  if (hx.size() != 2)
    return operator_error("hx: found " + std::to_string(hx.size()) + " tensors, expected 2");
  PT2_TRY(Meta output, packed_meta(data, hx, bidirectional));
  return std::array{std::move(output), Meta::like(hx[0]), Meta::like(hx[1])};
}
Result<std::array<Meta, 2>> packed_rnn_meta(const Tensor& data, const Tensor&, const Tensor& hx,
                                            const Tensors&, bool, int64_t, double, bool,
                                            bool bidirectional) {
  PT2_TRY(Meta output, packed_meta(data, std::span(&hx, 1), bidirectional));
  return std::array{std::move(output), Meta::like(hx)};
}
Result<std::vector<Meta>> mkldnn_rnn_layer_meta(std::span<const Value> arguments) {
  const Tensor& input = *arguments[0].get_if<Tensor>();
  const Tensor& hx = *arguments[5].get_if<Tensor>();
  PT2_TRY_VOID(check_rank(input, 3, "input"));
  PT2_TRY_VOID(check_rank_at_least(hx, 2, "hx"));
  return std::vector{Meta(input.dtype(), {input.size(0), input.size(1), hx.sizes().back()}),
                     Meta::like(hx), Meta::like(*arguments[6].get_if<Tensor>()),
                     Meta(Dtype::uint8, {0})};
}

// clang-format off
constexpr OpDef kRecurrentOps[] = {
    composed<"aten::lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)", packed_lstm_meta, packed_lstm>.with({.undecomposed = Undecomposed::reads_elements}),
    composed<"aten::gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)", packed_rnn_meta, packed_rnn<Cell::gru>>.with({.undecomposed = Undecomposed::reads_elements}),
    composed<"aten::rnn_tanh.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)", packed_rnn_meta, packed_rnn<Cell::tanh>>.with({.autocast = AutocastRule::lower_precision, .undecomposed = Undecomposed::reads_elements}),
    composed<"aten::rnn_relu.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)", packed_rnn_meta, packed_rnn<Cell::relu>>.with({.autocast = AutocastRule::lower_precision, .undecomposed = Undecomposed::reads_elements}),
    composed<"aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
       lstm_meta, lstm, lstm_formula>,
    composed<"aten::gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
       rnn_meta, rnn<Cell::gru>, gru_formula>,
    composed<"aten::rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
       rnn_meta, rnn<Cell::tanh>, rnn_tanh_formula>.with({.autocast = AutocastRule::lower_precision}),
    composed<"aten::rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
       rnn_meta, rnn<Cell::relu>, rnn_relu_formula>.with({.autocast = AutocastRule::lower_precision}),
    composed<"aten::mkldnn_rnn_layer(Tensor input, Tensor weight0, Tensor weight1, Tensor weight2, Tensor weight3, Tensor hx_, Tensor cx_, bool reverse, int[] batch_sizes, int mode, int hidden_size, int num_layers, bool has_biases, bool bidirectional, bool batch_first, bool train) -> (Tensor, Tensor, Tensor, Tensor)",
       mkldnn_rnn_layer_meta, mkldnn_rnn_layer>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)", lstm_cell_formula>,
    op<"aten::gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor", gru_cell_formula>,
    op<"aten::rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor", rnn_tanh_cell_formula>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor", rnn_relu_cell_formula>.with({.autocast = AutocastRule::lower_precision}),
};
// clang-format on

}  // namespace

std::span<const OpDef> recurrent_ops() { return kRecurrentOps; }

}  // namespace pt2::ops
