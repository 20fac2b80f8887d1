// Normalization of images in groups of channels, separately for each group of each image.
#ifndef PT2_KERNELS_IMAGES_GROUP_NORM_H
#define PT2_KERNELS_IMAGES_GROUP_NORM_H

#include <cstdint>

#include "kernels/activation.h"
#include "kernels/rows.h"
#include "kernels/threads.h"

namespace pt2::kernels {

struct GroupNorm {
  int64_t images = 1;
  int64_t channels = 0;
  int64_t groups = 1;  // divides the channels
  int64_t area = 0;    // pixels of an image
  double epsilon = 0;
  Activation activation = Activation::none;  // applied to the results
  // Receives the moments of each group of each image, unless null.
  RowMoments* moments = nullptr;
};

// Number of floats of scratch.
int64_t group_norm_scratch(const GroupNorm& norm);

// (x - mean) / sqrt(variance + epsilon) * weight + bias. weight and bias have one number per
// channel, or are null. Images are contiguous one after another, and the channels of a pixel are
// contiguous. `out` may be `in`.
void group_norm_channels_last(const GroupNorm& norm, const float* in, const float* weight,
                              const float* bias, float* scratch, float* out,
                              ThreadPool* pool = nullptr);
// The same for planar images: the pixels of a channel are contiguous.
void group_norm_planes(const GroupNorm& norm, const float* in, const float* weight,
                       const float* bias, float* out, ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_IMAGES_GROUP_NORM_H
