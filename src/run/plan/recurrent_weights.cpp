#include "run/plan/recurrent_weights.h"

#include <algorithm>

#include "kernels/products/half_products.h"
#include "kernels/products/product.h"
#include "run/plan/halves.h"

namespace pt2::run {
namespace {

// Prefixes of the operators' names: "aten::gru", "aten::gru_cell".
constexpr struct {
  std::string_view name;
  kernels::Cell cell;
} kCells[] = {{"aten::lstm", kernels::Cell::lstm},
              {"aten::gru", kernels::Cell::gru},
              {"aten::rnn_tanh", kernels::Cell::tanh},
              {"aten::rnn_relu", kernels::Cell::relu}};

// Combines the biases of input and state as a time step adds them. Both are defined, with a number
// for each gate of each unit.
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
  return {order,
          weight.raw_data(),
          weight.dtype(),
          {weight.size(0), weight.size(1), static_cast<int>(cell)}};
}

// Returns row-major floats or halves as floats.
Tensor as_floats(const Tensor& numbers) {
  if (!is_half(numbers.dtype())) return numbers;
  Tensor out = Tensor::zeros(Dtype::float32, numbers.sizes());
  widen_halves(numbers.dtype(), numbers.raw_data(), numbers.numel(), out.data<float>());
  return out;
}

kernels::HalfWeights half_weights(const Tensor& weight) {
  return {.type = rounding_of(weight.dtype()),
          .depth = weight.size(1),
          .columns = weight.size(0),
          .right = reinterpret_cast<const uint16_t*>(weight.raw_data()),
          .column_stride = weight.size(1)};
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
    const Tensor* weight = planner.elements(id);
    if (weight == nullptr || (weight->dtype() != Dtype::float32 && !is_half(weight->dtype())) ||
        (!tensors.empty() && weight->dtype() != tensors[0].dtype()))
      return nullptr;
    auto lying = planner.row_major(*weight);
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
    set_biases(*out, cell, as_floats(tensors[2]), as_floats(tensors[3]));
  }
  return out;
}

namespace {

void pack_input(Frame& frame, const Tensor& weight, float* memory) {
  if (is_half(weight.dtype()))
    return kernels::pack_halves(half_weights(weight), reinterpret_cast<uint16_t*>(memory),
                                frame.threads());
  const int64_t rows = weight.size(0), features = weight.size(1);
  kernels::pack_right(
      weight.data<float>(),
      {.depth = features, .columns = rows, .depth_stride = 1, .column_stride = features}, memory,
      frame.threads());
}

}  // namespace

bool pack(Frame& frame, kernels::Cell cell, const Direction& direction) {
  const int64_t rows = direction.input.size(0), features = direction.input.size(1),
                hidden = direction.hidden.size(1);
  const Dtype dtype = direction.input.dtype();
  const int64_t size = is_half(dtype) ? kernels::packed_half_size(features, rows) / 2 + 1
                                      : kernels::packed_size(features, rows);
  const float* input = direction.packed_input.get(
      size, [&](float* memory) { pack_input(frame, direction.input, memory); });
  const float* state =
      direction.packed_hidden.get(kernels::packed_state_size(cell, hidden), [&](float* memory) {
        kernels::pack_state_weights(cell, hidden, rounding_of(dtype), direction.hidden.raw_data(),
                                    memory);
      });
  return input != nullptr && state != nullptr;
}

void launch_input(Frame& frame, const Direction& direction, const Tensor& input, int64_t rows,
                  float* sums) {
  const float* packed = direction.packed_input.get(0, [](float*) {});
  const float* bias = direction.bias.defined() ? direction.bias.data<float>() : nullptr;
  const int64_t columns = direction.input.size(0), depth = direction.input.size(1);
  if (is_half(direction.input.dtype())) {
    const kernels::HalfProduct product{.rows = rows,
                                       .left = reinterpret_cast<const uint16_t*>(input.raw_data()),
                                       .left_stride = depth,
                                       .bias = bias,
                                       .out = sums,
                                       .out_stride = columns};
    frame.launch(
        [product, weights = half_weights(direction.input), packed, threads = frame.threads()] {
          kernels::multiply_packed_halves(product, weights,
                                          reinterpret_cast<const uint16_t*>(packed), threads);
        });
    return;
  }
  kernels::Product product;
  product.rows = rows;
  product.columns = columns;
  product.depth = depth;
  product.left = input.data<float>();
  product.left_stride = product.depth;
  product.packed = packed;
  product.out = sums;
  product.out_stride = product.columns;
  product.epilogue.bias = bias;
  frame.launch(
      [product, threads = frame.threads()] { kernels::multiply_packed(product, threads); });
}

void set_weights(const Direction& direction, std::byte* room, kernels::Recurrence& recurrence) {
  recurrence.type = rounding_of(direction.hidden.dtype());
  recurrence.packed = direction.packed_hidden.get(0, [](float*) {});
  recurrence.rounded = reinterpret_cast<uint16_t*>(room);
  if (direction.candidate_bias.defined())
    recurrence.candidate_bias = direction.candidate_bias.data<float>();
}

Tensor state_as_floats(Frame& frame, const Tensor& state) {
  const Tensor lying = to_row_major(frame, state);
  return is_half(state.dtype()) ? *widened(frame, lying) : lying;
}

Tensor result_as(Frame& frame, Tensor floats, Dtype dtype) {
  return is_half(dtype) ? narrowed(frame, floats, dtype) : floats;
}

}  // namespace pt2::run
