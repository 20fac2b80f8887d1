#include "kernels/products/quantized_products.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

struct QuantizedCase {
  QuantizedProduct product;
  LevelWeights weights;
  LevelMatrix matrix;
  std::vector<uint8_t> left;
  std::vector<int8_t> right, packed;
  std::vector<float> factors, bias, addend, out, scratch;

  QuantizedCase(Random& random, int64_t rows, int64_t columns, int64_t depth) {
    weights.depth = depth;
    weights.columns = columns;
    const bool turned = random.whole(0, 1) == 1;
    weights.column_stride = turned ? depth + random.whole(0, 3) : 1;
    weights.depth_stride = turned ? 1 : columns + random.whole(0, 3);
    right.resize(static_cast<size_t>(turned ? columns * weights.column_stride
                                            : depth * weights.depth_stride));
    for (int8_t& level : right) level = static_cast<int8_t>(random.whole(-128, 127));
    weights.right = right.data();
    factors = random.numbers(columns);
    weights.factors = factors.data();
    // The memory ends after the last row, so the address sanitizer detects reads beyond it.
    matrix.stride = depth + random.whole(0, 3);
    left.resize(static_cast<size_t>(rows == 0 ? 0 : (rows - 1) * matrix.stride + depth));
    for (uint8_t& level : left) level = static_cast<uint8_t>(random.whole(0, 255));
    matrix.data = left.data();
    product.rows = rows;
    product.left = matrix.rows();
    product.is_signed = random.whole(0, 1) == 1;
    product.scale = 0.5f;
    product.zero = random.whole(0, 255) - (product.is_signed ? 128 : 0);
    product.out_stride = columns + random.whole(0, 3);
    out = random.numbers(rows * product.out_stride);
    product.out = out.data();
    if (random.whole(0, 1) == 1) bias = random.numbers(columns);
    if (random.whole(0, 1) == 1) addend = random.numbers(rows * columns);
    product.epilogue.bias = bias.empty() ? nullptr : bias.data();
    product.epilogue.addend = addend.empty() ? nullptr : addend.data();
    product.epilogue.addend_stride = columns;
    product.epilogue.activation = Activation::relu;
    scratch.resize(static_cast<size_t>(quantized_scratch_size(rows, depth, columns, 0)));
    product.scratch = scratch.data();
  }
  QuantizedCase(const QuantizedCase&) = delete;

  void multiply(ThreadPool* pool = nullptr) {
    packed.assign(static_cast<size_t>(packed_quantized_size(weights.depth, weights.columns)), 77);
    pack_quantized(weights, packed.data(), pool);
    multiply_quantized(product, weights, packed.data(), pool);
  }

  double number(int64_t row, int64_t k) const {
    const uint8_t level = left[static_cast<size_t>(row * matrix.stride + k)];
    const int64_t whole = product.is_signed ? static_cast<int8_t>(level) : level;
    return static_cast<double>(whole - product.zero) * product.scale;
  }

  void check(const std::vector<float>& before) const {
    for (int64_t row = 0; row < product.rows; ++row)
      for (int64_t n = 0; n < product.out_stride; ++n) {
        const auto at = static_cast<size_t>(row * product.out_stride + n);
        if (n >= weights.columns) {
          ASSERT_EQ(out[at], before[at]) << "between rows, " << row << " " << n;
          continue;
        }
        const auto column = static_cast<size_t>(n);
        double sum = 0, size = 1;
        for (int64_t k = 0; k < weights.depth; ++k) {
          const double term =
              number(row, k) *
              right[static_cast<size_t>(n * weights.column_stride + k * weights.depth_stride)];
          sum += term;
          size += std::abs(term);
        }
        sum = sum * factors[column] + (bias.empty() ? 0 : bias[column]) +
              (addend.empty() ? 0 : addend[static_cast<size_t>(row * weights.columns + n)]);
        ASSERT_NEAR(out[at], std::max(sum, 0.0), 1e-6 * (1 + size * std::abs(factors[column])))
            << row << " " << n << " of " << product.rows << " x " << weights.columns << " x "
            << weights.depth;
      }
  }
};

TEST(QuantizedProducts, EqualAPlainLoop) {
  test::on_every_target([] {
    Random random(1);
    for (int i = 0; i < 150; ++i) {
      QuantizedCase plain(random, random.whole(1, 40), random.whole(1, 80),
                          random.whole(0, i % 10 == 0 ? 2500 : 60));
      const std::vector<float> before = plain.out;
      plain.multiply();
      plain.check(before);
    }
  });
}

// Requantized results are the levels of the float results, on one thread and on several.
TEST(QuantizedProducts, MayBecomeLevels) {
  const Levels rough{0.01f, 3, -120, 120, 100, 3}, fine{0.02f, 100, -100, 155, 0, 0};
  ThreadPool pool(3);
  test::on_every_target([&] {
    Random random(4);
    for (const Requantization& to :
         {Requantization{{}, fine}, Requantization{{{rough, Activation::relu}}, fine}})
      for (const int64_t rows : {1, 30, 5000}) {
        QuantizedCase plain(random, rows, random.whole(1, 40), random.whole(0, 20));
        const int64_t columns = plain.weights.columns, stride = plain.product.out_stride;
        plain.multiply();
        std::vector<uint8_t> expected(plain.out.size(), 77);
        for (int64_t r = 0; r < rows; ++r)
          requantize(to, plain.out.data() + r * stride, columns, expected.data() + r * stride);
        plain.product.requantization = &to;
        for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
          std::vector<uint8_t> levels(plain.out.size(), 77);
          plain.product.out_levels = levels.data();
          plain.scratch.resize(static_cast<size_t>(
              quantized_scratch_size(rows, plain.weights.depth, columns, thread_count(threads))));
          plain.product.scratch = plain.scratch.data();
          plain.multiply(threads);
          ASSERT_EQ(levels, expected) << rows << " " << columns;
        }
      }
  });
}

// Sums of the largest levels are exact, even with instructions whose sums of two products saturate.
TEST(QuantizedProducts, AreExactForTheLargestLevels) {
  test::on_every_target([] {
    Random random(2);
    QuantizedCase plain(random, 15, 33, 1000);
    std::fill(plain.left.begin(), plain.left.end(), uint8_t{255});
    std::fill(plain.right.begin(), plain.right.end(), int8_t{-128});
    std::fill(plain.factors.begin(), plain.factors.end(), -1.0f);
    plain.product.is_signed = false;
    plain.product.zero = 0;
    plain.product.scale = 1;
    plain.product.epilogue = {};
    plain.multiply();
    EXPECT_EQ(plain.out[0], 255.0f * 128 * 1000);
  });
}

TEST(QuantizedProducts, AreEqualToTheBitForAnyNumberOfThreads) {
  ThreadPool pool(3);
  test::on_every_target([&] {
    Random random(3);
    for (int i = 0; i < 6; ++i) {
      QuantizedCase plain(random, random.whole(1, 200), random.whole(1, 700),
                          random.whole(200, 1600));
      plain.multiply();
      const std::vector<float> alone = plain.out;
      plain.multiply(&pool);
      ASSERT_TRUE(test::equal_bits(plain.out, alone));
    }
  });
}

}  // namespace
}  // namespace pt2::kernels
