#include "kernels/pointwise.h"

#include <limits>

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Returns numbers of every magnitude and special ones.
std::vector<float> probes() {
  std::vector<float> values = {0.0f, -0.0f, kInfinity, -kInfinity, NAN, 1e-40f, -1e-40f};
  for (int exponent = -126; exponent <= 127; ++exponent)
    for (const float mantissa : {1.0f, 1.234567f, 1.9f})
      for (const float sign : {1.0f, -1.0f})
        values.push_back(sign * std::ldexp(mantissa, exponent));
  for (float x = -110; x < 110; x += 0.0137f) values.push_back(x);
  for (float x = -6; x < 6; x += 0.00093f) values.push_back(x);
  return values;
}

// Checks that errors are at most `ulps` units in the last place of the expected value or of
// `least`, whichever is larger.
template <class Function>
void check_accuracy(const std::vector<float>& out, double ulps, double least,
                    const Function& reference) {
  const std::vector<float> in = probes();
  for (size_t i = 0; i < in.size(); ++i) {
    const double expected = reference(double{in[i]});
    const double unit = std::ldexp(std::max({std::abs(expected), least, 1.2e-38}), -23);
    const float rounded = static_cast<float>(expected);
    if (std::isinf(rounded)) {
      ASSERT_EQ(out[i], rounded) << in[i];
      continue;
    }
    ASSERT_TRUE(test::close_to(out[i], expected, ulps * unit))
        << "at " << in[i] << ": " << out[i] << ", expected " << expected;
  }
}

template <class Kind, class Function>
void check(Kind kind, double ulps, double least, const Function& reference) {
  test::on_every_target([&] {
    const std::vector<float> in = probes();
    std::vector<float> out(in.size());
    apply(kind, in.data(), out.data(), static_cast<int64_t>(in.size()));
    check_accuracy(out, ulps, least, reference);
  });
}

double relu6(double x) { return std::isnan(x) ? x : std::min(std::max(x, 0.0), 6.0); }

TEST(PointwiseTest, FunctionsAreAccurate) {
  check(Unary::exponential, 1.0, 0, [](double x) { return std::exp(x); });
  check(Unary::exponential_minus_1, 1.5, 0, [](double x) { return std::expm1(x); });
  check(Unary::logarithm, 1.0, 0, [](double x) { return std::log(x); });
  check(Unary::logarithm_of_1_plus, 1.5, 0, [](double x) { return std::log1p(x); });
  check(Unary::softplus, 1.5, 0,
        [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); });
  check(Unary::error_function, 1.5, 0, [](double x) { return std::erf(x); });
  check(Unary::square_root, 0.51, 0, [](double x) { return std::sqrt(x); });
  check(Unary::reciprocal_square_root, 1.5, 0, [](double x) { return 1 / std::sqrt(x); });
  check(Unary::reciprocal, 0.51, 0, [](double x) { return 1 / x; });
  check(Unary::square, 0.51, 0, [](double x) { return x * x; });
  check(Unary::negate, 0, 0, [](double x) { return -x; });
  check(Unary::absolute, 0, 0, [](double x) { return std::abs(x); });
}

TEST(PointwiseTest, LogarithmsOfOtherBasesAreAccurate) {
  check(Unary::logarithm_2, 2, 0, [](double x) { return std::log2(x); });
  check(Unary::logarithm_10, 2, 0, [](double x) { return std::log10(x); });
  // The logarithm of an integral power of 2 is exact.
  std::vector<float> powers, out;
  for (int exponent = -126; exponent <= 127; ++exponent)
    powers.push_back(std::ldexp(1.0f, exponent));
  out.resize(powers.size());
  apply(Unary::logarithm_2, powers.data(), out.data(), static_cast<int64_t>(powers.size()));
  for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], static_cast<float>(i) - 126);
}

// Errors are in ulps of 1, because angles are reduced in float32, and in float64 beyond 8192.
TEST(PointwiseTest, SinesAreAccurate) {
  check(Unary::sine, 2, 1, [](double x) { return std::isinf(x) ? NAN : std::sin(x); });
  check(Unary::cosine, 2, 1, [](double x) { return std::isinf(x) ? NAN : std::cos(x); });
  const float in[] = {-0.0f, 1e-30f, 1e-5f};
  float out[3];
  apply(Unary::sine, in, out, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(out[i], in[i]);
  EXPECT_TRUE(std::signbit(out[0]));
}

TEST(PointwiseTest, FunctionsThroughDoublesAreRoundedOnce) {
  check(Unary::tangent, 0.51, 0, [](double x) { return std::isinf(x) ? NAN : std::tan(x); });
  check(Unary::arcsine, 0.51, 0, [](double x) { return std::asin(x); });
  check(Unary::arccosine, 0.51, 0, [](double x) { return std::acos(x); });
  check(Unary::hyperbolic_sine, 0.51, 0, [](double x) { return std::sinh(x); });
  check(Unary::hyperbolic_cosine, 0.51, 0, [](double x) { return std::cosh(x); });
  check(Unary::inverse_hyperbolic_sine, 0.51, 0, [](double x) { return std::asinh(x); });
  check(Unary::inverse_hyperbolic_cosine, 0.51, 0, [](double x) { return std::acosh(x); });
  check(Unary::inverse_hyperbolic_tangent, 0.51, 0, [](double x) { return std::atanh(x); });
  check(Unary::error_function_complement, 0.51, 0, [](double x) { return std::erfc(x); });
  check(Unary::exponential_2, 1.5, 0, [](double x) { return std::exp2(x); });
  check(Unary::fraction, 0, 0, [](double x) { return x - std::trunc(x); });
}

TEST(PointwiseTest, LogarithmsOfGammaHaveThePrecisionOfFloats) {
  // Below 0 the function has zeros at irregular places, so small results have ulps of 1.
  check(Unary::logarithm_of_gamma, 1, 1, [](double x) { return std::lgamma(x); });
}

TEST(PointwiseTest, InverseErrorFunctionsAreUndone) {
  test::on_every_target([] {
    const std::vector<float> in = probes();
    std::vector<float> out(in.size());
    apply(Unary::inverse_error_function, in.data(), out.data(), static_cast<int64_t>(in.size()));
    for (size_t i = 0; i < in.size(); ++i) {
      if (std::abs(in[i]) < 1) {
        const double back = std::erf(static_cast<double>(out[i]));
        ASSERT_NEAR(back, static_cast<double>(in[i]), 3e-7 * std::abs(in[i]) + 1e-44) << in[i];
      } else {
        const float end = std::abs(in[i]) == 1 ? in[i] * kInfinity : NAN;
        ASSERT_TRUE(test::close_to(out[i], end, 0)) << in[i];
      }
    }
  });
}

TEST(PointwiseTest, PowersAndLengthsAreRoundedOnce) {
  std::vector<float> a, b;
  Random random(11);
  const float special[] = {0.0f, -0.0f, kInfinity, -kInfinity, NAN, 1, -1, 2, -2, 0.5f, -3, 1e-40f};
  for (const float x : special)
    for (const float y : special) {
      a.push_back(x);
      b.push_back(y);
    }
  for (int i = 0; i < 2003; ++i) {
    a.push_back(std::exp(random.number(-20, 20)));
    b.push_back(random.number(-5, 5));
  }
  const auto count = static_cast<int64_t>(a.size());
  std::vector<float> power(a.size()), length(a.size()), of_rows(2 * a.size() + 3, 7);
  test::on_every_target([&] {
    combine(Binary::power, {1, count}, {a.data()}, {b.data()}, {power.data()});
    combine(Binary::hypotenuse, {1, count}, {a.data()}, {b.data()}, {length.data()});
    // Two rows with a gap between them. Each row has one exponent.
    combine(Binary::power, {2, count}, {a.data(), 0, 1}, {b.data() + 150, 1, 0},
            {of_rows.data(), count + 3});
    for (size_t i = 0; i < a.size(); ++i) {
      const double x = a[i], y = b[i], expected = std::pow(x, y);
      const auto rounded = static_cast<float>(expected);
      const double unit = std::ldexp(std::max(std::abs(expected), 1.2e-38), -23);
      ASSERT_TRUE(std::isinf(rounded) ? power[i] == rounded
                                      : test::close_to(power[i], expected, 0.51 * unit))
          << x << " to the power of " << y << ": " << power[i];
      ASSERT_TRUE(test::close_to(length[i], std::hypot(x, y), 6e-8 * std::hypot(x, y) + 1e-45))
          << x << ", " << y << ": " << length[i];
      for (size_t row = 0; row < 2; ++row) {
        const auto of_one = static_cast<float>(std::pow(x, double{b[150 + row]}));
        const float found = of_rows[row * (a.size() + 3) + i];
        ASSERT_TRUE(test::close_to(found, of_one, std::abs(of_one) * 1.2e-7)) << x;
      }
    }
    ASSERT_EQ(of_rows[a.size()], 7);
  });
}

TEST(PointwiseTest, NumbersAreRoundedToWholeOnes) {
  check(Unary::floor, 0, 0, [](double x) { return std::floor(x); });
  check(Unary::ceiling, 0, 0, [](double x) { return std::ceil(x); });
  check(Unary::round, 0, 0, [](double x) { return std::nearbyint(x); });
}

TEST(PointwiseTest, ActivationsAreAccurate) {
  check(Activation::none, 0, 0, [](double x) { return x; });
  check(Activation::relu, 0, 0, [](double x) { return std::isnan(x) ? x : std::max(x, 0.0); });
  check(Activation::relu6, 0, 0, [](double x) { return relu6(x); });
  // Below -88, exp(-x) overflows and the result is 0, as in PyTorch.
  check(Activation::sigmoid, 2, 1e-31, [](double x) { return 1 / (1 + std::exp(-x)); });
  check(Activation::tanh, 2, 0, [](double x) { return std::tanh(x); });
  check(Activation::silu, 2.5, 1e-30, [](double x) { return x / (1 + std::exp(-x)); });
  check(Activation::hardsigmoid, 2, 0.5, [](double x) { return relu6(x + 3) / 6; });
  // As in PyTorch, the product overflows before the division.
  check(Activation::hardswish, 3, 3, [](double x) {
    return x == -kInfinity ? NAN : double{static_cast<float>(x * relu6(x + 3))} / 6;
  });
}

// The error is at most a third of PyTorch's, which is 3.3e-7 times x. Small results for negative
// numbers are accurate as well, where 1 + erf(x) suffers from cancellation.
TEST(PointwiseTest, TheShareOfANormalDistributionIsAccurate) {
  test::on_every_target([&] {
    const std::vector<float> in = probes();
    std::vector<float> out(in.size());
    apply(Activation::gelu, in.data(), out.data(), static_cast<int64_t>(in.size()));
    for (size_t i = 0; i < in.size(); ++i) {
      const double x = in[i], expected = x == -kInfinity ? NAN : x / 2 * std::erfc(-x / M_SQRT2);
      ASSERT_TRUE(test::close_to(out[i], expected, 1.3e-7 * std::abs(x) + 1e-38)) << x;
      if (x < 0 && x > -5) {
        ASSERT_NEAR(out[i], expected, 5e-3 * std::abs(expected) + 1e-38) << x;
      }
    }
  });
}

TEST(PointwiseTest, AnglesAndSignsAreAccurate) {
  check(Unary::arctangent, 1.5, 0, [](double x) { return std::atan(x); });
  check(Unary::truncate, 0, 0, [](double x) { return std::trunc(x); });
  check(Unary::sign, 0, 0, [](double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; });
}

TEST(PointwiseTest, ZerosKeepTheirSigns) {
  test::on_every_target([] {
    const float zeros[] = {0.0f, -0.0f};
    for (const Unary function :
         {Unary::exponential_minus_1, Unary::logarithm_of_1_plus, Unary::error_function,
          Unary::sine, Unary::arctangent, Unary::tangent, Unary::inverse_error_function}) {
      float out[2];
      apply(function, zeros, out, 2);
      for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(out[i], 0) << static_cast<int>(function);
        ASSERT_EQ(std::signbit(out[i]), std::signbit(zeros[i])) << static_cast<int>(function);
      }
    }
  });
}

// Follows c10/util/generic_math.h.
float floor_quotient_of(float a, float b) {
  if (b == 0) return a / b;
  const float rest = std::fmod(a, b);
  float quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0f, a / b);
  const float floor = std::floor(quotient);
  return quotient - floor > 0.5f ? floor + 1 : floor;
}

TEST(PointwiseTest, QuotientsAreRoundedDown) {
  std::vector<float> a, b;
  const float special[] = {0.0f, -0.0f, kInfinity, -kInfinity, NAN,  1,
                           -1,   7,     -7,        0.1f,       3e8f, 1e-40f};
  for (const float x : special)
    for (const float y : special) {
      a.push_back(x);
      b.push_back(y);
    }
  Random random(12);
  for (int i = 0; i < 3001; ++i) {
    a.push_back(i % 2 == 0 ? random.number(-9, 9) : static_cast<float>(random.whole(-99, 99)));
    b.push_back(i % 2 == 0 ? random.number(-2, 2) : static_cast<float>(random.whole(-9, 9)));
  }
  const auto count = static_cast<int64_t>(a.size());
  std::vector<float> out(a.size());
  test::on_every_target([&] {
    combine(Binary::floor_quotient, {1, count}, {a.data()}, {b.data()}, {out.data()});
    for (size_t i = 0; i < a.size(); ++i) {
      const float expected = floor_quotient_of(a[i], b[i]);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(out[i])) << a[i] << " / " << b[i];
        continue;
      }
      ASSERT_EQ(out[i], expected) << a[i] << " / " << b[i];
      ASSERT_EQ(std::signbit(out[i]), std::signbit(expected)) << a[i] << " / " << b[i];
    }
  });
}

// Integral and other quotients of every magnitude, and NaN.
TEST(PointwiseTest, DivisionsLeaveExactRests) {
  std::vector<float> a, b;
  Random random(4);
  const std::vector<float> special = {0.0f,  -0.0f,  1.0f,  -1.0f,     3.0f,       0.1f,
                                      -6.0f, 1e-40f, 1e30f, kInfinity, -kInfinity, NAN};
  for (const float x : special)
    for (const float y : special) a.push_back(x), b.push_back(y);
  for (int i = 0; i < 20000; ++i) {
    b.push_back(random.number(-3, 3));
    const float times = static_cast<float>(random.whole(-1 << (i % 25), 1 << (i % 25)));
    a.push_back(i % 3 == 0 ? times * b.back() : random.number(-1, 1) * times);
  }
  test::on_every_target([&] {
    const auto count = static_cast<int64_t>(a.size());
    for (const Binary function : {Binary::remainder, Binary::fmod}) {
      std::vector<float> out(a.size());
      // Computes all numbers in one call, and each one alone.
      for (const int64_t run : {count, int64_t{1}})
        for (int64_t i = 0; i < count; i += run)
          combine(function, {1, run}, {a.data() + i}, {b.data() + i}, {out.data() + i});
      for (size_t i = 0; i < a.size(); ++i) {
        float expected = std::fmod(a[i], b[i]);
        if (function == Binary::remainder && expected != 0 && (expected < 0) != (b[i] < 0))
          expected += b[i];
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(out[i])) << a[i] << " " << b[i];
          continue;
        }
        ASSERT_EQ(out[i], expected) << a[i] << " " << b[i];
        ASSERT_EQ(std::signbit(out[i]), std::signbit(expected)) << a[i] << " " << b[i];
      }
    }
  });
}

TEST(PointwiseTest, DirectionsAreAccurate) {
  std::vector<float> y, x;
  for (const float a : {0.0f, -0.0f, 1.0f, -1.0f, 1e-30f, -3e30f, kInfinity, -kInfinity, NAN})
    for (const float b : {0.0f, -0.0f, 1.0f, -1.0f, 1e-30f, -3e30f, kInfinity, -kInfinity, NAN})
      y.push_back(a), x.push_back(b);
  Random random(5);
  for (int i = 0; i < 4000; ++i)
    y.push_back(random.number(-2, 2)), x.push_back(random.number(-2, 2));
  test::on_every_target([&] {
    std::vector<float> out(y.size());
    combine(Binary::arctangent, {1, static_cast<int64_t>(y.size())}, {y.data()}, {x.data()},
            {out.data()});
    for (size_t i = 0; i < y.size(); ++i) {
      const double expected = std::atan2(double{y[i]}, double{x[i]});
      ASSERT_TRUE(test::close_to(out[i], expected, 3e-7 * std::abs(expected)))
          << y[i] << " " << x[i] << ": " << out[i] << ", expected " << expected;
      if (!std::isnan(expected)) {
        ASSERT_EQ(std::signbit(out[i]), std::signbit(expected)) << y[i] << " " << x[i];
      }
    }
  });
}

TEST(PointwiseTest, SpansOfAnyLengthAreComputedWhole) {
  ThreadPool pool(3);
  test::on_every_target([&] {
    Random random(1);
    for (int i = 0; i < 60; ++i) {
      const int64_t count = i == 0 ? 100000 : random.whole(0, 100);
      const std::vector<float> in = random.numbers(count);
      std::vector<float> out(static_cast<size_t>(count) + 1, 7);
      apply(Activation::gelu_tanh, in.data(), out.data(), count, &pool);
      for (size_t k = 0; k < in.size(); ++k) {
        const double x = in[k];
        ASSERT_NEAR(out[k],
                    x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))),
                    2e-7);
      }
      ASSERT_EQ(out.back(), 7);
    }
  });
}

double combined(Binary function, double a, double b) {
  switch (function) {
    case Binary::add:
      return a + b;
    case Binary::subtract:
      return a - b;
    case Binary::multiply:
      return a * b;
    case Binary::divide:
      return a / b;
    case Binary::maximum:
      return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
    case Binary::minimum:
      return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
    case Binary::bend:
      return a > 0 ? a : a * b;
    case Binary::gate:
      return b <= 0 ? 0 : a;
    case Binary::arctangent:
      return std::atan2(a, b);
    case Binary::copy_sign:
      return std::copysign(a, b);
    case Binary::or_else:
      return std::isnan(a) ? b : a;
    case Binary::less:
      return a < b ? 1 : 0;
    case Binary::less_equal:
      return a <= b ? 1 : 0;
    case Binary::greater:
      return a > b ? 1 : 0;
    case Binary::greater_equal:
      return a >= b ? 1 : 0;
    case Binary::equal:
      return a == b ? 1 : 0;
    case Binary::not_equal:
      return a != b ? 1 : 0;
    case Binary::both:
      return a != 0 && b != 0 ? 1 : 0;
    case Binary::either:
      return a != 0 || b != 0 ? 1 : 0;
    case Binary::one_alone:
      return (a != 0) != (b != 0) ? 1 : 0;
    case Binary::power:
      return std::pow(a, b);
    case Binary::hypotenuse:
      return std::hypot(a, b);
    case Binary::remainder:
    case Binary::fmod:
    case Binary::floor_quotient:
      break;
  }
  return 0;
}

struct Operand {
  std::vector<float> data;
  Rows rows;

  Operand(Random& random, const Extent& extent) {
    rows.column_stride = random.whole(0, 1);
    rows.row_stride =
        random.whole(0, 1) * (rows.column_stride * extent.columns + random.whole(1, 3));
    data = random.numbers((extent.rows - 1) * rows.row_stride +
                          (extent.columns - 1) * rows.column_stride + 1);
    if (random.whole(0, 4) == 0) data.front() = NAN;
    rows.data = data.data();
  }
  double at(int64_t row, int64_t column) const {
    return rows.data[row * rows.row_stride + column * rows.column_stride];
  }
};

TEST(PointwiseTest, OperandsAreBroadcast) {
  ThreadPool pool(3);
  test::on_every_target([&] {
    Random random(2);
    for (int i = 0; i < 120; ++i) {
      const Extent extent{random.whole(1, 20), i < 3 ? 20000 : random.whole(1, 80)};
      const Operand a(random, extent);
      const Operand b(random, extent);
      const Operand c(random, extent);
      const int64_t stride = extent.columns + random.whole(0, 2);
      std::vector<float> out(static_cast<size_t>(extent.rows * stride), 9);
      const auto expect = [&](const auto& expected) {
        for (int64_t row = 0; row < extent.rows; ++row)
          for (int64_t k = 0; k < stride; ++k) {
            const double value = k < extent.columns ? expected(row, k) : 9;
            ASSERT_TRUE(test::close_to(out[static_cast<size_t>(row * stride + k)], value,
                                       3e-7 * (1 + std::abs(value))));
          }
      };
      const auto function = static_cast<Binary>(i % 9);
      combine(function, extent, a.rows, b.rows, {out.data(), stride}, &pool);
      expect(
          [&](int64_t row, int64_t k) { return combined(function, a.at(row, k), b.at(row, k)); });
      add_scaled(extent, a.rows, b.rows, 0.3f, {out.data(), stride}, &pool);
      expect([&](int64_t row, int64_t k) { return a.at(row, k) + double{0.3f} * b.at(row, k); });
      scale_shift(extent, a.rows, b.rows, c.rows, Activation::relu, {out.data(), stride}, &pool);
      expect([&](int64_t row, int64_t k) {
        const double value = a.at(row, k) * b.at(row, k) + c.at(row, k);
        return value < 0 ? 0 : value;
      });
    }
  });
}

}  // namespace
}  // namespace pt2::kernels
