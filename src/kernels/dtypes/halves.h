// Converts arrays of float16 and bfloat16 to and from float32, rounding to nearest even.
#ifndef PT2_KERNELS_DTYPES_HALVES_H
#define PT2_KERNELS_DTYPES_HALVES_H

#include <cstdint>

namespace pt2::kernels {

void half_to_float(const uint16_t* from, int64_t count, float* to);
void bfloat16_to_float(const uint16_t* from, int64_t count, float* to);
// NaN becomes a quiet NaN without payload.
void float_to_half(const float* from, int64_t count, uint16_t* to);
void float_to_bfloat16(const float* from, int64_t count, uint16_t* to);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_DTYPES_HALVES_H
