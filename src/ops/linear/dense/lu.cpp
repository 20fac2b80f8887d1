#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "ops/linear/dense/eigen.h"
#include "ops/linear/gemm.h"
#include "ops/loops.h"

namespace pt2::ops {
namespace {

// The pivot order of LAPACK's izamax: the largest sum of the parts' absolute values, the first of
// equal ones.
double weight(double x) { return std::fabs(x); }
double weight(Complex x) { return std::fabs(x.real()) + std::fabs(x.imag()); }

template <class T>
int64_t factor_panel(Part<T> a, int64_t* pivots) {
  int64_t info = 0;
  for (int64_t k = 0; k < std::min(a.rows(), a.cols()); ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < a.rows(); ++i)
      if (weight(a(i, k)) > weight(a(pivot, k))) pivot = i;
    pivots[k] = pivot + 1;
    if (a(pivot, k) == T(0)) {
      if (info == 0) info = k + 1;
      continue;
    }
    a.row(k).swap(a.row(pivot));
    const int64_t rows = a.rows() - k - 1;
    const int64_t columns = a.cols() - k - 1;
    a.col(k).tail(rows) /= a(k, k);
    a.bottomRightCorner(rows, columns).noalias() -= a.col(k).tail(rows) * a.row(k).tail(columns);
  }
  return info;
}

// Solves A X = B for a triangular A, column by column.
template <class T>
void substitute(MatrixView<T> a, MatrixView<T> b, bool upper, bool unit) {
  const int64_t n = a.rows;
  for (int64_t j = 0; j < b.columns; ++j) {
    T* x = &b.at(0, j);
    for (int64_t step = 0; step < n; ++step) {
      const int64_t k = upper ? n - 1 - step : step;
      const T* column = &a.at(0, k);
      if (!unit) x[k] /= column[k];
      const int64_t end = upper ? k : n;
      for (int64_t i = upper ? 0 : k + 1; i < end; ++i) x[i] -= x[k] * column[i];
    }
  }
}

template <class T>
void exchange_rows(Part<T> a, const int64_t* pivots, int64_t count) {
  for (int64_t j = 0; j < a.cols(); ++j)
    for (int64_t k = 0; k < count; ++k) std::swap(a(k, j), a(pivots[k] - 1, j));
}

// out = a b, or out -= a b. Eigen's product uses the vectors that every processor has, ours those
// of this one.
template <class T>
void set_product(Part<T> out, Part<T> a, Part<T> b, bool subtract) {
  constexpr int64_t kFewProducts = 32 * 32 * 32;
  const int64_t rows = out.rows(), columns = out.cols(), depth = a.cols();
  if (rows * columns * depth < kFewProducts) {
    if (subtract)
      out.noalias() -= a * b;
    else
      out.noalias() = a * b;
    return;
  }
  const MatrixOperand<T> left(a.data(), 1, a.outerStride()), right(b.data(), b.outerStride(), 1);
  if (!subtract)
    return gemm<T>(rows, columns, depth, left, right, out.data(), 1, out.outerStride());
  Scratch<T> product(static_cast<size_t>(rows * columns));
  gemm<T>(rows, columns, depth, left, right, product.data(), 1, rows);
  out -= map(MatrixView<T>{product.data(), rows, columns});
}

// Solves A X = B for a triangular A, half by half: nearly all work is then in matrix products.
template <class T>
void solve_halves(Part<T> a, Part<T> b, bool upper, bool unit) {
  constexpr int64_t kFewRows = 64;
  if (a.rows() <= kFewRows) {
    if (upper && unit)
      a.template triangularView<Eigen::UnitUpper>().solveInPlace(b);
    else if (upper)
      a.template triangularView<Eigen::Upper>().solveInPlace(b);
    else if (unit)
      a.template triangularView<Eigen::UnitLower>().solveInPlace(b);
    else
      a.template triangularView<Eigen::Lower>().solveInPlace(b);
    return;
  }
  const int64_t top = a.rows() / 2, bottom = a.rows() - top;
  const auto solve_top = [&] {
    solve_halves<T>(a.topLeftCorner(top, top), b.topRows(top), upper, unit);
  };
  const auto solve_bottom = [&] {
    solve_halves<T>(a.bottomRightCorner(bottom, bottom), b.bottomRows(bottom), upper, unit);
  };
  if (upper) {
    solve_bottom();
    set_product<T>(b.topRows(top), a.topRightCorner(top, bottom), b.bottomRows(bottom), true);
    solve_top();
  } else {
    solve_top();
    set_product<T>(b.bottomRows(bottom), a.bottomLeftCorner(bottom, top), b.topRows(top), true);
    solve_bottom();
  }
}

// Recursive LU: factors the left half of the columns, updates the right half, then factors the
// right half. Nearly all work is then in matrix products.
template <class T>
int64_t factor_columns(Part<T> a, int64_t* pivots) {
  constexpr int64_t kPanel = 16;
  const int64_t left = std::min(a.rows(), a.cols()) / 2;
  if (left < kPanel / 2) return factor_panel<T>(a, pivots);
  const int64_t right = a.cols() - left;
  const int64_t below = a.rows() - left;
  int64_t info = factor_columns<T>(a.leftCols(left), pivots);
  exchange_rows<T>(a.rightCols(right), pivots, left);
  solve_halves<T>(a.topLeftCorner(left, left), a.topRightCorner(left, right), false, true);
  set_product<T>(a.bottomRightCorner(below, right), a.bottomLeftCorner(below, left),
                 a.topRightCorner(left, right), true);
  const int64_t rest = factor_columns<T>(a.bottomRightCorner(below, right), pivots + left);
  if (info == 0 && rest != 0) info = left + rest;
  const int64_t count = std::min(below, right);
  exchange_rows<T>(a.bottomLeftCorner(below, left), pivots + left, count);
  for (int64_t k = left; k < left + count; ++k) pivots[k] += left;
  return info;
}

}  // namespace

template <class T>
int64_t factor_lu(MatrixView<T> a, int64_t* pivots) {
  return factor_columns<T>(map(a), pivots);
}

template <class T>
void solve_triangular(MatrixView<T> a, MatrixView<T> b, bool upper, bool unit) {
  if (b.rows == 0 || b.columns == 0) return;
  // Eigen's blocks cost more than they save here.
  constexpr int64_t kFewRows = 16, kFewColumns = 2;
  if (a.rows <= kFewRows || b.columns <= kFewColumns) return substitute(a, b, upper, unit);
  solve_halves<T>(map(a), map(b), upper, unit);
}

template <class T>
void solve_lu(MatrixView<T> lu, const int64_t* pivots, MatrixView<T> b) {
  exchange_rows<T>(map(b), pivots, lu.rows);
  solve_triangular(lu, b, false, true);
  solve_triangular(lu, b, true, false);
}

template <class T>
void multiply(MatrixView<T> a, MatrixView<T> b, MatrixView<T> out) {
  set_product<T>(map(out), map(a), map(b), false);
}

template <class T>
int64_t factor_cholesky(MatrixView<T> a) {
  constexpr int64_t kPanel = 32;
  auto l = map(a);
  const int64_t n = a.rows;
  l.template triangularView<Eigen::StrictlyUpper>().setZero();
  for (int64_t begin = 0; begin < n; begin += kPanel) {
    const int64_t width = std::min(kPanel, n - begin);
    auto panel = l.block(begin, begin, n - begin, width);
    panel.noalias() -=
        l.block(begin, 0, n - begin, begin) * l.block(begin, 0, width, begin).adjoint();
    // The product above has overwritten elements above the diagonal.
    panel.topRows(width).template triangularView<Eigen::StrictlyUpper>().setZero();
    for (int64_t j = 0; j < width; ++j) {
      const int64_t below = n - begin - j - 1;
      const double diagonal = std::real(panel(j, j)) - panel.row(j).head(j).squaredNorm();
      panel(j, j) = diagonal;
      // As in LAPACK: only the diagonal element of this column is computed, and nothing of later
      // columns.
      if (!(diagonal > 0)) return begin + j + 1;
      auto column = panel.col(j).tail(below);
      for (int64_t k = 0; k < j; ++k)
        column -= panel.col(k).tail(below) * Eigen::numext::conj(panel(j, k));
      column /= std::sqrt(diagonal);
      panel(j, j) = std::sqrt(diagonal);
    }
  }
  return 0;
}

#define PT2_INSTANTIATE(T)                                                  \
  template int64_t factor_lu(MatrixView<T>, int64_t*);                      \
  template void solve_lu(MatrixView<T>, const int64_t*, MatrixView<T>);     \
  template void solve_triangular(MatrixView<T>, MatrixView<T>, bool, bool); \
  template void multiply(MatrixView<T>, MatrixView<T>, MatrixView<T>);      \
  template int64_t factor_cholesky(MatrixView<T>);
PT2_INSTANTIATE(double)
PT2_INSTANTIATE(Complex)
#undef PT2_INSTANTIATE

}  // namespace pt2::ops
