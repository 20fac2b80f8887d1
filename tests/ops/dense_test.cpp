// Factorisations and Fourier transforms that recorded calls do not cover: empty matrices, matrices
// of low rank, and lengths of every kind.
#include "ops/linear/dense/dense.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/compose.h"
#include "ops/loops.h"
#include "ops/signal/dft.h"

namespace pt2::ops {
namespace {

// kWrappingSize * kWrappingSize is 16 modulo 2^64.
constexpr int64_t kWrappingSize = (int64_t{1} << 61) + 4;

TEST(EmptyMatrices, BasesTooLargeAreErrors) {
  const Value wide(Tensor::zeros(Dtype::float32, {0, kWrappingSize}));
  const Value tall(Tensor::zeros(Dtype::float32, {kWrappingSize, 0}));
  EXPECT_FALSE(apply_all(aten<"linalg_svd.default">, {wide, Value(true)}));
  EXPECT_FALSE(apply_all(aten<"svd.default">, {wide, Value(false)}));
  EXPECT_FALSE(apply_all(aten<"_linalg_svd.default">, {tall, Value(true)}));
  EXPECT_FALSE(apply_all(aten<"linalg_qr.default">, {tall, Value("complete")}));
  EXPECT_FALSE(apply_all(aten<"linalg_lu.default">, {tall}));
  EXPECT_TRUE(apply_all(aten<"linalg_qr.default">, {tall, Value("r")}));
  const Value none(Tensor::zeros(Dtype::float32, {0}));
  EXPECT_TRUE(apply_all(aten<"linalg_householder_product.default">, {tall, none}));
}

TEST(EmptyMatrices, ManyTakeNoMemory) {
  const Value many(Tensor::zeros(Dtype::float32, {3'000'000'000, 0, 0}));
  for (const Handle handle :
       {aten<"linalg_svd.default">, aten<"linalg_eigvals.default">, aten<"linalg_eigh.default">,
        aten<"linalg_qr.default">, aten<"matrix_exp.default">, aten<"pinverse.default">})
    EXPECT_TRUE(apply_all(handle, {many})) << handle().def->signature->text;
  EXPECT_TRUE(
      apply_all(aten<"scaled_dot_product_attention.default">,
                {many, many, many, Value(), Value(0.0), Value(false), Value(), Value(false)}));
}

// Returns the largest deviation of the columns' inner products from those of orthonormal columns.
double disorder(const std::vector<double>& a, int64_t rows, int64_t columns) {
  double worst = 0;
  for (int64_t p = 0; p < columns; ++p)
    for (int64_t q = 0; q < columns; ++q) {
      double sum = p == q ? -1 : 0;
      for (int64_t i = 0; i < rows; ++i)
        sum += a[static_cast<size_t>(p * rows + i)] * a[static_cast<size_t>(q * rows + i)];
      worst = std::max(worst, std::fabs(sum));
    }
  return worst;
}

// For these matrices Eigen's fast algorithm gives bases that are far from orthonormal.
TEST(SingularValues, OfLowRankHaveOrthonormalVectors) {
  constexpr int64_t kRows = 60;
  constexpr int64_t kColumns = 40;
  std::vector<double> a(kRows * kColumns);
  for (int64_t j = 0; j < kColumns; ++j)
    for (int64_t i = 0; i < kRows; ++i)
      a[static_cast<size_t>(j * kRows + i)] = static_cast<double>((i + j) % 2);
  std::vector<double> u(kRows * kRows);
  std::vector<double> vh(kColumns * kColumns);
  std::vector<double> values(kColumns);
  factor_svd<double>({a.data(), kRows, kColumns}, values.data(), {u.data(), kRows, kRows},
                     {vh.data(), kColumns, kColumns}, Precision::of<double>());
  EXPECT_NEAR(values[0], std::sqrt(600), 1e-12);
  EXPECT_NEAR(values[1], std::sqrt(600), 1e-12);
  EXPECT_NEAR(values[2], 0, 1e-12);
  EXPECT_LT(disorder(u, kRows, kRows), 1e-13);
  EXPECT_LT(disorder(vh, kColumns, kColumns), 1e-13);
}

// The signs of the first row of U and of the first column of V^T, from torch.linalg.svd (2.15 with
// MKL). The shapes are on both sides of the sizes from which on MKL factors A = Q R first.
TEST(SingularValues, VectorsHaveTheSignsOfLapack) {
  struct Case {
    int64_t rows;
    int64_t columns;
    std::string_view u;
    std::string_view vh;
  };
  constexpr Case kCases[] = {
      {1, 1, "+", "+"},     {3, 3, "-++", "--+"},
      {4, 3, "---", "---"}, {5, 4, "+-+-", "--+-"},
      {3, 4, "++-", "-+-"}, {2, 39, "+-", "+-"},
      {2, 40, "-+", "--"},  {12, 12, "-+-+-+---+--", "-----+-++++-"},
  };
  for (const auto& [rows, columns, u_signs, vh_signs] : kCases) {
    const int64_t rank = std::min(rows, columns);
    std::vector<double> a, values(static_cast<size_t>(rank));
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = 0; i < rows; ++i) {
        const auto number = static_cast<double>(i * columns + j);
        a.push_back(std::sin(number * number + 1));
      }
    std::vector<double> u(static_cast<size_t>(rows * rank));
    std::vector<double> vh(static_cast<size_t>(rank * columns));
    factor_svd<double>({a.data(), rows, columns}, values.data(), {u.data(), rows, rank},
                       {vh.data(), rank, columns}, Precision::of<double>());
    std::string found_u, found_vh;
    for (int64_t k = 0; k < rank; ++k) {
      found_u += u[static_cast<size_t>(k * rows)] > 0 ? '+' : '-';
      found_vh += vh[static_cast<size_t>(k)] > 0 ? '+' : '-';
    }
    EXPECT_EQ(found_u, u_signs) << rows << " x " << columns;
    EXPECT_EQ(found_vh, vh_signs) << rows << " x " << columns;
  }
}

TEST(SingularValues, OfWhatIsNotFiniteAreNan) {
  std::vector<Complex> a{1, 2, 3, {0, std::numeric_limits<double>::infinity()}};
  std::vector<double> values(2);
  factor_svd<Complex>({a.data(), 2, 2}, values.data(), {}, {}, Precision::of<double>());
  EXPECT_TRUE(std::isnan(values[0]));
}

Complex number(int64_t i) { return {std::sin(static_cast<double>(3 * i)), std::cos(i * 0.7)}; }

// Returns element (i, j) of a Hermitian n x n matrix: dense with pseudo-random numbers, of rank
// one, the exchange matrix (ones on the antidiagonal), or zero.
enum class Kind : uint8_t { dense, rank_one, exchange, zero };
Complex hermitian(Kind kind, int64_t n, int64_t i, int64_t j) {
  if (kind == Kind::zero) return 0;
  if (kind == Kind::exchange) return i + j == n - 1 ? 1 : 0;
  if (kind == Kind::rank_one) return number(i) * std::conj(number(j));
  if (i == j) return number(i).real();
  return i > j ? number(i * n + j) : std::conj(number(j * n + i));
}

// Returns the largest element of A V - V diag(values) and of V^H V - 1.
double residual(Kind kind, double scale, int64_t n, MatrixView<Complex> v, const double* values) {
  double worst = 0;
  for (int64_t p = 0; p < n; ++p)
    for (int64_t q = 0; q < n; ++q) {
      Complex difference = -values[q] / scale * v.at(p, q);
      Complex product = p == q ? -1 : 0;
      for (int64_t i = 0; i < n; ++i) {
        difference += hermitian(kind, n, p, i) * v.at(i, q);
        product += std::conj(v.at(i, p)) * v.at(i, q);
      }
      worst = std::max({worst, std::abs(difference), std::abs(product)});
    }
  return worst;
}

// Sizes around the threshold between two algorithms. Some scales make squares leave the range.
TEST(HermitianMatrices, HaveTheirEigenvectorsAtEverySize) {
  for (const Kind kind : {Kind::dense, Kind::rank_one, Kind::exchange, Kind::zero})
    for (const int64_t n : {1, 2, 3, 4, 7, 25, 26, 41})
      for (const double scale : {1.0, 1e200, 1e-200})
        for (const bool upper : {false, true}) {
          std::vector<Complex> a(static_cast<size_t>(n * n), std::nan(""));
          std::vector<double> values(static_cast<size_t>(n));
          const MatrixView<Complex> view{a.data(), n, n};
          for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j <= i; ++j)
              (upper ? view.at(j, i) : view.at(i, j)) =
                  scale * (upper ? hermitian(kind, n, j, i) : hermitian(kind, n, i, j));
          std::vector<Complex> copy = a;
          std::vector<double> alone(values.size());
          factor_hermitian(view, values.data(), upper, true, Precision::of<double>());
          EXPECT_LT(residual(kind, scale, n, view, values.data()), 1e-12)
              << n << " rows, kind " << static_cast<int>(kind) << ", scale " << scale;
          factor_hermitian(MatrixView<Complex>{copy.data(), n, n}, alone.data(), upper, false,
                           Precision::of<double>());
          for (size_t i = 0; i < values.size(); ++i)
            EXPECT_NEAR(alone[i] / scale, values[i] / scale, 1e-12) << n << " rows without vectors";
          EXPECT_TRUE(std::ranges::is_sorted(values));
        }
}

TEST(SingularValues, AreTheSameWithoutVectors) {
  for (const auto& [rows, columns] : {std::pair{40, 30}, {30, 40}, {26, 26}, {7, 3}, {1, 4}}) {
    const int64_t rank = std::min(rows, columns);
    std::vector<double> a, values(static_cast<size_t>(rank)), alone(values.size());
    for (int64_t i = 0; i < rows * columns; ++i) a.push_back(number(i * i).real());
    std::vector<double> copy = a, u(static_cast<size_t>(rows * rank));
    std::vector<double> vh(static_cast<size_t>(rank * columns));
    factor_svd<double>({a.data(), rows, columns}, values.data(), {u.data(), rows, rank},
                       {vh.data(), rank, columns}, Precision::of<double>());
    // The values are those of double also where vectors have the signs of float32.
    factor_svd<double>({copy.data(), rows, columns}, alone.data(), {}, {}, Precision::of<float>());
    for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(alone[i], values[i], 1e-13 * values[0]);
  }
}

// Element (i, j) of an n x n matrix whose eigenvalues are real and complex.
double general(int64_t n, int64_t i, int64_t j) {
  const auto place = static_cast<double>(i * n + j);
  return std::sin(place * place + 1);
}

// The eigenvalues and the first row of the eigenvectors, from torch.linalg.eig (2.15 with MKL).
TEST(GeneralMatrices, HaveTheOrderAndTheSignsOfLapack) {
  constexpr int64_t kSize = 5;
  Tensor a = Tensor::zeros(Dtype::float64, {kSize, kSize});
  for (int64_t i = 0; i < kSize * kSize; ++i)
    a.data<double>()[i] = general(kSize, i / kSize, i % kSize);
  const auto parts = *apply_all(aten<"linalg_eig.default">, {a});
  const auto alone = *apply_all(aten<"linalg_eigvals.default">, {a});
  constexpr Complex kValues[] = {{1.2168485552631558, 0.5302819836320001},
                                 {1.2168485552631558, -0.5302819836320001},
                                 {-2.0490073762262453, 0},
                                 {-0.7879919568435358, 0.9992140914353906},
                                 {-0.7879919568435358, -0.9992140914353906}};
  constexpr Complex kFirst[] = {
      {-0.8373, 0}, {-0.8373, 0}, {-0.3807, 0}, {-0.0444, 0.1580}, {-0.0444, -0.1580}};
  const Tensor vectors = unbox<Tensor>(parts[1]).contiguous();
  for (int64_t j = 0; j < kSize; ++j) {
    const Complex value = unbox<Tensor>(parts[0]).as<Complex>().data()[j];
    EXPECT_LT(std::abs(value - kValues[j]), 1e-13) << j;
    EXPECT_EQ(unbox<Tensor>(alone[0]).as<Complex>().data()[j], value) << j;
    EXPECT_LT(std::abs(vectors.as<Complex>().data()[j] - kFirst[j]), 1e-4) << j;
  }
}

TEST(GeneralMatrices, HaveTheirEigenvectorsAtEverySize) {
  for (const int64_t n : {1, 2, 3, 4, 7, 20, 90})
    for (const double scale : {1.0, 1e300, 1e-300})
      for (const Dtype dtype : {Dtype::float64, Dtype::complex128}) {
        Tensor real = Tensor::zeros(Dtype::float64, {n, n});
        for (int64_t i = 0; i < n * n; ++i)
          real.data<double>()[i] = scale * general(n, i / n, i % n);
        const Tensor a = *apply(aten<"to.dtype">, {real, dtype});
        const auto parts = *apply_all(aten<"linalg_eig.default">, {a});
        const Tensor v = unbox<Tensor>(parts[1]).contiguous();
        const Complex* values = unbox<Tensor>(parts[0]).as<Complex>().data();
        double worst = 0;
        for (int64_t i = 0; i < n; ++i)
          for (int64_t j = 0; j < n; ++j) {
            const Complex* column = v.as<Complex>().data() + j;
            Complex difference = -values[j] / scale * column[i * n];
            for (int64_t k = 0; k < n; ++k) difference += general(n, i, k) * column[k * n];
            worst = std::max(worst, std::abs(difference));
          }
        EXPECT_LT(worst, 1e-12) << n << " rows, scale " << scale;
      }
}

// Whoever takes the memory apart sees the order. PyTorch's is that of LAPACK on either side.
TEST(TriangularSolves, LieColumnByColumnOnEitherSide) {
  const Tensor factors = Tensor::of<double>({3, 3}, {2, 1, 1, 0, 2, 1, 0, 0, 2});
  const Tensor sides = Tensor::of<double>({2, 3}, {0, 1, 2, 3, 4, 5});
  const auto solution =
      apply(aten<"linalg_solve_triangular.default">, {factors, sides, true, false});
  ASSERT_TRUE(solution) << solution.error().text();
  EXPECT_EQ(solution->strides(), (Sizes{1, 2}));
  const auto memory = apply(aten<"as_strided.default">, {*solution, Sizes{6}, Sizes{1}});
  const std::vector<double> expected{0, 1.5, .5, 1.25, .75, 1.125};
  EXPECT_TRUE(std::ranges::equal(memory->as<double>(), expected));
}

// Solves are made of products of blocks, whose sizes these matrices do not fit.
TEST(GeneralMatrices, SolveWhatTheyMultiply) {
  for (const Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::complex128})
    for (const int64_t n : {65, 150, 259}) {
      const auto random = [&](const Sizes& sizes) {
        const auto parts = [&] { return *apply(aten<"rand.default">, {sizes, real_dtype(dtype)}); };
        const Tensor real = parts();
        return dtype == Dtype::complex128 ? *apply(aten<"complex.default">, {real, parts()}) : real;
      };
      const Tensor a = random({n, n}), x = random({n, 71});
      const Tensor b = *apply(aten<"matmul.default">, {a, x});
      const Tensor solved = *apply(aten<"linalg_solve.default">, {a, b});
      const auto rest = apply(aten<"sub.Tensor">, {*apply(aten<"matmul.default">, {a, solved}), b});
      const Tensor sizes =
          *apply(aten<"to.dtype">, {*apply(aten<"abs.default">, {*rest}), Dtype::float64});
      const double room = dtype == Dtype::float32 ? 1e-2 : 1e-10;
      EXPECT_LT(std::ranges::max(sizes.as<double>()), room) << n << ' ' << dtype_name(dtype);
    }
}

// exp([[0, -t], [t, 0]]) is a rotation. Small and large t take series of different lengths.
TEST(MatrixExponentials, OfTurnsAreRotations) {
  for (const double t : {0.0, 1e-9, 1e-3, 0.05, 0.11, 0.5, 0.79, 0.81, 3.0, 40.0}) {
    const Tensor a = Tensor::of<double>({2, 2}, {0, -t, t, 0});
    const Tensor turned = *apply(aten<"matrix_exp.default">, {a});
    const double expected[] = {std::cos(t), -std::sin(t), std::sin(t), std::cos(t)};
    for (int64_t i = 0; i < 4; ++i)
      EXPECT_NEAR(turned.as<double>().data()[i], expected[i], 1e-15 * (4 + 16 * t)) << t;
  }
}

// Returns coefficient k of the Fourier transform, computed by its definition.
Complex frequency(int64_t n, int64_t k, bool forward, bool real) {
  Complex sum = 0;
  for (int64_t j = 0; j < n; ++j) {
    const double angle =
        2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
    const Complex x = real ? Complex(number(j).real()) : number(j);
    sum += x * Complex(std::cos(angle), forward ? -std::sin(angle) : std::sin(angle));
  }
  return sum;
}

// Radices 2 to 31, lengths with larger prime factors, and lengths transformed as a matrix, short
// and long.
constexpr int64_t kLengths[] = {1,  2,  3,  4,   5,   6,   7,   8,   12,  16,  24,   31,   37,
                                64, 77, 96, 121, 128, 243, 500, 512, 529, 720, 1009, 4096, 8192};

// Transforms `count` lines, which are interleaved or stored one after another.
template <class T>
void compare_with_definition(int64_t n, bool forward, int64_t count, bool side_by_side,
                             double tolerance) {
  std::vector<std::complex<T>> x(static_cast<size_t>(n * count));
  const int64_t stride = side_by_side ? count : 1, distance = side_by_side ? 1 : n;
  for (int64_t j = 0; j < n; ++j)
    for (int64_t l = 0; l < count; ++l)
      x[static_cast<size_t>(j * stride + l * distance)] = std::complex<T>(number(j));
  std::vector<std::complex<T>> y(x.size());
  DiscreteFourier<T>(n, forward, count)
      .transform({x.data(), stride, distance},
                 {y.data(), distance == 1 ? 1 : count, distance == 1 ? n : 1}, count, 1);
  DiscreteFourier<T>(n, forward).transform({x.data(), stride, distance}, count, 1);
  for (int64_t k = 0; k < n; ++k)
    for (int64_t l = 0; l < count; ++l)
      ASSERT_LT(std::abs(y[static_cast<size_t>(side_by_side ? l * n + k : k * count + l)] -
                         x[static_cast<size_t>(k * stride + l * distance)]),
                tolerance * static_cast<double>(n))
          << n << " at " << k << " of line " << l;
  for (int64_t k = 0; k < n; k += n / 7 + 1)
    EXPECT_LT(std::abs(Complex(x[static_cast<size_t>(k * stride + (count - 1) * distance)]) -
                       frequency(n, k, forward, false)),
              tolerance * static_cast<double>(n))
        << n << " at " << k << " of " << count;
}

TEST(DiscreteFourier, IsItsDefinition) {
  for (int64_t n : kLengths)
    for (bool forward : {true, false})
      for (int64_t count : {1, 9, 17})
        for (bool side_by_side : {true, false}) {
          compare_with_definition<double>(n, forward, count, side_by_side, 1e-12);
          compare_with_definition<float>(n, forward, count, side_by_side, 3e-7);
        }
}

template <class T>
void go_there_and_back(int64_t n, int64_t count, bool whole, double tolerance) {
  std::vector<T> lines(static_cast<size_t>(n * count));
  for (int64_t i = 0; i < n * count; ++i)
    lines[static_cast<size_t>(i)] = static_cast<T>(number(i % n).real());
  const int64_t length = whole ? n : n / 2 + 1;
  std::vector<std::complex<T>> spectra(static_cast<size_t>(length * count));
  RealFourier<T>(n, true).to_spectra(lines.data(), count, spectra.data(), length, 1);
  for (int64_t k = 0; k < length; k += length / 5 + 1)
    EXPECT_LT(std::abs(Complex(spectra[static_cast<size_t>((count - 1) * length + k)]) -
                       frequency(n, k, true, true)),
              10 * tolerance * static_cast<double>(n))
        << n << " at " << k;
  if (whole) return;
  std::vector<T> back(lines.size());
  RealFourier<T>(n, false, count)
      .from_spectra(spectra.data(), count, length, back.data(), 1 / static_cast<double>(n));
  for (size_t i = 0; i < lines.size(); ++i) EXPECT_NEAR(back[i], lines[i], tolerance) << n;
}

TEST(RealFourier, GoesThereAndBack) {
  for (int64_t n : kLengths)
    for (int64_t count : {3, 18})
      for (bool whole : {false, true}) {
        go_there_and_back<double>(n, count, whole, 1e-13);
        go_there_and_back<float>(n, count, whole, 1e-5);
      }
}

// Transforms row-major numbers along a dimension.
std::vector<Complex> transformed_along(const std::vector<Complex>& x, const Tensor& like,
                                       int64_t dim, bool forward) {
  const int64_t n = like.size(dim), stride = like.stride(dim);
  std::vector<Complex> out(x.size());
  for (int64_t i = 0; i < like.numel(); ++i) {
    const int64_t k = i / stride % n;
    for (int64_t j = 0; j < n; ++j) {
      const double angle =
          2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
      out[static_cast<size_t>(i)] +=
          x[static_cast<size_t>(i + (j - k) * stride)] * std::polar(1.0, forward ? -angle : angle);
    }
  }
  return out;
}

Tensor tensor_of_numbers(Dtype dtype, const Sizes& sizes) {
  std::vector<Complex> numbers;
  for (int64_t i = 0; i < *checked_numel(sizes); ++i) numbers.push_back(number(i));
  Tensor out = Tensor::zeros(dtype, sizes);
  copy_elements(out, Tensor::from<Complex>(Dtype::complex128, sizes, numbers));
  return out;
}
std::vector<Complex> complex_numbers_in(const Tensor& tensor) {
  Tensor wide = Tensor::zeros(Dtype::complex128, tensor.sizes());
  copy_elements(wide, tensor);
  return {wide.as<Complex>().begin(), wide.as<Complex>().end()};
}
void expect_numbers(const Tensor& found, const std::vector<Complex>& expected, double tolerance) {
  const std::vector<Complex> x = complex_numbers_in(found);
  ASSERT_EQ(x.size(), expected.size());
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_LT(std::abs(x[i] - expected[i]), tolerance) << "element " << i;
}
// The same elements with dims 0 and 2 exchanged in memory, and in memory with gaps.
std::vector<Tensor> with_other_strides(const Tensor& tensor) {
  Tensor turned = Tensor::zeros(tensor.dtype(), {tensor.size(2), tensor.size(1), tensor.size(0)});
  turned = *apply(aten<"transpose.int">, {turned, 0, 2});
  copy_elements(turned, tensor);
  Tensor apart =
      Tensor::zeros(tensor.dtype(), {tensor.size(0), tensor.size(1) + 1, tensor.size(2) + 3});
  apart = *apply(aten<"slice.Tensor">, {apart, 1, 1, tensor.size(1) + 1});
  apart = *apply(aten<"slice.Tensor">, {apart, 2, 2, tensor.size(2) + 2});
  copy_elements(apart, tensor);
  return {tensor, turned, apart};
}

// With 17 and 33 lines beside each other, some are left over of full vectors.
TEST(FourierTransforms, OfAnyDimensionsAreTheirDefinition) {
  for (const Sizes& sizes : std::vector<Sizes>{{3, 8, 33}, {20, 16, 17}, {1, 6, 5}})
    for (const Dtype dtype : {Dtype::complex64, Dtype::complex128}) {
      const Tensor dense = tensor_of_numbers(dtype, sizes);
      const double room = dtype == Dtype::complex64 ? 1e-4 : 1e-12;
      for (const Sizes& dims : std::vector<Sizes>{{0}, {1}, {2}, {0, 2}, {2, 1}, {0, 1, 2}})
        for (const int64_t normalization : {0, 1, 2})
          for (const bool forward : {false, true}) {
            std::vector<Complex> expected = complex_numbers_in(dense);
            double count = 1;
            for (const int64_t dim : dims) {
              expected = transformed_along(expected, dense, dim, forward);
              count *= static_cast<double>(dense.size(dim));
            }
            const double scale = std::pow(count, -0.5 * static_cast<double>(normalization));
            for (Complex& each : expected) each *= scale;
            for (const Tensor& self : with_other_strides(dense))
              ASSERT_NO_FATAL_FAILURE(expect_numbers(
                  *apply(aten<"_fft_c2c.default">, {self, dims, normalization, forward}), expected,
                  room * std::max(1.0, count * scale)));
          }
    }
}

// A file may place elements at any address. Lines along dim 1 of {2, 6, 1} are contiguous.
TEST(FourierTransforms, ReadNumbersAtAnyAddress) {
  for (const Dtype dtype : {Dtype::complex64, Dtype::complex128})
    for (const Sizes& sizes : std::vector<Sizes>{{3, 4, 5}, {2, 6, 1}}) {
      const Tensor dense = tensor_of_numbers(dtype, sizes);
      const auto bytes = static_cast<size_t>(dense.nbytes());
      const auto memory = std::make_shared<std::vector<std::byte>>(bytes + 1);
      std::copy_n(dense.raw_data(), bytes, memory->data() + 1);
      const Tensor moved = *Tensor::view_of(Storage::borrow(std::span(*memory).subspan(1), memory),
                                            dtype, sizes, contiguous_strides(sizes), 0);
      for (const int64_t dim : {0, 1, 2}) {
        const auto expect_alike = [&](const auto& transform) {
          ASSERT_NO_FATAL_FAILURE(
              expect_numbers(*transform(moved), complex_numbers_in(*transform(dense)), 1e-12));
        };
        expect_alike([&](const Tensor& x) {
          return apply(aten<"_fft_c2c.default">, {x, Sizes{dim}, 0, true});
        });
        expect_alike([&](const Tensor& x) {
          return apply(aten<"_fft_c2r.default">, {x, Sizes{dim}, 0, 2 * x.size(dim) - 1});
        });
      }
    }
}

TEST(FourierTransforms, OfRealNumbersGoThereAndBack) {
  for (const Sizes& sizes : std::vector<Sizes>{{3, 8, 64}, {20, 16, 34}, {2, 6, 5}})
    for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
      const Tensor parts =
          *apply(aten<"view_as_real.default">, {tensor_of_numbers(Dtype::complex128, sizes)});
      Tensor dense = Tensor::zeros(dtype, sizes);
      copy_elements(dense, *apply(aten<"select.int">, {parts, -1, 0}));
      const std::vector<Complex> numbers = complex_numbers_in(dense);
      const double room = dtype == Dtype::float32 ? 1e-5 : 1e-13;
      for (const Sizes& dims : std::vector<Sizes>{{0}, {1}, {2}, {0, 2}, {2, 1}, {0, 1, 2}}) {
        std::vector<Complex> expected = numbers;
        double count = 1;
        for (const int64_t dim : dims) {
          expected = transformed_along(expected, dense, dim, true);
          count *= static_cast<double>(dense.size(dim));
        }
        for (const Tensor& self : with_other_strides(dense)) {
          const auto whole = apply(aten<"_fft_r2c.default">, {self, dims, 0, false});
          ASSERT_NO_FATAL_FAILURE(expect_numbers(*whole, expected, room * count));
          const Tensor half = *apply(aten<"_fft_r2c.default">, {self, dims, 0, true});
          // The second spectrum is longer than is read.
          for (const Tensor& spectra : {half, *whole})
            for (const Tensor& each : with_other_strides(spectra))
              ASSERT_NO_FATAL_FAILURE(expect_numbers(
                  *apply(aten<"_fft_c2r.default">, {each, dims, 2, dense.size(dims.back())}),
                  numbers, room));
        }
      }
    }
}

}  // namespace
}  // namespace pt2::ops
