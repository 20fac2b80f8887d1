// Panels of pairs of bfloat16, which AVX512_BF16 multiplies and adds to one float. Included once
// for each target, as vectors-inl.h is; only AVX3 can have the instruction.
#if defined(PT2_KERNELS_PRODUCTS_BFLOAT16_DOT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT2_KERNELS_PRODUCTS_BFLOAT16_DOT_INL_H
#undef PT2_KERNELS_PRODUCTS_BFLOAT16_DOT_INL_H
#else
#define PT2_KERNELS_PRODUCTS_BFLOAT16_DOT_INL_H
#endif

#include <cstring>

#include "kernels/dtypes/bfloat16_pairs-inl.h"
#include "kernels/products/half_products.h"
#include "kernels/products/product-inl.h"
#include "kernels/products/row_products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

#if PT2_BEYOND_AVX3
// A slot of the tile, the size of a float, holds a pair. An odd last element is paired with a zero,
// as in panels.
inline void fill_pairs(const void* source, int64_t first_row, int64_t rows, int64_t first_depth,
                       int64_t depth, float* tile) {
  const auto& product = *static_cast<const HalfProduct*>(source);
  for (int64_t r = 0; r < rows; ++r) {
    const uint16_t* from = product.left + (first_row + r) * product.left_stride + first_depth;
    auto* to = reinterpret_cast<char*>(tile + r * kTilePitch);
    const auto bytes = static_cast<size_t>(depth) * sizeof(uint16_t);
    std::memcpy(to, from, bytes);
    if (depth % 2 != 0) std::memset(to + bytes, 0, sizeof(uint16_t));
  }
}

#pragma GCC push_options
#pragma GCC target("avx512bf16")
template <int kRows, int kVectors>
void dot_tile(const Tile<uint16_t>& tile) {
  __m512 sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_setzero_ps();
  const float* HWY_RESTRICT left = tile.left;
  const uint16_t* HWY_RESTRICT right = tile.right;
  const int64_t pairs = (tile.depth + 1) / 2;
  const char* ahead = tile.ahead;
  for (int64_t k = 0; k < pairs; ++k, ++left, right += kVectors * 32) {
    __builtin_prefetch(ahead, 0, 2);
    ahead += tile.ahead_step;
    __m512bh row[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v)
      row[v] = __builtin_bit_cast(__m512bh, _mm512_loadu_si512(right + v * 32));
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const auto pair = __builtin_bit_cast(__m512bh, _mm512_set1_ps(left[r * kTilePitch]));
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_dpbf16_ps(sums[r][v], row[v], pair);
    }
  }
  V finished[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) finished[r][v] = V{sums[r][v]};
  finish_sums_apart<kRows, kVectors>(tile.results, finished);
}

HWY_INLINE __m512bh load_pairs(const uint16_t* from, __mmask32 which) {
  return __builtin_bit_cast(__m512bh, _mm512_maskz_loadu_epi16(which, from));
}

// As sum_columns of row_products-inl.h, with rows of bfloat16.
template <int kRows, int kColumns>
void dot_columns(const RowProduct& product, const HalfRows& rows, const uint16_t* weights,
                 int64_t first_row, int64_t column) {
  constexpr int64_t kBlock = 4096;
  const uint16_t* left = rows.data + first_row * rows.stride;
  const uint16_t* right = weights + column * product.right_stride;
  const int64_t ahead = distance_ahead<uint16_t>(product, kColumns);
  V totals[kRows][kColumns];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) totals[r][c] = hn::Zero(Floats());
  for (int64_t begin = 0; begin < product.depth; begin += kBlock) {
    const int64_t end = std::min(product.depth, begin + kBlock);
    __m512 sums[kRows][kColumns];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) sums[r][c] = _mm512_setzero_ps();
    const auto add = [&](int64_t k, __mmask32 which) HWY_ATTR {
      __m512bh pairs[kColumns];
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) {
        const uint16_t* from = right + c * product.right_stride + k;
        pairs[c] = load_pairs(from, which);
        __builtin_prefetch(from + ahead, 0, 2);
      }
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const __m512bh row = load_pairs(left + r * rows.stride + k, which);
#pragma GCC unroll 4
        for (int c = 0; c < kColumns; ++c) sums[r][c] = _mm512_dpbf16_ps(sums[r][c], row, pairs[c]);
      }
    };
    int64_t k = begin;
    for (; k + 32 <= end; k += 32) add(k, ~__mmask32{0});
    if (k < end) add(k, (__mmask32{1} << (end - k)) - 1);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) totals[r][c] = hn::Add(totals[r][c], V{sums[r][c]});
  }
  finish_columns(product, totals, first_row, column);
}
#pragma GCC pop_options

template <int kRows>
void dot_rows(const RowProduct& product, const HalfRows& rows, const uint16_t* weights,
              const Columns& columns) {
  int64_t column = columns.begin;
  for (; column + 4 <= columns.end; column += 4)
    dot_columns<kRows, 4>(product, rows, weights, columns.first_row, column);
  for (; column < columns.end; ++column)
    dot_columns<kRows, 1>(product, rows, weights, columns.first_row, column);
}

struct DotKind {
  using Element = uint16_t;
  static constexpr int64_t kDepthStep = 2;
  static constexpr int64_t kDepthBlock = kTileDepth;
  template <int kRows, int kVectors>
  static void multiply(const Tile<Element>& tile) {
    dot_tile<kRows, kVectors>(tile);
  }
};
using DotPanels = Panels<DotKind>;
#endif

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#endif
