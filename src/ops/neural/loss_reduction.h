// What losses share: how their elements become one number.
#ifndef PT2_OPS_NEURAL_LOSS_REDUCTION_H
#define PT2_OPS_NEURAL_LOSS_REDUCTION_H

#include "ops/meta.h"

namespace pt2::ops {

enum Reduction : int64_t { kNoReduction = 0, kMeanLoss = 1, kSumLoss = 2 };

// The loss itself, its mean or its sum; an error for any other number.
Result<Tensor> reduce_loss(const Tensor& loss, int64_t reduction);

}  // namespace pt2::ops

#endif  // PT2_OPS_NEURAL_LOSS_REDUCTION_H
