// What a product multiplies with, where that is the same in every call.
#ifndef PT2_RUN_PLAN_STEPS_PRODUCT_WEIGHTS_H
#define PT2_RUN_PLAN_STEPS_PRODUCT_WEIGHTS_H

#include <optional>
#include <vector>

#include "run/plan/packed_memory.h"
#include "run/plan/planner.h"
#include "run/plan/steps/quantized/dequantization.h"

namespace pt2::run {

// Fewer rows read the weights as they lie, which is as fast as memory gives them.
inline constexpr int64_t kFewRows = 4;

// [depth, columns], its element (k, n) at data + k * depth_stride + n * column_stride.
struct ProductWeights {
  Tensor tensor;  // of float32, float16, bfloat16 or, quantized, int8; keeps the data
  int64_t depth = 0;
  int64_t columns = 0;
  int64_t depth_stride = 0;
  int64_t column_stride = 0;
  std::optional<Tensor> bias;     // float32, row-major [columns]
  std::optional<Tensor> factors;  // of int8, the scales of the columns: as the bias
  // Those that make the weights of constants, in the order of the program, for this product alone.
  Step::Nodes made_by;
  // Where the rows that this product takes are levels, too, and nobody else takes their floats:
  // what makes floats of them.
  std::optional<Dequantization> rows;

  PackedContents contents(std::string_view order) const {
    return {order, tensor.raw_data(), {depth, columns, depth_stride, column_stride}};
  }
};

// Those of linear, addmm, mm and matmul; nothing where they are not known, or lie in an unusual
// way.
std::optional<ProductWeights> find_product_weights(const Planner& planner, const BoundNode& node);

// Those of a convolution with kernels of one pixel, of float16 or bfloat16; nothing for others.
std::optional<ProductWeights> find_pixel_weights(const Planner& planner, const BoundNode& node);

// The rows or images of a product, convolutions among them, that are levels for it alone.
std::optional<Dequantization> quantized_rows(const Planner& planner, const BoundNode& node);
const BoundArgument& rows_argument(const BoundNode& node);
// The dims that a product's operands must have; 0 for one that may have any number but none.
struct ProductRanks {
  int64_t left = 0;
  int64_t right = 0;

  static bool fits(int64_t rank, const Tensor& operand) {
    return rank == 0 ? operand.dim() > 0 : operand.dim() == rank;
  }
};
ProductRanks product_ranks(const BoundNode& node);

// Levels that a node's weights are made of, with a scale for each column and no zeros.
struct QuantizedWeights {
  Tensor tensor;  // as the node sees it
  std::optional<Tensor> factors;
  Step::Nodes made_by;
};
// Those of a convolution of quantized images; nothing for others.
std::optional<QuantizedWeights> find_quantized_kernels(const Planner& planner,
                                                       const BoundNode& node);

// Whether the node makes floats of int8 that a product may rather take.
bool makes_floats_of_levels(const BoundNode& node, const std::vector<Value>& constants);

// Whether the weights of such a product are known and of float16 or bfloat16.
bool has_half_weights(const Planner& planner, const BoundNode& node);

// A product with weights of float16 or bfloat16.
StepPointer make_half_product(const Planner& planner, const BoundNode& node,
                              const BoundArgument& input, ProductWeights weights);

// A convolution with such kernels.
StepPointer make_half_convolution(const Planner& planner, const BoundNode& node);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_STEPS_PRODUCT_WEIGHTS_H
