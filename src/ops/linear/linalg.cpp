// torch.linalg: factorisations, solvers and norms of batches of matrices.
#include <algorithm>
#include <functional>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/linear/matrices.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/pointwise/pointwise.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

constexpr std::string_view kSingular = "a singular matrix: zero on the diagonal";

Result<void> lu_determinant(Tensor& result, Tensor& lu, Tensor& pivots, const Tensor& a) {
  return with_field(a, [&]<class T>() -> Result<void> {
    PT2_TRY(LuBatch<T> batch, factor_for_determinant<T>(a));
    Output<T> determinants(result);
    // The determinant of an empty matrix is 1.
    std::fill_n(determinants.data(), result.numel(), T(1));
    for (int64_t i = 0; i < batch.factors.count(); ++i)
      determinants[i] = batch.diagonal_product(i, std::identity());
    batch.store(lu, pivots);
    return {};
  });
}
Result<std::array<Meta, 3>> lu_determinant_meta(const Tensor& a) {
  PT2_TRY_VOID(check_square(a, "A"));
  const int64_t n = columns_of(a);
  return std::array{Meta(a.dtype(), batch_of(a)), meta_of(a.dtype(), batch_of(a), n, n),
                    Meta(Dtype::int32, batch_of(a, {n}))};
}

Result<void> inverse_ex(Tensor& inverse, Tensor& info, const Tensor& a, bool check_errors) {
  return with_field(a, [&]<class T>() -> Result<void> {
    PT2_TRY(LuBatch<T> batch, factor_lu_batch<T>(a));
    PT2_TRY_VOID(set_infos(info, batch.infos, check_errors, kSingular));
    PT2_TRY(Matrices<T> inverses, Matrices<T>::zeros(batch_of(a), rows_of(a), columns_of(a)));
    for (int64_t i = 0; i < inverses.count(); ++i) {
      set_identity(inverses[i]);
      solve_lu(batch.factors[i], batch.pivots_of(i), inverses[i]);
    }
    copy_elements(inverse, inverses.tensor());
    return {};
  });
}
Result<std::array<Meta, 2>> inverse_ex_meta(const Tensor& a, bool) {
  PT2_TRY_VOID(check_square(a, "A"));
  return std::array{meta_of(a.dtype(), batch_of(a), rows_of(a), columns_of(a)),
                    Meta(Dtype::int32, batch_of(a))};
}

struct SolveOperands {
  Tensor a, b;           // batch sizes are equal; vectors become matrices of one column
  bool vectors = false;  // true if B held vectors
};
Result<SolveOperands> solve_operands(const Tensor& a, const Tensor& b, bool left) {
  PT2_TRY_VOID(check_square(a, "A"));
  PT2_TRY_VOID(check_same_dtype(b, a, "B"));
  const bool vectors = b.dim() == 1 || holds_vectors(a, b);
  PT2_TRY(const Tensor columns, vectors ? unsqueeze(b, -1) : Result<Tensor>(b));
  PT2_TRY_VOID(check_matrices(columns, "B"));
  if (vectors && !left)
    return operator_error("B: found vectors with left=False, expected matrices");
  if (columns.size(columns.dim() - (left ? 2 : 1)) != a.size(a.dim() - 1))
    return operator_error("B: found sizes " + sizes_text(b.sizes()) + " for A of sizes " +
                          sizes_text(a.sizes()) + ", expected " +
                          std::to_string(a.size(a.dim() - 1)) + (left ? " rows" : " columns"));
  PT2_TRY(auto pair, same_batch(a, columns));
  return SolveOperands{std::move(std::get<0>(pair)), std::move(std::get<1>(pair)), vectors};
}
// The Meta of a solution. Vectors are laid out like matrices over all but the first batch dims
// (ATen/native/BatchLinearAlgebra.cpp _linalg_solve_ex).
Meta solution_meta(const SolveOperands& operands, bool left) {
  const Tensor& b = operands.b;
  if (!operands.vectors) return meta_of(b.dtype(), batch_of(b), rows_of(b), columns_of(b), !left);
  Sizes sizes = batch_of(b, {rows_of(b)});
  if (sizes.size() < 2) return Meta(b.dtype(), std::move(sizes));
  const int64_t columns = sizes.back();
  const int64_t rows = sizes[sizes.size() - 2];
  return meta_of(b.dtype(), Sizes(sizes.begin(), sizes.end() - 2), rows, columns);
}
Result<void> solve_with_factors(Tensor& result, Tensor& lu, Tensor& pivots, Tensor& info,
                                const Tensor& a, const Tensor& b, bool left, bool check_errors) {
  PT2_TRY(const SolveOperands operands, solve_operands(a, b, left));
  return with_field(a, [&]<class T>() -> Result<void> {
    PT2_TRY(LuBatch<T> own, factor_lu_batch<T>(a));
    PT2_TRY_VOID(set_infos(info, own.infos, check_errors, "a singular matrix: zero"));
    // X A = B is solved as A^T X^T = B^T.
    const auto turned = [left](const Tensor& x) { return left ? x : *transpose(x, -2, -1); };
    const bool same = left && operands.a.numel() == a.numel();
    LuBatch<T> other;
    if (!same) {
      PT2_TRY(other, factor_lu_batch<T>(turned(operands.a)));
    }
    LuBatch<T>& batch = same ? own : other;
    PT2_TRY(Matrices<T> sides, Matrices<T>::copy_of(turned(operands.b)));
    for (int64_t i = 0; i < sides.count(); ++i)
      solve_lu(batch.factors[i], batch.pivots_of(i), sides[i]);
    const Tensor solution = turned(sides.tensor());
    copy_elements(result, operands.vectors ? *select(solution, -1, 0) : solution);
    own.store(lu, pivots);
    return {};
  });
}
Result<std::array<Meta, 4>> solve_meta(const Tensor& a, const Tensor& b, bool left, bool) {
  PT2_TRY(const SolveOperands operands, solve_operands(a, b, left));
  const int64_t n = columns_of(a);
  return std::array{solution_meta(operands, left), meta_of(a.dtype(), batch_of(a), n, n),
                    Meta(Dtype::int32, batch_of(a, {n})), Meta(Dtype::int32, batch_of(a))};
}

Result<void> cholesky_ex(Tensor& factor, Tensor& info, const Tensor& self, bool upper,
                         bool check_errors) {
  return with_field(self, [&]<class T>() -> Result<void> {
    const auto turned = [upper](const Tensor& x) { return upper ? *transpose(x, -2, -1) : x; };
    PT2_TRY(Matrices<T> matrices, Matrices<T>::copy_of(turned(self)));
    std::vector<int64_t> infos;
    for (int64_t i = 0; i < matrices.count(); ++i) infos.push_back(factor_cholesky(matrices[i]));
    PT2_TRY_VOID(set_infos(info, infos, check_errors,
                           "a matrix that is not positive-definite: its leading minor"));
    copy_elements(factor, turned(matrices.tensor()));
    return {};
  });
}
Result<std::array<Meta, 2>> cholesky_ex_meta(const Tensor& self, bool, bool) {
  return inverse_ex_meta(self, false);
}

int64_t qr_inner(const Tensor& a, const std::string& mode) {
  return mode == "complete" ? rows_of(a) : std::min(rows_of(a), columns_of(a));
}
Result<std::array<Meta, 2>> qr_meta(const Tensor& a, const std::string& mode) {
  PT2_TRY_VOID(check_matrices(a, "A"));
  if (mode != "reduced" && mode != "complete" && mode != "r")
    return operator_error("found mode '" + mode + "', expected 'reduced', 'complete' or 'r'");
  const int64_t inner = qr_inner(a, mode);
  return std::array{
      mode == "r" ? Meta(a.dtype(), {0}) : meta_of(a.dtype(), batch_of(a), rows_of(a), inner),
      meta_of(a.dtype(), batch_of(a), inner, columns_of(a))};
}
Result<void> qr(Tensor& q, Tensor& r, const Tensor& a, const std::string& mode) {
  const int64_t inner = qr_inner(a, mode);
  return with_field(a, [&]<class T>() -> Result<void> {
    const int64_t count = std::min(rows_of(a), columns_of(a));
    PT2_TRY(Matrices<T> factors, Matrices<T>::copy_of(a));
    PT2_TRY(Matrices<T> left, Matrices<T>::zeros(batch_of(a), rows_of(a), mode == "r" ? 0 : inner));
    PT2_TRY(Matrices<T> right, Matrices<T>::zeros(batch_of(a), inner, columns_of(a)));
    std::vector<T> tau(factors.count() > 0 ? static_cast<size_t>(count) : 0);
    for (int64_t i = 0; i < std::max(factors.count(), left.count()); ++i) {
      factor_reflections(factors[i], tau.data());
      set_identity(left[i]);
      apply_reflections(factors[i], tau.data(), count, left[i], true, false);
      for (int64_t column = 0; column < columns_of(a); ++column)
        for (int64_t row = 0; row < std::min(column + 1, count); ++row)
          right[i].at(row, column) = factors[i].at(row, column);
    }
    if (mode != "r") copy_elements(q, left.tensor());
    copy_elements(r, right.tensor());
    return {};
  });
}

// --- Products and norms

Result<Meta> cross_meta(const Tensor& self, const Tensor& other, int64_t dim) {
  if (self.dim() != other.dim())
    return operator_error("found ranks " + std::to_string(self.dim()) + " and " +
                          std::to_string(other.dim()) + ", expected equal ones");
  PT2_TRY(const int64_t at, wrap_dim(dim, self.dim()));
  if (self.dim() == 0 || self.size(at) != 3 || other.size(at) != 3)
    return operator_error("found sizes " + sizes_text(self.sizes()) + " and " +
                          sizes_text(other.sizes()) + ", expected 3 in dim " + std::to_string(at));
  PT2_TRY_VOID(check_same_dtype(other, self, "other"));
  PT2_TRY(Meta meta, promoted(self, other));
  meta.strides.clear();
  return meta;
}
Result<void> linalg_cross(Tensor& out, const Tensor& self, const Tensor& other, int64_t dim) {
  PT2_TRY(const int64_t at, wrap_dim(dim, self.dim()));
  for (int64_t i = 0; i < 3; ++i) {
    PT2_TRY(Tensor target, select(out, at, i));
    PT2_TRY(const Tensor a1, select(self, at, (i + 1) % 3));
    PT2_TRY(const Tensor a2, select(self, at, (i + 2) % 3));
    PT2_TRY(const Tensor b1, select(other, at, (i + 1) % 3));
    PT2_TRY(const Tensor b2, select(other, at, (i + 2) % 3));
    with_compute_type(out.dtype(), [&]<class C>() {
      auto function = [](C p, C q, C r, C s) { return minus(times(p, s), times(q, r)); };
      elementwise<C>(target, out.dtype(), function, a1, a2, b1, b2);
    });
  }
  return {};
}

// --- Formulas (ATen/native/LinearAlgebra.cpp, BatchLinearAlgebra.cpp)

Result<Tensor> determinant(Emitter& e, const Tensor& a) {
  return e(aten<"_linalg_det.default">, {a});
}
Result<Tensor> inverse(Emitter& e, const Tensor& a) {
  return e(aten<"linalg_inv_ex.default">, {a, true});
}
Result<TensorPair> solve_of_factors(Emitter& e, const Tensor& a, const Tensor& b, bool left,
                                    bool check_errors) {
  PT2_TRY(auto parts, e.several<Tensor, Tensor, Tensor, Tensor>(aten<"_linalg_solve_ex.default">,
                                                                {a, b, left, check_errors}));
  return TensorPair(std::move(std::get<0>(parts)), std::move(std::get<3>(parts)));
}
Result<Tensor> solve(Emitter& e, const Tensor& a, const Tensor& b, bool left) {
  return e(aten<"_linalg_solve_ex.default">, {a, b, left, true});
}
Result<Tensor> cholesky(Emitter& e, const Tensor& self, bool upper) {
  return e(aten<"linalg_cholesky_ex.default">, {self, upper, true});
}
// Also returns the triangular matrices, column-major.
Result<TensorPair> triangular_solve(Emitter& e, const Tensor& self, const Tensor& a, bool upper,
                                    bool transpose, bool unitriangular) {
  PT2_TRY_VOID(check_square(a, "A"));
  PT2_TRY_VOID(check_matrices(self, "self"));
  const auto triangle = transpose ? e(aten<"mT.default">, {a}) : Result<Tensor>(a);
  PT2_TRY(Tensor solution, e(aten<"linalg_solve_triangular.default">,
                             {triangle, self, upper != transpose, true, unitriangular}));
  const Sizes sizes = batch_of(solution, {rows_of(a), columns_of(a)});
  PT2_TRY(Tensor coefficient, in_columns(e, e(aten<"expand.default">, {a, sizes})));
  return TensorPair(std::move(solution), std::move(coefficient));
}

// clang-format off
constexpr OpDef kLinalgOps[] = {
    op<"aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)", lu_determinant_meta, lu_determinant>,
    op<"aten::linalg_det(Tensor A) -> Tensor", determinant>,
    op<"aten::det(Tensor self) -> Tensor", determinant>.with({.same_as = "linalg_det.default"}),
    op<"aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)", inverse_ex_meta, inverse_ex>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_inv(Tensor A) -> Tensor", inverse>.with({.autocast = AutocastRule::float32}),
    op<"aten::inverse(Tensor self) -> Tensor", inverse>.with({.autocast = AutocastRule::float32, .same_as = "linalg_inv.default"}),
    op<"aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)", solve_of_factors>,
    op<"aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor", solve>.with({.autocast = AutocastRule::float32}),
    kept<"aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)", triangular_solve>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)", cholesky_ex_meta, cholesky_ex>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor", cholesky>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)", qr_meta, qr>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", cross_meta, linalg_cross>,
    op<"aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)", solve_meta, solve_with_factors>,
};
// clang-format on

}  // namespace

std::span<const OpDef> linalg_ops() { return kLinalgOps; }

}  // namespace pt2::ops
