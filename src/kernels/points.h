// Interpolation between pixels: converts positions along one dimension to pixel indices and
// weights, several points at a time.
#ifndef PT2_KERNELS_POINTS_H
#define PT2_KERNELS_POINTS_H

#include <cstdint>
#include <span>

namespace pt2::kernels {

// Points that are computed at a time.
inline constexpr int64_t kPoints = 128;

// Floats represent integers and half-integers below this exactly.
inline constexpr int64_t kLargestPlaneSize = int64_t{1} << 22;
// True if the functions below support planes of these sizes: offsets have 32 bits.
inline bool has_short_offsets(std::span<const int64_t> sizes) {
  int64_t elements = 1;
  for (const int64_t size : sizes) {
    if (size >= kLargestPlaneSize) return false;
    elements *= size;
    if (elements > INT32_MAX) return false;
  }
  return true;
}

// The pixels that contribute to each point along one dimension: up to four indices, negative
// outside the image.
struct PointTaps {
  int32_t index[4][kPoints];
  float weight[4][kPoints];
};

// The two pixels around each position, and their weights. Positions far outside the image and NaN
// give indices outside; the weights of infinite positions and NaN are NaN.
void linear_taps(const float* positions, int64_t count, int64_t size, PointTaps& taps);
// The nearest pixel; halves round to even.
void nearest_taps(const float* positions, int64_t count, int64_t size, PointTaps& taps);

// Converts coordinates from -1 to 1 to positions, in place. -1 and 1 are the centres of the first
// and last pixels if align_corners, else their outer edges.
void place_points(float* coordinates, int64_t count, int64_t size, bool align_corners);
// Clamps positions to the first and last pixel; NaN becomes `nan`.
void clip_points(float* positions, int64_t count, int64_t size, float nan);

// offset[p] = offset[p] * size + index[p], or -1 if one of the two is negative; weight[p] *=
// factor[p].
void combine_taps(const int32_t* index, const float* factor, int64_t count, int64_t size,
                  int32_t* offset, float* weight);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_POINTS_H
