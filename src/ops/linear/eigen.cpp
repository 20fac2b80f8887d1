// Eigenvalues of general square matrices, by shifted QR steps on the Hessenberg form. Eigen's own
// solver matches LAPACK's order of eigenvalues less often for matrices of up to five rows.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/linear/matrices.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"

namespace pt2::ops {
namespace {

using View = MatrixView<Complex>;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// a becomes the Hessenberg form H = Q^H A Q, with zeros below the first subdiagonal; `q`
// accumulates Q.
void reduce_to_hessenberg(View a, View q) {
  const int64_t n = a.rows;
  std::vector<Complex> v(static_cast<size_t>(n));
  for (int64_t k = 0; k + 2 < n; ++k) {
    double norm = 0;
    for (int64_t i = k + 1; i < n; ++i) norm += std::norm(a.at(i, k));
    norm = std::sqrt(norm);
    if (norm == 0 || !std::isfinite(norm)) continue;
    const Complex first = a.at(k + 1, k);
    const Complex phase = std::abs(first) == 0 ? Complex(1) : first / std::abs(first);
    double square = 0;
    for (int64_t i = k + 1; i < n; ++i) {
      v[static_cast<size_t>(i)] = a.at(i, k) + (i == k + 1 ? phase * norm : Complex(0));
      square += std::norm(v[static_cast<size_t>(i)]);
    }
    const auto reflect = [&](View matrix, bool rows) {
      for (int64_t line = 0; line < n; ++line) {
        Complex sum = 0;
        for (int64_t i = k + 1; i < n; ++i)
          sum += rows ? std::conj(v[static_cast<size_t>(i)]) * matrix.at(i, line)
                      : matrix.at(line, i) * v[static_cast<size_t>(i)];
        sum *= 2 / square;
        for (int64_t i = k + 1; i < n; ++i) {
          if (rows)
            matrix.at(i, line) -= sum * v[static_cast<size_t>(i)];
          else
            matrix.at(line, i) -= sum * std::conj(v[static_cast<size_t>(i)]);
        }
      }
    };
    reflect(a, true);
    reflect(a, false);
    reflect(q, false);
    for (int64_t i = k + 2; i < n; ++i) a.at(i, k) = 0;
  }
}

// The eigenvalue of the 2 x 2 block ending at row `last` that is nearer to the block's last
// diagonal element.
Complex wilkinson_shift(View h, int64_t last) {
  const Complex a = h.at(last - 1, last - 1);
  const Complex d = h.at(last, last);
  const Complex bc = h.at(last - 1, last) * h.at(last, last - 1);
  const Complex half = (a - d) / 2.0;
  const Complex root = std::sqrt(half * half + bc);
  const Complex near = std::abs(half + root) > std::abs(half - root) ? half + root : half - root;
  return std::abs(near) == 0 ? d : d - bc / near;
}

// One shifted QR step on rows first to last, by rotations of neighbouring rows and columns.
void qr_step(View h, View z, int64_t first, int64_t last, Complex shift) {
  const int64_t n = h.rows;
  struct Rotation {
    double c;
    Complex s;
  };
  std::vector<Rotation> rotations;
  for (int64_t i = first; i <= last; ++i) h.at(i, i) -= shift;
  for (int64_t k = first; k < last; ++k) {
    const Complex x = h.at(k, k);
    const Complex y = h.at(k + 1, k);
    const double length = std::hypot(std::abs(x), std::abs(y));
    Rotation r{1, 0};
    if (length > 0) {
      const Complex phase = std::abs(x) == 0 ? Complex(1) : x / std::abs(x);
      r = {std::abs(x) / length, phase * std::conj(y) / length};
    }
    for (int64_t j = k; j < n; ++j) {
      const Complex upper = h.at(k, j);
      const Complex lower = h.at(k + 1, j);
      h.at(k, j) = r.c * upper + r.s * lower;
      h.at(k + 1, j) = r.c * lower - std::conj(r.s) * upper;
    }
    rotations.push_back(r);
  }
  const auto turn = [](View matrix, int64_t rows, int64_t k, const Rotation& r) {
    for (int64_t i = 0; i < rows; ++i) {
      const Complex left = matrix.at(i, k);
      const Complex right = matrix.at(i, k + 1);
      matrix.at(i, k) = r.c * left + std::conj(r.s) * right;
      matrix.at(i, k + 1) = r.c * right - r.s * left;
    }
  };
  for (int64_t k = first; k < last; ++k) {
    const Rotation& r = rotations[static_cast<size_t>(k - first)];
    turn(h, std::min(k + 2, last + 1), k, r);
    turn(z, n, k, r);
  }
  for (int64_t i = first; i <= last; ++i) h.at(i, i) += shift;
}

// The first row of the unreduced block that ends at row `last`.
int64_t block_start(View h, int64_t last) {
  int64_t first = last;
  for (; first > 0; --first) {
    const double scale = std::abs(h.at(first, first)) + std::abs(h.at(first - 1, first - 1));
    if (std::abs(h.at(first, first - 1)) <= kEpsilon * scale) {
      h.at(first, first - 1) = 0;
      break;
    }
  }
  return first;
}

// Makes h triangular and z unitary with A = z h z^H. False if the iteration does not converge, as
// for matrices with NaN.
bool reduce_to_triangle(View h, View z) {
  constexpr int kMostSteps = 60;
  int steps = 0;
  for (int64_t last = h.rows - 1; last > 0;) {
    const int64_t first = block_start(h, last);
    if (first == last) {
      --last;
      steps = 0;
      continue;
    }
    if (++steps > kMostSteps) return false;
    // An exceptional shift every ten steps breaks cycles.
    const Complex shift = steps % 10 == 0 ? h.at(last, last) + std::abs(h.at(last, last - 1))
                                          : wilkinson_shift(h, last);
    qr_step(h, z, first, last, shift);
  }
  return true;
}

// Sets column k of `x` to a vector v with t v = t(k, k) v, by back substitution from the diagonal
// upwards.
void set_triangle_vectors(View t, View x) {
  const int64_t n = t.rows;
  double largest = 0;
  for (int64_t i = 0; i < n * n; ++i) largest = std::max(largest, std::abs(t.data[i]));
  const double least = std::max(largest * kEpsilon, std::numeric_limits<double>::min());
  for (int64_t k = 0; k < n; ++k) {
    x.at(k, k) = 1;
    for (int64_t i = k - 1; i >= 0; --i) {
      Complex sum = 0;
      for (int64_t j = i + 1; j <= k; ++j) sum += t.at(i, j) * x.at(j, k);
      Complex gap = t.at(k, k) - t.at(i, i);
      if (std::abs(gap) < least) gap = least;
      x.at(i, k) = sum / gap;
    }
  }
}

void normalize_columns(View vectors) {
  for (int64_t j = 0; j < vectors.columns; ++j) {
    double square = 0;
    Complex largest = 0;
    for (int64_t i = 0; i < vectors.rows; ++i) {
      square += std::norm(vectors.at(i, j));
      if (std::abs(vectors.at(i, j)) > std::abs(largest)) largest = vectors.at(i, j);
    }
    if (square == 0 || std::abs(largest) == 0) continue;
    const Complex factor = std::conj(largest) / std::abs(largest) / std::sqrt(square);
    for (int64_t i = 0; i < vectors.rows; ++i) vectors.at(i, j) *= factor;
  }
}

// Eigenvalues of a real matrix come in conjugate pairs. Puts the one with positive imaginary part
// first, as LAPACK does.
void order_pairs(Complex* values, View vectors) {
  for (int64_t i = 0; i + 1 < vectors.rows; ++i) {
    const double tolerance = std::sqrt(kEpsilon) * std::abs(values[i]);
    if (values[i].imag() >= 0 || std::abs(values[i] - std::conj(values[i + 1])) > tolerance)
      continue;
    std::swap(values[i], values[i + 1]);
    for (int64_t row = 0; row < vectors.rows; ++row)
      std::swap(vectors.at(row, i), vectors.at(row, i + 1));
    ++i;
  }
}

// A V = V diag(values) (geev). The columns of V have norm 1, and their largest element is real. The
// values are in the order in which they are found. False if the iteration does not converge.
bool factor_general(View a, Complex* values, View vectors) {
  const auto count = static_cast<size_t>(a.rows * a.rows);
  std::vector<Complex> unitary(count);
  std::vector<Complex> triangular(count);
  const View q{unitary.data(), a.rows, a.rows};
  const View x{triangular.data(), a.rows, a.rows};
  set_identity(q);
  reduce_to_hessenberg(a, q);
  if (!reduce_to_triangle(a, q)) return false;
  for (int64_t i = 0; i < a.rows; ++i) values[i] = a.at(i, i);
  set_triangle_vectors(a, x);
  multiply(q, x, vectors);
  normalize_columns(vectors);
  return true;
}

bool is_finite(const Complex& element) {
  return std::isfinite(element.real()) && std::isfinite(element.imag());
}

Dtype complex_dtype(Dtype dtype) {
  return dtype == Dtype::float32 || dtype == Dtype::complex64 ? Dtype::complex64
                                                              : Dtype::complex128;
}

Result<TensorPair> eig(const Tensor& self) {
  PT2_TRY_VOID(check_square(self, "A"));
  const Dtype dtype = complex_dtype(self.dtype());
  const int64_t n = columns_of(self);
  PT2_TRY(Matrices<Complex> matrices, Matrices<Complex>::copy_of(self));
  constexpr int64_t kWorkOfRotation = 20;
  MemoryAccount::count_loops({self.numel(), rows_of(self), kWorkOfRotation}, 1);
  PT2_TRY(Tensor values, allocate({Dtype::complex128, batch_of(self, {n})}));
  PT2_TRY(Matrices<Complex> vectors, Matrices<Complex>::zeros(batch_of(self), n, n));
  for (int64_t i = 0; i < matrices.count(); ++i) {
    const View matrix = matrices[i];
    Complex* numbers = values.data<Complex>() + i * n;
    if (!std::all_of(matrix.data, matrix.data + n * n, is_finite))
      return operator_error("A: found an element that is not finite, expected finite ones");
    if (!factor_general(matrix, numbers, vectors[i]))
      return operator_error("the eigenvalues of a matrix do not converge");
    if (dtype_category(self.dtype()) != DtypeCategory::complex) order_pairs(numbers, vectors[i]);
  }
  PT2_TRY(Tensor found, copy_as(values, dtype, MemoryFormat::contiguous));
  PT2_TRY(Tensor columns, result_of(vectors.tensor(), dtype));
  return TensorPair(std::move(found), std::move(columns));
}
Result<Tensor> eigvals(const Tensor& self) {
  PT2_TRY(auto parts, eig(self));
  return std::move(std::get<0>(parts));
}

Result<std::array<Meta, 2>> eig_meta(const Tensor& self) {
  PT2_TRY_VOID(check_square(self, "A"));
  const Dtype dtype = complex_dtype(self.dtype());
  const int64_t n = columns_of(self);
  return std::array{Meta(dtype, batch_of(self, {n})), meta_of(dtype, batch_of(self), n, n)};
}
Result<Tensor> eigvals_formula(Emitter& e, const Tensor& self) {
  return e(aten<"linalg_eig.default">, {self});
}

// clang-format off
constexpr OpDef kEigenOps[] = {
    composed<"aten::linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", eig_meta, eig>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_eigvals(Tensor self) -> Tensor", eigvals_formula>.with({.autocast = AutocastRule::float32}),
    op<"aten::_linalg_eigvals(Tensor self) -> Tensor", eigvals>,
};
// clang-format on

}  // namespace

std::span<const OpDef> eigen_ops() { return kEigenOps; }

}  // namespace pt2::ops
