// 3x3 convolutions of stride 1 by Winograd's minimal filtering F(2x2, 3x3): four adjacent pixels of
// the result take 16 multiplications for each pair of channels instead of 36 (Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks", 2015). The transforms use only sums and halves, so
// errors stay like those of convolve().
//
// If a window holds infinite or huge numbers, differences within it may be NaN or infinite although
// the convolution is not. convolve_winograd() then returns false, and the caller calls convolve().
#ifndef PT2_KERNELS_IMAGES_WINOGRAD_H
#define PT2_KERNELS_IMAGES_WINOGRAD_H

#include "kernels/images/convolution.h"

namespace pt2::kernels {

// True if the convolution can be computed this way and is then faster than by convolve().
bool suits_winograd(const Convolution& convolution);

// The functions below require suits_winograd(). Size of the packed kernels in floats: 16 for the 9
// of each kernel.
int64_t winograd_kernels_size(const Convolution& convolution);

// The operands are those of pack_kernels().
void pack_winograd_kernels(const Convolution& convolution, const float* kernels, float* packed,
                           ThreadPool* pool = nullptr);

// Number of floats of scratch that convolve_winograd() needs with a pool of `threads` threads.
int64_t winograd_scratch_size(const Convolution& convolution, int threads);

// False, with `out` unspecified, if a sum is not finite.
bool convolve_winograd(const Convolution& convolution, const ConvolutionOperands& operands,
                       float* scratch, ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_IMAGES_WINOGRAD_H
