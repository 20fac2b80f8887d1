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
// Returns the scale and shift that the node applies to channels; nullopt if calls decide them, or
// the node is no such batch normalization.
std::optional<ScaleShift> scale_and_shift(const Planner& planner, const BoundNode& node);

// Changes of a convolution's sums, with one number for each channel of the results: sum * scale +
// bias. Empty vectors change nothing.
struct ChannelChanges {
  std::vector<double> scale;
  std::vector<float> bias;
  const float* bias_or_null() const { return bias.empty() ? nullptr : bias.data(); }
};
// Takes the argument `bias` of a convolution. False if calls decide it.
bool take_bias(const Planner& planner, const BoundNode& node, int64_t channels,
               ChannelChanges& changes);
// Adds the changes that the nodes after nodes.back() make to the channels of its results: batch
// normalization, also when taken apart (FrozenBatchNorm2d of detection models). Appends these nodes
// to `nodes`.
void fold_changes(const Planner& planner, size_t spatial, int64_t channels, Step::Nodes& nodes,
                  ChannelChanges& changes);

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_BATCH_NORM_H
