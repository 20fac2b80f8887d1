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

namespace {

// Calls turn_block for blocks of which both sides fit in the first cache, in whole lines.
template <class Element, class TurnBlock>
void turn_by_blocks(const Turning& turning, const Element* from, Element* to, ThreadPool* pool,
                    const TurnBlock& turn_block) {
  if (turning.rows <= 0 || turning.columns <= 0) return;
  constexpr int64_t kBlock = std::max<int64_t>(32, 64 / static_cast<int64_t>(sizeof(Element)));
  const int64_t row_blocks = (turning.rows + kBlock - 1) / kBlock;
  const int64_t column_blocks = (turning.columns + kBlock - 1) / kBlock;
  const bool parallel = turning.count * turning.rows * turning.columns >= int64_t{1} << 15;
  run_tasks(parallel ? pool : nullptr, turning.count * column_blocks, [&](int64_t task, int) {
    const int64_t column = task % column_blocks * kBlock;
    const int64_t columns = std::min(kBlock, turning.columns - column);
    const Element* matrix = from + task / column_blocks * turning.from_matrix_stride;
    Element* turned = to + task / column_blocks * turning.to_matrix_stride;
    for (int64_t block = 0; block < row_blocks; ++block) {
      const int64_t row = block * kBlock;
      turn_block(matrix + row * turning.from_stride + column,
                 turned + column * turning.to_stride + row, std::min(kBlock, turning.rows - row),
                 columns);
    }
  });
}

// Eight rows at a time, so that what is written side by side is.
template <class Element>
void turn_elements(const Turning& turning, const void* from, void* to, ThreadPool* pool) {
  constexpr int64_t kRows = 8;
  const int64_t from_stride = turning.from_stride, to_stride = turning.to_stride;
  turn_by_blocks(turning, static_cast<const Element*>(from), static_cast<Element*>(to), pool,
                 [=](const Element* in, Element* out, int64_t rows, int64_t columns) {
                   int64_t r = 0;
                   for (; r + kRows <= rows; r += kRows)
                     for (int64_t c = 0; c < columns; ++c)
                       for (int64_t i = 0; i < kRows; ++i)
                         out[c * to_stride + r + i] = in[(r + i) * from_stride + c];
                   for (; r < rows; ++r)
                     for (int64_t c = 0; c < columns; ++c)
                       out[c * to_stride + r] = in[r * from_stride + c];
                 });
}

}  // namespace

void turn(const Turning& turning, const float* from, float* to, ThreadPool* pool) {
  turn_by_blocks(turning, from, to, pool,
                 [&](const float* in, float* out, int64_t rows, int64_t columns) {
                   PT2_DISPATCH(turn_block)
                   (in, turning.from_stride, out, turning.to_stride, rows, columns);
                 });
}

void turn(const Turning& turning, int64_t bytes, const void* from, void* to, ThreadPool* pool) {
  switch (bytes) {
    case 1:
      return turn_elements<uint8_t>(turning, from, to, pool);
    case 2:
      return turn_elements<uint16_t>(turning, from, to, pool);
    case 4:
      return turn(turning, static_cast<const float*>(from), static_cast<float*>(to), pool);
    default:
      return turn_elements<uint64_t>(turning, from, to, pool);
  }
}

}  // namespace pt2::kernels
#endif
