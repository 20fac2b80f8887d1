// Factorisations of one dense matrix, most of them by Eigen, with LAPACK's conventions. Only these
// source files include Eigen, which takes long to compile. T is double or Complex. Matrices are not
// empty unless stated.
#ifndef PT2_OPS_LINEAR_DENSE_DENSE_H
#define PT2_OPS_LINEAR_DENSE_DENSE_H

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "ops/convert.h"

namespace pt2::ops {

// A column-major matrix.
template <class T>
struct MatrixView {
  T* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;

  T& at(int64_t i, int64_t j) const { return data[j * rows + i]; }
};

// P A = L U, both factors in `a` (getrf). `pivots` are the exchanged rows, counted from 1; there
// are as many as the smaller side has. Returns the position of the first zero on U's diagonal, 0 if
// there is none.
template <class T>
int64_t factor_lu(MatrixView<T> a, int64_t* pivots);
// Solves A X = B; B becomes X. X is infinite if the matrix is singular.
template <class T>
void solve_lu(MatrixView<T> lu, const int64_t* pivots, MatrixView<T> b);
// Solves A X = B for a triangular A; B becomes X. Reads only A's triangle, without the diagonal if
// `unit`. B may be empty.
template <class T>
void solve_triangular(MatrixView<T> a, MatrixView<T> b, bool upper, bool unit);
// out = A B.
template <class T>
void multiply(MatrixView<T> a, MatrixView<T> b, MatrixView<T> out);

// The lower triangle of `a` becomes L with A = L L^H (potrf); the rest becomes zeros. Returns the
// order of the first leading minor that is not positive, or 0; columns from there on are zeros.
template <class T>
int64_t factor_cholesky(MatrixView<T> a);

// A = Q R, with Q as a product of reflections 1 - tau v v^H (geqrf). v is stored below the diagonal
// of `a`, without its leading 1; R is stored on and above the diagonal. `a` may be empty.
template <class T>
void factor_reflections(MatrixView<T> a, T* tau);
// C becomes Q C, or C Q if not `left`, with Q from the first `count` reflections of `a`; uses the
// adjoint of Q if `adjoint` (unmqr). C has as many rows (columns if not `left`) as `a` has rows.
template <class T>
void apply_reflections(MatrixView<T> a, const T* tau, int64_t count, MatrixView<T> c, bool left,
                       bool adjoint);

// The thresholds below which LAPACK treats numbers as zero, for float32 or float64. They decide
// when an iteration ends, and thereby the signs of vectors.
struct Precision {
  double epsilon = 0;
  double least = 0;

  template <class F>
  static constexpr Precision of() {
    return {std::numeric_limits<F>::epsilon() / 2, std::numeric_limits<F>::min()};
  }
};

// A = U diag(values) V^H, values in descending order. If U and V^H are square, they are computed in
// full; if they have no data, they are not computed. The vectors have LAPACK's signs where LAPACK
// does not divide and conquer: up to 25 rows or columns. NaN if A is not finite.
template <class T>
void factor_svd(MatrixView<T> a, double* values, MatrixView<T> u, MatrixView<T> vh,
                const Precision& precision);

// A = Z T Z^T of a finite matrix (hseqr): `a` becomes T, block triangular. A block of two rows has
// equal diagonal elements and, beside them, elements of different signs. `z`, the identity before,
// becomes Z. If it has no data, only the blocks on the diagonal of T are computed. False if the
// iteration does not end.
bool factor_real_schur(MatrixView<double> a, MatrixView<double> z, const Precision& precision);

// A = V diag(values) V^H of a Hermitian matrix, values in ascending order. Reads only the upper or
// the lower triangle of `a`. If `vectors`, `a` becomes V. NaN if A is not finite.
template <class T>
void factor_hermitian(MatrixView<T> a, double* values, bool upper, bool vectors,
                      const Precision& precision);
// The same for a finite matrix without huge or tiny numbers. The vectors have LAPACK's signs where
// LAPACK does not divide and conquer: up to 25 rows. False if the iteration does not end.
template <class T>
bool factor_small_hermitian(MatrixView<T> a, double* values, bool upper,
                            const Precision& precision);

// A real matrix that is symmetric and tridiagonal, or upper bidiagonal: its diagonal and the
// elements next to the diagonal.
struct TwoDiagonals {
  std::vector<double> diagonal;
  std::vector<double> beside;  // as many as in `diagonal`; the last one is not used

  double& beside_of(int64_t i, int64_t j) { return beside[static_cast<size_t>(std::min(i, j))]; }
  double& at(int64_t i) { return diagonal[static_cast<size_t>(i)]; }
};
// Diagonalizes a tridiagonal t = W diag(values) W^T (steqr). t.diagonal becomes the values, in
// ascending order; `vectors` V becomes V W. `vectors` may have no rows. False if the iteration does
// not end.
template <class T>
bool diagonalize_tridiagonal(TwoDiagonals& t, MatrixView<T> vectors, const Precision& precision);
// Diagonalizes a bidiagonal b = W diag(values) Z^T (bdsqr). b.diagonal becomes the values, in
// descending order; `u` U becomes U W, `v` V becomes V Z. False if the iteration does not end.
bool diagonalize_bidiagonal(TwoDiagonals& b, MatrixView<double> u, MatrixView<double> v,
                            const Precision& precision);

}  // namespace pt2::ops

#endif  // PT2_OPS_LINEAR_DENSE_DENSE_H
