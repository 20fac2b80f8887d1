// What a product multiplies with, where that is the same in every call.
#ifndef PT2_RUN_PLAN_STEPS_PRODUCT_WEIGHTS_H
#define PT2_RUN_PLAN_STEPS_PRODUCT_WEIGHTS_H

#include <optional>

#include "run/plan/packed_memory.h"
#include "run/plan/planner.h"

namespace pt2::run {

// Fewer rows read the weights as they lie, which is as fast as memory gives them.
inline constexpr int64_t kFewRows = 4;

// [depth, columns], its element (k, n) at data + k * depth_stride + n * column_stride.
struct ProductWeights {
  Tensor tensor;  // of float32, float16 or bfloat16; keeps the data
  int64_t depth = 0;
  int64_t columns = 0;
  int64_t depth_stride = 0;
  int64_t column_stride = 0;
  std::optional<Tensor> bias;  // float32, row-major [columns]

  PackedContents contents(std::string_view order) const {
    return {order, tensor.raw_data(), {depth, columns, depth_stride, column_stride}};
  }
};

// Those of linear, addmm, mm and matmul; nothing where they are not known, or lie in an unusual
// way.
std::optional<ProductWeights> find_product_weights(const Planner& planner, const BoundNode& node);

// Those of a convolution with kernels of one pixel, of float16 or bfloat16; nothing for others.
std::optional<ProductWeights> find_pixel_weights(const Planner& planner, const BoundNode& node);

// Whether the weights of such a product are known and of float16 or bfloat16.
bool has_half_weights(const Planner& planner, const BoundNode& node);

// A product with weights of float16 or bfloat16.
StepPointer make_half_product(const Planner& planner, const BoundNode& node,
                              const BoundArgument& input, ProductWeights weights);

// A convolution with such kernels.
StepPointer make_half_convolution(const Planner& planner, const BoundNode& node);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_STEPS_PRODUCT_WEIGHTS_H
