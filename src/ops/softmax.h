// Softmax of one row, for attention.
#pragma once

#include <cstdint>

namespace pt2::ops {

// y = exp(x) / sum(exp(x)), NaN where x is -inf alone; x and y may be the same. C is float or
// double.
template <class C>
void softmax_row(const C* x, int64_t count, C* y);

}  // namespace pt2::ops
