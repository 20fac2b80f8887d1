#include "kernels/images/winograd.h"

#include "kernels/convolution_case.h"

namespace pt2::kernels {
namespace {

using Case = test::ConvolutionCase;
using test::Random;

Convolution random_shape(Random& random, int64_t most_channels, int64_t most_size) {
  Convolution shape;
  shape.batch = random.whole(1, 2);
  shape.in_channels = random.whole(16, most_channels);
  shape.out_channels = random.whole(16, most_channels);
  shape.kernel_height = shape.kernel_width = 3;
  shape.in_height = random.whole(8, most_size);
  shape.in_width = random.whole(8, most_size);
  shape.pad_top = random.whole(0, 2);
  shape.pad_left = random.whole(0, 2);
  // The windows reach into the padding after the image, or do not reach the image's last rows.
  shape.out_height = shape.in_height + shape.pad_top - 2 + random.whole(-1, 2);
  shape.out_width = shape.in_width + shape.pad_left - 2 + random.whole(-1, 2);
  return shape;
}

bool run(Case& convolution, ThreadPool* pool = nullptr) {
  const Convolution& shape = convolution.shape;
  convolution.packed.assign(static_cast<size_t>(winograd_kernels_size(shape)), NAN);
  pack_winograd_kernels(shape, convolution.kernels.data(), convolution.packed.data(), pool);
  std::vector<float> scratch(static_cast<size_t>(winograd_scratch_size(shape, thread_count(pool))),
                             NAN);
  return convolve_winograd(shape, convolution.operands(), scratch.data(), pool);
}

TEST(WinogradTest, EqualsAPlainLoop) {
  test::on_every_target([] {
    Random random(1);
    for (int i = 0; i < 12; ++i) {
      const Convolution shape = random_shape(random, i == 0 ? 150 : 40, 14);
      if (!suits_winograd(shape)) continue;
      Case plain(random, shape);
      const std::vector<float> before = plain.out;
      ASSERT_TRUE(run(plain));
      plain.check(before);
    }
  });
}

TEST(WinogradTest, EqualToTheBitForAnyNumberOfThreads) {
  ThreadPool pool(3);
  test::on_every_target([&] {
    Random random(2);
    for (int i = 0; i < 6; ++i) {
      Case plain(random, random_shape(random, 90, 40));
      const std::vector<float> before = plain.out;
      ASSERT_TRUE(run(plain));
      const std::vector<float> alone = plain.out;
      plain.out = before;
      ASSERT_TRUE(run(plain, &pool));
      ASSERT_TRUE(test::equal_bits(plain.out, alone));
    }
  });
}

TEST(WinogradTest, SaysWhereASumIsNotFinite) {
  test::on_every_target([] {
    Random random(3);
    for (const float number : {INFINITY, -INFINITY, NAN, 3e38f}) {
      Case plain(random, random_shape(random, 40, 20));
      plain.input[static_cast<size_t>(plain.images.row_stride + plain.images.pixel_stride)] =
          number;
      // A single huge number does no harm. Beside one of the opposite sign the kernel refuses.
      plain.input[static_cast<size_t>(plain.images.row_stride + 3 * plain.images.pixel_stride)] =
          -number;
      EXPECT_FALSE(run(plain)) << number;
    }
  });
}

TEST(WinogradTest, SuitsPlainConvolutionsOfManyTiles) {
  Random random(4);
  Convolution shape = random_shape(random, 40, 20);
  EXPECT_TRUE(suits_winograd(shape));
  for (int64_t Convolution::*field :
       {&Convolution::stride_x, &Convolution::stride_y, &Convolution::dilation_x,
        &Convolution::dilation_y, &Convolution::groups, &Convolution::kernel_width}) {
    Convolution other = shape;
    other.*field = 2;
    EXPECT_FALSE(suits_winograd(other));
  }
  shape.batch = shape.out_height = 1;
  EXPECT_FALSE(suits_winograd(shape));
}

}  // namespace
}  // namespace pt2::kernels
