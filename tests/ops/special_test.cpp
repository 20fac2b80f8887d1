// Special functions compared with values that mpmath computes at 40 digits, nextafter compared with
// the C library's, and evenly spaced numbers compared with those of torch 2.15.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include "ops/compose.h"
#include "ops/loops.h"

namespace pt2::ops {
namespace {

// Returns the function of one number. `order` is its first argument, if given.
double of_one(Handle function, double x, Dtype dtype, std::optional<int64_t> order = {}) {
  Tensor number = Tensor::zeros(dtype, {1});
  fill_elements(number, x);
  const Tensor result =
      (order ? apply(function, {*order, number}) : apply(function, {number})).value();
  Tensor wide = Tensor::zeros(Dtype::float64, {1});
  copy_elements(wide, result);
  return wide.data<double>()[0];
}

struct Known {
  double x, y;
};
// Compares float64 results up to a few ulps, and float32 results up to half an ulp if x is exact in
// float32.
void check(Handle function, std::initializer_list<Known> known, std::optional<int64_t> order = {}) {
  for (const auto& [x, y] : known) {
    EXPECT_NEAR(of_one(function, x, Dtype::float64, order) / y, 1, 4e-15) << x;
    if (static_cast<double>(static_cast<float>(x)) != x) continue;
    EXPECT_NEAR(of_one(function, x, Dtype::float32, order) / y, 1, 6.1e-8) << x;
  }
}

TEST(SpecialFunctions, InverseErrorFunction) {
  check(aten<"erfinv.default">, {{5e-08, 4.4311346272637926e-08},
                                 {0.3, 0.2724627147267543},
                                 {-0.85, -1.0179024648320276},
                                 {0.8500001, 1.0179027145953181},
                                 {0.999, 2.3267537655135246},
                                 {-(1 - 0x1p-40), -5.05125408524939},
                                 {1 - 0x1p-53, 5.8635847487551676}});
  const auto erfinv = [](double x) { return of_one(aten<"erfinv.default">, x, Dtype::float64); };
  EXPECT_EQ(erfinv(1), HUGE_VAL);
  EXPECT_EQ(erfinv(-1), -HUGE_VAL);
  EXPECT_TRUE(std::signbit(erfinv(-0.0)));
  for (const double outside : {1.5, -2.0, HUGE_VAL, std::nan("")})
    EXPECT_TRUE(std::isnan(erfinv(outside)));
}

TEST(SpecialFunctions, NormalQuantiles) {
  check(aten<"special_ndtri.default">, {{1e-300, -37.0470962993612},
                                        {1e-20, -9.262340089798407},
                                        {0.01, -2.326347874040841},
                                        {0.0749, -1.4402382675279637},
                                        {0.0751, -1.43882539275254},
                                        {0.4, -0.2533471031357997},
                                        {0.9999, 3.7190164854557084},
                                        {1 - 0x1p-53, 8.209536151601387}});
  const auto ndtri = [](double x) {
    return of_one(aten<"special_ndtri.default">, x, Dtype::float64);
  };
  EXPECT_EQ(ndtri(0), -HUGE_VAL);
  EXPECT_EQ(ndtri(0.5), 0);
  EXPECT_EQ(ndtri(1), HUGE_VAL);
  EXPECT_TRUE(std::isnan(ndtri(-0.1)) && std::isnan(ndtri(1.1)) && std::isnan(ndtri(std::nan(""))));
}

TEST(SpecialFunctions, Polygamma) {
  const auto check_order = [](int64_t order, std::initializer_list<Known> known) {
    check(aten<"polygamma.default">, known, order);
  };
  check_order(1, {{0.03, 1112.6867360264796},
                  {1.1, 1.4332991507927586},
                  {50.5, 0.01999933342663716},
                  {1e10, 1.00000000005e-10},
                  {-2.5, 9.539246644989124}});
  check_order(2, {{0.7, -6.4349928741909235}, {1e120, -1.0000000000000001e-240}});
  check_order(3, {{4.25, 0.03665372575986459}});
  check_order(7, {{0.5, 1290440.218185598}});
  check_order(8, {{2.0, -80.97839874763488}});
  check_order(12, {{3.5, -42.17265738445786}});
  // The powers of these arguments underflow or overflow a double.
  const auto third = [](double x) {
    return of_one(aten<"polygamma.default">, x, Dtype::float64, 3);
  };
  EXPECT_EQ(third(1e-100), HUGE_VAL);
  EXPECT_EQ(third(1e200), 0);
  EXPECT_TRUE(std::isnan(third(HUGE_VAL)));  // PyTorch's series gives NaN as well
  EXPECT_EQ(of_one(aten<"polygamma.default">, HUGE_VAL, Dtype::float32, 1), 0);
}

TEST(SpecialFunctions, MultivariateLogGammaIsRowMajor) {
  const Tensor turned = Tensor::zeros(Dtype::float32, {3, 4}).with_view({4, 3}, {1, 4}, 0);
  EXPECT_EQ(apply(aten<"mvlgamma.default">, {turned, 2})->strides(), (Sizes{3, 1}));
}

TEST(SpecialFunctions, ModifiedBesselFunctions) {
  check(aten<"special_i0e.default">, {{0.001, 0.9990007495835156},
                                      {1.9, 0.31824316288914156},
                                      {2.1, 0.2995630945262819},
                                      {3.99, 0.20728502415860453},
                                      {4.0, 0.2070019212239867},
                                      {7.9, 0.14436986414104191},
                                      {8.1, 0.14251180948829528},
                                      {29.9, 0.07326921904600191},
                                      {30.1, 0.07302329413106094},
                                      {-5.5, 0.17448325638192988},
                                      {700.0, 0.015081295651531358}});
  check(aten<"special_i1e.default">, {{0.001, 0.0004995003123542213},
                                      {1.9, 0.21661191117477052},
                                      {2.1, 0.21374767210633228},
                                      {3.99, 0.1789153791413457},
                                      {4.0, 0.17875083950243534},
                                      {7.9, 0.13489649943989376},
                                      {8.1, 0.13340068832583662},
                                      {29.9, 0.07203337491186879},
                                      {30.1, 0.07179985435101434},
                                      {-5.5, -0.15770100901675652},
                                      {700.0, 0.015070519444716848}});
  check(aten<"special_modified_bessel_k0.default">, {{1e-300, 690.89145941387212},
                                                     {0x1p-126, 87.452476266211521},
                                                     {1e-10, 23.141782445598869},
                                                     {2.5e-9, 19.922906620730669}});
  check(aten<"special_modified_bessel_k1.default">, {{1e-300, 9.9999999999999997e+299},
                                                     {0x1p-126, 8.5070591730234616e+37},
                                                     {1e-10, 9999999999.9999996},
                                                     {2.5e-9, 399999999.99999997}});
}

template <class T>
void check_neighbours(Dtype dtype) {
  std::mt19937 random(5);
  const T limits[] = {0,
                      -T(0),
                      std::numeric_limits<T>::denorm_min(),
                      -std::numeric_limits<T>::denorm_min(),
                      std::numeric_limits<T>::max(),
                      -std::numeric_limits<T>::max(),
                      std::numeric_limits<T>::infinity(),
                      -std::numeric_limits<T>::infinity(),
                      std::numeric_limits<T>::quiet_NaN(),
                      std::numeric_limits<T>::min(),
                      1,
                      -2};
  constexpr int64_t kLimits = std::size(limits);
  constexpr int64_t kCount = kLimits * kLimits + 500;
  Tensor a = Tensor::zeros(dtype, {kCount}), b = Tensor::zeros(dtype, {kCount});
  std::normal_distribution<T> normal;
  for (int64_t i = 0; i < kCount; ++i) {
    const bool is_limit = i < kLimits * kLimits;
    a.data<T>()[i] = is_limit ? limits[i / kLimits] : normal(random);
    b.data<T>()[i] = is_limit ? limits[i % kLimits] : normal(random);
  }
  const Tensor found = apply(aten<"nextafter.default">, {a, b}).value();
  for (int64_t i = 0; i < kCount; ++i) {
    const T expected = std::nextafter(a.data<T>()[i], b.data<T>()[i]),
            x = found.as<T>()[static_cast<size_t>(i)];
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(x)) << i;
    } else {
      EXPECT_EQ(x, expected) << i;
      EXPECT_EQ(std::signbit(x), std::signbit(expected)) << i;
    }
  }
}

TEST(Neighbours, AreThoseOfTheLibrary) {
  check_neighbours<float>(Dtype::float32);
  check_neighbours<double>(Dtype::float64);
}

TEST(SpecialFunctions, DifferFromMathematicsWherePyTorchDoes) {
  EXPECT_NEAR(of_one(aten<"polygamma.default">, -1, Dtype::float32, 1) / 1.2914e15, 1, 1e-3);
  EXPECT_NEAR(of_one(aten<"polygamma.default">, -1, Dtype::float64, 1) / 6.5808e32, 1, 1e-3);
  EXPECT_EQ(of_one(aten<"polygamma.default">, -1, Dtype::float16, 1), HUGE_VAL);
  // x * pi overflows float32.
  EXPECT_TRUE(std::isnan(of_one(aten<"sinc.default">, 2e38, Dtype::float32)));
  EXPECT_TRUE(std::isnan(of_one(aten<"sinc.default">, 2e38, Dtype::bfloat16)));
  EXPECT_FALSE(std::isnan(of_one(aten<"sinc.default">, 65504, Dtype::float16)));
  EXPECT_FALSE(std::isnan(of_one(aten<"sinc.default">, 2e38, Dtype::float64)));
}

TEST(SpecialFunctions, AnIntegerExponentMayBeBeyondTheDtype) {
  const auto ldexp = [](double x, int64_t exponent, Dtype dtype) {
    const Tensor number = scalar_tensor(x, dtype), power = scalar_tensor(exponent, Dtype::int64);
    const Tensor result = apply(aten<"ldexp.Tensor">, {number, power}).value();
    EXPECT_EQ(result.dtype(), dtype);
    Tensor wide = Tensor::zeros(Dtype::float64, {});
    copy_elements(wide, result);
    return wide.data<double>()[0];
  };
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
    EXPECT_EQ(ldexp(0x1p-10, 20, dtype), 0x1p10);
    EXPECT_EQ(ldexp(0, 1200, dtype), 0);
    EXPECT_EQ(ldexp(3, -1200, dtype), 0);
    // The exponent is truncated to a 32-bit int.
    EXPECT_EQ(ldexp(3, kLowest, dtype), 3);
    EXPECT_EQ(ldexp(3, (int64_t{1} << 32) + 1, dtype), 6);
  }
  EXPECT_EQ(ldexp(0x1p-100, 140, Dtype::float32), 0x1p40);
  EXPECT_EQ(ldexp(1, 200, Dtype::float64), 0x1p200);
}

// The expected results are PyTorch's.
TEST(Complex, QuotientsAndPowersOfInfinitiesAndZeros) {
  const double inf = HUGE_VAL, nan = std::nan("");
  const auto numbers = apply(aten<"view_as_complex.default">,
                             {Tensor::of<double>({4, 2}, {inf, 1, 0, 0, inf, inf, 3, -4})});
  const auto expect_parts = [](const Result<Tensor>& found, std::initializer_list<double> parts) {
    const Tensor real = apply(aten<"view_as_real.default">, {found}).value();
    for (size_t i = 0; i < parts.size(); ++i) {
      const double part = real.as<double>()[i], expected = std::data(parts)[i];
      if (std::isfinite(expected))
        EXPECT_NEAR(part, expected, 1e-15) << i;
      else
        EXPECT_TRUE(part == expected || (std::isnan(part) && std::isnan(expected))) << i;
    }
  };
  const auto over = [&](double divisor) {
    return apply(aten<"div.Tensor">, {numbers, Tensor::of<double>({1}, {divisor})});
  };
  expect_parts(over(2), {inf, nan, 0, 0, nan, nan, 1.5, -2});
  for (const double nought : {0.0, -0.0})
    expect_parts(over(nought), {inf, inf, nan, nan, inf, inf, inf, -inf});
  expect_parts(over(inf), {nan, nan, 0, 0, nan, nan, 0, 0});
  const auto to_the = [&](double exponent) {
    return apply(aten<"pow.Tensor_Scalar">, {numbers, exponent});
  };
  expect_parts(to_the(-2), {nan, nan, inf, nan, nan, nan, -0.0112, 0.0384});
  expect_parts(to_the(-1), {0, 0, inf, nan, nan, nan, 0.12, 0.16});
  expect_parts(to_the(-0.5), {0, 0, inf, nan, nan, nan, 0.4, 0.2});
}

// The expected phases are those of torch.angle(-torch.ones(count, dtype=dtype)).
TEST(Complex, NegatedRealsHaveThePhaseOfAVectorOrOfASingleNumber) {
  const auto phase = [](Dtype dtype, int64_t count) {
    const Tensor ones = apply(aten<"full.default">, {Sizes{count}, 1, dtype}).value();
    const Tensor phases =
        apply(aten<"angle.default">, {apply(aten<"neg.default">, {ones})}).value();
    Tensor wide = Tensor::zeros(Dtype::float64, {count});
    copy_elements(wide, phases);
    return wide.as<double>()[0] > 0 ? 1 : -1;
  };
  EXPECT_EQ(phase(Dtype::complex64, 7), -1);
  EXPECT_EQ(phase(Dtype::complex64, 8), 1);
  EXPECT_EQ(phase(Dtype::complex128, 3), -1);
  EXPECT_EQ(phase(Dtype::complex128, 4), 1);
}

TEST(Extremes, OfZerosHaveTheSignOfTheFirstAndOfBfloat16OfTheSecond) {
  for (const Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::float16, Dtype::bfloat16}) {
    Tensor zeros = Tensor::zeros(dtype, {2}), turned = Tensor::zeros(dtype, {2});
    copy_elements(zeros, Tensor::of<double>({2}, {0.0, -0.0}));
    copy_elements(turned, Tensor::of<double>({2}, {-0.0, 0.0}));
    for (const Handle extreme : {Handle(aten<"fmax.default">), Handle(aten<"fmin.default">)}) {
      Tensor wide = Tensor::zeros(Dtype::float64, {2});
      copy_elements(wide, apply(extreme, {zeros, turned}).value());
      const bool first = dtype != Dtype::bfloat16;
      EXPECT_EQ(std::signbit(wide.as<double>()[0]), !first) << dtype_name(dtype);
      EXPECT_EQ(std::signbit(wide.as<double>()[1]), first) << dtype_name(dtype);
    }
  }
}

// Scales of microscaling formats are powers of two; torch.float8_e8m0fnu has no infinity.
TEST(PowersOfTwo, BeyondTheLargestAreNan) {
  const auto scale = [](double x) {
    Tensor number = Tensor::zeros(Dtype::float32, {1}), code = Tensor::zeros(Dtype::uint8, {1});
    fill_elements(number, x);
    Tensor power = code.with_dtype(Dtype::float8_e8m0fnu);
    copy_elements(power, number);
    return int{code.data<uint8_t>()[0]};
  };
  EXPECT_EQ(scale(0x1.fp126), 0xfe);
  EXPECT_EQ(scale(0x1.7p127), 0xfe);
  EXPECT_EQ(scale(0x1.8p127), 0xff);
  EXPECT_EQ(scale(HUGE_VAL), 0xff);
  EXPECT_EQ(scale(1.5), 0x80);
  EXPECT_EQ(scale(1.25), 0x7f);
}

TEST(EvenlySpacedNumbers, ArePyTorchsToTheLastBit) {
  const auto element = [](const Result<Tensor>& numbers, int64_t index) {
    Tensor wide = Tensor::zeros(Dtype::float64, numbers.value().sizes());
    copy_elements(wide, *numbers);
    return wide.data<double>()[index];
  };
  const auto between = [&](double start, double end, int64_t steps, Dtype dtype, int64_t index) {
    return element(apply(aten<"linspace.default">, {start, end, steps, dtype}), index);
  };
  const auto from = [&](double start, double end, double step, Dtype dtype, int64_t index) {
    return element(apply(aten<"arange.start_step">, {start, end, step, dtype}), index);
  };
  // Programs that truncate it to an index read element 0.
  EXPECT_EQ(between(0, 2, 15, Dtype::float32, 7), 0x1.fffffep-1);
  EXPECT_EQ(between(-1, 1, 224, Dtype::float32, 111), -0x1.25e15p-8);
  EXPECT_EQ(between(-1, 1, 224, Dtype::float64, 111), -0x1.25e2270809302p-8);
  EXPECT_EQ(between(3, -7.3, 50, Dtype::float32, 14), 0x1.d41d5p-5);
  EXPECT_EQ(between(0.1, 0.7, 17, Dtype::float16, 8), 0x1.99cp-2);
  EXPECT_EQ(between(3, -7.3, 50, Dtype::bfloat16, 14), 0x1.b6p-5);
  EXPECT_EQ(from(-1.2, 1.2, 0.05, Dtype::float32, 23), -0x1.99999cp-5);
  EXPECT_EQ(from(-1.2, 1.2, 0.05, Dtype::float32, 24), 0x1p-53);
  EXPECT_EQ(from(-1.2, 1.2, 0.05, Dtype::float32, 25), 0x1.99999ap-5);
  // Vision models look for the positions of patches among these.
  EXPECT_EQ(from(1 / 27.0, 1, 1 / 27.0, Dtype::float32, 9), 0x1.7b426p-2);
  EXPECT_EQ(from(0, 1, 0.01, Dtype::float16, 29), 0x1.29p-2);
  EXPECT_EQ(from(0, 1, 0.01, Dtype::bfloat16, 29), 0x1.2ap-2);
  EXPECT_EQ(from(0, 1, 0.01, Dtype::float64, 29), 0x1.28f5c28f5c29p-2);
}

}  // namespace
}  // namespace pt2::ops
