// Reductions of contiguous tensors compared with reductions of strided ones, which are copied into
// rows first; other operators with a fast path for contiguous elements; and sorting.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "ops/compose.h"
#include "ops/loops.h"
#include "ops/reduction/order.h"

namespace pt2::ops {
namespace {

std::vector<double> numbers_in(const Tensor& tensor) {
  Tensor wide = Tensor::zeros(Dtype::float64, tensor.sizes());
  copy_elements(wide, tensor);
  return {wide.as<double>().begin(), wide.as<double>().end()};
}

void expect_near(const Tensor& found, const Tensor& expected, double tolerance) {
  ASSERT_EQ(found.sizes(), expected.sizes());
  ASSERT_EQ(found.dtype(), expected.dtype());
  const std::vector<double> x = numbers_in(found), y = numbers_in(expected);
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    ASSERT_LE(std::abs(x[i] - y[i]), tolerance * std::max(1.0, std::abs(y[i])))
        << "element " << i << ": " << x[i] << ", expected " << y[i];
  }
}

// Returns random numbers near 1, whose products stay finite, or small integers. If `is_special`,
// some are infinite or NaN.
Tensor some_numbers(std::mt19937& random, Dtype dtype, const Sizes& sizes, bool is_special) {
  std::vector<double> numbers(static_cast<size_t>(*checked_numel(sizes)));
  const bool is_whole = dtype_category(dtype) < DtypeCategory::floating;
  for (double& number : numbers) {
    number = is_whole ? std::uniform_int_distribution<int>(0, 9)(random)
                      : std::uniform_real_distribution<double>(0.9, 1.1)(random);
    if (dtype != Dtype::uint8 && dtype != Dtype::bool_ &&
        std::uniform_int_distribution<int>(0, 1)(random) == 0)
      number = -number;
  }
  if (is_special && !is_whole) {
    numbers[numbers.size() / 2] = std::numeric_limits<double>::infinity();
    numbers[numbers.size() / 3] = NAN;
    numbers.back() = -std::numeric_limits<double>::infinity();
  }
  Tensor out = Tensor::zeros(dtype, sizes);
  copy_elements(out, Tensor::from<double>(Dtype::float64, sizes, std::span<const double>(numbers)));
  return out;
}

// Returns the same elements in memory that has an unused element after each one.
Tensor with_room(const Tensor& tensor) {
  Sizes sizes = tensor.sizes();
  sizes.push_back(2);
  const Tensor wide = Tensor::zeros(tensor.dtype(), sizes);
  Sizes strides(wide.strides().begin(), wide.strides().end() - 1);
  Tensor out = wide.with_view(tensor.sizes(), std::move(strides), 0);
  copy_elements(out, tensor);
  return out;
}

TEST(Reductions, TensorsAreReducedAsTheyLie) {
  std::mt19937 random(5);
  const std::vector<Sizes> shapes{{7}, {3, 41}, {300, 3}, {5, 1, 290}, {4, 33, 6}, {2, 3, 17, 2}};
  for (const Dtype dtype : {Dtype::float64, Dtype::float32, Dtype::bfloat16, Dtype::float16,
                            Dtype::int64, Dtype::int32, Dtype::uint8, Dtype::int8, Dtype::bool_})
    for (const Sizes& sizes : shapes)
      for (const bool is_special : {false, true}) {
        const Tensor dense = some_numbers(random, dtype, sizes, is_special);
        const Tensor apart = with_room(dense);
        const auto rank = static_cast<int64_t>(sizes.size());
        // Tolerances for sums of a few hundred numbers around 1.
        const double room = dtype == Dtype::float32    ? 2e-5
                            : dtype == Dtype::bfloat16 ? 1e-2
                            : dtype == Dtype::float16  ? 2e-3
                                                       : 1e-12;
        for (int64_t set = 1; set < int64_t{1} << rank; ++set) {
          Sizes dims;
          for (int64_t dim = 0; dim < rank; ++dim)
            if ((set >> dim & 1) != 0) dims.push_back(dim);
          const auto check = [&](Handle handle, const Operand& which) {
            const auto found = apply(handle, {dense, which}),
                       expected = apply(handle, {apart, which});
            ASSERT_TRUE(found) << found.error().text();
            ASSERT_NO_FATAL_FAILURE(expect_near(*found, *expected, room));
          };
          check(aten<"sum.dim_IntList">, dims);
          check(aten<"nansum.default">, dims);
          if (dtype == Dtype::float64) check(aten<"mean.dim">, dims);
          if (dtype != Dtype::bool_) check(aten<"amax.default">, dims);
          if (dtype != Dtype::bool_) check(aten<"amin.default">, dims);
          check(aten<"any.dims">, dims);
          check(aten<"all.dims">, dims);
          if (dims.size() == 1) check(aten<"prod.dim_int">, dims[0]);
          if (dims.size() == 1) check(aten<"count_nonzero.default">, dims[0]);
        }
      }
}

// Returns the sums of a tensor over the dimensions of the bits in `reduced`.
std::vector<Complex> summed_plainly(const Tensor& tensor, int64_t reduced) {
  Tensor wide = Tensor::zeros(Dtype::complex128, tensor.sizes());
  copy_elements(wide, tensor);
  std::vector<Complex> out;
  for (int64_t i = 0; i < wide.numel(); ++i) {
    int64_t place = 0;
    for (int64_t dim = 0; dim < wide.dim(); ++dim)
      if ((reduced >> dim & 1) == 0)
        place = place * wide.size(dim) + i / wide.stride(dim) % wide.size(dim);
    if (static_cast<size_t>(place) >= out.size()) out.resize(static_cast<size_t>(place) + 1);
    out[static_cast<size_t>(place)] += wide.as<Complex>()[static_cast<size_t>(i)];
  }
  return out;
}

// Parts of complex numbers are summed as real numbers are.
TEST(Reductions, ComplexSumsAndMeansAreTheirDefinition) {
  std::mt19937 random(8);
  const std::vector<Sizes> shapes{{7}, {3, 41}, {300, 3}, {1500}, {5, 1, 290}, {4, 33, 6}};
  for (const Dtype dtype : {Dtype::complex64, Dtype::complex128})
    for (const Sizes& sizes : shapes) {
      Tensor dense = Tensor::zeros(dtype, sizes);
      Sizes pairs = sizes;
      pairs.push_back(2);
      copy_elements(dense, *apply(aten<"view_as_complex.default">,
                                  {some_numbers(random, Dtype::float64, pairs, false)}));
      const Tensor across = *apply(aten<"transpose.int">, {dense, int64_t{0}, int64_t{-1}});
      const Tensor half = *apply(aten<"slice.Tensor">, {dense, 0, 1, 3});
      for (const Tensor& self : {dense, with_room(dense), across, half})
        for (int64_t set = 1; set < int64_t{1} << self.dim(); ++set)
          for (const bool keeps : {false, true}) {
            Sizes dims, expected_sizes;
            for (int64_t dim = 0; dim < self.dim(); ++dim) {
              const bool is_reduced = (set >> dim & 1) != 0;
              if (is_reduced) dims.push_back(dim);
              if (!is_reduced || keeps) expected_sizes.push_back(is_reduced ? 1 : self.size(dim));
            }
            const std::vector<Complex> sums = summed_plainly(self, set);
            const double count =
                static_cast<double>(self.numel()) / static_cast<double>(sums.size());
            for (const bool divides : {false, true}) {
              const Handle handle = divides ? aten<"mean.dim"> : aten<"sum.dim_IntList">;
              const auto found = apply(handle, {self, dims, keeps});
              ASSERT_TRUE(found) << found.error().text();
              ASSERT_EQ(found->dtype(), dtype);
              ASSERT_EQ(found->sizes(), expected_sizes);
              Tensor wide = Tensor::zeros(Dtype::complex128, found->sizes());
              copy_elements(wide, *found);
              for (size_t i = 0; i < sums.size(); ++i)
                ASSERT_LE(std::abs(wide.as<Complex>()[i] - sums[i] / (divides ? count : 1)),
                          dtype == Dtype::complex64 ? 2e-5 : 1e-12)
                    << "element " << i << " of " << self.type_text();
            }
          }
    }
}

// PyTorch divides by a complex number, whose imaginary part 0 makes NaN of an infinite part.
TEST(Reductions, ComplexMeansOfInfinitiesHavePartsThatAreNan) {
  constexpr float kEnd = std::numeric_limits<float>::infinity();
  const Tensor self =
      *apply(aten<"view_as_complex.default">, {Tensor::of<float>({2, 2}, {kEnd, 1, 2, 3})});
  const Tensor mean = *apply(aten<"view_as_real.default">, {*apply(aten<"mean.default">, {self})});
  EXPECT_EQ(mean.as<float>()[0], kEnd);
  EXPECT_TRUE(std::isnan(mean.as<float>()[1]));
}

// A product with one row takes the vector kernel, a product with two equal rows the tiled one.
TEST(Reductions, ProductsWithVectorsAreLikeOthers) {
  std::mt19937 random(6);
  for (const Dtype dtype : {Dtype::float64, Dtype::int64, Dtype::int32, Dtype::uint8})
    for (const int64_t depth : {1, 7, 128, 1000, 2500})
      for (const int64_t lines : {1, 9, 300}) {
        const Tensor vector = some_numbers(random, dtype, {1, depth}, false);
        const Tensor twice = *apply(aten<"cat.default">, {Tensors{vector, vector}, 0});
        const Tensor wide = some_numbers(random, dtype, {depth, lines}, false);
        const Tensor turned = some_numbers(random, dtype, {lines, depth}, false);
        for (const Tensor& matrix : {wide, *apply(aten<"t.default">, {turned})}) {
          const auto one = apply(aten<"mm.default">, {vector, matrix});
          const auto both = apply(aten<"mm.default">, {twice, matrix});
          expect_near(*one, *apply(aten<"slice.Tensor">, {*both, 0, 0, 1}), 1e-12);
          const Tensor column = *apply(aten<"t.default">, {vector});
          const auto other =
              apply(aten<"mm.default">, {*apply(aten<"t.default">, {matrix}), column});
          expect_near(*apply(aten<"t.default">, {*other}), *one, 1e-12);
        }
      }
}

// Negative log-likelihood losses are sums of the target classes' elements, whatever the strides.
TEST(Reductions, LossesOfClassesAreSumsOfOneElementEach) {
  std::mt19937 random(7);
  for (const Dtype dtype : {Dtype::float64, Dtype::float32, Dtype::bfloat16})
    for (const Sizes& sizes : std::vector<Sizes>{{0, 4}, {1, 1}, {6, 5}, {3, 4, 2, 3}}) {
      const Tensor dense = some_numbers(random, dtype, sizes, false);
      Sizes labelled = sizes;
      labelled.erase(labelled.begin() + 1);
      Tensor labels = Tensor::zeros(Dtype::int64, labelled);
      for (int64_t i = 0; i < labels.numel(); ++i)
        labels.data<int64_t>()[i] =
            std::uniform_int_distribution<int64_t>(-1, sizes[1] - 1)(random);
      const int64_t area = sizes.size() == 2 ? 1 : sizes[2] * sizes[3];
      const std::vector<double> numbers = numbers_in(dense);
      std::vector<double> losses;
      for (int64_t i = 0; i < labels.numel(); ++i) {
        const int64_t label = labels.data<int64_t>()[i];
        const int64_t at = (i / area * sizes[1] + label) * area + i % area;
        losses.push_back(label < 0 ? 0 : -numbers[static_cast<size_t>(at)]);
      }
      for (const Tensor& self : {dense, with_room(dense)}) {
        const auto found = apply(sizes.size() == 2 ? Handle(aten<"nll_loss.default">)
                                                   : Handle(aten<"nll_loss2d.default">),
                                 {self, labels, std::nullopt, 0, -1});
        ASSERT_TRUE(found) << found.error().text();
        EXPECT_EQ(numbers_in(*found), losses);
      }
    }
}

TEST(Reductions, EmptySumsAreZero) {
  const Tensor nothing = Tensor::zeros(Dtype::float64, {3, 0});
  EXPECT_EQ(numbers_in(*apply(aten<"sum.dim_IntList">, {nothing, Sizes{1}})),
            std::vector<double>(3, 0));
  EXPECT_EQ(numbers_in(*apply(aten<"prod.dim_int">, {nothing, 1})), std::vector<double>(3, 1));
  EXPECT_EQ(numbers_in(*apply(aten<"mv.default">, {nothing, Tensor::zeros(Dtype::float64, {0})})),
            std::vector<double>(3, 0));
}

TEST(Reductions, TensorsAreFilled) {
  for (const Dtype dtype :
       {Dtype::bool_, Dtype::bfloat16, Dtype::float32, Dtype::int64, Dtype::complex128})
    for (const int64_t count : {1, 31, 512, 1537}) {
      Tensor wide = Tensor::zeros(dtype, {count, 3});
      Tensor row = wide.with_view({count}, {1}, 0), column = wide.with_view({count}, {3}, 2);
      const std::vector<double> none(static_cast<size_t>(count), 0), all(none.size(), 1);
      fill_elements(row, Scalar(int64_t{1}));
      EXPECT_EQ(numbers_in(row), all);
      EXPECT_EQ(numbers_in(wide.with_view({2 * count}, {1}, count)),
                std::vector<double>(2 * none.size(), 0));
      fill_elements(row, Scalar(int64_t{0}));
      fill_elements(column, Scalar(int64_t{1}));
      EXPECT_EQ(numbers_in(column), all);
      EXPECT_EQ(numbers_in(wide.with_view({count}, {3}, 1)), none);
    }
}

TEST(Reductions, NumbersAreCounted) {
  const Tensor values = Tensor::of<int64_t>({5}, {3, 0, 3, 7, 3});
  EXPECT_EQ(numbers_in(*apply(aten<"bincount.default">, {values, std::nullopt, 2})),
            (std::vector<double>{1, 0, 0, 3, 0, 0, 0, 1}));
  const Tensor weights = Tensor::of<float>({5}, {1, 2, 0.5, -1, 4});
  EXPECT_EQ(numbers_in(*apply(aten<"bincount.default">, {values, weights, 10})),
            (std::vector<double>{2, 0, 0, 5.5, 0, 0, 0, -1, 0, 0}));
  EXPECT_FALSE(
      apply(aten<"bincount.default">, {Tensor::of<int64_t>({2}, {3, -1}), std::nullopt, 0}));
  const float kInfinity = std::numeric_limits<float>::infinity();
  const Tensor points =
      Tensor::of<float>({9}, {-1, -0.5f, 0, 0.49f, 0.5f, 1, 1.01f, NAN, kInfinity});
  EXPECT_EQ(numbers_in(*apply(aten<"histc.default">, {points, 4, -1, 1})),
            (std::vector<double>{1, 1, 2, 2}));
}

template <class C>
bool is_less(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  }
  return a < b;
}

template <class C>
void expect_stable_order(const std::vector<C>& numbers) {
  for (const bool descending : {false, true}) {
    std::vector<int64_t> expected(numbers.size()), found;
    std::iota(expected.begin(), expected.end(), int64_t{0});
    std::ranges::stable_sort(expected, [&](int64_t a, int64_t b) {
      const C x = numbers[static_cast<size_t>(a)], y = numbers[static_cast<size_t>(b)];
      return descending ? is_less(y, x) : is_less(x, y);
    });
    StableOrder<C> order(std::ssize(numbers));
    order.for_each(numbers.data(), descending, [&](int64_t i, int64_t place) {
      EXPECT_EQ(i, std::ssize(found));
      found.push_back(place);
    });
    EXPECT_EQ(found, expected) << numbers.size() << " numbers";
  }
}

// Sorts few and many numbers, most of which occur several times.
template <class C>
void expect_stable_orders(const std::vector<C>& of) {
  std::mt19937 random(7);
  for (const size_t count : {0, 1, 2, 63, 64, 65, 300, 5000}) {
    std::vector<C> numbers(count);
    for (C& number : numbers) number = of[random() % of.size()];
    expect_stable_order(numbers);
  }
}

template <class F>
std::vector<F> special_floats() {
  using Limits = std::numeric_limits<F>;
  std::vector<F> out{F(0),
                     -F(0),
                     F(1),
                     F(-1),
                     Limits::max(),
                     Limits::lowest(),
                     Limits::min(),
                     Limits::denorm_min(),
                     -Limits::denorm_min(),
                     Limits::infinity(),
                     -Limits::infinity(),
                     Limits::quiet_NaN(),
                     -Limits::quiet_NaN()};
  for (int i = 0; i < 100; ++i) out.push_back(std::sin(F(i)) * std::pow(F(10), F(i % 20 - 10)));
  return out;
}

TEST(StableOrder, OfFloats) { expect_stable_orders(special_floats<float>()); }
TEST(StableOrder, OfDoubles) { expect_stable_orders(special_floats<double>()); }
TEST(StableOrder, OfWholeNumbers) {
  using Limits = std::numeric_limits<int64_t>;
  expect_stable_orders<int64_t>({0, 1, -1, 255, 256, -256, Limits::max(), Limits::min(), 1 << 20});
  expect_stable_orders<int64_t>({3, 1, 2});
}

TEST(Mean, OfHalvesDividesASumBeyondTheirRange) {
  Tensor sixty = Tensor::zeros(Dtype::float16, {2, 5000});
  fill_elements(sixty, 60.0);
  EXPECT_EQ(numbers_in(apply(aten<"mean.default">, {sixty}).value()), std::vector<double>{60});
  EXPECT_EQ(numbers_in(apply(aten<"mean.dim">, {sixty, Sizes{1}}).value()),
            (std::vector<double>{60, 60}));
  const Tensor whole = Tensor::of<int64_t>({2}, {70000, 2});
  EXPECT_EQ(numbers_in(apply(aten<"mean.default">, {whole, Dtype::float16}).value()),
            std::vector<double>{35008});
}

// The real parts vary, the imaginary parts are all 0.
TEST(Variance, OfComplexNumbersIsNanIfThatOfAPartIs) {
  Tensor numbers = Tensor::zeros(Dtype::complex64, {3});
  copy_elements(numbers, Tensor::of<float>({3}, {1, 2, 4}));
  for (const int64_t correction : {3, 4}) {
    const Tensor found =
        apply(aten<"var.correction">, {numbers, Sizes{0}, Scalar(correction)}).value();
    EXPECT_TRUE(std::isnan(numbers_in(found)[0]));
  }
  EXPECT_NEAR(numbers_in(apply(aten<"var.correction">, {numbers, Sizes{0}}).value())[0], 7.0 / 3,
              1e-6);
}

TEST(SearchSorted, ABoundaryThatIsNanIsNeverTheGreaterOne) {
  const double nan = std::nan("");
  const Tensor sorted = Tensor::of<double>({3}, {1, 2, nan});
  const Tensor sought = Tensor::of<double>({3}, {5, nan, 2});
  for (const bool right : {false, true})
    EXPECT_EQ(
        numbers_in(apply(aten<"searchsorted.Tensor">, {sorted, sought, false, right}).value()),
        (std::vector<double>{3, 3, right ? 3.0 : 1.0}));
}

TEST(Nansum, AsIntegersTakesNanAsZero) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  Tensor halves = Tensor::zeros(Dtype::float16, {4});
  copy_elements(halves, Tensor::of<double>({4}, {1.5, nan, infinity, -3}));
  const auto sum = [](const Tensor& x, Dtype dtype) {
    return numbers_in(apply(aten<"nansum.default">, {x, Sizes{0}, false, dtype}).value());
  };
  EXPECT_EQ(sum(halves, Dtype::int64), std::vector<double>{65502});
  EXPECT_EQ(sum(halves, Dtype::int8), std::vector<double>{-34});
  const Tensor none = Tensor::of<float>({2}, {std::nanf(""), std::nanf("")});
  EXPECT_EQ(sum(none, Dtype::bool_), std::vector<double>{0});
  EXPECT_EQ(sum(none, Dtype::int32), std::vector<double>{0});
}

// The expected place is PyTorch's.
TEST(Mode, OfManyElementsHasPyTorchsPlace) {
  Tensor numbers = Tensor::zeros(Dtype::int64, {60});
  for (int64_t i = 0; i < 60; ++i) numbers.data<int64_t>()[i] = (i * 37 + i * i * 11) % 7;
  const auto both = apply_all(aten<"mode.default">, {numbers}).value();
  EXPECT_EQ(numbers_in(*both[0].get_if<Tensor>()), std::vector<double>{0});
#ifdef __GLIBCXX__
  EXPECT_EQ(numbers_in(*both[1].get_if<Tensor>()), std::vector<double>{7});
#endif
}

// The expected places are PyTorch's.
TEST(KthValue, OfEqualElementsHasPyTorchsPlace) {
  Tensor numbers = Tensor::zeros(Dtype::float32, {60});
  const auto fill = [&](bool has_nan) {
    for (int64_t i = 0; i < 60; ++i)
      numbers.data<float>()[i] =
          has_nan && i % 5 == 3 ? std::nanf("") : static_cast<float>((i * 37 + i * i * 11) % 7);
  };
  const auto places = [&] {
    std::vector<double> out;
    for (const int64_t k : {1, 5, 20, 30, 31, 45, 60}) {
      const auto both = apply_all(aten<"kthvalue.default">, {numbers, k}).value();
      out.push_back(numbers_in(*both[1].get_if<Tensor>())[0]);
    }
    return out;
  };
  fill(false);
  EXPECT_EQ(places(), (std::vector<double>{31, 42, 55, 18, 11, 2, 29}));
  fill(true);
  EXPECT_EQ(places(), (std::vector<double>{24, 31, 25, 40, 26, 1, 13}));
}

TEST(Sort, OneNumberWithoutDimsIsItsOwnSelection) {
  const Tensor number = Tensor::of<float>({}, {3.5f});
  for (const int64_t k : {0, 1}) {
    const auto both = apply_all(aten<"topk.default">, {number, k}).value();
    EXPECT_EQ(numbers_in(*both[0].get_if<Tensor>()), std::vector<double>{3.5});
  }
  EXPECT_TRUE(apply_all(aten<"kthvalue.default">, {Tensor::of<bool>({}, {true}), int64_t{1}}));
}

TEST(GroupNorm, GradientsKeepTheMemoryFormat) {
  const Tensor image = Tensor::zeros(Dtype::float32, {1, 4, 2, 3});
  const auto nhwc = apply(aten<"clone.default">, {image, MemoryFormat::channels_last});
  const Tensor statistic = Tensor::zeros(Dtype::float32, {1, 2});
  const auto all = apply_all(aten<"native_group_norm_backward.default">,
                             {image, *nhwc, statistic, statistic, OptionalTensor(), 1, 4, 6,
                              int64_t{2}, std::vector<bool>{true, false, false}});
  EXPECT_EQ((*all)[0].get_if<Tensor>()->strides(), (Sizes{24, 1, 12, 4}));
}

}  // namespace
}  // namespace pt2::ops
