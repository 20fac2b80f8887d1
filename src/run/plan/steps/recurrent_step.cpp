// Recurrent networks: for each layer one product of the input for all time steps, then these steps.
#include "base/memory_account.h"
#include "run/plan/layout.h"
#include "run/plan/recurrent_weights.h"

namespace pt2::run {
namespace {

using kernels::Cell;

using Directions = std::vector<std::unique_ptr<Direction>>;

struct Network {
  Cell cell = Cell::lstm;
  int64_t layers = 0;
  int64_t directions = 1;
  bool batch_first = false;
};

// The sizes of a call.
struct Extents {
  int64_t steps, batch, hidden;
};

class RecurrentStep final : public Step {
 public:
  RecurrentStep(const BoundNode& node, const Network& network, Directions weights,
                std::vector<ValueId> states)
      : Step({&node}),
        network_(network),
        weights_(std::move(weights)),
        states_(std::move(states)) {}

  std::string_view name() const override { return "recurrent"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* input = frame.tensor(first().arguments[0]);
    const Dtype dtype = weights_[0]->input.dtype();
    if (!has_elements(input, dtype) || input->dim() != 3 ||
        input->size(2) != weights_[0]->input.size(1))
      return false;
    const int time = network_.batch_first ? 1 : 0;
    const Extents shape{input->size(time), input->size(1 - time), weights_[0]->hidden.size(1)};
    if (shape.steps == 0) return false;
    const Sizes state_sizes{network_.layers * network_.directions, shape.batch, shape.hidden};
    Tensor first_states[2];
    for (size_t i = 0; i < states_.size(); ++i) {
      const auto* state = frame.values[static_cast<size_t>(states_[i])].get_if<Tensor>();
      if (!has_elements(state, dtype) || state->sizes() != state_sizes) return false;
      first_states[i] = state_as_floats(frame, *state);
    }
    for (const std::unique_ptr<Direction>& each : weights_)
      if (!pack(frame, network_.cell, *each)) return false;
    Tensor last_states[2];
    for (size_t i = 0; i < states_.size(); ++i) last_states[i] = frame.make(state_sizes);
    Tensor sequence = to_row_major(frame, *input);
    for (int64_t layer = 0; layer < network_.layers; ++layer)
      sequence = run_layer(frame, shape, layer, sequence, first_states, last_states);
    set(frame, 0, std::move(sequence));
    for (size_t i = 0; i < states_.size(); ++i)
      set(frame, i + 1, result_as(frame, std::move(last_states[i]), dtype));
    return true;
  }

 private:
  void set(Frame& frame, size_t output, Tensor tensor) const {
    const std::vector<Argument>& outputs = first().node->outputs;
    if (output >= outputs.size()) return;
    if (const auto* id = outputs[output].get_if<ValueId>())
      frame.set(*id, std::move(tensor), false);
  }

  // Returns the states of all time steps, [time, batch, directions * hidden] or batch first, in the
  // dtype of the sequence.
  Tensor run_layer(Frame& frame, const Extents& shape, int64_t layer, const Tensor& sequence,
                   const Tensor (&first_states)[2], Tensor (&last_states)[2]) const {
    const int64_t rows = shape.steps * shape.batch;
    const int64_t gates = kernels::gate_count(network_.cell) * shape.hidden;
    const int64_t width = network_.directions * shape.hidden;
    Tensor out = frame.make({sequence.size(0), sequence.size(1), width});
    Tensor sums = frame.make({network_.directions, rows, gates});
    MemoryAccount::count_products({sums.numel(), sequence.sizes().back() + shape.hidden});
    const Dtype dtype = sequence.dtype();
    const int64_t rounded = kernels::rounded_state_size(shape.batch, shape.hidden);
    Tensor rooms = frame.make({network_.directions * rounded}, {}, Dtype::bfloat16);
    std::vector<kernels::Recurrence> recurrences;
    for (int64_t i = 0; i < network_.directions; ++i) {
      const int64_t index = layer * network_.directions + i;
      const Direction& weights = *weights_[static_cast<size_t>(index)];
      float* const gate_sums = sums.data<float>() + i * rows * gates;
      launch_input(frame, weights, sequence, rows, gate_sums);
      const int64_t place = index * shape.batch * shape.hidden;
      const bool is_lstm = network_.cell == Cell::lstm;
      const int64_t time = network_.batch_first ? 1 : shape.batch;
      const int64_t row = network_.batch_first ? shape.steps : 1;
      recurrences.push_back(
          {.cell = network_.cell,
           .steps = shape.steps,
           .batch = shape.batch,
           .hidden = shape.hidden,
           .reverse = i == 1,
           .sums = gate_sums,
           .sums_step = time * gates,
           .sums_row = row * gates,
           .first_state = first_states[0].data<float>() + place,
           .first_cell = is_lstm ? first_states[1].data<float>() + place : nullptr,
           .last_state = last_states[0].data<float>() + place,
           .last_cell = is_lstm ? last_states[1].data<float>() + place : nullptr,
           .out = out.data<float>() + i * shape.hidden,
           .out_step = time * width,
           .out_row = row * width});
      set_weights(weights, rooms.raw_data() + i * rounded * dtype_size(rooms.dtype()),
                  recurrences.back());
    }
    frame.launch([recurrences, threads = frame.threads()] {
      kernels::run_recurrences(recurrences, threads);
    });
    return result_as(frame, std::move(out), dtype);
  }

  Network network_;
  Directions weights_;  // layer 0 in all directions; layer 1; and so on
  std::vector<ValueId> states_;
};

}  // namespace

StepPointer make_recurrent(const Planner& planner, const BoundNode& node) {
  Network network;
  network.cell = cell_of(node);
  const auto has_biases = planner.flag(node, "has_biases"), train = planner.flag(node, "train"),
             bidirectional = planner.flag(node, "bidirectional"),
             batch_first = planner.flag(node, "batch_first");
  const auto layers = planner.integer(node, "num_layers");
  const auto dropout = planner.number(node, "dropout");
  if (!has_biases || !train || !bidirectional || !batch_first || !layers || !dropout ||
      (*train && *dropout != 0))
    return nullptr;
  network.layers = *layers;
  network.directions = *bidirectional ? 2 : 1;
  network.batch_first = *batch_first;
  std::vector<ValueId> states = items_of(*Planner::argument(node, "hx"));
  const std::vector<ValueId> params = items_of(*Planner::argument(node, "params"));
  const size_t each = *has_biases ? 4 : 2;
  if (states.size() != (network.cell == Cell::lstm ? 2 : 1) || *layers < 1 ||
      *layers > static_cast<int64_t>(params.size()) ||
      params.size() != static_cast<size_t>(*layers * network.directions) * each)
    return nullptr;
  const Tensor* state_weights = planner.elements(params[1]);
  if (state_weights == nullptr || state_weights->dim() != 2) return nullptr;
  const int64_t hidden = state_weights->size(1);
  Directions weights;
  for (size_t i = 0; i < params.size(); i += each) {
    std::optional<int64_t> features;
    if (weights.size() >= static_cast<size_t>(network.directions))
      features = network.directions * hidden;
    else if (!weights.empty())
      features = weights[0]->input.size(1);
    weights.push_back(read_direction(planner, network.cell, std::span(params).subspan(i, each),
                                     hidden, features));
    if (weights.back() == nullptr || weights.back()->input.dtype() != weights[0]->input.dtype())
      return nullptr;
  }
  return std::make_unique<RecurrentStep>(node, network, std::move(weights), std::move(states));
}

}  // namespace pt2::run
