#include <Eigen/Eigenvalues>
#include <limits>

#include "ops/linear/dense/eigen.h"

namespace pt2::ops {

namespace {

constexpr int64_t kMostRows = 25;  // LAPACK's SMLSIZ

// Whether squares of the elements neither overflow nor vanish.
template <class T>
bool is_moderate(const Dense<T>& triangle) {
  const double largest = triangle.cwiseAbs().maxCoeff();
  return largest == 0 || (largest > 1e-140 && largest < 1e140);
}

}  // namespace

template <class T>
void factor_hermitian(MatrixView<T> a, double* values, bool upper, bool vectors,
                      const Precision& precision) {
  auto matrix = map(a);
  const Dense<T> triangle = upper ? Dense<T>(matrix.template triangularView<Eigen::Upper>())
                                  : Dense<T>(matrix.template triangularView<Eigen::Lower>());
  bool solved = triangle.allFinite();
  if (solved && vectors && a.rows <= kMostRows && is_moderate(triangle)) {
    if (factor_small_hermitian(a, values, upper, precision)) return;
    solved = false;
  }
  Eigen::SelfAdjointEigenSolver<Dense<T>> solver;
  Eigen::Map<Column<double>> numbers(values, a.rows);
  // The solver reads the lower triangle.
  if (upper) matrix.adjointInPlace();
  if (solved)
    solved = solver.compute(matrix, vectors ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly)
                 .info() == Eigen::Success;
  if (solved) {
    numbers = solver.eigenvalues();
    if (vectors) matrix = solver.eigenvectors();
  } else {
    numbers.setConstant(std::numeric_limits<double>::quiet_NaN());
    matrix.setConstant(std::numeric_limits<double>::quiet_NaN());
  }
}

template void factor_hermitian(MatrixView<double>, double*, bool, bool, const Precision&);
template void factor_hermitian(MatrixView<Complex>, double*, bool, bool, const Precision&);

}  // namespace pt2::ops
