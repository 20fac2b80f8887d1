// Loops of products of few rows, with an unpacked operand of any element type. Included once for
// each target, as vectors-inl.h is.
#if defined(PT2_KERNELS_PRODUCTS_ROW_PRODUCTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT2_KERNELS_PRODUCTS_ROW_PRODUCTS_INL_H
#undef PT2_KERNELS_PRODUCTS_ROW_PRODUCTS_INL_H
#else
#define PT2_KERNELS_PRODUCTS_ROW_PRODUCTS_INL_H
#endif

#include <algorithm>
#include <type_traits>

#include "kernels/products/row_products.h"
#include "kernels/reductions-inl.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

constexpr int64_t kMostRows = 4;
constexpr int64_t kRowProductWork = int64_t{1} << 15;
// Columns of a task: a multiple of whole vectors, so that no sum depends on the split.
constexpr int64_t kColumnStep = 64;
// Products are added up in blocks of this depth: the rounding errors of few rows are then about as
// small as those of PyTorch, which sums the parts of a row in lanes.
constexpr int64_t kSumDepth = 32;
// True if 16 sums fit in registers beside their operands.
constexpr bool kManyRegisters = HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM;

struct Columns {
  int64_t first_row;
  int64_t begin;
  int64_t end;
};

// Stores the sums of a row, from `column` on, with factors, bias and addend applied. `load` and
// `store` read and write as many floats as there are sums.
template <class Sums, class Load, class Store>
HWY_INLINE void finish_sums_of(const RowProduct& product, Sums sums, int64_t row, int64_t column,
                               const Load& load, const Store& store) {
  const Epilogue& epilogue = product.epilogue;
  if (product.factors != nullptr) sums = hn::Mul(sums, load(product.factors + column));
  Sums start = hn::Zero(hn::DFromV<Sums>());
  if (epilogue.bias != nullptr) start = load(epilogue.bias + column);
  if (epilogue.addend != nullptr)
    start = hn::Add(start, load(epilogue.addend + row * epilogue.addend_stride + column));
  store(hn::Add(sums, start), product.out + row * product.out_stride + column);
}

template <int kRows, int kColumns>
HWY_INLINE void finish_columns(const RowProduct& product, const V (&totals)[kRows][kColumns],
                               int64_t first_row, int64_t column) {
  const auto finish = [&](auto d, auto sums, int r, int c) HWY_ATTR {
    finish_sums_of(
        product, sums, first_row + r, column + c,
        [d](const float* from) HWY_ATTR { return hn::LoadU(d, from); },
        [d](auto whole, float* to) HWY_ATTR { hn::StoreU(whole, d, to); });
  };
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
    if constexpr (kColumns == 4 && kLanes >= 4) {
      finish(hn::CappedTag<float, 4>(),
             sums_of_four(totals[r][0], totals[r][1], totals[r][2], totals[r][3]), r, 0);
    } else {
      const hn::CappedTag<float, 1> one;
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) finish(one, hn::Set(one, sum_lanes(totals[r][c])), r, c);
    }
}

// Returns the distance in elements to the columns that are prefetched while `columns` of them are
// summed: those that come next, or if they are short, those 2 KB ahead. Hardware prefetching stops
// at a page boundary, which keys of a cache meet every few columns.
template <class Element>
HWY_INLINE int64_t distance_ahead(const RowProduct& product, int columns) {
  constexpr int64_t kAhead = 2048 / sizeof(Element);
  return std::max<int64_t>(columns, kAhead / std::max<int64_t>(1, product.right_stride)) *
         product.right_stride;
}

// Sums kColumns columns, contiguous along the depth, for kRows rows.
template <class Elements, int kRows, int kColumns>
void sum_columns(const RowProduct& product, const typename Elements::Element* weights,
                 int64_t first_row, int64_t column) {
  const int64_t block = kLanes * 128;
  V totals[kRows][kColumns];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) totals[r][c] = hn::Zero(Floats());
  const float* left = product.left + first_row * product.left_stride;
  const typename Elements::Element* right = weights + column * product.right_stride;
  const int64_t ahead = distance_ahead<typename Elements::Element>(product, kColumns);
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
      for (int c = 0; c < kColumns; ++c) {
        const auto* from = right + c * product.right_stride + k;
        elements[c] = Elements::load(from);
        __builtin_prefetch(from + ahead, 0, 2);
      }
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const V row = load(left + r * product.left_stride + k);
#pragma GCC unroll 4
        for (int c = 0; c < kColumns; ++c) sums[r][c] = hn::MulAdd(row, elements[c], sums[r][c]);
      }
    }
    if (k < end) {
      V elements[kColumns];
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c)
        elements[c] = Elements::load_first(right + c * product.right_stride + k, end - k);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const V row = load_first(left + r * product.left_stride + k, end - k);
#pragma GCC unroll 4
        for (int c = 0; c < kColumns; ++c) sums[r][c] = hn::MulAdd(row, elements[c], sums[r][c]);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) totals[r][c] = hn::Add(totals[r][c], sums[r][c]);
  }
  finish_columns(product, totals, first_row, column);
}

template <class Elements, int kRows>
void turned_columns(const RowProduct& product, const typename Elements::Element* weights,
                    const Columns& columns) {
  constexpr int kAtOnce = kRows <= 2 || kManyRegisters ? 4 : 2;
  int64_t column = columns.begin;
  for (; column + kAtOnce <= columns.end; column += kAtOnce)
    sum_columns<Elements, kRows, kAtOnce>(product, weights, columns.first_row, column);
  for (; column < columns.end; ++column)
    sum_columns<Elements, kRows, 1>(product, weights, columns.first_row, column);
}

// Sums kVectors whole vectors of columns, or one vector with `count` columns.
template <class Elements, int kRows, int kVectors, bool kWhole>
void sum_vectors(const RowProduct& product, const typename Elements::Element* weights,
                 int64_t first_row, int64_t column, int64_t count = kLanes) {
  const float* left = product.left + first_row * product.left_stride;
  // Prefetches help where the values of a long cache are read, and slow a small layer down. Floats
  // are read well without.
  constexpr bool kPrefetches = sizeof(typename Elements::Element) < sizeof(float);
  constexpr int64_t kLine = 64 / sizeof(typename Elements::Element);
  const int64_t ahead = distance_ahead<typename Elements::Element>(product, 1);
  V totals[kRows][kVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) totals[r][v] = hn::Zero(Floats());
  for (int64_t begin = 0; begin < product.depth; begin += kSumDepth) {
    const int64_t end = std::min(product.depth, begin + kSumDepth);
    V sums[kRows][kVectors];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(Floats());
    for (int64_t k = begin; k < end; ++k) {
      const auto* right = weights + k * product.right_stride + column;
      V elements[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        elements[v] =
            kWhole ? Elements::load(right + v * kLanes) : Elements::load_first(right, count);
        if (kPrefetches && v * kLanes % kLine == 0)
          __builtin_prefetch(right + v * kLanes + ahead, 0, 2);
      }
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
      finish_sums_of(
          product, totals[r][v], first_row + r, first,
          [&](const float* from) HWY_ATTR { return kWhole ? load(from) : load_first(from, count); },
          [&](V whole, float* to)
              HWY_ATTR { kWhole ? store(whole, to) : store_first(whole, to, count); });
    }
}

template <class Elements, int kRows>
void straight_columns(const RowProduct& product, const typename Elements::Element* weights,
                      const Columns& columns) {
  // Eight sums at a time hide the latency of multiply-adds.
  constexpr int kVectors = kRows == 1 ? 8 : kRows == 2 || kManyRegisters ? 4 : 2;
  int64_t column = columns.begin;
  const auto cover = [&](auto vectors) {
    for (; column + vectors * kLanes <= columns.end; column += vectors * kLanes)
      sum_vectors<Elements, kRows, vectors, true>(product, weights, columns.first_row, column);
  };
  cover(std::integral_constant<int, kVectors>());
  cover(std::integral_constant<int, kVectors / 2>());
  cover(std::integral_constant<int, 1>());
  if (column < columns.end)
    sum_vectors<Elements, kRows, 1, false>(product, weights, columns.first_row, column,
                                           columns.end - column);
}

inline void activate_columns(const RowProduct& product, const Columns& columns, int64_t rows) {
  if (product.epilogue.activation == Activation::none) return;
  for (int64_t r = 0; r < rows; ++r) {
    float* out = product.out + (columns.first_row + r) * product.out_stride + columns.begin;
    activate_span(product.epilogue.activation, out, out, columns.end - columns.begin);
  }
}

// Calls multiply(number of rows, columns), with the number as an integral_constant, for blocks of
// the product.
template <class Multiply>
void multiply_by_columns(const RowProduct& product, ThreadPool* pool, const Multiply& multiply) {
  if (product.rows <= 0 || product.columns <= 0) return;
  const int64_t steps = (product.columns + kColumnStep - 1) / kColumnStep;
  const bool parallel = product.columns * product.depth >= kRowProductWork;
  const int64_t parts = parallel ? std::min<int64_t>(steps, 4 * thread_count(pool)) : 1;
  run_tasks(pool, parts, [&](int64_t part, int) {
    Columns columns;
    columns.begin = part_begin(steps, parts, part) * kColumnStep;
    columns.end = std::min(product.columns, part_begin(steps, parts, part + 1) * kColumnStep);
    for (int64_t row = 0; row < product.rows; row += kMostRows) {
      columns.first_row = row;
      const int64_t rows = std::min(kMostRows, product.rows - row);
      switch (rows) {
        case 1:
          multiply(std::integral_constant<int, 1>(), columns);
          break;
        case 2:
          multiply(std::integral_constant<int, 2>(), columns);
          break;
        case 3:
          multiply(std::integral_constant<int, 3>(), columns);
          break;
        case 4:
          multiply(std::integral_constant<int, 4>(), columns);
          break;
      }
      activate_columns(product, columns, rows);
    }
  });
}

// Multiplies with an unpacked operand.
template <class Elements>
void multiply_by_elements(const RowProduct& product, const typename Elements::Element* right,
                          ThreadPool* pool) {
  multiply_by_columns(product, pool, [&](auto rows, const Columns& columns) {
    if (product.turned)
      turned_columns<Elements, rows.value>(product, right, columns);
    else
      straight_columns<Elements, rows.value>(product, right, columns);
  });
}

// Returns the product with columns, depth and strides of weights that are not floats; one of their
// strides is 1.
template <class Weights>
RowProduct with_weights(const RowProduct& product, const Weights& weights) {
  RowProduct whole = product;
  whole.columns = weights.columns;
  whole.depth = weights.depth;
  whole.turned = weights.depth_stride == 1;
  whole.right_stride = whole.turned ? weights.column_stride : weights.depth_stride;
  return whole;
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#endif
