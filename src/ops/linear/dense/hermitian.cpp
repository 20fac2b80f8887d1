#include <Eigen/Eigenvalues>
#include <limits>

#include "ops/linear/dense/eigen.h"

namespace pt2::ops {

template <class T>
void factor_hermitian(MatrixView<T> a, double* values, bool upper, bool vectors) {
  auto matrix = map(a);
  // The solver reads the lower triangle.
  if (upper) matrix.adjointInPlace();
  Eigen::SelfAdjointEigenSolver<Dense<T>> solver;
  Eigen::Map<Column<double>> numbers(values, a.rows);
  const auto lower = matrix.template triangularView<Eigen::Lower>();
  bool solved = Dense<T>(lower).allFinite();
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

template void factor_hermitian(MatrixView<double>, double*, bool, bool);
template void factor_hermitian(MatrixView<Complex>, double*, bool, bool);

}  // namespace pt2::ops
