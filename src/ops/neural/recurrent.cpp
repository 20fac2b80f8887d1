// Recurrent networks. Half tensors are computed in float32 and rounded at the end. Formulas unroll
// the networks over their steps.
#include <algorithm>
#include <cmath>

#include "base/memory_account.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/linear/matmul.h"
#include "ops/loops.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

enum class Cell { tanh, relu, lstm, gru };

int64_t gate_count(Cell cell) { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }

// The states of a network: hidden states, for an LSTM followed by cell states. `Hx` is the type of
// this argument: Tensors for an LSTM, else a Tensor.
Result<std::span<const Tensor>> states_of(const Tensor& hx) { return std::span(&hx, 1); }
Result<std::span<const Tensor>> states_of(const Tensors& hx) {
  if (hx.size() != 2)
    return operator_error("hx: found " + std::to_string(hx.size()) + " tensors, expected 2");
  return std::span(hx);
}
template <class Hx>
inline constexpr bool kHasCell = std::is_same_v<Hx, Tensors>;

// The output and the last states.
struct Outcome {
  Tensor output;
  Tensors states;
};
template <class Hx>
using Results = std::conditional_t<kHasCell<Hx>, std::tuple<Tensor, Tensor, Tensor>,
                                   std::tuple<Tensor, Tensor>>;
template <class Hx>
Results<Hx> results_of(const Outcome& outcome) {
  if constexpr (kHasCell<Hx>)
    return {outcome.output, outcome.states[0], outcome.states[1]};
  else
    return {outcome.output, outcome.states[0]};
}

struct Network {
  bool has_biases;
  int64_t layers;
  double dropout;  // 0 if not training
  int64_t directions;
  bool batch_first;
};
Network network_of(bool has_biases, int64_t layers, double dropout, bool train, bool bidirectional,
                   bool batch_first) {
  return {has_biases, layers, train ? dropout : 0, bidirectional ? 2 : 1, batch_first};
}

// The parameters of one direction of one layer, in the order of the parameter list.
struct Weights {
  Tensor input;   // [gates * hidden, features]
  Tensor hidden;  // [gates * hidden, state]
  OptionalTensor input_bias{};
  OptionalTensor hidden_bias{};
  OptionalTensor projection{};  // [state, hidden]: LSTM with a state smaller than its cell
};

// The parameters of every layer and direction, in PyTorch's order. Only an LSTM projects.
Result<std::vector<Weights>> parse_weights(const Network& network, const Tensors& params,
                                           bool may_project) {
  if (network.layers < 1 || network.layers > static_cast<int64_t>(params.size()))
    return operator_error("num_layers: found " + std::to_string(network.layers) + " for " +
                          std::to_string(params.size()) +
                          " params, expected at least 1 and no more than params");
  const auto groups = static_cast<size_t>(network.layers * network.directions);
  const size_t base = network.has_biases ? 4 : 2;
  const bool projected = may_project && params.size() == groups * (base + 1);
  const size_t each = projected ? base + 1 : base;
  if (params.size() != groups * each)
    return operator_error("params: found " + std::to_string(params.size()) + ", expected " +
                          std::to_string(groups * base));
  std::vector<Weights> out;
  for (size_t i = 0; i < params.size(); i += each) {
    Weights weights{params[i], params[i + 1]};
    if (network.has_biases) {
      weights.input_bias = params[i + 2];
      weights.hidden_bias = params[i + 3];
    }
    if (projected) weights.projection = params[i + base];
    out.push_back(std::move(weights));
  }
  return out;
}

// --- Kernels

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

// One time step for a batch. `from_input` holds the input's gates, [batch, gates * hidden]. `state`
// is [batch, state], for an LSTM followed by [batch, hidden].
Result<void> step(Cell kind, const Tensor& from_input, const Weights& weights, Tensors& state) {
  constexpr int64_t kWorkOfStep = 512, kWorkOfGate = 12;
  PT2_TRY(const Tensor from_state, linear(state[0], weights.hidden, weights.hidden_bias));
  const int64_t batch = from_state.size(0);
  const int64_t hidden = from_state.size(1) / gate_count(kind);
  MemoryAccount::count_loops({from_state.numel(), kWorkOfGate}, 1);
  MemoryAccount::count_work(kWorkOfStep);
  Tensor next = Tensor::zeros(from_state.dtype(), {batch, hidden});
  with_float_compute_type(next.dtype(), [&]<class C>() {
    for (int64_t row = 0; row < batch; ++row)
      step_row(kind, from_input.data<C>() + row * from_input.size(1),
               from_state.data<C>() + row * from_state.size(1),
               state[0].data<C>() + row * state[0].size(1), hidden, next.data<C>() + row * hidden,
               state.size() > 1 ? state[1].data<C>() + row * hidden : nullptr);
  });
  if (weights.projection) {
    PT2_TRY(next, linear(next, *weights.projection, std::nullopt));
  }
  state[0] = next;
  return {};
}

Dtype wide(Dtype dtype) { return dtype == Dtype::float64 ? Dtype::float64 : Dtype::float32; }

Tensor widened(const Tensor& tensor) {
  return to_dense(tensor, tensor.dtype(), wide(tensor.dtype()));
}

// The steps of all sequences of a batch: first the first step of each sequence.
struct Steps {
  Tensor data;  // [total steps, features]
  int64_t length;
  int64_t batch;
  // The number of sequences at each step, if their lengths differ. Sequences are sorted by
  // descending length, so the sequences that continue are always the first ones.
  std::vector<int64_t> sizes{};
  int64_t count(int64_t at) const { return sizes.empty() ? batch : sizes[static_cast<size_t>(at)]; }
};

// The steps of sequences [time, batch, features].
Result<Steps> steps_of(const Tensor& sequences) {
  PT2_TRY(const int64_t total, multiply_add(sequences.size(0), sequences.size(1)));
  const int64_t features = sequences.size(2);
  const Tensor dense = widened(sequences);
  return Steps{dense.with_view({total, features}, {features, 1}, dense.storage_offset()),
               sequences.size(0), sequences.size(1)};
}

Tensor rows_of(const Tensor& matrix, int64_t first, int64_t count) {
  return matrix.with_view({count, matrix.size(1)}, matrix.strides(),
                          matrix.storage_offset() + first * matrix.stride(0));
}

// Runs one direction. Writes the states into `out` [total steps, ...], beginning at `column`. The
// state of a sequence stays unchanged after the end of the sequence.
Result<void> run_direction(Cell kind, const Steps& steps, const Weights& weights, bool reverse,
                           Tensors& state, Tensor& out, int64_t column) {
  PT2_TRY(const Tensor gates, linear(steps.data, weights.input, weights.input_bias));
  int64_t begin = reverse ? steps.data.size(0) : 0;
  for (int64_t i = 0; i < steps.length; ++i) {
    const int64_t count = steps.count(reverse ? steps.length - 1 - i : i);
    if (reverse) begin -= count;
    Tensors now;
    for (const Tensor& each : state) now.push_back(rows_of(each, 0, count));
    PT2_TRY_VOID(step(kind, rows_of(gates, begin, count), weights, now));
    if (count == steps.batch) {
      state[0] = now[0];
    } else {
      Tensor kept = rows_of(state[0], 0, count);
      copy_elements(kept, now[0]);
    }
    Tensor target = rows_of(out, begin, count);
    target = target.with_view(now[0].sizes(), target.strides(), target.storage_offset() + column);
    copy_elements(target, now[0]);
    if (!reverse) begin += count;
  }
  return {};
}

Result<void> check_direction(Cell kind, const Weights& weights, int64_t features,
                             const Tensors& state) {
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
  const int64_t widths[] = {width, hidden};
  for (size_t i = 0; i < state.size(); ++i)
    PT2_TRY_VOID(check_sizes(state[i], {state[0].size(0), widths[i]}, "hx"));
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

Tensor layer_of(const Tensor& states, int64_t index) {
  return states.with_view({states.size(1), states.size(2)}, {states.stride(1), states.stride(2)},
                          states.storage_offset() + index * states.stride(0));
}

// Runs the stacked layers. `states` are [layers * directions, batch, ...]. The outcome has the
// dtype of the states.
Result<Outcome> run_layers(Context& context, Cell kind, const Network& network, Steps steps,
                           std::span<const Tensor> states, const std::vector<Weights>& weights) {
  const Dtype narrow = states[0].dtype();
  const int64_t width = states[0].size(2);
  Outcome outcome;
  for (const Tensor& each : states) outcome.states.push_back(Tensor::zeros(narrow, each.sizes()));
  for (int64_t layer = 0; layer < network.layers; ++layer) {
    PT2_TRY(Tensor out,
            allocate(Meta(steps.data.dtype(), {steps.data.size(0), width * network.directions})));
    for (int64_t direction = 0; direction < network.directions; ++direction) {
      const int64_t index = layer * network.directions + direction;
      const Weights& each = weights[static_cast<size_t>(index)];
      Tensors state;
      for (const Tensor& all : states) state.push_back(widened(layer_of(all, index)).clone());
      PT2_TRY_VOID(check_direction(kind, each, steps.data.size(1), state));
      PT2_TRY_VOID(run_direction(kind, steps, each, direction == 1, state, out, direction * width));
      for (size_t i = 0; i < state.size(); ++i) {
        Tensor last = layer_of(outcome.states[i], index);
        copy_elements(last, state[i]);
      }
    }
    const bool drops = network.dropout > 0 && layer + 1 < network.layers;
    steps.data = drops ? drop_randomly(context, out, network.dropout) : out;
  }
  outcome.output = Tensor::zeros(narrow, steps.data.sizes());
  copy_elements(outcome.output, steps.data);
  return outcome;
}

Result<std::vector<Weights>> wide_weights(Cell kind, const Network& network, const Tensors& params,
                                          const Tensor& input) {
  Tensors wide_params;
  for (const Tensor& each : params) {
    PT2_TRY_VOID(check_same_dtype(each, input, "params"));
    wide_params.push_back(widened(each));
  }
  return parse_weights(network, wide_params, kind == Cell::lstm);
}

// `input` has the elements of `steps` in the dtype of the network.
Result<Outcome> run_network(Context& context, Cell kind, const Network& network,
                            const Tensor& input, Steps steps, std::span<const Tensor> states,
                            const Tensors& params) {
  PT2_TRY(const auto weights, wide_weights(kind, network, params, input));
  for (const Tensor& each : states) {
    PT2_TRY_VOID(check_rank(each, 3, "hx"));
    PT2_TRY_VOID(check_same_dtype(each, input, "hx"));
    PT2_TRY_VOID(
        check_sizes(each, {network.layers * network.directions, steps.batch, each.size(2)}, "hx"));
  }
  return run_layers(context, kind, network, std::move(steps), states, weights);
}

Tensor swap_batch_and_time(const Tensor& tensor) {
  return tensor.with_view({tensor.size(1), tensor.size(0), tensor.size(2)},
                          {tensor.stride(1), tensor.stride(0), tensor.stride(2)},
                          tensor.storage_offset());
}

template <Cell Kind, class Hx>
Result<Results<Hx>> rnn(Context& context, const Tensor& input, const Hx& hx, const Tensors& params,
                        bool has_biases, int64_t num_layers, double dropout, bool train,
                        bool bidirectional, bool batch_first) {
  PT2_TRY(const auto states, states_of(hx));
  const Network network =
      network_of(has_biases, num_layers, dropout, train, bidirectional, batch_first);
  PT2_TRY_VOID(check_floating(input, "input"));
  PT2_TRY_VOID(check_rank(input, 3, "input"));
  const Tensor sequences = batch_first ? swap_batch_and_time(input) : input;
  if (sequences.size(0) == 0)
    return operator_error("input: found " + input.type_text() + ", expected at least one step");
  PT2_TRY(Steps steps, steps_of(sequences));
  PT2_TRY(Outcome outcome,
          run_network(context, Kind, network, input, std::move(steps), states, params));
  const Sizes sizes{sequences.size(0), sequences.size(1), outcome.output.size(1)};
  outcome.output = outcome.output.with_view(sizes, contiguous_strides(sizes), 0);
  if (batch_first) outcome.output = swap_batch_and_time(outcome.output);
  return results_of<Hx>(outcome);
}

Result<Steps> unpack(const Tensor& data, const Tensor& batch_sizes, int64_t batch) {
  PT2_TRY_VOID(check_floating(data, "data"));
  PT2_TRY_VOID(check_rank(data, 2, "data"));
  PT2_TRY_VOID(check_rank(batch_sizes, 1, "batch_sizes"));
  PT2_TRY_VOID(check_index_dtype(batch_sizes, "batch_sizes"));
  const Input<int64_t> numbers(batch_sizes);
  Steps steps{widened(data), numbers.size(), batch};
  int64_t most = batch;
  int64_t total = 0;
  for (int64_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 1 || numbers[i] > most || (i == 0 && numbers[i] != batch))
      return operator_error("batch_sizes: found " + std::to_string(numbers[i]) +
                            ", expected numbers that fall from " + std::to_string(batch));
    most = numbers[i];
    total += most;
    steps.sizes.push_back(most);
  }
  if (total != data.size(0))
    return operator_error("batch_sizes: found " + std::to_string(total) + " in all, expected " +
                          std::to_string(data.size(0)));
  return steps;
}

template <Cell Kind, class Hx>
Result<Results<Hx>> packed_rnn(Context& context, const Tensor& data, const Tensor& batch_sizes,
                               const Hx& hx, const Tensors& params, bool has_biases,
                               int64_t num_layers, double dropout, bool train, bool bidirectional) {
  PT2_TRY(const auto states, states_of(hx));
  const Network network = network_of(has_biases, num_layers, dropout, train, bidirectional, false);
  PT2_TRY_VOID(check_rank(states[0], 3, "hx"));
  PT2_TRY(Steps steps, unpack(data, batch_sizes, states[0].size(1)));
  PT2_TRY(const Outcome outcome,
          run_network(context, Kind, network, data, std::move(steps), states, params));
  return results_of<Hx>(outcome);
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
  const Network network{has_biases, 1, 0, 1, false};
  Tensors params{weight0, weight1};
  if (has_biases) params.insert(params.end(), {weight2, weight3});
  PT2_TRY(const auto weights, wide_weights(Cell::lstm, network, params, input));
  PT2_TRY_VOID(check_rank_at_least(hx, 2, "hx"));
  PT2_TRY_VOID(check_rank_at_least(cx, 2, "cx"));
  const auto as_matrix = [](const Tensor& state) {
    const int64_t width = state.size(state.dim() - 1);
    const Tensor dense = widened(state);
    return dense.with_view({row_count(dense.numel(), width), width}, {width, 1},
                           dense.storage_offset());
  };
  Tensors state{as_matrix(hx), as_matrix(cx).clone()};
  PT2_TRY_VOID(check_direction(Cell::lstm, weights[0], input.size(2), state));
  if (state[0].size(0) != input.size(1))
    return operator_error("hx: found " + hx.type_text() + ", expected the batch of " +
                          input.type_text());
  PT2_TRY(const Steps steps, steps_of(input));
  const Sizes sizes{input.size(0), input.size(1), state[0].size(1)};
  const Tensor out = Tensor::zeros(input.dtype(), sizes);
  Tensor rows = out.with_view({steps.data.size(0), sizes[2]}, {sizes[2], 1}, 0);
  PT2_TRY_VOID(run_direction(Cell::lstm, steps, weights[0], reverse, state, rows, 0));
  Tensor hidden = Tensor::zeros(input.dtype(), hx.sizes());
  Tensor cell = Tensor::zeros(input.dtype(), cx.sizes());
  copy_elements(hidden, state[0].with_view(hx.sizes(), contiguous_strides(hx.sizes()), 0));
  copy_elements(cell, state[1].with_view(cx.sizes(), contiguous_strides(cx.sizes()), 0));
  return std::tuple{out, hidden, cell, Tensor::zeros(Dtype::uint8, {0})};
}

// --- Rules

// The Metas of the output and of the last states. `batch_dim` is the dim of the input that must be
// the batch of the states; -1 for packed sequences, whose elements tell the batch.
template <class Hx>
Result<std::array<Meta, kHasCell<Hx> ? 3 : 2>> sequence_metas(const Tensor& input, const Hx& hx,
                                                              bool bidirectional,
                                                              int64_t batch_dim) {
  PT2_TRY(const auto states, states_of(hx));
  PT2_TRY_VOID(check_rank(input, batch_dim < 0 ? 2 : 3, batch_dim < 0 ? "data" : "input"));
  for (const Tensor& state : states) {
    PT2_TRY_VOID(check_rank(state, 3, "hx"));
    if (batch_dim >= 0)
      PT2_TRY_VOID(check_sizes(state, {state.size(0), input.size(batch_dim), state.size(2)}, "hx"));
  }
  Sizes sizes = input.sizes();
  PT2_TRY(sizes.back(), multiply_add(states[0].size(2), bidirectional ? 2 : 1));
  std::array<Meta, kHasCell<Hx> ? 3 : 2> metas{Meta(input.dtype(), std::move(sizes))};
  for (size_t i = 0; i < states.size(); ++i) metas[i + 1] = Meta::like(states[i]);
  return metas;
}
template <class Hx>
auto rnn_meta(const Tensor& input, const Hx& hx, const Tensors&, bool, int64_t, double, bool,
              bool bidirectional, bool batch_first) {
  return sequence_metas(input, hx, bidirectional, batch_first ? 0 : 1);
}
template <class Hx>
auto packed_rnn_meta(const Tensor& data, const Tensor&, const Hx& hx, const Tensors&, bool, int64_t,
                     double, bool, bool bidirectional) {
  return sequence_metas(data, hx, bidirectional, -1);
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

// --- Formulas

// A step of a formula: the new states, from the gates of the input and the old states.
using Step = Result<Tensors> (*)(Emitter& e, const Tensor& gates, const Weights& weights,
                                 Tensors state);

Result<Tensors> lstm_step(Emitter& e, const Tensor& gates, const Weights& weights, Tensors state) {
  const auto of_hidden = e(aten<"linear.default">, {state[0], weights.hidden, weights.hidden_bias});
  PT2_TRY(const Tensor sum, e(aten<"add.Tensor">, {gates, of_hidden}));
  PT2_TRY(const Tensors parts, e.pieces(aten<"unsafe_chunk.default">, {sum, 4, 1}));
  if (parts.size() != 4)
    return operator_error("gates: found " + std::to_string(parts.size()) + ", expected 4");
  const auto sigmoid_of = [&](const Tensor& part) { return e(aten<"sigmoid.default">, {part}); };
  const auto kept = e(aten<"mul.Tensor">, {sigmoid_of(parts[1]), state[1]});
  const auto added =
      e(aten<"mul.Tensor">, {sigmoid_of(parts[0]), e(aten<"tanh.default">, {parts[2]})});
  PT2_TRY(state[1], e(aten<"add.Tensor">, {kept, added}));
  PT2_TRY(state[0],
          e(aten<"mul.Tensor">, {sigmoid_of(parts[3]), e(aten<"tanh.default">, {state[1]})}));
  if (weights.projection) {
    PT2_TRY(state[0], e(aten<"linear.default">, {state[0], *weights.projection}));
  }
  return state;
}

Result<Tensors> gru_step(Emitter& e, const Tensor& gates, const Weights& weights, Tensors state) {
  PT2_TRY(const Tensor of_hidden,
          e(aten<"linear.default">, {state[0], weights.hidden, weights.hidden_bias}));
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
  const auto difference = e(aten<"sub.Tensor">, {state[0], fresh});
  PT2_TRY(state[0], e(aten<"add.Tensor">, {e(aten<"mul.Tensor">, {difference, gate(1)}), fresh}));
  return state;
}

template <Handle Activation>
Result<Tensors> plain_step(Emitter& e, const Tensor& gates, const Weights& weights, Tensors state) {
  const auto of_hidden = e(aten<"linear.default">, {state[0], weights.hidden, weights.hidden_bias});
  PT2_TRY(state[0], e(Activation, {e(aten<"add.Tensor">, {gates, of_hidden})}));
  return state;
}
constexpr Step tanh_step = plain_step<aten<"tanh.default">>;
constexpr Step relu_step = plain_step<aten<"relu.default">>;

// Returns the hidden states of all time steps. `state` becomes the last state.
Result<Tensor> unroll_direction(Emitter& e, Step step, const Tensor& input, const Weights& weights,
                                bool reverse, Tensors& state) {
  PT2_TRY(const Tensor gates,
          e(aten<"linear.default">, {input, weights.input, weights.input_bias}));
  const int64_t length = input.size(0);
  Tensors states;
  for (int64_t i = 0; i < length; ++i) {
    PT2_TRY(const Tensor now, e(aten<"select.int">, {gates, 0, reverse ? length - 1 - i : i}));
    PT2_TRY(state, step(e, now, weights, std::move(state)));
    PT2_TRY(Tensor row, e(aten<"unsqueeze.default">, {state[0], 0}));
    states.push_back(std::move(row));
  }
  if (reverse) std::ranges::reverse(states);
  return e(aten<"cat.default">, {states, 0});
}

Result<Outcome> unroll_network(Emitter& e, Step step, const Network& network, const Tensor& input,
                               std::span<const Tensor> states, const Tensors& params) {
  constexpr int64_t kLongest = 10'000;
  PT2_TRY_VOID(check_rank(input, 3, "input"));
  PT2_TRY_VOID(check_rank(states[0], 3, "hx"));
  PT2_TRY(const auto weights, parse_weights(network, params, step == lstm_step));
  Tensor rows = input;
  if (network.batch_first) {
    PT2_TRY(rows, e(aten<"permute.default">, {input, Sizes{1, 0, 2}}));
  }
  if (rows.size(0) < 1 || rows.size(0) > kLongest)
    return Error{ErrorCode::unsupported, "it has " + std::to_string(rows.size(0)) + " steps", ""};
  std::vector<Tensors> last(states.size());
  for (int64_t layer = 0; layer < network.layers; ++layer) {
    Tensors outs;
    for (int64_t direction = 0; direction < network.directions; ++direction) {
      const int64_t index = layer * network.directions + direction;
      Tensors state(states.size());
      for (size_t i = 0; i < states.size(); ++i) {
        PT2_TRY(state[i], e(aten<"select.int">, {states[i], 0, index}));
      }
      PT2_TRY(Tensor out, unroll_direction(e, step, rows, weights[static_cast<size_t>(index)],
                                           direction == 1, state));
      outs.push_back(std::move(out));
      for (size_t i = 0; i < states.size(); ++i) {
        PT2_TRY(Tensor row, e(aten<"unsqueeze.default">, {state[i], 0}));
        last[i].push_back(std::move(row));
      }
    }
    rows = outs[0];
    if (outs.size() > 1) {
      PT2_TRY(rows, e(aten<"cat.default">, {outs, 2}));
    }
    if (network.dropout > 0 && layer + 1 < network.layers) {
      PT2_TRY(rows, e(aten<"native_dropout.default">, {rows, network.dropout, true}));
    }
  }
  Outcome outcome{rows, Tensors(states.size())};
  if (network.batch_first) {
    PT2_TRY(outcome.output, e(aten<"permute.default">, {rows, Sizes{1, 0, 2}}));
  }
  for (size_t i = 0; i < states.size(); ++i) {
    PT2_TRY(outcome.states[i], e(aten<"cat.default">, {last[i], 0}));
  }
  return outcome;
}

template <Step S, class Hx>
Result<Results<Hx>> unrolled(Emitter& e, const Tensor& input, const Hx& hx, const Tensors& params,
                             bool has_biases, int64_t num_layers, double dropout, bool train,
                             bool bidirectional, bool batch_first) {
  PT2_TRY(const auto states, states_of(hx));
  const Network network =
      network_of(has_biases, num_layers, dropout, train, bidirectional, batch_first);
  PT2_TRY(const Outcome outcome, unroll_network(e, S, network, input, states, params));
  return results_of<Hx>(outcome);
}

// One time step of one layer.
Result<Tensors> run_cell(Emitter& e, Step step, const Tensor& input, const Weights& weights,
                         Tensors state) {
  PT2_TRY_VOID(check_rank(input, 2, "input"));
  PT2_TRY_VOID(check_rank(state[0], 2, "hx"));
  if (state[0].size(0) != input.size(0))
    return operator_error("hx: found " + state[0].type_text() + ", expected the batch of " +
                          input.type_text());
  PT2_TRY(const Tensor gates,
          e(aten<"linear.default">, {input, weights.input, weights.input_bias}));
  return step(e, gates, weights, std::move(state));
}
Result<std::tuple<Tensor, Tensor>> lstm_cell(Emitter& e, const Tensor& input, const Tensors& hx,
                                             const Tensor& w_ih, const Tensor& w_hh,
                                             const OptionalTensor& b_ih,
                                             const OptionalTensor& b_hh) {
  PT2_TRY_VOID(states_of(hx));
  PT2_TRY_VOID(check_sizes(hx[1], hx[0].sizes(), "hx"));
  PT2_TRY(const Tensors state, run_cell(e, lstm_step, input, {w_ih, w_hh, b_ih, b_hh}, hx));
  return std::tuple(state[0], state[1]);
}
template <Step S>
Result<Tensor> plain_cell(Emitter& e, const Tensor& input, const Tensor& hx, const Tensor& w_ih,
                          const Tensor& w_hh, const OptionalTensor& b_ih,
                          const OptionalTensor& b_hh) {
  PT2_TRY(const Tensors state, run_cell(e, S, input, {w_ih, w_hh, b_ih, b_hh}, {hx}));
  return state[0];
}

// clang-format off
constexpr OpDef kRecurrentOps[] = {
    composed<"aten::lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)", packed_rnn_meta<Tensors>, packed_rnn<Cell::lstm, Tensors>>.with({.undecomposed = Undecomposed::reads_elements}),
    composed<"aten::gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)", packed_rnn_meta<Tensor>, packed_rnn<Cell::gru, Tensor>>.with({.undecomposed = Undecomposed::reads_elements}),
    composed<"aten::rnn_tanh.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)", packed_rnn_meta<Tensor>, packed_rnn<Cell::tanh, Tensor>>.with({.autocast = AutocastRule::lower_precision, .undecomposed = Undecomposed::reads_elements}),
    composed<"aten::rnn_relu.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)", packed_rnn_meta<Tensor>, packed_rnn<Cell::relu, Tensor>>.with({.autocast = AutocastRule::lower_precision, .undecomposed = Undecomposed::reads_elements}),
    composed<"aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
       rnn_meta<Tensors>, rnn<Cell::lstm, Tensors>, unrolled<lstm_step, Tensors>>,
    composed<"aten::gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
       rnn_meta<Tensor>, rnn<Cell::gru, Tensor>, unrolled<gru_step, Tensor>>,
    composed<"aten::rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
       rnn_meta<Tensor>, rnn<Cell::tanh, Tensor>, unrolled<tanh_step, Tensor>>.with({.autocast = AutocastRule::lower_precision}),
    composed<"aten::rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
       rnn_meta<Tensor>, rnn<Cell::relu, Tensor>, unrolled<relu_step, Tensor>>.with({.autocast = AutocastRule::lower_precision}),
    composed<"aten::mkldnn_rnn_layer(Tensor input, Tensor weight0, Tensor weight1, Tensor weight2, Tensor weight3, Tensor hx_, Tensor cx_, bool reverse, int[] batch_sizes, int mode, int hidden_size, int num_layers, bool has_biases, bool bidirectional, bool batch_first, bool train) -> (Tensor, Tensor, Tensor, Tensor)",
       mkldnn_rnn_layer_meta, mkldnn_rnn_layer>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)", lstm_cell>,
    op<"aten::gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor", plain_cell<gru_step>>,
    op<"aten::rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor", plain_cell<tanh_step>>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor", plain_cell<relu_step>>.with({.autocast = AutocastRule::lower_precision}),
};
// clang-format on

}  // namespace

std::span<const OpDef> recurrent_ops() { return kRecurrentOps; }

}  // namespace pt2::ops
