// Batch normalization with fixed statistics: a scale and a shift for each channel.
#ifndef PT2_RUN_PLAN_BATCH_NORM_H
#define PT2_RUN_PLAN_BATCH_NORM_H

#include <optional>
#include <vector>

#include "run/plan/planner.h"

namespace pt2::run {

struct ScaleShift {
  std::vector<double> scale;
  std::vector<double> shift;
};
// What the node multiplies channels with and adds to them; nothing where that is not the same in
// every call, or the node is another one.
std::optional<ScaleShift> scale_and_shift(const Planner& planner, const BoundNode& node);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_BATCH_NORM_H
