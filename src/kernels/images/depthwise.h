// Channels-last convolutions with one input and one output channel per group, or four of both;
// convolve() calls them.
#ifndef PT2_KERNELS_IMAGES_DEPTHWISE_H
#define PT2_KERNELS_IMAGES_DEPTHWISE_H

#include "kernels/images/convolution.h"

namespace pt2::kernels {

// Packed kernels are [kernel_height, kernel_width, in_channels / groups, out_channels].
inline bool is_depthwise(const Convolution& convolution) {
  const int64_t groups = convolution.groups, channels = convolution.in_channels;
  return groups > 1 && channels == convolution.out_channels &&
         (channels == groups || channels == 4 * groups) && !convolution.planar;
}

void convolve_depthwise(const Convolution& convolution, const ConvolutionOperands& operands,
                        ThreadPool* pool);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_IMAGES_DEPTHWISE_H
