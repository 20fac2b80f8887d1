// Eigenvalues of general square matrices: of complex ones by shifted QR steps on the Hessenberg
// form, of real ones by the real Schur form.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/linear/matrices.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

using View = MatrixView<Complex>;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// a becomes the Hessenberg form H = Q^H A Q, with zeros below the first subdiagonal; `q`, if any,
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
    if (q.data != nullptr) reflect(q, false);
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

// One shifted QR step on rows first to last, by rotations of neighbouring rows and columns. Without
// z, other rows and columns of h do not matter.
void qr_step(View h, View z, int64_t first, int64_t last, Complex shift) {
  const int64_t begin = z.data != nullptr ? 0 : first;
  const int64_t end = z.data != nullptr ? h.rows : last + 1;
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
    for (int64_t j = k; j < end; ++j) {
      const Complex upper = h.at(k, j);
      const Complex lower = h.at(k + 1, j);
      h.at(k, j) = r.c * upper + r.s * lower;
      h.at(k + 1, j) = r.c * lower - std::conj(r.s) * upper;
    }
    rotations.push_back(r);
  }
  const auto turn = [](View matrix, int64_t top, int64_t bottom, int64_t k, const Rotation& r) {
    for (int64_t i = top; i < bottom; ++i) {
      const Complex left = matrix.at(i, k);
      const Complex right = matrix.at(i, k + 1);
      matrix.at(i, k) = r.c * left + std::conj(r.s) * right;
      matrix.at(i, k + 1) = r.c * right - r.s * left;
    }
  };
  for (int64_t k = first; k < last; ++k) {
    const Rotation& r = rotations[static_cast<size_t>(k - first)];
    turn(h, begin, std::min(k + 2, last + 1), k, r);
    turn(z, 0, z.rows, k, r);
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

// Makes h triangular and z unitary with A = z h z^H. Without z, only h's diagonal is right. False
// if the iteration does not converge, as for matrices with NaN.
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

// A V = V diag(values) for A = q t q^H with a triangular t.
void set_vectors(View q, View t, View vectors) {
  std::vector<Complex> columns(static_cast<size_t>(t.rows * t.rows));
  const View x{columns.data(), t.rows, t.rows};
  set_triangle_vectors(t, x);
  multiply(q, x, vectors);
  normalize_columns(vectors);
}

// A V = V diag(values) (geev). The columns of V have norm 1, and their largest element is real. The
// values are in the order in which they are found. Computes no V if `vectors` has no data. False if
// the iteration does not converge.
bool factor_general(View a, Complex* values, View vectors, const Precision&) {
  std::vector<Complex> unitary(vectors.data == nullptr ? 0 : static_cast<size_t>(a.rows * a.rows));
  const View q{unitary.data(), vectors.rows, vectors.rows};
  set_identity(q);
  reduce_to_hessenberg(a, q);
  if (!reduce_to_triangle(a, q)) return false;
  for (int64_t i = 0; i < a.rows; ++i) values[i] = a.at(i, i);
  if (vectors.data != nullptr) set_vectors(q, a, vectors);
  return true;
}

// Makes rows i and i + 1 of the real Schur form `t` triangular by a complex rotation, with `value`
// as the first element of the diagonal.
void split_pair(View t, View q, int64_t i, Complex value) {
  const Complex gap = value - t.at(i + 1, i + 1);
  const double below = t.at(i + 1, i).real();
  const double length = std::hypot(std::abs(gap), below);
  const Complex c = gap / length;  // (c, s) is an eigenvector of the block
  const double s = below / length;
  for (int64_t j = i; j < t.columns; ++j) {
    const Complex upper = t.at(i, j), lower = t.at(i + 1, j);
    t.at(i, j) = std::conj(c) * upper + s * lower;
    t.at(i + 1, j) = c * lower - s * upper;
  }
  const auto turn = [&](View matrix, int64_t rows) {
    for (int64_t row = 0; row < rows; ++row) {
      const Complex left = matrix.at(row, i), right = matrix.at(row, i + 1);
      matrix.at(row, i) = c * left + s * right;
      matrix.at(row, i + 1) = std::conj(c) * right - s * left;
    }
  };
  turn(t, i + 2);
  turn(q, q.rows);
  t.at(i, i) = value;
  t.at(i + 1, i + 1) = std::conj(value);
  t.at(i + 1, i) = 0;
}

// The same for a real matrix, in real arithmetic. Conjugate pairs begin with the value of positive
// imaginary part, and their vectors are conjugate, too.
bool factor_general(MatrixView<double> a, Complex* values, View vectors,
                    const Precision& precision) {
  const int64_t n = a.rows;
  std::vector<double> orthogonal(vectors.data == nullptr ? 0 : static_cast<size_t>(n * n));
  const MatrixView<double> z{orthogonal.data(), vectors.rows, vectors.rows};
  set_identity(z);
  if (!factor_real_schur(a, z, precision)) return false;
  for (int64_t i = 0; i < n; ++i) {
    values[i] = a.at(i, i);
    if (i + 1 == n || a.at(i + 1, i) == 0) continue;
    values[i].imag(std::sqrt(std::abs(a.at(i, i + 1))) * std::sqrt(std::abs(a.at(i + 1, i))));
    values[i + 1] = std::conj(values[i]);
    ++i;
  }
  if (vectors.data == nullptr) return true;
  std::vector<Complex> triangle(a.data, a.data + n * n);
  std::vector<Complex> unitary(orthogonal.begin(), orthogonal.end());
  const View t{triangle.data(), n, n}, q{unitary.data(), n, n};
  for (int64_t i = 0; i < n; ++i)
    if (values[i].imag() > 0) split_pair(t, q, i, values[i]);
  set_vectors(q, t, vectors);
  for (int64_t j = 0; j < n; ++j) {
    const double imaginary = values[j].imag();
    for (int64_t i = 0; imaginary < 0 && i < n; ++i)
      vectors.at(i, j) = std::conj(vectors.at(i, j - 1));
    if (imaginary < 0) continue;
    // LAPACK first takes the vector whose part along the first column of Z that belongs to the
    // block is real (trevc), and then rotates by less than 135 degrees (lartg), so it keeps that
    // sign.
    Complex along = 0;
    for (int64_t i = 0; i < n; ++i) along += z.at(i, j) * vectors.at(i, j);
    if (imaginary > 0 && std::abs(a.at(j, j + 1)) < std::abs(a.at(j + 1, j)))
      along *= -std::copysign(1.0, a.at(j + 1, j));
    const bool flips = along.real() < 0 && std::abs(along.real()) > std::abs(along.imag());
    for (int64_t i = 0; i < n; ++i) {
      Complex& element = vectors.at(i, j);
      if (flips) element = -element;
      if (imaginary == 0) element.imag(0);
    }
  }
  return true;
}

// Divides by a power of two, which rounds nothing, so that squares neither overflow nor underflow.
// Returns that power; infinity if a number is not finite.
double scale_down(std::span<double> numbers) {
  double largest = 0;
  for (const double number : numbers) {
    if (!std::isfinite(number)) return HUGE_VAL;
    largest = std::max(largest, std::abs(number));
  }
  const double scale = std::ldexp(1.0, largest > 0 ? std::ilogb(largest) : 0);
  for (double& number : numbers) number /= scale;
  return scale;
}

Dtype complex_dtype(Dtype dtype) {
  return dtype == Dtype::float32 || dtype == Dtype::complex64 ? Dtype::complex64
                                                              : Dtype::complex128;
}

// The vectors are computed if there is a tensor for them.
Result<void> eigen_parts(Tensor& found, Tensor* columns, const Tensor& self) {
  const int64_t n = columns_of(self);
  constexpr int64_t kWorkOfRotation = 20;
  MemoryAccount::count_loops({self.numel(), rows_of(self), kWorkOfRotation}, 1);
  Output<Complex> values(found);
  PT2_TRY(Matrices<Complex> vectors,
          Matrices<Complex>::zeros(batch_of(self), n, columns != nullptr ? n : 0));
  return with_field(self, [&]<class T>() -> Result<void> {
    PT2_TRY(Matrices<T> matrices, Matrices<T>::copy_of(self));
    for (int64_t i = 0; i < matrices.count(); ++i) {
      const double scale = scale_down({reinterpret_cast<double*>(matrices[i].data),
                                       static_cast<size_t>(n * n) * sizeof(T) / sizeof(double)});
      if (!std::isfinite(scale))
        return operator_error("A: found an element that is not finite, expected finite ones");
      const std::span numbers(values.data() + i * n, static_cast<size_t>(n));
      if (!factor_general(matrices[i], numbers.data(), columns != nullptr ? vectors[i] : View(),
                          precision_of(self)))
        return operator_error("the eigenvalues of a matrix do not converge");
      for (Complex& number : numbers) number *= scale;
    }
    if (columns != nullptr) copy_elements(*columns, vectors.tensor());
    return {};
  });
}
Result<void> eig(Tensor& values, Tensor& vectors, const Tensor& self) {
  return eigen_parts(values, &vectors, self);
}
Result<void> eigvals(Tensor& values, const Tensor& self) {
  return eigen_parts(values, nullptr, self);
}

Result<std::array<Meta, 2>> eig_meta(const Tensor& self) {
  PT2_TRY_VOID(check_square(self, "A"));
  const Dtype dtype = complex_dtype(self.dtype());
  const int64_t n = columns_of(self);
  return std::array{Meta(dtype, batch_of(self, {n})), meta_of(dtype, batch_of(self), n, n)};
}
Result<Meta> eigvals_meta(const Tensor& self) {
  PT2_TRY(auto parts, eig_meta(self));
  return std::move(parts[0]);
}
Result<Tensor> eigvals_formula(Emitter& e, const Tensor& self) {
  return e(aten<"linalg_eig.default">, {self});
}

// clang-format off
constexpr OpDef kEigenOps[] = {
    op<"aten::linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", eig_meta, eig>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_eigvals(Tensor self) -> Tensor", eigvals_meta, eigvals, eigvals_formula>.with({.autocast = AutocastRule::float32}),
    op<"aten::_linalg_eigvals(Tensor self) -> Tensor", eigvals_meta, eigvals>,
};
// clang-format on

}  // namespace

std::span<const OpDef> eigen_ops() { return kEigenOps; }

}  // namespace pt2::ops
