#include "kernels/products/half_products.h"

#include "kernels/dtypes/halves.h"
#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

// A product of random sizes and strides. The expected result is computed from the rounded operands.
struct Case {
  HalfWeights weights;
  HalfProduct product;
  std::vector<uint16_t> left, right, packed;
  std::vector<float> wide_left, wide_right, bias, out;

  Case(Random& random, Rounding type, int64_t rows, int64_t columns, int64_t depth,
       bool is_turned) {
    weights.type = type;
    weights.depth = depth;
    weights.columns = columns;
    weights.column_stride = is_turned ? depth + random.whole(0, 3) : 1;
    weights.depth_stride = is_turned ? 1 : columns + random.whole(0, 3);
    product.rows = rows;
    product.left_stride = depth + random.whole(0, 3);
    product.out_stride = columns + random.whole(0, 3);
    make(random, rows * product.left_stride, left, wide_left);
    make(random, (is_turned ? columns * weights.column_stride : depth * weights.depth_stride),
         right, wide_right);
    weights.right = right.data();
    product.left = left.data();
    out = random.numbers(rows * product.out_stride);
    product.out = out.data();
    if (random.whole(0, 1) == 1) {
      bias = random.numbers(columns);
      product.bias = bias.data();
    }
  }

  void make(Random& random, int64_t count, std::vector<uint16_t>& halves,
            std::vector<float>& floats) const {
    floats = random.numbers(count);
    halves.resize(floats.size());
    if (weights.type == Rounding::bfloat16) {
      float_to_bfloat16(floats.data(), count, halves.data());
      bfloat16_to_float(halves.data(), count, floats.data());
    } else {
      float_to_half(floats.data(), count, halves.data());
      half_to_float(halves.data(), count, floats.data());
    }
  }

  void multiply(ThreadPool* pool = nullptr) {
    packed.assign(static_cast<size_t>(packed_half_size(weights.depth, weights.columns)), 0x7FFF);
    pack_halves(weights, packed.data(), pool);
    multiply_packed_halves(product, weights, packed.data(), pool);
  }

  // Multiplies few rows with the unpacked weights.
  void multiply_few(ThreadPool* pool = nullptr, bool with_halves = true) {
    RowProduct few;
    few.rows = product.rows;
    few.left = wide_left.data();
    few.left_stride = product.left_stride;
    few.out = out.data();
    few.out_stride = product.out_stride;
    few.epilogue.bias = product.bias;
    multiply_half_rows(few, weights, {with_halves ? left.data() : nullptr, product.left_stride},
                       pool);
  }

  void check(const std::vector<float>& before) const {
    for (int64_t row = 0; row < product.rows; ++row)
      for (int64_t n = 0; n < product.out_stride; ++n) {
        const auto at = static_cast<size_t>(row * product.out_stride + n);
        if (n >= weights.columns) {
          ASSERT_EQ(out[at], before[at]) << "between rows, " << row << " " << n;
          continue;
        }
        double sum = bias.empty() ? 0 : bias[static_cast<size_t>(n)], magnitude = 0.5;
        for (int64_t k = 0; k < weights.depth; ++k) {
          const double term =
              double{wide_left[static_cast<size_t>(row * product.left_stride + k)]} *
              wide_right[static_cast<size_t>(k * weights.depth_stride + n * weights.column_stride)];
          sum += term;
          magnitude += std::abs(term);
        }
        ASSERT_TRUE(test::close_to(out[at], sum, magnitude * 1e-6))
            << "row " << row << " column " << n << " of " << product.rows << "x" << weights.columns
            << "x" << weights.depth << ": " << out[at] << ", expected " << sum;
      }
  }
};

class HalfProductTest : public testing::TestWithParam<Rounding> {};
INSTANTIATE_TEST_SUITE_P(Types, HalfProductTest,
                         testing::Values(Rounding::half, Rounding::bfloat16));

TEST_P(HalfProductTest, EqualsAPlainLoop) {
  test::on_every_target([] {
    Random random(1);
    for (int i = 0; i < 150; ++i) {
      Case plain(random, GetParam(), random.whole(1, 40), random.whole(1, 80),
                 random.whole(0, i % 10 == 0 ? 700 : 60), random.whole(0, 1) == 1);
      const std::vector<float> before = plain.out;
      plain.multiply();
      plain.check(before);
    }
  });
}

TEST_P(HalfProductTest, OfFewRowsEqualsAPlainLoop) {
  test::on_every_target([] {
    Random random(2);
    for (int i = 0; i < 100; ++i) {
      Case plain(random, GetParam(), random.whole(1, 6), random.whole(1, 150),
                 random.whole(0, i % 10 == 0 ? 5000 : 90), random.whole(0, 1) == 1);
      const std::vector<float> before = plain.out;
      plain.multiply_few();
      plain.check(before);
      plain.multiply_few(nullptr, /*with_halves=*/false);
      plain.check(before);
    }
  });
}

TEST_P(HalfProductTest, EqualToTheBitForAnyNumberOfThreads) {
  ThreadPool two(2), three(3);
  test::on_every_target([&] {
    Random random(3);
    for (int i = 0; i < 6; ++i) {
      Case plain(random, GetParam(), random.whole(1, 200), random.whole(1, 700),
                 random.whole(200, 600), true);
      plain.multiply();
      const std::vector<float> alone = plain.out;
      plain.multiply_few();
      const std::vector<float> few = plain.out;
      for (ThreadPool* pool : {&two, &three}) {
        plain.multiply(pool);
        ASSERT_TRUE(test::equal_bits(plain.out, alone));
        plain.multiply_few(pool);
        ASSERT_TRUE(test::equal_bits(plain.out, few));
      }
    }
  });
}

// Multiplies every 16-bit number, as a weight, with 1.
TEST_P(HalfProductTest, KnowsEveryNumber) {
  const uint16_t one = GetParam() == Rounding::bfloat16 ? 0x3F80 : 0x3C00;
  const float wide_one = 1;
  std::vector<uint16_t> all(1 << 16);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  const auto count = static_cast<int64_t>(all.size());
  std::vector<float> expected(all.size()), out(all.size());
  if (GetParam() == Rounding::bfloat16)
    bfloat16_to_float(all.data(), count, expected.data());
  else
    half_to_float(all.data(), count, expected.data());
  const HalfWeights weights{
      .type = GetParam(), .depth = 1, .columns = count, .right = all.data(), .column_stride = 1};
  std::vector<uint16_t> packed(static_cast<size_t>(packed_half_size(1, count)));
  const auto check = [&] {
    for (size_t i = 0; i < out.size(); ++i)
      ASSERT_TRUE(out[i] == expected[i] || (std::isnan(out[i]) && std::isnan(expected[i])) ||
                  (GetParam() == Rounding::bfloat16 && std::abs(expected[i]) < 0x1p-126f))
          << i << " " << out[i];
  };
  test::on_every_target([&] {
    RowProduct few;
    few.rows = 1;
    few.left = &wide_one;
    few.out = out.data();
    multiply_half_rows(few, weights, {&one, 1});
    check();
    pack_halves(weights, packed.data());
    multiply_packed_halves({.rows = 1, .left = &one, .out = out.data()}, weights, packed.data());
    check();
  });
}

}  // namespace
}  // namespace pt2::kernels
