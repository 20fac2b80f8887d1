// Rounds numbers to the levels of a quantized type, and converts levels back.
#ifndef PT2_KERNELS_DTYPES_LEVELS_H
#define PT2_KERNELS_DTYPES_LEVELS_H

#include <cstdint>
#include <vector>

#include "kernels/activation.h"
#include "kernels/threads.h"

namespace pt2::kernels {

// The level of a number is number * inverse, rounded (halves to even) and clamped to `low` ..
// `high`, plus `zero`. `low`, `high` and the zeros are integers of magnitude below 2^22.
struct Levels {
  // The largest zero that these kernels support: numbers are rounded by adding 1.5 * 2^23, which
  // leaves room for 2^22.
  static constexpr int64_t kLargestZero = 1 << 16;

  float inverse, zero, low, high;
  float scale, back_zero;  // for the conversion back
};

// out[i] = (level - back_zero) * scale; the level of NaN is 0. Levels are not stored.
void round_to_levels(const float* in, int64_t count, const Levels& levels, float* out,
                     ThreadPool* pool = nullptr);

// Writes the levels as uint8 or int8, whichever holds low + zero .. high + zero: the bytes are the
// same.
void to_levels(const float* in, int64_t count, const Levels& levels, uint8_t* out,
               ThreadPool* pool = nullptr);
inline void to_levels(const float* in, int64_t count, const Levels& levels, int8_t* out,
                      ThreadPool* pool = nullptr) {
  to_levels(in, count, levels, reinterpret_cast<uint8_t*>(out), pool);
}
// Converts levels to numbers; reads only scale and back_zero of `levels`.
void from_levels(const uint8_t* in, int64_t count, const Levels& levels, float* out,
                 ThreadPool* pool = nullptr);
void from_levels(const int8_t* in, int64_t count, const Levels& levels, float* out,
                 ThreadPool* pool = nullptr);
// For bytes whose dtype is known only at run time.
inline void from_levels(const void* in, bool is_signed, int64_t count, const Levels& levels,
                        float* out, ThreadPool* pool = nullptr) {
  if (is_signed)
    from_levels(static_cast<const int8_t*>(in), count, levels, out, pool);
  else
    from_levels(static_cast<const uint8_t*>(in), count, levels, out, pool);
}

// How sums are converted to levels of another tensor, as PT2E writes it after an operator.
struct Requantization {
  struct Rounding {
    Levels levels;
    Activation activation = Activation::none;  // applied to the rounded numbers
  };
  std::vector<Rounding> roundings;  // applied one after another, before `last`
  Levels last{};
};
// Overwrites `numbers`.
void requantize(const Requantization& requantization, float* numbers, int64_t count, uint8_t* out,
                ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_DTYPES_LEVELS_H
