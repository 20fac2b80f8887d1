// Convolutions of floats over one or two dimensions, by src/kernels.
#ifndef PT2_OPS_LINEAR_CONVOLUTION_FLOAT_CONVOLUTION_H
#define PT2_OPS_LINEAR_CONVOLUTION_FLOAT_CONVOLUTION_H

#include "ops/linear/convolution/convolution.h"

namespace pt2::ops {

// Whether convolve_images can compute it: not transposed, not volumetric, not empty.
bool is_of_images(const Tensor& out, const Tensor& input, const Tensor& weight,
                  const ConvolutionShape& shape);

// As convolve(), for dtypes whose compute type is float.
void convolve_images(Tensor& out, const Tensor& input, const Tensor& weight,
                     const std::optional<Tensor>& bias, const ConvolutionShape& shape);

// The same for transposed convolutions, over three dimensions, too.
void convolve_transposed_images(Tensor& out, const Tensor& input, const Tensor& weight,
                                const std::optional<Tensor>& bias, const ConvolutionShape& shape);

// Adds to gradient[r, w, k] the sum over images and positions of rows[n, r, position] times the
// element of windows[n, w, ...] that position k of the kernel covers there; all are row-major, over
// one dimension or two.
void add_weight_gradient(float* gradient, const Sizes& sizes, const Tensor& rows,
                         const Tensor& windows, const ConvolutionShape& shape);

}  // namespace pt2::ops

#endif  // PT2_OPS_LINEAR_CONVOLUTION_FLOAT_CONVOLUTION_H
