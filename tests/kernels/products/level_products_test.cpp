#include "kernels/products/level_products.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

struct Case {
  int64_t rows, left_stride, out_stride;
  LevelWeights weights;
  std::vector<int8_t> right, packed;
  std::vector<float> left, factors, bias, addend, out;

  Case(Random& random, int64_t row_count, int64_t columns, int64_t depth, bool turned)
      : rows(row_count),
        left_stride(depth + random.whole(0, 3)),
        out_stride(columns + random.whole(0, 3)) {
    weights.depth = depth;
    weights.columns = columns;
    weights.column_stride = turned ? depth + random.whole(0, 3) : 1;
    weights.depth_stride = turned ? 1 : columns + random.whole(0, 3);
    right.resize(static_cast<size_t>(turned ? columns * weights.column_stride
                                            : depth * weights.depth_stride));
    for (int8_t& level : right) level = static_cast<int8_t>(random.whole(-128, 127));
    weights.right = right.data();
    left = random.numbers(rows * left_stride);
    out = random.numbers(rows * out_stride);
    if (random.whole(0, 2) > 0) {
      factors = random.numbers(columns);
      weights.factors = factors.data();
    }
    if (random.whole(0, 1) == 1) bias = random.numbers(columns);
    if (random.whole(0, 1) == 1) addend = random.numbers(rows * columns);
  }

  template <class Product>
  Product product() {
    Product out_product;
    out_product.rows = rows;
    out_product.left = left.data();
    out_product.left_stride = left_stride;
    out_product.out = out.data();
    out_product.out_stride = out_stride;
    out_product.epilogue.bias = bias.empty() ? nullptr : bias.data();
    out_product.epilogue.addend = addend.empty() ? nullptr : addend.data();
    out_product.epilogue.addend_stride = weights.columns;
    out_product.epilogue.activation = Activation::relu;
    return out_product;
  }
  void multiply(ThreadPool* pool = nullptr) {
    packed.assign(static_cast<size_t>(packed_level_size(weights.depth, weights.columns)), 77);
    pack_levels(weights, packed.data(), pool);
    multiply_packed_levels(product<Product>(), weights, packed.data(), pool);
  }
  void multiply_few(ThreadPool* pool = nullptr) {
    multiply_level_rows(product<RowProduct>(), weights, pool);
  }

  void check(const std::vector<float>& before) const {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t n = 0; n < out_stride; ++n) {
        const auto at = static_cast<size_t>(row * out_stride + n), column = static_cast<size_t>(n);
        if (n >= weights.columns) {
          ASSERT_EQ(out[at], before[at]) << "between rows, " << row << " " << n;
          continue;
        }
        double sum = 0, size = 1;
        for (int64_t k = 0; k < weights.depth; ++k) {
          const double term =
              static_cast<double>(left[static_cast<size_t>(row * left_stride + k)]) *
              right[static_cast<size_t>(n * weights.column_stride + k * weights.depth_stride)];
          sum += term;
          size += std::abs(term);
        }
        const double factor = factors.empty() ? 1 : factors[column];
        sum = sum * factor + (bias.empty() ? 0 : bias[column]) +
              (addend.empty() ? 0 : addend[static_cast<size_t>(row * weights.columns + n)]);
        ASSERT_NEAR(out[at], std::max(sum, 0.0), 2e-6 * size * std::max(1.0, std::abs(factor)))
            << row << " " << n << " of " << rows << " x " << weights.columns << " x "
            << weights.depth;
      }
  }
};

TEST(LevelProductTest, EqualsAPlainLoop) {
  test::on_every_target([] {
    Random random(1);
    for (int i = 0; i < 150; ++i) {
      Case plain(random, random.whole(1, 40), random.whole(1, 80),
                 random.whole(0, i % 10 == 0 ? 700 : 60), i % 2 == 0);
      const std::vector<float> before = plain.out;
      plain.multiply();
      plain.check(before);
    }
  });
}

TEST(LevelProductTest, OfFewRowsEqualsAPlainLoop) {
  test::on_every_target([] {
    Random random(2);
    for (int i = 0; i < 100; ++i) {
      Case plain(random, random.whole(1, 6), random.whole(1, 150),
                 random.whole(0, i % 10 == 0 ? 3000 : 90), i % 2 == 0);
      const std::vector<float> before = plain.out;
      plain.multiply_few();
      plain.check(before);
    }
  });
}

TEST(LevelProductTest, EqualToTheBitForAnyNumberOfThreads) {
  ThreadPool pool(3);
  test::on_every_target([&] {
    Random random(3);
    for (int i = 0; i < 6; ++i) {
      Case plain(random, random.whole(1, 200), random.whole(1, 700), random.whole(200, 600),
                 i % 2 == 0);
      plain.multiply();
      const std::vector<float> alone = plain.out;
      plain.multiply(&pool);
      ASSERT_TRUE(test::equal_bits(plain.out, alone));
      plain.multiply_few();
      const std::vector<float> few = plain.out;
      plain.multiply_few(&pool);
      ASSERT_TRUE(test::equal_bits(plain.out, few));
    }
  });
}

}  // namespace
}  // namespace pt2::kernels
