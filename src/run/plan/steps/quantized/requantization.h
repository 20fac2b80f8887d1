// Quantization to one-byte integers (levels) with one scale and one zero point for a tensor.
#ifndef PT2_RUN_PLAN_STEPS_REQUANTIZATION_H
#define PT2_RUN_PLAN_STEPS_REQUANTIZATION_H

#include <optional>

#include "kernels/dtypes/levels.h"
#include "run/plan/steps/quantized/dequantization.h"

namespace pt2::run {

// The arguments of a node quantize_per_tensor.
struct Quantization {
  Dtype dtype = Dtype::uint8;
  int64_t low = 0, high = 0;
  LevelNumbers numbers;
};
std::optional<Quantization> find_quantization(const Planner& planner, const BoundNode& node);

// Returns the kernels' form of a quantization. nullopt for zero points so large that sums with them
// are not whole; these are left to the operators' kernels.
std::optional<kernels::Levels> to_levels_of(const Quantization& to, LevelNumbers::Numbers numbers);
void add_way_back(LevelNumbers::Numbers numbers, kernels::Levels& levels);

// The path from sums to the levels of the next operator's operand, with scales and zero points that
// are the same in every call.
struct LevelTail {
  Step::Nodes nodes;  // the last one makes the levels; empty if results stay floats
  kernels::Requantization requantization;
  Dtype dtype = Dtype::uint8;

  bool has_levels() const { return !nodes.empty(); }
};
// Matches what follows `node`: roundings to levels and back, each perhaps with an activation after
// it, then levels.
LevelTail match_level_tail(const Planner& planner, const BoundNode& node);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_STEPS_REQUANTIZATION_H
