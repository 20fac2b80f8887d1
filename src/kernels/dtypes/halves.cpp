// Narrowing uses plain loops without branches, which compilers vectorize for each target.
// Processors with instructions for float16 use these.
#include "kernels/dtypes/halves.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dtypes/halves.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/dtypes/halves-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// Converts with the processor's own instructions. Returns how many of the first `count` numbers it
// converted.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
using Halves = hn::Rebind<hwy::float16_t, Floats>;
int64_t narrow_vectors(const float* from, int64_t count, uint16_t* to) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
  const auto quiet =
      hn::BitCast(Floats(), hn::Set(hn::RebindToUnsigned<Floats>(), uint32_t{0x7FC00000}));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto value = hn::LoadU(Floats(), from + i);
    // As in the loop below: every NaN becomes the quiet NaN of its sign.
    const auto number = hn::IfThenElse(hn::IsNaN(value), hn::CopySign(quiet, value), value);
    const auto halves = hn::DemoteTo(Halves(), number);
    const hn::RebindToUnsigned<Halves> bits;
    hn::StoreU(hn::BitCast(bits, halves), bits, to + i);
  }
  return i;
}
#else
int64_t narrow_vectors(const float*, int64_t, uint16_t*) { return 0; }
#endif

HWY_INLINE float as_float(uint32_t bits) { return __builtin_bit_cast(float, bits); }
HWY_INLINE uint32_t as_bits(float value) { return __builtin_bit_cast(uint32_t, value); }

void widen_halves(const uint16_t* from, int64_t count, float* to) {
  widen_span<HalfElements>(from, count, to);
}
void widen_bfloats(const uint16_t* from, int64_t count, float* to) {
  widen_span<BfloatElements>(from, count, to);
}

// As c10/util/Half.h.
void narrow_to_halves(const float* HWY_RESTRICT from, int64_t count, uint16_t* HWY_RESTRICT to) {
  for (int64_t i = narrow_vectors(from, count, to); i < count; ++i) {
    const uint32_t w = as_bits(from[i]);
    const uint32_t doubled = w + w;
    const uint32_t exponent = doubled & 0xFF000000u;
    const uint32_t bias = exponent < 0x71000000u ? 0x71000000u : exponent;
    // Overflows to infinity beyond the largest half; the addition rounds.
    const float base = as_float(w & 0x7FFFFFFFu) * 0x1p112f * 0x1p-110f;
    const uint32_t bits = as_bits(as_float((bias >> 1) + 0x07800000u) + base);
    const uint32_t number = ((bits >> 13) & 0x7C00u) + (bits & 0x0FFFu);
    to[i] = static_cast<uint16_t>((w >> 16 & 0x8000u) | (doubled > 0xFF000000u ? 0x7E00u : number));
  }
}

void narrow_to_bfloats(const float* HWY_RESTRICT from, int64_t count, uint16_t* HWY_RESTRICT to) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t w = as_bits(from[i]);
    const uint32_t rounded = (w + 0x7FFFu + ((w >> 16) & 1)) >> 16;
    to[i] = static_cast<uint16_t>((w & 0x7FFFFFFFu) > 0x7F800000u ? 0x7FC0u : rounded);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(widen_halves);
PT2_EXPORT(narrow_to_halves);
PT2_EXPORT(widen_bfloats);
PT2_EXPORT(narrow_to_bfloats);

void half_to_float(const uint16_t* from, int64_t count, float* to) {
  PT2_DISPATCH(widen_halves)(from, count, to);
}
void bfloat16_to_float(const uint16_t* from, int64_t count, float* to) {
  PT2_DISPATCH(widen_bfloats)(from, count, to);
}
void float_to_half(const float* from, int64_t count, uint16_t* to) {
  PT2_DISPATCH(narrow_to_halves)(from, count, to);
}
void float_to_bfloat16(const float* from, int64_t count, uint16_t* to) {
  PT2_DISPATCH(narrow_to_bfloats)(from, count, to);
}

}  // namespace pt2::kernels
#endif
