// Which elements of an image, and how much of each, a value between pixels is made of: positions
// along one dimension to places and weights, some points at a time.
#ifndef PT2_KERNELS_POINTS_H
#define PT2_KERNELS_POINTS_H

#include <cstdint>
#include <span>

namespace pt2::kernels {

// Points that are computed at once.
inline constexpr int64_t kPoints = 128;

// Below this, whole numbers and the halves between them are floats.
inline constexpr int64_t kLargestPlaneSize = int64_t{1} << 22;
// Whether the functions below take planes of these sizes: places have 32 bits.
inline bool has_short_offsets(std::span<const int64_t> sizes) {
  int64_t elements = 1;
  for (const int64_t size : sizes) {
    if (size >= kLargestPlaneSize) return false;
    elements *= size;
    if (elements > INT32_MAX) return false;
  }
  return true;
}

// What points take along one dimension: up to four places, negative outside of the image.
struct PointTaps {
  int32_t index[4][kPoints];
  float weight[4][kPoints];
};

// The places around positions, and their shares. What is far from the image,
// or no number, takes places outside; shares of what is infinite or no number are NaN.
void linear_taps(const float* positions, int64_t count, int64_t size, PointTaps& taps);
// The nearest place, halves to even ones.
void nearest_taps(const float* positions, int64_t count, int64_t size, PointTaps& taps);

// Coordinates from -1 to 1 as positions, in place: of the first and last pixels' centres where
// corners are aligned, else of their outer edges.
void place_points(float* coordinates, int64_t count, int64_t size, bool align_corners);
// Positions beyond the first and last pixel become these, and NaN becomes `nan`.
void clip_points(float* positions, int64_t count, int64_t size, float nan);

// offset[p] = offset[p] * size + index[p], negative where one of them is, and weight[p] *=
// factor[p].
void combine_taps(const int32_t* index, const float* factor, int64_t count, int64_t size,
                  int32_t* offset, float* weight);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_POINTS_H
