// Elementwise nodes as the instructions of one pass over memory.
#ifndef PT2_RUN_PLAN_STEPS_TILE_BUILDER_H
#define PT2_RUN_PLAN_STEPS_TILE_BUILDER_H

#include <optional>
#include <vector>

#include "kernels/tiles.h"
#include "run/plan/planner.h"
#include "run/plan/pointwise.h"

namespace pt2::run {

// The numbers of a tensor that an operand is.
enum class TilePart : uint8_t { whole, real, imaginary };

// An operand of a step. One number for each channel lies along the second dimension of the result.
struct TileArgument {
  const BoundArgument* value;
  Dtype dtype;  // of a tensor, or to give a number
  TilePart part = TilePart::whole;
  bool is_channels = false;
  bool is_number = false;  // a number in every call: the program records no tensor
};

// Translates nodes to instructions, each of which has a tile of its own.
class TileBuilder {
 public:
  explicit TileBuilder(const Planner& planner) : planner_(planner) {}

  // False if tiles cannot compute the node or there are too many operands. Nodes must be added in
  // program order.
  bool add(const BoundNode& node);

  const std::vector<TileArgument>& operands() const { return operands_; }
  // The dtype of the last node.
  Dtype dtype() const { return node_.dtype; }
  bool is_all_float32() const;

  // Returns the instructions with as few tiles as values are live at a time; nullopt if these are
  // too many, or if the last node only takes a part of an operand.
  std::optional<std::vector<kernels::TileInstruction>> instructions() const;

 private:
  bool add_cast(const BoundNode& node);

  bool add_binary(const BoundNode& node, const BinaryNode& binary);

  // Activations without a function in the kernels, and sums of products.
  bool add_bent(const BoundNode& node);

  bool add_leaky_relu(const BoundNode& node);

  bool add_prelu(const BoundNode& node);

  // a + value * b * c.
  bool add_product(const BoundNode& node);

  // Interpolates from the nearer end, as ATen/native/Lerp.h does.
  bool add_lerp(const BoundNode& node);

  // max(x, 0) * scale + (exp(min(x, 0) * input_scale) - 1) * alpha * scale.
  bool add_elu(const BoundNode& node, std::optional<double> alpha, std::optional<double> scale,
               std::optional<double> input_scale);

  // Comparisons, logic, and tests such as isnan.
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

  // max(a, b) + log(1 + exp(-|a - b|)), of base e or 2. Equal infinities have no difference: the
  // result is the larger operand then.
  bool add_log_of_sum(const BoundNode& node);

  // (erf(x * sqrt(1/2)) + 1) / 2, with each intermediate result rounded.
  bool add_normal_distribution(const BoundNode& node);

  // Rounds to multiples of a power of ten, which is an exact float.
  bool add_rounding(const BoundNode& node);

  bool add_numbers_for_others(const BoundNode& node);

  // Complex numbers (complex/tile_parts.cpp). A complex value is two: its parts.
  struct Parts {
    kernels::TileSource real, imaginary;
  };
  bool add_complex(const BoundNode& node);
  std::optional<Parts> complex_of_one(const BoundNode& node);
  std::optional<Parts> complex_of_two(const BoundNode& node);
  bool takes_complex(const BoundNode& node) const;
  bool add_real_of_complex(const BoundNode& node);
  // Returns the parts of an argument; those of a real one are the number itself and 0.
  Parts parts(const BoundArgument& argument);
  Parts product(const Parts& a, const Parts& b);
  Parts quotient(const Parts& a, kernels::TileSource divisor);
  Parts addend(const Parts& value);
  Parts polar(const kernels::TileSource& length, const kernels::TileSource& angle);

  // softshrink: x - min(max(x, -lambd), lambd). hardshrink: x where |x| exceeds lambd.
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

  // Rounds the last emitted value to halves if the node computes halves.
  kernels::TileSource rounded(const kernels::TileSource& value);

  bool finish(const BoundNode& node, const kernels::TileSource& value);
  bool finish(const BoundNode& node, const Parts& value);

  // Returns the source of an argument: the result of an earlier node, a number, or an operand of
  // the step.
  kernels::TileSource source(const BoundArgument& argument, bool is_channels = false);

  // Returns a tensor, or a number of each call, as an operand of the step.
  kernels::TileSource operand(const TileArgument& argument);

  // Notes a tensor operand of the node that is being added. Tiles compute as if its elements were
  // floats, whereas PyTorch first converts them to the result's dtype.
  void note_operand(Dtype dtype, const TensorMeta* record);

  void note_precision(Dtype dtype);

  // True if the dtypes of the result or of an operand tell the kernel to compute in double.
  bool shows_doubles() const;

  struct Made {
    const BoundNode* node;
    Parts value;  // of a real value the real part alone
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
    bool mixes = false;         // takes other elements, which become floats of the result's dtype
    bool takes_floats = false;  // takes tensors with dimensions of the result's dtype
    bool takes_reals = false;
    bool makes_floats = false;  // for integers, too
    bool has_complex = false;   // takes complex numbers
    bool is_of_floats = false;
    bool is_of_doubles = false;
  } node_;  // the node that is being added
  bool has_floats_ = false;
  bool has_doubles_ = false;
  bool takes_operands_ = true;  // by the recorded dtypes
};

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_STEPS_TILE_BUILDER_H
