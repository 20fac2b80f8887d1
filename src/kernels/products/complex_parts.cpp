// Plain loops, which compilers vectorize for each target.
#include "kernels/products/complex_parts.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/products/complex_parts.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// Rows are counted over all matrices. The rows of a matrix have twice as many rows of floats, so
// row r of matrix i is number 2 i rows + r of these.
void split_complex_rows(const ComplexSplit& split, int64_t begin, int64_t end) {
  const int64_t columns = split.columns, width = split.turned ? 2 * columns : columns;
  for (int64_t row = begin; row < end; ++row) {
    const float* HWY_RESTRICT from = split.from + row * split.stride;
    float* HWY_RESTRICT first = split.to + (row + row / split.rows * split.rows) * width;
    float* HWY_RESTRICT second = first + split.rows * width;
    if (split.turned)
      for (int64_t k = 0; k < columns; ++k) {
        first[2 * k] = from[2 * k];
        first[2 * k + 1] = -from[2 * k + 1];
        second[2 * k] = from[2 * k + 1];
        second[2 * k + 1] = from[2 * k];
      }
    else
      for (int64_t k = 0; k < columns; ++k) {
        first[k] = from[2 * k];
        second[k] = from[2 * k + 1];
      }
  }
}

void join_complex_rows(const ComplexJoin& join, int64_t begin, int64_t end) {
  const int64_t columns = join.columns, width = join.turned ? columns : 2 * columns;
  for (int64_t row = begin; row < end; ++row) {
    const float* HWY_RESTRICT first = join.from + (row + row / join.rows * join.rows) * width;
    const float* HWY_RESTRICT second = first + join.rows * width;
    float* HWY_RESTRICT to = join.to + row * 2 * columns;
    if (join.turned)
      for (int64_t n = 0; n < columns; ++n) {
        to[2 * n] = first[n];
        to[2 * n + 1] = second[n];
      }
    else
      for (int64_t n = 0; n < columns; ++n) {
        to[2 * n] = first[2 * n] - second[2 * n + 1];
        to[2 * n + 1] = first[2 * n + 1] + second[2 * n];
      }
    if (join.bias != nullptr)
      for (int64_t i = 0; i < 2 * columns; ++i) to[i] += join.bias[i];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(split_complex_rows);
PT2_EXPORT(join_complex_rows);

namespace {

template <class Matrices, class Rows>
void over_complex_rows(const Matrices& matrices, ThreadPool* pool, const Rows& rows) {
  constexpr int64_t kNumbersOfTask = 1 << 14;
  const int64_t all = matrices.count * matrices.rows;
  const int64_t step = std::max<int64_t>(kNumbersOfTask / matrices.columns, 1);
  run_tasks(pool, (all + step - 1) / step, [&](int64_t task, int) {
    rows(matrices, task * step, std::min(all, (task + 1) * step));
  });
}

}  // namespace

void split_complex(const ComplexSplit& split, ThreadPool* pool) {
  over_complex_rows(split, pool, PT2_DISPATCH(split_complex_rows));
}
void join_complex(const ComplexJoin& join, ThreadPool* pool) {
  over_complex_rows(join, pool, PT2_DISPATCH(join_complex_rows));
}

}  // namespace pt2::kernels
#endif
