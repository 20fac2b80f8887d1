// torch.linalg: factorisations, solvers and norms of batches of matrices.
#include <algorithm>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/linear/matrices.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"
#include "ops/pointwise/pointwise.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

constexpr std::string_view kSingular = "a singular matrix: zero on the diagonal";

Result<std::tuple<Tensor, Tensor, Tensor>> lu_determinant(const Tensor& a) {
  PT2_TRY_VOID(check_square(a, "A"));
  // Computes the determinant of the transpose, which LAPACK reads without a copy
  // (ATen/native/BatchLinearAlgebra.cpp _linalg_det).
  const bool transposes = a.is_contiguous() && dtype_category(a.dtype()) != DtypeCategory::complex;
  PT2_TRY(const Tensor read, transposes ? transpose(a, -2, -1) : Result<Tensor>(a));
  return with_field(a, [&]<class T>() -> Result<std::tuple<Tensor, Tensor, Tensor>> {
    PT2_TRY(LuBatch<T> batch, factor_lu_batch<T>(read));
    PT2_TRY(Tensor result, allocate({a.dtype(), batch_of(a)}));
    std::vector<T> numbers;
    for (int64_t i = 0; i < batch.factors.count(); ++i) {
      const MatrixView<T> lu = batch.factors[i];
      T product = 1;
      for (int64_t k = 0; k < lu.rows; ++k) {
        product *= lu.at(k, k);
        if (batch.pivots_of(i)[k] != k + 1) product = -product;
      }
      numbers.push_back(product);
    }
    if (numbers.empty())
      fill_elements(result, 1);
    else
      store_elements<T>(numbers.data(), result.numel(), a.dtype(), 1, result.raw_data());
    PT2_TRY(Tensor lu, result_of(batch.factors.tensor(), a.dtype()));
    PT2_TRY(Tensor places, integers_of(batch.pivots, batch_of(a, {columns_of(a)})));
    return std::tuple(std::move(result), std::move(lu), std::move(places));
  });
}
Result<std::array<Meta, 3>> lu_determinant_meta(const Tensor& a) {
  PT2_TRY_VOID(check_square(a, "A"));
  const int64_t n = columns_of(a);
  return std::array{Meta(a.dtype(), batch_of(a)), meta_of(a.dtype(), batch_of(a), n, n),
                    Meta(Dtype::int32, batch_of(a, {n}))};
}

Result<TensorPair> inverse_ex(const Tensor& a, bool check_errors) {
  PT2_TRY_VOID(check_square(a, "A"));
  return with_field(a, [&]<class T>() -> Result<TensorPair> {
    PT2_TRY(LuBatch<T> batch, factor_lu_batch<T>(a));
    PT2_TRY_VOID(check_info(batch.infos, check_errors, kSingular));
    PT2_TRY(Matrices<T> inverses, Matrices<T>::zeros(batch_of(a), rows_of(a), columns_of(a)));
    for (int64_t i = 0; i < inverses.count(); ++i) {
      set_identity(inverses[i]);
      solve_lu(batch.factors[i], batch.pivots_of(i), inverses[i]);
    }
    PT2_TRY(Tensor inverse, result_of(inverses.tensor(), a.dtype()));
    PT2_TRY(Tensor info, integers_of(batch.infos, batch_of(a)));
    return TensorPair(std::move(inverse), std::move(info));
  });
}
Result<std::array<Meta, 2>> inverse_ex_meta(const Tensor& a, bool) {
  PT2_TRY_VOID(check_square(a, "A"));
  return std::array{meta_of(a.dtype(), batch_of(a), rows_of(a), columns_of(a)),
                    Meta(Dtype::int32, batch_of(a))};
}

// True if B holds one vector per matrix instead of a matrix.
bool is_vectors(const Tensor& a, const Tensor& b) {
  if (b.dim() == 1) return true;
  return b.dim() == a.dim() - 1 &&
         std::equal(b.sizes().begin(), b.sizes().end(), a.sizes().begin());
}
struct SolveOperands {
  Tensor a, b;           // batch sizes are equal; vectors become matrices of one column
  bool vectors = false;  // true if B held vectors
};
Result<SolveOperands> solve_operands(const Tensor& a, const Tensor& b, bool left) {
  PT2_TRY_VOID(check_square(a, "A"));
  PT2_TRY_VOID(check_same_dtype(b, a, "B"));
  const bool vectors = is_vectors(a, b);
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
Result<TensorQuadruple> solve_with_factors(const Tensor& a, const Tensor& b, bool left,
                                           bool check_errors) {
  PT2_TRY(const SolveOperands operands, solve_operands(a, b, left));
  return with_field(a, [&]<class T>() -> Result<TensorQuadruple> {
    PT2_TRY(LuBatch<T> own, factor_lu_batch<T>(a));
    PT2_TRY_VOID(check_info(own.infos, check_errors, "a singular matrix: zero"));
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
    PT2_TRY(Tensor result, result_of(turned(sides.tensor()), a.dtype(), !left));
    if (operands.vectors) {
      PT2_TRY(const Tensor column, select(result, -1, 0));
      PT2_TRY(result, allocate(solution_meta(operands, left)));
      copy_elements(result, column);
    }
    PT2_TRY(Tensor lu, result_of(own.factors.tensor(), a.dtype()));
    PT2_TRY(Tensor pivots, integers_of(own.pivots, batch_of(a, {columns_of(a)})));
    PT2_TRY(Tensor info, integers_of(own.infos, batch_of(a)));
    return TensorQuadruple(std::move(result), std::move(lu), std::move(pivots), std::move(info));
  });
}
Result<std::array<Meta, 4>> solve_meta(const Tensor& a, const Tensor& b, bool left, bool) {
  PT2_TRY(const SolveOperands operands, solve_operands(a, b, left));
  const int64_t n = columns_of(a);
  return std::array{solution_meta(operands, left), meta_of(a.dtype(), batch_of(a), n, n),
                    Meta(Dtype::int32, batch_of(a, {n})), Meta(Dtype::int32, batch_of(a))};
}

Result<std::array<Meta, 2>> triangular_solve_meta(const Tensor& self, const Tensor& a, bool, bool,
                                                  bool) {
  PT2_TRY_VOID(check_square(a, "A"));
  PT2_TRY_VOID(check_matrices(self, "self"));
  PT2_TRY_VOID(check_same_dtype(self, a, "self"));
  if (self.size(self.dim() - 2) != a.size(a.dim() - 1))
    return operator_error("self: found sizes " + sizes_text(self.sizes()) + " for A of sizes " +
                          sizes_text(a.sizes()) + ", expected " +
                          std::to_string(a.size(a.dim() - 1)) + " rows");
  PT2_TRY(const auto pair, same_batch(a, self));
  const auto alike = [&](const Tensor& whole) {
    return meta_of(a.dtype(), batch_of(whole), rows_of(whole), columns_of(whole));
  };
  return std::array{alike(std::get<1>(pair)), alike(std::get<0>(pair))};
}
Result<TensorPair> triangular_solve(const Tensor& self, const Tensor& a, bool upper, bool transpose,
                                    bool unitriangular) {
  PT2_TRY_VOID(triangular_solve_meta(self, a, upper, transpose, unitriangular));
  PT2_TRY(const auto pair, same_batch(a, self));
  return with_field(a, [&]<class T>() -> Result<TensorPair> {
    const auto& [whole_a, whole_b] = pair;
    const auto turned = [transpose](const Tensor& x) {
      return transpose ? *ops::transpose(x, -2, -1) : x;
    };
    PT2_TRY(Matrices<T> matrices, Matrices<T>::copy_of(turned(whole_a)));
    PT2_TRY(Matrices<T> sides, Matrices<T>::copy_of(whole_b));
    for (int64_t i = 0; i < sides.count(); ++i)
      solve_triangular(matrices[i], sides[i], upper != transpose, unitriangular);
    PT2_TRY(Tensor solution, result_of(sides.tensor(), a.dtype()));
    PT2_TRY(Tensor coefficient, result_of(turned(matrices.tensor()), a.dtype()));
    return TensorPair(std::move(solution), std::move(coefficient));
  });
}

Result<TensorPair> cholesky_ex(const Tensor& self, bool upper, bool check_errors) {
  PT2_TRY_VOID(check_square(self, "self"));
  return with_field(self, [&]<class T>() -> Result<TensorPair> {
    const auto turned = [upper](const Tensor& x) { return upper ? *transpose(x, -2, -1) : x; };
    PT2_TRY(Matrices<T> matrices, Matrices<T>::copy_of(turned(self)));
    std::vector<int64_t> infos;
    for (int64_t i = 0; i < matrices.count(); ++i) infos.push_back(factor_cholesky(matrices[i]));
    PT2_TRY_VOID(check_info(infos, check_errors,
                            "a matrix that is not positive-definite: its leading minor"));
    PT2_TRY(Tensor factor, result_of(turned(matrices.tensor()), self.dtype()));
    PT2_TRY(Tensor info, integers_of(infos, batch_of(self)));
    return TensorPair(std::move(factor), std::move(info));
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
Result<TensorPair> qr(const Tensor& a, const std::string& mode) {
  PT2_TRY_VOID(qr_meta(a, mode));
  const int64_t inner = qr_inner(a, mode);
  return with_field(a, [&]<class T>() -> Result<TensorPair> {
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
    PT2_TRY(Tensor r, result_of(right.tensor(), a.dtype()));
    PT2_TRY(Tensor q, mode == "r" ? empty_of(a.dtype()) : result_of(left.tensor(), a.dtype()));
    return TensorPair(std::move(q), std::move(r));
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

// clang-format off
constexpr OpDef kLinalgOps[] = {
    composed<"aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)", lu_determinant_meta, lu_determinant>,
    op<"aten::linalg_det(Tensor A) -> Tensor", determinant>,
    op<"aten::det(Tensor self) -> Tensor", determinant>.with({.same_as = "linalg_det.default"}),
    composed<"aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)", inverse_ex_meta, inverse_ex>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_inv(Tensor A) -> Tensor", inverse>.with({.autocast = AutocastRule::float32}),
    op<"aten::inverse(Tensor self) -> Tensor", inverse>.with({.autocast = AutocastRule::float32, .same_as = "linalg_inv.default"}),
    op<"aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)", solve_of_factors>,
    op<"aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor", solve>.with({.autocast = AutocastRule::float32}),
    composed<"aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)", triangular_solve_meta, triangular_solve>.with({.autocast = AutocastRule::float32}),
    composed<"aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)", cholesky_ex_meta, cholesky_ex>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor", cholesky>.with({.autocast = AutocastRule::float32}),
    composed<"aten::linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)", qr_meta, qr>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", cross_meta, linalg_cross>,
    composed<"aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)", solve_meta, solve_with_factors>,
};
// clang-format on

}  // namespace

std::span<const OpDef> linalg_ops() { return kLinalgOps; }

}  // namespace pt2::ops
