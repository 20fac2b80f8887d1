// Factorisations of one dense matrix, most by Eigen, with LAPACK's conventions. Only these units
// include Eigen, which takes long to compile. T is double or Complex; matrices are not empty unless
// stated.
#ifndef PT2_OPS_LINEAR_DENSE_DENSE_H
#define PT2_OPS_LINEAR_DENSE_DENSE_H

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "ops/convert.h"

namespace pt2::ops {

// Column-major.
template <class T>
struct MatrixView {
  T* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;

  T& at(int64_t i, int64_t j) const { return data[j * rows + i]; }
};

// P A = L U, both in `a` (getrf). `pivots` are the exchanged rows, counted from 1, as many as the
// smaller side. Returns the position of the first zero on U's diagonal, 0 when there is none.
template <class T>
int64_t factor_lu(MatrixView<T> a, int64_t* pivots);
// Solves A X = B; B becomes X. Infinite where the matrix is singular.
template <class T>
void solve_lu(MatrixView<T> lu, const int64_t* pivots, MatrixView<T> b);
// Solves A X = B for a triangular A; B becomes X. Reads only A's triangle, without the diagonal
// when `unit`. B may be empty.
template <class T>
void solve_triangular(MatrixView<T> a, MatrixView<T> b, bool upper, bool unit);
// out = A B.
template <class T>
void multiply(MatrixView<T> a, MatrixView<T> b, MatrixView<T> out);

// The lower triangle of `a` becomes L with A = L L^H (potrf), the rest zeros. Returns the order of
// the first minor that is not positive, or 0; columns from there on are zeros.
template <class T>
int64_t factor_cholesky(MatrixView<T> a);

// A = Q R, with Q as a product of reflections 1 - tau v v^H: v is stored below the diagonal of `a`,
// without its leading 1, and R on and above the diagonal (geqrf). May be empty.
template <class T>
void factor_reflections(MatrixView<T> a, T* tau);
// C becomes Q C, or C Q from the right, for the first `count` reflections of `a`; optionally with
// the adjoint of Q (unmqr). C has as many rows, or columns, as `a` has rows.
template <class T>
void apply_reflections(MatrixView<T> a, const T* tau, int64_t count, MatrixView<T> c, bool left,
                       bool adjoint);

// A = U diag(values) V^H, values in descending order. Square U and V^H are computed in full; those
// without data are not computed. NaN where A is not finite.
void factor_svd(MatrixView<double> a, double* values, MatrixView<double> u, MatrixView<double> vh);
void factor_svd(MatrixView<Complex> a, double* values, MatrixView<Complex> u,
                MatrixView<Complex> vh);

// What LAPACK takes for zero: for float32 as for float64 it decides when an iteration ends, and
// with it the signs of vectors.
struct Precision {
  double epsilon = 0;
  double least = 0;

  template <class F>
  static constexpr Precision of() {
    return {std::numeric_limits<F>::epsilon() / 2, std::numeric_limits<F>::min()};
  }
};

// A = V diag(values) V^H of a Hermitian matrix, values in ascending order. Reads only one triangle
// of `a`, the lower or the upper; `a` becomes V when asked for. NaN where A is not finite.
template <class T>
void factor_hermitian(MatrixView<T> a, double* values, bool upper, bool vectors,
                      const Precision& precision);
// The same for a finite matrix without huge or tiny numbers, with LAPACK's signs where that does
// not divide and conquer: up to 25 rows. False where the iteration does not end.
template <class T>
bool factor_small_hermitian(MatrixView<T> a, double* values, bool upper,
                            const Precision& precision);

// A real symmetric matrix with nothing but its diagonal and the numbers beside it.
struct Tridiagonal {
  std::vector<double> diagonal;
  std::vector<double> beside;  // as many; the last one is not used

  double& beside_of(int64_t i, int64_t j) { return beside[static_cast<size_t>(std::min(i, j))]; }
  double& at(int64_t i) { return diagonal[static_cast<size_t>(i)]; }
};
// t = W diag(values) W^T: t.diagonal becomes the values, in ascending order, and `vectors` V
// becomes V W (steqr); it may be without rows. False where the iteration does not end.
template <class T>
bool diagonalize(Tridiagonal& t, MatrixView<T> vectors, const Precision& precision);

}  // namespace pt2::ops

#endif  // PT2_OPS_LINEAR_DENSE_DENSE_H
