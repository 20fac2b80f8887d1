#include "ops/linear/float_convolution.h"

#include "base/memory_account.h"
#include "kernels/images/convolution.h"
#include "kernels/layouts.h"
#include "ops/dense.h"
#include "ops/linear/window_operand.h"

namespace pt2::ops {
namespace {

// With so few channels, transposing costs more than reading them in place.
constexpr int64_t kFewChannels = 4;

}  // namespace

bool is_of_images(const Tensor& out, const Tensor& input, const Tensor& weight,
                  const ConvolutionShape& shape) {
  return !shape.transposed && shape.spatial <= 2 && out.numel() > 0 && input.numel() > 0 &&
         weight.numel() > 0;
}

void convolve_images(Tensor& out, const Tensor& input, const Tensor& weight,
                     const std::optional<Tensor>& bias, const ConvolutionShape& shape) {
  const Window in = spatial_sizes(input, shape.spatial), sizes = spatial_sizes(out, shape.spatial),
               kernel = spatial_sizes(weight, shape.spatial);
  const int64_t in_area = product(in), area = product(sizes);
  const int64_t in_channels = input.size(1), channels = out.size(1);
  const kernels::Convolution convolution{
      .in_height = in[1],
      .in_width = in[2],
      .in_channels = in_channels,
      .out_height = sizes[1],
      .out_width = sizes[2],
      .out_channels = channels,
      .kernel_height = kernel[1],
      .kernel_width = kernel[2],
      .stride_y = shape.stride[1],
      .stride_x = shape.stride[2],
      .dilation_y = shape.dilation[1],
      .dilation_x = shape.dilation[2],
      .pad_top = shape.padding[1],
      .pad_left = shape.padding[2],
      .groups = shape.groups,
      .planar = in_channels <= kFewChannels && shape.groups == 1,
  };
  const Input<float> x(input), w(weight);
  Output<float> y(out);
  std::optional<Input<float>> b;
  if (bias) b.emplace(*bias);
  AlignedFloats packed(kernels::packed_kernels_size(convolution));
  kernels::pack_kernels(convolution, w.data(), packed.data());
  Scratch<float> turned(static_cast<size_t>(convolution.planar ? 0 : in_channels * in_area));
  Scratch<float> result(static_cast<size_t>(channels * area));
  for (int64_t n = 0; n < input.size(0); ++n) {
    const float* image = x.data() + n * in_channels * in_area;
    kernels::Images images{
        .data = image, .row_stride = in[2], .pixel_stride = 1, .channel_stride = in_area};
    if (!convolution.planar) {
      kernels::turn({.rows = in_channels,
                     .columns = in_area,
                     .from_stride = in_area,
                     .to_stride = in_channels},
                    image, turned.data());
      images = {.data = turned.data(),
                .row_stride = in[2] * in_channels,
                .pixel_stride = in_channels,
                .channel_stride = 1};
    }
    kernels::convolve(convolution, images, packed.data(), result.data(), channels,
                      {.bias = b ? b->data() : nullptr});
    kernels::turn({.rows = area, .columns = channels, .from_stride = channels, .to_stride = area},
                  result.data(), y.data() + n * channels * area);
  }
}

}  // namespace pt2::ops
