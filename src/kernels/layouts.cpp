#include "kernels/layouts.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/layouts.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

void turn_block(const float* from, int64_t from_stride, float* to, int64_t to_stride, int64_t rows,
                int64_t columns) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    int64_t c = 0;
    for (; c + 4 <= columns; c += 4)
      turn_4x4(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
    for (; c < columns; ++c)
      for (int64_t i = r; i < r + 4; ++i) to[c * to_stride + i] = from[i * from_stride + c];
  }
  for (; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) to[c * to_stride + r] = from[r * from_stride + c];
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(turn_block);

void turn(const Turning& turning, const float* from, float* to, ThreadPool* pool) {
  if (turning.rows <= 0 || turning.columns <= 0) return;
  // Whole cache lines on both sides, and few of them: rows whose length is a power of two map to
  // the same cache sets and evict each other.
  constexpr int64_t kBlock = 16;
  const int64_t column_blocks = (turning.columns + kBlock - 1) / kBlock;
  const bool parallel = turning.count * turning.rows * turning.columns >= int64_t{1} << 15;
  run_tasks(parallel ? pool : nullptr, turning.count * column_blocks, [&](int64_t task, int) {
    const int64_t column = task % column_blocks * kBlock;
    const int64_t columns = std::min(kBlock, turning.columns - column);
    const float* matrix = from + task / column_blocks * turning.from_matrix_stride;
    float* turned = to + task / column_blocks * turning.to_matrix_stride;
    for (int64_t row = 0; row < turning.rows; row += kBlock) PT2_DISPATCH(turn_block)
    (matrix + row * turning.from_stride + column, turning.from_stride,
     turned + column * turning.to_stride + row, turning.to_stride,
     std::min(kBlock, turning.rows - row), columns);
  });
}

}  // namespace pt2::kernels
#endif
