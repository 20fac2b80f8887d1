// Factorisations of one dense matrix, as LAPACK makes them, on the library Eigen, which nothing
// else sees: it takes long to compile. T is double or Complex; matrices have elements, unless said.
#ifndef PT2_OPS_LINEAR_DENSE_DENSE_H
#define PT2_OPS_LINEAR_DENSE_DENSE_H

#include <cstdint>

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

// P A = L U, both in `a` (getrf). `pivots` are the rows exchanged, from 1, as many as the smaller
// side. Returns the number of the first zero on U's diagonal, 0 when there is none.
template <class T>
int64_t factor_lu(MatrixView<T> a, int64_t* pivots);
// B becomes X with A X = B. Infinite where the matrix is singular.
template <class T>
void solve_lu(MatrixView<T> lu, const int64_t* pivots, MatrixView<T> b);
// B becomes X with A X = B for a triangular A; only its triangle is read, and no diagonal when
// `unit`. B may be empty.
template <class T>
void solve_triangular(MatrixView<T> a, MatrixView<T> b, bool upper, bool unit);
// out = A B.
template <class T>
void multiply(MatrixView<T> a, MatrixView<T> b, MatrixView<T> out);

// The lower triangle of `a` becomes L with A = L L^H (potrf), the rest zeros. Returns the order of
// the first minor that is not positive, or 0; columns from there on are zeros.
template <class T>
int64_t factor_cholesky(MatrixView<T> a);

// A = Q R, with Q as the product of reflections 1 - tau v v^H: v stands below the diagonal of `a`,
// behind a 1 that is left out, and R on the diagonal and above (geqrf). May be empty.
template <class T>
void factor_reflections(MatrixView<T> a, T* tau);
// C becomes Q C or, from the right, C Q, for the first `count` reflections of `a`; with the adjoint
// of Q when asked for (unmqr). C has as many rows, or columns, as `a` has rows.
template <class T>
void apply_reflections(MatrixView<T> a, const T* tau, int64_t count, MatrixView<T> c, bool left,
                       bool adjoint);

// A = U diag(values) V^H, values from the largest to the smallest. U and V^H are whole when they
// are square; without data they are not computed. NaN where A is not finite.
void factor_svd(MatrixView<double> a, double* values, MatrixView<double> u, MatrixView<double> vh);
void factor_svd(MatrixView<Complex> a, double* values, MatrixView<Complex> u,
                MatrixView<Complex> vh);

// A = V diag(values) V^H of a Hermitian matrix, values ascending. Only the lower triangle of `a` is
// read, or the upper one; `a` becomes V when asked for. NaN where A is not finite.
template <class T>
void factor_hermitian(MatrixView<T> a, double* values, bool upper, bool vectors);

}  // namespace pt2::ops

#endif  // PT2_OPS_LINEAR_DENSE_DENSE_H
