#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/linear/dense/eigen.h"

namespace pt2::ops {

namespace {

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
  if (!svd.computeU()) return std::fabs(a.norm() - s.norm()) <= tolerance * a.norm();
  const Column<double> z = probe(s.size());
  const double rest = (a * (svd.matrixV().leftCols(s.size()) * z) -
                       svd.matrixU().leftCols(s.size()) * s.cwiseProduct(z))
                          .norm();
  return rest <= tolerance * s.norm() && disorder(svd.matrixU()) <= tolerance &&
         disorder(svd.matrixV()) <= tolerance;
}

}  // namespace

void factor_svd(MatrixView<double> a, double* values, MatrixView<double> u, MatrixView<double> vh) {
  const auto matrix = map(a);
  Eigen::Map<Column<double>> lengths(values, std::min(a.rows, a.columns));
  if (!matrix.allFinite()) {
    lengths.setConstant(std::numeric_limits<double>::quiet_NaN());
    map(u).setConstant(std::numeric_limits<double>::quiet_NaN());
    map(vh).setConstant(std::numeric_limits<double>::quiet_NaN());
    return;
  }
  unsigned parts = 0;
  if (u.data != nullptr)
    parts = (u.rows == u.columns ? Eigen::ComputeFullU : Eigen::ComputeThinU) |
            (vh.rows == vh.columns ? Eigen::ComputeFullV : Eigen::ComputeThinV);
  // Scales first: squares of very large or very small numbers would overflow or underflow.
  const double largest = matrix.cwiseAbs().maxCoeff();
  const double scale = largest > 0 ? largest : 1;
  const Dense<double> scaled = matrix / scale;
  const auto store = [&](const auto& svd) {
    lengths = svd.singularValues() * scale;
    if (parts == 0) return;
    map(u) = svd.matrixU();
    map(vh) = svd.matrixV().transpose();
  };
  const Eigen::BDCSVD<Dense<double>> fast(scaled, parts);
  if (fast.info() == Eigen::Success && holds(scaled, fast))
    store(fast);
  else
    store(Eigen::JacobiSVD<Dense<double>>(scaled, parts));
}

}  // namespace pt2::ops
