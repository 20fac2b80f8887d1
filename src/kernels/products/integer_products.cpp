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

// Pairs of int16, whose products are added to one int32; on the portable target, one of them.
#if HWY_TARGET == HWY_SCALAR
using Shorts = hn::Rebind<int16_t, Floats>;
#else
using Shorts = hn::Repartition<int16_t, Floats>;
#endif
constexpr int64_t kShortLanes = static_cast<int64_t>(hn::MaxLanes(Shorts()));
using ShortVector = hn::Vec<Shorts>;

// As many rows as have registers for sums with four columns.
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
#pragma GCC push_options
#pragma GCC target("avx512vnni")
template <class Left, int kRows, int kColumns>
void multiply_quads(const IntegerProduct& product, int64_t row, int64_t column) {
  constexpr bool kIsSigned = std::is_signed_v<Left>;
  const Left* left = static_cast<const Left*>(product.left) + row * product.left_stride;
  const int8_t* right = product.right + column * product.right_stride;
  const __m512i middle = _mm512_set1_epi8(static_cast<char>(0x80));
  Sums sums[kRows][kColumns], above[kColumns];
#pragma GCC unroll 4
  for (int c = 0; c < kColumns; ++c) {
    above[c] = no_sums();
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) sums[r][c] = no_sums();
  }
  for (int64_t k = 0; k < product.depth; k += 64) {
    const int64_t rest = product.depth - k;
    const __mmask64 present = rest >= 64 ? ~__mmask64{0} : (__mmask64{1} << rest) - 1;
    __m512i elements[kColumns];
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) {
      elements[c] = _mm512_maskz_loadu_epi8(present, right + c * product.right_stride + k);
      if (kIsSigned) above[c] = add_quads(above[c], middle, elements[c]);
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      __m512i element = _mm512_maskz_loadu_epi8(present, left + r * product.left_stride + k);
      // The instruction takes uint8: elements of int8 are moved up by 128.
      if (kIsSigned) element = _mm512_xor_si512(element, middle);
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) sums[r][c] = add_quads(sums[r][c], element, elements[c]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c)
      product.out[(row + r) * product.out_stride + column + c] = hn::GetLane(
          hn::SumOfLanes(Ints(), hn::Sub(integers_of(sums[r][c]), integers_of(above[c]))));
}
#pragma GCC pop_options
#endif

template <class Left, int kRows>
void multiply_rows_of(const IntegerProduct& product, int64_t row) {
  int64_t column = 0;
#if PT2_BEYOND_AVX3
  if (has_quad_dot()) {
    for (; column + 4 <= product.columns; column += 4)
      multiply_quads<Left, kRows, 4>(product, row, column);
    for (; column < product.columns; ++column) multiply_quads<Left, kRows, 1>(product, row, column);
    return;
  }
#endif
  for (; column + 4 <= product.columns; column += 4)
    multiply_tile<Left, kRows, 4>(product, row, column);
  for (; column < product.columns; ++column) multiply_tile<Left, kRows, 1>(product, row, column);
}

template <class Left>
void multiply_all(const IntegerProduct& product) {
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

void multiply_integers(const IntegerProduct& product) { PT2_DISPATCH(multiply_matrices)(product); }

}  // namespace pt2::kernels
#endif
