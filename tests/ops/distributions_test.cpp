#include <gtest/gtest.h>

#include "ops/compose.h"
#include "ops/loops.h"

namespace pt2::ops {
namespace {

Tensor numbers(Dtype dtype, std::initializer_list<double> values, Sizes sizes) {
  Tensor out = Tensor::zeros(dtype, sizes);
  copy_elements(out, Tensor::of<double>(std::move(sizes), values));
  return out;
}
Tensor numbers(Dtype dtype, std::initializer_list<double> values) {
  return numbers(dtype, values, {static_cast<int64_t>(values.size())});
}

// Compares with the numbers that torch 2.15 draws after torch.manual_seed(0).
void expect_drawn(Handle handle, std::initializer_list<Operand> arguments,
                  std::initializer_list<double> expected) {
  const auto drawn = apply(handle, arguments);
  ASSERT_TRUE(drawn) << drawn.error().text();
  Tensor found = Tensor::zeros(Dtype::float64, drawn->sizes());
  copy_elements(found, *drawn);
  ASSERT_EQ(found.numel(), static_cast<int64_t>(expected.size()));
  const double tolerance = drawn->dtype() == Dtype::float64 ? 1e-14 : 2e-7;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double wanted = expected.begin()[i];
    EXPECT_NEAR(found.as<double>()[i], wanted, tolerance * wanted) << "element " << i;
  }
}

constexpr Dtype kFloats[] = {Dtype::float32, Dtype::float64};

TEST(Distributions, PoissonNumbersAreThoseOfTorch) {
  for (Dtype dtype : {Dtype::float16, Dtype::float32, Dtype::float64})
    expect_drawn(aten<"poisson.default">, {numbers(dtype, {0, .5, 3, 9.5, 10, 40, 1000, 2.5})},
                 {0, 2, 4, 9, 7, 31, 973, 3});
}

TEST(Distributions, BinomialNumbersAreThoseOfTorch) {
  for (Dtype dtype : kFloats)
    expect_drawn(aten<"binomial.default">,
                 {numbers(dtype, {10, 100, 1000, 40, 0, 7, 1e6, 50}),
                  numbers(dtype, {.5, .3, .9, 1, .5, .1, .25, .97})},
                 {7, 31, 901, 40, 0, 0, 250151, 49});
}

TEST(Distributions, GammaNumbersAreThoseOfTorch) {
  const auto shapes = {.1, .5, .9, 1., 2.5, 10., 0., 1000.};
  expect_drawn(aten<"_standard_gamma.default">, {numbers(Dtype::float32, shapes)},
               {3.12923564e-16, 0.0441509187, 0.624197304, 1.96435297, 2.83830714, 12.5189915,
                1.17549435e-38, 969.842041});
  expect_drawn(
      aten<"_standard_gamma.default">, {numbers(Dtype::float64, shapes)},
      {3.129235610920794e-16, 0.04415092016466957, 0.624197367275932, 1.9643529807468205,
       2.8383070815777605, 12.518991558048032, 2.2250738585072014e-308, 969.8420135164896});
}

TEST(Distributions, DirichletNumbersAreThoseOfTorch) {
  const auto weights = {.1, .5, 1., 4., 2., 2., 2., 2.};
  expect_drawn(aten<"_sample_dirichlet.default">, {numbers(Dtype::float32, weights, {2, 4})},
               {4.73108995e-17, 0.00667517213, 0.159233809, 0.834091008, 0.187437773, 0.355357915,
                0.117218614, 0.339985698});
  expect_drawn(
      aten<"_sample_dirichlet.default">, {numbers(Dtype::float64, weights, {2, 4})},
      {4.731087476326096e-17, 0.0066751721963779174, 0.1592338012675972, 0.8340910265360248,
       0.18743777343296295, 0.3553579190983788, 0.11721861181878285, 0.3399856956498753});
}

// With such parameters torch 2.15's gamma and binomial samplers never end.
TEST(Distributions, ParametersWithoutDistributionEnd) {
  const double nan = std::nan("");
  EXPECT_FALSE(apply(aten<"poisson.default">, {numbers(Dtype::float32, {-1})}));
  EXPECT_FALSE(apply(aten<"poisson.default">, {numbers(Dtype::float32, {nan})}));
  EXPECT_FALSE(apply(aten<"_standard_gamma.default">, {numbers(Dtype::float64, {-5})}));
  EXPECT_FALSE(apply(aten<"_standard_gamma.default">, {numbers(Dtype::float64, {nan})}));
  const auto drawn = apply(aten<"binomial.default">,
                           {numbers(Dtype::float64, {nan}), numbers(Dtype::float64, {.5})});
  ASSERT_TRUE(drawn) << drawn.error().text();
  EXPECT_TRUE(std::isnan(drawn->as<double>()[0]));
}

// Nothing is drawn and nothing scaled, so integers are dropped as well.
TEST(Dropout, OfEverythingTakesEveryDtype) {
  for (const Dtype dtype : {Dtype::bool_, Dtype::int64, Dtype::float16}) {
    for (const Handle handle : {aten<"dropout.default">, aten<"alpha_dropout.default">}) {
      const auto dropped = apply(handle, {numbers(dtype, {1, 0, 3}), 1.0, true});
      ASSERT_TRUE(dropped) << dropped.error().text();
      EXPECT_EQ(dropped->dtype(), dtype);
    }
    expect_drawn(aten<"dropout.default">, {numbers(dtype, {1, 0, 3}), 1.0, true}, {0, 0, 0});
  }
  EXPECT_FALSE(apply(aten<"dropout.default">, {numbers(Dtype::int64, {1}), 0.5, true}));
}

}  // namespace
}  // namespace pt2::ops
