// Eigenvalues of any square matrix, by QR steps with shifts on its Hessenberg form.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/checks.h"
#include "ops/linear/matrices.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// H = Q^H A Q with zeros below the first diagonal under the main one; `q` collects Q.
void reduce_to_hessenberg(Matrix& a, Matrix& q) {
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
    const auto reflect = [&](Matrix& matrix, bool rows) {
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

// The eigenvalue of the last 2 x 2 block of rows up to `last` that is nearer to its corner.
Complex wilkinson_shift(const Matrix& h, int64_t last) {
  const Complex a = h.at(last - 1, last - 1);
  const Complex d = h.at(last, last);
  const Complex bc = h.at(last - 1, last) * h.at(last, last - 1);
  const Complex half = (a - d) / 2.0;
  const Complex root = std::sqrt(half * half + bc);
  const Complex near = std::abs(half + root) > std::abs(half - root) ? half + root : half - root;
  return std::abs(near) == 0 ? d : d - bc / near;
}

// One QR step with a shift on rows first to last, by rotations of neighbouring rows and columns.
void qr_step(Matrix& h, Matrix& z, int64_t first, int64_t last, Complex shift) {
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
  const auto turn = [](Matrix& matrix, int64_t rows, int64_t k, const Rotation& r) {
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

// The first row of the block that ends at `last` and that nothing below its diagonal divides.
int64_t block_start(Matrix& h, int64_t last) {
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

// h becomes triangular and z unitary with A = z h z^H. False when it does not converge, as for
// matrices with NaN.
bool reduce_to_triangle(Matrix& h, Matrix& z) {
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
    // A shift from elsewhere now and then breaks cycles.
    const Complex shift = steps % 10 == 0 ? h.at(last, last) + std::abs(h.at(last, last - 1))
                                          : wilkinson_shift(h, last);
    qr_step(h, z, first, last, shift);
  }
  return true;
}

// Columns with t x = t(k, k) x, solved from the diagonal upwards.
Matrix triangle_vectors(const Matrix& t) {
  const int64_t n = t.rows;
  double largest = 0;
  for (const Complex& element : t.elements) largest = std::max(largest, std::abs(element));
  const double least = std::max(largest * kEpsilon, std::numeric_limits<double>::min());
  Matrix x(n, n);
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
  return x;
}

void normalize_columns(Matrix& vectors) {
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

// Of a real matrix the values come in pairs, of which LAPACK puts the upper one first.
void order_pairs(GeneralEigenFactors& factors) {
  auto& values = factors.values;
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    const double tolerance = std::sqrt(kEpsilon) * std::abs(values[i]);
    if (values[i].imag() >= 0 || std::abs(values[i] - std::conj(values[i + 1])) > tolerance)
      continue;
    std::swap(values[i], values[i + 1]);
    const auto column = static_cast<int64_t>(i);
    for (int64_t row = 0; row < factors.vectors.rows; ++row)
      std::swap(factors.vectors.at(row, column), factors.vectors.at(row, column + 1));
    ++i;
  }
}

Dtype complex_dtype(Dtype dtype) {
  return dtype == Dtype::float32 || dtype == Dtype::complex64 ? Dtype::complex64
                                                              : Dtype::complex128;
}

Result<TensorPair> eig(const Tensor& self) {
  PT2_TRY_VOID(check_square(self, "A"));
  PT2_TRY(const Matrices matrices, matrices_of(self));
  const int64_t n = self.size(self.dim() - 1);
  Sizes sizes = batch_of(self);
  sizes.push_back(n);
  PT2_TRY(Tensor values, allocate({complex_dtype(self.dtype()), std::move(sizes)}));
  Matrices vectors;
  std::vector<Complex> all;
  for (const Matrix& matrix : matrices) {
    for (const Complex& element : matrix.elements)
      if (!std::isfinite(element.real()) || !std::isfinite(element.imag()))
        return operator_error("A: found an element that is not finite");
    GeneralEigenFactors factors = factor_general(matrix);
    if (static_cast<int64_t>(factors.values.size()) != n)
      return operator_error("the eigenvalues of a matrix do not converge");
    if (dtype_category(self.dtype()) != DtypeCategory::complex) order_pairs(factors);
    all.insert(all.end(), factors.values.begin(), factors.values.end());
    vectors.push_back(std::move(factors.vectors));
  }
  store_elements<Complex>(all.data(), values.numel(), values.dtype(), 1, values.raw_data());
  PT2_TRY(Tensor columns, tensor_of(vectors, batch_of(self), n, n, values.dtype()));
  return TensorPair(std::move(values), std::move(columns));
}
Result<Tensor> eigvals(const Tensor& self) {
  PT2_TRY(auto parts, eig(self));
  return std::move(std::get<0>(parts));
}

// clang-format off
constexpr OpDef kOps[] = {
    op<"aten::linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", eig>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_eigvals(Tensor self) -> Tensor", eigvals>.with({.autocast = AutocastRule::float32}),
    op<"aten::_linalg_eigvals(Tensor self) -> Tensor", eigvals>,
};
// clang-format on

}  // namespace

GeneralEigenFactors factor_general(Matrix a) {
  GeneralEigenFactors out{{}, Matrix::identity(a.rows)};
  reduce_to_hessenberg(a, out.vectors);
  if (!reduce_to_triangle(a, out.vectors)) return out;
  for (int64_t i = 0; i < a.rows; ++i) out.values.push_back(a.at(i, i));
  out.vectors = multiply(out.vectors, triangle_vectors(a));
  normalize_columns(out.vectors);
  return out;
}

std::span<const OpDef> eigen_ops() { return kOps; }

}  // namespace pt2::ops
