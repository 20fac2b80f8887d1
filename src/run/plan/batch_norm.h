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

// What follows the sums of a convolution, one number for each channel of its results: sum * scale +
// bias. Empty where there is none.
struct ChannelChanges {
  std::vector<double> scale;
  std::vector<float> bias;
  const float* bias_or_null() const { return bias.empty() ? nullptr : bias.data(); }
};
// The argument `bias` of a convolution. False where it is not the same in every call.
bool take_bias(const Planner& planner, const BoundNode& node, int64_t channels,
               ChannelChanges& changes);
// Adds what the nodes behind nodes.back() do to the channels of its results: batch normalization,
// or one that was taken apart (FrozenBatchNorm2d of detection models).
void fold_changes(const Planner& planner, size_t spatial, int64_t channels, Step::Nodes& nodes,
                  ChannelChanges& changes);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_BATCH_NORM_H
