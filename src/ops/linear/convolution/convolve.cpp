// The convolution kernel: a matrix product whose right operand is the input's windows, gathered
// while packing.
#include <algorithm>

#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/linear/convolution/convolution.h"
#include "ops/linear/convolution/float_convolution.h"
#include "ops/linear/convolution/window_operand.h"
#include "ops/loops.h"
#include "ops/memory_format.h"
#include "ops/pointwise/pointwise.h"

namespace pt2::ops {
namespace {

template <class C>
void add_bias(C* out, const C* bias, int64_t channels, int64_t area) {
  for (int64_t channel = 0; channel < channels; ++channel)
    for (int64_t i = 0; i < area; ++i) {
      C& element = out[channel * area + i];
      element = plus(element, bias[channel]);
    }
}

// Computes one output channel, adding a row of inputs for each kernel element. With so few
// channels, most of a product's tiles would be empty.
template <class C>
void convolve_channel(C* y, const Window& sizes, const C* image, const Window& in, int64_t channels,
                      const C* weight, const Window& kernel, const ConvolutionShape& shape) {
  std::fill_n(y, product(sizes), C{});
  const int64_t step = shape.stride[2];
  for (int64_t channel = 0; channel < channels; ++channel, image += product(in))
    for (int64_t k = 0; k < product(kernel); ++k) {
      const C factor = *weight++;
      join_rows(sizes, in, place_in(kernel, k), shape,
                [&](int64_t to, int64_t from, int64_t count) {
                  C* sums = y + to;
                  const C* row = image + from;
                  if (step == 1)
                    for (int64_t i = 0; i < count; ++i)
                      sums[i] = plus_product(sums[i], factor, row[i]);
                  else
                    for (int64_t i = 0; i < count; ++i)
                      sums[i] = plus_product(sums[i], factor, row[i * step]);
                });
    }
}

// `y` is the dense result, with the sizes of `out`.
template <class C>
void convolve_windows(C* y, const Tensor& out, const Tensor& input, const Tensor& weight,
                      const ConvolutionShape& shape) {
  // Longer sums are better computed in blocks, by gemm.
  constexpr int64_t kFewChannels = 2, kShortSum = 128;
  const Window in = spatial_sizes(input, shape.spatial);
  const Window sizes = spatial_sizes(out, shape.spatial);
  const Window kernel = spatial_sizes(weight, shape.spatial);
  const int64_t groups = shape.groups;
  const int64_t in_channels = input.size(1) / groups;
  const int64_t out_channels = out.size(1) / groups;
  const int64_t area = product(kernel);
  const int64_t depth = in_channels * area;
  const Input<C> x(input);
  const Input<C> w(weight);
  // Row o of the left matrix is the kernel of output channel o.
  for (int64_t group = 0; group < groups; ++group) {
    const C* left = w.data() + group * out_channels * depth;
    const MatrixOperand<C> rows(left, depth, 1);
    for (int64_t n = 0; n < input.size(0); ++n) {
      const C* image = x.data() + (n * groups + group) * in_channels * product(in);
      C* target = y + (n * groups + group) * out_channels * product(sizes);
      if (out_channels <= kFewChannels && depth <= kShortSum) {
        MemoryAccount::count_loops({out_channels, product(sizes), depth},
                                   MemoryAccount::kScalarSteps);
        for (int64_t o = 0; o < out_channels; ++o)
          convolve_channel(target + o * product(sizes), sizes, image, in, in_channels,
                           left + o * depth, kernel, shape);
        continue;
      }
      gemm<C>(out_channels, product(sizes), depth, rows,
              WindowOperand<C>(image, in, sizes, kernel, shape), target, product(sizes), 1);
    }
  }
}

// Adds the contributions of all input positions through kernel position `k` to the output positions
// under it.
template <class C>
void scatter(const C* from, const Window& in, const Window& k, const ConvolutionShape& shape, C* to,
             const Window& out) {
  join_rows(in, out, k, shape, [&](int64_t i, int64_t j, int64_t count) {
    for (int64_t w = 0; w < count; ++w) {
      C& target = to[j + w * shape.stride[2]];
      target = plus(target, from[i + w]);
    }
  });
}

// A product of the kernels with the input gives the contribution of each input position to its
// window of the output (at::native::slow_conv_transpose2d, with its col2im).
template <class C>
void convolve_transposed(C* y, const Tensor& out, const Tensor& input, const Tensor& weight,
                         const ConvolutionShape& shape) {
  constexpr int64_t kMostElements = 1 << 20;
  const Window in = spatial_sizes(input, shape.spatial), sizes = spatial_sizes(out, shape.spatial);
  const Window kernel = spatial_sizes(weight, shape.spatial);
  const int64_t groups = shape.groups, area = product(kernel), positions = product(in);
  const int64_t in_channels = input.size(1) / groups, out_channels = out.size(1) / groups;
  const int64_t lines = out_channels * area;
  const Input<C> x(input);
  const Input<C> w(weight);
  std::fill_n(y, out.numel(), C{});
  const int64_t together =
      std::clamp<int64_t>(kMostElements / std::max<int64_t>(positions * area, 1), 1, out_channels);
  Scratch<C> made(static_cast<size_t>(together * area * positions));
  const auto operand = [](const C* data, int64_t depth_stride) {
    return MatrixOperand<C>(data, 1, depth_stride);
  };
  for (int64_t n = 0; n < input.size(0); ++n)
    for (int64_t group = 0; group < groups; ++group) {
      const C* image = x.data() + (n * groups + group) * in_channels * positions;
      C* target = y + (n * groups + group) * out_channels * product(sizes);
      for (int64_t o = 0; o < out_channels; o += together) {
        const int64_t channels = std::min(together, out_channels - o);
        gemm<C>(channels * area, positions, in_channels,
                operand(w.data() + group * in_channels * lines + o * area, lines),
                operand(image, positions), made.data(), positions, 1);
        const C* next = made.data();
        for (int64_t channel = o; channel < o + channels; ++channel)
          for (int64_t k = 0; k < area; ++k, next += positions)
            scatter(next, in, place_in(kernel, k), shape, target + channel * product(sizes), sizes);
      }
    }
}

template <class C>
void convolve_as(Tensor& out, const Tensor& input, const Tensor& weight,
                 const std::optional<Tensor>& bias, const ConvolutionShape& shape) {
  Output<C> y(out);
  if (shape.transposed)
    convolve_transposed(y.data(), out, input, weight, shape);
  else
    convolve_windows(y.data(), out, input, weight, shape);
  if (!bias) return;
  const Input<C> b(*bias);
  const int64_t image = out.numel() / out.size(0);
  for (int64_t n = 0; n < out.size(0); ++n)
    add_bias(y.data() + n * image, b.data(), out.size(1), image / out.size(1));
}

Result<int64_t> output_size(const ConvolutionShape& shape, size_t dim, int64_t in, int64_t kernel) {
  PT2_TRY(const int64_t reach, multiply_add(shape.dilation[dim], kernel - 1, 1));
  if (shape.transposed) {
    PT2_TRY(const int64_t spread, multiply_add(in - 1, shape.stride[dim], reach));
    PT2_TRY(const int64_t padding, multiply_add(shape.padding[dim], -2, shape.output_padding[dim]));
    PT2_TRY(const int64_t size, multiply_add(spread, 1, padding));
    if (size < 1)
      return operator_error("the output size of dim " + std::to_string(dim) + " is " +
                            std::to_string(size) + ", expected at least 1");
    return size;
  }
  PT2_TRY(const int64_t before, multiply_add(in, 1, shape.padding[dim]));
  PT2_TRY(const int64_t padded, multiply_add(before, 1, shape.padding_end[dim]));
  if (padded < reach)
    return operator_error("the padded input has " + std::to_string(padded) +
                          " elements along a dimension, expected at least the kernel's " +
                          std::to_string(reach));
  return (padded - reach) / shape.stride[dim] + 1;
}

Result<void> check_channels(const Tensor& input, const Tensor& weight,
                            const std::optional<Tensor>& bias, const ConvolutionShape& shape) {
  const int64_t groups = shape.groups;
  if (groups < 1)
    return operator_error("groups: found " + std::to_string(groups) + ", expected at least 1");
  if (weight.size(0) < groups || weight.size(0) % groups != 0)
    return operator_error("weight: found " + weight.type_text() +
                          ", expected a first size that is a multiple of " +
                          std::to_string(groups) + " groups");
  const int64_t expected = shape.transposed ? weight.size(0) : weight.size(1) * groups;
  if (input.size(1) != expected)
    return operator_error("input: found " + std::to_string(input.size(1)) + " channels, expected " +
                          std::to_string(expected) + " for weight " + weight.type_text() + " and " +
                          std::to_string(groups) + " groups");
  const int64_t outputs = shape.transposed ? weight.size(1) * groups : weight.size(0);
  if (bias) {
    PT2_TRY_VOID(check_sizes(*bias, {outputs}, "bias"));
    PT2_TRY_VOID(check_same_dtype(*bias, input, "bias"));
  }
  return {};
}

Result<void> check_window(const ConvolutionShape& shape, size_t dim) {
  if (shape.stride[dim] < 1 || shape.dilation[dim] < 1)
    return operator_error("stride and dilation: found " + std::to_string(shape.stride[dim]) +
                          " and " + std::to_string(shape.dilation[dim]) + ", expected at least 1");
  if (shape.padding[dim] < 0 || shape.padding_end[dim] < 0 || shape.output_padding[dim] < 0)
    return operator_error("padding: found a negative number, expected 0 or more");
  if (shape.transposed &&
      shape.output_padding[dim] >= std::max(shape.stride[dim], shape.dilation[dim]))
    return operator_error("output_padding: found " + std::to_string(shape.output_padding[dim]) +
                          ", expected less than stride or dilation");
  return {};
}

// True if the result loses the memory format: PyTorch's own loops over volumes lose it. oneDNN,
// which computes halves and large enough float32 convolutions, keeps it
// (ATen/native/Convolution.cpp use_mkldnn).
bool loses_format(const Tensor& input, const Tensor& weight, const ConvolutionShape& shape) {
  if (shape.spatial != 3 || dtype_size(input.dtype()) == 2) return false;
  if (input.dtype() != Dtype::float32) return true;
  constexpr int64_t kLarge = 20480;
  const bool has_wide_kernel = weight.size(3) > 3 && weight.size(4) > 3;
  const int64_t rows = input.numel() / std::max<int64_t>(input.size(4), 1);
  return !(shape.groups > 1 || has_wide_kernel || input.size(0) > 1 || rows > kLarge);
}

// For conv1d, only the kernel's format counts (ATen/native/Convolution.cpp _convolution).
Sizes result_strides(const Tensor& input, const Tensor& weight, const ConvolutionShape& shape,
                     const Sizes& sizes) {
  if (shape.spatial == 1) return row_strides(sizes, suggest_format_of_rows(weight));
  if (loses_format(input, weight, shape)) return {};
  MemoryFormat format = suggest_memory_format(input);
  if (format == MemoryFormat::contiguous) format = suggest_memory_format(weight);
  return format_strides(sizes, format);
}

}  // namespace

Result<Meta> convolution_meta(const Tensor& input, const Tensor& weight,
                              const std::optional<Tensor>& bias, const ConvolutionShape& shape) {
  PT2_TRY_VOID(check_rank(input, shape.spatial + 2, "input"));
  PT2_TRY_VOID(check_rank(weight, shape.spatial + 2, "weight"));
  PT2_TRY_VOID(check_same_dtype(weight, input, "weight"));
  if (input.dtype() == Dtype::bool_) return operator_error("found bool images, expected numbers");
  PT2_TRY_VOID(check_channels(input, weight, bias, shape));
  const Window in = spatial_sizes(input, shape.spatial);
  const Window kernel = spatial_sizes(weight, shape.spatial);
  Sizes sizes{input.size(0), shape.transposed ? weight.size(1) * shape.groups : weight.size(0)};
  for (auto dim = static_cast<size_t>(3 - shape.spatial); dim < 3; ++dim) {
    PT2_TRY_VOID(check_window(shape, dim));
    if (kernel[dim] < 1)
      return operator_error("weight: found " + weight.type_text() +
                            ", expected a kernel without zeros");
    PT2_TRY(const int64_t size, output_size(shape, dim, in[dim], kernel[dim]));
    sizes.push_back(size);
  }
  if (input.numel() == 0 && input.size(0) != 0)
    return operator_error("input: found " + input.type_text() + ", expected only an empty batch");
  if (!checked_numel(sizes)) return Meta(input.dtype(), std::move(sizes));
  Sizes strides = result_strides(input, weight, shape, sizes);
  return Meta(input.dtype(), std::move(sizes), std::move(strides));
}

void convolve(Tensor& out, const Tensor& input, const Tensor& weight,
              const std::optional<Tensor>& bias, const ConvolutionShape& shape) {
  if (out.numel() == 0) return;
  with_compute_type(out.dtype(), [&]<class C>() {
    if (std::is_same_v<C, float> && is_of_images(out, input, weight, shape))
      return convolve_images(out, input, weight, bias, shape);
    if (std::is_same_v<C, float> && shape.transposed && input.numel() > 0)
      return convolve_transposed_images(out, input, weight, bias, shape);
    convolve_as<C>(out, input, weight, bias, shape);
  });
}

}  // namespace pt2::ops
