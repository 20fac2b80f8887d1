// Nodes that compute element by element as the instructions of one pass over memory.
#ifndef PT2_RUN_PLAN_STEPS_TILE_BUILDER_H
#define PT2_RUN_PLAN_STEPS_TILE_BUILDER_H

#include <optional>
#include <vector>

#include "kernels/tiles.h"
#include "run/plan/planner.h"
#include "run/plan/pointwise.h"

namespace pt2::run {

// What a step takes. One number for each channel lies along the second dimension of the result.
struct TileArgument {
  const BoundArgument* value;
  Dtype dtype;  // of a tensor
  bool is_channels = false;
  bool is_number = false;  // in every call: the program records no tensor
};

// What nodes compute, as instructions that each have a tile of their own.
class TileBuilder {
 public:
  explicit TileBuilder(const Planner& planner) : planner_(planner) {}

  // False where the node is none for tiles, or there are too many operands. Nodes go in the order
  // of the program.
  bool add(const BoundNode& node);

  const std::vector<TileArgument>& operands() const { return operands_; }
  // Of the last node.
  Dtype dtype() const { return node_.dtype; }
  bool is_all_float32() const;

  // The instructions with as few tiles as there are values at a time; nothing where these are too
  // many.
  std::optional<std::vector<kernels::TileInstruction>> instructions() const;

 private:
  bool add_cast(const BoundNode& node);

  bool add_binary(const BoundNode& node, const BinaryNode& binary);

  // Activations that the kernels have no function for, and sums of products.
  bool add_bent(const BoundNode& node);

  bool add_leaky_relu(const BoundNode& node);

  bool add_prelu(const BoundNode& node);

  // a + value * b * c.
  bool add_product(const BoundNode& node);

  // As ATen/native/Lerp.h has it, from the end that is nearer.
  bool add_lerp(const BoundNode& node);

  // max(x, 0) * scale + (exp(min(x, 0) * input_scale) - 1) * alpha * scale.
  bool add_elu(const BoundNode& node, std::optional<double> alpha, std::optional<double> scale,
               std::optional<double> input_scale);

  // Comparisons and what they are joined with.
  bool add_condition(const BoundNode& node);

  // Elements of one operand where a condition holds, of the other elsewhere.
  bool add_choice(const BoundNode& node);

  bool add_rare(const BoundNode& node);

  // Gradients (tile_gradients.cpp).
  bool add_gradient(const BoundNode& node);
  std::optional<kernels::TileSource> sigmoid_gradient(const BoundNode& node);
  std::optional<kernels::TileSource> tanh_gradient(const BoundNode& node);
  std::optional<kernels::TileSource> silu_gradient(const BoundNode& node);
  std::optional<kernels::TileSource> mish_gradient(const BoundNode& node);
  std::optional<kernels::TileSource> gelu_gradient(const BoundNode& node);
  std::optional<kernels::TileSource> elu_gradient(const BoundNode& node);
  std::optional<kernels::TileSource> leaky_relu_gradient(const BoundNode& node);
  std::optional<kernels::TileSource> hardtanh_gradient(const BoundNode& node);
  std::optional<kernels::TileSource> hardsigmoid_gradient(const BoundNode& node);
  std::optional<kernels::TileSource> hardswish_gradient(const BoundNode& node);
  std::optional<kernels::TileSource> shrink_gradient(const BoundNode& node);
  std::optional<kernels::TileSource> threshold_gradient(const BoundNode& node);
  std::optional<kernels::TileSource> softplus_gradient(const BoundNode& node);
  std::optional<kernels::TileSource> log_sigmoid_gradient(const BoundNode& node);
  std::optional<kernels::TileSource> squared_loss_gradient(const BoundNode& node);

  // max(a, b) + log(1 + exp(-|a - b|)), of base e or 2. Equal infinities have no difference.
  bool add_log_of_sum(const BoundNode& node);

  // (erf(x * sqrt(1/2)) + 1) / 2, each of it rounded.
  bool add_normal_distribution(const BoundNode& node);

  // To multiples of a power of ten, which is exact.
  bool add_rounding(const BoundNode& node);

  bool add_numbers_for_others(const BoundNode& node);

  // x - min(max(x, -lambd), lambd), or x where it is beyond.
  bool add_shrink(const BoundNode& node);

  static kernels::TileSource number(double value) {
    return {kernels::TileSource::From::number, 0, value};
  }

  kernels::TileSource multiply(const kernels::TileSource& a, const kernels::TileSource& b) {
    return emit(kernels::Binary::multiply, a, b);
  }

  // a where the condition is not 0, b elsewhere.
  kernels::TileSource choose(const kernels::TileSource& condition, const kernels::TileSource& a,
                             const kernels::TileSource& b);

  kernels::TileSource emit_of_three(kernels::Ternary function, const kernels::TileSource& a,
                                    const kernels::TileSource& b, const kernels::TileSource& c);

  kernels::TileSource emit(decltype(kernels::TileInstruction::function) function,
                           const kernels::TileSource& a, const kernels::TileSource& b = number(0),
                           double scale = 1);

  // What was emitted last, as a half where the node computes halves.
  kernels::TileSource rounded(const kernels::TileSource& value);

  bool finish(const BoundNode& node, const kernels::TileSource& value);

  // A result of a node before, a number, or an operand of the step.
  kernels::TileSource source(const BoundArgument& argument, bool is_channels = false);

  // The node that is being added takes a tensor. It computes as if elements had been floats, where
  // PyTorch makes them of the result's dtype first.
  void note_operand(Dtype dtype, const TensorMeta* record);

  void note_precision(Dtype dtype);

  // Whether the kernel sees that it is to compute in double.
  bool shows_doubles() const;

  struct Made {
    const BoundNode* node;
    kernels::TileSource value;
    Dtype dtype;
  };

  const Planner& planner_;
  std::vector<kernels::TileInstruction> instructions_;
  std::vector<Made> made_;
  std::vector<TileArgument> operands_;
  struct {
    Dtype dtype = Dtype::float32;
    bool is_recorded = false;
    Takes takes = Takes::numbers;
    std::optional<Dtype> compared;
    bool subtracts = false;
    bool mixes = false;         // takes elements that become floats of the result's dtype
    bool takes_floats = false;  // takes dimensions of the result's dtype
    bool takes_reals = false;
    bool makes_floats = false;  // of whole numbers, too
    bool is_of_floats = false;
    bool is_of_doubles = false;
  } node_;  // that is being added
  bool has_floats_ = false;
  bool has_doubles_ = false;
  bool takes_operands_ = true;  // as far as the program records them
};

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_STEPS_TILE_BUILDER_H
