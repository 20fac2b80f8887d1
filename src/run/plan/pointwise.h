// Which functions element by element nodes compute.
#ifndef PT2_RUN_PLAN_POINTWISE_H
#define PT2_RUN_PLAN_POINTWISE_H

#include <optional>
#include <span>
#include <string_view>

#include "kernels/dtypes/typed.h"
#include "kernels/pointwise.h"
#include "run/plan/planner.h"

namespace pt2::run {

// Of argument 0.
std::optional<kernels::Unary> unary_of(const Planner& planner, const BoundNode& node);

// Of arguments 0 and 1, which may be numbers.
struct BinaryNode {
  kernels::Binary function;
  double scale = 1;  // of the second operand of a sum
  bool swaps = false;
};
std::optional<BinaryNode> binary_of(const Planner& planner, const BoundNode& node);

// What a node makes of its operands.
enum class Takes : uint8_t {
  numbers,   // results of their dtype
  anything,  // the same in another dtype
  compared,  // of one dtype, conditions
  truth,     // whether they are 0
  mask,      // bools
};
// Comparisons and logic of two operands: in a chain, and as a kernel for each dtype computes them.
struct Condition {
  std::string_view name;
  kernels::Binary function;
  kernels::TypedFunction typed;
  Takes takes = Takes::compared;
};
std::span<const Condition> conditions();

// Argument 0 between bounds.
struct Bounds {
  std::optional<double> low;
  std::optional<double> high;
};
std::optional<Bounds> bounds_of(const Planner& planner, const BoundNode& node);

// The dtype that the node gives argument 0, if it does nothing else.
std::optional<Dtype> cast_of(const Planner& planner, const BoundNode& node);

// The number that the argument is in this call; nothing for others, and where it would overflow the
// dtype: the operator says what that means.
std::optional<double> number_in(const Frame& frame, const BoundArgument& argument, Dtype dtype);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_POINTWISE_H
