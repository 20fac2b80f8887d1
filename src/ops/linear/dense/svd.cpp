#include <Eigen/Householder>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "ops/linear/dense/eigen.h"
#include "ops/linear/dense/rotation.h"

namespace pt2::ops {

namespace {

constexpr Eigen::Index kMostColumns = 25;  // LAPACK's SMLSIZ

template <class T>
MatrixView<T> view(Dense<T>& a) {
  return {a.data(), a.rows(), a.cols()};
}

// --- Large real matrices, by Eigen

// A probe vector whose elements have absolute value 1 and irregular signs.
Column<double> probe(Eigen::Index count) {
  Column<double> out(count);
  for (Eigen::Index i = 0; i < count; ++i) out(i) = std::fmod(0.618 * double(i), 1) < 0.5 ? 1 : -1;
  return out;
}
double disorder(const Dense<double>& basis) {
  const Column<double> z = probe(basis.cols());
  return (basis.transpose() * (basis * z) - z).norm() / z.norm();
}
// Checks with one probe vector that the columns are orthonormal and that A V = U S. Eigen 3.4 loses
// orthonormality for some matrices of low rank.
template <class Svd>
bool holds(const Dense<double>& a, const Svd& svd) {
  const auto& s = svd.singularValues();
  const double tolerance = 1e-14 * std::sqrt(double(std::max(a.rows(), a.cols())));
  const Column<double> z = probe(s.size());
  const double rest = (a * (svd.matrixV().leftCols(s.size()) * z) -
                       svd.matrixU().leftCols(s.size()) * s.cwiseProduct(z))
                          .norm();
  return rest <= tolerance * s.norm() && disorder(svd.matrixU()) <= tolerance &&
         disorder(svd.matrixV()) <= tolerance;
}
// The vectors are computed in full where `u` or `v` is square.
void factor_by_eigen(const Dense<double>& a, double* values, Dense<double>& u, Dense<double>& v) {
  const unsigned parts = (u.rows() == u.cols() ? Eigen::ComputeFullU : Eigen::ComputeThinU) |
                         (v.rows() == v.cols() ? Eigen::ComputeFullV : Eigen::ComputeThinV);
  const auto store = [&](const auto& svd) {
    std::ranges::copy(svd.singularValues(), values);
    u = svd.matrixU();
    v = svd.matrixV();
  };
  const Eigen::BDCSVD<Dense<double>> fast(a, parts);
  if (fast.info() == Eigen::Success && holds(a, fast))
    store(fast);
  else
    store(Eigen::JacobiSVD<Dense<double>>(a, parts));
}

// --- Complex and small matrices, by reduction to a real bidiagonal one

// Reflections that reduce a matrix with at least as many rows as columns to a real bidiagonal one,
// `b` (LAPACK's gebrd). Reflections from the left are stored below the diagonal of `left`, those
// from the right in the columns of `right`, below its first subdiagonal.
template <class T>
struct Reduced {
  Dense<T> left;
  Dense<T> right;
  Column<T> left_tau;
  Column<T> right_tau;
  TwoDiagonals b;
};
template <class T>
Reduced<T> make_bidiagonal(Dense<T> a) {
  const Eigen::Index n = a.cols();
  const auto size = static_cast<size_t>(n);
  Reduced<T> out{{},
                 Dense<T>::Zero(n, n),
                 Column<T>(n),
                 Column<T>::Zero(n),
                 {std::vector<double>(size), std::vector<double>(size)}};
  Column<T> work(std::max(a.rows(), n));
  T tau;
  for (Eigen::Index k = 0; k < n; ++k) {
    const Eigen::Index below = a.rows() - k;
    const Eigen::Index behind = n - k - 1;
    a.col(k).tail(below).makeHouseholderInPlace(tau, out.b.at(k));
    out.left_tau(k) = Eigen::numext::conj(tau);
    a.bottomRightCorner(below, behind)
        .applyHouseholderOnTheLeft(a.col(k).tail(below - 1), tau, work.data());
    if (behind == 0) break;
    auto row = out.right.col(k).tail(behind);
    row = a.row(k).tail(behind).adjoint();
    row.makeHouseholderInPlace(tau, out.b.beside_of(k, k + 1));
    out.right_tau(k) = Eigen::numext::conj(tau);
    a.bottomRightCorner(below - 1, behind)
        .applyHouseholderOnTheRight(row.tail(behind - 1), Eigen::numext::conj(tau), work.data());
  }
  out.left = std::move(a);
  return out;
}

// Rotations of adjacent rows that make the transpose of `b` upper bidiagonal. `b` becomes that
// matrix.
std::vector<Rotation> turn_transpose(TwoDiagonals& b) {
  std::vector<Rotation> rotations;
  for (int64_t i = 0; i + 1 < std::ssize(b.diagonal); ++i) {
    const Rotation rotation = rotation_with_positive_cosine(b.at(i), b.beside_of(i, i + 1));
    b.at(i) = rotation.length;
    b.beside_of(i, i + 1) = rotation.s * b.at(i + 1);
    b.at(i + 1) *= rotation.c;
    rotations.push_back(rotation);
  }
  return rotations;
}

// b = u diag(values) v^T, or the same for the transpose of b, with LAPACK's signs (bdsdc of at most
// 25 rows). b.diagonal becomes the values.
bool factor_small_bidiagonal(TwoDiagonals& b, bool transposed, Dense<double>& u, Dense<double>& v,
                             const Precision& precision) {
  std::vector<Rotation> rotations;
  if (transposed) rotations = turn_transpose(b);
  u.setIdentity();
  v.setIdentity();
  if (!diagonalize_bidiagonal(b, view(u), view(v), precision)) return false;
  for (Eigen::Index i = std::ssize(rotations); i-- > 0;) {
    const Rotation& rotation = rotations[static_cast<size_t>(i)];
    const Dense<double> upper = u.row(i), lower = u.row(i + 1);
    u.row(i) = rotation.c * upper - rotation.s * lower;
    u.row(i + 1) = rotation.s * upper + rotation.c * lower;
  }
  return true;
}
void factor_large_bidiagonal(TwoDiagonals& b, Dense<double>& u, Dense<double>& v) {
  const Eigen::Index n = std::ssize(b.diagonal);
  Dense<double> matrix = Dense<double>::Zero(n, n);
  for (Eigen::Index i = 0; i < n; ++i) matrix(i, i) = b.at(i);
  for (Eigen::Index i = 0; i + 1 < n; ++i) matrix(i, i + 1) = b.beside_of(i, i + 1);
  factor_by_eigen(matrix, b.diagonal.data(), u, v);
}

// The factors of a matrix with at least as many rows as columns: A = u diag(values) v^H. `u` has
// at least as many columns as A, `v` is square; empty ones are not computed. If `adjoint`, LAPACK
// would factor A^H, which decides signs. Returns false if the iteration does not end.
template <class T>
bool factor_reduced(Reduced<T> reduced, bool adjoint, double* values, Dense<T>& u, Dense<T>& v,
                    const Precision& precision) {
  const auto n = static_cast<Eigen::Index>(reduced.b.diagonal.size());
  if (u.size() == 0) {
    const MatrixView<double> none{values, 0, n};
    if (!diagonalize_bidiagonal(reduced.b, none, none, Precision::of<double>())) return false;
    std::ranges::copy(reduced.b.diagonal, values);
    return true;
  }
  Dense<double> inner_u(n, n), inner_v(n, n);
  if (n > kMostColumns)
    factor_large_bidiagonal(reduced.b, inner_u, inner_v);
  else if (adjoint ? !factor_small_bidiagonal(reduced.b, true, inner_v, inner_u, precision)
                   : !factor_small_bidiagonal(reduced.b, false, inner_u, inner_v, precision))
    return false;
  std::ranges::copy(reduced.b.diagonal, values);
  u.setIdentity();
  u.topLeftCorner(n, n) = inner_u.template cast<T>();
  v = inner_v.template cast<T>();
  apply_reflections<T>(view(reduced.left), reduced.left_tau.data(), n, view(u), true, false);
  if (n < 2) return true;
  // Reflections from the right do not change the first row.
  Dense<T> rest = v.bottomRows(n - 1);
  Dense<T> vectors = reduced.right.block(1, 0, n - 1, n - 1);
  apply_reflections<T>(view(vectors), reduced.right_tau.data(), n - 1, view(rest), true, false);
  v.bottomRows(n - 1) = rest;
  return true;
}

// The number of rows from which on MKL's gesdd factors A = Q R first, then R; `adjoint` as above.
// LAPACK's own numbers are 11/6 for real matrices of both forms.
template <class T>
int64_t least_rows_for_qr(int64_t columns, bool adjoint) {
  if constexpr (std::is_same_v<T, Complex>) return columns * 17 / 9;
  return adjoint ? columns * 20 : columns * 3 / 2;
}

// As factor_reduced.
template <class T>
bool factor_tall(const Dense<T>& a, bool adjoint, double* values, Dense<T>& u, Dense<T>& v,
                 const Precision& precision) {
  const Eigen::Index n = a.cols();
  const bool has_vectors = u.size() != 0;
  if constexpr (std::is_same_v<T, double>) {
    if (has_vectors && n > kMostColumns) {
      factor_by_eigen(a, values, u, v);
      return true;
    }
  }
  if (!has_vectors || n > kMostColumns || a.rows() < least_rows_for_qr<T>(n, adjoint))
    return factor_reduced(make_bidiagonal(a), adjoint, values, u, v, precision);
  Dense<T> reflections = a;
  Column<T> tau(n);
  factor_reflections(view(reflections), tau.data());
  const Dense<T> upper = reflections.topRows(n).template triangularView<Eigen::Upper>();
  Dense<T> inner(n, n);
  const bool done =
      adjoint
          ? factor_reduced(make_bidiagonal<T>(upper.adjoint()), false, values, v, inner, precision)
          : factor_reduced(make_bidiagonal(upper), false, values, inner, v, precision);
  u.setIdentity();
  u.topLeftCorner(n, n) = inner;
  apply_reflections<T>(view(reflections), tau.data(), n, view(u), true, false);
  return done;
}

}  // namespace

template <class T>
void factor_svd(MatrixView<T> a, double* values, MatrixView<T> u, MatrixView<T> vh,
                const Precision& precision) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const auto matrix = map(a);
  const int64_t count = std::min(a.rows, a.columns);
  bool done = matrix.allFinite();
  if (done) {
    // Scales first: squares of very large or very small numbers would overflow or underflow. A
    // power of two rounds nothing.
    const double largest = matrix.cwiseAbs().maxCoeff();
    const int exponent = largest > 0 ? std::ilogb(largest) : 0;
    const double scale = std::ldexp(1.0, exponent);
    const bool tall = a.rows >= a.columns;
    Dense<T> left(tall ? u.rows : vh.columns, tall ? u.columns : vh.rows);
    Dense<T> right(left.size() == 0 ? 0 : count, left.size() == 0 ? 0 : count);
    Dense<T> scaled = matrix / scale;
    if (!tall) scaled.adjointInPlace();
    done = factor_tall(scaled, !tall, values, left, right, precision);
    Eigen::Map<Column<double>>(values, count) *= scale;
    if (done && u.data != nullptr) {
      map(u) = tall ? left : right;
      map(vh) = (tall ? right : left).adjoint();
    }
  }
  if (!done) {
    std::fill_n(values, count, kNan);
    map(u).setConstant(kNan);
    map(vh).setConstant(kNan);
  }
}

template void factor_svd(MatrixView<double>, double*, MatrixView<double>, MatrixView<double>,
                         const Precision&);
template void factor_svd(MatrixView<Complex>, double*, MatrixView<Complex>, MatrixView<Complex>,
                         const Precision&);

}  // namespace pt2::ops
