#include "kernels/images/byte_resizing.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/images/byte_resizing.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE uint8_t to_byte(int32_t sum, int precision) {
  return static_cast<uint8_t>(std::clamp(sum >> precision, 0, 255));
}

// Plain loops, which compilers vectorize for each target.
void add_byte_lines(const ByteLines& sum, uint8_t* HWY_RESTRICT out) {
  constexpr int64_t kPart = 128;
  const int32_t half = (1 << sum.precision) >> 1;
  int32_t sums[kPart];
  for (int64_t begin = 0; begin < sum.length; begin += kPart) {
    const int64_t count = std::min(kPart, sum.length - begin);
    std::fill_n(sums, count, half);
    for (int64_t k = 0; k < sum.lines_count; ++k) {
      const uint8_t* HWY_RESTRICT line = sum.lines[k] + begin;
      const int32_t weight = sum.weights[k];
      for (int64_t i = 0; i < count; ++i) sums[i] += weight * line[i];
    }
    for (int64_t i = 0; i < count; ++i) out[begin + i] = to_byte(sums[i], sum.precision);
  }
}

void add_byte_taps(const ByteTaps& taps, const uint8_t* row, int64_t count, uint8_t* out) {
  const int32_t half = (1 << taps.precision) >> 1;
#if HWY_TARGET == HWY_SCALAR
  for (int64_t i = 0; i < count; ++i) {
    int32_t sum = half;
    for (int64_t k = 0; k < taps.taps; ++k)
      sum += taps.weights[i * taps.taps + k] * row[taps.first[i] + k];
    out[i] = to_byte(sum, taps.precision);
  }
#else
  const hn::CappedTag<int16_t, kByteTaps> shorts;
  const hn::Rebind<uint8_t, decltype(shorts)> bytes;
  const hn::RepartitionToWide<decltype(shorts)> wide;
  constexpr int64_t kStep = static_cast<int64_t>(hn::MaxLanes(shorts));
  for (int64_t i = 0; i < count; ++i) {
    auto sums = hn::Zero(wide), more = sums;
    for (int64_t k = 0; k < taps.taps; k += kStep) {
      const auto weights = hn::LoadU(shorts, taps.weights + i * taps.taps + k);
      const auto numbers = hn::PromoteTo(shorts, hn::LoadU(bytes, row + taps.first[i] + k));
      sums = hn::ReorderWidenMulAccumulate(wide, weights, numbers, sums, more);
    }
    out[i] = to_byte(hn::GetLane(hn::SumOfLanes(wide, hn::Add(sums, more))) + half, taps.precision);
  }
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(add_byte_lines);
PT2_EXPORT(add_byte_taps);

void sum_byte_lines(const ByteLines& sum, uint8_t* out) { PT2_DISPATCH(add_byte_lines)(sum, out); }
void sum_byte_taps(const ByteTaps& taps, const uint8_t* row, int64_t count, uint8_t* out) {
  PT2_DISPATCH(add_byte_taps)(taps, row, count, out);
}

}  // namespace pt2::kernels
#endif
