// The convolution operators: many ways to write stride, padding and batch.
#include "ops/linear/convolution/convolution.h"

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

// A window of one number per spatial dimension, or of one number for all. Missing leading
// dimensions get `neutral`.
Result<Window> window(const Sizes& values, int64_t spatial, int64_t neutral,
                      std::string_view what) {
  Window out{neutral, neutral, neutral};
  const auto count = static_cast<size_t>(spatial);
  if (values.size() != count && values.size() != 1)
    return operator_error(std::string(what) + ": found " + sizes_text(values) + ", expected " +
                          std::to_string(spatial) + " numbers");
  for (size_t i = 0; i < count; ++i)
    out[3 - count + i] = values.size() == 1 ? values[0] : values[i];
  return out;
}

struct Numbers {
  const Sizes& stride;
  const Sizes& padding;
  const Sizes& dilation;
  const Sizes& output_padding;
};

Result<ConvolutionShape> make_shape(int64_t spatial, const Numbers& numbers, bool transposed,
                                    int64_t groups) {
  ConvolutionShape shape;
  shape.spatial = spatial;
  PT2_TRY(shape.stride, window(numbers.stride, spatial, 1, "stride"));
  PT2_TRY(shape.padding, window(numbers.padding, spatial, 0, "padding"));
  PT2_TRY(shape.dilation, window(numbers.dilation, spatial, 1, "dilation"));
  PT2_TRY(shape.output_padding, window(numbers.output_padding, spatial, 0, "output_padding"));
  shape.padding_end = shape.padding;
  shape.transposed = transposed;
  shape.groups = groups;
  return shape;
}

Result<Meta> convolution_rule(const Tensor& input, const Tensor& weight, const OptionalTensor& bias,
                              const Sizes& stride, const Sizes& padding, const Sizes& dilation,
                              bool transposed, const Sizes& output_padding, int64_t groups) {
  PT2_TRY(const ConvolutionShape shape,
          convolution_shape(input, stride, padding, dilation, transposed, output_padding, groups));
  return convolution_meta(input, weight, bias, shape);
}

Result<void> convolution_kernel(Tensor& out, const Tensor& input, const Tensor& weight,
                                const OptionalTensor& bias, const Sizes& stride,
                                const Sizes& padding, const Sizes& dilation, bool transposed,
                                const Sizes& output_padding, int64_t groups) {
  PT2_TRY(const ConvolutionShape shape,
          convolution_shape(input, stride, padding, dilation, transposed, output_padding, groups));
  convolve(out, input, weight, bias, shape);
  return {};
}

// The shape of a convolution with named padding. "same" keeps the input's size; odd padding puts
// its larger half at the end (ATen/native/Convolution.cpp convolution_same).
Result<ConvolutionShape> named_shape(int64_t spatial, const Tensor& weight, const Sizes& stride,
                                     const std::string& padding, const Sizes& dilation,
                                     int64_t groups) {
  PT2_TRY(ConvolutionShape shape, make_shape(spatial, {stride, {0}, dilation, {0}}, false, groups));
  if (padding == "valid") return shape;
  if (padding != "same")
    return operator_error("padding: found '" + padding + "', expected 'valid' or 'same'");
  PT2_TRY_VOID(check_rank(weight, spatial + 2, "weight"));
  for (int64_t i = 0; i < spatial; ++i) {
    const auto dim = static_cast<size_t>(3 - spatial + i);
    if (shape.stride[dim] != 1)
      return operator_error("stride: found " + std::to_string(shape.stride[dim]) +
                            ", expected 1 with padding 'same'");
    PT2_TRY(const int64_t total, multiply_add(shape.dilation[dim], weight.size(2 + i) - 1));
    shape.padding[dim] = total / 2;
    shape.padding_end[dim] = total - total / 2;
  }
  return shape;
}

// aten.convolution on a batch; a single image becomes a batch of one.
template <int64_t Spatial>
Result<Tensor> convolve(Emitter& e, const Tensor& input, const Tensor& weight,
                        const OptionalTensor& bias, const Sizes& stride, const Sizes& padding,
                        const Sizes& dilation, bool transposed, const Sizes& output_padding,
                        int64_t groups) {
  if (input.dim() != Spatial + 1 && input.dim() != Spatial + 2)
    return operator_error("input: found " + input.type_text() + ", expected " +
                          std::to_string(Spatial + 1) + " or " + std::to_string(Spatial + 2) +
                          " dims");
  const bool is_batch = input.dim() == Spatial + 2;
  const auto batch = is_batch ? Result<Tensor>(input) : e(aten<"unsqueeze.default">, {input, 0});
  const auto out = e(aten<"convolution.default">, {batch, weight, bias, stride, padding, dilation,
                                                   transposed, output_padding, groups});
  return is_batch ? out : e(aten<"squeeze.dims">, {out, Sizes{0}});
}

template <int64_t Spatial>
Result<Tensor> conv(Emitter& e, const Tensor& input, const Tensor& weight,
                    const OptionalTensor& bias, const Sizes& stride, const Sizes& padding,
                    const Sizes& dilation, int64_t groups) {
  return convolve<Spatial>(e, input, weight, bias, stride, padding, dilation, false,
                           Sizes(Spatial, 0), groups);
}

template <int64_t Spatial>
Result<Tensor> conv_transpose(Emitter& e, const Tensor& input, const Tensor& weight,
                              const OptionalTensor& bias, const Sizes& stride, const Sizes& padding,
                              const Sizes& output_padding, int64_t groups, const Sizes& dilation) {
  return convolve<Spatial>(e, input, weight, bias, stride, padding, dilation, true, output_padding,
                           groups);
}

// "same" with odd padding puts the larger half at the end. aten.convolution cannot express that, so
// the input is padded first.
template <int64_t Spatial>
Result<Tensor> conv_padding(Emitter& e, const Tensor& input, const Tensor& weight,
                            const OptionalTensor& bias, const Sizes& stride,
                            const std::string& padding, const Sizes& dilation, int64_t groups) {
  PT2_TRY(const ConvolutionShape shape,
          named_shape(Spatial, weight, stride, padding, dilation, groups));
  Sizes before, added;
  bool is_even = true;
  for (size_t dim = 3 - Spatial; dim < 3; ++dim) {
    const int64_t odd = padding == "valid" ? 0 : shape.padding_end[dim] - shape.padding[dim];
    before.push_back(shape.padding[dim]);
    added.insert(added.begin(), {0, odd});
    is_even = is_even && odd == 0;
  }
  const auto padded =
      is_even ? Result<Tensor>(input) : e(aten<"constant_pad_nd.default">, {input, added, 0});
  PT2_TRY(const Tensor whole, padded);
  return conv<Spatial>(e, whole, weight, bias, stride, before, dilation, groups);
}

// The flags only choose among implementations.
template <class... Flags>
Result<Tensor> convolution_with(Emitter& e, const Tensor& input, const Tensor& weight,
                                const OptionalTensor& bias, const Sizes& stride,
                                const Sizes& padding, const Sizes& dilation, bool transposed,
                                const Sizes& output_padding, int64_t groups, Flags...) {
  return e(aten<"convolution.default">,
           {input, weight, bias, stride, padding, dilation, transposed, output_padding, groups});
}
Result<Tensor> convolution_mode(Emitter& e, const Tensor& input, const Tensor& weight,
                                const OptionalTensor& bias, const Sizes& stride,
                                const std::string& padding, const Sizes& dilation, int64_t groups) {
  switch (input.dim()) {
    case 3:
      return conv_padding<1>(e, input, weight, bias, stride, padding, dilation, groups);
    case 4:
      return conv_padding<2>(e, input, weight, bias, stride, padding, dilation, groups);
    case 5:
      return conv_padding<3>(e, input, weight, bias, stride, padding, dilation, groups);
    default:
      return operator_error("input: found " + input.type_text() + ", expected 3 to 5 dims");
  }
}

// clang-format off
constexpr OpDef kConvolutionOps[] = {
    op<"aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
       convolution_rule, convolution_kernel>,
    kept<"aten::_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor",
       convolution_with<bool, bool, bool, bool>>,
    op<"aten::_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, int[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled) -> Tensor",
       convolution_with<bool, bool, bool>>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str padding, SymInt[] dilation, SymInt groups) -> Tensor",
       convolution_mode>,
    op<"aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] dilation=[1], SymInt groups=1) -> Tensor", conv<1>>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], str padding=\"valid\", SymInt[1] dilation=[1], SymInt groups=1) -> Tensor", conv_padding<1>>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor", conv<2>>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], str padding=\"valid\", SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor", conv_padding<2>>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor", conv<3>>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], str padding=\"valid\", SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor", conv_padding<3>>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] output_padding=[0], SymInt groups=1, SymInt[1] dilation=[1]) -> Tensor", conv_transpose<1>>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt groups=1, SymInt[2] dilation=[1, 1]) -> Tensor", conv_transpose<2>>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt groups=1, SymInt[3] dilation=[1, 1, 1]) -> Tensor", conv_transpose<3>>.with({.autocast = AutocastRule::lower_precision}),
};
// clang-format on

}  // namespace

Result<ConvolutionShape> convolution_shape(const Tensor& input, const Sizes& stride,
                                           const Sizes& padding, const Sizes& dilation,
                                           bool transposed, const Sizes& output_padding,
                                           int64_t groups) {
  const int64_t spatial = input.dim() - 2;
  if (spatial < 1 || spatial > 3)
    return operator_error("input: found " + input.type_text() + ", expected 3 to 5 dims");
  return make_shape(spatial, {stride, padding, dilation, output_padding}, transposed, groups);
}

std::span<const OpDef> convolution_ops() { return kConvolutionOps; }

}  // namespace pt2::ops
