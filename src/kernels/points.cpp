// Plain loops without branches, which compilers vectorize for each target.
#include "kernels/points.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/points.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// Returns the floor of a position. Sets `inside` to the position clamped to -2 .. high, so that
// positions far outside the image and NaN give an index outside the image.
HWY_INLINE int32_t whole_part(float position, float high, float& inside) {
  inside = position > -2.0f ? position : -2.0f;
  inside = inside < high ? inside : high;
  const auto whole = static_cast<int32_t>(inside);
  return whole - (static_cast<float>(whole) > inside ? 1 : 0);
}
HWY_INLINE int32_t index_inside(int32_t index, int32_t size) { return index < size ? index : -1; }

void find_linear(const float* HWY_RESTRICT positions, int64_t count, int64_t size,
                 PointTaps& taps) {
  const auto high = static_cast<float>(size + 1);
  const auto end = static_cast<int32_t>(size);
  int32_t* HWY_RESTRICT first = taps.index[0];
  int32_t* HWY_RESTRICT second = taps.index[1];
  float* HWY_RESTRICT rest = taps.weight[0];
  float* HWY_RESTRICT share = taps.weight[1];
  for (int64_t p = 0; p < count; ++p) {
    float inside;
    const int32_t floor = whole_part(positions[p], high, inside);
    const float nan_or_zero = positions[p] - positions[p];
    const float fraction = inside - static_cast<float>(floor) + nan_or_zero;
    first[p] = index_inside(floor, end);
    second[p] = index_inside(floor + 1, end);
    rest[p] = 1 - fraction;
    share[p] = fraction;
  }
}

void find_nearest(const float* HWY_RESTRICT positions, int64_t count, int64_t size,
                  PointTaps& taps) {
  // Adding this leaves no fraction bits: the sum is rounded, halves to even.
  constexpr float kRounder = 0x1.8p23f;
  const auto high = static_cast<float>(size + 1);
  const auto end = static_cast<int32_t>(size);
  int32_t* HWY_RESTRICT index = taps.index[0];
  for (int64_t p = 0; p < count; ++p) {
    float inside;
    whole_part(positions[p], high, inside);
    index[p] = index_inside(static_cast<int32_t>((inside + kRounder) - kRounder), end);
  }
  std::fill_n(taps.weight[0], count, 1.0f);
}

void place_all(float* HWY_RESTRICT coordinates, int64_t count, int64_t size, bool align_corners) {
  const auto extent = static_cast<float>(size);
  if (align_corners)
    for (int64_t p = 0; p < count; ++p) coordinates[p] = (coordinates[p] + 1) / 2 * (extent - 1);
  else
    for (int64_t p = 0; p < count; ++p) coordinates[p] = ((coordinates[p] + 1) * extent - 1) / 2;
}

void clip_all(float* HWY_RESTRICT positions, int64_t count, int64_t size, float nan) {
  const auto last = static_cast<float>(size - 1);
  for (int64_t p = 0; p < count; ++p) {
    const float position = positions[p];
    const float above = position > 0 ? position : 0.0f;
    const float inside = above < last ? above : last;
    positions[p] = position != position ? nan : inside;
  }
}

void combine_all(const int32_t* HWY_RESTRICT index, const float* HWY_RESTRICT factor, int64_t count,
                 int64_t size, int32_t* HWY_RESTRICT offset, float* HWY_RESTRICT weight) {
  const auto extent = static_cast<int32_t>(size);
  for (int64_t p = 0; p < count; ++p) {
    const int32_t place = offset[p] * extent + index[p];
    offset[p] = (offset[p] | index[p]) < 0 ? -1 : place;
    weight[p] *= factor[p];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(find_linear);
PT2_EXPORT(find_nearest);
PT2_EXPORT(place_all);
PT2_EXPORT(clip_all);
PT2_EXPORT(combine_all);

void linear_taps(const float* positions, int64_t count, int64_t size, PointTaps& taps) {
  PT2_DISPATCH(find_linear)(positions, count, size, taps);
}
void nearest_taps(const float* positions, int64_t count, int64_t size, PointTaps& taps) {
  PT2_DISPATCH(find_nearest)(positions, count, size, taps);
}
void place_points(float* coordinates, int64_t count, int64_t size, bool align_corners) {
  PT2_DISPATCH(place_all)(coordinates, count, size, align_corners);
}
void clip_points(float* positions, int64_t count, int64_t size, float nan) {
  PT2_DISPATCH(clip_all)(positions, count, size, nan);
}
void combine_taps(const int32_t* index, const float* factor, int64_t count, int64_t size,
                  int32_t* offset, float* weight) {
  PT2_DISPATCH(combine_all)(index, factor, count, size, offset, weight);
}

}  // namespace pt2::kernels
#endif
