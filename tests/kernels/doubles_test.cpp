#include <array>
#include <limits>

#include "kernels/dtypes/halves.h"
#include "kernels/kernel_test.h"
#include "kernels/tiles.h"

namespace pt2::kernels {
namespace {

using test::Random;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns numbers of every magnitude and special ones.
std::vector<double> probes() {
  std::vector<double> values = {0.0, -0.0, kInfinity, -kInfinity, NAN, 5e-320, -5e-320};
  for (int exponent = -1022; exponent <= 1023; ++exponent)
    for (const double mantissa : {1.0, 1.2345678901234567})
      for (const double sign : {1.0, -1.0}) values.push_back(sign * std::ldexp(mantissa, exponent));
  for (double x = -760; x < 760; x += 0.3137) values.push_back(x);
  for (double x = -7; x < 7; x += 0.00193) values.push_back(x);
  return values;
}

// Returns function(in), element by element.
template <class Function>
std::vector<double> apply_to_doubles(Function function, const std::vector<double>& in) {
  const TileInstruction instruction{.function = function, .a = {}, .b = {}};
  const TileOperand operand{in.data(), {0, 0, 0, 0, 1}, TileElement::twice};
  std::vector<double> out(in.size() + 1, 7);
  run_tiles({.instructions = std::span(&instruction, 1),
             .sizes = {1, 1, 1, 1, static_cast<int64_t>(in.size())},
             .operands = std::span(&operand, 1),
             .out = out.data(),
             .out_element = TileElement::twice});
  EXPECT_EQ(out.back(), 7);
  out.pop_back();
  return out;
}

// Checks that errors are at most `ulps` units in the last place of the expected value or of
// `least`, whichever is larger.
template <class Kind, class Function>
void check(Kind kind, double ulps, double least, const Function& reference) {
  test::on_every_target([&] {
    const std::vector<double> in = probes(), out = apply_to_doubles(kind, in);
    for (size_t i = 0; i < in.size(); ++i) {
      const long double expected = reference(static_cast<long double>(in[i]));
      const auto rounded = static_cast<double>(expected);
      if (std::isnan(rounded) || std::isinf(rounded)) {
        ASSERT_TRUE(std::isnan(rounded) ? std::isnan(out[i]) : out[i] == rounded)
            << in[i] << ": " << out[i] << ", expected " << rounded;
        continue;
      }
      const double unit = std::ldexp(std::max({std::abs(rounded), least, 2.3e-308}), -52);
      ASSERT_LE(std::abs(static_cast<double>(out[i] - expected)), ulps * unit)
          << "at " << in[i] << ": " << out[i] << ", expected " << rounded;
      // Highway's rounding functions do not keep the sign of zeros.
      if (in[i] == 0 && ulps > 0) {
        ASSERT_EQ(std::signbit(out[i]), std::signbit(rounded)) << in[i];
      }
    }
  });
}

using Long = long double;

TEST(DoublesTest, FunctionsAreAccurate) {
  check(Unary::exponential, 1, 0, [](Long x) { return std::exp(x); });
  check(Unary::exponential_2, 1, 0, [](Long x) { return std::exp2(x); });
  check(Unary::exponential_minus_1, 2, 0, [](Long x) { return std::expm1(x); });
  check(Unary::logarithm, 1, 0, [](Long x) { return std::log(x); });
  check(Unary::logarithm_2, 1, 0, [](Long x) { return std::log2(x); });
  check(Unary::logarithm_10, 1, 0, [](Long x) { return std::log10(x); });
  check(Unary::logarithm_of_1_plus, 1.5, 0, [](Long x) { return std::log1p(x); });
  check(Unary::softplus, 2, 0, [](Long x) {
    return std::isnan(x) ? x : std::max(x, Long{0}) + std::log1p(std::exp(-std::abs(x)));
  });
  check(Unary::square_root, 0.51, 0, [](Long x) { return std::sqrt(x); });
  check(Unary::reciprocal_square_root, 1.5, 0, [](Long x) { return 1 / std::sqrt(x); });
  check(Unary::reciprocal, 0.51, 0, [](Long x) { return 1 / x; });
  check(Unary::square, 0.51, 0, [](Long x) { return x * x; });
  check(Unary::negate, 0, 0, [](Long x) { return -x; });
  check(Unary::absolute, 0, 0, [](Long x) { return std::abs(x); });
}

TEST(DoublesTest, AnglesAreAccurate) {
  // `least` is 1e-3 because long double has only 64 bits of pi, too few near multiples of pi.
  check(Unary::sine, 1, 1e-3, [](Long x) { return std::isinf(x) ? NAN : std::sin(x); });
  check(Unary::cosine, 1, 1e-3, [](Long x) { return std::isinf(x) ? NAN : std::cos(x); });
  check(Unary::tangent, 2.5, 1e-3, [](Long x) { return std::isinf(x) ? NAN : std::tan(x); });
  check(Unary::arcsine, 2, 0, [](Long x) { return std::asin(x); });
  check(Unary::arccosine, 2, 0, [](Long x) { return std::acos(x); });
  check(Unary::arctangent, 1.5, 0, [](Long x) { return std::atan(x); });
}

TEST(DoublesTest, HyperbolicFunctionsAreAccurate) {
  check(Unary::hyperbolic_sine, 3, 0, [](Long x) { return std::sinh(x); });
  check(Unary::hyperbolic_cosine, 2.5, 0, [](Long x) { return std::cosh(x); });
  check(Unary::inverse_hyperbolic_sine, 3, 0, [](Long x) { return std::asinh(x); });
  check(Unary::inverse_hyperbolic_cosine, 3, 0, [](Long x) { return std::acosh(x); });
  check(Unary::inverse_hyperbolic_tangent, 3, 0, [](Long x) { return std::atanh(x); });
}

TEST(DoublesTest, ErrorFunctionsAreAccurate) {
  check(Unary::error_function, 1.5, 0, [](Long x) { return std::erf(x); });
  check(Unary::error_function_complement, 12, 0, [](Long x) { return std::erfc(x); });
  // Below -38.5 the result underflows. PyTorch's sum suffers from cancellation long before.
  check(Activation::gelu, 1000, 1e-280, [](Long x) {
    return x == -kInfinity ? Long{NAN} : x / 2 * std::erfc(-x / std::sqrt(Long{2}));
  });
}

TEST(DoublesTest, NumbersAreRoundedToWholeOnes) {
  check(Unary::floor, 0, 0, [](Long x) { return std::floor(x); });
  check(Unary::ceiling, 0, 0, [](Long x) { return std::ceil(x); });
  check(Unary::round, 0, 0, [](Long x) { return std::nearbyint(x); });
  check(Unary::truncate, 0, 0, [](Long x) { return std::trunc(x); });
  check(Unary::fraction, 0, 0, [](Long x) { return x - std::trunc(x); });
  check(Unary::sign, 0, 0, [](Long x) { return x > 0 ? 1 : x < 0 ? -1 : 0; });
}

Long relu6(Long x) { return std::isnan(x) ? x : std::min(std::max(x, Long{0}), Long{6}); }

TEST(DoublesTest, ActivationsAreAccurate) {
  check(Activation::none, 0, 0, [](Long x) { return x; });
  check(Activation::relu, 0, 0, [](Long x) { return std::isnan(x) ? x : std::max(x, Long{0}); });
  check(Activation::relu6, 0, 0, [](Long x) { return relu6(x); });
  check(Activation::sigmoid, 2, 1e-290, [](Long x) { return 1 / (1 + std::exp(-x)); });
  check(Activation::tanh, 2, 0, [](Long x) { return std::tanh(x); });
  check(Activation::silu, 2.5, 1e-290,
        [](Long x) { return x == -kInfinity ? Long{NAN} : x / (1 + std::exp(-x)); });
  check(Activation::hardsigmoid, 2, 0.5, [](Long x) { return relu6(x + 3) / 6; });
  check(Activation::hardswish, 3, 3, [](Long x) {
    // The product overflows before the division.
    if (x > std::numeric_limits<double>::max() / 6) return Long{kInfinity};
    return x == -kInfinity ? Long{NAN} : x * (relu6(x + 3) / 6);
  });
}

double combined(Binary function, double a, double b) {
  switch (function) {
    case Binary::maximum:
      return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
    case Binary::minimum:
      return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
    case Binary::arctangent:
      return std::atan2(a, b);
    case Binary::fmod:
      return std::fmod(a, b);
    case Binary::remainder: {
      const double rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    case Binary::copy_sign:
      return std::copysign(a, b);
    case Binary::or_else:
      return std::isnan(a) ? b : a;
    case Binary::less:
      return a < b ? 1 : 0;
    case Binary::not_equal:
      return a != b ? 1 : 0;
    case Binary::one_alone:
      return (a != 0) != (b != 0) ? 1 : 0;
    case Binary::power:
      return std::pow(a, b);
    default:
      return std::hypot(a, b);
  }
}

TEST(DoublesTest, TwoNumbersAreCombined) {
  std::vector<double> a, b;
  const std::vector<double> special = {0.0,  -0.0,   1.0,   -1.0,      3.0,        0.1,
                                       -6.0, 1e-310, 1e300, kInfinity, -kInfinity, NAN};
  for (const double x : special)
    for (const double y : special) a.push_back(x), b.push_back(y);
  Random random(3);
  for (int i = 0; i < 3001; ++i) {
    b.push_back(random.number(-3, 3));
    const auto times = static_cast<double>(random.whole(-1 << (i % 25), 1 << (i % 25)));
    a.push_back(i % 3 == 0 ? times * b.back() : random.number(-1, 1) * times);
  }
  const std::array operands{TileOperand{a.data(), {0, 0, 0, 0, 1}, TileElement::twice},
                            TileOperand{b.data(), {0, 0, 0, 0, 1}, TileElement::twice}};
  test::on_every_target([&] {
    for (const Binary function :
         {Binary::maximum, Binary::minimum, Binary::arctangent, Binary::remainder, Binary::fmod,
          Binary::copy_sign, Binary::or_else, Binary::less, Binary::not_equal, Binary::one_alone,
          Binary::power, Binary::hypotenuse}) {
      const TileInstruction instruction{.function = function, .a = {}, .b = {.index = 1}};
      std::vector<double> out(a.size());
      run_tiles({.instructions = std::span(&instruction, 1),
                 .sizes = {1, 1, 1, 1, static_cast<int64_t>(a.size())},
                 .operands = operands,
                 .out = out.data(),
                 .out_element = TileElement::twice});
      const bool is_rounded = function == Binary::arctangent || function == Binary::hypotenuse;
      for (size_t i = 0; i < a.size(); ++i) {
        const double expected = combined(function, a[i], b[i]);
        const double room = is_rounded ? std::max(std::abs(expected), 1e-307) * 0x1p-51 : 0;
        ASSERT_TRUE(test::close_to(out[i], expected, room))
            << static_cast<int>(function) << " of " << a[i] << ", " << b[i] << ": " << out[i]
            << ", expected " << expected;
        if (!std::isnan(expected) && function > Binary::minimum) {
          ASSERT_EQ(std::signbit(out[i]), std::signbit(expected));
        }
      }
    }
  });
}

// Float64 tiles with operands of other types, broadcast operands and gaps between rows; results of
// every type.
TEST(DoublesTest, ElementsOfOtherTypesBecomeDoubles) {
  constexpr int64_t kRows = 7, kColumns = 301;
  Random random(9);
  std::vector<double> x(kRows * (kColumns + 2));
  for (double& value : x) value = random.number(-300, 300);
  std::vector<int64_t> whole(kColumns);
  for (int64_t& value : whole) value = random.whole(-1000, 1000);
  std::vector<uint8_t> mask(kRows);
  for (uint8_t& value : mask) value = static_cast<uint8_t>(random.whole(0, 2));
  uint16_t half = 0;
  const float three = 3;
  float_to_half(&three, 1, &half);
  const std::array operands{TileOperand{x.data(), {0, 0, 0, kColumns + 2, 1}, TileElement::twice},
                            TileOperand{whole.data(), {0, 0, 0, 0, 1}, TileElement::whole},
                            TileOperand{mask.data(), {0, 0, 0, 1, 0}, TileElement::boolean},
                            TileOperand{&half, {}, TileElement::half}};
  // Computes x * 3 + whole / 4 where the mask is not 0, and -5.25 elsewhere.
  const auto tile = [](uint8_t index) {
    return TileSource{.from = TileSource::From::tile, .index = index};
  };
  const TileSource number{.from = TileSource::From::number, .number = -5.25};
  const std::array instructions{
      TileInstruction{.function = Binary::multiply, .a = {}, .b = {.index = 3}, .to = 1},
      TileInstruction{
          .function = Binary::add, .a = tile(1), .b = {.index = 1}, .scale = 0.25, .to = 2},
      TileInstruction{.function = Ternary::choose, .a = tile(2), .b = number, .c = {.index = 2}}};
  ThreadPool pool(3);
  test::on_every_target([&] {
    const auto check_stored = [&]<class T>(T, TileElement element, const auto& read) {
      std::vector<T> out(kRows * kColumns + 1, T{7});
      run_tiles({instructions, {1, 1, 1, kRows, kColumns}, operands, out.data(), element}, &pool);
      ASSERT_EQ(out.back(), T{7});
      for (int64_t row = 0; row < kRows; ++row)
        for (int64_t i = 0; i < kColumns; ++i) {
          const double sum = x[row * (kColumns + 2) + i] * 3 + static_cast<double>(whole[i]) * 0.25;
          const double expected = mask[row] != 0 ? sum : -5.25;
          ASSERT_EQ(out[row * kColumns + i], read(expected)) << expected;
        }
    };
    const auto as = []<class T>(T) { return [](double value) { return static_cast<T>(value); }; };
    check_stored(double{}, TileElement::twice, as(double{}));
    check_stored(float{}, TileElement::real, as(float{}));
    check_stored(int64_t{}, TileElement::whole, as(int64_t{}));
    check_stored(int32_t{}, TileElement::medium, as(int32_t{}));
    check_stored(uint8_t{}, TileElement::boolean, [](double value) { return value != 0 ? 1 : 0; });
    check_stored(int8_t{}, TileElement::small,
                 [](double value) { return static_cast<int8_t>(static_cast<int32_t>(value)); });
    check_stored(uint16_t{}, TileElement::bfloat16, [](double value) {
      const auto rounded = static_cast<float>(value);
      uint16_t bits = 0;
      float_to_bfloat16(&rounded, 1, &bits);
      return bits;
    });
  });
}

// As in torch 2.15 on a CPU, uint8 keeps the low bits of an int64, and int8 those of an int32.
TEST(DoublesTest, LargeDoublesBecomeBytes) {
  constexpr int64_t kCount = 6;
  const std::array<double, kCount> x{0x1p31 + 5, 0x1p32 + 7, -0x1p40 - 3, 300, NAN, 0x1p63};
  const std::array operands{TileOperand{x.data(), {0, 0, 0, 0, 1}, TileElement::twice}};
  const std::array instructions{TileInstruction{.function = Activation::none, .a = {}, .b = {}}};
  test::on_every_target([&] {
    const auto stored = [&](TileElement element) {
      std::array<uint8_t, kCount> out{};
      run_tiles({instructions, {1, 1, 1, 1, kCount}, operands, out.data(), element});
      return out;
    };
    EXPECT_EQ(stored(TileElement::byte), (std::array<uint8_t, kCount>{5, 7, 253, 44, 0, 0}));
    EXPECT_EQ(stored(TileElement::small), (std::array<uint8_t, kCount>{0, 0, 0, 44, 0, 0}));
  });
}

}  // namespace
}  // namespace pt2::kernels
