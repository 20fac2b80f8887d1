#include "ops/linear/factorization.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace pt2::ops {
namespace {

// Makes columns p and q orthogonal and turns those of `basis` with them; false when they already
// are.
bool turn_columns(Matrix& a, int64_t p, int64_t q, Matrix* basis = nullptr) {
  double p_square = 0;
  double q_square = 0;
  Complex product = 0;
  for (int64_t i = 0; i < a.rows; ++i) {
    p_square += std::norm(a.at(i, p));
    q_square += std::norm(a.at(i, q));
    product += std::conj(a.at(i, p)) * a.at(i, q);
  }
  const double size = std::abs(product);
  if (!(size > 1e-15 * std::sqrt(p_square * q_square))) return false;
  const double zeta = (q_square - p_square) / (2 * size);
  const double tangent = std::copysign(1.0, zeta) / (std::fabs(zeta) + std::sqrt(1 + zeta * zeta));
  const double cosine = 1 / std::sqrt(1 + tangent * tangent);
  const Complex phase = std::conj(product) / size;
  for (Matrix* matrix : {&a, basis})
    for (int64_t i = 0; matrix != nullptr && i < matrix->rows; ++i) {
      const Complex left = matrix->at(i, p);
      const Complex right = matrix->at(i, q) * phase;
      matrix->at(i, p) = cosine * (left - tangent * right);
      matrix->at(i, q) = cosine * (right + tangent * left);
    }
  return true;
}

constexpr int kMaxSweeps = 60;

// One-sided Jacobi: pairs of columns are turned until all are orthogonal; their lengths remain.
void orthogonalize(Matrix& a, Matrix* basis) {
  bool turned = true;
  for (int sweep = 0; turned && sweep < kMaxSweeps; ++sweep) {
    turned = false;
    for (int64_t p = 0; p < a.columns; ++p)
      for (int64_t q = p + 1; q < a.columns; ++q) turned |= turn_columns(a, p, q, basis);
  }
}

double column_length(const Matrix& a, int64_t column) {
  double sum = 0;
  for (int64_t i = 0; i < a.rows; ++i) sum += std::norm(a.at(i, column));
  return std::sqrt(sum);
}

// Turns rows and columns p and q so that a(p, q) becomes zero; false when it is.
bool turn_hermitian(Matrix& a, Matrix& vectors, int64_t p, int64_t q) {
  const Complex off = a.at(p, q);
  const double size = std::abs(off);
  const double scale = std::fabs(a.at(p, p).real()) + std::fabs(a.at(q, q).real());
  if (!(size > 1e-17 * scale) || size < 1e-300) return false;
  const double theta = (a.at(q, q).real() - a.at(p, p).real()) / (2 * size);
  const double tangent =
      std::copysign(1.0, theta) / (std::fabs(theta) + std::sqrt(1 + theta * theta));
  const double cosine = 1 / std::sqrt(1 + tangent * tangent);
  const double sine = tangent * cosine;
  const Complex phase = off / size;
  auto turn = [&](Complex& x, Complex& y, Complex factor) {
    const Complex left = x;
    const Complex right = y * factor;
    x = cosine * left - sine * right;
    y = sine * left + cosine * right;
  };
  for (int64_t i = 0; i < a.rows; ++i) {
    turn(a.at(i, p), a.at(i, q), std::conj(phase));
    turn(vectors.at(i, p), vectors.at(i, q), std::conj(phase));
  }
  for (int64_t j = 0; j < a.columns; ++j) turn(a.at(p, j), a.at(q, j), phase);
  return true;
}

}  // namespace

Matrix Matrix::identity(int64_t size) {
  Matrix out(size, size);
  for (int64_t i = 0; i < size; ++i) out.at(i, i) = 1;
  return out;
}

Matrix Matrix::transposed() const {
  Matrix out(columns, rows);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) out.at(j, i) = at(i, j);
  return out;
}

Matrix Matrix::adjoint() const {
  Matrix out = transposed();
  for (Complex& element : out.elements) element = std::conj(element);
  return out;
}

Matrix multiply(const Matrix& a, const Matrix& b) {
  Matrix out(a.rows, b.columns);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t k = 0; k < a.columns; ++k)
      for (int64_t j = 0; j < b.columns; ++j) out.at(i, j) += a.at(i, k) * b.at(k, j);
  return out;
}

LuFactors factor_lu(Matrix a) {
  const int64_t rows = a.rows;
  const int64_t columns = a.columns;
  LuFactors out{std::move(a), {}, 0};
  Matrix& m = out.factors;
  // LAPACK's izamax: the largest by the sum of the parts, the first of equal ones.
  auto weight = [](Complex x) { return std::fabs(x.real()) + std::fabs(x.imag()); };
  for (int64_t k = 0; k < std::min(rows, columns); ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < rows; ++i)
      if (weight(m.at(i, k)) > weight(m.at(pivot, k))) pivot = i;
    out.pivots.push_back(pivot + 1);
    if (m.at(pivot, k) == Complex(0)) {
      if (out.info == 0) out.info = k + 1;
      continue;
    }
    if (pivot != k)
      for (int64_t j = 0; j < columns; ++j) std::swap(m.at(k, j), m.at(pivot, j));
    for (int64_t i = k + 1; i < rows; ++i) {
      const Complex factor = m.at(i, k) /= m.at(k, k);
      for (int64_t j = k + 1; j < columns; ++j) m.at(i, j) -= factor * m.at(k, j);
    }
  }
  return out;
}

Matrix solve_lu(const LuFactors& lu, Matrix b) {
  const int64_t n = lu.factors.rows;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t pivot = lu.pivots[static_cast<size_t>(k)] - 1;
    for (int64_t j = 0; pivot != k && j < b.columns; ++j) std::swap(b.at(k, j), b.at(pivot, j));
  }
  return solve_triangular(lu.factors, solve_triangular(lu.factors, std::move(b), false, true), true,
                          false);
}

Complex determinant_of(const LuFactors& lu) {
  Complex out = 1;
  for (int64_t k = 0; k < lu.factors.rows; ++k) {
    out *= lu.factors.at(k, k);
    if (lu.pivots[static_cast<size_t>(k)] != k + 1) out = -out;
  }
  return out;
}

CholeskyFactor factor_cholesky(const Matrix& a) {
  CholeskyFactor out{Matrix(a.rows, a.rows), 0};
  Matrix& l = out.factor;
  for (int64_t j = 0; j < a.rows; ++j) {
    double diagonal = a.at(j, j).real();
    for (int64_t k = 0; k < j; ++k) diagonal -= std::norm(l.at(j, k));
    if (!(diagonal > 0)) {
      out.info = j + 1;
      return out;
    }
    l.at(j, j) = std::sqrt(diagonal);
    for (int64_t i = j + 1; i < a.rows; ++i) {
      Complex sum = a.at(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= l.at(i, k) * std::conj(l.at(j, k));
      l.at(i, j) = sum / l.at(j, j);
    }
  }
  return out;
}

Reflections factor_reflections(Matrix a) {
  Reflections out{std::move(a), {}};
  Matrix& r = out.a;
  for (int64_t k = 0; k < std::min(r.rows, r.columns); ++k) {
    double rest = 0;
    for (int64_t i = k + 1; i < r.rows; ++i) rest += std::norm(r.at(i, k));
    const Complex alpha = r.at(k, k);
    if (rest == 0 && alpha.imag() == 0) {
      out.tau.emplace_back(0);
      continue;
    }
    const double beta = -std::copysign(std::sqrt(std::norm(alpha) + rest), alpha.real());
    const Complex tau((beta - alpha.real()) / beta, -alpha.imag() / beta);
    out.tau.push_back(tau);
    for (int64_t i = k + 1; i < r.rows; ++i) r.at(i, k) /= alpha - beta;
    r.at(k, k) = beta;
    for (int64_t j = k + 1; j < r.columns; ++j) {
      Complex sum = r.at(k, j);
      for (int64_t i = k + 1; i < r.rows; ++i) sum += std::conj(r.at(i, k)) * r.at(i, j);
      sum *= std::conj(tau);
      r.at(k, j) -= sum;
      for (int64_t i = k + 1; i < r.rows; ++i) r.at(i, j) -= sum * r.at(i, k);
    }
  }
  return out;
}

Matrix apply_reflections(const Reflections& q, Matrix c, bool left, bool adjoint) {
  const auto count = static_cast<int64_t>(q.tau.size());
  const int64_t length = q.a.rows;
  for (int64_t step = 0; step < count; ++step) {
    const int64_t k = left == adjoint ? step : count - 1 - step;
    const Complex tau = q.tau[static_cast<size_t>(k)];
    const Complex factor = adjoint ? std::conj(tau) : tau;
    const auto v = [&](int64_t i) { return i == k ? Complex(1) : q.a.at(i, k); };
    for (int64_t line = 0; line < (left ? c.columns : c.rows); ++line) {
      const auto element = [&](int64_t i) -> Complex& {
        return left ? c.at(i, line) : c.at(line, i);
      };
      Complex sum = 0;
      for (int64_t i = k; i < length; ++i) sum += element(i) * (left ? std::conj(v(i)) : v(i));
      sum *= factor;
      for (int64_t i = k; i < length; ++i) element(i) -= sum * (left ? v(i) : std::conj(v(i)));
    }
  }
  return c;
}

QrFactors factor_qr(Matrix a) {
  Reflections reflections = factor_reflections(std::move(a));
  Matrix q = apply_reflections(reflections, Matrix::identity(reflections.a.rows), true, false);
  Matrix& r = reflections.a;
  for (int64_t i = 0; i < r.rows; ++i)
    for (int64_t j = 0; j < std::min(i, r.columns); ++j) r.at(i, j) = 0;
  return {std::move(q), std::move(r)};
}

std::vector<double> singular_values(Matrix a) {
  if (a.rows < a.columns) a = a.transposed();
  orthogonalize(a, nullptr);
  std::vector<double> values;
  for (int64_t j = 0; j < a.columns; ++j) values.push_back(column_length(a, j));
  std::ranges::sort(values, std::greater<>());
  return values;
}

Matrix complete_basis(const Matrix& a, int64_t columns) {
  Matrix out(a.rows, columns);
  int64_t next = 0;
  auto append = [&](auto&& element) {
    for (int64_t i = 0; i < a.rows; ++i) out.at(i, next) = element(i);
    // Twice is enough (Kahan): what rounding leaves of the others is gone then.
    for (int pass = 0; pass < 2; ++pass)
      for (int64_t j = 0; j < next; ++j) {
        Complex product = 0;
        for (int64_t i = 0; i < a.rows; ++i) product += std::conj(out.at(i, j)) * out.at(i, next);
        for (int64_t i = 0; i < a.rows; ++i) out.at(i, next) -= product * out.at(i, j);
      }
    const double length = column_length(out, next);
    if (!(length > 0.01)) return;
    for (int64_t i = 0; i < a.rows; ++i) out.at(i, next) /= length;
    ++next;
  };
  for (int64_t j = 0; j < a.columns && next < columns; ++j)
    append([&](int64_t i) { return a.at(i, j); });
  for (int64_t j = 0; j < a.rows && next < columns; ++j)
    append([&](int64_t i) { return Complex(i == j ? 1 : 0); });
  return out;
}

SvdFactors factor_svd(const Matrix& a) {
  if (a.rows < a.columns) {
    SvdFactors turned = factor_svd(a.adjoint());
    return {std::move(turned.v), std::move(turned.values), std::move(turned.u)};
  }
  Matrix columns = a;
  Matrix basis = Matrix::identity(a.columns);
  orthogonalize(columns, &basis);
  std::vector<std::pair<double, int64_t>> order;
  for (int64_t j = 0; j < a.columns; ++j) order.emplace_back(column_length(columns, j), j);
  std::ranges::stable_sort(order, [](const auto& x, const auto& y) { return x.first > y.first; });
  SvdFactors out{Matrix(a.rows, a.columns), {}, Matrix(a.columns, a.columns)};
  int64_t rank = 0;
  for (const auto& [length, from] : order) {
    const auto to = static_cast<int64_t>(out.values.size());
    out.values.push_back(length);
    if (length > 0) ++rank;
    for (int64_t i = 0; i < a.rows && length > 0; ++i)
      out.u.at(i, to) = columns.at(i, from) / length;
    for (int64_t i = 0; i < a.columns; ++i) out.v.at(i, to) = basis.at(i, from);
  }
  if (rank < a.columns) {
    Matrix known(a.rows, rank);
    for (int64_t i = 0; i < a.rows; ++i)
      for (int64_t j = 0; j < rank; ++j) known.at(i, j) = out.u.at(i, j);
    out.u = complete_basis(known, a.columns);
  }
  return out;
}

EigenFactors factor_hermitian(Matrix a) {
  Matrix vectors = Matrix::identity(a.rows);
  bool turned = true;
  for (int sweep = 0; turned && sweep < kMaxSweeps; ++sweep) {
    turned = false;
    for (int64_t p = 0; p < a.rows; ++p)
      for (int64_t q = p + 1; q < a.rows; ++q) turned |= turn_hermitian(a, vectors, p, q);
  }
  std::vector<std::pair<double, int64_t>> order;
  for (int64_t j = 0; j < a.rows; ++j) order.emplace_back(a.at(j, j).real(), j);
  std::ranges::stable_sort(order, [](const auto& x, const auto& y) { return x.first < y.first; });
  EigenFactors out{{}, Matrix(a.rows, a.rows)};
  for (const auto& [value, from] : order) {
    const auto to = static_cast<int64_t>(out.values.size());
    out.values.push_back(value);
    for (int64_t i = 0; i < a.rows; ++i) out.vectors.at(i, to) = vectors.at(i, from);
  }
  return out;
}

Matrix solve_triangular(const Matrix& a, Matrix b, bool upper, bool unit) {
  const int64_t n = a.rows;
  for (int64_t column = 0; column < b.columns; ++column) {
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = upper ? n - 1 - step : step;
      Complex sum = b.at(i, column);
      for (int64_t k = upper ? i + 1 : 0; k < (upper ? n : i); ++k)
        sum -= a.at(i, k) * b.at(k, column);
      b.at(i, column) = unit ? sum : sum / a.at(i, i);
    }
  }
  return b;
}

}  // namespace pt2::ops
