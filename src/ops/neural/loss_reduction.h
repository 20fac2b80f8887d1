// The reduction of a loss's elements to one number.
#ifndef PT2_OPS_NEURAL_LOSS_REDUCTION_H
#define PT2_OPS_NEURAL_LOSS_REDUCTION_H

#include "ops/emitter.h"
#include "ops/meta.h"

namespace pt2::ops {

enum Reduction : int64_t { kNoReduction = 0, kMeanLoss = 1, kSumLoss = 2 };

// Returns the loss itself, its mean or its sum. Error for an unknown reduction.
Result<Tensor> reduce_loss(const Tensor& loss, int64_t reduction);
// The same, for formulas.
Result<Tensor> reduce_loss(Emitter& e, const Result<Tensor>& loss, int64_t reduction);

}  // namespace pt2::ops

#endif  // PT2_OPS_NEURAL_LOSS_REDUCTION_H
