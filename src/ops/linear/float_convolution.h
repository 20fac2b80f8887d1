// Convolutions of floats over one or two dimensions, by src/kernels.
#ifndef PT2_OPS_LINEAR_FLOAT_CONVOLUTION_H
#define PT2_OPS_LINEAR_FLOAT_CONVOLUTION_H

#include "ops/linear/convolution.h"

namespace pt2::ops {

// Whether the function below can compute it: not transposed, not volumetric, not empty.
bool is_of_images(const Tensor& out, const Tensor& input, const Tensor& weight,
                  const ConvolutionShape& shape);

// As convolve(), for dtypes whose compute type is float.
void convolve_images(Tensor& out, const Tensor& input, const Tensor& weight,
                     const std::optional<Tensor>& bias, const ConvolutionShape& shape);

}  // namespace pt2::ops

#endif  // PT2_OPS_LINEAR_FLOAT_CONVOLUTION_H
