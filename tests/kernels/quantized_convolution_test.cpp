#include "kernels/images/quantized_convolution.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/convolution_case.h"

namespace pt2::kernels {
namespace {

using test::Random;

struct QuantizedImages {
  Convolution shape;
  QuantizedConvolution operands;
  std::vector<uint8_t> images;
  std::vector<int8_t> kernels, packed;
  std::vector<float> factors, bias, addend, out, scratch;

  QuantizedImages(Random& random, const Convolution& convolution) : shape(convolution) {
    images.resize(
        static_cast<size_t>(shape.batch * shape.in_height * shape.in_width * shape.in_channels));
    for (uint8_t& level : images) level = static_cast<uint8_t>(random.whole(0, 255));
    kernels.resize(static_cast<size_t>(shape.out_channels * shape.in_channels / shape.groups *
                                       shape.kernel_height * shape.kernel_width));
    for (int8_t& level : kernels) level = static_cast<int8_t>(random.whole(-128, 127));
    factors = random.numbers(shape.out_channels);
    out = random.numbers(pixels() * shape.out_channels);
    scratch.resize(static_cast<size_t>(quantized_convolution_scratch_size(shape, 0)));
    operands.is_signed = random.whole(0, 1) == 1;
    operands.scale = 0.25f;
    operands.zero = random.whole(0, 255) - (operands.is_signed ? 128 : 0);
    if (random.whole(0, 1) == 1) bias = random.numbers(shape.out_channels);
    if (random.whole(0, 1) == 1) addend = random.numbers(pixels() * shape.out_channels);
    operands.images = images.data();
    operands.factors = factors.data();
    operands.out = out.data();
    operands.scratch = scratch.data();
    operands.epilogue.bias = bias.empty() ? nullptr : bias.data();
    operands.epilogue.addend = addend.empty() ? nullptr : addend.data();
    operands.epilogue.addend_stride = shape.out_channels;
  }
  QuantizedImages(const QuantizedImages&) = delete;

  int64_t pixels() const { return shape.batch * shape.out_height * shape.out_width; }

  void convolve(ThreadPool* pool = nullptr) {
    packed.assign(static_cast<size_t>(packed_level_kernels_size(shape)), 77);
    pack_level_kernels(shape, kernels.data(), packed.data(), pool);
    operands.packed = packed.data();
    convolve_quantized(shape, operands, pool);
  }

  // Returns the dequantized pixel; 0 outside of the image.
  double number(int64_t image, int64_t y, int64_t x, int64_t channel) const {
    if (y < 0 || y >= shape.in_height || x < 0 || x >= shape.in_width) return 0;
    const uint8_t level = images[static_cast<size_t>(
        ((image * shape.in_height + y) * shape.in_width + x) * shape.in_channels + channel)];
    const int64_t whole = operands.is_signed ? static_cast<int8_t>(level) : level;
    return static_cast<double>(whole - operands.zero) * operands.scale;
  }

  void check() const {
    const int64_t channels = shape.in_channels / shape.groups,
                  columns = shape.out_channels / shape.groups,
                  area = shape.kernel_height * shape.kernel_width;
    for (int64_t pixel = 0; pixel < pixels(); ++pixel)
      for (int64_t n = 0; n < shape.out_channels; ++n) {
        const int64_t x = pixel % shape.out_width * shape.stride_x - shape.pad_left,
                      y = pixel / shape.out_width % shape.out_height * shape.stride_y -
                          shape.pad_top,
                      image = pixel / shape.out_width / shape.out_height;
        double sum = 0, size = 1;
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t i = 0; i < area; ++i) {
            const double term =
                number(image, y + i / shape.kernel_width * shape.dilation_y,
                       x + i % shape.kernel_width * shape.dilation_x, n / columns * channels + c) *
                kernels[static_cast<size_t>((n * channels + c) * area + i)];
            sum += term;
            size += std::abs(term);
          }
        const auto column = static_cast<size_t>(n),
                   at = static_cast<size_t>(pixel * shape.out_channels + n);
        sum = sum * factors[column] + (bias.empty() ? 0 : bias[column]) +
              (addend.empty() ? 0 : addend[at]);
        ASSERT_NEAR(out[at], sum, 1e-6 * (1 + size * std::abs(factors[column])))
            << "pixel " << pixel << " channel " << n;
      }
  }
};

Convolution random_shape(Random& random) {
  return test::ConvolutionCase::random_shape(random, random.whole(1, 3), random.whole(1, 40),
                                             random.whole(1, 40), false, 3, 9);
}

TEST(QuantizedConvolutions, EqualAPlainLoop) {
  test::on_every_target([] {
    Random random(1);
    for (int i = 0; i < 60; ++i) {
      QuantizedImages plain(random, random_shape(random));
      plain.convolve();
      plain.check();
    }
  });
}

TEST(QuantizedConvolutions, AreEqualToTheBitForAnyNumberOfThreads) {
  ThreadPool pool(3);
  test::on_every_target([&] {
    Random random(2);
    for (int i = 0; i < 10; ++i) {
      QuantizedImages plain(random, random_shape(random));
      plain.convolve();
      const std::vector<float> alone = plain.out;
      plain.convolve(&pool);
      ASSERT_TRUE(test::equal_bits(plain.out, alone));
    }
  });
}

TEST(QuantizedConvolutions, MayBecomeLevels) {
  const Requantization to{{}, {0.01f, 100, -100, 155, 0, 0}};
  ThreadPool pool(3);
  test::on_every_target([&] {
    Random random(3);
    for (int i = 0; i < 14; ++i) {
      // The last shapes are large: each thread gets more than one part.
      QuantizedImages plain(random, i < 10 ? random_shape(random)
                                           : test::ConvolutionCase::random_shape(
                                                 random, random.whole(1, 3), 2, 80, false, 3, 120));
      plain.convolve();
      std::vector<uint8_t> expected(plain.out.size()), levels(plain.out.size());
      requantize(to, plain.out.data(), static_cast<int64_t>(expected.size()), expected.data());
      plain.operands.requantization = &to;
      plain.operands.out_levels = levels.data();
      plain.scratch.resize(static_cast<size_t>(quantized_convolution_scratch_size(plain.shape, 3)));
      plain.operands.scratch = plain.scratch.data();
      plain.convolve(&pool);
      ASSERT_EQ(levels, expected);
    }
  });
}

// The results equal those of convolve() on the dequantized levels, however rows are grouped.
TEST(LevelConvolutions, AreThoseOfFloats) {
  const Requantization to{{}, {1, 100, -100, 155, 0, 0}};
  ThreadPool pool(3);
  test::on_every_target([&] {
    Random random(5);
    for (int i = 0; i < 12; ++i) {
      // The last shapes are large enough for several parts.
      const bool is_large = i >= 10;
      test::ConvolutionCase floats(
          random, test::ConvolutionCase::random_shape(
                      random, is_large ? 90 : random.whole(2, 40), random.whole(0, 1) == 1 ? 1 : 4,
                      random.whole(0, 1) == 1 ? 1 : 4, false, 5, is_large ? 60 : 12));
      const Convolution& shape = floats.shape;
      const int64_t in_row = shape.in_width * shape.in_channels,
                    count = shape.batch * shape.in_height * in_row,
                    results = floats.pixels() * shape.out_channels;
      std::vector<uint8_t> images(static_cast<size_t>(count));
      for (uint8_t& level : images) level = static_cast<uint8_t>(random.whole(0, 255));
      LevelConvolution operands;
      operands.images = images.data();
      operands.is_signed = random.whole(0, 1) == 1;
      operands.numbers.scale = 0.25f;
      operands.numbers.back_zero = 7;
      std::vector<float> numbers(images.size());
      if (operands.is_signed)
        from_levels(reinterpret_cast<const int8_t*>(images.data()), count, operands.numbers,
                    numbers.data());
      else
        from_levels(images.data(), count, operands.numbers, numbers.data());
      std::vector<float> packed(static_cast<size_t>(packed_kernels_size(shape)));
      pack_kernels(shape, floats.kernels.data(), packed.data());
      std::vector<float> expected(static_cast<size_t>(results)), out(expected.size());
      ConvolutionOperands plain;
      plain.images = {.data = numbers.data(),
                      .image_stride = shape.in_height * in_row,
                      .row_stride = in_row,
                      .pixel_stride = shape.in_channels};
      plain.packed = operands.packed = packed.data();
      plain.out = expected.data();
      plain.out_stride = shape.out_channels;
      plain.epilogue = operands.epilogue = floats.epilogue;
      convolve(shape, plain);

      std::vector<float> scratch(static_cast<size_t>(level_convolution_scratch_size(shape, 3)));
      operands.scratch = scratch.data();
      operands.out = out.data();
      convolve_levels(shape, operands, &pool);
      ASSERT_TRUE(test::equal_bits(out, expected));

      std::vector<uint8_t> levels(out.size()), expected_levels(out.size());
      requantize(to, expected.data(), results, expected_levels.data());
      operands.requantization = &to;
      operands.out_levels = levels.data();
      scratch.resize(static_cast<size_t>(level_convolution_scratch_size(shape, 1)));
      operands.scratch = scratch.data();
      convolve_levels(shape, operands);
      ASSERT_EQ(levels, expected_levels);
    }
  });
}

}  // namespace
}  // namespace pt2::kernels
