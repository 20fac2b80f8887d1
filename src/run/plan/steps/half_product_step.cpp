// Products of float16 and bfloat16 with weights that are the same in every call. Weights become
// floats in registers, sums are floats, results are rounded once.
#include <algorithm>

#include "base/memory_account.h"
#include "kernels/products/half_products.h"
#include "run/plan/halves.h"
#include "run/plan/layout.h"
#include "run/plan/packed_memory.h"
#include "run/plan/steps/product_weights.h"

namespace pt2::run {
namespace {

// The number of rows whose sums are in memory at a time.
constexpr int64_t kRowsAtOnce = 256;

class HalfProductStep final : public Step {
 public:
  // `of_pixels`: rows are the channels of pixels, which are contiguous then.
  HalfProductStep(const BoundNode& node, const BoundArgument& input, ProductWeights weights,
                  bool of_pixels, const std::shared_ptr<WeightCopies>& copies)
      : Step({&node}),
        input_(input),
        rank_(of_pixels ? 0 : product_ranks(node).left),
        weights_(std::move(weights)),
        of_pixels_(of_pixels),
        packed_(copies, weights_.contents("halves")) {}

  std::string_view name() const override { return of_pixels_ ? "convolution" : "product"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* input = frame.tensor(input_);
    const Dtype dtype = weights_.tensor.dtype();
    if (input == nullptr || !input->defined() || input->dtype() != dtype || input->numel() == 0 ||
        !is_aligned(*input) || (of_pixels_ ? input->dim() < 3 : !ProductRanks::fits(rank_, *input)))
      return false;
    const int64_t depth_dim = of_pixels_ ? 1 : input->dim() - 1;
    if (input->size(depth_dim) != weights_.depth) return false;
    const int64_t rows = input->numel() / weights_.depth;
    const uint16_t* packed = nullptr;
    if (rows > kFewRows || weights_.depth_stride != 1) {
      packed = pack(frame);
      if (packed == nullptr) return false;
    }
    Sizes sizes = input->sizes();
    sizes[static_cast<size_t>(depth_dim)] = weights_.columns;
    const Tensor lying =
        of_pixels_ ? channels_last_value(frame, input_) : to_row_major(frame, *input);
    Tensor out = of_pixels_ ? make_images(frame, sizes, dtype) : frame.make(sizes, {}, dtype);
    if (packed == nullptr)
      multiply_few(frame, lying, rows, out);
    else
      multiply(frame, lying, rows, packed, out);
    frame.set(result(), std::move(out), of_pixels_);
    return true;
  }

 private:
  const float* bias() const { return weights_.bias ? weights_.bias->data<float>() : nullptr; }

  kernels::HalfWeights weights() const {
    return {.type = rounding_of(weights_.tensor.dtype()),
            .depth = weights_.depth,
            .columns = weights_.columns,
            .right = reinterpret_cast<const uint16_t*>(weights_.tensor.raw_data()),
            .depth_stride = weights_.depth_stride,
            .column_stride = weights_.column_stride};
  }

  const uint16_t* pack(Frame& frame) const {
    const int64_t halves = kernels::packed_half_size(weights_.depth, weights_.columns);
    const float* memory = packed_.get(halves / 2 + 1, [&](float* floats) {
      kernels::pack_halves(weights(), reinterpret_cast<uint16_t*>(floats), frame.threads());
      leave_file(weights_.tensor);
    });
    return reinterpret_cast<const uint16_t*>(memory);
  }

  void multiply_few(Frame& frame, const Tensor& input, int64_t rows, Tensor& out) const {
    MemoryAccount::count_products({out.numel(), weights_.depth});
    Tensor left = frame.make({rows, weights_.depth}), sums = frame.make({rows, weights_.columns});
    kernels::RowProduct product;
    product.rows = rows;
    product.left = left.data<float>();
    product.left_stride = weights_.depth;
    product.out = sums.data<float>();
    product.out_stride = weights_.columns;
    product.epilogue.bias = bias();
    frame.launch([product, weights = weights(), dtype = input.dtype(), from = input.raw_data(),
                  wide = left.data<float>(), to = out.raw_data(), threads = frame.threads()] {
      widen_halves(dtype, from, product.rows * weights.depth, wide);
      kernels::multiply_half_rows(
          product, weights, {reinterpret_cast<const uint16_t*>(from), weights.depth}, threads);
      narrow_to_halves(dtype, product.out, product.rows * weights.columns, to);
    });
  }

  void multiply(Frame& frame, const Tensor& input, int64_t rows, const uint16_t* packed,
                Tensor& out) const {
    MemoryAccount::count_products({out.numel(), weights_.depth});
    Tensor sums = frame.make({std::min(rows, kRowsAtOnce), weights_.columns});
    const kernels::HalfProduct product{.left_stride = weights_.depth,
                                       .bias = bias(),
                                       .out = sums.data<float>(),
                                       .out_stride = weights_.columns};
    frame.launch([product, rows, packed, weights = weights(), dtype = input.dtype(),
                  from = reinterpret_cast<const uint16_t*>(input.raw_data()), to = out.raw_data(),
                  threads = frame.threads()] {
      kernels::HalfProduct part = product;
      for (int64_t row = 0; row < rows; row += kRowsAtOnce) {
        part.rows = std::min(kRowsAtOnce, rows - row);
        part.left = from + row * weights.depth;
        kernels::multiply_packed_halves(part, weights, packed, threads);
        narrow_to_halves(dtype, part.out, part.rows * weights.columns,
                         to + row * weights.columns * dtype_size(dtype));
      }
    });
  }

  const BoundArgument& input_;
  int64_t rank_;  // of the left operand; unused for pixels
  ProductWeights weights_;
  bool of_pixels_;
  PackedMemory packed_;
};

}  // namespace

StepPointer make_half_product(const Planner& planner, const BoundNode& node,
                              const BoundArgument& input, ProductWeights weights) {
  return std::make_unique<HalfProductStep>(node, input, std::move(weights), false,
                                           planner.half_copies());
}

StepPointer make_half_convolution(const Planner& planner, const BoundNode& node) {
  std::optional<ProductWeights> weights = find_pixel_weights(planner, node);
  return weights
             ? std::make_unique<HalfProductStep>(node, *Planner::argument(node, "input"),
                                                 *std::move(weights), true, planner.half_copies())
             : nullptr;
}

}  // namespace pt2::run
