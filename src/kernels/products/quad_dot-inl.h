// Vectors of integer sums, and AVX512_VNNI, which multiplies four pairs of bytes and adds the
// products to one sum. Included once for each target, as vectors-inl.h is.
#if defined(PT2_KERNELS_PRODUCTS_QUAD_DOT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT2_KERNELS_PRODUCTS_QUAD_DOT_INL_H
#undef PT2_KERNELS_PRODUCTS_QUAD_DOT_INL_H
#else
#define PT2_KERNELS_PRODUCTS_QUAD_DOT_INL_H
#endif

#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

inline bool has_quad_dot() {
#if PT2_BEYOND_AVX3
  static const bool has = __builtin_cpu_supports("avx512vnni") != 0;
  return has;
#else
  return false;
#endif
}

// GCC keeps arrays of hn::Vec<Ints> in memory, because the element type of `raw` is not that of
// instructions on 32-bit integers.
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128 && !HWY_COMPILER_MSVC
using Sums = int32_t __attribute__((vector_size(kLanes * sizeof(int32_t))));
HWY_INLINE Sums sums_of(hn::Vec<Ints> integers) { return reinterpret_cast<Sums>(integers.raw); }
HWY_INLINE hn::Vec<Ints> integers_of(Sums sums) {
  return {reinterpret_cast<decltype(hn::Vec<Ints>::raw)>(sums)};
}
#else
using Sums = hn::Vec<Ints>;
HWY_INLINE Sums sums_of(hn::Vec<Ints> integers) { return integers; }
HWY_INLINE hn::Vec<Ints> integers_of(Sums sums) { return sums; }
#endif
HWY_INLINE Sums no_sums() { return sums_of(hn::Zero(Ints())); }

#if PT2_BEYOND_AVX3
#pragma GCC push_options
#pragma GCC target("avx512vnni")
// `left` holds uint8, `right` int8.
HWY_INLINE Sums add_quads(Sums sums, __m512i left, __m512i right) {
  return sums_of({_mm512_dpbusd_epi32(integers_of(sums).raw, left, right)});
}
#pragma GCC pop_options
#endif

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#endif
