// Products of a matrix with one vector, for dot, mv and similar operators, of any dtype and
// strides.
#ifndef PT2_OPS_LINEAR_VECTOR_PRODUCTS_H
#define PT2_OPS_LINEAR_VECTOR_PRODUCTS_H

#include "ops/linear/gemm.h"

namespace pt2::ops {

// out[i * stride] = the sum over k < depth of matrix line i times line 0 of `vector`. Returns false
// if the matrix is not in memory. C is float, double or int64_t.
template <class C>
bool multiply_vector(const GemmOperand<C>& matrix, const GemmOperand<C>& vector, int64_t lines,
                     int64_t depth, C* out, int64_t stride);

}  // namespace pt2::ops

#endif  // PT2_OPS_LINEAR_VECTOR_PRODUCTS_H
