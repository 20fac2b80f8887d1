// Vectors of float16 and bfloat16 as floats. Included once for each target, as vectors-inl.h is.
#if defined(PT2_KERNELS_DTYPES_HALVES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT2_KERNELS_DTYPES_HALVES_INL_H
#undef PT2_KERNELS_DTYPES_HALVES_INL_H
#else
#define PT2_KERNELS_DTYPES_HALVES_INL_H
#endif

#include <algorithm>
#include <array>

#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

using HalfBits = hn::Rebind<uint16_t, Floats>;
using FloatBits = hn::RebindToUnsigned<Floats>;

// Returns the first `count` of kLanes halves, then zeros; reads nothing beyond them.
HWY_INLINE std::array<uint16_t, kLanes> first_halves(const uint16_t* from, int64_t count) {
  std::array<uint16_t, kLanes> lanes{};
  std::copy_n(from, std::min(count, kLanes), lanes.data());
  return lanes;
}

// How loops over weights of several dtypes read halves; the counterparts of FloatElements.
struct BfloatElements {
  using Element = uint16_t;
  HWY_INLINE static V load(const uint16_t* from) {
    const auto bits = hn::PromoteTo(FloatBits(), hn::LoadU(HalfBits(), from));
    return hn::BitCast(Floats(), hn::ShiftLeft<16>(bits));
  }
  HWY_NOINLINE static V load_first(const uint16_t* from, int64_t count) {
    return load(first_halves(from, count).data());
  }
};

struct HalfElements {
  using Element = uint16_t;
  HWY_INLINE static V load(const uint16_t* from) {
    const auto bits = hn::LoadU(HalfBits(), from);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    return hn::PromoteTo(Floats(), hn::BitCast(hn::Rebind<hwy::float16_t, Floats>(), bits));
#else
    // As c10/util/Half.h: arithmetic adjusts the exponent and keeps infinities and NaNs; subnormal
    // halves are computed by a subtraction. Highway's own conversion does not handle infinities and
    // NaNs.
    const FloatBits u;
    const auto w = hn::ShiftLeft<16>(hn::PromoteTo(u, bits));
    const auto doubled = hn::Add(w, w);
    const auto moved = hn::Add(hn::ShiftRight<4>(doubled), hn::Set(u, 0xE0u << 23));
    const V normal = hn::Mul(hn::BitCast(Floats(), moved), set(0x1p-112f));
    const auto mantissa = hn::Or(hn::ShiftRight<17>(doubled), hn::Set(u, 126u << 23));
    const V tiny = hn::Sub(hn::BitCast(Floats(), mantissa), set(0.5f));
    // Compared as signed numbers, which every target supports: without the sign bit, both are at
    // least 0.
    const auto size = hn::BitCast(Ints(), hn::ShiftRight<1>(doubled));
    const auto is_tiny = hn::RebindMask(Floats(), hn::Lt(size, hn::Set(Ints(), 1 << 26)));
    const V magnitude = hn::IfThenElse(is_tiny, tiny, normal);
    return hn::CopySign(magnitude, hn::BitCast(Floats(), w));
#endif
  }
  HWY_NOINLINE static V load_first(const uint16_t* from, int64_t count) {
    return load(first_halves(from, count).data());
  }
};

template <class Elements>
void widen_span(const uint16_t* HWY_RESTRICT from, int64_t count, float* HWY_RESTRICT to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(Elements::load(from + i), to + i);
  if (i < count) store_first(Elements::load_first(from + i, count - i), to + i, count - i);
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#endif
