// Gradients of convolutions. The gradient of the input is another convolution. The gradient of the
// weight is a matrix product of the output gradients and the input's windows.
#include <algorithm>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/linear/convolution/float_convolution.h"
#include "ops/linear/convolution/window_operand.h"
#include "ops/loops.h"
#include "ops/memory_format.h"
#include "ops/op_def.h"
#include "ops/reduction/sums.h"

namespace pt2::ops {
namespace {

// gradient[r, w, k] = sum over images and positions of rows[n, r, position] times the element of
// windows[n, w, ...] under kernel position k.
template <class C>
void weight_gradient(Tensor& gradient, const Tensor& rows, const Tensor& windows,
                     const ConvolutionShape& shape) {
  const Window positions = spatial_sizes(rows, shape.spatial);
  const Window in = spatial_sizes(windows, shape.spatial);
  const Window kernel = spatial_sizes(gradient, shape.spatial);
  const int64_t row_channels = rows.size(1) / shape.groups;
  const int64_t window_channels = windows.size(1) / shape.groups;
  const int64_t columns = window_channels * product(kernel);
  const Input<C> r(rows);
  const Input<C> x(windows);
  Output<C> g(gradient);
  if constexpr (std::is_same_v<C, float>)
    if (shape.spatial <= 2)
      return add_weight_gradient(g.data(), gradient.sizes(), rows, windows, shape);
  std::vector<C> part(static_cast<size_t>(row_channels * columns));
  for (int64_t n = 0; n < rows.size(0); ++n)
    for (int64_t group = 0; group < shape.groups; ++group) {
      const C* left = r.data() + (n * shape.groups + group) * row_channels * product(positions);
      const C* image = x.data() + (n * shape.groups + group) * window_channels * product(in);
      const MatrixOperand<C> lines(left, product(positions), 1);
      const WindowOperand<C> window(image, in, positions, kernel, shape);
      gemm<C>(row_channels, columns, product(positions), lines, TransposedOperand<C>(window),
              part.data(), columns, 1);
      C* target = g.data() + group * row_channels * columns;
      for (size_t i = 0; i < part.size(); ++i) target[i] += part[i];
    }
}

// The convolution with reversed kernels that computes the gradient of the input. Nothing (nullopt)
// for transposed or volumetric convolutions, for strides above 1, or if it would need negative
// padding.
std::optional<ConvolutionShape> turned_around(const ConvolutionShape& shape, const Window& kernel) {
  if (shape.transposed || shape.spatial > 2) return std::nullopt;
  ConvolutionShape out = shape;
  for (size_t dim = 0; dim < 3; ++dim) {
    out.padding[dim] = shape.dilation[dim] * (kernel[dim] - 1) - shape.padding[dim];
    out.padding_end[dim] = out.padding[dim];
    if (shape.stride[dim] != 1 || out.padding[dim] < 0) return std::nullopt;
  }
  return out;
}

// Weights [out, in / groups, ...] as [in, out / groups, ...], with the elements of each kernel in
// reverse order.
Result<Tensor> turned_kernels(const Tensor& weight, int64_t groups) {
  Sizes sizes = weight.sizes();
  const int64_t rows = sizes[0] / groups, columns = sizes[1];
  sizes[0] = columns * groups;
  sizes[1] = rows;
  PT2_TRY(Tensor out, allocate(Meta(weight.dtype(), sizes)));
  const int64_t area = weight.numel() / (rows * groups * columns);
  const Input<float> from(weight);
  Output<float> to(out);
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        for (int64_t i = 0; i < area; ++i)
          to[((g * columns + c) * rows + r) * area + i] =
              from[((g * rows + r) * columns + c) * area + area - 1 - i];
  return out;
}

template <class C>
void bias_gradient(Tensor& gradient, const Tensor& grad_output) {
  const Input<C> g(grad_output);
  Output<C> out(gradient);
  const int64_t channels = grad_output.size(1);
  const int64_t area = g.size() / std::max<int64_t>(grad_output.size(0) * channels, 1);
  std::vector<double> sums(static_cast<size_t>(channels), 0.0);
  for (int64_t row = 0; area > 0 && row < g.size() / area; ++row)
    sums[static_cast<size_t>(row % channels)] +=
        static_cast<double>(sum_row(g.data() + row * area, area));
  for (int64_t c = 0; c < channels; ++c) out[c] = static_cast<C>(sums[static_cast<size_t>(c)]);
}

using ConvolutionGradients = std::tuple<OptionalTensor, OptionalTensor, OptionalTensor>;
using GradientMetas = std::array<Meta, 3>;

// Also describes the gradients that the mask leaves out.
Result<GradientMetas> convolution_backward_meta(const Tensor& grad_output, const Tensor& input,
                                                const Tensor& weight, const std::optional<Sizes>&,
                                                const Sizes& stride, const Sizes& padding,
                                                const Sizes& dilation, bool transposed,
                                                const Sizes& output_padding, int64_t groups,
                                                const std::vector<bool>& output_mask) {
  if (output_mask.size() != 3) return operator_error("output_mask: expected 3 bools");
  PT2_TRY_VOID(check_floating(input, "input"));
  PT2_TRY(ConvolutionShape shape,
          convolution_shape(input, stride, padding, dilation, transposed, output_padding, groups));
  PT2_TRY(const Meta forward, convolution_meta(input, weight, std::nullopt, shape));
  PT2_TRY_VOID(check_sizes(grad_output, forward.sizes, "grad_output"));
  PT2_TRY_VOID(check_same_dtype(grad_output, input, "grad_output"));
  MemoryFormat format = suggest_memory_format(input);
  if (format == MemoryFormat::contiguous) format = suggest_memory_format(weight);
  // As in the forward pass, only the kernel's format counts for conv1d.
  const auto strides_of = [&](const Sizes& sizes) {
    return shape.spatial == 1 ? row_strides(sizes, suggest_format_of_rows(weight))
                              : format_strides(sizes, format);
  };
  return GradientMetas{Meta(input.dtype(), input.sizes(), strides_of(input.sizes())),
                       Meta(weight.dtype(), weight.sizes(), strides_of(weight.sizes())),
                       Meta(weight.dtype(), {grad_output.size(1)})};
}
Result<ConvolutionGradients> convolution_backward(const Tensor& grad_output, const Tensor& input,
                                                  const Tensor& weight,
                                                  const std::optional<Sizes>& bias_sizes,
                                                  const Sizes& stride, const Sizes& padding,
                                                  const Sizes& dilation, bool transposed,
                                                  const Sizes& output_padding, int64_t groups,
                                                  const std::vector<bool>& output_mask) {
  PT2_TRY(const GradientMetas metas,
          convolution_backward_meta(grad_output, input, weight, bias_sizes, stride, padding,
                                    dilation, transposed, output_padding, groups, output_mask));
  PT2_TRY(ConvolutionShape shape,
          convolution_shape(input, stride, padding, dilation, transposed, output_padding, groups));
  ConvolutionGradients out;
  if (output_mask[0]) {
    PT2_TRY(Tensor gradient, allocate(metas[0]));
    const auto around = turned_around(shape, spatial_sizes(weight, shape.spatial));
    if (around && compute_type(input.dtype()) == ComputeType::single) {
      PT2_TRY(const Tensor kernels, turned_kernels(weight, groups));
      convolve(gradient, grad_output, kernels, std::nullopt, *around);
    } else {
      ConvolutionShape backward = shape;
      backward.transposed = !shape.transposed;
      convolve(gradient, grad_output, weight, std::nullopt, backward);
    }
    std::get<0>(out) = gradient;
  }
  if (output_mask[1]) {
    PT2_TRY(Tensor gradient, allocate(metas[1]));
    ConvolutionShape windows = shape;
    windows.transposed = false;
    with_float_compute_type(input.dtype(), [&]<class C>() {
      weight_gradient<C>(gradient, transposed ? input : grad_output,
                         transposed ? grad_output : input, windows);
    });
    std::get<1>(out) = gradient;
  }
  if (output_mask[2]) {
    PT2_TRY(Tensor gradient, allocate(metas[2]));
    with_float_compute_type(input.dtype(),
                            [&]<class C>() { bias_gradient<C>(gradient, grad_output); });
    std::get<2>(out) = gradient;
  }
  return out;
}

Result<ConvolutionGradients> slow_convolution_backward(Emitter& e, const Tensor& grad_output,
                                                       const Tensor& self, const Tensor& weight,
                                                       const Sizes& kernel_size,
                                                       const Sizes& stride, const Sizes& padding,
                                                       const std::vector<bool>& output_mask) {
  PT2_TRY_VOID(check_rank(weight, 4, "weight"));
  if (kernel_size != Sizes{weight.size(2), weight.size(3)})
    return operator_error("kernel_size: found " + sizes_text(kernel_size) + " for a weight of " +
                          weight.type_text());
  return e.several<OptionalTensor, OptionalTensor, OptionalTensor>(
      aten<"convolution_backward.default">,
      {grad_output, self, weight, std::nullopt, stride, padding, Sizes{1, 1}, false, Sizes{0, 0}, 1,
       output_mask});
}

// clang-format off
constexpr OpDef kConvolutionBackwardOps[] = {
    composed<"aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
       convolution_backward_meta, convolution_backward>,
    kept<"aten::_slow_conv2d_backward.output_mask(Tensor grad_output, Tensor self, Tensor weight, SymInt[2] kernel_size, SymInt[2] stride, SymInt[2] padding, bool[3] output_mask) -> (Tensor grad_input, Tensor grad_weight, Tensor grad_bias)", slow_convolution_backward>,
};
// clang-format on

}  // namespace

std::span<const OpDef> convolution_backward_ops() { return kConvolutionBackwardOps; }

}  // namespace pt2::ops
