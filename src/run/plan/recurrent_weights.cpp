#include "run/plan/recurrent_weights.h"

#include <algorithm>

#include "kernels/products/product.h"

namespace pt2::run {
namespace {

// What the names of the operators begin with: "aten::gru", "aten::gru_cell".
constexpr struct {
  std::string_view name;
  kernels::Cell cell;
} kCells[] = {{"aten::lstm", kernels::Cell::lstm},
              {"aten::gru", kernels::Cell::gru},
              {"aten::rnn_tanh", kernels::Cell::tanh},
              {"aten::rnn_relu", kernels::Cell::relu}};

// The biases of input and state as a step adds them; both are there, with a number for each gate
// of each unit.
void set_biases(Direction& weights, kernels::Cell cell, const Tensor& input, const Tensor& state) {
  const int64_t count = input.numel(), hidden = weights.hidden.size(1);
  weights.bias = Tensor::zeros(Dtype::float32, {count});
  const int64_t added = cell == kernels::Cell::gru ? count - hidden : count;
  for (int64_t i = 0; i < count; ++i)
    weights.bias.data<float>()[i] =
        input.data<float>()[i] + (i < added ? state.data<float>()[i] : 0.0f);
  if (added < count)
    weights.candidate_bias = state.with_view({hidden}, {1}, state.storage_offset() + added);
}

PackedContents contents(std::string_view order, kernels::Cell cell, const Tensor& weight) {
  return {order, weight.data<float>(), {weight.size(0), weight.size(1), static_cast<int>(cell)}};
}

}  // namespace

Direction::Direction(const std::shared_ptr<WeightCopies>& copies, kernels::Cell cell,
                     Tensor of_input, Tensor of_state)
    : input(std::move(of_input)),
      hidden(std::move(of_state)),
      packed_input(copies, contents("gates of input", cell, input)),
      packed_hidden(copies, contents("gates of state", cell, hidden)) {}

kernels::Cell cell_of(const BoundNode& node) {
  const std::string_view name = node.op.signature().name;
  return std::ranges::find_if(kCells, [&](const auto& row) { return name.starts_with(row.name); })
      ->cell;
}

std::unique_ptr<Direction> read_direction(const Planner& planner, kernels::Cell cell,
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
  auto out = std::make_unique<Direction>(planner.copies(), cell, tensors[0], tensors[1]);
  if (tensors.size() == 4) {
    if (tensors[2].sizes() != Sizes{rows} || tensors[3].sizes() != Sizes{rows}) return nullptr;
    set_biases(*out, cell, tensors[2], tensors[3]);
  }
  return out;
}

bool pack(Frame& frame, kernels::Cell cell, const Direction& direction) {
  const int64_t rows = direction.input.size(0), features = direction.input.size(1),
                hidden = direction.hidden.size(1);
  const float* input =
      direction.packed_input.get(kernels::packed_size(features, rows), [&](float* memory) {
        kernels::pack_right(
            direction.input.data<float>(),
            {.depth = features, .columns = rows, .depth_stride = 1, .column_stride = features},
            memory, frame.threads());
      });
  const float* state =
      direction.packed_hidden.get(kernels::packed_state_size(cell, hidden), [&](float* memory) {
        kernels::pack_state_weights(cell, hidden, direction.hidden.data<float>(), memory);
      });
  return input != nullptr && state != nullptr;
}

void launch_input(Frame& frame, const Direction& direction, const float* input, int64_t rows,
                  float* sums) {
  kernels::Product product;
  product.rows = rows;
  product.columns = direction.input.size(0);
  product.depth = direction.input.size(1);
  product.left = input;
  product.left_stride = product.depth;
  product.packed = direction.packed_input.get(0, [](float*) {});
  product.out = sums;
  product.out_stride = product.columns;
  product.epilogue.bias = direction.bias.defined() ? direction.bias.data<float>() : nullptr;
  frame.launch(
      [product, threads = frame.threads()] { kernels::multiply_packed(product, threads); });
}

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

}  // namespace pt2::run
