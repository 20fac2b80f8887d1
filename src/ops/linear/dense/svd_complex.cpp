#include <Eigen/Householder>
#include <algorithm>
#include <limits>

#include "ops/linear/dense/eigen.h"

namespace pt2::ops {
namespace {

// Reflections that reduce a matrix with at least as many rows as columns to a real bidiagonal one,
// `b` (LAPACK's gebrd). Reflections from the left are stored below the diagonal of `left`, those
// from the right in the columns of `right`, below its first subdiagonal.
struct Bidiagonal {
  Dense<Complex> left;
  Dense<Complex> right;
  Column<Complex> left_tau;
  Column<Complex> right_tau;
  Dense<double> b;
};
Bidiagonal make_bidiagonal(Dense<Complex> a) {
  const Eigen::Index n = a.cols();
  Bidiagonal out{{},
                 Dense<Complex>::Zero(n, n),
                 Column<Complex>(n),
                 Column<Complex>::Zero(n),
                 Dense<double>::Zero(n, n)};
  Column<Complex> work(std::max(a.rows(), n));
  Complex tau;
  for (Eigen::Index k = 0; k < n; ++k) {
    const Eigen::Index below = a.rows() - k;
    const Eigen::Index behind = n - k - 1;
    a.col(k).tail(below).makeHouseholderInPlace(tau, out.b(k, k));
    out.left_tau(k) = std::conj(tau);
    a.bottomRightCorner(below, behind)
        .applyHouseholderOnTheLeft(a.col(k).tail(below - 1), tau, work.data());
    if (behind == 0) break;
    auto row = out.right.col(k).tail(behind);
    row = a.row(k).tail(behind).adjoint();
    row.makeHouseholderInPlace(tau, out.b(k, k + 1));
    out.right_tau(k) = std::conj(tau);
    a.bottomRightCorner(below - 1, behind)
        .applyHouseholderOnTheRight(row.tail(behind - 1), std::conj(tau), work.data());
  }
  out.left = std::move(a);
  return out;
}

template <class T>
MatrixView<T> view(Dense<T>& a) {
  return {a.data(), a.rows(), a.cols()};
}

// For a matrix with at least as many rows as columns. Empty `u` and `v` are not computed.
void factor_tall(Bidiagonal reduced, double* values, Dense<Complex>& u, Dense<Complex>& v) {
  const Eigen::Index n = reduced.b.cols();
  if (u.size() == 0) return factor_svd(view(reduced.b), values, {}, {});
  Dense<double> inner_u(n, n);
  Dense<double> inner_vt(n, n);
  factor_svd(view(reduced.b), values, view(inner_u), view(inner_vt));
  u.setIdentity();
  u.topLeftCorner(n, n) = inner_u.cast<Complex>();
  v = inner_vt.transpose().cast<Complex>();
  apply_reflections<Complex>(view(reduced.left), reduced.left_tau.data(), n, view(u), true, false);
  if (n < 2) return;
  // Reflections from the right do not change the first row.
  Dense<Complex> rest = v.bottomRows(n - 1);
  Dense<Complex> vectors = reduced.right.block(1, 0, n - 1, n - 1);
  apply_reflections<Complex>(view(vectors), reduced.right_tau.data(), n - 1, view(rest), true,
                             false);
  v.bottomRows(n - 1) = rest;
}

}  // namespace

void factor_svd(MatrixView<Complex> a, double* values, MatrixView<Complex> u,
                MatrixView<Complex> vh) {
  const auto matrix = map(a);
  if (!matrix.allFinite()) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    std::fill_n(values, std::min(a.rows, a.columns), kNan);
    map(u).setConstant(kNan);
    map(vh).setConstant(kNan);
    return;
  }
  // Scales first: squares of very large or very small numbers would overflow or underflow.
  const double largest = matrix.cwiseAbs().maxCoeff();
  const double scale = largest > 0 ? largest : 1;
  const bool tall = a.rows >= a.columns;
  const int64_t count = std::min(a.rows, a.columns);
  Dense<Complex> left(tall ? u.rows : vh.columns, tall ? u.columns : vh.rows);
  Dense<Complex> right(count, count);
  const Dense<Complex> scaled = matrix / scale;
  factor_tall(make_bidiagonal(tall ? scaled : Dense<Complex>(scaled.adjoint())), values, left,
              right);
  Eigen::Map<Column<double>>(values, count) *= scale;
  if (u.data == nullptr) return;
  map(u) = tall ? left : right;
  if (tall)
    map(vh) = right.adjoint();
  else
    map(vh) = left.adjoint();
}

}  // namespace pt2::ops
