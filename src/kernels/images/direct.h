// Convolutions of few channels that read windows in place: copying windows into tiles, as products
// do, would take longer than multiplying them. convolve() calls them.
#ifndef PT2_KERNELS_IMAGES_DIRECT_H
#define PT2_KERNELS_IMAGES_DIRECT_H

#include "kernels/images/convolution.h"

namespace pt2::kernels {

bool is_direct(const Convolution& convolution);

// Kernels are packed and sums are added in the same order as for a product; the result is bitwise
// equal to the product's.
void convolve_direct(const Convolution& convolution, const ConvolutionOperands& operands,
                     ThreadPool* pool);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_IMAGES_DIRECT_H
