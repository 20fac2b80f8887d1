// Pooling of float32 images; both images and results are channels last.
#ifndef PT2_KERNELS_IMAGES_POOLING_H
#define PT2_KERNELS_IMAGES_POOLING_H

#include <cstdint>

#include "kernels/images/convolution.h"
#include "kernels/threads.h"

namespace pt2::kernels {

struct Pooling {
  enum class Kind : uint8_t { maximum, average };
  Kind kind = Kind::maximum;
  int64_t batch = 1;
  int64_t channels = 0;
  int64_t in_height = 1, in_width = 1;
  int64_t out_height = 1, out_width = 1;
  // Windows extend from in * i / out to in * (i + 1) / out, rounded outwards. The fields below for
  // kernel, stride, dilation and padding are then not read.
  bool adaptive = false;
  int64_t kernel_height = 1, kernel_width = 1;
  int64_t stride_y = 1, stride_x = 1;
  int64_t dilation_y = 1, dilation_x = 1;  // 1 for averages
  int64_t pad_y = 0, pad_x = 0;            // on both sides
  // Averages are divided by `divisor`, or, if it is 0, by the size of the window, with padding (but
  // nothing beyond it) or without.
  int64_t divisor = 0;
  bool count_padding = true;
};

// The channels of pixel p begin at out + p * out_stride; images.channel_stride is 1. A maximum is
// NaN if an element of the window is NaN. Every window overlaps the image.
void pool_images(const Pooling& pooling, const Images& images, float* out, int64_t out_stride,
                 ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_IMAGES_POOLING_H
