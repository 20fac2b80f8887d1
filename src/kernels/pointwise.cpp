#include "kernels/pointwise.h"

#include <algorithm>
#include <array>
#include <span>

#include "kernels/tiles.h"

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
void apply_unary_to_floats(Unary function, const float* from, float* to, int64_t count) {
  apply_unary(function, from, to, count);
}

void scale_shift_rows(Activation activation, int64_t row, int64_t begin, int64_t end,
                      const Rows& in, const Rows& scale, const Rows& shift, const RowsOut& out) {
  const RowReader<float> x(in, row);
  const RowReader<float> factor(scale, row);
  const RowReader<float> term(shift, row);
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

void combine_float_rows(Binary function, int64_t row, int64_t begin, int64_t end, const Rows& a,
                        const Rows& b, const RowsOut& out) {
  combine_rows(function, row, begin, end, a, b, out);
}
void add_scaled_float_rows(float alpha, int64_t row, int64_t begin, int64_t end, const Rows& a,
                           const Rows& b, const RowsOut& out) {
  add_scaled_rows(alpha, row, begin, end, a, b, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(apply_activation);
PT2_EXPORT(apply_unary_to_floats);
PT2_EXPORT(combine_float_rows);
PT2_EXPORT(add_scaled_float_rows);
PT2_EXPORT(scale_shift_rows);

namespace {

// Elements of a task: enough to be worth a thread's time, few enough for the L1 cache. Task
// boundaries are multiples of every vector length, so no element's arithmetic depends on the split.
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

// One row at a time unless `out` is dense, because the results of tiles are dense.
void combine_in_tiles(Binary function, const Extent& extent, const Rows& a, const Rows& b,
                      const RowsOut& out, ThreadPool* pool) {
  const TileInstruction instruction{.function = function, .a = {}, .b = {.index = 1}};
  const bool is_dense = out.row_stride == extent.columns;
  const auto operand = [](const Rows& rows, int64_t row) {
    return TileOperand{.data = rows.data + row * rows.row_stride,
                       .strides = {0, 0, 0, rows.row_stride, rows.column_stride}};
  };
  for (int64_t row = 0; row < extent.rows; row += is_dense ? extent.rows : 1) {
    const std::array operands{operand(a, row), operand(b, row)};
    run_tiles({.instructions = std::span(&instruction, 1),
               .sizes = {1, 1, 1, is_dense ? extent.rows : 1, extent.columns},
               .operands = operands,
               .out = out.data + row * out.row_stride},
              pool);
  }
}

}  // namespace

void apply(Activation activation, const float* from, float* to, int64_t count, ThreadPool* pool) {
  over_chunks({1, count}, pool, [&](int64_t, int64_t begin, int64_t end) {
    PT2_DISPATCH(apply_activation)(activation, from + begin, to + begin, end - begin);
  });
}

void apply(Unary function, const float* from, float* to, int64_t count, ThreadPool* pool) {
  if (is_of_doubles(function)) {
    const TileInstruction instruction{.function = function, .a = {}, .b = {}};
    const TileOperand operand{.data = from, .strides = {0, 0, 0, 0, 1}};
    return run_tiles({.instructions = std::span(&instruction, 1),
                      .sizes = {1, 1, 1, 1, count},
                      .operands = std::span(&operand, 1),
                      .out = to},
                     pool);
  }
  over_chunks({1, count}, pool, [&](int64_t, int64_t begin, int64_t end) {
    PT2_DISPATCH(apply_unary_to_floats)(function, from + begin, to + begin, end - begin);
  });
}

void combine(Binary function, const Extent& extent, const Rows& a, const Rows& b,
             const RowsOut& out, ThreadPool* pool) {
  if (is_of_doubles(function)) return combine_in_tiles(function, extent, a, b, out, pool);
  over_chunks(extent, pool, [&](int64_t row, int64_t begin, int64_t end) {
    PT2_DISPATCH(combine_float_rows)(function, row, begin, end, a, b, out);
  });
}

void add_scaled(const Extent& extent, const Rows& a, const Rows& b, float alpha, const RowsOut& out,
                ThreadPool* pool) {
  over_chunks(extent, pool, [&](int64_t row, int64_t begin, int64_t end) {
    PT2_DISPATCH(add_scaled_float_rows)(alpha, row, begin, end, a, b, out);
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
