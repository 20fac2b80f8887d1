// Detects AVX512_BF16, which multiplies pairs of bfloat16 and adds them to one float. Included once
// for each target, as vectors-inl.h is; only AVX3 can have the instruction.
#if defined(PT2_KERNELS_DTYPES_BFLOAT16_PAIRS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT2_KERNELS_DTYPES_BFLOAT16_PAIRS_INL_H
#undef PT2_KERNELS_DTYPES_BFLOAT16_PAIRS_INL_H
#else
#define PT2_KERNELS_DTYPES_BFLOAT16_PAIRS_INL_H
#endif

#include "kernels/tiles.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

inline bool has_bfloat16_dot() {
#if PT2_BEYOND_AVX3
  static const bool has = __builtin_cpu_supports("avx512bf16") != 0;
  return has;
#else
  return false;
#endif
}

// True if panels of weights hold pairs of bfloat16.
inline bool holds_pairs(Rounding type) { return type == Rounding::bfloat16 && has_bfloat16_dot(); }

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#endif
