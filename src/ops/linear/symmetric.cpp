// Symmetric indefinite matrices: the factorisation L D L^T of Bunch and Kaufman (LAPACK's sytf2 and
// hetf2, lower), linear systems solved with it (sytrs, hetrs), and square roots.
#include <cmath>
#include <span>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/linear/matrices.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

// The magnitude by which LAPACK compares pivots; for complex numbers it is not the modulus.
double magnitude(double x) { return std::abs(x); }
double magnitude(const Complex& x) { return std::abs(x.real()) + std::abs(x.imag()); }
double conj_of(double x, bool) { return x; }
Complex conj_of(const Complex& x, bool conjugate) { return conjugate ? std::conj(x) : x; }

template <class T>
class Factorisation {
 public:
  Factorisation(MatrixView<T> a, bool hermitian, int64_t* pivots)
      : a_(a), hermitian_(hermitian), pivots_(pivots) {}

  // Factors the matrix. Returns the number (from 1) of the first zero on D's diagonal, 0 if there
  // is none.
  int64_t run() {
    int64_t info = 0;
    for (int64_t k = 0; k < a_.rows;) {
      const Pivot pivot = choose(k);
      if (pivot.is_zero) {
        if (info == 0) info = k + 1;
      } else {
        exchange(k, pivot);
        if (pivot.width == 1)
          eliminate_one(k);
        else
          eliminate_two(k);
      }
      for (int64_t i = 0; i < pivot.width; ++i)
        pivots_[k + i] = pivot.width == 1 ? pivot.row + 1 : -(pivot.row + 1);
      k += pivot.width;
    }
    return info;
  }

 private:
  struct Pivot {
    int64_t row = 0;
    int64_t width = 1;
    bool is_zero = false;
  };

  T conj(const T& x) const { return conj_of(x, hermitian_); }
  double diagonal(int64_t k) const {
    return hermitian_ ? std::abs(std::real(a_.at(k, k))) : magnitude(a_.at(k, k));
  }
  void make_real(int64_t k) const {
    if (hermitian_) a_.at(k, k) = std::real(a_.at(k, k));
  }

  Pivot choose(int64_t k) const {
    const double alpha = (1 + std::sqrt(17.0)) / 8;
    const double own = diagonal(k);
    int64_t largest = k;
    double below = 0;
    for (int64_t i = k + 1; i < a_.rows; ++i)
      if (magnitude(a_.at(i, k)) > below) {
        largest = i;
        below = magnitude(a_.at(i, k));
      }
    if (std::max(own, below) == 0 || std::isnan(own)) {
      make_real(k);
      return {k, 1, true};
    }
    if (own >= alpha * below) return {k, 1};
    double beside = 0;
    for (int64_t j = k; j < largest; ++j) beside = std::max(beside, magnitude(a_.at(largest, j)));
    for (int64_t i = largest + 1; i < a_.rows; ++i)
      beside = std::max(beside, magnitude(a_.at(i, largest)));
    if (own >= alpha * below * (below / beside)) return {k, 1};
    return {largest, diagonal(largest) >= alpha * beside ? 1 : 2};
  }

  void exchange(int64_t k, const Pivot& pivot) const {
    const int64_t from = k + pivot.width - 1, to = pivot.row;
    if (from != to) {
      for (int64_t i = to + 1; i < a_.rows; ++i) std::swap(a_.at(i, from), a_.at(i, to));
      for (int64_t j = from + 1; j < to; ++j) {
        const T kept = conj(a_.at(j, from));
        a_.at(j, from) = conj(a_.at(to, j));
        a_.at(to, j) = kept;
      }
      a_.at(to, from) = conj(a_.at(to, from));
      std::swap(a_.at(from, from), a_.at(to, to));
      if (pivot.width == 2) std::swap(a_.at(k + 1, k), a_.at(to, k));
    }
    make_real(k);
    make_real(from);
    make_real(to);
  }

  void eliminate_one(int64_t k) const {
    const T inverse = T(1) / a_.at(k, k);
    for (int64_t j = k + 1; j < a_.rows; ++j) {
      const T factor = inverse * conj(a_.at(j, k));
      for (int64_t i = j; i < a_.rows; ++i) a_.at(i, j) -= a_.at(i, k) * factor;
      make_real(j);
    }
    for (int64_t i = k + 1; i < a_.rows; ++i) a_.at(i, k) *= inverse;
  }

  void eliminate_two(int64_t k) const {
    // Divides D's block by its element below the diagonal to avoid overflow.
    const T below = a_.at(k + 1, k);
    const T d11 = a_.at(k + 1, k + 1) / below, d22 = a_.at(k, k) / conj(below);
    const T scale = T(1) / (d11 * d22 - T(1));
    for (int64_t j = k + 2; j < a_.rows; ++j) {
      const T first = scale * (d11 * a_.at(j, k) - a_.at(j, k + 1)) / conj(below);
      const T second = scale * (d22 * a_.at(j, k + 1) - a_.at(j, k)) / below;
      for (int64_t i = j; i < a_.rows; ++i)
        a_.at(i, j) -= a_.at(i, k) * conj(first) + a_.at(i, k + 1) * conj(second);
      a_.at(j, k) = first;
      a_.at(j, k + 1) = second;
      make_real(j);
    }
  }

  MatrixView<T> a_;
  bool hermitian_;
  int64_t* pivots_;
};

template <class T>
void clear_above(MatrixView<T> a) {
  for (int64_t j = 1; j < a.columns; ++j)
    for (int64_t i = 0; i < j; ++i) a.at(i, j) = 0;
}

Result<void> ldl_factor_ex(Tensor& ld, Tensor& numbers, Tensor& info, const Tensor& a,
                           bool hermitian, bool check_errors) {
  const int64_t n = columns_of(a);
  return with_field(a, [&]<class T>() -> Result<void> {
    PT2_TRY(Matrices<T> factors, Matrices<T>::copy_of(a));
    std::vector<int64_t> pivots(static_cast<size_t>(factors.count() * n)), infos;
    for (int64_t i = 0; i < factors.count(); ++i) {
      infos.push_back(Factorisation<T>(factors[i], hermitian, pivots.data() + i * n).run());
      clear_above(factors[i]);
    }
    PT2_TRY_VOID(set_infos(info, infos, check_errors, "a singular matrix: zero"));
    copy_elements(ld, factors.tensor());
    set_integers(numbers, pivots);
    return {};
  });
}
Result<std::array<Meta, 3>> ldl_factor_ex_meta(const Tensor& a, bool, bool) {
  PT2_TRY_VOID(check_square(a, "A"));
  const int64_t n = columns_of(a);
  return std::array{meta_of(a.dtype(), batch_of(a), n, n), Meta(Dtype::int32, batch_of(a, {n})),
                    Meta(Dtype::int32, batch_of(a))};
}
Result<TensorPair> ldl_factor(Emitter& e, const Tensor& self, bool hermitian) {
  return e.several<Tensor, Tensor>(aten<"linalg_ldl_factor_ex.default">, {self, hermitian, true});
}

template <class T>
class Solution {
 public:
  Solution(MatrixView<T> ld, std::span<const int64_t> pivots, bool hermitian, MatrixView<T> b)
      : ld_(ld), pivots_(pivots), hermitian_(hermitian), b_(b) {}

  void run() const {
    const int64_t n = ld_.rows;
    for (int64_t k = 0; k < n; k += width(k)) forward(k);
    for (int64_t k = n - 1; k >= 0; k -= width(k)) backward(k);
  }

 private:
  int64_t width(int64_t k) const { return pivots_[static_cast<size_t>(k)] > 0 ? 1 : 2; }
  void exchange(int64_t row, int64_t k) const {
    const int64_t other = std::abs(pivots_[static_cast<size_t>(k)]) - 1;
    for (int64_t c = 0; c < b_.columns; ++c) std::swap(b_.at(row, c), b_.at(other, c));
  }

  void forward(int64_t k) const {
    const int64_t count = width(k);
    exchange(k + count - 1, k);
    for (int64_t c = 0; c < b_.columns; ++c) {
      for (int64_t j = k; j < k + count; ++j)
        for (int64_t i = k + count; i < ld_.rows; ++i) b_.at(i, c) -= ld_.at(i, j) * b_.at(j, c);
      if (count == 1)
        b_.at(k, c) /= ld_.at(k, k);
      else
        solve_block(k, c);
    }
  }

  void solve_block(int64_t k, int64_t c) const {
    const T below = ld_.at(k + 1, k), above = conj_of(below, hermitian_);
    const T first = ld_.at(k, k) / above, second = ld_.at(k + 1, k + 1) / below;
    const T left = b_.at(k, c) / above, right = b_.at(k + 1, c) / below;
    const T scale = first * second - T(1);
    b_.at(k, c) = (second * left - right) / scale;
    b_.at(k + 1, c) = (first * right - left) / scale;
  }

  void backward(int64_t k) const {
    for (int64_t j = k; j > k - width(k); --j)
      for (int64_t c = 0; c < b_.columns; ++c)
        for (int64_t i = k + 1; i < ld_.rows; ++i)
          b_.at(j, c) -= conj_of(ld_.at(i, j), hermitian_) * b_.at(i, c);
    exchange(k, k);
  }

  MatrixView<T> ld_;
  std::span<const int64_t> pivots_;
  bool hermitian_;
  MatrixView<T> b_;
};

// Checks pivots: numbers of exchanged rows, counted from 1. Both pivots of a 2 x 2 block are the
// same negative number.
Result<void> check_pivots(std::span<const int64_t> pivots) {
  const auto n = static_cast<int64_t>(pivots.size());
  for (size_t k = 0; k < pivots.size(); ++k) {
    const int64_t pivot = pivots[k];
    const bool is_pair = pivot < 0 && k + 1 < pivots.size() && pivots[k + 1] == pivot;
    if (pivot == 0 || pivot > n || pivot < -n || (pivot < 0 && !is_pair))
      return operator_error("pivots: found " + std::to_string(pivot) + " at " + std::to_string(k) +
                            ", expected what linalg_ldl_factor gives");
    if (is_pair) ++k;
  }
  return {};
}

Result<Meta> ldl_solve_meta(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool) {
  PT2_TRY_VOID(check_square(ld, "LD"));
  PT2_TRY_VOID(check_matrices(b, "B"));
  PT2_TRY_VOID(check_same_dtype(b, ld, "B"));
  const int64_t n = columns_of(ld);
  PT2_TRY_VOID(check_sizes(pivots, batch_of(ld, {n}), "pivots"));
  PT2_TRY_VOID(check_index_dtype(pivots, "pivots"));
  if (rows_of(b) != n)
    return operator_error("found " + std::to_string(rows_of(b)) + " rows of B, expected " +
                          std::to_string(n));
  PT2_TRY(const TensorPair both, same_batch(ld, b));
  const Tensor& whole = std::get<1>(both);
  return meta_of(ld.dtype(), batch_of(whole), n, columns_of(whole));
}
Result<void> ldl_solve(Tensor& out, const Tensor& ld, const Tensor& pivots, const Tensor& b,
                       bool hermitian) {
  const int64_t n = columns_of(ld);
  PT2_TRY(const TensorPair both, same_batch(ld, b));
  const Input<int64_t> numbers(broadcast_to(pivots, batch_of(std::get<0>(both), {n})));
  return with_field(ld, [&]<class T>() -> Result<void> {
    PT2_TRY(Matrices<T> factors, Matrices<T>::copy_of(std::get<0>(both)));
    PT2_TRY(Matrices<T> sides, Matrices<T>::copy_of(std::get<1>(both)));
    for (int64_t i = 0; i < sides.count(); ++i) {
      const std::span<const int64_t> own(numbers.data() + i * n, static_cast<size_t>(n));
      PT2_TRY_VOID(check_pivots(own));
      Solution<T>(factors[i], own, hermitian, sides[i]).run();
    }
    copy_elements(out, sides.tensor());
    return {};
  });
}

// A square root of the matrix whose negative eigenvalues are replaced by 0.
Result<Tensor> matrix_sqrth(Emitter& e, const Tensor& self) {
  PT2_TRY_VOID(check_square(self, "A"));
  PT2_TRY(const auto parts, (e.several<Tensor, Tensor>(aten<"linalg_eigh.default">, {self})));
  const auto& [values, vectors] = parts;
  const auto roots = e(aten<"sqrt.default">, {e(aten<"clamp.default">, {values, int64_t{0}})});
  const auto scaled = e(aten<"mul.Tensor">, {vectors, e(aten<"unsqueeze.default">, {roots, -2})});
  return e(aten<"matmul.default">, {scaled, e(aten<"mH.default">, {vectors})});
}

// clang-format off
constexpr OpDef kSymmetricOps[] = {
    op<"aten::linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)", ldl_factor_ex_meta, ldl_factor_ex>,
    op<"aten::linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)", ldl_factor>,
    op<"aten::linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor", ldl_solve_meta, ldl_solve>,
    kept<"aten::linalg_matrix_sqrth(Tensor self) -> Tensor", matrix_sqrth>.with({.autocast = AutocastRule::float32}),
};
// clang-format on

}  // namespace

std::span<const OpDef> symmetric_ops() { return kSymmetricOps; }

}  // namespace pt2::ops
