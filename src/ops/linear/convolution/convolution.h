// Convolution as a function, for operators that are composed of it.
#ifndef PT2_OPS_LINEAR_CONVOLUTION_CONVOLUTION_H
#define PT2_OPS_LINEAR_CONVOLUTION_CONVOLUTION_H

#include <array>
#include <optional>

#include "ops/meta.h"

namespace pt2::ops {

// Depth, height and width. With fewer spatial dimensions, the leading ones are neutral.
using Window = std::array<int64_t, 3>;

struct ConvolutionShape {
  int64_t spatial = 2;  // the number of spatial dimensions of the tensors
  Window stride{1, 1, 1};
  Window padding{0, 0, 0};  // at the beginning of each dimension
  Window padding_end{0, 0, 0};
  Window dilation{1, 1, 1};
  Window output_padding{0, 0, 0};
  bool transposed = false;
  int64_t groups = 1;
};

// The shape given by the arguments of aten::convolution: one number per spatial dimension of input,
// or one number for all.
Result<ConvolutionShape> convolution_shape(const Tensor& input, const Sizes& stride,
                                           const Sizes& padding, const Sizes& dilation,
                                           bool transposed, const Sizes& output_padding,
                                           int64_t groups);

// input is [N, C, spatial...]. weight is [O, C / groups, spatial...], or [C, O / groups,
// spatial...] if transposed.
Result<Meta> convolution_meta(const Tensor& input, const Tensor& weight,
                              const std::optional<Tensor>& bias, const ConvolutionShape& shape);
void convolve(Tensor& out, const Tensor& input, const Tensor& weight,
              const std::optional<Tensor>& bias, const ConvolutionShape& shape);

}  // namespace pt2::ops

#endif  // PT2_OPS_LINEAR_CONVOLUTION_CONVOLUTION_H
