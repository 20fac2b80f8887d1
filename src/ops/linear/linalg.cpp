// torch.linalg: factorisations, solvers and norms of batches of matrices.
#include <algorithm>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/linear/matrices.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"
#include "ops/pointwise/pointwise.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

constexpr std::string_view kSingular = "a singular matrix: zero on the diagonal";

Result<std::tuple<Tensor, Tensor, Tensor>> lu_determinant(const Tensor& a) {
  PT2_TRY_VOID(check_square(a, "A"));
  // The determinant of the transpose, which LAPACK reads without a copy
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
Result<Tensor> determinant(const Tensor& a) {
  PT2_TRY(auto parts, lu_determinant(a));
  return std::move(std::get<0>(parts));
}

struct Inverses {
  Tensor inverse;
  std::vector<int64_t> infos;
};
Result<Inverses> inverses_of(const Tensor& a, bool check_errors) {
  PT2_TRY_VOID(check_square(a, "A"));
  return with_field(a, [&]<class T>() -> Result<Inverses> {
    PT2_TRY(LuBatch<T> batch, factor_lu_batch<T>(a));
    PT2_TRY_VOID(check_info(batch.infos, check_errors, kSingular));
    PT2_TRY(Matrices<T> inverses, Matrices<T>::zeros(batch_of(a), rows_of(a), columns_of(a)));
    for (int64_t i = 0; i < inverses.count(); ++i) {
      set_identity(inverses[i]);
      solve_lu(batch.factors[i], batch.pivots_of(i), inverses[i]);
    }
    PT2_TRY(Tensor inverse, result_of(inverses.tensor(), a.dtype()));
    return Inverses{std::move(inverse), std::move(batch.infos)};
  });
}
Result<TensorPair> inverse_ex(const Tensor& a, bool check_errors) {
  PT2_TRY(Inverses inverses, inverses_of(a, check_errors));
  PT2_TRY(Tensor info, integers_of(inverses.infos, batch_of(a)));
  return TensorPair(std::move(inverses.inverse), std::move(info));
}
Result<Tensor> inverse(const Tensor& a) {
  PT2_TRY(Inverses inverses, inverses_of(a, true));
  return std::move(inverses.inverse);
}

// B may be one vector per matrix instead of a matrix.
bool is_vectors(const Tensor& a, const Tensor& b) {
  if (b.dim() == 1) return true;
  return b.dim() == a.dim() - 1 &&
         std::equal(b.sizes().begin(), b.sizes().end(), a.sizes().begin());
}
Result<TensorPair> solve_ex(const Tensor& a, const Tensor& b, bool left, bool check_errors) {
  PT2_TRY_VOID(check_square(a, "A"));
  PT2_TRY_VOID(check_same_dtype(b, a, "B"));
  const bool vectors = is_vectors(a, b);
  PT2_TRY(const Tensor columns, vectors ? unsqueeze(b, -1) : Result<Tensor>(b));
  PT2_TRY_VOID(check_matrices(columns, "B"));
  if (vectors && !left) return operator_error("found vectors on the left, expected matrices");
  if (columns.size(columns.dim() - (left ? 2 : 1)) != a.size(a.dim() - 1))
    return operator_error("found B of sizes " + sizes_text(b.sizes()) + " for A of sizes " +
                          sizes_text(a.sizes()));
  PT2_TRY(const auto pair, same_batch(a, columns));
  const auto& [whole_a, whole_b] = pair;
  return with_field(a, [&]<class T>() -> Result<TensorPair> {
    // X A = B is A^T X^T = B^T.
    const auto turned = [left](const Tensor& x) { return left ? x : *transpose(x, -2, -1); };
    PT2_TRY(LuBatch<T> batch, factor_lu_batch<T>(turned(whole_a)));
    PT2_TRY_VOID(check_info(batch.infos, check_errors, kSingular));
    PT2_TRY(Matrices<T> sides, Matrices<T>::copy_of(turned(whole_b)));
    for (int64_t i = 0; i < sides.count(); ++i)
      solve_lu(batch.factors[i], batch.pivots_of(i), sides[i]);
    PT2_TRY(Tensor result, result_of(turned(sides.tensor()), a.dtype(), !left));
    if (vectors) {
      PT2_TRY(result, select(result, -1, 0));
    }
    PT2_TRY(Tensor info, integers_of(batch.infos, batch_of(whole_a)));
    return TensorPair(std::move(result), std::move(info));
  });
}
Result<Tensor> solve(const Tensor& a, const Tensor& b, bool left) {
  PT2_TRY(auto parts, solve_ex(a, b, left, true));
  return std::move(std::get<0>(parts));
}

Result<TensorPair> triangular_solve(const Tensor& self, const Tensor& a, bool upper, bool transpose,
                                    bool unitriangular) {
  PT2_TRY_VOID(check_square(a, "A"));
  PT2_TRY_VOID(check_matrices(self, "self"));
  PT2_TRY_VOID(check_same_dtype(self, a, "self"));
  if (self.size(self.dim() - 2) != a.size(a.dim() - 1))
    return operator_error("found sizes " + sizes_text(self.sizes()) + " for A of sizes " +
                          sizes_text(a.sizes()));
  PT2_TRY(const auto pair, same_batch(a, self));
  const auto& [whole_a, whole_b] = pair;
  return with_field(a, [&]<class T>() -> Result<TensorPair> {
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
Result<Tensor> cholesky(const Tensor& self, bool upper) {
  PT2_TRY(auto parts, cholesky_ex(self, upper, true));
  return std::move(std::get<0>(parts));
}

Result<TensorPair> qr(const Tensor& a, const std::string& mode) {
  PT2_TRY_VOID(check_matrices(a, "A"));
  if (mode != "reduced" && mode != "complete" && mode != "r")
    return operator_error("found mode '" + mode + "', expected 'reduced', 'complete' or 'r'");
  const int64_t inner = mode == "complete" ? rows_of(a) : std::min(rows_of(a), columns_of(a));
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
    PT2_TRY(Tensor q,
            mode == "r" ? allocate({a.dtype(), {0}}) : result_of(left.tensor(), a.dtype()));
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
  PT2_TRY(Meta meta, promoted(self, other));
  meta.strides.clear();
  return meta;
}
Result<void> cross(Tensor& out, const Tensor& self, const Tensor& other, int64_t dim) {
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

using OptionalScalar = std::optional<Scalar>;
using OptionalSizes = std::optional<Sizes>;

Value dims_value(const OptionalSizes& dims) { return dims ? box(*dims) : Value(); }

// The largest or smallest singular value, 0 when there is none: ord 2 and -2.
Result<Tensor> spectral_norm(const Tensor& self, bool largest, const Sizes& axes, bool keepdim,
                             Dtype dtype) {
  PT2_TRY(const Tensor last, movedim(self, axes, {-2, -1}));
  PT2_TRY(const Tensor values, singular_values(last));
  PT2_TRY(Tensor wide, columns_of(last) == 0 || rows_of(last) == 0
                           ? allocate({Dtype::float64, batch_of(last)})
                           : select(values, -1, largest ? 0 : -1));
  for (int64_t axis : {std::min(axes[0], axes[1]), std::max(axes[0], axes[1])}) {
    if (!keepdim) break;
    PT2_TRY(wide, unsqueeze(wide, axis));
  }
  return copy_as(wide, dtype, std::nullopt);
}
// The largest or smallest of the sums along one dimension: ord 1, -1, inf, -inf.
Result<Tensor> matrix_norm(const Tensor& self, double ord, const Sizes& dims, bool keepdim,
                           Value dtype) {
  PT2_TRY(const auto axes, wrap_distinct_dims(dims, self.dim()));
  const double magnitude = std::fabs(ord);
  if (magnitude == 2) {
    PT2_TRY_VOID(check_floating_or_complex(self, "self"));
    const auto* given = dtype.get_if<Dtype>();
    return spectral_norm(self, ord > 0, axes, keepdim, given ? *given : real_dtype(self.dtype()));
  }
  if (magnitude != 1 && !std::isinf(magnitude))
    return operator_error("found ord " + std::to_string(ord) +
                          ", expected 1, 2 or inf, or their negatives");
  const int64_t summed = axes[magnitude == 1 ? 0 : 1];
  const int64_t chosen = axes[magnitude == 1 ? 1 : 0];
  PT2_TRY(const Tensor sums, apply(aten<"linalg_vector_norm.default">,
                                   {self, 1.0, Value::List{summed}, true, std::move(dtype)}));
  // The maximum of no norms is 0, the minimum an error.
  const Handle choose = ord < 0                  ? Handle(aten<"amin.default">)
                        : self.size(chosen) == 0 ? Handle(aten<"sum.dim_IntList">)
                                                 : aten<"amax.default">;
  PT2_TRY(const Tensor norm, apply(choose, {sums, Value::List{chosen}, true}));
  return keepdim ? Result<Tensor>(norm) : apply(aten<"squeeze.dims">, {norm, box(axes)});
}
Result<Tensor> norm(const Tensor& self, const OptionalScalar& ord, const OptionalSizes& dim,
                    bool keepdim, std::optional<Dtype> dtype) {
  const Value result_dtype = dtype ? Value(*dtype) : Value();
  if (dim && dim->size() != 1 && dim->size() != 2)
    return operator_error("found " + std::to_string(dim->size()) + " dims, expected 1 or 2");
  if (!dim && ord && self.dim() != 1 && self.dim() != 2)
    return operator_error("found rank " + std::to_string(self.dim()) +
                          " without dims, expected 1 or 2");
  const size_t dims = dim ? dim->size() : (ord ? self.sizes().size() : 1);
  if (ord && dims == 2)
    return matrix_norm(self, ord->to_double(), dim.value_or(Sizes{0, 1}), keepdim, result_dtype);
  return apply(aten<"linalg_vector_norm.default">,
               {self, ord ? ord->to_double() : 2.0, dims_value(dim), keepdim, result_dtype});
}

// clang-format off
constexpr OpDef kOps[] = {
    op<"aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)", lu_determinant>,
    op<"aten::linalg_det(Tensor A) -> Tensor", determinant>.with({.composite = true}),
    op<"aten::det(Tensor self) -> Tensor", determinant>.with({.composite = true}),
    op<"aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)", inverse_ex>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_inv(Tensor A) -> Tensor", inverse>.with({.autocast = AutocastRule::float32, .composite = true}),
    op<"aten::inverse(Tensor self) -> Tensor", inverse>.with({.autocast = AutocastRule::float32, .composite = true}),
    op<"aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)", solve_ex>.with({.composite = true}),
    op<"aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor", solve>.with({.autocast = AutocastRule::float32, .composite = true}),
    op<"aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)", triangular_solve>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)", cholesky_ex>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor", cholesky>.with({.autocast = AutocastRule::float32, .composite = true}),
    op<"aten::linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)", qr>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", cross_meta, cross>,
    op<"aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", norm>.with({.composite = true}),
};
// clang-format on

}  // namespace

std::span<const OpDef> linalg_ops() { return kOps; }

}  // namespace pt2::ops
