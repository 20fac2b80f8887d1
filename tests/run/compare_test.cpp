#include "pt2/tools/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "run/graph_maker.h"
#include "run/index_choices.h"

namespace pt2 {
namespace {

using run::floats;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor doubles(std::vector<double> values) {
  return Tensor::from<double>(Dtype::float64, {static_cast<int64_t>(values.size())}, values);
}

std::string difference(const Value& found, const Value& expected,
                       const CompareOptions& options = {}) {
  return compare(found, expected, options).difference;
}

TEST(Compare, TolerancesAreThoseOfTorchTesting) {
  EXPECT_EQ(default_tolerance(Dtype::float32).relative, 1.3e-6);
  EXPECT_EQ(default_tolerance(Dtype::complex64).absolute, 1e-5);
  EXPECT_EQ(default_tolerance(Dtype::bfloat16).relative, 1.6e-2);
  EXPECT_EQ(default_tolerance(Dtype::float64).absolute, 1e-7);
  EXPECT_EQ(default_tolerance(Dtype::int64).absolute, 0);
  EXPECT_EQ(default_tolerance(Dtype::float8_e4m3fn).relative, 0);
}

TEST(Compare, FloatsAreCloseWithinAbsolutePlusRelative) {
  EXPECT_EQ(difference(floats({1.00001f, 0}), floats({1, 1e-5f})), "");
  EXPECT_EQ(difference(floats({1, 2, 3}), floats({1, 2.5f, 3.25f})),
            "2 of 3 elements differ, the most at [1]: found 2, expected 2.5");
  EXPECT_EQ(compare(floats({1, 2}), floats({1, 2.5f})).largest_error, 0.5);
  EXPECT_EQ(difference(floats({1}), floats({1.5f}), {.relative = 0.5, .absolute = {}}), "");
  EXPECT_EQ(difference(floats({1}), floats({1.5f}), {.relative = {}, .absolute = 0.5}), "");
}

TEST(Compare, WhatIsNotFiniteMustBeTheSame) {
  EXPECT_EQ(
      difference(floats({kNan, kInfinity, -kInfinity}), floats({kNan, kInfinity, -kInfinity})), "");
  EXPECT_EQ(difference(floats({1, kInfinity}), floats({kNan, kInfinity})),
            "1 of 2 elements differ, the most at [0]: found 1, expected nan");
  EXPECT_NE(difference(floats({kInfinity}), floats({-kInfinity})), "");
  EXPECT_NE(difference(floats({3e38f}), floats({kInfinity})), "");
  // A NaN is worse than any finite error.
  EXPECT_EQ(difference(floats({5, 1}), floats({1e9f, kNan})),
            "2 of 2 elements differ, the most at [1]: found 1, expected nan");
}

TEST(Compare, DtypeAndSizesAreComparedFirst) {
  EXPECT_EQ(difference(floats({1}), doubles({1})), "found f32[1], expected f64[1]");
  EXPECT_EQ(difference(floats({1}), floats({1, 2})), "found f32[1], expected f32[2]");
  EXPECT_EQ(difference(floats({1}), floats({2}), {.relative = {}, .absolute = {}, .values = false}),
            "");
  EXPECT_EQ(difference(floats({}), floats({})), "");
}

TEST(Compare, WhatHasNoMemoryIsNeverEqual) {
  const Tensor none = Tensor::without_elements(Dtype::float32, {2});
  EXPECT_EQ(difference(none, floats({1, 2})), "found is f32[2], without memory for its elements");
  EXPECT_EQ(difference(floats({1, 2}), none),
            "expected is f32[2], without memory for its elements");
  EXPECT_NE(compare(floats({1, 2}), floats({1, 2}), {}, &none).difference, "");
  EXPECT_EQ(difference(none, none, {.values = false}), "");
}

TEST(Compare, StridesMayDiffer) {
  const float rows[] = {0, 1, 2, 3}, columns[] = {0, 2, 1, 3};
  const Tensor plain = Tensor::from<float>(Dtype::float32, {2, 2}, rows);
  const Tensor turned =
      Tensor::from<float>(Dtype::float32, {2, 2}, columns).with_view({2, 2}, {1, 2}, 0);
  EXPECT_EQ(difference(plain, turned), "");
}

TEST(Compare, IntegersAreComparedExactly) {
  const int64_t large[] = {(int64_t{1} << 62) + 1}, next[] = {int64_t{1} << 62};
  EXPECT_EQ(difference(Tensor::from<int64_t>(Dtype::int64, {1}, large),
                       Tensor::from<int64_t>(Dtype::int64, {1}, next)),
            "1 of 1 elements differ, the most at [0]: found 4611686018427387905, expected "
            "4611686018427387904");
}

TEST(Compare, LargeUnsignedNumbersAreNamedAsTheyAre) {
  const uint64_t largest[] = {UINT64_MAX}, half[] = {uint64_t{1} << 63};
  EXPECT_EQ(difference(Tensor::from<uint64_t>(Dtype::uint64, {1}, largest),
                       Tensor::from<uint64_t>(Dtype::uint64, {1}, half)),
            "1 of 1 elements differ, the most at [0]: found 18446744073709551615, expected "
            "9223372036854775808");
}

TEST(Compare, ComplexNumbersAreComparedByDistance) {
  using Complex = std::complex<double>;
  const Complex found[] = {{1, 1}}, near[] = {{1, 1 + 1e-8}}, far[] = {{1, 2}};
  const auto tensor = [](std::span<const Complex> values) {
    return Tensor::from<Complex>(Dtype::complex128, {1}, values);
  };
  EXPECT_EQ(difference(tensor(found), tensor(near)), "");
  EXPECT_EQ(difference(tensor(found), tensor(far)),
            "1 of 1 elements differ, the most at [0]: found 1+1i, expected 1+2i");
}

TEST(Compare, ScalarsHaveKinds) {
  EXPECT_EQ(difference(Value(int64_t{3}), Value(int64_t{3})), "");
  EXPECT_EQ(difference(Value(int64_t{3}), Value(3.0)), "found int 3, expected float 3.0");
  EXPECT_EQ(difference(Value(true), Value(false)), "found bool true, expected bool false");
  EXPECT_EQ(difference(Value(std::string("a")), Value(std::string("b"))),
            "found string 'a', expected string 'b'");
  EXPECT_EQ(difference(Value(0.5), Value(0.5 + 1e-9)), "");
  EXPECT_EQ(difference(Value(), Value()), "");
  EXPECT_EQ(difference(Value(), floats({1})), "found none, expected f32[1]");
}

TEST(Compare, EnumeratorsAndListsAreComparedExactly) {
  EXPECT_EQ(difference(Value(Dtype::float32), Value(Dtype::float32)), "");
  EXPECT_EQ(difference(Value(Dtype::float32), Value(Dtype::int64)),
            "found dtype float32, expected dtype int64");
  EXPECT_NE(difference(Value(Device{"cuda", 1}), Value(Device{"cuda", 0})), "");
  EXPECT_NE(difference(Value(Layout::strided), Value(Layout::mkldnn)), "");
  EXPECT_NE(difference(Value(MemoryFormat::preserve), Value(MemoryFormat::contiguous)), "");
  const auto list = [](int64_t number, float last) {
    return Value(Value::List{Value(number), Value(floats({1, last}))});
  };
  EXPECT_EQ(difference(list(1, 2), list(1, 2)), "");
  EXPECT_EQ(difference(list(1, 2), Value(Value::List{Value(1)})),
            "found list of 2, expected list of 1");
  EXPECT_EQ(difference(list(1, 2), list(2, 2)), "[0]: found int 1, expected int 2");
  EXPECT_EQ(difference(list(1, 2), list(1, 3)),
            "[1]: 1 of 2 elements differ, the most at [1]: found 2, expected 3");
  EXPECT_EQ(difference(list(1, 2), list(2, 3), {.values = false}), "");
}

// PyTorch's float32 answer is off by 2e-3 in the first element.
TEST(Compare, AReferenceAllowsTwiceTheErrorOfPytorch) {
  const Tensor reference = doubles({1000, 0.5});
  const Tensor torch = floats({1000.002f, 0.5f});
  const Comparison good = compare(floats({1000.0035f, 0.5f}), torch, {}, &reference);
  EXPECT_EQ(good.difference, "");
  EXPECT_NEAR(*good.found_error, 3.5e-3, 1e-4);
  EXPECT_NEAR(*good.expected_error, 2e-3, 1e-4);
  EXPECT_EQ(compare(floats({1000.006f, 0.5f}), torch, {}, &reference).difference,
            "the error against float64 is 0.00598, PyTorch's is 0.00201");
  // An error of one rounding of the largest value passes even if PyTorch's error is 0.
  EXPECT_TRUE(compare(floats({1000.00006f, 0.5f}), floats({1000, 0.5f}), {}, &reference).equal());
  EXPECT_FALSE(compare(floats({kNan, 0.5f}), torch, {}, &reference).equal());
  // If PyTorch happens to be exact, an error within the tolerance is no difference.
  const Tensor exact = doubles({1, 0.5}), right = floats({1, 0.5f});
  EXPECT_TRUE(compare(floats({1.000001f, 0.5f}), right, {}, &exact).equal());
  EXPECT_FALSE(
      compare(floats({1.000001f, 0.5f}), right, {.relative = 0, .absolute = 0}, &exact).equal());
  EXPECT_FALSE(compare(floats({1.0001f, 0.5f}), right, {}, &exact).equal());
  // An element beyond the tolerance counts with its own error, not with that of another.
  const Tensor mixed = doubles({1000, 0});
  EXPECT_TRUE(compare(floats({1000.001f, 2e-5f}), floats({1000, 0}), {}, &mixed).equal());
  const Tensor other = doubles({1});
  EXPECT_EQ(compare(torch, torch, {}, &other).difference, "the reference is f64[1]");
}

TEST(Compare, AReferenceFarFromPytorchSaysSo) {
  const Tensor reference = doubles({0.5, -4});
  const auto remark = [&](const Tensor& torch, const CompareOptions& options = {}) {
    return compare(torch, torch, options, &reference).remark;
  };
  EXPECT_EQ(remark(floats({0.5f, -2})),
            "PyTorch's own error against float64 is 2 where the largest value is 4: a rule that "
            "allows 2 times its error says nothing here");
  // Twice the error is less than the largest value, so a result of zeros would fail: no remark.
  EXPECT_EQ(remark(floats({0.5f, -2.1f})), "");
  // No remark either if the tolerance is as wide, or if the rule does not decide the comparison.
  EXPECT_EQ(remark(floats({0.5f, -2}), {.absolute = 2}), "");
  EXPECT_EQ(remark(floats({0.5f, -2}), {.min_sqnr = 0}), "");
  // An error around 0 within the tolerance gives no remark, a larger one does.
  const Tensor zero = doubles({0, 0});
  EXPECT_EQ(compare(floats({1e-7f, 0}), floats({1e-7f, 0}), {}, &zero).remark, "");
  EXPECT_NE(compare(floats({1e-3f, 0}), floats({1e-3f, 0}), {}, &zero).remark, "");
  // The remark is independent of the verdict: here the results differ as well.
  const Comparison far = compare(floats({0.5f, 9}), floats({0.5f, -2}), {}, &reference);
  EXPECT_FALSE(far.equal());
  EXPECT_NE(far.remark, "");
}

TEST(CompareBySignalToNoise, TheRatioOfNormsDecides) {
  const Tensor expected = floats({3, 4}), found = floats({3, 3.5f});
  // The norms of signal and noise are 5 and 0.5: 20 dB.
  const Comparison good = compare(found, expected, {.min_sqnr = 19.9});
  EXPECT_EQ(good.difference, "");
  EXPECT_NEAR(*good.sqnr, 20, 1e-9);
  EXPECT_EQ(good.largest_error, 0.5);
  EXPECT_EQ(difference(found, expected, {.min_sqnr = 20.5}),
            "signal to noise is 20 dB, expected at least 20.5 dB");
  EXPECT_EQ(difference(floats({3}), floats({3, 4}), {.min_sqnr = 0}),
            "found f32[1], expected f32[2]");
  // The signal is always the expected tensor, even if the found one has the larger norm.
  EXPECT_LT(*compare(floats({30, 40}), floats({3, 4}), {.min_sqnr = 0}).sqnr, -19);
}

TEST(CompareBySignalToNoise, EqualIsInfiniteAndNoiseWithoutSignalFails) {
  EXPECT_EQ(*compare(floats({1, 2}), floats({1, 2}), {.min_sqnr = 1e9}).sqnr, kInfinity);
  EXPECT_TRUE(compare(floats({1, 2}), floats({1, 2}), {.min_sqnr = 1e9}).equal());
  EXPECT_TRUE(compare(floats({0, 0}), floats({0, 0}), {.min_sqnr = 1e9}).equal());
  EXPECT_EQ(difference(floats({0, 1e-30f}), floats({0, 0}), {.min_sqnr = -kInfinity}),
            "signal to noise is -inf dB, expected at least -inf dB");
}

TEST(CompareBySignalToNoise, WhatIsNotFiniteMustBeTheSame) {
  EXPECT_TRUE(
      compare(floats({kNan, kInfinity, 1}), floats({kNan, kInfinity, 1.01f}), {.min_sqnr = 20})
          .equal());
  for (const float found : {1.0f, kInfinity, -kInfinity}) {
    const Comparison result = compare(floats({1, found}), floats({1, kNan}), {.min_sqnr = -1e9});
    EXPECT_FALSE(result.equal());
    EXPECT_FALSE(result.sqnr);
  }
  EXPECT_EQ(difference(floats({1, kInfinity}), floats({1, -kInfinity}), {.min_sqnr = 0}),
            "1 of 2 elements differ, the most at [1]: found inf, expected -inf");
  EXPECT_FALSE(compare(floats({1}), floats({1}), {.min_sqnr = kNan}).equal());
}

TEST(CompareBySignalToNoise, NormsMayBeBeyondTheRangeOfSquares) {
  const Comparison large =
      compare(doubles({1e300, 1.1e300}), doubles({1e300, 1e300}), {.min_sqnr = 20});
  EXPECT_TRUE(large.equal());
  EXPECT_NEAR(*large.sqnr, 20 + 10 * std::log10(2), 1e-6);
  EXPECT_NEAR(*compare(doubles({1.1e-300}), doubles({1e-300}), {.min_sqnr = 20}).sqnr, 20, 1e-6);
  EXPECT_FALSE(
      compare(doubles({-1.7e308, 1.7e308}), doubles({1.7e308, -1.7e308}), {.min_sqnr = -1e6})
          .equal());
}

TEST(CompareBySignalToNoise, NumbersAndComplexCountAndIntegersDoNot) {
  using Complex = std::complex<double>;
  EXPECT_TRUE(compare(Value(1.01), Value(1.0), {.min_sqnr = 39}).equal());
  EXPECT_FALSE(compare(Value(1.01), Value(1.0), {.min_sqnr = 41}).equal());
  EXPECT_TRUE(compare(Value(Complex(0, 1.01)), Value(Complex(0, 1)), {.min_sqnr = 39}).equal());
  EXPECT_FALSE(compare(Value(int64_t{100}), Value(int64_t{101}), {.min_sqnr = 1}).equal());
  const int64_t found[] = {1000000}, expected[] = {1000001};
  EXPECT_FALSE(compare(Tensor::from<int64_t>(Dtype::int64, {1}, found),
                       Tensor::from<int64_t>(Dtype::int64, {1}, expected), {.min_sqnr = 1})
                   .equal());
}

TEST(CompareBySignalToNoise, TheFigureGoesWithADifferenceOfElements) {
  EXPECT_NEAR(*compare(floats({3, 3.5f}), floats({3, 4})).sqnr, 20, 1e-9);
  EXPECT_FALSE(compare(floats({3, 4}), floats({3, 4})).sqnr);
}

TEST(IndexChoices, AreJudgedByTheValuesThere) {
  const auto indices = [](std::vector<int64_t> values) {
    return Value(
        Tensor::from<int64_t>(Dtype::int64, {static_cast<int64_t>(values.size())}, values));
  };
  const IndexChoice topk{.chooser = "aten.topk", .indices = "i", .values = "x", .dim = -1};
  const Tensor x = floats({2, 1, 2.000001f});
  const auto judged = [&](const Value& found, const Value& expected, const Tensor& values) {
    return judge_choice(topk, found, expected, values, {});
  };
  const std::string two = "indices chosen by aten.topk: 2 of 2 differ";
  EXPECT_EQ(judged(indices({0, 2}), indices({2, 0}), {}).text,
            two + "; near ties may choose otherwise");
  EXPECT_TRUE(judged(indices({0, 2}), indices({2, 0}), x).is_tie);
  EXPECT_EQ(judged(indices({0, 2}), indices({2, 0}), x).text,
            two + ", where values are nearly equal");
  EXPECT_EQ(judged(indices({0, 2}), indices({2, 1}), x).text,
            two +
                ", and of the values there 1 of 2 elements differ, the most at [1]: found "
                "2.0000009536743164, expected 1");
  EXPECT_EQ(judged(indices({0, 2}), indices({2, 3}), x).text,
            two + "; expected: there is no index 3 of 3 values");
  EXPECT_EQ(judged(indices({0, 0}), indices({2, 2}), x).text,
            two + "; found: index 0 is chosen twice");
  EXPECT_EQ(judged(indices({0, 2}), indices({0}), x).text, "");
  EXPECT_EQ(judged(indices({0}), Value(floats({0})), x).text, "");
  EXPECT_EQ(judged(indices({0}), Value(int64_t{0}), x).text, "");
}

}  // namespace
}  // namespace pt2
