// Factorisations and Fourier transforms that recorded calls do not cover: empty matrices, matrices
// of low rank, and lengths of every kind.
#include "ops/linear/dense/dense.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "ops/compose.h"
#include "ops/signal/dft.h"

namespace pt2::ops {
namespace {

// kHuge * kHuge is 16 modulo 2^64.
constexpr int64_t kHuge = (int64_t{1} << 61) + 4;

TEST(EmptyMatrices, BasesTooLargeAreErrors) {
  const Value wide(Tensor::zeros(Dtype::float32, {0, kHuge}));
  const Value tall(Tensor::zeros(Dtype::float32, {kHuge, 0}));
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
constexpr int64_t kLengths[] = {1,  2,  3,  4,   5,   6,   7,   12,  16,   31,   37,
                                64, 77, 96, 121, 243, 500, 529, 720, 1009, 4096, 8192};

// Transforms `count` lines, which are interleaved or stored one after another.
template <class T>
void compare_with_definition(int64_t n, bool forward, int64_t count, bool side_by_side,
                             double tolerance) {
  std::vector<std::complex<T>> x(static_cast<size_t>(n * count));
  const int64_t stride = side_by_side ? count : 1, distance = side_by_side ? 1 : n;
  for (int64_t j = 0; j < n; ++j)
    for (int64_t l = 0; l < count; ++l)
      x[static_cast<size_t>(j * stride + l * distance)] = std::complex<T>(number(j));
  DiscreteFourier<T>(n, forward).transform({x.data(), stride, distance}, count, 1);
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
  RealFourier<T>(n, false).from_spectra(spectra.data(), count, back.data(),
                                        1 / static_cast<double>(n));
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

}  // namespace
}  // namespace pt2::ops
