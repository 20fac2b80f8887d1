// Reads int8 weights as floats, for loops over weights of several dtypes. Included once for each
// target, as vectors-inl.h is, which it includes.
#if defined(PT2_KERNELS_PRODUCTS_LEVEL_ELEMENTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT2_KERNELS_PRODUCTS_LEVEL_ELEMENTS_INL_H
#undef PT2_KERNELS_PRODUCTS_LEVEL_ELEMENTS_INL_H
#else
#define PT2_KERNELS_PRODUCTS_LEVEL_ELEMENTS_INL_H
#endif

#include <algorithm>
#include <array>

#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// The int8 counterpart of FloatElements.
struct LevelElements {
  using Element = int8_t;
  HWY_INLINE static V load(const int8_t* from) {
    const hn::Rebind<int8_t, Floats> levels;
    return hn::ConvertTo(Floats(), hn::PromoteTo(Ints(), hn::LoadU(levels, from)));
  }
  HWY_NOINLINE static V load_first(const int8_t* from, int64_t count) {
    std::array<int8_t, kLanes> lanes{};
    std::copy_n(from, std::min(count, kLanes), lanes.data());
    return load(lanes.data());
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#endif
