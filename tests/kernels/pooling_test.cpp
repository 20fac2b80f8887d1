#include "kernels/images/pooling.h"

#include <limits>

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

struct Case {
  Pooling shape;
  Images images;
  int64_t out_stride = 0;
  std::vector<float> input, out;

  explicit Case(Random& random) {
    shape.kind = random.whole(0, 1) == 1 ? Pooling::Kind::average : Pooling::Kind::maximum;
    shape.batch = random.whole(1, 2);
    shape.channels = random.whole(0, 2) == 0 ? 1 : random.whole(1, 70);
    shape.adaptive = random.whole(0, 3) == 0;
    shape.divisor = random.whole(0, 3) == 0 ? 5 : 0;
    shape.count_padding = random.whole(0, 1) == 1;
    choose(random, shape.kernel_height, shape.stride_y, shape.dilation_y, shape.pad_y,
           shape.in_height, shape.out_height);
    choose(random, shape.kernel_width, shape.stride_x, shape.dilation_x, shape.pad_x,
           shape.in_width, shape.out_width);
    images.pixel_stride = shape.channels + random.whole(0, 2);
    images.row_stride = shape.in_width * images.pixel_stride;
    images.image_stride = shape.in_height * images.row_stride;
    input = random.numbers(shape.batch * images.image_stride);
    images.data = input.data();
    out_stride = shape.channels + random.whole(0, 2);
    out.assign(static_cast<size_t>(pixels() * out_stride), 0.5f);
  }

  void choose(Random& random, int64_t& kernel, int64_t& stride, int64_t& dilation, int64_t& pad,
              int64_t& in, int64_t& out_size) const {
    kernel = random.whole(1, 4);
    stride = random.whole(1, 3);
    dilation = shape.kind == Pooling::Kind::maximum ? random.whole(1, 2) : 1;
    pad = random.whole(0, kernel / 2);
    const int64_t reach = dilation * (kernel - 1) + 1;
    in = random.whole(reach, reach + (random.whole(0, 5) == 0 ? 200 : 8));
    out_size = (in + 2 * pad - reach) / stride + 1;
    // As with ceil_mode, the last window may begin inside the image and end outside.
    if (random.whole(0, 1) == 1 && out_size * stride < in + pad &&
        out_size * stride - pad + (kernel - 1) * dilation >= 0)
      ++out_size;
    if (shape.adaptive) out_size = random.whole(1, in + 2);
  }

  int64_t pixels() const { return shape.batch * shape.out_height * shape.out_width; }

  struct Range {
    int64_t begin, end, step;
  };
  Range range(int64_t i, int64_t in, int64_t out_size, int64_t kernel, int64_t stride,
              int64_t dilation, int64_t pad) const {
    if (shape.adaptive) return {i * in / out_size, ((i + 1) * in + out_size - 1) / out_size, 1};
    return {i * stride - pad, i * stride - pad + (kernel - 1) * dilation + 1, dilation};
  }

  double expected(int64_t pixel, int64_t channel) const {
    const int64_t image = pixel / shape.out_width / shape.out_height;
    const Range ys =
        range(pixel / shape.out_width % shape.out_height, shape.in_height, shape.out_height,
              shape.kernel_height, shape.stride_y, shape.dilation_y, shape.pad_y);
    const Range xs = range(pixel % shape.out_width, shape.in_width, shape.out_width,
                           shape.kernel_width, shape.stride_x, shape.dilation_x, shape.pad_x);
    double largest = -std::numeric_limits<double>::infinity();
    double sum = 0;
    int64_t inside = 0;
    int64_t padded = 0;
    for (int64_t y = ys.begin; y < ys.end; y += ys.step)
      for (int64_t x = xs.begin; x < xs.end; x += xs.step) {
        if (y < shape.in_height + shape.pad_y && x < shape.in_width + shape.pad_x) ++padded;
        if (y < 0 || y >= shape.in_height || x < 0 || x >= shape.in_width) continue;
        const double value = images.data[image * images.image_stride + y * images.row_stride +
                                         x * images.pixel_stride + channel];
        largest = std::max(largest, value);
        sum += value;
        ++inside;
      }
    if (shape.kind == Pooling::Kind::maximum) return largest;
    if (shape.divisor != 0) return sum / static_cast<double>(shape.divisor);
    return sum / static_cast<double>(shape.count_padding ? padded : inside);
  }
};

TEST(PoolingTest, EqualsAPlainLoopForAnyNumberOfThreads) {
  ThreadPool pool(3);
  test::on_every_target([&] {
    Random random(1);
    for (int i = 0; i < 120; ++i) {
      Case plain(random);
      pool_images(plain.shape, plain.images, plain.out.data(), plain.out_stride);
      for (int64_t pixel = 0; pixel < plain.pixels(); ++pixel)
        for (int64_t c = 0; c < plain.out_stride; ++c) {
          const double value = c < plain.shape.channels ? plain.expected(pixel, c) : 0.5;
          ASSERT_TRUE(test::close_to(plain.out[static_cast<size_t>(pixel * plain.out_stride + c)],
                                     value, 1e-5))
              << i << " pixel " << pixel << " channel " << c;
        }
      const std::vector<float> alone = plain.out;
      pool_images(plain.shape, plain.images, plain.out.data(), plain.out_stride, &pool);
      ASSERT_TRUE(test::equal_bits(plain.out, alone));
    }
  });
}

TEST(PoolingTest, AveragesOfWholeImagesAreRoundedSeldom) {
  test::on_every_target([] {
    for (const int64_t channels : {int64_t{1}, int64_t{20}})
      for (const bool adaptive : {true, false}) {
        constexpr int64_t kSide = 112;
        const std::vector<float> input(static_cast<size_t>(kSide * kSide * channels), 0.1f);
        Pooling shape{.kind = Pooling::Kind::average, .channels = channels};
        shape.in_height = shape.in_width = shape.kernel_height = shape.kernel_width = kSide;
        shape.adaptive = adaptive;
        std::vector<float> out(static_cast<size_t>(channels));
        pool_images(
            shape, {.data = input.data(), .row_stride = kSide * channels, .pixel_stride = channels},
            out.data(), channels);
        // A single running sum over all elements has an error of 1.3e-5.
        for (const float average : out) EXPECT_NEAR(average, 0.1f, 4e-7);
      }
  });
}

TEST(PoolingTest, MaximaOfNotANumberAreNotANumber) {
  test::on_every_target([] {
    const std::vector<float> input = {1, NAN, 2, 3};
    Pooling shape;
    shape.channels = 1;
    shape.in_width = 4;
    shape.kernel_width = 2;
    shape.out_width = 3;
    std::vector<float> out(3);
    pool_images(shape, {.data = input.data(), .row_stride = 4, .pixel_stride = 1}, out.data(), 1);
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_TRUE(std::isnan(out[1]));
    EXPECT_EQ(out[2], 3);
  });
}

}  // namespace
}  // namespace pt2::kernels
