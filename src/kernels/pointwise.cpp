#include "kernels/pointwise.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pointwise.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/pointwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

void apply_activation(Activation activation, const float* from, float* to, int64_t count) {
  activate_span(activation, from, to, count);
}

void scale_shift_rows(Activation activation, int64_t row, int64_t begin, int64_t end,
                      const Rows& in, const Rows& scale, const Rows& shift, const RowsOut& out) {
  const RowReader x(in, row);
  const RowReader factor(scale, row);
  const RowReader term(shift, row);
  float* to = out.data + row * out.row_stride;
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes)
    store(hn::MulAdd(x.at(i), factor.at(i), term.at(i)), to + i);
  const int64_t rest = end - i;
  if (rest > 0)
    store_first(hn::MulAdd(x.first(i, rest), factor.first(i, rest), term.first(i, rest)), to + i,
                rest);
  if (activation != Activation::none)
    activate_span(activation, to + begin, to + begin, end - begin);
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(apply_activation);
PT2_EXPORT(apply_unary);
PT2_EXPORT(combine_rows);
PT2_EXPORT(add_scaled_rows);
PT2_EXPORT(scale_shift_rows);

namespace {

// A task's elements: enough to be worth a thread's while, few enough for the first cache. Its
// borders are multiples of every vector's length, so that no element's arithmetic depends on the
// split.
constexpr int64_t kChunk = int64_t{1} << 13;

// Calls function(row, begin, end) for chunks of rows.
template <class Function>
void over_chunks(const Extent& extent, ThreadPool* pool, const Function& function) {
  if (extent.rows <= 0 || extent.columns <= 0) return;
  const int64_t chunks = (extent.columns + kChunk - 1) / kChunk;
  const int64_t rows_at_once = std::max<int64_t>(1, kChunk / extent.columns);
  const int64_t row_tasks = (extent.rows + rows_at_once - 1) / rows_at_once;
  const bool parallel = extent.rows * extent.columns >= 4 * kChunk;
  run_tasks(parallel ? pool : nullptr, row_tasks * chunks, [&](int64_t task, int) {
    const int64_t begin = task % chunks * kChunk;
    const int64_t end = std::min(extent.columns, begin + kChunk);
    const int64_t first = task / chunks * rows_at_once;
    const int64_t last = std::min(extent.rows, first + rows_at_once);
    for (int64_t row = first; row < last; ++row) function(row, begin, end);
  });
}

}  // namespace

void apply(Activation activation, const float* from, float* to, int64_t count, ThreadPool* pool) {
  over_chunks({1, count}, pool, [&](int64_t, int64_t begin, int64_t end) {
    PT2_DISPATCH(apply_activation)(activation, from + begin, to + begin, end - begin);
  });
}

void apply(Unary function, const float* from, float* to, int64_t count, ThreadPool* pool) {
  over_chunks({1, count}, pool, [&](int64_t, int64_t begin, int64_t end) {
    PT2_DISPATCH(apply_unary)(function, from + begin, to + begin, end - begin);
  });
}

void combine(Binary function, const Extent& extent, const Rows& a, const Rows& b,
             const RowsOut& out, ThreadPool* pool) {
  over_chunks(extent, pool, [&](int64_t row, int64_t begin, int64_t end) {
    PT2_DISPATCH(combine_rows)(function, row, begin, end, a, b, out);
  });
}

void add_scaled(const Extent& extent, const Rows& a, const Rows& b, float alpha, const RowsOut& out,
                ThreadPool* pool) {
  over_chunks(extent, pool, [&](int64_t row, int64_t begin, int64_t end) {
    PT2_DISPATCH(add_scaled_rows)(alpha, row, begin, end, a, b, out);
  });
}

void scale_shift(const Extent& extent, const Rows& in, const Rows& scale, const Rows& shift,
                 Activation activation, const RowsOut& out, ThreadPool* pool) {
  over_chunks(extent, pool, [&](int64_t row, int64_t begin, int64_t end) {
    PT2_DISPATCH(scale_shift_rows)(activation, row, begin, end, in, scale, shift, out);
  });
}

}  // namespace pt2::kernels
#endif
