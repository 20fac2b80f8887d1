// The right operands of products, where these are the same in every call.
#ifndef PT2_RUN_PLAN_STEPS_PRODUCT_WEIGHTS_H
#define PT2_RUN_PLAN_STEPS_PRODUCT_WEIGHTS_H

#include <optional>
#include <vector>

#include "run/plan/packed_memory.h"
#include "run/plan/planner.h"
#include "run/plan/steps/quantized/dequantization.h"

namespace pt2::run {

// Products of at most so many rows read the weights in place, which is as fast as memory allows.
inline constexpr int64_t kFewRows = 4;

// A matrix [depth, columns] with element (k, n) at data + k * depth_stride + n * column_stride.
struct ProductWeights {
  Tensor tensor;  // float32, float16, bfloat16 or, quantized, int8; keeps the data
  int64_t depth = 0;
  int64_t columns = 0;
  int64_t depth_stride = 0;
  int64_t column_stride = 0;
  std::optional<Tensor> bias;     // float32, row-major [columns]
  Step::Nodes bias_nodes;         // that add the bias to the product's result, with views between
  std::optional<Tensor> factors;  // for int8, the scales of the columns; laid out like the bias
  // The nodes that make the weights of constants for this product alone, in program order.
  Step::Nodes made_by;
  // The dequantization of the product's rows, if only this product uses the resulting floats.
  std::optional<Dequantization> rows;

  PackedContents contents(std::string_view order) const {
    return {
        order, tensor.raw_data(), tensor.dtype(), {depth, columns, depth_stride, column_stride}};
  }
};

// Returns the weights of linear, addmm, mm, matmul, or of a bmm that repeats one matrix; nullopt if
// they are unknown or have an unusual layout.
std::optional<ProductWeights> find_product_weights(const Planner& planner, const BoundNode& node);

// Returns the weights of a convolution with one-pixel kernels of float16 or bfloat16; nullopt for
// others.
std::optional<ProductWeights> find_pixel_weights(const Planner& planner, const BoundNode& node);

// Returns the dequantization of a product's rows or of a convolution's images, if only this node
// uses the resulting floats; nullopt otherwise.
std::optional<Dequantization> quantized_rows(const Planner& planner, const BoundNode& node);
const BoundArgument& rows_argument(const BoundNode& node);
// The ranks that a product's operands must have; 0 for any rank but 0.
struct ProductRanks {
  int64_t left = 0;
  int64_t right = 0;

  static bool fits(int64_t rank, const Tensor& operand) {
    return rank == 0 ? operand.dim() > 0 : operand.dim() == rank;
  }
};
ProductRanks product_ranks(const BoundNode& node);

// The quantized values of a node's weights, with a scale for each column and no zero points.
struct QuantizedWeights {
  Tensor tensor;  // as the node sees it, transposed if need be
  std::optional<Tensor> factors;
  Step::Nodes made_by;
};
// Returns the weights of a convolution of quantized images; nullopt for others.
std::optional<QuantizedWeights> find_quantized_kernels(const Planner& planner,
                                                       const BoundNode& node);

// True if the node makes floats of int8 weights that a product may read directly.
bool makes_floats_of_levels(const BoundNode& node, const std::vector<Value>& constants);

// True if the product's weights are known and of float16 or bfloat16.
bool has_half_weights(const Planner& planner, const BoundNode& node);

// Makes a product with weights of float16 or bfloat16.
StepPointer make_half_product(const Planner& planner, const BoundNode& node,
                              const BoundArgument& input, ProductWeights weights);

// Makes a convolution with kernels of float16 or bfloat16.
StepPointer make_half_convolution(const Planner& planner, const BoundNode& node);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_STEPS_PRODUCT_WEIGHTS_H
