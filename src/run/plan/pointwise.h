// The elementwise functions that nodes compute.
#ifndef PT2_RUN_PLAN_POINTWISE_H
#define PT2_RUN_PLAN_POINTWISE_H

#include <optional>
#include <span>
#include <string_view>

#include "kernels/dtypes/typed.h"
#include "kernels/pointwise.h"
#include "run/plan/planner.h"

namespace pt2::run {

inline bool is_complex(Dtype dtype) { return dtype_category(dtype) == DtypeCategory::complex; }

// Returns the function that the node computes of argument 0; nullopt for others.
std::optional<kernels::Unary> unary_of(const Planner& planner, const BoundNode& node);

// A function of arguments 0 and 1, which may be numbers.
struct BinaryNode {
  kernels::Binary function;
  double scale = 1;  // factor of the second operand of a sum
  bool swaps = false;
};
std::optional<BinaryNode> binary_of(const Planner& planner, const BoundNode& node);

// How a node uses the elements of its operands.
enum class Takes : uint8_t {
  numbers,   // numbers; the result has their dtype
  anything,  // any elements; the result is the same in another dtype
  compared,  // elements of one dtype, to compare them
  truth,     // any elements; each is true unless it is 0
  mask,      // bools alone
};
// A comparison or logical function of two operands: its instruction in a chain, and its kernel for
// each dtype.
struct Condition {
  std::string_view name;
  kernels::Binary function;
  kernels::TypedFunction typed;
  Takes takes = Takes::compared;
};
std::span<const Condition> conditions();

// Argument 0 clamped to bounds.
struct Bounds {
  std::optional<double> low;
  std::optional<double> high;
};
std::optional<Bounds> bounds_of(const Planner& planner, const BoundNode& node);

// Returns the dtype that the node casts argument 0 to; nullopt if it does anything else.
std::optional<Dtype> cast_of(const Planner& planner, const BoundNode& node);

// Returns the number that the argument is in this call; nullopt for others, and if the number would
// overflow the dtype: the operator decides what that means.
std::optional<double> number_in(const Frame& frame, const BoundArgument& argument, Dtype dtype);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_POINTWISE_H
