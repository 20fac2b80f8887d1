#include "kernels/products/row_products.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/products/row_products.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/reductions-inl.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

constexpr int64_t kMostRows = 4;
constexpr int64_t kParallelWork = int64_t{1} << 15;
// Columns of a task: whole vectors, so that no sum depends on the split.
constexpr int64_t kColumnStep = 64;
// Whether 16 sums stay in registers beside what they are made of.
constexpr bool kManyRegisters = HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM;

struct Columns {
  int64_t first_row;
  int64_t begin;
  int64_t end;
};

float started(const RowProduct& product, int64_t row, int64_t column) {
  const Epilogue& epilogue = product.epilogue;
  float start = epilogue.bias != nullptr ? epilogue.bias[column] : 0.0f;
  if (epilogue.addend != nullptr) start += epilogue.addend[row * epilogue.addend_stride + column];
  return start;
}

// kColumns columns side by side along the depth, for kRows rows.
template <int kRows, int kColumns>
void sum_columns(const RowProduct& product, int64_t first_row, int64_t column) {
  const int64_t block = kLanes * 128;
  V totals[kRows][kColumns];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) totals[r][c] = hn::Zero(Floats());
  const float* left = product.left + first_row * product.left_stride;
  const float* right = product.right + column * product.right_stride;
  for (int64_t begin = 0; begin < product.depth; begin += block) {
    const int64_t end = std::min(product.depth, begin + block);
    V sums[kRows][kColumns];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) sums[r][c] = hn::Zero(Floats());
    int64_t k = begin;
    for (; k + kLanes <= end; k += kLanes) {
      V elements[kColumns];
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) elements[c] = load(right + c * product.right_stride + k);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const V row = load(left + r * product.left_stride + k);
#pragma GCC unroll 4
        for (int c = 0; c < kColumns; ++c) sums[r][c] = hn::MulAdd(row, elements[c], sums[r][c]);
      }
    }
    if (k < end) {
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const V row = load_first(left + r * product.left_stride + k, end - k);
#pragma GCC unroll 4
        for (int c = 0; c < kColumns; ++c)
          sums[r][c] = hn::MulAdd(row, load_first(right + c * product.right_stride + k, end - k),
                                  sums[r][c]);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) totals[r][c] = hn::Add(totals[r][c], sums[r][c]);
  }
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kColumns; ++c)
      product.out[(first_row + r) * product.out_stride + column + c] =
          sum_lanes(totals[r][c]) + started(product, first_row + r, column + c);
}

template <int kRows>
void turned_columns(const RowProduct& product, const Columns& columns) {
  constexpr int kAtOnce = kRows <= 2 || kManyRegisters ? 4 : 2;
  int64_t column = columns.begin;
  for (; column + kAtOnce <= columns.end; column += kAtOnce)
    sum_columns<kRows, kAtOnce>(product, columns.first_row, column);
  for (; column < columns.end; ++column) sum_columns<kRows, 1>(product, columns.first_row, column);
}

// What a vector of `count` columns starts from.
V started_vector(const RowProduct& product, int64_t row, int64_t column, int64_t count) {
  const Epilogue& epilogue = product.epilogue;
  V start = hn::Zero(Floats());
  if (epilogue.bias != nullptr) start = load_first(epilogue.bias + column, count);
  if (epilogue.addend != nullptr)
    start =
        hn::Add(start, load_first(epilogue.addend + row * epilogue.addend_stride + column, count));
  return start;
}

// `kVectors` whole vectors of columns, or one that has `count` of them.
template <int kRows, int kVectors, bool kWhole>
void sum_vectors(const RowProduct& product, int64_t first_row, int64_t column,
                 int64_t count = kLanes) {
  const float* left = product.left + first_row * product.left_stride;
  V totals[kRows][kVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) totals[r][v] = hn::Zero(Floats());
  for (int64_t begin = 0; begin < product.depth; begin += kTileDepth) {
    const int64_t end = std::min(product.depth, begin + kTileDepth);
    V sums[kRows][kVectors];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(Floats());
    for (int64_t k = begin; k < end; ++k) {
      const float* right = product.right + k * product.right_stride + column;
      V elements[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        elements[v] = kWhole ? load(right + v * kLanes) : load_first(right, count);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const V row = set(left[r * product.left_stride + k]);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(row, elements[v], sums[r][v]);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) totals[r][v] = hn::Add(totals[r][v], sums[r][v]);
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) {
      const int64_t first = column + v * kLanes;
      const V start = started_vector(product, first_row + r, first, count);
      store_first(hn::Add(totals[r][v], start),
                  product.out + (first_row + r) * product.out_stride + first, count);
    }
}

template <int kRows>
void straight_columns(const RowProduct& product, const Columns& columns) {
  // Eight sums at a time hide how long one takes.
  constexpr int kVectors = kRows == 1 ? 8 : kRows == 2 || kManyRegisters ? 4 : 2;
  int64_t column = columns.begin;
  for (; column + kVectors * kLanes <= columns.end; column += kVectors * kLanes)
    sum_vectors<kRows, kVectors, true>(product, columns.first_row, column);
  for (; column + kLanes <= columns.end; column += kLanes)
    sum_vectors<kRows, 1, true>(product, columns.first_row, column);
  if (column < columns.end)
    sum_vectors<kRows, 1, false>(product, columns.first_row, column, columns.end - column);
}

template <int kRows>
void multiply_columns(const RowProduct& product, const Columns& columns) {
  if (product.turned)
    turned_columns<kRows>(product, columns);
  else
    straight_columns<kRows>(product, columns);
  if (product.epilogue.activation == Activation::none) return;
  for (int64_t r = 0; r < kRows; ++r) {
    float* out = product.out + (columns.first_row + r) * product.out_stride + columns.begin;
    activate_span(product.epilogue.activation, out, out, columns.end - columns.begin);
  }
}

void multiply_unpacked(const RowProduct& product, ThreadPool* pool) {
  if (product.rows <= 0 || product.columns <= 0) return;
  const int64_t steps = (product.columns + kColumnStep - 1) / kColumnStep;
  const bool parallel = product.columns * product.depth >= kParallelWork;
  const int64_t parts = parallel ? std::min<int64_t>(steps, 4 * thread_count(pool)) : 1;
  run_tasks(pool, parts, [&](int64_t part, int) {
    Columns columns;
    columns.begin = part_begin(steps, parts, part) * kColumnStep;
    columns.end = std::min(product.columns, part_begin(steps, parts, part + 1) * kColumnStep);
    for (int64_t row = 0; row < product.rows; row += kMostRows) {
      columns.first_row = row;
      switch (std::min(kMostRows, product.rows - row)) {
        case 1:
          multiply_columns<1>(product, columns);
          break;
        case 2:
          multiply_columns<2>(product, columns);
          break;
        case 3:
          multiply_columns<3>(product, columns);
          break;
        case 4:
          multiply_columns<4>(product, columns);
          break;
      }
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
HWY_EXPORT(multiply_unpacked);

void multiply_rows(const RowProduct& product, ThreadPool* pool) {
  HWY_DYNAMIC_DISPATCH(multiply_unpacked)(product, pool);
}

}  // namespace pt2::kernels
#endif
