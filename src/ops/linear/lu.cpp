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
struct LuResults {
  Tensor lu;
  Tensor pivots;
  Tensor info;
};
template <class T>
Result<LuResults> lu_results(const LuBatch<T>& batch, const Tensor& a, bool check_errors) {
  PT2_TRY_VOID(check_info(batch.infos, check_errors, "a singular matrix: zero"));
  PT2_TRY(Tensor lu, result_of(batch.factors.tensor(), a.dtype()));
  const int64_t inner = std::min(rows_of(a), columns_of(a));
  PT2_TRY(Tensor pivots, integers_of(batch.pivots, batch_of(a, {inner})));
  PT2_TRY(Tensor info, integers_of(batch.infos, batch_of(a)));
  return LuResults{std::move(lu), std::move(pivots), std::move(info)};
}
Result<TensorTriple> lu_factor_ex(const Tensor& a, bool pivot, bool check_errors) {
  PT2_TRY_VOID(check_pivot(pivot));
  PT2_TRY_VOID(check_matrices(a, "A"));
  return with_field(a, [&]<class T>() -> Result<TensorTriple> {
    PT2_TRY(const LuBatch<T> batch, factor_lu_batch<T>(a));
    PT2_TRY(LuResults out, lu_results(batch, a, check_errors));
    return TensorTriple(std::move(out.lu), std::move(out.pivots), std::move(out.info));
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
Result<TensorTriple> lu_unpack(const Tensor& data, const Tensor& pivots, bool unpack_data,
                               bool unpack_pivots) {
  PT2_TRY_VOID(check_matrices(data, "LU_data"));
  PT2_TRY(const std::vector<int64_t> numbers, pivot_numbers(pivots, data));
  const int64_t rows = rows_of(data);
  const int64_t columns = columns_of(data);
  const int64_t inner = std::min(rows, columns);
  return with_field(data, [&]<class T>() -> Result<TensorTriple> {
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
    auto part = [&](bool wanted, const Matrices<T>& matrices) {
      return wanted ? result_of(matrices.tensor(), data.dtype(), true) : empty_of(data.dtype());
    };
    PT2_TRY(Tensor permutation, part(unpack_pivots, p));
    PT2_TRY(Tensor lower, part(unpack_data, l));
    PT2_TRY(Tensor upper, part(unpack_data, u));
    return TensorTriple(std::move(permutation), std::move(lower), std::move(upper));
  });
}
Result<std::array<Meta, 3>> lu_meta(const Tensor& a, bool) {
  return lu_unpack_meta(a, a, true, true);
}
Result<TensorTriple> linalg_lu(const Tensor& a, bool pivot) {
  PT2_TRY(const auto parts, lu_factor_ex(a, pivot, false));
  return lu_unpack(std::get<0>(parts), std::get<1>(parts), true, true);
}

Result<Meta> lu_solve_meta(const Tensor& lu, const Tensor&, const Tensor& b, bool left, bool) {
  PT2_TRY_VOID(check_square(lu, "LU"));
  PT2_TRY_VOID(check_matrices(b, "B"));
  PT2_TRY(const auto pair, same_batch(lu, b));
  const Tensor& whole = std::get<1>(pair);
  return meta_of(b.dtype(), batch_of(whole), rows_of(whole), columns_of(whole), !left);
}
// Solves with the triangular factors themselves, so a singular matrix has a solution, too: an
// infinite one.
Result<Tensor> lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left,
                        bool adjoint) {
  PT2_TRY_VOID(check_same_dtype(b, lu, "B"));
  PT2_TRY(const Meta meta, lu_solve_meta(lu, pivots, b, left, adjoint));
  PT2_TRY(const auto parts, lu_unpack(lu, pivots, true, true));
  const auto& [p, l, u] = parts;
  const auto turned = [](const Tensor& x) { return apply(aten<"mH.default">, {x}); };
  const auto product = [](const Tensor& x, const Tensor& y) {
    return apply(aten<"matmul.default">, {x, y});
  };
  const auto solve = [](const Tensor& triangle, const Tensor& sides, bool upper, bool has_ones) {
    return apply(aten<"linalg_solve_triangular.default">, {triangle, sides, upper, true, has_ones});
  };
  // X A = B is solved as A^H X^H = B^H.
  PT2_TRY(Tensor x, left ? Result<Tensor>(b) : turned(b));
  if (adjoint == left) {
    PT2_TRY(const Tensor upper, turned(u));
    PT2_TRY(x, solve(upper, x, false, false));
    PT2_TRY(const Tensor lower, turned(l));
    PT2_TRY(x, solve(lower, x, true, true));
    PT2_TRY(x, product(p, x));
  } else {
    PT2_TRY(const Tensor order, turned(p));
    PT2_TRY(x, product(order, x));
    PT2_TRY(x, solve(l, x, false, true));
    PT2_TRY(x, solve(u, x, true, false));
  }
  if (!left) {
    PT2_TRY(x, turned(x));
  }
  PT2_TRY(Tensor out, allocate(meta));
  copy_elements(out, x);
  return out;
}

// --- Determinants

// A number of absolute value 1, or 0 if x is 0. As in torch.sgn, the phase of a real NaN is 0.
double phase_of(double x) { return static_cast<double>((x > 0) - (x < 0)); }
Complex phase_of(const Complex& x) { return x == Complex(0) ? x : x / std::abs(x); }

Result<TensorQuadruple> slogdet_parts(const Tensor& a) {
  PT2_TRY_VOID(check_square(a, "A"));
  // Factors the transpose, as for determinants: LAPACK reads it without a copy.
  const bool transposes = a.is_contiguous() && dtype_category(a.dtype()) != DtypeCategory::complex;
  PT2_TRY(const Tensor read, transposes ? transpose(a, -2, -1) : Result<Tensor>(a));
  return with_field(a, [&]<class T>() -> Result<TensorQuadruple> {
    PT2_TRY(LuBatch<T> batch, factor_lu_batch<T>(read));
    // The determinant of an empty matrix is 1.
    PT2_TRY(Tensor sign, allocate({a.dtype(), batch_of(a)}));
    PT2_TRY(Tensor logabsdet, allocate({real_dtype(a.dtype()), batch_of(a)}));
    if (columns_of(a) == 0) fill_elements(sign, 1);
    std::vector<double> logs;
    std::vector<T> signs;
    for (int64_t i = 0; i < batch.factors.count(); ++i) {
      T phase = 1;
      double log = 0;
      for (int64_t k = 0; k < columns_of(a); ++k) {
        const T diagonal = batch.factors[i].at(k, k);
        phase *= phase_of(diagonal);
        if (batch.pivots_of(i)[k] != k + 1) phase = -phase;
        log += std::log(std::abs(diagonal));
      }
      signs.push_back(phase);
      logs.push_back(log);
    }
    const auto count = static_cast<int64_t>(signs.size());
    store_elements<T>(signs.data(), count, sign.dtype(), 1, sign.raw_data());
    store_elements<double>(logs.data(), count, logabsdet.dtype(), 1, logabsdet.raw_data());
    PT2_TRY(LuResults parts, lu_results(batch, a, false));
    return TensorQuadruple(std::move(sign), std::move(logabsdet), std::move(parts.lu),
                           std::move(parts.pivots));
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
  return meta_of(b.dtype(), batch_of(whole), rows_of(whole), columns_of(whole), !left);
}
Result<Tensor> solve_triangular_matrices(const Tensor& self, const Tensor& b, bool upper, bool left,
                                         bool unitriangular) {
  PT2_TRY_VOID(solve_triangular_meta(self, b, upper, left, unitriangular));
  PT2_TRY(const auto pair, same_batch(self, b));
  return with_field(self, [&]<class T>() -> Result<Tensor> {
    // X A = B is solved as A^T X^T = B^T.
    const auto turned = [left](const Tensor& x) { return left ? x : *transpose(x, -2, -1); };
    PT2_TRY(Matrices<T> matrices, Matrices<T>::copy_of(turned(std::get<0>(pair))));
    PT2_TRY(Matrices<T> sides, Matrices<T>::copy_of(turned(std::get<1>(pair))));
    for (int64_t i = 0; i < sides.count(); ++i)
      solve_triangular(matrices[i], sides[i], upper == left, unitriangular);
    return result_of(turned(sides.tensor()), b.dtype());
  });
}
Result<Meta> cholesky_solve_meta(const Tensor& self, const Tensor& factor, bool upper) {
  return solve_triangular_meta(factor, self, upper, true, false);
}
Result<Tensor> cholesky_solve(const Tensor& self, const Tensor& factor, bool upper) {
  PT2_TRY_VOID(check_square(factor, "input2"));
  PT2_TRY(const Tensor adjoint, apply(aten<"mH.default">, {factor}));
  const Tensor& lower = upper ? adjoint : factor;
  PT2_TRY(const Tensor first, solve_triangular_matrices(lower, self, false, true, false));
  return solve_triangular_matrices(upper ? factor : adjoint, first, true, true, false);
}
Result<Tensor> cholesky_inverse(const Tensor& self, bool upper) {
  PT2_TRY_VOID(check_square(self, "self"));
  PT2_TRY(Tensor identity, apply(aten<"eye.default">, {columns_of(self), self.dtype()}));
  return cholesky_solve(identity, self, upper);
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
    composed<"aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)", lu_factor_ex_meta, lu_factor_ex>,
    op<"aten::_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)", lu_with_info>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)", lu_factor>,
    composed<"aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)", lu_meta, linalg_lu>,
    composed<"aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)", lu_unpack_meta, lu_unpack>,
    composed<"aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor", lu_solve_meta, lu_solve>,
    op<"aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor", old_lu_solve>.with({.autocast = AutocastRule::float32}),
    composed<"aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)", slogdet_meta, slogdet_parts>,
    op<"aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)", slogdet>,
    op<"aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", slogdet>.with({.same_as = "linalg_slogdet.default"}),
    op<"aten::logdet(Tensor self) -> Tensor", logdet>,
    composed<"aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor", solve_triangular_meta, solve_triangular_matrices>,
    composed<"aten::_cholesky_solve_helper(Tensor self, Tensor A, bool upper) -> Tensor", cholesky_solve_meta, cholesky_solve>,
    composed<"aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor", cholesky_solve_meta, cholesky_solve>.with({.autocast = AutocastRule::float32}),
    composed<"aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor", like_first, cholesky_inverse>.with({.autocast = AutocastRule::float32}),
};
// clang-format on

}  // namespace

std::span<const OpDef> lu_ops() { return kLuOps; }

}  // namespace pt2::ops
