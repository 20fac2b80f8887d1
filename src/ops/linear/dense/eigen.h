// Shared by the source files that use Eigen. No other file may include it.
#ifndef PT2_OPS_LINEAR_DENSE_EIGEN_H
#define PT2_OPS_LINEAR_DENSE_EIGEN_H

#include <Eigen/Core>

#include "ops/linear/dense/dense.h"

namespace pt2::ops {

template <class T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T>
using Column = Eigen::Matrix<T, Eigen::Dynamic, 1>;
// A matrix or a block of a matrix.
template <class T>
using Part = Eigen::Ref<Dense<T>, 0, Eigen::OuterStride<>>;

template <class T>
Eigen::Map<Dense<T>> map(MatrixView<T> a) {
  return {a.data, static_cast<Eigen::Index>(a.rows), static_cast<Eigen::Index>(a.columns)};
}

}  // namespace pt2::ops

#endif  // PT2_OPS_LINEAR_DENSE_EIGEN_H
