// torch.linalg: LU factors, determinants computed from them, and solvers with triangular factors.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/linear/matrices.h"
#include "ops/loops.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

Result<void> check_pivot(bool pivot) {
  if (!pivot)
    return operator_error("pivot: found False, expected True: PyTorch has no other on the CPU");
  return {};
}
Result<void> lu_factor_ex(Tensor& lu, Tensor& pivots, Tensor& info, const Tensor& a, bool,
                          bool check_errors) {
  return with_field(a, [&]<class T>() -> Result<void> {
    PT2_TRY(const LuBatch<T> batch, factor_lu_batch<T>(a));
    PT2_TRY_VOID(set_infos(info, batch.infos, check_errors, "a singular matrix: zero"));
    batch.store(lu, pivots);
    return {};
  });
}
Result<std::array<Meta, 3>> lu_factor_ex_meta(const Tensor& a, bool pivot, bool) {
  PT2_TRY_VOID(check_pivot(pivot));
  PT2_TRY_VOID(check_matrices(a, "A"));
  const int64_t inner = std::min(rows_of(a), columns_of(a));
  return std::array{meta_of(a.dtype(), batch_of(a), rows_of(a), columns_of(a)),
                    Meta(Dtype::int32, batch_of(a, {inner})), Meta(Dtype::int32, batch_of(a))};
}

// Sets p to the permutation matrix P of the row exchanges, with A = P L U.
template <class T>
Result<void> set_permutation(std::span<const int64_t> pivots, MatrixView<T> p) {
  std::vector<int64_t> order(static_cast<size_t>(p.rows));
  std::iota(order.begin(), order.end(), 0);
  for (size_t k = 0; k < pivots.size(); ++k) {
    if (pivots[k] < 1 || pivots[k] > p.rows)
      return operator_error("pivots: found " + std::to_string(pivots[k]) + ", expected 1 to " +
                            std::to_string(p.rows));
    std::swap(order[k], order[static_cast<size_t>(pivots[k] - 1)]);
  }
  for (int64_t i = 0; i < p.rows; ++i) p.at(order[static_cast<size_t>(i)], i) = 1;
  return {};
}

Result<std::vector<int64_t>> pivot_numbers(const Tensor& pivots, const Tensor& lu) {
  const int64_t count = std::min(rows_of(lu), columns_of(lu));
  PT2_TRY_VOID(check_sizes(pivots, batch_of(lu, {count}), "pivots"));
  PT2_TRY_VOID(check_index_dtype(pivots, "pivots"));
  const Input<int64_t> input(pivots);
  return std::vector<int64_t>(input.data(), input.data() + input.size());
}

Result<std::array<Meta, 3>> lu_unpack_meta(const Tensor& data, const Tensor&, bool unpack_data,
                                           bool unpack_pivots) {
  PT2_TRY_VOID(check_matrices(data, "LU_data"));
  const Dtype dtype = data.dtype();
  const int64_t rows = rows_of(data), columns = columns_of(data);
  const auto part = [&](bool is_wanted, int64_t height, int64_t width) {
    return is_wanted ? meta_of(dtype, batch_of(data), height, width, true) : Meta(dtype, {0});
  };
  const int64_t inner = std::min(rows, columns);
  return std::array{part(unpack_pivots, rows, rows), part(unpack_data, rows, inner),
                    part(unpack_data, inner, columns)};
}
Result<void> lu_unpack(Tensor& permutation, Tensor& lower, Tensor& upper, const Tensor& data,
                       const Tensor& pivots, bool unpack_data, bool unpack_pivots) {
  PT2_TRY(const std::vector<int64_t> numbers, pivot_numbers(pivots, data));
  const int64_t rows = rows_of(data);
  const int64_t columns = columns_of(data);
  const int64_t inner = std::min(rows, columns);
  return with_field(data, [&]<class T>() -> Result<void> {
    PT2_TRY(Matrices<T> both, Matrices<T>::copy_of(data));
    PT2_TRY(Matrices<T> p, Matrices<T>::zeros(batch_of(data), rows, unpack_pivots ? rows : 0));
    PT2_TRY(Matrices<T> l, Matrices<T>::zeros(batch_of(data), rows, inner));
    PT2_TRY(Matrices<T> u, Matrices<T>::zeros(batch_of(data), inner, columns));
    for (int64_t i = 0; i < p.count(); ++i)
      PT2_TRY_VOID(
          set_permutation(std::span(numbers.data() + i * inner, static_cast<size_t>(inner)), p[i]));
    for (int64_t i = 0; i < both.count(); ++i) {
      set_identity(l[i]);
      for (int64_t c = 0; c < columns; ++c)
        for (int64_t r = 0; r < rows; ++r) (r > c ? l[i] : u[i]).at(r, c) = both[i].at(r, c);
    }
    if (unpack_pivots) copy_elements(permutation, p.tensor());
    if (unpack_data) {
      copy_elements(lower, l.tensor());
      copy_elements(upper, u.tensor());
    }
    return {};
  });
}
Result<TensorTriple> lu_parts(Emitter& e, const Tensor& lu, const Tensor& pivots) {
  return e.several<Tensor, Tensor, Tensor>(aten<"lu_unpack.default">, {lu, pivots});
}
Result<TensorTriple> linalg_lu(Emitter& e, const Tensor& a, bool pivot) {
  PT2_TRY(const auto parts,
          (e.several<Tensor, Tensor>(aten<"linalg_lu_factor_ex.default">, {a, pivot})));
  return lu_parts(e, std::get<0>(parts), std::get<1>(parts));
}

// Solves with the triangular factors themselves, so a singular matrix has a solution, too: an
// infinite one.
Result<Tensor> lu_solve(Emitter& e, const Tensor& lu, const Tensor& pivots, const Tensor& b,
                        bool left, bool adjoint) {
  PT2_TRY_VOID(check_square(lu, "LU"));
  PT2_TRY_VOID(check_matrices(b, "B"));
  PT2_TRY_VOID(check_same_dtype(b, lu, "B"));
  PT2_TRY(const auto parts, lu_parts(e, lu, pivots));
  const auto& [p, l, u] = parts;
  const auto turned = [&](const auto& x) { return e(aten<"mH.default">, {x}); };
  const auto product = [&](const auto& x, const auto& y) {
    return e(aten<"matmul.default">, {x, y});
  };
  const auto solve = [&](const auto& triangle, const auto& sides, bool upper, bool has_ones) {
    return e(aten<"linalg_solve_triangular.default">, {triangle, sides, upper, true, has_ones});
  };
  // X A = B is solved as A^H X^H = B^H.
  auto x = left ? Result<Tensor>(b) : turned(b);
  if (adjoint == left)
    x = product(p, solve(turned(l), solve(turned(u), x, false, false), true, true));
  else
    x = solve(u, solve(l, product(turned(p), x), false, true), true, false);
  return left ? in_columns(e, x) : e(aten<"clone.default">, {turned(x), MemoryFormat::contiguous});
}

// --- Determinants

// A number of absolute value 1, or 0 if x is 0. As in torch.sgn, the phase of a real NaN is 0.
double phase_of(double x) { return static_cast<double>((x > 0) - (x < 0)); }
Complex phase_of(const Complex& x) { return x == Complex(0) ? x : x / std::abs(x); }

Result<void> slogdet_parts(Tensor& sign, Tensor& logabsdet, Tensor& lu, Tensor& pivots,
                           const Tensor& a) {
  return with_field(a, [&]<class T>() -> Result<void> {
    PT2_TRY(LuBatch<T> batch, factor_for_determinant<T>(a));
    Output<T> signs(sign);
    Output<double> logs(logabsdet);
    // The determinant of an empty matrix is 1.
    std::fill_n(signs.data(), sign.numel(), T(1));
    for (int64_t i = 0; i < batch.factors.count(); ++i) {
      signs[i] = batch.diagonal_product(i, [](const T& x) { return phase_of(x); });
      for (int64_t k = 0; k < columns_of(a); ++k)
        logs[i] += std::log(std::abs(batch.factors[i].at(k, k)));
    }
    batch.store(lu, pivots);
    return {};
  });
}
Result<std::array<Meta, 4>> slogdet_meta(const Tensor& a) {
  PT2_TRY_VOID(check_square(a, "A"));
  const int64_t n = columns_of(a);
  return std::array{Meta(a.dtype(), batch_of(a)), Meta(real_dtype(a.dtype()), batch_of(a)),
                    meta_of(a.dtype(), batch_of(a), n, n), Meta(Dtype::int32, batch_of(a, {n}))};
}

// --- Solvers with triangular factors

Result<Meta> solve_triangular_meta(const Tensor& self, const Tensor& b, bool, bool left, bool) {
  PT2_TRY_VOID(check_square(self, "self"));
  PT2_TRY_VOID(check_matrices(b, "B"));
  PT2_TRY_VOID(check_same_dtype(b, self, "B"));
  if ((left ? rows_of(b) : columns_of(b)) != columns_of(self))
    return operator_error("B: found " + b.type_text() + ", expected sizes that fit " +
                          self.type_text());
  PT2_TRY(const auto pair, same_batch(self, b));
  const Tensor& whole = std::get<1>(pair);
  return meta_of(b.dtype(), batch_of(whole), rows_of(whole), columns_of(whole));
}
Result<void> solve_triangular_matrices(Tensor& out, const Tensor& self, const Tensor& b, bool upper,
                                       bool left, bool unitriangular) {
  PT2_TRY(const auto pair, same_batch(self, b));
  return with_field(self, [&]<class T>() -> Result<void> {
    // X A = B is solved as A^T X^T = B^T.
    const auto turned = [left](const Tensor& x) { return left ? x : *transpose(x, -2, -1); };
    PT2_TRY(Matrices<T> matrices, Matrices<T>::copy_of(turned(std::get<0>(pair))));
    PT2_TRY(Matrices<T> sides, Matrices<T>::copy_of(turned(std::get<1>(pair))));
    for (int64_t i = 0; i < sides.count(); ++i)
      solve_triangular(matrices[i], sides[i], upper == left, unitriangular);
    copy_elements(out, turned(sides.tensor()));
    return {};
  });
}
Result<Tensor> cholesky_solve(Emitter& e, const Tensor& self, const Tensor& factor, bool upper) {
  PT2_TRY_VOID(check_square(factor, "input2"));
  PT2_TRY(const Tensor adjoint, e(aten<"mH.default">, {factor}));
  const auto first =
      e(aten<"linalg_solve_triangular.default">, {upper ? adjoint : factor, self, false});
  return e(aten<"linalg_solve_triangular.default">, {upper ? factor : adjoint, first, true});
}
Result<Tensor> cholesky_inverse(Emitter& e, const Tensor& self, bool upper) {
  PT2_TRY_VOID(check_square(self, "self"));
  const auto identity = e(aten<"eye.default">, {columns_of(self), self.dtype()});
  return e(aten<"cholesky_solve.default">, {identity, self, upper});
}

// --- Formulas (ATen/native/BatchLinearAlgebra.cpp, LinearAlgebra.cpp)

Result<TensorTriple> lu_with_info(Emitter& e, const Tensor& self, bool pivot, bool check_errors) {
  return e.several<Tensor, Tensor, Tensor>(aten<"linalg_lu_factor_ex.default">,
                                           {self, pivot, check_errors});
}
Result<TensorPair> lu_factor(Emitter& e, const Tensor& a, bool pivot) {
  return e.several<Tensor, Tensor>(aten<"linalg_lu_factor_ex.default">, {a, pivot, true});
}
Result<Tensor> old_lu_solve(Emitter& e, const Tensor& self, const Tensor& lu,
                            const Tensor& pivots) {
  return e(aten<"linalg_lu_solve.default">, {lu, pivots, self});
}

Result<TensorPair> slogdet(Emitter& e, const Tensor& a) {
  return e.several<Tensor, Tensor>(aten<"_linalg_slogdet.default">, {a});
}
Result<Tensor> logdet(Emitter& e, const Tensor& self) {
  PT2_TRY(const auto parts, slogdet(e, self));
  const auto& [sign, log] = parts;
  if (dtype_category(self.dtype()) == DtypeCategory::complex)
    return e(aten<"add.Tensor">, {e(aten<"log.default">, {sign}), log});
  return e(aten<"where.ScalarSelf">,
           {e(aten<"eq.Scalar">, {sign, -1.0}), std::numeric_limits<double>::quiet_NaN(), log});
}

// clang-format off
constexpr OpDef kLuOps[] = {
    op<"aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)", lu_factor_ex_meta, lu_factor_ex>,
    op<"aten::_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)", lu_with_info>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)", lu_factor>,
    kept<"aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)", linalg_lu>,
    op<"aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)", lu_unpack_meta, lu_unpack>,
    kept<"aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor", lu_solve>,
    op<"aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor", old_lu_solve>.with({.autocast = AutocastRule::float32}),
    op<"aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)", slogdet_meta, slogdet_parts>,
    op<"aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)", slogdet>,
    op<"aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", slogdet>.with({.same_as = "linalg_slogdet.default"}),
    op<"aten::logdet(Tensor self) -> Tensor", logdet>,
    op<"aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor", solve_triangular_meta, solve_triangular_matrices>,
    kept<"aten::_cholesky_solve_helper(Tensor self, Tensor A, bool upper) -> Tensor", cholesky_solve>,
    kept<"aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor", cholesky_solve>.with({.autocast = AutocastRule::float32}),
    kept<"aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor", cholesky_inverse>.with({.autocast = AutocastRule::float32}),
};
// clang-format on

}  // namespace

std::span<const OpDef> lu_ops() { return kLuOps; }

}  // namespace pt2::ops
