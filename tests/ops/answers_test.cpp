// Single calls with the answer of torch 2.15 on a CPU, where another answer seems equally right.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/compose.h"
#include "ops/loops.h"
#include "ops/table.h"

namespace pt2::ops {
namespace {

template <class T>
Tensor row(std::initializer_list<T> values) {
  return Tensor::of<T>({static_cast<int64_t>(values.size())}, values);
}
Tensor as(Dtype dtype, const Tensor& tensor) {
  Tensor out = Tensor::zeros(dtype, tensor.sizes());
  copy_elements(out, tensor);
  return out;
}
Tensor number(double value, Dtype dtype) { return scalar_tensor(value, dtype); }

std::vector<double> elements(const Result<Tensor>& tensor) {
  if (!tensor) {
    ADD_FAILURE() << tensor.error().message;
    return {};
  }
  const Tensor wide = as(Dtype::float64, *tensor);
  const auto all = wide.as<double>();
  return {all.begin(), all.end()};
}
using Doubles = std::vector<double>;

TEST(Answers, NumbersBeyondAHalfDtypeAreInfiniteAsTensorsAndRefusedAsFills) {
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
    const Tensor ones = as(dtype, row<float>({1, 1}));
    EXPECT_EQ(elements(apply(aten<"scalar_tensor.default">, {-1e39, dtype})), Doubles{-HUGE_VAL});
    EXPECT_EQ(elements(apply(aten<"where.ScalarOther">, {row<bool>({true, false}), ones, -1e39})),
              (Doubles{1, -HUGE_VAL}));
    EXPECT_FALSE(apply(aten<"masked_fill.Scalar">, {ones, row<bool>({true, false}), -1e39}));
    EXPECT_FALSE(apply(aten<"pow.Tensor_Scalar">, {ones, 1e39}));
  }
  EXPECT_FALSE(apply(aten<"scalar_tensor.default">, {1e300, Dtype::float32}));
  EXPECT_FALSE(apply(aten<"scalar_tensor.default">, {300, Dtype::int8}));
  EXPECT_EQ(elements(apply(aten<"pow.Tensor_Scalar">, {row<float>({2}), 1e300})),
            Doubles{HUGE_VAL});
}

TEST(Answers, OneMaskAndOneValueFill) {
  const Tensor self = row<float>({1, 2, 3}), mask = row<bool>({true, false, true});
  const auto put = [&](const Tensor& index, const Tensor& value, bool accumulate = false) {
    return apply(aten<"index_put.default">, {self, OptionalTensors{index}, value, accumulate});
  };
  const Tensor no = number(0, Dtype::bool_), yes = number(1, Dtype::bool_);
  EXPECT_EQ(elements(put(no, number(9, Dtype::float32))), (Doubles{1, 2, 3}));
  EXPECT_EQ(elements(put(yes, number(9, Dtype::float32))), (Doubles{9, 9, 9}));
  EXPECT_EQ(elements(put(mask, number(9, Dtype::int64))), (Doubles{9, 2, 9}));
  EXPECT_EQ(elements(put(mask, row<double>({9.5}))), (Doubles{9.5, 2, 9.5}));
  EXPECT_FALSE(put(mask, number(9, Dtype::int64), true));
  EXPECT_FALSE(put(mask, number(1e300, Dtype::float64)));
  EXPECT_FALSE(put(row<int64_t>({0}), number(9, Dtype::int64)));
}

TEST(Answers, AComplexNumberTakesTheWidthOfAFloatTensor) {
  const Tensor wide =
      apply(aten<"scalar_tensor.default">, {Scalar(Complex(0, 1)), Dtype::complex128}).value();
  EXPECT_EQ(apply(aten<"mul.Tensor">, {row<float>({1}), wide})->dtype(), Dtype::complex64);
  EXPECT_EQ(apply(aten<"mul.Tensor">, {row<double>({1}), wide})->dtype(), Dtype::complex128);
  const auto half = apply(aten<"mul.Tensor">, {as(Dtype::float16, row<float>({2})), wide});
  EXPECT_EQ(half->dtype(), Dtype::complex32);
  EXPECT_EQ(apply(aten<"mul.Tensor">, {row<int64_t>({1}), wide})->dtype(), Dtype::complex128);
}

TEST(Answers, ASoughtNumberTakesTheDtypeOfIntegers) {
  const Tensor bytes = row<uint8_t>({1, 2, 3, 4, 5});
  EXPECT_EQ(elements(apply(aten<"bucketize.Scalar">, {-3, bytes})), Doubles{5});
  EXPECT_EQ(elements(apply(aten<"bucketize.Scalar">, {2.5, bytes})), Doubles{2});
  EXPECT_EQ(elements(apply(aten<"searchsorted.Scalar">, {bytes, -3})), Doubles{5});
}

TEST(Answers, LossesOfOtherDtypesAndNan) {
  const auto margin =
      apply(aten<"soft_margin_loss.default">, {row<float>({1, 2}), row<uint8_t>({1, 1}), 0});
  EXPECT_NEAR(elements(margin)[0], 0.3132617, 1e-6);
  EXPECT_EQ(elements(apply(aten<"multi_margin_loss.default">,
                           {Tensor::of<float>({1, 3}, {1, std::nanf(""), 2}), row<int64_t>({0}), 1,
                            1, OptionalTensor(), 0})),
            Doubles{static_cast<double>(2 / 3.0f)});
}

TEST(Answers, WindowsThatStartWithTheSignal) {
  const Tensor signal = Tensor::zeros(Dtype::float32, {40});
  const auto sizes = [&](bool align) {
    return apply(aten<"stft.default">,
                 {signal, 16, 5, 12, Tensor::zeros(Dtype::float32, {12}), false, true, true, align})
        ->sizes();
  };
  EXPECT_EQ(sizes(true), (Sizes{9, 6}));
  EXPECT_EQ(sizes(false), (Sizes{9, 5}));
}

TEST(Answers, LargeUnsignedNumbersStayPositive) {
  const Tensor large = row<uint64_t>({uint64_t{1} << 63, 1});
  for (const Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::bfloat16, Dtype::complex64})
    EXPECT_EQ(elements(apply(aten<"_to_copy.default">, {large, dtype})), (Doubles{0x1p63, 1}));
}

TEST(Answers, SpecialRoundHasDecimals) {
  EXPECT_EQ(elements(apply(aten<"special_round.default">, {row<double>({1.256}), 2})),
            Doubles{1.26});
  EXPECT_EQ(elements(apply(aten<"special_round.default">, {row<double>({1.5})})), Doubles{2});
}

TEST(Answers, BatchStatisticsAreRoundedOnlyToBeStored) {
  const Tensor x = Tensor::of<float>({1, 1, 4}, {100.1f, 100.2f, 100.3f, 100.4f});
  const auto out = apply_all(
      aten<"native_batch_norm.default">,
      {x, OptionalTensor(), OptionalTensor(), OptionalTensor(), OptionalTensor(), true, 0.1, 1e-5});
  const Doubles y = elements(*out.value()[0].get_if<Tensor>());
  EXPECT_NEAR(y[0] + y[1] + y[2] + y[3], 0, 1e-6);
}

TEST(Answers, LogitsOfHalvesAreRoundedAfterEachStep) {
  const auto logits = [](Dtype dtype, std::optional<double> eps) {
    return elements(apply(aten<"logit.default">, {as(dtype, row<float>({0.3f, 0.7f, 1})), eps}));
  };
  EXPECT_EQ(logits(Dtype::float16, {}), (Doubles{-0.84765625, 0.8486328125, HUGE_VAL}));
  EXPECT_EQ(logits(Dtype::float16, 1e-3), (Doubles{-0.84765625, 0.8486328125, 6.9296875}));
  // In bfloat16, 1 - eps rounds to 1.
  EXPECT_EQ(logits(Dtype::bfloat16, 1e-3), (Doubles{-0.84375, 0.84375, HUGE_VAL}));
}

TEST(Answers, RowsThatAreLookedUpAreShortened) {
  const Tensor weight = Tensor::of<float>({4, 2}, {3, 4, 1, 1, 6, 8, 0.5, 0});
  const auto shortened = apply(aten<"embedding_renorm.default">,
                               {weight, Tensor::of<int64_t>({0, 2, 2, 3}), 1.0, 2.0});
  ASSERT_TRUE(shortened) << shortened.error().text();
  const float expected[] = {0.6000000238418579f, 0.800000011920929f, 1,   1,
                            0.6000000238418579f, 0.800000011920929f, 0.5, 0};
  const auto found = shortened->elements<float>();
  EXPECT_TRUE(std::equal(found.begin(), found.end(), expected));
  EXPECT_EQ(weight.as<float>()[0], 3);
  EXPECT_FALSE(
      apply(aten<"embedding_renorm.default">, {weight, Tensor::of<int64_t>({4}), 1.0, 2.0}));
}

// As in PyTorch, the sums include taps of weight 0, so an infinity under such a tap gives NaN.
TEST(Answers, ResizedInfinitiesBecomeNanWhereTheirWeightIsZero) {
  const double inf = HUGE_VAL, nan = std::nan("");
  const Tensor line = Tensor::of<float>({1, 1, 3}, {1, HUGE_VALF, 2});
  const auto same = [](const Doubles& found, const Doubles& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_TRUE(found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i])))
          << i << ": " << found[i];
  };
  for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
    const Tensor x = as(dtype, line);
    same(elements(apply(aten<"upsample_linear1d.default">, {x, Sizes{5}, true})),
         {nan, inf, inf, inf, 2});
    same(elements(apply(aten<"upsample_linear1d.default">, {x, Sizes{3}, true})), {1, nan, 2});
    const Tensor image = x.with_view({1, 1, 1, 3}, {3, 3, 3, 1}, 0);
    same(elements(apply(aten<"upsample_bicubic2d.default">, {image, Sizes{1, 3}, true})),
         {nan, nan, nan});
    same(elements(apply(aten<"upsample_nearest1d.default">, {x, Sizes{6}})),
         {1, 1, inf, inf, 2, 2});
  }
}

TEST(Answers, CoordinatesThatAreNoNumbers) {
  const double nan = std::nan("");
  const auto sampled = [](const Tensor& input, std::initializer_list<double> place,
                          int64_t interpolation, int64_t padding) {
    const auto spatial = static_cast<int64_t>(place.size());
    Sizes sizes(static_cast<size_t>(spatial + 1), 1);
    sizes.push_back(spatial);
    const Tensor grid = as(input.dtype(), Tensor::of<double>(sizes, place));
    return elements(spatial == 2 ? apply(aten<"grid_sampler_2d.default">,
                                         {input, grid, interpolation, padding, false})
                                 : apply(aten<"grid_sampler_3d.default">,
                                         {input, grid, interpolation, padding, false}))[0];
  };
  for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
    const Tensor image = as(dtype, Tensor::of<float>({1, 1, 2, 2}, {1, 2, 3, 4}));
    const Tensor volume = as(dtype, Tensor::of<float>({1, 1, 1, 2, 2}, {1, 2, 3, 4}));
    for (const double place : {nan, HUGE_VAL}) {
      EXPECT_TRUE(std::isnan(sampled(image, {place, 0.5}, 0, 0)));
      EXPECT_TRUE(std::isnan(sampled(image, {place, 0.5}, 2, 0)));
      EXPECT_EQ(sampled(image, {place, 0.5}, 1, 0), 0);
      EXPECT_EQ(sampled(volume, {place, 0.5, 0}, 0, 0), 0);
    }
    EXPECT_EQ(sampled(image, {nan, -1}, 0, 1), 1);
    EXPECT_EQ(sampled(image, {nan, -1}, 0, 2), 1);
    EXPECT_EQ(sampled(image, {HUGE_VAL, -1}, 0, 1), 2);
    EXPECT_EQ(sampled(volume, {nan, -1, 0}, 0, 1), 2);
  }
}

TEST(Answers, LargeUnsignedNumbersAreLarge) {
  constexpr uint64_t kLarge = uint64_t{1} << 63;
  const double large = 0x1p63;
  const Tensor x = row<uint64_t>({5, kLarge, 7}), y = row<uint64_t>({6, 2, kLarge});
  EXPECT_EQ(elements(apply(aten<"maximum.default">, {x, y})), (Doubles{6, large, large}));
  EXPECT_EQ(elements(apply(aten<"fmin.default">, {x, y})), (Doubles{5, 2, 7}));
  EXPECT_EQ(elements(apply(aten<"clamp.default">, {x, -1, 6})), (Doubles{5, 6, 6}));
  EXPECT_EQ(elements(apply(aten<"clamp.Tensor">, {x, y, OptionalTensor()})),
            (Doubles{6, large, large}));
  EXPECT_EQ(elements(apply(aten<"relu.default">, {x})), (Doubles{5, large, 7}));
  EXPECT_EQ(elements(apply(aten<"hardtanh.default">, {x, 2, 6})), (Doubles{5, 6, 6}));
  EXPECT_EQ(elements(apply(aten<"signbit.default">, {x})), (Doubles{0, 0, 0}));
  const auto sorted = apply_all(aten<"sort.default">, {x, 0, true});
  EXPECT_EQ(elements(*sorted.value()[0].get_if<Tensor>()), (Doubles{large, 7, 5}));
  EXPECT_EQ(elements(*sorted.value()[1].get_if<Tensor>()), (Doubles{1, 2, 0}));
  EXPECT_EQ(elements(apply(aten<"amax.default">, {x})), Doubles{large});
  const auto distinct = apply_all(aten<"_unique2.default">, {x, true, true, false});
  EXPECT_EQ(elements(*distinct.value()[0].get_if<Tensor>()), (Doubles{5, 7, large}));
  EXPECT_EQ(elements(*distinct.value()[1].get_if<Tensor>()), (Doubles{0, 2, 1}));
}

TEST(Answers, NormalizationsOfEqualNumbers) {
  const Tensor x = Tensor::of<float>({1, 2, 2}, {1e4f, 1e4f, 1e4f, 1e4f});
  const auto grouped = apply_all(aten<"native_group_norm.default">,
                                 {x, OptionalTensor(), OptionalTensor(), 1, 2, 2, 1, 1e-5});
  EXPECT_EQ(elements(*grouped.value()[0].get_if<Tensor>()), Doubles(4, 0));
  const auto batch = apply_all(
      aten<"native_batch_norm.default">,
      {x, OptionalTensor(), OptionalTensor(), OptionalTensor(), OptionalTensor(), true, 0.1, 0.0});
  EXPECT_EQ(elements(*batch.value()[0].get_if<Tensor>()), Doubles(4, 0));
  EXPECT_EQ(elements(*batch.value()[2].get_if<Tensor>()), Doubles(2, 0));
}

TEST(Answers, MemoryFormatsThatAreKept) {
  const auto channels_last = [](const Sizes& sizes) {
    return Tensor::zeros(Dtype::float32, sizes)
        .with_view(sizes, {sizes[1] * sizes[2] * sizes[3], 1, sizes[1] * sizes[3], sizes[1]}, 0);
  };
  const Tensor image = channels_last({2, 8, 4, 6});
  EXPECT_EQ(apply(aten<"pixel_shuffle.default">, {image, 2})->strides(), (Sizes{192, 1, 24, 2}));
  EXPECT_EQ(apply(aten<"pixel_unshuffle.default">, {image, 2})->strides(), (Sizes{192, 1, 96, 32}));
  const Value pair = Value(Value::List{Value(image), Value(image)});
  EXPECT_EQ(apply(aten<"stack.default">, {pair, 1})->strides(), (Sizes{384, 8, 1, 96, 16}));
  EXPECT_EQ(apply(aten<"stack.default">, {pair, 0})->strides(), (Sizes{384, 192, 1, 48, 8}));
  EXPECT_EQ(apply(aten<"stack.default">, {pair, 4})->strides(), (Sizes{384, 48, 12, 2, 1}));
  const auto dropped = apply_all(aten<"native_dropout.default">, {image, 2.0, false});
  EXPECT_EQ(dropped.value()[1].get_if<Tensor>()->strides(), image.strides());

  const Tensor rows = Tensor::zeros(Dtype::float32, {2, 4, 6}).with_view({2, 4, 6}, {24, 1, 4}, 0);
  EXPECT_EQ(apply(aten<"avg_pool1d.default">, {rows, Sizes{2}})->strides(), (Sizes{12, 1, 4}));
  const auto convolved = [](const Tensor& input, const Tensor& weight) {
    const Sizes ones(static_cast<size_t>(input.dim() - 2), 1);
    return apply(aten<"convolution.default">, {input, weight, OptionalTensor(), ones, ones, ones,
                                               false, Sizes(ones.size(), 0), 1})
        ->strides();
  };
  const Tensor kernel =
      Tensor::zeros(Dtype::float32, {4, 4, 3}).with_view({4, 4, 3}, {12, 1, 4}, 0);
  EXPECT_EQ(convolved(rows, Tensor::zeros(Dtype::float32, {4, 4, 3})), (Sizes{24, 6, 1}));
  EXPECT_EQ(convolved(rows, kernel), (Sizes{24, 1, 4}));
  const auto volumes = [](int64_t count) {
    return Tensor::zeros(Dtype::float32, {count, 2, 2, 2, 2})
        .with_view({count, 2, 2, 2, 2}, {16, 1, 8, 4, 2}, 0);
  };
  const Tensor cube = Tensor::zeros(Dtype::float32, {2, 2, 3, 3, 3});
  EXPECT_EQ(convolved(volumes(1), cube), (Sizes{16, 8, 4, 2, 1}));
  EXPECT_EQ(convolved(volumes(2), cube), (Sizes{16, 1, 8, 4, 2}));
}

TEST(Answers, DtypesOfMixedLosses) {
  const Tensor half = as(Dtype::float16, row<float>({1, 2})), whole = row<int64_t>({1, 2});
  EXPECT_EQ(apply(aten<"poisson_nll_loss.default">, {half, whole, true, true, 1e-8, 0})->dtype(),
            Dtype::float16);
  EXPECT_EQ(apply(aten<"mish_backward.default">, {row<double>({1, 2}), half})->dtype(),
            Dtype::float16);
  EXPECT_EQ(apply(aten<"mse_loss_backward.default">,
                  {row<float>({1, 2}), row<float>({1, 2}), row<double>({1, 2}), 0})
                ->dtype(),
            Dtype::float32);
  // The logarithm is rounded to bfloat16, and then the product.
  const Tensor three = as(Dtype::bfloat16, row<float>({3}));
  EXPECT_EQ(elements(apply(aten<"xlogy.Tensor">, {three, three})), Doubles{3.3125});
}

TEST(Answers, SpecialFunctionsOfLargeNumbers) {
  const auto close = [](const Result<Tensor>& found, double expected) {
    const Doubles all = elements(found);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_NEAR(all[0], expected, 1e-9 * std::fabs(expected)) << expected;
  };
  const auto gamma = [](double a, double x) {
    return apply(aten<"igamma.default">, {row<double>({a}), row<double>({x})});
  };
  const auto rest = [](double a, double x) {
    return apply(aten<"igammac.default">, {row<double>({a}), row<double>({x})});
  };
  close(gamma(1e6, 1e6), 0.50013298075902235);
  close(gamma(1e6, 999000), 0.15865521357318749);
  close(rest(1e6, 1e6), 0.49986701924097765);
  close(gamma(1e10, 1e10), 0.50000132980758283);
  EXPECT_EQ(elements(gamma(HUGE_VAL, std::nan(""))), Doubles{0});
  const auto scaled = [](double x) {
    return apply(aten<"special_scaled_modified_bessel_k0.default">, {row<double>({x})});
  };
  close(scaled(1e4), 0.01253298471769929);
  close(scaled(1e10), 1.25331413729983368e-05);
}

TEST(Answers, FactorsOfMatricesThatAreNotPositive) {
  const auto factors = [](bool upper) {
    return apply_all(aten<"linalg_cholesky_ex.default">,
                     {Tensor::of<double>({3, 3}, {4, 2, 2, 2, 0, 3, 2, 3, 5}), upper, false});
  };
  EXPECT_EQ(elements(*factors(false).value()[0].get_if<Tensor>()),
            (Doubles{2, 0, 0, 1, -1, 0, 1, 3, 5}));
  EXPECT_EQ(elements(*factors(true).value()[0].get_if<Tensor>()),
            (Doubles{2, 1, 1, 0, -1, 3, 0, 0, 5}));
  EXPECT_EQ(elements(*factors(false).value()[1].get_if<Tensor>()), Doubles{2});
  const std::vector<Value> half{Value(Tensor::without_elements(Dtype::float16, {2, 2}))};
  const auto inferred = aten<"linalg_matrix_exp.default">().def->infer(half);
  ASSERT_TRUE(inferred) << inferred.error().text();
  EXPECT_EQ(inferred.value()[0].dtype, Dtype::float16);
}

TEST(Answers, CallsThatNamePlacesTwiceOrNothing) {
  const Tensor two = number(2, Dtype::float32);
  EXPECT_EQ(elements(apply(aten<"index_copy.default">,
                           {two, 0, row<int64_t>({0, 0}), row<float>({3, 4})})),
            Doubles{4});
  EXPECT_EQ(
      elements(apply(aten<"fft_fftshift.default">, {row<float>({0, 1, 2, 3, 4}), Sizes{0, 0}})),
      (Doubles{1, 2, 3, 4, 0}));
  EXPECT_EQ(elements(apply(aten<"contiguous.default">, {two, MemoryFormat::preserve})), Doubles{2});
  const Tensor none = Tensor::zeros(Dtype::float32, {2, 0, 3});
  EXPECT_EQ(elements(apply(aten<"linalg_cond.default">, {none})), (Doubles{0, 0}));
}

// Bytes are resized in integer arithmetic, with rounding between the passes over width and height.
TEST(Answers, BytesAreResizedInWholeNumbers) {
  const Tensor image = Tensor::of<uint8_t>(
      {1, 1, 3, 5}, {0, 10, 200, 255, 31, 90, 250, 3, 77, 128, 17, 0, 255, 1, 64});
  const auto resized = [&](Handle resize, const Sizes& size) {
    return elements(
        apply(resize, {image, size, false, std::optional<double>(), std::optional<double>()}));
  };
  const Sizes small{2, 3}, large{4, 7};
  EXPECT_EQ(resized(aten<"upsample_bilinear2d.default">, small),
            (Doubles{38, 151, 107, 44, 192, 60}));
  EXPECT_EQ(resized(aten<"_upsample_bilinear2d_aa.default">, small),
            (Doubles{62, 134, 119, 66, 117, 63}));
  EXPECT_EQ(resized(aten<"upsample_bicubic2d.default">, large),
            (Doubles{0,  0,   49,  214, 255, 171, 4,   56, 157, 162, 46,  115, 140, 96,
                     64, 157, 170, 72,  29,  61,  122, 14, 0,   68,  255, 74,  0,   64}));
  EXPECT_EQ(resized(aten<"_upsample_bicubic2d_aa.default">, large),
            (Doubles{0,  0,   47,  210, 255, 163, 12,  55, 137, 155, 59,  124, 131, 93,
                     63, 137, 161, 83,  40,  66,  115, 15, 0,   61,  255, 66,  7,   65}));
}

// With constant statistics (evaluation) the gradient does not depend on the input, however large.
TEST(Answers, GradientsOfAnEvaluatedBatchNormLeaveOutTheInput) {
  const Tensor gradient = Tensor::of<float>({2, 1, 2}, {1, 2, 3, 4}),
               input = Tensor::of<float>({2, 1, 2}, {HUGE_VALF, 0, 1, 2}), two = row<float>({2}),
               zero = row<float>({0}), one = row<float>({1});
  const Value::List mask{Value(true), Value(false), Value(false)};
  const auto gradients =
      apply_all(aten<"native_batch_norm_backward.default">,
                {gradient, input, two, zero, one, std::nullopt, std::nullopt, false, 0.0, mask});
  ASSERT_TRUE(gradients) << gradients.error().text();
  EXPECT_EQ(elements(*(*gradients)[0].get_if<Tensor>()), (Doubles{2, 4, 6, 8}));
}

// PyTorch uses fused multiply-adds, which round once. adjust_saturation of an image converts such
// sums to integers, which makes a difference in the last bit visible.
TEST(Answers, ScaledSumsAreRoundedOnce) {
  const double factor = 1 + 0x1p-12, square = 1 + 0x1p-11;  // factor * factor - 2**-24
  const Tensor one = row<float>({1 + 0x1p-12F}), sum = row<float>({1 + 0x1p-11F}),
               less = row<float>({-1 - 0x1p-11F});
  EXPECT_EQ(elements(apply(aten<"add.Tensor">, {less, one, factor})), Doubles{0x1p-24});
  EXPECT_EQ(elements(apply(aten<"sub.Tensor">, {sum, one, factor})), Doubles{-0x1p-24});
  EXPECT_EQ(elements(apply(aten<"rsub.Tensor">, {one, sum, factor})), Doubles{-0x1p-24});
  EXPECT_EQ(elements(apply(aten<"addcmul.default">, {less, one, one})), Doubles{0x1p-24});
  EXPECT_EQ(elements(apply(aten<"add.Scalar">, {less, factor, factor})),
            Doubles{factor * factor - square});
}

// Programs that compute gradients inside forward contain calls of these operators.
TEST(Answers, GradientsOfOperatorsThatSelectElements) {
  const Tensor places = row<int64_t>({2, 0, 2}), three = row<float>({1, 2, 3}),
               zeros = Tensor::zeros(Dtype::float32, {3});
  EXPECT_EQ(elements(apply(aten<"gather_backward.default">, {three, zeros, 0, places, false})),
            (Doubles{2, 0, 4}));
  EXPECT_FALSE(apply(aten<"gather_backward.default">, {three, zeros, 0, places, true}));
  EXPECT_EQ(elements(apply(aten<"cummaxmin_backward.default">,
                           {three, zeros, row<int64_t>({0, 0, 2}), 0})),
            (Doubles{3, 0, 3}));
  const Tensor rows = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(elements(apply(aten<"embedding_backward.default">,
                           {rows, row<int64_t>({1, 1, 2}), 4, 2, false, false})),
            (Doubles{0, 0, 4, 6, 0, 0, 0, 0}));
  const Tensor mask = Tensor::of<bool>({2, 2}, {true, false, true, true});
  EXPECT_EQ(elements(apply(aten<"masked_select_backward.default">,
                           {row<float>({5, 6, 7}), row<float>({0, 0}), mask})),
            (Doubles{5, 0, 6, 7}));
}

TEST(Answers, GradientsOfProductsAlongALineWithZeros) {
  const auto gradient = [](std::initializer_list<float> values) {
    const Tensor input = row<float>(values);
    const Tensor ones = apply(aten<"ones_like.default">, {input}).value();
    const Tensor output = apply(aten<"cumprod.default">, {input, 0}).value();
    return elements(apply(aten<"cumprod_backward.default">, {ones, input, 0, output}));
  };
  EXPECT_EQ(gradient({2, 3, 4}), (Doubles{16, 10, 6}));
  EXPECT_EQ(gradient({2, 0, 3, 0, 4}), (Doubles{1, 8, 0, 0, 0}));
  EXPECT_EQ(gradient({0, 2, 5}), (Doubles{13, 0, 0}));
}

TEST(Answers, GradientsOfGridsExponentialsAndTwiceDifferentiableGelus) {
  const Tensor grid = Tensor::of<float>({1, 2, 2, 2}, {1, 0, 2, 0, 3, 0, 4, 0});
  const Value::List size{Value(int64_t{1}), Value(int64_t{1}), Value(int64_t{2}),
                         Value(int64_t{2})};
  EXPECT_EQ(elements(apply(aten<"affine_grid_generator_backward.default">, {grid, size, true})),
            (Doubles{2, 4, 10, 0, 0, 0}));
  const Tensor square = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(elements(apply(aten<"matrix_exp_backward.default">,
                           {Tensor::zeros(Dtype::float32, {2, 2}), square})),
            (Doubles{1, 2, 3, 4}));
  EXPECT_EQ(elements(apply(aten<"infinitely_differentiable_gelu_backward.default">,
                           {row<float>({3}), row<float>({0})})),
            (Doubles{1.5}));
}

TEST(Answers, QuotientsOfHalvesAreRoundedBeforeTheyAreCut) {
  const auto quotient = [](double a, std::initializer_list<double> b, const char* mode) {
    const Tensor x = as(Dtype::bfloat16, row<double>({a})), y = as(Dtype::bfloat16, row(b));
    return elements(apply(aten<"div.Tensor_mode">, {x, y, std::string(mode)}));
  };
  EXPECT_EQ(quotient(-6.3125, {0.6328125, 0.6328125}, "trunc"), (Doubles{-10, -10}));
  EXPECT_EQ(quotient(-22.5, {-0.083984375, -0.083984375}, "floor"), (Doubles{266, 266}));
  // PyTorch divides by a single element as by a number.
  EXPECT_EQ(quotient(-6.3125, {0.6328125}, "trunc"), Doubles{-9});
  EXPECT_EQ(quotient(-22.5, {-0.083984375}, "floor"), Doubles{268});
  // With a scalar divisor the quotient stays in float32 until it is truncated.
  EXPECT_EQ(elements(apply(aten<"div.Scalar_mode">,
                           {as(Dtype::float16, row<double>({27})), 0.37, std::string("trunc")})),
            Doubles{72});
}

TEST(Answers, InfinitiesInSums) {
  const Tensor infinite = row<float>({HUGE_VALF, 1, 200});
  EXPECT_EQ(elements(apply(aten<"logsumexp.default">, {infinite, Sizes{0}})), Doubles{HUGE_VAL});
  // Real and imaginary parts are summed separately: an infinite real part leaves the imaginary one.
  const Tensor parts = Tensor::of<float>({2, 2}, {HUGE_VALF, 1, 2, 3});
  const Tensor numbers = apply(aten<"view_as_complex.default">, {parts}).value();
  const auto imaginary = [](const Result<Tensor>& tensor) {
    return elements(apply(aten<"imag.default">, {tensor}));
  };
  const Tensor none = apply(aten<"zeros_like.default">, {numbers}).value();
  EXPECT_EQ(imaginary(apply(aten<"put.default">, {none, row<int64_t>({0, 1}), numbers, true})),
            (Doubles{1, 3}));
  const auto moments = apply_all(aten<"var_mean.correction">, {numbers});
  EXPECT_EQ(imaginary(*moments.value()[1].get_if<Tensor>()), Doubles{2});
}

TEST(Answers, IntegersWrapAroundWhereTheyAreSummed) {
  const Tensor bytes = row<uint8_t>({200, 100}), places = row<int64_t>({0, 0, 1});
  EXPECT_EQ(elements(apply(aten<"scatter_reduce.two">,
                           {bytes, 0, places, row<uint8_t>({100, 3, 5}), std::string("mean")})),
            (Doubles{15, 52}));
  const Tensor hundreds = apply(aten<"full.default">, {Sizes{2, 3}, 100, Dtype::uint8}).value();
  const auto sums = apply(aten<"einsum.default">,
                          {std::string("ki,j->ij"), Tensors{hundreds, row<uint8_t>({1, 1})}});
  ASSERT_TRUE(sums);
  EXPECT_EQ(sums->dtype(), Dtype::int64);
  EXPECT_EQ(elements(sums), (Doubles{200, 200, 200, 200, 200, 200}));
  constexpr auto kLowest = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(elements(apply(aten<"gcd.default">, {row<int64_t>({kLowest, kLowest, 12}),
                                                 row<int64_t>({3, kLowest, -18})})),
            (Doubles{1, static_cast<double>(kLowest), 6}));
  // Spacings are subtracted and negated in their own dtype, here uint8, where they wrap.
  const auto slopes = apply_all(
      aten<"gradient.tensorarray">,
      {row<float>({1, 4, 9, 16, 30}), Tensors{row<uint8_t>({1, 3, 2, 200, 5})}, Sizes{0}, 2});
  const auto* found = slopes.value()[0].get_if<Value::List>();
  const auto all = elements(*found->front().get_if<Tensor>());
  EXPECT_NEAR(all.front(), -120.5195, 1e-3);
  EXPECT_NEAR(all.back(), 105.1869, 1e-3);
  const auto even =
      apply_all(aten<"gradient.scalarint">, {row<int8_t>({1, 100, 3, -100, 5}), Scalar(1), 0, 2});
  EXPECT_EQ(elements(*even.value()[0].get_if<Value::List>()->front().get_if<Tensor>()),
            (Doubles{-59, 1, 28, 1, -47}));
}

TEST(Answers, OfNothing) {
  EXPECT_EQ(elements(apply(aten<"multi_margin_loss.default">,
                           {Tensor::zeros(Dtype::float32, {0, 5}), row<int64_t>({})})),
            Doubles{0});
  EXPECT_EQ(elements(apply(aten<"index_fill.int_Scalar">,
                           {number(3, Dtype::float32), 0, row<int64_t>({}), 9})),
            Doubles{3});
  EXPECT_TRUE(apply(aten<"index_fill.int_Scalar">,
                    {Tensor::zeros(Dtype::float32, {2, 0}), 1, row<int64_t>({7}), 9}));
}

TEST(Answers, FactorsSolveByThemselves) {
  const Tensor factors = Tensor::of<double>({2, 2}, {2, 3, .5, 4}), pivots = row<int32_t>({2, 2});
  const Tensor sides = Tensor::of<double>({2, 2}, {1, 2, 3, 5});
  const auto solve = [&](bool left, bool adjoint) {
    return elements(
        apply(aten<"linalg_lu_solve.default">, {factors, pivots, sides, left, adjoint}));
  };
  EXPECT_EQ(solve(true, true), (Doubles{.375, .5, .3125, .75}));
  EXPECT_EQ(solve(true, false), (Doubles{1.6875, 2.6875, -.125, -.125}));
  EXPECT_EQ(solve(false, true), (Doubles{1, 0, 2.3125, .125}));
  EXPECT_EQ(solve(false, false), (Doubles{.125, .4375, .125, 1.4375}));
  // A singular matrix is no error.
  EXPECT_EQ(elements(apply(aten<"linalg_lu_solve.default">,
                           {Tensor::of<double>({2, 2}, {1, 2, 0, 0}), row<int32_t>({1, 2}),
                            Tensor::of<double>({2, 1}, {1, 1})})),
            (Doubles{-HUGE_VAL, HUGE_VAL}));
}

TEST(Answers, SmallAndLargeNumbersKeepTheirDigits) {
  const Tensor tiny = apply(aten<"view_as_complex.default">, {row<double>({1e-12, 1e-9})}).value();
  EXPECT_NEAR(elements(apply(aten<"real.default">, {apply(aten<"log1p.default">, {tiny})}))[0],
              1.0000004999994998e-12, 1e-24);
  // The norm of float16 elements is computed in float32.
  const Tensor large = apply(aten<"full.default">, {Sizes{2, 3}, 30000, Dtype::float16}).value();
  EXPECT_NEAR(elements(apply(aten<"renorm.default">, {large, 2, 0, 5.0}))[0], 2.8867, 1e-3);
}

TEST(Answers, WeightsOfNormsMayBeIntegers) {
  const Doubles found = elements(
      apply(aten<"rms_norm.default">, {row<float>({3, 4}), Sizes{2}, row<int64_t>({1, 2}), 0.0}));
  EXPECT_NEAR(found[0], 3 / std::sqrt(12.5), 1e-6);
  EXPECT_NEAR(found[1], 8 / std::sqrt(12.5), 1e-6);
}

TEST(Answers, NormalNumbersHaveTheDtypeOfTheirMean) {
  const Tensor narrow = as(Dtype::float16, row<double>({1, 2})), wide = row<double>({3, 4});
  EXPECT_EQ(apply(aten<"normal.Tensor_Tensor">, {narrow, wide})->dtype(), Dtype::float16);
  EXPECT_EQ(apply(aten<"normal.Tensor_Tensor">, {wide, narrow})->dtype(), Dtype::float64);
  EXPECT_FALSE(apply(aten<"normal.Tensor_Tensor">, {row<int64_t>({1, 2}), wide}));
}

TEST(Answers, AnAlignmentOfNanHasNoProbability) {
  const float nan = std::nanf(""), quarter = std::log(0.25f);
  const Tensor logs = Tensor::of<float>(
      {2, 1, 4}, {quarter, nan, quarter, quarter, quarter, quarter, quarter, quarter});
  const auto loss = apply(aten<"ctc_loss.IntList">, {logs, Tensor::of<int64_t>({1, 2}, {1, 2}),
                                                     Sizes{2}, Sizes{2}, 0, 0, true});
  EXPECT_TRUE(std::isnan(elements(loss)[0]));
}

TEST(Answers, DistancesOfNan) {
  const Tensor both = Tensor::of<float>({2, 2}, {std::nanf(""), 3, 0, 1});
  const Tensor first = both.with_view({1, 2}, {2, 1}, 0),
               second = both.with_view({1, 2}, {2, 1}, 2);
  const auto between = [&](double p) {
    return elements(apply(aten<"cdist.default">, {first, second, p}));
  };
  EXPECT_TRUE(std::isnan(between(0)[0]));
  EXPECT_EQ(between(HUGE_VAL), Doubles{2});
  EXPECT_TRUE(std::isnan(elements(apply(aten<"pdist.default">, {both, HUGE_VAL}))[0]));
}

TEST(Answers, AttentionOfOtherHeadsAndOfDepthZero) {
  const auto attend = [](const Sizes& query, const Sizes& key, const Tensor& value) {
    return elements(apply(aten<"scaled_dot_product_attention.default">,
                          {Tensor::zeros(Dtype::float32, query), Tensor::zeros(Dtype::float32, key),
                           value, OptionalTensor(), 0.0, false, std::optional<double>(), true}));
  };
  const Tensor values = Tensor::of<float>({1, 2, 2, 1}, {1, 3, 5, 7});
  EXPECT_EQ(attend({1, 4, 1, 1}, {1, 1, 2, 1}, values), (Doubles{2, 2, 6, 6}));
  EXPECT_EQ(attend({1, 2, 1, 0}, {1, 2, 2, 0}, values), (Doubles{2, 6}));
}

TEST(Answers, TheSmallestOfNoSingularValuesIsAnError) {
  const Tensor empty = Tensor::zeros(Dtype::float32, {0, 3});
  EXPECT_EQ(elements(apply(aten<"linalg_matrix_norm.default">, {empty, 2.0})), Doubles{0});
  EXPECT_FALSE(apply(aten<"linalg_matrix_norm.default">, {empty, -2.0}));
}

TEST(Answers, FormatsOfResults) {
  const Tensor spread = Tensor::zeros(Dtype::float32, {4, 6}).with_view({2, 3}, {12, 2}, 0);
  const auto same =
      apply(aten<"to.dtype">, {spread, Dtype::float32, false, false, MemoryFormat::contiguous});
  ASSERT_TRUE(same);
  EXPECT_EQ(same->storage(), spread.storage());
  const Tensor image = apply(aten<"clone.default">, {Tensor::zeros(Dtype::float32, {2, 8, 5, 5}),
                                                     MemoryFormat::channels_last})
                           .value();
  EXPECT_EQ(apply(aten<"channel_shuffle.default">, {image, 4})->strides(), image.strides());
  EXPECT_TRUE(apply(aten<"_pad_circular.default">, {image, Sizes{1, 1, 1, 1}})->is_contiguous());
  const Tensor nothing = Tensor::zeros(Dtype::float32, {0});
  EXPECT_TRUE(apply(aten<"cat.default">, {Tensors{nothing, image}, 1})->is_contiguous());
  EXPECT_EQ(apply(aten<"cat.default">, {Tensors{nothing, nothing}, 1})->sizes(), Sizes{0});
  EXPECT_TRUE(apply(aten<"_stack.default">, {Tensors{image, image}, 1})->is_contiguous());
  const Tensor grad = apply(aten<"glu.default">, {image, 1}).value();
  EXPECT_TRUE(apply(aten<"glu_backward.default">, {grad, image, 1})->is_contiguous());
}

TEST(Answers, AWeightWithoutDimsMayHaveAnotherDtype) {
  const Tensor from = row<float>({1, 2}), to = row<float>({3, 5});
  const auto between = [&](const Tensor& weight) {
    return apply(aten<"lerp.Tensor">, {from, to, weight});
  };
  EXPECT_EQ(elements(between(number(0.25, Dtype::float64))), (Doubles{1.5, 2.75}));
  EXPECT_EQ(between(number(0.25, Dtype::float64))->dtype(), Dtype::float32);
  EXPECT_EQ(elements(between(number(2, Dtype::int64))), (Doubles{5, 8}));
  EXPECT_FALSE(between(row<double>({0.25})));
  const auto wide =
      apply(aten<"lerp.Tensor">,
            {number(1, Dtype::float32), number(2, Dtype::float32), number(0.25, Dtype::float64)});
  EXPECT_EQ(elements(wide), Doubles{1.25});
  EXPECT_EQ(wide->dtype(), Dtype::float64);
}

TEST(Answers, EndsOfLinspaceHaveItsDtype) {
  const auto line = [](double start, double end, int64_t steps, Dtype dtype) {
    return apply(aten<"linspace.default">, {start, end, steps, dtype});
  };
  EXPECT_EQ(elements(line(-5, 5, 4, Dtype::uint8)), (Doubles{251, 169, 87, 5}));
  EXPECT_FALSE(line(0, 300, 3, Dtype::uint8));
  EXPECT_FALSE(line(0, 1e6, 3, Dtype::float16));
  EXPECT_EQ(elements(line(0, 1e6, 1, Dtype::float16)), Doubles{0});
}

TEST(Answers, BinsOfHistcHaveThePrecisionOfSelf) {
  const auto bins = [](const Tensor& self, int64_t count, double min = 0, double max = 0) {
    return apply(aten<"histc.default">, {self, count, min, max});
  };
  const Tensor points = row<float>({0, 1, 2});
  EXPECT_EQ(elements(bins(points, 3, 1 + 1e-9, 3)), (Doubles{1, 1, 0}));
  EXPECT_EQ(elements(bins(points, 4, 1, 1 + 1e-12)), (Doubles{1, 0, 0, 0}));
  EXPECT_EQ(elements(bins(as(Dtype::bfloat16, row<double>({0, 2.328125, 4.65625, 7})), 3)),
            (Doubles{1, 1, 2}));
  EXPECT_FALSE(bins(row<float>({1, NAN, 2}), 4));
  EXPECT_FALSE(bins(points, 4, 0, 1e39));
  // The width of this range overflows float32.
  EXPECT_TRUE(bins(row<float>({-3e38f, 3e38f}), 4));
}

TEST(Answers, ComplexProductsAndRootsOfInfinities) {
  const auto complex = [](std::initializer_list<double> parts) {
    const auto count = static_cast<int64_t>(parts.size()) / 2;
    return apply(aten<"view_as_complex.default">, {Tensor::of<double>({count, 2}, parts)}).value();
  };
  const Tensor factors = complex({3, -4, HUGE_VAL, 0, -1.5, 0});
  for (const auto& product : {apply(aten<"prod.default">, {factors}),
                              apply(aten<"cumprod.default">, {factors, int64_t{0}})}) {
    const Doubles parts = elements(apply(aten<"view_as_real.default">, {product}));
    EXPECT_TRUE(std::isnan(parts[parts.size() - 2]) && std::isnan(parts.back()));
  }
  const auto root = apply(aten<"float_power.Tensor_Scalar">, {complex({HUGE_VAL, 0}), 0.5});
  EXPECT_EQ(elements(apply(aten<"view_as_real.default">, {root})), (Doubles{HUGE_VAL, 0}));
}

TEST(Answers, ZetaOfHugeAndUndefinedNumbers) {
  const auto zeta = [](double s, double q) {
    return elements(apply(aten<"special_zeta.default">, {row<double>({s}), row<double>({q})}))[0];
  };
  EXPECT_EQ(zeta(HUGE_VAL, 1), 1);
  EXPECT_EQ(zeta(1e30, 1), 1);
  EXPECT_EQ(zeta(HUGE_VAL, 0.5), HUGE_VAL);
  EXPECT_EQ(zeta(NAN, -1), HUGE_VAL);
  EXPECT_TRUE(std::isnan(zeta(NAN, -1.5)));
  EXPECT_NEAR(zeta(2, 1), 1.6449340668482264, 1e-15);
}

TEST(Answers, LabelSmoothingIsAboveZeroAndAtMostOne) {
  const Tensor scores = Tensor::of<float>({2, 3}, {1, 2, 3, 0.5f, 0.1f, 0.2f});
  const Tensor probabilities = apply(aten<"softmax.int">, {scores, int64_t{1}}).value();
  const auto loss = [&](const Tensor& target, double smoothing) {
    return apply(aten<"cross_entropy_loss.default">,
                 {scores, target, OptionalTensor(), 1, int64_t{-100}, smoothing});
  };
  for (const Tensor& target : {row<int64_t>({1, 2}), probabilities}) {
    const Doubles plain = elements(loss(target, 0));
    EXPECT_EQ(elements(loss(target, -0.5)), plain);
    EXPECT_EQ(elements(loss(target, NAN)), plain);
    EXPECT_NE(elements(loss(target, 1)), plain);
    EXPECT_FALSE(loss(target, 1.5));
  }
  EXPECT_FALSE(apply(aten<"smooth_l1_loss.default">, {scores, scores, 1, std::nan("")}));
}

TEST(Answers, LargeDoublesBecomeBytesThroughInt64) {
  const Tensor doubles = row<double>({2147483653, 4294967303, -1099511627779, 300, NAN});
  EXPECT_EQ(elements(as(Dtype::uint8, doubles)), (Doubles{5, 7, 253, 44, 0}));
}

TEST(Answers, StatisticsOfBfloat16AreRoundedTwice) {
  const Tensor x = as(Dtype::bfloat16, Tensor::of<float>({5, 1}, {1.5, -1.25, -2.25, -2.25, 0.5}));
  const Tensor mean = number(1.703125, Dtype::bfloat16).with_view({1}, {1}, 0), var = mean.clone();
  const auto results =
      apply_all(aten<"native_batch_norm.default">,
                {x, OptionalTensor(), OptionalTensor(), mean, var, true, 0.1, 1e-5});
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(elements(*(*results)[2].get_if<Tensor>()), Doubles{0.66015625});
  EXPECT_EQ(elements(mean), Doubles{1.453125});
  EXPECT_EQ(elements(var), Doubles{1.8125});
}

TEST(Answers, GroupsOfANormalizationHaveAMeanEach) {
  const auto gradient = [](int64_t groups, const Sizes& sizes) {
    const Tensor x = Tensor::zeros(Dtype::float32, {2, 0, 3});
    const Tensor statistic = Tensor::zeros(Dtype::float32, sizes);
    return apply_all(aten<"native_group_norm_backward.default">,
                     {x, x, statistic, statistic, OptionalTensor(), 2, 0, 3, groups,
                      std::vector<bool>{true, true, true}});
  };
  EXPECT_TRUE(gradient(2, {2, 2}));
  EXPECT_FALSE(gradient(2, {2, 1}));
  EXPECT_FALSE(gradient(int64_t{1} << 62, {2, 2}));
}

TEST(Answers, TargetsOfLossesThatDoNotFitAreRefused) {
  const Tensor scores = Tensor::of<float>({1, 3}, {1, 2, 3});
  const auto margin = [&](std::initializer_list<int64_t> labels) {
    return apply(aten<"multilabel_margin_loss.default">,
                 {scores, Tensor::of<int64_t>({1, 3}, labels), 1});
  };
  EXPECT_TRUE(margin({2, -1, 0}));
  EXPECT_FALSE(margin({2, -1, 3}));
  EXPECT_FALSE(margin({2, -1, -2}));
  const auto soft = [](const Sizes& sizes, const Sizes& target) {
    return apply(aten<"soft_margin_loss.default">,
                 {Tensor::zeros(Dtype::float32, sizes), Tensor::zeros(Dtype::float32, target), 1});
  };
  EXPECT_TRUE(soft({2, 3}, {3}));
  EXPECT_FALSE(soft({1, 3}, {2, 3}));
  EXPECT_FALSE(soft({}, {3}));
}

TEST(Answers, RecurrentNetworksNeedAStepAndStatesOfOneSize) {
  const auto zeros = [](const Sizes& sizes) { return Tensor::zeros(Dtype::float32, sizes); };
  const auto lstm = [&](int64_t steps) {
    return apply_all(
        aten<"lstm.input">,
        {zeros({steps, 2, 3}), Tensors{zeros({1, 2, 2}), zeros({1, 2, 2})},
         Tensors{zeros({8, 3}), zeros({8, 2})}, false, int64_t{1}, 0.0, false, false, false});
  };
  EXPECT_TRUE(lstm(1));
  EXPECT_FALSE(lstm(0));
  const auto cell = [&](const Sizes& cell_sizes) {
    return apply_all(aten<"lstm_cell.default">,
                     {zeros({1, 3}), Tensors{zeros({1, 2}), zeros(cell_sizes)}, zeros({8, 3}),
                      zeros({8, 2}), OptionalTensor(), OptionalTensor()});
  };
  EXPECT_TRUE(cell({1, 2}));
  for (const Sizes& sizes : {Sizes{2, 2}, Sizes{1}, Sizes{1, 1}}) EXPECT_FALSE(cell(sizes));
}

TEST(Answers, TheFirstBagStartsWithTheFirstIndex) {
  const auto bags = [](int64_t first, bool include_last_offset) {
    return apply_all(
        aten<"embedding_bag.default">,
        {Tensor::zeros(Dtype::float32, {4, 2}), row<int64_t>({1, 2}), row<int64_t>({first}), false,
         0, false, OptionalTensor(), include_last_offset});
  };
  for (const bool include_last_offset : {false, true}) {
    EXPECT_TRUE(bags(0, include_last_offset));
    EXPECT_FALSE(bags(1, include_last_offset));
  }
}

TEST(Answers, TheOrderOfADistanceHasTheVectorsDtype) {
  const auto distance = [](Dtype dtype) {
    return elements(
        apply(aten<"cdist.default">, {as(dtype, Tensor::of<float>({1, 2}, {0, 0})),
                                      as(dtype, Tensor::of<float>({1, 2}, {3, 5})), 1e39}));
  };
  EXPECT_EQ(distance(Dtype::float32), Doubles{5});
}

TEST(Answers, ShuffledChannelsKeepTheMemoryFormat) {
  const Tensor image = Tensor::zeros(Dtype::float32, {1, 4, 2, 3});
  const auto nhwc = apply(aten<"clone.default">, {image, MemoryFormat::channels_last});
  const auto shuffled = apply(aten<"native_channel_shuffle.default">, {*nhwc, int64_t{2}});
  EXPECT_EQ(shuffled->strides(), (Sizes{24, 1, 12, 4}));
}

TEST(Answers, GradientsOfConv1dHaveTheFormatOfItsKernel) {
  const auto rows = [](const Sizes& sizes) { return Tensor::zeros(Dtype::float32, sizes); };
  const auto kernel = apply(aten<"transpose.int">, {rows({6, 3, 4}), 1, 2});
  const auto strides_for = [&](const Tensor& weight) {
    const auto all =
        apply_all(aten<"convolution_backward.default">,
                  {rows({2, 6, 7}), rows({2, 4, 9}), weight, Sizes{6}, Sizes{1}, Sizes{0}, Sizes{1},
                   false, Sizes{0}, int64_t{1}, std::vector<bool>{true, true, false}});
    return (*all)[0].get_if<Tensor>()->strides();
  };
  EXPECT_EQ(strides_for(*kernel), (Sizes{36, 1, 4}));
  EXPECT_EQ(strides_for(rows({6, 4, 3})), (Sizes{36, 9, 1}));
}

}  // namespace
}  // namespace pt2::ops
