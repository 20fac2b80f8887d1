#include "kernels/products/row_products.h"

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

TEST(RowProductsTest, EqualAPlainLoopForAnyNumberOfThreads) {
  ThreadPool pool(3);
  test::on_every_target([&] {
    Random random(1);
    for (int i = 0; i < 60; ++i) {
      RowProduct product{.rows = random.whole(1, 6),
                         .columns = random.whole(1, i % 10 == 0 ? 400 : 70),
                         .depth = random.whole(0, i % 7 == 0 ? 3000 : 90),
                         .turned = random.whole(0, 1) == 1};
      product.left_stride = product.depth + random.whole(0, 3);
      product.right_stride =
          (product.turned ? product.depth : product.columns) + random.whole(0, 3);
      product.out_stride = product.columns + random.whole(0, 3);
      const std::vector<float> left = random.numbers(product.rows * product.left_stride);
      const std::vector<float> right =
          random.numbers((product.turned ? product.columns : product.depth) * product.right_stride);
      const std::vector<float> bias = random.numbers(product.columns);
      const std::vector<float> addend = random.numbers(product.rows * product.columns);
      product.left = left.data();
      product.right = right.data();
      if (random.whole(0, 1) == 1) product.epilogue.bias = bias.data();
      if (random.whole(0, 1) == 1) product.epilogue.addend = addend.data();
      product.epilogue.addend_stride = product.columns;
      if (random.whole(0, 1) == 1) product.epilogue.activation = Activation::relu;
      const std::vector<float> before = random.numbers(product.rows * product.out_stride);
      std::vector<float> out = before;
      product.out = out.data();
      multiply_rows(product);
      for (int64_t r = 0; r < product.rows; ++r)
        for (int64_t n = 0; n < product.columns; ++n) {
          double sum = product.epilogue.bias != nullptr ? bias[static_cast<size_t>(n)] : 0.0;
          double magnitude = 1;
          if (product.epilogue.addend != nullptr)
            sum += addend[static_cast<size_t>(r * product.columns + n)];
          for (int64_t k = 0; k < product.depth; ++k) {
            const double term = double{product.left[r * product.left_stride + k]} *
                                product.right[product.turned ? n * product.right_stride + k
                                                             : k * product.right_stride + n];
            sum += term;
            magnitude += std::abs(term);
          }
          if (product.epilogue.activation == Activation::relu) sum = std::max(sum, 0.0);
          ASSERT_TRUE(test::close_to(out[static_cast<size_t>(r * product.out_stride + n)], sum,
                                     magnitude * 1e-6));
        }
      for (int64_t r = 0; r < product.rows; ++r)
        for (int64_t n = product.columns; n < product.out_stride; ++n)
          ASSERT_EQ(out[static_cast<size_t>(r * product.out_stride + n)],
                    before[static_cast<size_t>(r * product.out_stride + n)]);
      std::vector<float> parallel = before;
      product.out = parallel.data();
      multiply_rows(product, &pool);
      ASSERT_TRUE(test::equal_bits(parallel, out));
    }
  });
}

// All terms are equal, so that each rounding of one long sum errs in the same direction.
TEST(RowProductsTest, LongSumsHaveSmallErrors) {
  test::on_every_target([&] {
    for (const bool turned : {false, true}) {
      RowProduct product{.rows = 1, .columns = 80, .depth = 512, .turned = turned};
      const std::vector<float> left(512, 1.0f), right(512 * 80, 0.1f);
      std::vector<float> out(80);
      product.left_stride = product.depth;
      product.right_stride = turned ? product.depth : product.columns;
      product.out_stride = product.columns;
      product.left = left.data();
      product.right = right.data();
      product.out = out.data();
      multiply_rows(product);
      const double sum = 512 * double{0.1f};
      for (const float each : out) ASSERT_NEAR(each, sum, 1e-6 * sum);
    }
  });
}

}  // namespace
}  // namespace pt2::kernels
