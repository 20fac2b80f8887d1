#include <Eigen/QR>
#include <algorithm>

#include "ops/linear/dense/eigen.h"

namespace pt2::ops {

template <class T>
void factor_reflections(MatrixView<T> a, T* tau) {
  if (a.rows == 0 || a.columns == 0) return;
  auto matrix = map(a);
  const Eigen::HouseholderQR<Eigen::Ref<Dense<T>>> qr(matrix);
  // The reflections that transform A to R are the adjoints of those that form Q.
  Eigen::Map<Column<T>>(tau, std::min(a.rows, a.columns)) = qr.hCoeffs().conjugate();
}

template <class T>
void apply_reflections(MatrixView<T> a, const T* tau, int64_t count, MatrixView<T> c, bool left,
                       bool adjoint) {
  if (count == 0 || c.rows == 0 || c.columns == 0) return;
  if (!left) {
    Dense<T> turned = map(c).adjoint();
    apply_reflections<T>(a, tau, count, {turned.data(), turned.rows(), turned.cols()}, true,
                         !adjoint);
    map(c) = turned.adjoint();
    return;
  }
  const auto vectors = map(a);
  const Column<T> scales = Eigen::Map<const Column<T>>(tau, count);
  const auto q = Eigen::householderSequence(vectors.leftCols(count), scales);
  auto target = map(c);
  if (adjoint)
    target.applyOnTheLeft(q.adjoint());
  else
    target.applyOnTheLeft(q);
}

#define PT2_INSTANTIATE(T)                             \
  template void factor_reflections(MatrixView<T>, T*); \
  template void apply_reflections(MatrixView<T>, const T*, int64_t, MatrixView<T>, bool, bool);
PT2_INSTANTIATE(double)
PT2_INSTANTIATE(Complex)
#undef PT2_INSTANTIATE

}  // namespace pt2::ops
