// Products of float16 and bfloat16 with weights that are the same in every call: the weights lie
// ready as floats, in which sums are made; results are rounded once.
#include <algorithm>

#include "kernels/products/product.h"
#include "run/plan/halves.h"
#include "run/plan/packed_memory.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

// Rows that are widened at a time.
constexpr int64_t kRowsAtOnce = 256;

class HalfProductStep final : public Step {
 public:
  // Weights [columns, depth] and floats [columns], undefined if there are none; both row-major.
  HalfProductStep(const BoundNode& node, Tensor weights, Tensor bias,
                  const std::shared_ptr<WeightCopies>& copies)
      : Step({&node}), weights_(std::move(weights)), bias_(std::move(bias)), packed_(copies) {}

  std::string_view name() const override { return "product"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* input = frame.tensor(first().arguments[0]);
    const int64_t columns = weights_.size(0), depth = weights_.size(1);
    const Dtype dtype = weights_.dtype();
    if (input == nullptr || !input->defined() || input->dtype() != dtype || input->numel() == 0 ||
        !is_aligned(*input) || input->dim() < 1 || input->size(input->dim() - 1) != depth)
      return false;
    const float* packed = pack(frame);
    if (packed == nullptr) return false;
    const Tensor lying = to_row_major(frame, *input);
    Sizes sizes = input->sizes();
    sizes.back() = columns;
    const int64_t rows = lying.numel() / depth, some = std::min(rows, kRowsAtOnce);
    Tensor out = frame.make(std::move(sizes), {}, dtype);
    Tensor left = frame.make({some, depth}), sums = frame.make({some, columns});
    kernels::Product product;
    product.columns = columns;
    product.depth = depth;
    product.left = left.data<float>();
    product.left_stride = depth;
    product.packed = packed;
    product.out = sums.data<float>();
    product.out_stride = columns;
    product.epilogue.bias = bias_.defined() ? bias_.data<float>() : nullptr;
    frame.launch([=, from = lying.raw_data(), to = out.raw_data(), wide = left.data<float>(),
                  threads = frame.threads()] {
      kernels::Product part = product;
      const int64_t bytes = dtype_size(dtype);
      for (int64_t row = 0; row < rows; row += kRowsAtOnce) {
        part.rows = std::min(kRowsAtOnce, rows - row);
        widen(dtype, from + row * depth * bytes, part.rows * depth, wide);
        kernels::multiply_packed(part, threads);
        narrow(dtype, part.out, part.rows * columns, to + row * columns * bytes);
      }
    });
    frame.set(result(), std::move(out), false);
    return true;
  }

 private:
  const float* pack(Frame& frame) const {
    const int64_t columns = weights_.size(0), depth = weights_.size(1);
    return packed_.get(kernels::packed_size(depth, columns), [&](float* memory) {
      // Some of all columns at a time.
      constexpr int64_t kDepth = 128;
      Tensor part = frame.make({columns, std::min(depth, kDepth)});
      const int64_t bytes = dtype_size(weights_.dtype());
      for (int64_t k = 0; k < depth; k += kDepth) {
        const int64_t count = std::min(kDepth, depth - k);
        for (int64_t column = 0; column < columns; ++column)
          widen(weights_.dtype(), weights_.raw_data() + (column * depth + k) * bytes, count,
                part.data<float>() + column * count);
        kernels::pack_right(part.data<float>(),
                            {.depth = depth,
                             .columns = columns,
                             .depth_stride = 1,
                             .column_stride = count,
                             .first_depth = k,
                             .count = count},
                            memory, frame.threads());
      }
      leave_file(weights_);
    });
  }

  Tensor weights_;
  Tensor bias_;
  PackedMemory packed_;
};

}  // namespace

StepPointer make_half_product(const Planner& planner, const BoundNode& node) {
  const Tensor* weights = planner.elements(node, "weight");
  if (weights == nullptr || !is_half(weights->dtype()) || weights->dim() != 2) return nullptr;
  Tensor wide;
  if (!planner.is_none(node, "bias")) {
    const Tensor* bias = planner.elements(node, "bias");
    if (bias == nullptr || bias->dtype() != weights->dtype() ||
        bias->sizes() != Sizes{weights->size(0)})
      return nullptr;
    const Tensor lying = bias->contiguous();
    wide = Tensor::zeros(Dtype::float32, bias->sizes());
    widen(bias->dtype(), lying.raw_data(), bias->numel(), wide.data<float>());
  }
  const std::optional<Tensor> lying = planner.row_major(*weights);
  if (!lying) return nullptr;
  return std::make_unique<HalfProductStep>(node, *lying, std::move(wide), planner.half_copies());
}

}  // namespace pt2::run
