#include <vector>

#include "kernels/gradients/rows.h"
#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

template <class T>
std::vector<T> numbers(Random& random, int64_t count) {
  const std::vector<float> all = random.numbers(count);
  return {all.begin(), all.end()};
}

template <class T>
void check_softmax(Random& random, int64_t count, double tolerance) {
  const std::vector<T> gradient = numbers<T>(random, count), y = numbers<T>(random, count);
  double products = 0, sum = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    products += static_cast<double>(gradient[i]) * static_cast<double>(y[i]);
    sum += static_cast<double>(gradient[i]);
  }
  std::vector<T> out(y.size() + 1, 9), logarithm = out;
  softmax_gradient_row(gradient.data(), y.data(), count, out.data());
  log_softmax_gradient_row(gradient.data(), y.data(), count, logarithm.data());
  for (size_t i = 0; i < y.size(); ++i) {
    const auto g = static_cast<double>(gradient[i]), at = static_cast<double>(y[i]);
    const double other = std::exp(at) * sum;
    ASSERT_NEAR(static_cast<double>(out[i]), at * (g - products), tolerance);
    ASSERT_NEAR(static_cast<double>(logarithm[i]), g - other, tolerance * (1 + std::abs(other)));
  }
  EXPECT_EQ(out.back(), 9);
  EXPECT_EQ(logarithm.back(), 9);
}

TEST(GradientsOfRows, SoftmaxEqualsAPlainLoop) {
  test::on_every_target([] {
    Random random(2);
    for (int round = 0; round < 30; ++round) {
      const int64_t count = random.whole(1, round % 5 == 0 ? 2000 : 70);
      check_softmax<float>(random, count, 2e-5);
      check_softmax<double>(random, count, 1e-12);
    }
  });
}

template <class T>
void check_normalized(Random& random, int64_t count, bool has_weights, double tolerance) {
  const std::vector<T> gradient = numbers<T>(random, count), x = numbers<T>(random, count),
                       weight = numbers<T>(random, count);
  const NormalizedSpan<T> span{gradient.data(), x.data(), has_weights ? weight.data() : nullptr,
                               count, static_cast<T>(0.25)};
  const auto weighted = [&](size_t i) {
    return static_cast<double>(gradient[i]) * (has_weights ? static_cast<double>(weight[i]) : 1.0);
  };
  const auto centered = [&](size_t i) { return static_cast<double>(x[i]) - 0.25; };
  NormalizedSums expected;
  for (size_t i = 0; i < x.size(); ++i) {
    expected.gradient += weighted(i);
    expected.product += weighted(i) * centered(i);
  }
  const NormalizedSums sums = sum_normalized(span);
  EXPECT_NEAR(sums.gradient, expected.gradient, tolerance);
  EXPECT_NEAR(sums.product, expected.product, tolerance);
  std::vector<T> out(x.size() + 1, 9);
  std::vector<double> weights(x.size(), 1.0), biases(x.size(), 2.0);
  combine_normalized(span, 3, 0.5, -1, out.data());
  add_normalized(span, 2, weights.data(), biases.data());
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(out[i]), weighted(i) * 3 + centered(i) * 0.5 - 1, tolerance);
    ASSERT_NEAR(weights[i], 1 + static_cast<double>(gradient[i]) * centered(i) * 2, tolerance);
    ASSERT_NEAR(biases[i], 2 + static_cast<double>(gradient[i]), tolerance);
  }
  EXPECT_EQ(out.back(), 9);
}

TEST(GradientsOfRows, NormalizationEqualsAPlainLoop) {
  test::on_every_target([] {
    Random random(4);
    for (int round = 0; round < 30; ++round) {
      const int64_t count = random.whole(1, round % 5 == 0 ? 5000 : 70);
      check_normalized<float>(random, count, round % 2 == 0, 1e-4);
      check_normalized<double>(random, count, round % 2 == 0, 1e-11);
    }
  });
}

TEST(GradientsOfRows, ASlopeOfZeroLeavesOutInfinities) {
  const float gradient[] = {2, 3}, x[] = {HUGE_VALF, NAN};
  float out[2];
  combine_normalized<float>({gradient, x, nullptr, 2, 0}, 2, 0, 1, out);
  EXPECT_EQ(out[0], 5);
  EXPECT_EQ(out[1], 7);
}

}  // namespace
}  // namespace pt2::kernels
