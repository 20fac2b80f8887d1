// Convolutions with one input and one output channel in each group, channels last: what convolve()
// calls for them.
#ifndef PT2_KERNELS_IMAGES_DEPTHWISE_H
#define PT2_KERNELS_IMAGES_DEPTHWISE_H

#include "kernels/images/convolution.h"

namespace pt2::kernels {

// Packed kernels are [kernel_height, kernel_width, channels].
inline bool is_depthwise(const Convolution& convolution) {
  return convolution.groups > 1 && convolution.groups == convolution.in_channels &&
         convolution.groups == convolution.out_channels && !convolution.planar;
}

void convolve_depthwise(const Convolution& convolution, const ConvolutionOperands& operands,
                        ThreadPool* pool);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_IMAGES_DEPTHWISE_H
