#include "kernels/images/convolution.h"

#include "kernels/convolution_case.h"

namespace pt2::kernels {
namespace {

using Case = test::ConvolutionCase;
using test::Random;

void run_and_check(Case plain) {
  const std::vector<float> before = plain.out;
  plain.run();
  plain.check(before);
}

TEST(ConvolutionTest, ChannelsLastEqualsAPlainLoop) {
  test::on_every_target([] {
    Random random(1);
    for (int i = 0; i < 60; ++i)
      run_and_check(Case(random, random.whole(1, 4) == 4 ? 3 : 1, random.whole(1, 40),
                         random.whole(1, 40), false, 3, 9));
  });
}

// Elements of windows that are outside the image are skipped, up to whole blocks of depth.
TEST(ConvolutionTest, DilatedBeyondTheImageEqualsAPlainLoop) {
  test::on_every_target([] {
    Random random(13);
    for (int i = 0; i < 24; ++i) {
      Convolution shape;
      shape.batch = random.whole(1, 2);
      shape.groups = random.whole(1, 4) == 4 ? 2 : 1;
      shape.in_channels = shape.groups * random.whole(1, 140);
      shape.out_channels = shape.groups * random.whole(1, 40);
      shape.kernel_height = random.whole(1, 4), shape.kernel_width = random.whole(2, 4);
      shape.dilation_y = random.whole(1, 8), shape.dilation_x = random.whole(1, 8);
      shape.in_height = random.whole(1, 9), shape.in_width = random.whole(1, 20);
      shape.stride_y = random.whole(1, 2), shape.stride_x = random.whole(1, 2);
      shape.pad_top = random.whole(0, shape.dilation_y * shape.kernel_height);
      shape.pad_left = random.whole(0, shape.dilation_x * shape.kernel_width);
      shape.out_height = random.whole(1, 9), shape.out_width = random.whole(1, 20);
      run_and_check(Case(random, shape));
    }
  });
}

TEST(ConvolutionTest, PlanarEqualsAPlainLoop) {
  test::on_every_target([] {
    Random random(2);
    for (int i = 0; i < 40; ++i)
      run_and_check(Case(random, random.whole(1, 4) == 4 ? 2 : 1, random.whole(1, 4),
                         random.whole(1, 40), true, 7, 20));
  });
}

TEST(ConvolutionTest, DepthwiseEqualsAPlainLoop) {
  test::on_every_target([] {
    Random random(3);
    for (int i = 0; i < 100; ++i)
      run_and_check(Case(random, random.whole(2, 50), 1, 1, false, 7, 24));
  });
}

TEST(ConvolutionTest, DepthwiseAddsToItsOwnResult) {
  test::on_every_target([] {
    Random random(12);
    for (int i = 0; i < 60; ++i) {
      Case plain(random, random.whole(2, 40), 1, 1, false, 7, 24);
      plain.addend = plain.out;
      plain.epilogue.addend = plain.out.data();
      plain.epilogue.addend_stride = plain.out_stride;
      run_and_check(std::move(plain));
    }
  });
}

TEST(ConvolutionTest, GroupsOfFourChannelsEqualAPlainLoop) {
  test::on_every_target([] {
    Random random(8);
    for (int i = 0; i < 60; ++i)
      run_and_check(Case(random, random.whole(2, 15), 4, 4, false, 7, 24));
  });
}

TEST(ConvolutionTest, OneByOneIsAProduct) {
  test::on_every_target([] {
    Random random(4);
    for (int i = 0; i < 20; ++i)
      run_and_check(Case(random, 1, random.whole(1, 300), random.whole(1, 70), false, 1, 9));
  });
}

TEST(ConvolutionTest, EqualToTheBitForAnyNumberOfThreads) {
  ThreadPool pool(3);
  test::on_every_target([&] {
    Random random(5);
    for (int i = 0; i < 12; ++i) {
      Case plain = i % 3 == 0   ? Case(random, 64, 1, 1, false, 3, 40)
                   : i % 3 == 1 ? Case(random, 1, 3, 64, true, 7, 60)
                                : Case(random, 1, 64, 64, false, 3, 30);
      const std::vector<float> before = plain.out;
      plain.run();
      const std::vector<float> alone = plain.out;
      plain.out = before;
      plain.run(&pool);
      ASSERT_TRUE(test::equal_bits(plain.out, alone));
    }
  });
}

TEST(ConvolutionTest, TheGradientOfKernelsEqualsAPlainLoop) {
  test::on_every_target([] {
    Random random(6);
    for (int i = 0; i < 20; ++i) {
      Case plain(random, 1, random.whole(1, i < 8 ? 40 : 4), random.whole(1, 20), i % 2 == 0, 4,
                 24);
      Convolution& shape = plain.shape;
      shape.batch = 1;
      const int64_t area = shape.kernel_height * shape.kernel_width,
                    depth = shape.in_channels * area, pixels = plain.pixels();
      const std::vector<float> gradients = random.numbers(shape.out_channels * pixels);
      std::vector<float> out(static_cast<size_t>(shape.out_channels * depth), 0.5f);
      std::vector<float> scratch(static_cast<size_t>(kernel_gradient_scratch()));
      add_kernel_gradient(shape, plain.images, gradients.data(), shape.out_channels, out.data(),
                          scratch.data());
      for (int64_t row = 0; row < shape.out_channels; ++row)
        for (int64_t k = 0; k < depth; ++k) {
          double sum = 0.5, magnitude = 1;
          for (int64_t p = 0; p < pixels; ++p) {
            const int64_t tap = shape.planar ? k % area : k / shape.in_channels,
                          channel = shape.planar ? k / area : k % shape.in_channels;
            const int64_t y = p / shape.out_width * shape.stride_y - shape.pad_top +
                              tap / shape.kernel_width * shape.dilation_y,
                          x = p % shape.out_width * shape.stride_x - shape.pad_left +
                              tap % shape.kernel_width * shape.dilation_x;
            if (y < 0 || y >= shape.in_height || x < 0 || x >= shape.in_width) continue;
            const int64_t at = channel * plain.images.channel_stride + y * plain.images.row_stride +
                               x * plain.images.pixel_stride;
            const double term =
                double{plain.images.data[at]} * gradients[static_cast<size_t>(row * pixels + p)];
            sum += term;
            magnitude += std::abs(term);
          }
          ASSERT_TRUE(
              test::close_to(out[static_cast<size_t>(row * depth + k)], sum, magnitude * 1e-6));
        }
    }
  });
}

}  // namespace
}  // namespace pt2::kernels
