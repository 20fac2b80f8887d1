#include <Eigen/Eigenvalues>
#include <algorithm>
#include <limits>

#include "ops/linear/dense/eigen.h"

namespace pt2::ops {

namespace {

constexpr int64_t kMostRows = 25;  // LAPACK's SMLSIZ

// True if squares of elements neither overflow nor underflow; `largest` is the largest element's
// absolute value.
bool is_moderate(double largest) { return largest == 0 || (largest > 1e-140 && largest < 1e140); }

// Factors a finite matrix, of which it reads the lower triangle. Squares of the elements divided by
// `scale` must not overflow or underflow. Without `vectors`, the matrix holds no result.
template <class T>
bool factor_large_hermitian(MatrixView<T> a, double* values, double scale, bool vectors,
                            const Precision& precision) {
  auto matrix = map(a);
  // Divides real and imaginary parts separately: Eigen would divide by a complex number.
  std::for_each(a.data, a.data + matrix.size(), [scale](T& element) { element /= scale; });
  const Eigen::Tridiagonalization<Dense<T>> reduced(matrix);
  const Column<double> diagonal = reduced.diagonal(), beside = reduced.subDiagonal();
  TwoDiagonals t{{diagonal.begin(), diagonal.end()}, {beside.begin(), beside.end()}};
  t.beside.push_back(0);
  if (vectors)
    matrix = reduced.matrixQ();
  else
    a.rows = 0;
  if (!diagonalize_tridiagonal(t, a, precision)) return false;
  std::ranges::transform(t.diagonal, values, [scale](double value) { return value * scale; });
  return true;
}

}  // namespace

template <class T>
void factor_hermitian(MatrixView<T> a, double* values, bool upper, bool vectors,
                      const Precision& precision) {
  auto matrix = map(a);
  // LAPACK ignores imaginary parts of the diagonal.
  for (int64_t i = 0; i < a.rows; ++i) matrix(i, i) = std::real(matrix(i, i));
  const Dense<T> triangle = upper ? Dense<T>(matrix.template triangularView<Eigen::Upper>())
                                  : Dense<T>(matrix.template triangularView<Eigen::Lower>());
  const double largest = triangle.cwiseAbs().maxCoeff();
  bool solved = triangle.allFinite();
  if (solved && vectors && a.rows <= kMostRows && is_moderate(largest)) {
    solved = factor_small_hermitian(a, values, upper, precision);
  } else if (solved) {
    if (upper) matrix.adjointInPlace();
    solved = factor_large_hermitian(a, values, largest > 0 ? largest : 1, vectors, precision);
  }
  if (!solved) {
    std::fill_n(values, a.rows, std::numeric_limits<double>::quiet_NaN());
    matrix.setConstant(std::numeric_limits<double>::quiet_NaN());
  }
}

template void factor_hermitian(MatrixView<double>, double*, bool, bool, const Precision&);
template void factor_hermitian(MatrixView<Complex>, double*, bool, bool, const Precision&);

}  // namespace pt2::ops
