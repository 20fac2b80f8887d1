// Convolutions of few channels, whose windows are read where they lie: to copy them into tiles, as
// products have it, would take longer than to multiply them. What convolve() calls for them.
#ifndef PT2_KERNELS_IMAGES_DIRECT_H
#define PT2_KERNELS_IMAGES_DIRECT_H

#include "kernels/images/convolution.h"

namespace pt2::kernels {

bool is_direct(const Convolution& convolution);

// Kernels are packed, and sums added in the same order, as for a product. The result is its to the
// bit.
void convolve_direct(const Convolution& convolution, const ConvolutionOperands& operands,
                     ThreadPool* pool);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_IMAGES_DIRECT_H
