// Matrix transposition: planar images (rows are channels, columns pixels) to channels last, and
// back.
#ifndef PT2_KERNELS_LAYOUTS_H
#define PT2_KERNELS_LAYOUTS_H

#include <cstdint>

#include "kernels/threads.h"

namespace pt2::kernels {

// For each of `count` matrices: to[c * to_stride + r] = from[r * from_stride + c]. Nothing
// overlaps.
struct Turning {
  int64_t count = 1;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t from_stride = 0;
  int64_t to_stride = 0;
  int64_t from_matrix_stride = 0;
  int64_t to_matrix_stride = 0;
};
void turn(const Turning& turning, const float* from, float* to, ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_LAYOUTS_H
