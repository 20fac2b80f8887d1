#include "kernels/products/row_products.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/products/row_products.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/products/row_products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

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

void multiply_unpacked(const RowProduct& product, ThreadPool* pool) {
  multiply_by_columns(product, pool, [&](auto rows, const Columns& columns) {
    if (product.turned)
      turned_columns<FloatElements, rows.value>(product, product.right, columns);
    else
      straight_columns<rows.value>(product, columns);
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
