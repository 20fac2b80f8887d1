// Convolutions of random sizes and layouts, compared with a plain loop in double.
#ifndef PT2_TESTS_KERNELS_CONVOLUTION_CASE_H
#define PT2_TESTS_KERNELS_CONVOLUTION_CASE_H

#include "kernels/images/convolution.h"
#include "kernels/kernel_test.h"

namespace pt2::kernels::test {

struct ConvolutionCase {
  Convolution shape;
  Images images;
  Epilogue epilogue;
  int64_t out_stride = 0;
  std::vector<float> input, kernels, packed, bias, addend, out;

  // Draws sizes near the given ones, and everything else at random.
  ConvolutionCase(Random& random, int64_t groups, int64_t in_channels, int64_t out_channels,
                  bool planar, int64_t kernel, int64_t size)
      : ConvolutionCase(
            random, random_shape(random, groups, in_channels, out_channels, planar, kernel, size)) {
  }

  ConvolutionCase(Random& random, const Convolution& convolution) : shape(convolution) {
    lay_out_images(random);
    kernels = random.numbers(shape.out_channels * (shape.in_channels / shape.groups) *
                             shape.kernel_height * shape.kernel_width);
    out_stride = shape.out_channels + random.whole(0, 1) * 3;
    out = random.numbers(pixels() * out_stride);
    bias = random.numbers(shape.out_channels);
    if (random.whole(0, 1) == 1) epilogue.bias = bias.data();
    if (random.whole(0, 2) == 0) {
      epilogue.addend_stride = shape.out_channels + random.whole(0, 3);
      addend = random.numbers(pixels() * epilogue.addend_stride);
      epilogue.addend = addend.data();
    }
    if (random.whole(0, 1) == 1) epilogue.activation = Activation::relu6;
  }

  static Convolution random_shape(Random& random, int64_t groups, int64_t in_channels,
                                  int64_t out_channels, bool planar, int64_t kernel, int64_t size) {
    Convolution shape;
    shape.batch = random.whole(1, 2);
    shape.groups = groups;
    shape.in_channels = groups * in_channels;
    shape.out_channels = groups * out_channels;
    shape.planar = planar;
    choose(random, kernel, size, shape.kernel_height, shape.stride_y, shape.dilation_y,
           shape.pad_top, shape.in_height, shape.out_height);
    choose(random, kernel, size, shape.kernel_width, shape.stride_x, shape.dilation_x,
           shape.pad_left, shape.in_width, shape.out_width);
    return shape;
  }

  static void choose(Random& random, int64_t most_kernel, int64_t most_size, int64_t& kernel,
                     int64_t& stride, int64_t& dilation, int64_t& pad, int64_t& in, int64_t& out) {
    kernel = random.whole(1, most_kernel);
    const bool plain = kernel == 1 && random.whole(0, 1) == 1;
    stride = plain ? 1 : random.whole(1, 3);
    dilation = random.whole(1, 3) == 3 ? 2 : 1;
    pad = plain ? 0 : random.whole(0, kernel);
    const int64_t reach = dilation * (kernel - 1) + 1;
    in = random.whole(1, most_size);
    const int64_t pad_end = plain ? 0 : std::max(random.whole(0, kernel), reach - in - pad);
    out = (in + pad + pad_end - reach) / stride + 1;
  }

  void lay_out_images(Random& random) {
    if (shape.planar) {
      images.pixel_stride = 1;
      images.row_stride = shape.in_width + random.whole(0, 2);
      images.channel_stride = images.row_stride * shape.in_height;
      images.image_stride = images.channel_stride * shape.in_channels;
    } else {
      images.pixel_stride = shape.in_channels + random.whole(0, 1);
      images.row_stride = images.pixel_stride * shape.in_width + random.whole(0, 1) * 5;
      images.image_stride = images.row_stride * shape.in_height;
    }
    // The memory ends after the last element, so the address sanitizer detects reads beyond it.
    input = random.numbers((shape.batch - 1) * images.image_stride +
                           (shape.in_height - 1) * images.row_stride +
                           (shape.in_width - 1) * images.pixel_stride +
                           (shape.in_channels - 1) * images.channel_stride + 1);
    images.data = input.data();
  }

  int64_t pixels() const { return shape.batch * shape.out_height * shape.out_width; }

  void run(ThreadPool* pool = nullptr) {
    packed.assign(static_cast<size_t>(packed_kernels_size(shape)), NAN);
    pack_kernels(shape, kernels.data(), packed.data(), pool);
    convolve(shape, operands(), pool);
  }
  ConvolutionOperands operands() {
    return {images, packed.data(), out.data(), out_stride, epilogue};
  }

  double expected(int64_t pixel, int64_t channel, double& magnitude) const {
    const int64_t x = pixel % shape.out_width;
    const int64_t y = pixel / shape.out_width % shape.out_height;
    const int64_t image = pixel / shape.out_width / shape.out_height;
    const int64_t depth = shape.in_channels / shape.groups;
    const int64_t first = channel / (shape.out_channels / shape.groups) * depth;
    double sum = epilogue.bias != nullptr ? bias[static_cast<size_t>(channel)] : 0.0;
    for (int64_t c = 0; c < depth; ++c)
      for (int64_t ky = 0; ky < shape.kernel_height; ++ky)
        for (int64_t kx = 0; kx < shape.kernel_width; ++kx) {
          const int64_t in_y = y * shape.stride_y - shape.pad_top + ky * shape.dilation_y;
          const int64_t in_x = x * shape.stride_x - shape.pad_left + kx * shape.dilation_x;
          if (in_y < 0 || in_y >= shape.in_height || in_x < 0 || in_x >= shape.in_width) continue;
          const int64_t at = image * images.image_stride + in_y * images.row_stride +
                             in_x * images.pixel_stride + (first + c) * images.channel_stride;
          const int64_t weight =
              ((channel * depth + c) * shape.kernel_height + ky) * shape.kernel_width + kx;
          const double term =
              double{input[static_cast<size_t>(at)]} * kernels[static_cast<size_t>(weight)];
          sum += term;
          magnitude += std::abs(term);
        }
    if (epilogue.addend != nullptr)
      sum += addend[static_cast<size_t>(pixel * epilogue.addend_stride + channel)];
    return epilogue.activation == Activation::relu6 ? std::clamp(sum, 0.0, 6.0) : sum;
  }

  void check(const std::vector<float>& before) const {
    for (int64_t pixel = 0; pixel < pixels(); ++pixel)
      for (int64_t i = 0; i < out_stride; ++i) {
        const auto at = static_cast<size_t>(pixel * out_stride + i);
        if (i >= shape.out_channels) {
          ASSERT_EQ(out[at], before[at]) << "between pixels";
          continue;
        }
        double magnitude = 1;
        const double value = expected(pixel, i, magnitude);
        ASSERT_TRUE(close_to(out[at], value, magnitude * 1e-6))
            << "pixel " << pixel << " channel " << i << ": " << out[at] << ", expected " << value;
      }
  }
};

}  // namespace pt2::kernels::test

#endif  // PT2_TESTS_KERNELS_CONVOLUTION_CASE_H
