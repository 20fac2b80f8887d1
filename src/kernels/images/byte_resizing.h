// Weighted sums of bytes in integer arithmetic, for resizing images of uint8.
#ifndef PT2_KERNELS_IMAGES_BYTE_RESIZING_H
#define PT2_KERNELS_IMAGES_BYTE_RESIZING_H

#include <cstdint>

namespace pt2::kernels {

// Sums fit an int32_t. They are divided by 2^precision, rounded to the nearest number (halves up)
// and converted to bytes.
//
// out[i] = the sum over k of weights[k] * lines[k][i].
struct ByteLines {
  const uint8_t* const* lines = nullptr;
  const int16_t* weights = nullptr;
  int64_t lines_count = 0;
  int64_t length = 0;
  int precision = 0;
};
void sum_byte_lines(const ByteLines& sum, uint8_t* out);

// out[i] = the sum over k < taps of weights[i * taps + k] * row[first[i] + k]; `taps` is a multiple
// of kByteTaps.
inline constexpr int64_t kByteTaps = 8;
struct ByteTaps {
  const int64_t* first = nullptr;
  const int16_t* weights = nullptr;
  int64_t taps = kByteTaps;
  int precision = 0;
};
void sum_byte_taps(const ByteTaps& taps, const uint8_t* row, int64_t count, uint8_t* out);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_IMAGES_BYTE_RESIZING_H
