// Numbers rounded to the levels of a quantized type, and back.
#ifndef PT2_KERNELS_DTYPES_LEVELS_H
#define PT2_KERNELS_DTYPES_LEVELS_H

#include <cstdint>
#include <vector>

#include "kernels/activation.h"
#include "kernels/threads.h"

namespace pt2::kernels {

// A level is `zero` more than the number times `inverse`, rounded (halves to even). `low` and
// `high` bound it before `zero` is added; they and the zeros are whole, below 2^22 in size.
struct Levels {
  // Larger zeros are not for these kernels: numbers are rounded beside 1.5 * 2^23, where there is
  // room for 2^22.
  static constexpr int64_t kLargestZero = 1 << 16;

  float inverse, zero, low, high;
  float scale, back_zero;  // of the way back
};

// out[i] = (level - back_zero) * scale; NaN has the level 0. Levels are not stored.
void round_to_levels(const float* in, int64_t count, const Levels& levels, float* out,
                     ThreadPool* pool = nullptr);

// The levels, of uint8 or int8, which must have those from low + zero to high + zero: their bytes
// are the same.
void to_levels(const float* in, int64_t count, const Levels& levels, uint8_t* out,
               ThreadPool* pool = nullptr);
inline void to_levels(const float* in, int64_t count, const Levels& levels, int8_t* out,
                      ThreadPool* pool = nullptr) {
  to_levels(in, count, levels, reinterpret_cast<uint8_t*>(out), pool);
}
// Their numbers; only scale and back_zero of `levels` are read.
void from_levels(const uint8_t* in, int64_t count, const Levels& levels, float* out,
                 ThreadPool* pool = nullptr);
void from_levels(const int8_t* in, int64_t count, const Levels& levels, float* out,
                 ThreadPool* pool = nullptr);
// Of bytes whose dtype only the call knows.
inline void from_levels(const void* in, bool is_signed, int64_t count, const Levels& levels,
                        float* out, ThreadPool* pool = nullptr) {
  if (is_signed)
    from_levels(static_cast<const int8_t*>(in), count, levels, out, pool);
  else
    from_levels(static_cast<const uint8_t*>(in), count, levels, out, pool);
}

// How sums become levels of another tensor, as PT2E writes it behind an operator.
struct Requantization {
  struct Rounding {
    Levels levels;
    Activation activation = Activation::none;  // of the rounded numbers
  };
  std::vector<Rounding> roundings;  // one after the other, before the last
  Levels last{};
};
// Overwrites `numbers`.
void requantize(const Requantization& requantization, float* numbers, int64_t count, uint8_t* out,
                ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_DTYPES_LEVELS_H
