// Recurrent networks: for each layer one product of the input for all time steps, then the steps.
#include "kernels/product.h"
#include "kernels/recurrent.h"
#include "run/plan/layout.h"
#include "run/plan/packed_memory.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

using kernels::Cell;

constexpr struct {
  std::string_view name;
  Cell cell;
} kCells[] = {{"aten::lstm", Cell::lstm},
              {"aten::gru", Cell::gru},
              {"aten::rnn_tanh", Cell::tanh},
              {"aten::rnn_relu", Cell::relu}};

// One direction of one layer; all row-major.
struct Direction {
  explicit Direction(const std::shared_ptr<CopyBudget>& copies)
      : packed_input(copies), packed_hidden(copies) {}
  Tensor input;   // [gates * hidden, features]
  Tensor hidden;  // [gates * hidden, hidden]
  Tensor bias;    // of both, but for the state's at GRU's last gate; undefined if there are none
  Tensor candidate_bias;  // that one
  PackedMemory packed_input;
  PackedMemory packed_hidden;
};
using Directions = std::vector<std::unique_ptr<Direction>>;

struct Network {
  Cell cell = Cell::lstm;
  int64_t layers = 0;
  int64_t directions = 1;
  bool batch_first = false;
};

// The sizes of a call.
struct Shape {
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
    if (!is_float(input) || input->dim() != 3 || input->size(2) != weights_[0]->input.size(1))
      return false;
    const int time = network_.batch_first ? 1 : 0;
    const Shape shape{input->size(time), input->size(1 - time), weights_[0]->hidden.size(1)};
    const Sizes state_sizes{network_.layers * network_.directions, shape.batch, shape.hidden};
    Tensor first_states[2];
    for (size_t i = 0; i < states_.size(); ++i) {
      const auto* state = frame.values[static_cast<size_t>(states_[i])].get_if<Tensor>();
      if (!is_float(state) || state->sizes() != state_sizes) return false;
      first_states[i] = to_row_major(frame, *state);
    }
    if (!pack(frame)) return false;
    Tensor last_states[2];
    for (size_t i = 0; i < states_.size(); ++i) last_states[i] = frame.make(state_sizes);
    Tensor sequence = to_row_major(frame, *input);
    for (int64_t layer = 0; layer < network_.layers; ++layer)
      sequence = run_layer(frame, shape, layer, sequence, first_states, last_states);
    set(frame, 0, std::move(sequence));
    for (size_t i = 0; i < states_.size(); ++i) set(frame, i + 1, std::move(last_states[i]));
    return true;
  }

 private:
  void set(Frame& frame, size_t output, Tensor tensor) const {
    const std::vector<Argument>& outputs = first().node->outputs;
    if (output >= outputs.size()) return;
    if (const auto* id = outputs[output].get_if<ValueId>())
      frame.set(*id, std::move(tensor), false);
  }

  bool pack(Frame& frame) const {
    for (const std::unique_ptr<Direction>& each : weights_) {
      const int64_t rows = each->input.size(0), features = each->input.size(1),
                    hidden = each->hidden.size(1);
      const float* input =
          each->packed_input.get(kernels::packed_size(features, rows), [&](float* memory) {
            kernels::pack_right(
                each->input.data<float>(),
                {.depth = features, .columns = rows, .depth_stride = 1, .column_stride = features},
                memory, frame.threads());
          });
      const float* state = each->packed_hidden.get(
          kernels::packed_state_size(network_.cell, hidden), [&](float* memory) {
            kernels::pack_state_weights(network_.cell, hidden, each->hidden.data<float>(), memory);
          });
      if (input == nullptr || state == nullptr) return false;
    }
    return true;
  }

  // The states of all time steps, [time, batch, directions * hidden] or batch first.
  Tensor run_layer(Frame& frame, const Shape& shape, int64_t layer, const Tensor& sequence,
                   const Tensor (&first_states)[2], Tensor (&last_states)[2]) const {
    const int64_t rows = shape.steps * shape.batch;
    const int64_t gates = kernels::gate_count(network_.cell) * shape.hidden;
    const int64_t width = network_.directions * shape.hidden;
    Tensor out = frame.make({sequence.size(0), sequence.size(1), width});
    Tensor sums = frame.make({network_.directions, rows, gates});
    std::vector<kernels::Recurrence> recurrences;
    for (int64_t i = 0; i < network_.directions; ++i) {
      const int64_t index = layer * network_.directions + i;
      const Direction& weights = *weights_[static_cast<size_t>(index)];
      kernels::Product product;
      product.rows = rows;
      product.columns = gates;
      product.depth = sequence.size(2);
      product.left = sequence.data<float>();
      product.left_stride = product.depth;
      product.packed = weights.packed_input.get(0, [](float*) {});
      product.out = sums.data<float>() + i * rows * gates;
      product.out_stride = gates;
      product.epilogue.bias = weights.bias.defined() ? weights.bias.data<float>() : nullptr;
      frame.launch(
          [product, threads = frame.threads()] { kernels::multiply_packed(product, threads); });
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
           .packed = weights.packed_hidden.get(0, [](float*) {}),
           .sums = product.out,
           .sums_step = time * gates,
           .sums_row = row * gates,
           .candidate_bias =
               weights.candidate_bias.defined() ? weights.candidate_bias.data<float>() : nullptr,
           .first_state = first_states[0].data<float>() + place,
           .first_cell = is_lstm ? first_states[1].data<float>() + place : nullptr,
           .last_state = last_states[0].data<float>() + place,
           .last_cell = is_lstm ? last_states[1].data<float>() + place : nullptr,
           .out = out.data<float>() + i * shape.hidden,
           .out_step = time * width,
           .out_row = row * width});
    }
    frame.launch([recurrences, threads = frame.threads()] {
      kernels::run_recurrences(recurrences, threads);
    });
    return out;
  }

  Network network_;
  Directions weights_;  // of layer 0, both directions; of layer 1; and so on
  std::vector<ValueId> states_;
};

std::vector<ValueId> items_of(const BoundArgument& argument) {
  std::vector<ValueId> out;
  if (const auto id = Frame::value_id(argument)) return {*id};
  const auto* list =
      argument.dynamic == nullptr ? nullptr : argument.dynamic->get_if<ArgumentList>();
  if (list == nullptr) return out;
  for (const Argument& item : list->items) {
    const auto* id = item.get_if<ValueId>();
    if (id == nullptr) return {};
    out.push_back(*id);
  }
  return out;
}

// The biases of input and state as a step adds them; both are there, with a number for each gate
// of each unit.
void set_biases(Direction& weights, Cell cell, const Tensor& input, const Tensor& state) {
  const int64_t count = input.numel(), hidden = weights.hidden.size(1);
  weights.bias = Tensor::zeros(Dtype::float32, {count});
  const int64_t added = cell == Cell::gru ? count - hidden : count;
  for (int64_t i = 0; i < count; ++i)
    weights.bias.data<float>()[i] =
        input.data<float>()[i] + (i < added ? state.data<float>()[i] : 0.0f);
  if (added < count)
    weights.candidate_bias = state.with_view({hidden}, {1}, state.storage_offset() + added);
}

// One direction of the `features` numbers of an input; null where its weights are not known, or
// have other sizes.
std::unique_ptr<Direction> read_direction(const Planner& planner, Cell cell,
                                          std::span<const ValueId> params, int64_t hidden,
                                          std::optional<int64_t> features) {
  std::vector<Tensor> tensors;
  for (const ValueId id : params) {
    const Tensor* weight = planner.floats(id);
    auto lying = weight == nullptr ? std::nullopt : planner.row_major(*weight);
    if (!lying) return nullptr;
    tensors.push_back(*std::move(lying));
  }
  const int64_t rows = kernels::gate_count(cell) * hidden;
  if (tensors[0].dim() != 2 || tensors[0].size(0) != rows ||
      (features && tensors[0].size(1) != *features) || tensors[1].sizes() != Sizes{rows, hidden})
    return nullptr;
  auto out = std::make_unique<Direction>(planner.copies());
  out->input = tensors[0];
  out->hidden = tensors[1];
  if (tensors.size() == 4) {
    if (tensors[2].sizes() != Sizes{rows} || tensors[3].sizes() != Sizes{rows}) return nullptr;
    set_biases(*out, cell, tensors[2], tensors[3]);
  }
  return out;
}

}  // namespace

StepPointer make_recurrent(const Planner& planner, const BoundNode& node) {
  Network network;
  for (const auto& row : kCells)
    if (is_operator(node, row.name, "input")) network.cell = row.cell;
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
  const Tensor* state_weights = planner.floats(params[1]);
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
    if (weights.back() == nullptr) return nullptr;
  }
  return std::make_unique<RecurrentStep>(node, network, std::move(weights), std::move(states));
}

}  // namespace pt2::run
