#include "ops/linear/convolution/float_convolution.h"

#include <utility>

#include "base/memory_account.h"
#include "kernels/images/convolution.h"
#include "kernels/images/transposed.h"
#include "kernels/layouts.h"
#include "ops/dense.h"
#include "ops/linear/convolution/window_operand.h"

namespace pt2::ops {
namespace {

// A stride or dilation; 1 if there is nothing to step to, because then it may be any number.
int64_t step_among(int64_t count, int64_t step) { return count > 1 ? step : 1; }

// Up to this number of channels, transposing costs more than reading them in place.
constexpr int64_t kFewChannels = 4;

// The columns of a matrix as rows: moves the channels of planes to the end, or back.
void turn(int64_t rows, int64_t columns, const float* from, float* to) {
  kernels::turn({.rows = rows, .columns = columns, .from_stride = columns, .to_stride = rows}, from,
                to);
}

// Planes of `area` pixels: in place, or channels-last in `turned` if it is not null.
kernels::Images read_images(const float* planes, int64_t channels, int64_t area, int64_t width,
                            float* turned) {
  if (turned == nullptr)
    return {.data = planes, .row_stride = width, .pixel_stride = 1, .channel_stride = area};
  turn(channels, area, planes, turned);
  return {.data = turned,
          .row_stride = width * channels,
          .pixel_stride = channels,
          .channel_stride = 1};
}

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
      .stride_y = step_among(sizes[1], shape.stride[1]),
      .stride_x = step_among(sizes[2], shape.stride[2]),
      .dilation_y = step_among(kernel[1], shape.dilation[1]),
      .dilation_x = step_among(kernel[2], shape.dilation[2]),
      .pad_top = shape.padding[1],
      .pad_left = shape.padding[2],
      .groups = shape.groups,
      .planar = in_channels <= kFewChannels && shape.groups == 1,
  };
  MemoryAccount::count_products({out.numel(), weight.numel() / channels}, channels);
  const Input<float> x(input), w(weight);
  Output<float> y(out);
  std::optional<Input<float>> b;
  if (bias) b.emplace(*bias);
  AlignedFloats packed(kernels::packed_kernels_size(convolution));
  kernels::pack_kernels(convolution, w.data(), packed.data());
  Scratch<float> turned(static_cast<size_t>(convolution.planar ? 0 : in_channels * in_area));
  Scratch<float> result(static_cast<size_t>(channels * area));
  for (int64_t n = 0; n < input.size(0); ++n) {
    const kernels::Images images =
        read_images(x.data() + n * in_channels * in_area, in_channels, in_area, in[2],
                    convolution.planar ? nullptr : turned.data());
    kernels::convolve(convolution, {.images = images,
                                    .packed = packed.data(),
                                    .out = result.data(),
                                    .out_stride = channels,
                                    .epilogue = {.bias = b ? b->data() : nullptr}});
    turn(area, channels, result.data(), y.data() + n * channels * area);
  }
}

void convolve_transposed_images(Tensor& out, const Tensor& input, const Tensor& weight,
                                const std::optional<Tensor>& bias, const ConvolutionShape& shape) {
  kernels::TransposedConvolution convolution{.in_channels = input.size(1),
                                             .out_channels = out.size(1),
                                             .groups = shape.groups,
                                             .in = spatial_sizes(input, shape.spatial),
                                             .out = spatial_sizes(out, shape.spatial),
                                             .kernel = spatial_sizes(weight, shape.spatial)};
  for (size_t dim = 0; dim < 3; ++dim) {
    convolution.stride[dim] = shape.stride[dim];
    convolution.dilation[dim] = shape.dilation[dim];
    convolution.pad[dim] = shape.padding[dim];
  }
  // One-dimensional signals run along the height.
  if (shape.spatial == 1)
    for (auto* extents : {&convolution.in, &convolution.out, &convolution.kernel,
                          &convolution.stride, &convolution.dilation, &convolution.pad})
      std::swap((*extents)[1], (*extents)[2]);
  const int64_t in_channels = input.size(1), channels = out.size(1);
  const int64_t in_area = product(convolution.in), area = product(convolution.out);
  MemoryAccount::count_products({input.numel(), weight.numel() / in_channels});
  MemoryAccount::count_loops({input.size(0), kernels::gather_work(convolution)}, 1);
  const Input<float> x(input), w(weight);
  Output<float> y(out);
  std::optional<Input<float>> b;
  if (bias) b.emplace(*bias);
  AlignedFloats packed(kernels::packed_transposed_size(convolution));
  kernels::pack_transposed(convolution, w.data(), packed.data());
  AlignedFloats scratch(kernels::transposed_scratch_size(convolution));
  Scratch<float> turned(static_cast<size_t>(in_channels * in_area));
  Scratch<float> result(static_cast<size_t>(channels * area));
  for (int64_t n = 0; n < input.size(0); ++n) {
    turn(in_channels, in_area, x.data() + n * in_channels * in_area, turned.data());
    kernels::convolve_transposed(convolution, turned.data(), packed.data(), b ? b->data() : nullptr,
                                 kernels::Activation::none, result.data(), scratch.data());
    turn(area, channels, result.data(), y.data() + n * channels * area);
  }
}

void add_weight_gradient(float* gradient, const Sizes& sizes, const Tensor& rows,
                         const Tensor& windows, const ConvolutionShape& shape) {
  const Window positions = spatial_sizes(rows, shape.spatial);
  const Window in = spatial_sizes(windows, shape.spatial);
  const int64_t row_channels = rows.size(1) / shape.groups;
  const int64_t channels = windows.size(1) / shape.groups;
  const auto from_end = [&](size_t dim) {
    return shape.spatial < static_cast<int64_t>(dim) ? 1 : sizes[sizes.size() - dim];
  };
  kernels::Convolution convolution{.in_height = in[1],
                                   .in_width = in[2],
                                   .in_channels = channels,
                                   .out_height = positions[1],
                                   .out_width = positions[2],
                                   .out_channels = row_channels,
                                   .kernel_height = from_end(2),
                                   .kernel_width = from_end(1),
                                   .stride_y = step_among(positions[1], shape.stride[1]),
                                   .stride_x = step_among(positions[2], shape.stride[2]),
                                   .dilation_y = step_among(from_end(2), shape.dilation[1]),
                                   .dilation_x = step_among(from_end(1), shape.dilation[2]),
                                   .pad_top = shape.padding[1],
                                   .pad_left = shape.padding[2],
                                   .planar = channels <= kFewChannels};
  const int64_t area = convolution.kernel_height * convolution.kernel_width;
  const int64_t depth = channels * area, pixels = product(in);
  const Input<float> r(rows), x(windows);
  AlignedFloats scratch(kernels::kernel_gradient_scratch());
  // Windows of many channels are gathered faster from channels-last images. The kernel gradients
  // are then channels-last, too.
  const bool turns = !convolution.planar;
  Scratch<float> turned(static_cast<size_t>(turns ? channels * pixels : 0));
  Scratch<float> sums(static_cast<size_t>(turns ? rows.size(1) * depth : 0), 0.0f);
  for (int64_t n = 0; n < rows.size(0); ++n)
    for (int64_t group = 0; group < shape.groups; ++group) {
      const int64_t part = n * shape.groups + group;
      const kernels::Images image = read_images(x.data() + part * channels * pixels, channels,
                                                pixels, in[2], turns ? turned.data() : nullptr);
      float* to = turns ? sums.data() : gradient;
      kernels::add_kernel_gradient(convolution, image,
                                   r.data() + part * row_channels * product(positions),
                                   row_channels, to + group * row_channels * depth, scratch.data());
    }
  for (int64_t row = 0; turns && row < rows.size(1); ++row)
    for (int64_t k = 0; k < depth; ++k)
      gradient[row * depth + k % channels * area + k / channels] +=
          sums[static_cast<size_t>(row * depth + k)];
}

}  // namespace pt2::ops
