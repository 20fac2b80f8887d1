// Softmax as a function, for attention and losses.
#ifndef PT2_OPS_NEURAL_SOFTMAX_H
#define PT2_OPS_NEURAL_SOFTMAX_H

#include <cstdint>

#include "ops/meta.h"

namespace pt2::ops {

// y = exp(x) / sum(exp(x)); NaN if every x is -inf. x and y may be the same array. C is float or
// double.
template <class C>
void softmax_row(const C* x, int64_t count, C* y);

// torch.log_softmax of a floating tensor.
Result<Tensor> log_softmax(const Tensor& self, int64_t dim);

}  // namespace pt2::ops

#endif  // PT2_OPS_NEURAL_SOFTMAX_H
