#include "kernels/dtypes/levels.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dtypes/levels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

void round_span(const float* in, int64_t count, const Levels& levels, float* out) {
  // A float this large has no fraction: what is added to it is rounded. Every vector unit adds,
  // not every one rounds.
  const V whole = set(0x1.8p23f);
  const V inverse = set(levels.inverse), zero = set(levels.zero), back_zero = set(levels.back_zero);
  const V low = set(levels.low), high = set(levels.high), scale = set(levels.scale);
  map_span(in, out, count, [&](V x) HWY_ATTR {
    const V scaled = hn::Mul(x, inverse);
    const V bounded = hn::Min(hn::Max(scaled, low), high);
    const V rounded = hn::Sub(hn::Add(bounded, whole), whole);
    const V level = hn::IfThenElseZero(hn::Eq(scaled, scaled), hn::Add(rounded, zero));
    return hn::Mul(hn::Sub(level, back_zero), scale);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(round_span);

void round_to_levels(const float* in, int64_t count, const Levels& levels, float* out,
                     ThreadPool* pool) {
  constexpr int64_t kSpan = int64_t{1} << 14;
  run_tasks(pool, (count + kSpan - 1) / kSpan, [&](int64_t task, int) {
    const int64_t begin = task * kSpan;
    PT2_DISPATCH(round_span)(in + begin, std::min(kSpan, count - begin), levels, out + begin);
  });
}

}  // namespace pt2::kernels
#endif
