// Softmax as a function, for attention.
#ifndef PT2_OPS_NEURAL_SOFTMAX_H
#define PT2_OPS_NEURAL_SOFTMAX_H

#include <cstdint>

namespace pt2::ops {

// y = exp(x) / sum(exp(x)); NaN if every x is -inf. x and y may be the same array. C is float or
// double.
template <class C>
void softmax_row(const C* x, int64_t count, C* y);

}  // namespace pt2::ops

#endif  // PT2_OPS_NEURAL_SOFTMAX_H
