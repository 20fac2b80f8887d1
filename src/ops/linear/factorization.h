// Factorisations of one dense matrix, as LAPACK makes them; everything in complex double.
#ifndef PT2_OPS_LINEAR_FACTORIZATION_H
#define PT2_OPS_LINEAR_FACTORIZATION_H

#include <cstdint>
#include <vector>

#include "ops/convert.h"

namespace pt2::ops {

// Row-major.
struct Matrix {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<Complex> elements;

  Matrix(int64_t row_count, int64_t column_count)
      : rows(row_count),
        columns(column_count),
        elements(static_cast<size_t>(row_count * column_count)) {}
  Complex& at(int64_t i, int64_t j) { return elements[static_cast<size_t>(i * columns + j)]; }
  const Complex& at(int64_t i, int64_t j) const {
    return elements[static_cast<size_t>(i * columns + j)];
  }
  static Matrix identity(int64_t size);
  Matrix transposed() const;
  Matrix adjoint() const;
};

// P A = L U, both in one (getrf). `pivots` are the rows exchanged, from 1;
// `info` is the number of the first zero on U's diagonal, 0 when there is none.
struct LuFactors {
  Matrix factors;
  std::vector<int64_t> pivots;
  int64_t info = 0;
};
LuFactors factor_lu(Matrix a);
// X with A X = B. Infinite where the matrix is singular.
Matrix solve_lu(const LuFactors& lu, Matrix b);
Complex determinant_of(const LuFactors& lu);

// L with A = L L^H (potrf); `info` is the order of the first minor that is not positive.
struct CholeskyFactor {
  Matrix factor;
  int64_t info = 0;
};
CholeskyFactor factor_cholesky(const Matrix& a);

// A = Q R, with Q as the product of reflections 1 - tau v v^H: v stands below the diagonal of `a`,
// behind a 1 that is left out, and R on the diagonal and above (geqrf).
struct Reflections {
  Matrix a;
  std::vector<Complex> tau;
};
Reflections factor_reflections(Matrix a);
// Q C or, from the right, C Q; with the adjoint of Q when asked for (unmqr). C has as many rows, or
// columns, as `a` has rows.
Matrix apply_reflections(const Reflections& q, Matrix c, bool left, bool adjoint);

// A = Q R by reflections, Q whole and R of A's shape (geqrf, orgqr).
struct QrFactors {
  Matrix q;
  Matrix r;
};
QrFactors factor_qr(Matrix a);

// A = U S V^H with singular values from the largest to the smallest; U has as many columns as there
// are values, V as well.
struct SvdFactors {
  Matrix u;
  std::vector<double> values;
  Matrix v;
};
SvdFactors factor_svd(const Matrix& a);

// A = V diag(values) V^H of a Hermitian matrix, values ascending.
struct EigenFactors {
  std::vector<double> values;
  Matrix vectors;
};
EigenFactors factor_hermitian(Matrix a);

// A V = V diag(values), any square matrix (geev): columns of length 1 whose largest element is
// real. The values come in the order in which they are found.
struct GeneralEigenFactors {
  std::vector<Complex> values;
  Matrix vectors;
};
GeneralEigenFactors factor_general(Matrix a);

// Orthonormal columns appended to those of `a`, which are orthonormal, until there are `columns`.
Matrix complete_basis(const Matrix& a, int64_t columns);

Matrix multiply(const Matrix& a, const Matrix& b);

// Singular values from the largest to the smallest, by rotations of pairs of columns.
std::vector<double> singular_values(Matrix a);

// X with A X = B for a triangular A; only its triangle is read, and no diagonal when `unit`.
Matrix solve_triangular(const Matrix& a, Matrix b, bool upper, bool unit);

}  // namespace pt2::ops

#endif  // PT2_OPS_LINEAR_FACTORIZATION_H
