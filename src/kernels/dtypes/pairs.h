// Sums, differences and products of complex numbers.
#ifndef PT2_KERNELS_DTYPES_PAIRS_H
#define PT2_KERNELS_DTYPES_PAIRS_H

#include <cstdint>

#include "kernels/dtypes/typed.h"

namespace pt2::kernels {

template <class T>
struct Pair {
  T real, imaginary;
};

// Sets out[i] to add, subtract or multiply of a[i] and b[i]. `out` overlaps no operand.
void combine_pairs(TypedFunction function, const Pair<float>* a, const Pair<float>* b,
                   Pair<float>* out, int64_t count);
void combine_pairs(TypedFunction function, const Pair<double>* a, const Pair<double>* b,
                   Pair<double>* out, int64_t count);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_DTYPES_PAIRS_H
