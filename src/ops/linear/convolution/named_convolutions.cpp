// Convolutions under the names of PyTorch's specialised kernels.
#include <algorithm>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/linear/convolution/convolution.h"
#include "ops/op_def.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

Result<void> check_kernel(const Tensor& weight, const Sizes& kernel_size) {
  if (weight.dim() == static_cast<int64_t>(kernel_size.size()) + 2 &&
      std::equal(kernel_size.begin(), kernel_size.end(), weight.sizes().begin() + 2))
    return {};
  return operator_error("kernel_size: found " + sizes_text(kernel_size) + " for weight " +
                        weight.type_text() + ", expected the last sizes of weight");
}
// A list of `number` (0 or 1) for each spatial dim.
Value repeated(const Sizes& like, int64_t number) {
  return Value(Value::List(like.size(), Value(number)));
}
struct Geometry {
  Sizes stride;
  Sizes padding;
  Sizes dilation;
  Sizes output_padding;
};
Result<Meta> meta_as(const Tensor& self, const Tensor& weight, const Sizes& kernel_size,
                     const OptionalTensor& bias, const Geometry& geometry, bool transposed,
                     int64_t groups) {
  PT2_TRY_VOID(check_kernel(weight, kernel_size));
  auto or_default = [&](const Sizes& sizes, int64_t number) {
    return sizes.empty() ? Sizes(kernel_size.size(), number) : sizes;
  };
  PT2_TRY(
      const ConvolutionShape shape,
      convolution_shape(self, geometry.stride, geometry.padding, or_default(geometry.dilation, 1),
                        transposed, or_default(geometry.output_padding, 0), groups));
  return convolution_meta(self, weight, bias, shape);
}
Result<Tensor> convolve_as(const Tensor& self, const Tensor& weight, const Sizes& kernel_size,
                           const OptionalTensor& bias, const Geometry& geometry, bool transposed,
                           int64_t groups) {
  PT2_TRY_VOID(check_kernel(weight, kernel_size));
  auto or_default = [&](const Sizes& sizes, int64_t number) {
    return sizes.empty() ? repeated(kernel_size, number) : box(sizes);
  };
  return apply(aten<"convolution.default">,
               {self, weight, box(bias), box(geometry.stride), box(geometry.padding),
                or_default(geometry.dilation, 1), transposed,
                or_default(geometry.output_padding, 0), groups});
}

Result<Tensor> plain(Emitter& e, const Tensor& self, const Tensor& weight, const Sizes& kernel_size,
                     const OptionalTensor& bias, const Sizes& stride, const Sizes& padding) {
  PT2_TRY_VOID(check_kernel(weight, kernel_size));
  return e(aten<"convolution.default">,
           {self, weight, bias, stride, padding, Sizes(kernel_size.size(), 1), false,
            Sizes(kernel_size.size(), 0), 1});
}
Result<Meta> dilated_meta(const Tensor& self, const Tensor& weight, const Sizes& kernel_size,
                          const OptionalTensor& bias, const Sizes& stride, const Sizes& padding,
                          const Sizes& dilation) {
  return meta_as(self, weight, kernel_size, bias, {stride, padding, dilation, {}}, false, 1);
}
Result<Tensor> dilated(const Tensor& self, const Tensor& weight, const Sizes& kernel_size,
                       const OptionalTensor& bias, const Sizes& stride, const Sizes& padding,
                       const Sizes& dilation) {
  return convolve_as(self, weight, kernel_size, bias, {stride, padding, dilation, {}}, false, 1);
}
Result<Meta> depthwise_meta(const Tensor& self, const Tensor& weight, const Sizes& kernel_size,
                            const OptionalTensor& bias, const Sizes& stride, const Sizes& padding,
                            const Sizes& dilation) {
  PT2_TRY_VOID(check_rank_at_least(self, 3, "self"));
  return meta_as(self, weight, kernel_size, bias, {stride, padding, dilation, {}}, false,
                 self.size(1));
}
Result<Tensor> depthwise(const Tensor& self, const Tensor& weight, const Sizes& kernel_size,
                         const OptionalTensor& bias, const Sizes& stride, const Sizes& padding,
                         const Sizes& dilation) {
  PT2_TRY_VOID(check_rank_at_least(self, 3, "self"));
  return convolve_as(self, weight, kernel_size, bias, {stride, padding, dilation, {}}, false,
                     self.size(1));
}
Result<Meta> transposed_meta(const Tensor& self, const Tensor& weight, const Sizes& kernel_size,
                             const OptionalTensor& bias, const Sizes& stride, const Sizes& padding,
                             const Sizes& output_padding, const Sizes& dilation) {
  return meta_as(self, weight, kernel_size, bias, {stride, padding, dilation, output_padding}, true,
                 1);
}
Result<Tensor> transposed(const Tensor& self, const Tensor& weight, const Sizes& kernel_size,
                          const OptionalTensor& bias, const Sizes& stride, const Sizes& padding,
                          const Sizes& output_padding, const Sizes& dilation) {
  return convolve_as(self, weight, kernel_size, bias, {stride, padding, dilation, output_padding},
                     true, 1);
}
// `self` is [time, batch, channels], `weight` is [width, in, out].
Result<Meta> conv_tbc_meta(const Tensor& self, const Tensor& weight, const Tensor& bias,
                           int64_t pad) {
  PT2_TRY_VOID(check_rank(self, 3, "self"));
  PT2_TRY_VOID(check_rank(weight, 3, "weight"));
  PT2_TRY(const Tensor input, permute(self, {1, 2, 0}));
  PT2_TRY(const Tensor kernel, permute(weight, {2, 1, 0}));
  PT2_TRY(const ConvolutionShape shape, convolution_shape(input, {1}, {pad}, {1}, false, {0}, 1));
  PT2_TRY(const Meta out, convolution_meta(input, kernel, bias, shape));
  return Meta(out.dtype, {out.sizes[2], out.sizes[0], out.sizes[1]});
}
Result<Tensor> conv_tbc(const Tensor& self, const Tensor& weight, const Tensor& bias, int64_t pad) {
  PT2_TRY_VOID(check_rank(self, 3, "self"));
  PT2_TRY_VOID(check_rank(weight, 3, "weight"));
  PT2_TRY(const Tensor input, apply(aten<"permute.default">, {self, box(Sizes{1, 2, 0})}));
  PT2_TRY(const Tensor kernel, apply(aten<"permute.default">, {weight, box(Sizes{2, 1, 0})}));
  PT2_TRY(const Tensor out,
          apply(aten<"conv1d.default">, {input, kernel, bias, box(Sizes{1}), box(Sizes{pad})}));
  PT2_TRY(const Tensor back, apply(aten<"permute.default">, {out, box(Sizes{2, 0, 1})}));
  return apply(aten<"contiguous.default">, {back});
}

// clang-format off
constexpr OpDef kNamedConvolutionsOps[] = {
    op<"aten::thnn_conv2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0]) -> Tensor", plain>,
    op<"aten::_slow_conv2d_forward(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias, SymInt[2] stride, SymInt[2] padding) -> Tensor", plain>,
    op<"aten::slow_conv3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0]) -> Tensor", plain>,
    op<"aten::slow_conv3d_forward(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias, SymInt[3] stride, SymInt[3] padding) -> Tensor", plain>,
    composed<"aten::slow_conv_dilated2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1]) -> Tensor", dilated_meta, dilated>,
    composed<"aten::slow_conv_dilated3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1]) -> Tensor", dilated_meta, dilated>,
    composed<"aten::_conv_depthwise2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias, SymInt[2] stride, SymInt[2] padding, SymInt[2] dilation) -> Tensor", depthwise_meta, depthwise>,
    composed<"aten::conv_depthwise3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias, SymInt[3] stride, SymInt[3] padding, SymInt[3] dilation) -> Tensor", depthwise_meta, depthwise>,
    composed<"aten::slow_conv_transpose2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt[2] dilation=[1, 1]) -> Tensor", transposed_meta, transposed>,
    composed<"aten::slow_conv_transpose3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1]) -> Tensor", transposed_meta, transposed>,
    composed<"aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor", conv_tbc_meta, conv_tbc>.with({.autocast = AutocastRule::lower_precision}),
};
// clang-format on

}  // namespace

std::span<const OpDef> named_convolutions_ops() { return kNamedConvolutionsOps; }

}  // namespace pt2::ops
