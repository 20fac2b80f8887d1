// Convolutions of floats over one or two dimensions, computed by src/kernels.
#ifndef PT2_OPS_LINEAR_CONVOLUTION_FLOAT_CONVOLUTION_H
#define PT2_OPS_LINEAR_CONVOLUTION_FLOAT_CONVOLUTION_H

#include "ops/linear/convolution/convolution.h"

namespace pt2::ops {

// True if convolve_images can compute the convolution: not transposed, not volumetric, not empty.
bool is_of_images(const Tensor& out, const Tensor& input, const Tensor& weight,
                  const ConvolutionShape& shape);

// Like convolve(), for dtypes whose compute type is float.
void convolve_images(Tensor& out, const Tensor& input, const Tensor& weight,
                     const std::optional<Tensor>& bias, const ConvolutionShape& shape);

// The same for transposed convolutions over one to three dimensions.
void convolve_transposed_images(Tensor& out, const Tensor& input, const Tensor& weight,
                                const std::optional<Tensor>& bias, const ConvolutionShape& shape);

// Adds to gradient[r, w, k] the sum over images and positions of rows[n, r, position] times the
// element of windows[n, w, ...] under kernel position k. All are row-major, over one or two
// dimensions.
void add_weight_gradient(float* gradient, const Sizes& sizes, const Tensor& rows,
                         const Tensor& windows, const ConvolutionShape& shape);

}  // namespace pt2::ops

#endif  // PT2_OPS_LINEAR_CONVOLUTION_FLOAT_CONVOLUTION_H
