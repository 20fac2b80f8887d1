#include "kernels/products/integer_products.h"

#include <algorithm>
#include <array>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/products/integer_products.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/products/quad_dot-inl.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// Pairs of int16, whose two products are added to one int32; on the portable target, single int16.
#if HWY_TARGET == HWY_SCALAR
using Shorts = hn::Rebind<int16_t, Floats>;
#else
using Shorts = hn::Repartition<int16_t, Floats>;
#endif
constexpr int64_t kShortLanes = static_cast<int64_t>(hn::MaxLanes(Shorts()));
using ShortVector = hn::Vec<Shorts>;

// As many rows as have registers for their sums with four columns.
constexpr int kSumRows = HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM ? 4 : 2;

template <class Element>
HWY_INLINE ShortVector load_shorts(const Element* from) {
  return hn::PromoteTo(Shorts(), hn::LoadU(hn::Rebind<Element, Shorts>(), from));
}
template <class Element>
HWY_NOINLINE ShortVector load_first_shorts(const Element* from, int64_t count) {
  std::array<Element, kShortLanes> lanes{};
  std::copy_n(from, count, lanes.data());
  return load_shorts(lanes.data());
}

template <class Left, int kRows, int kColumns>
void multiply_tile(const IntegerProduct& product, int64_t row, int64_t column) {
  const Left* left = static_cast<const Left*>(product.left) + row * product.left_stride;
  const int8_t* right = product.right + column * product.right_stride;
  Sums sums[kRows][kColumns], odd[kRows][kColumns];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) sums[r][c] = odd[r][c] = no_sums();
  const auto add = [&](const auto& load, int64_t k) HWY_ATTR {
    ShortVector elements[kColumns];
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) elements[c] = load(right + c * product.right_stride + k);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const ShortVector element = load(left + r * product.left_stride + k);
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) {
        auto rest = integers_of(odd[r][c]);
        sums[r][c] = sums_of(hn::ReorderWidenMulAccumulate(Ints(), element, elements[c],
                                                           integers_of(sums[r][c]), rest));
        odd[r][c] = sums_of(rest);
      }
    }
  };
  int64_t k = 0;
  for (; k + kShortLanes <= product.depth; k += kShortLanes)
    add([](const auto* from) HWY_ATTR { return load_shorts(from); }, k);
  if (const int64_t rest = product.depth - k; rest > 0)
    add([rest](const auto* from) HWY_ATTR { return load_first_shorts(from, rest); }, k);
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kColumns; ++c)
      product.out[(row + r) * product.out_stride + column + c] = hn::GetLane(
          hn::SumOfLanes(Ints(), hn::Add(integers_of(sums[r][c]), integers_of(odd[r][c]))));
}

#if PT2_BEYOND_AVX3
// As many rows as have registers for their sums with four columns, beside the operands.
constexpr int kQuadRows = 6;

#pragma GCC push_options
#pragma GCC target("avx512vnni")
HWY_INLINE __mmask64 present_bytes(int64_t rest) {
  return rest >= 64 ? ~__mmask64{0} : (__mmask64{1} << rest) - 1;
}

// Returns the sum of the lanes of each of four vectors.
HWY_INLINE __m128i sums_of_lanes(__m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
  const __m512i cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
  const __m512i all =
      _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
  const __m256i half =
      _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
  return _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

// Elements of int8 are shifted by 128, because the instruction takes uint8; `above` is the
// resulting excess in the sums of four columns. Prefetches the columns at `ahead` into the L2
// cache.
template <class Left, int kRows>
void multiply_quads(const IntegerProduct& product, int64_t row, const int8_t* right,
                    int64_t right_stride, const int8_t* ahead, __m128i above, int32_t* out,
                    __mmask8 columns) {
  const __m512i middle = _mm512_set1_epi8(static_cast<char>(0x80));
  const Left* left = static_cast<const Left*>(product.left) + row * product.left_stride;
  Sums sums[kRows][4];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) sums[r][c] = no_sums();
  for (int64_t k = 0; k < product.depth; k += 64) {
    const __mmask64 present = present_bytes(product.depth - k);
    __m512i elements[4];
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      elements[c] = _mm512_maskz_loadu_epi8(present, right + c * right_stride + k);
      __builtin_prefetch(ahead + c * right_stride + k, 0, 2);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      __m512i element = _mm512_maskz_loadu_epi8(present, left + r * product.left_stride + k);
      if (std::is_signed_v<Left>) element = _mm512_xor_si512(element, middle);
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) sums[r][c] = add_quads(sums[r][c], element, elements[c]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
    _mm_mask_storeu_epi32(
        out + r * product.out_stride, columns,
        _mm_sub_epi32(sums_of_lanes(integers_of(sums[r][0]).raw, integers_of(sums[r][1]).raw,
                                    integers_of(sums[r][2]).raw, integers_of(sums[r][3]).raw),
                      above));
}

// Multiplies four columns, which stay in the L1 cache for all rows. If fewer than four are left,
// they are multiplied one at a time, with the one column in the place of all four.
template <class Left>
void multiply_quad_columns(const IntegerProduct& product, int64_t column) {
  const int64_t count = std::min<int64_t>(4, product.columns - column);
  const int64_t right_stride = count == 4 ? product.right_stride : 0;
  const auto columns = static_cast<__mmask8>(count == 4 ? 15 : 1);
  for (int64_t first = 0; first < count; first += count == 4 ? 4 : 1) {
    const int8_t* right = product.right + (column + first) * product.right_stride;
    __m128i above = _mm_setzero_si128();
    if (std::is_signed_v<Left>) {
      Sums sums[4] = {no_sums(), no_sums(), no_sums(), no_sums()};
      const __m512i middle = _mm512_set1_epi8(static_cast<char>(0x80));
      for (int64_t k = 0; k < product.depth; k += 64)
#pragma GCC unroll 4
        for (int c = 0; c < 4; ++c)
          sums[c] = add_quads(sums[c], middle,
                              _mm512_maskz_loadu_epi8(present_bytes(product.depth - k),
                                                      right + c * right_stride + k));
      above = sums_of_lanes(integers_of(sums[0]).raw, integers_of(sums[1]).raw,
                            integers_of(sums[2]).raw, integers_of(sums[3]).raw);
    }
    int32_t* out = product.out + column + first;
    // The next columns are prefetched with the first rows only.
    const bool are_last = column + 8 > product.columns;
    const auto ahead = [&](int64_t row) {
      return row > 0 || are_last ? right : right + 4 * right_stride;
    };
    int64_t row = 0;
    for (; row + kQuadRows <= product.rows; row += kQuadRows)
      multiply_quads<Left, kQuadRows>(product, row, right, right_stride, ahead(row), above,
                                      out + row * product.out_stride, columns);
    for (; row + 2 <= product.rows; row += 2)
      multiply_quads<Left, 2>(product, row, right, right_stride, ahead(row), above,
                              out + row * product.out_stride, columns);
    for (; row < product.rows; ++row)
      multiply_quads<Left, 1>(product, row, right, right_stride, ahead(row), above,
                              out + row * product.out_stride, columns);
  }
}
#pragma GCC pop_options
#endif

template <class Left, int kRows>
void multiply_rows_of(const IntegerProduct& product, int64_t row) {
  int64_t column = 0;
  for (; column + 4 <= product.columns; column += 4)
    multiply_tile<Left, kRows, 4>(product, row, column);
  for (; column < product.columns; ++column) multiply_tile<Left, kRows, 1>(product, row, column);
}

template <class Left>
void multiply_all(const IntegerProduct& product) {
#if PT2_BEYOND_AVX3
  if (has_quad_dot()) {
    for (int64_t column = 0; column < product.columns; column += 4)
      multiply_quad_columns<Left>(product, column);
    return;
  }
#endif
  int64_t row = 0;
  for (; row + kSumRows <= product.rows; row += kSumRows)
    multiply_rows_of<Left, kSumRows>(product, row);
  for (; row < product.rows; ++row) multiply_rows_of<Left, 1>(product, row);
}

void multiply_matrices(const IntegerProduct& product) {
  if (product.is_unsigned)
    multiply_all<uint8_t>(product);
  else
    multiply_all<int8_t>(product);
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(multiply_matrices);

void multiply_integers(const IntegerProduct& product, ThreadPool* pool) {
  // Less work than this does not justify waking a thread.
  constexpr int64_t kParallelWork = int64_t{1} << 18, kStep = 4;
  const bool parallel = product.rows * product.columns * product.depth >= kParallelWork;
  const int64_t steps = (product.columns + kStep - 1) / kStep;
  const int64_t parts = parallel ? std::min<int64_t>(steps, 4 * thread_count(pool)) : 1;
  run_tasks(pool, parts, [&](int64_t index, int) {
    const int64_t first = part_begin(steps, parts, index) * kStep;
    IntegerProduct part = product;
    part.columns = std::min(product.columns, part_begin(steps, parts, index + 1) * kStep) - first;
    part.right += first * product.right_stride;
    part.out += first;
    PT2_DISPATCH(multiply_matrices)(part);
  });
}

}  // namespace pt2::kernels
#endif
