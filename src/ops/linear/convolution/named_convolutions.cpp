// Convolutions under the names of PyTorch's specialised kernels.
#include <algorithm>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

Result<void> check_kernel(const Tensor& weight, const Sizes& kernel_size) {
  if (weight.dim() == static_cast<int64_t>(kernel_size.size()) + 2 &&
      std::equal(kernel_size.begin(), kernel_size.end(), weight.sizes().begin() + 2))
    return {};
  return operator_error("kernel_size: found " + sizes_text(kernel_size) + " for weight " +
                        weight.type_text() + ", expected the last sizes of weight");
}
struct Geometry {
  Sizes stride;
  Sizes padding;
  Sizes dilation;
  Sizes output_padding;
};
Result<Tensor> convolve_as(Emitter& e, const Tensor& self, const Tensor& weight,
                           const Sizes& kernel_size, const OptionalTensor& bias,
                           const Geometry& geometry, bool transposed, int64_t groups) {
  PT2_TRY_VOID(check_kernel(weight, kernel_size));
  const auto or_default = [&](const Sizes& sizes, int64_t number) {
    return sizes.empty() ? Sizes(kernel_size.size(), number) : sizes;
  };
  return e(aten<"convolution.default">,
           {self, weight, bias, geometry.stride, geometry.padding, or_default(geometry.dilation, 1),
            transposed, or_default(geometry.output_padding, 0), groups});
}

Result<Tensor> plain(Emitter& e, const Tensor& self, const Tensor& weight, const Sizes& kernel_size,
                     const OptionalTensor& bias, const Sizes& stride, const Sizes& padding) {
  return convolve_as(e, self, weight, kernel_size, bias, {stride, padding, {}, {}}, false, 1);
}
Result<Tensor> dilated(Emitter& e, const Tensor& self, const Tensor& weight,
                       const Sizes& kernel_size, const OptionalTensor& bias, const Sizes& stride,
                       const Sizes& padding, const Sizes& dilation) {
  return convolve_as(e, self, weight, kernel_size, bias, {stride, padding, dilation, {}}, false, 1);
}
Result<Tensor> depthwise(Emitter& e, const Tensor& self, const Tensor& weight,
                         const Sizes& kernel_size, const OptionalTensor& bias, const Sizes& stride,
                         const Sizes& padding, const Sizes& dilation) {
  PT2_TRY_VOID(check_rank_at_least(self, 3, "self"));
  return convolve_as(e, self, weight, kernel_size, bias, {stride, padding, dilation, {}}, false,
                     self.size(1));
}
Result<Tensor> transposed(Emitter& e, const Tensor& self, const Tensor& weight,
                          const Sizes& kernel_size, const OptionalTensor& bias, const Sizes& stride,
                          const Sizes& padding, const Sizes& output_padding,
                          const Sizes& dilation) {
  return convolve_as(e, self, weight, kernel_size, bias,
                     {stride, padding, dilation, output_padding}, true, 1);
}
// `self` is [time, batch, channels], `weight` is [width, in, out].
Result<Tensor> conv_tbc(Emitter& e, const Tensor& self, const Tensor& weight, const Tensor& bias,
                        int64_t pad) {
  PT2_TRY_VOID(check_rank(self, 3, "self"));
  PT2_TRY_VOID(check_rank(weight, 3, "weight"));
  const auto input = e(aten<"permute.default">, {self, Sizes{1, 2, 0}});
  const auto kernel = e(aten<"permute.default">, {weight, Sizes{2, 1, 0}});
  const auto out = e(aten<"conv1d.default">, {input, kernel, bias, Sizes{1}, Sizes{pad}});
  return e(aten<"contiguous.default">, {e(aten<"permute.default">, {out, Sizes{2, 0, 1}})});
}

// clang-format off
constexpr OpDef kNamedConvolutionsOps[] = {
    op<"aten::thnn_conv2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0]) -> Tensor", plain>,
    op<"aten::_slow_conv2d_forward(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias, SymInt[2] stride, SymInt[2] padding) -> Tensor", plain>,
    op<"aten::slow_conv3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0]) -> Tensor", plain>,
    op<"aten::slow_conv3d_forward(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias, SymInt[3] stride, SymInt[3] padding) -> Tensor", plain>,
    kept<"aten::slow_conv_dilated2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1]) -> Tensor", dilated>,
    kept<"aten::slow_conv_dilated3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1]) -> Tensor", dilated>,
    kept<"aten::_conv_depthwise2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias, SymInt[2] stride, SymInt[2] padding, SymInt[2] dilation) -> Tensor", depthwise>,
    kept<"aten::conv_depthwise3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias, SymInt[3] stride, SymInt[3] padding, SymInt[3] dilation) -> Tensor", depthwise>,
    kept<"aten::slow_conv_transpose2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt[2] dilation=[1, 1]) -> Tensor", transposed>,
    kept<"aten::slow_conv_transpose3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1]) -> Tensor", transposed>,
    kept<"aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor", conv_tbc>.with({.autocast = AutocastRule::lower_precision}),
};
// clang-format on

}  // namespace

std::span<const OpDef> named_convolutions_ops() { return kNamedConvolutionsOps; }

}  // namespace pt2::ops
