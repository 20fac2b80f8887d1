// How numbers become levels of one byte, where one scale and one zero stand for a tensor.
#ifndef PT2_RUN_PLAN_STEPS_REQUANTIZATION_H
#define PT2_RUN_PLAN_STEPS_REQUANTIZATION_H

#include <optional>

#include "kernels/dtypes/levels.h"
#include "run/plan/steps/quantized/dequantization.h"

namespace pt2::run {

// What a node quantize_per_tensor says.
struct Quantization {
  Dtype dtype = Dtype::uint8;
  int64_t low = 0, high = 0;
  LevelNumbers numbers;
};
std::optional<Quantization> find_quantization(const Planner& planner, const BoundNode& node);

// How kernels compute it; nothing for zeros with which sums are not whole, which are left to the
// kernels of the operators.
std::optional<kernels::Levels> to_levels_of(const Quantization& to, LevelNumbers::Numbers numbers);
void add_way_back(LevelNumbers::Numbers numbers, kernels::Levels& levels);

// The way from sums to the levels of the next operator's operand, of numbers that are the same in
// every call.
struct LevelTail {
  Step::Nodes nodes;  // the last one gives the levels; none where results stay floats
  kernels::Requantization requantization;
  Dtype dtype = Dtype::uint8;

  bool has_levels() const { return !nodes.empty(); }
};
// Of what follows `node`: roundings to levels and back with an activation behind each, then levels.
LevelTail match_level_tail(const Planner& planner, const BoundNode& node);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_STEPS_REQUANTIZATION_H
