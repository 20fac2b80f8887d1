// 3x3 convolutions of stride 1 by Winograd's minimal filtering F(2x2, 3x3): four neighbouring
// pixels of the result take 16 multiplications for each pair of channels instead of 36 (Lavin and
// Gray, "Fast Algorithms for Convolutional Neural Networks", 2015). Windows and kernels are
// transformed by sums and halves alone, so that errors stay those of convolve().
//
// Where a window holds infinite or huge numbers, differences within it have no value although the
// convolution has one: convolve_winograd() then says so, and the caller convolves.
#ifndef PT2_KERNELS_IMAGES_WINOGRAD_H
#define PT2_KERNELS_IMAGES_WINOGRAD_H

#include "kernels/images/convolution.h"

namespace pt2::kernels {

// Whether it can be computed so, and is then faster than by convolve().
bool suits_winograd(const Convolution& convolution);

// The rest is for convolutions that suit. How many floats the packed kernels take: 16 for the 9 of
// each kernel.
int64_t winograd_kernels_size(const Convolution& convolution);

// Operands as those of pack_kernels().
void pack_winograd_kernels(const Convolution& convolution, const float* kernels, float* packed,
                           ThreadPool* pool = nullptr);

// How many floats of scratch convolve_winograd() needs with a pool of `threads`.
int64_t winograd_scratch_size(const Convolution& convolution, int threads);

// False, with `out` unspecified, where a sum is not finite.
bool convolve_winograd(const Convolution& convolution, const ConvolutionOperands& operands,
                       float* scratch, ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_IMAGES_WINOGRAD_H
