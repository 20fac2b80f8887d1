// torch.linalg: singular values, eigenvalues of Hermitian matrices, and what follows from them:
// ranks, pseudoinverses, least squares.
#include <algorithm>
#include <limits>
#include <tuple>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/linear/matrices.h"
#include "ops/loops.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

using OptionalString = std::optional<std::string>;

// --- Singular values

struct WideSvd {
  Tensor u;
  Tensor s;
  Tensor vh;
};
Result<WideSvd> wide_svd(const Tensor& a, bool full_matrices) {
  PT2_TRY_VOID(check_svd_operand(a));
  const int64_t rank = std::min(rows_of(a), columns_of(a));
  return with_field(a, [&]<class T>() -> Result<WideSvd> {
    PT2_TRY(Matrices<T> u,
            Matrices<T>::zeros(batch_of(a), rows_of(a), full_matrices ? rows_of(a) : rank));
    PT2_TRY(Matrices<T> vh,
            Matrices<T>::zeros(batch_of(a), full_matrices ? columns_of(a) : rank, columns_of(a)));
    PT2_TRY(Tensor s, allocate({Dtype::float64, batch_of(a, {rank})}));
    PT2_TRY(Matrices<T> matrices, Matrices<T>::copy_of(a));
    for (int64_t i = 0; i < matrices.count(); ++i)
      factor_svd(matrices[i], s.data<double>() + i * rank, u[i], vh[i], precision_of(a));
    // An empty matrix may have any basis: use the identity.
    for (int64_t i = 0; rank == 0 && i < u.count(); ++i) set_identity(u[i]);
    for (int64_t i = 0; rank == 0 && i < vh.count(); ++i) set_identity(vh[i]);
    return WideSvd{u.tensor(), s, vh.tensor()};
  });
}

Result<void> inner_svd(Tensor& u, Tensor& s, Tensor& vh, const Tensor& a, bool full_matrices,
                       bool compute_uv, const OptionalString&) {
  if (!compute_uv) {
    PT2_TRY(const Tensor values, singular_values(a));
    copy_elements(s, values);
    return {};
  }
  PT2_TRY(const WideSvd svd, wide_svd(a, full_matrices));
  copy_elements(u, svd.u);
  copy_elements(s, svd.s);
  copy_elements(vh, svd.vh);
  return {};
}
Result<std::array<Meta, 3>> inner_svd_meta(const Tensor& a, bool full_matrices, bool compute_uv,
                                           const OptionalString&) {
  PT2_TRY_VOID(check_matrices(a, "A"));
  const int64_t rows = rows_of(a), columns = columns_of(a), rank = std::min(rows, columns);
  Meta s(real_dtype(a.dtype()), batch_of(a, {rank}));
  if (!compute_uv) return std::array{Meta(a.dtype(), {0}), std::move(s), Meta(a.dtype(), {0})};
  return std::array{meta_of(a.dtype(), batch_of(a), rows, full_matrices ? rows : rank),
                    std::move(s),
                    meta_of(a.dtype(), batch_of(a), full_matrices ? columns : rank, columns)};
}

// --- Eigenvalues of Hermitian matrices

Result<std::array<Meta, 2>> eigh_meta(const Tensor& a, const std::string& uplo, bool compute_v) {
  PT2_TRY_VOID(check_square(a, "A"));
  if (uplo != "U" && uplo != "u" && uplo != "L" && uplo != "l")
    return operator_error("UPLO: found '" + uplo + "', expected 'L' or 'U'");
  const int64_t n = columns_of(a);
  return std::array{Meta(real_dtype(a.dtype()), batch_of(a, {n})),
                    compute_v ? meta_of(a.dtype(), batch_of(a), n, n) : Meta(a.dtype(), {0})};
}
Result<void> eigh_parts(Tensor& l, Tensor& v, const Tensor& a, const std::string& uplo,
                        bool compute_v) {
  const bool upper = uplo == "U" || uplo == "u";
  return with_field(a, [&]<class T>() -> Result<void> {
    PT2_TRY(Matrices<T> matrices, Matrices<T>::copy_of(a));
    Output<double> values(l);
    for (int64_t i = 0; i < matrices.count(); ++i)
      factor_hermitian(matrices[i], values.data() + i * columns_of(a), upper, compute_v,
                       precision_of(a));
    if (compute_v) copy_elements(v, matrices.tensor());
    return {};
  });
}

// --- Rank, pseudoinverse, least squares

double machine_epsilon(Dtype dtype) {
  return real_dtype(dtype) == Dtype::float64 ? std::numeric_limits<double>::epsilon()
                                             : std::numeric_limits<float>::epsilon();
}

// Singular values of at most max(atol, rtol * the largest) count as zero.
struct Tolerances {
  double absolute = 0;
  double relative = 0;
};
Tolerances tolerances_of(const Tensor& a, std::optional<double> atol, std::optional<double> rtol) {
  const double size = static_cast<double>(std::max(rows_of(a), columns_of(a)));
  const double fallback = atol.value_or(0) > 0 ? 0 : size * machine_epsilon(a.dtype());
  return {atol.value_or(0), rtol.value_or(fallback)};
}
double cutoff(std::span<const double> values, const Tolerances& tolerances) {
  const double largest = values.empty() ? 0 : values.front();
  return std::max(tolerances.absolute, tolerances.relative * largest);
}

// The matrices, repeated for every tolerance: the batch sizes of self, atol and rtol broadcast.
// Empty matrices are not repeated.
Result<Tensor> for_tolerances(const Tensor& self, const OptionalTensor& atol,
                              const OptionalTensor& rtol) {
  PT2_TRY_VOID(check_matrices(self, "self"));
  if (self.numel() == 0) return self;
  const Sizes none;
  const std::array all{batch_of(self), atol ? atol->sizes() : none, rtol ? rtol->sizes() : none};
  PT2_TRY(Sizes sizes, broadcast_sizes(all));
  sizes.insert(sizes.end(), {rows_of(self), columns_of(self)});
  return broadcast_to(self, sizes);
}

// The row of `values` that belongs to matrix `i`.
std::span<const double> values_of(const Tensor& values, int64_t i) {
  const int64_t count = values.sizes().back();
  return {values.data<double>() + i * count, static_cast<size_t>(count)};
}

// The Hermitian matrices that have the lower triangles of `a`.
Result<Tensor> hermitian_of(const Tensor& a) {
  PT2_TRY_VOID(check_square(a, "self"));
  const auto lower = apply(aten<"tril.default">, {a, -1});
  const auto sides = apply(aten<"add.Tensor">, {lower, apply(aten<"mH.default">, {lower})});
  // Imaginary parts of the diagonal are ignored.
  const auto diagonal = apply(aten<"diagonal.default">, {a, int64_t{0}, -2, -1});
  const auto numbers = apply(aten<"real.default">, {diagonal});
  return apply(aten<"add.Tensor">, {sides, apply(aten<"diag_embed.default">, {numbers})});
}
Result<void> pinv_tensors(Tensor& out, const Tensor& self, const OptionalTensor& atol,
                          const OptionalTensor& rtol, bool hermitian) {
  if (out.numel() == 0) return {};  // a batch may hold any number of empty matrices
  PT2_TRY(Tensor matrices, for_tolerances(self, atol, rtol));
  if (hermitian) {
    PT2_TRY(matrices, hermitian_of(matrices));
  }
  const auto of_batch = [&](const OptionalTensor& tensor) {
    return broadcast_to(tensor.value_or(Tensor::zeros(Dtype::float64, {})), batch_of(matrices));
  };
  const Input<double> absolute(of_batch(atol)), relative(of_batch(rtol));
  PT2_TRY(WideSvd svd, wide_svd(matrices, false));
  for (int64_t i = 0; i < absolute.size(); ++i) {
    std::optional<double> given;
    if (rtol) given = relative[i];
    const double least = cutoff(values_of(svd.s, i), tolerances_of(self, absolute[i], given));
    double* values = svd.s.data<double>() + i * svd.s.sizes().back();
    for (int64_t j = 0; j < svd.s.sizes().back(); ++j)
      values[j] = values[j] > least ? 1 / values[j] : 0;
  }
  PT2_TRY(const Tensor row, unsqueeze(svd.s, -2));
  const auto scaled = apply(aten<"mul.Tensor">, {apply(aten<"mH.default">, {svd.vh}), row});
  PT2_TRY(const Tensor inverse,
          apply(aten<"matmul.default">, {scaled, apply(aten<"mH.default">, {svd.u})}));
  copy_elements(out, inverse);
  return {};
}
Result<Meta> pinv_meta(const Tensor& self, const OptionalTensor& atol, const OptionalTensor& rtol,
                       bool) {
  PT2_TRY(const Tensor matrices, for_tolerances(self, atol, rtol));
  for (const OptionalTensor* each : {&atol, &rtol})
    if (*each) PT2_TRY_VOID(check_not_complex(**each, "a tolerance"));
  return meta_of(self.dtype(), batch_of(matrices), columns_of(self), rows_of(self), true);
}

// The number of the matrices' singular values, `all`, above both tolerances.
Result<Tensor> rank_with(const Tensor& self, const Tensor& all, const Tolerances& tolerances) {
  PT2_TRY(Tensor out, allocate({Dtype::int64, batch_of(self)}));
  for (int64_t i = 0; all.numel() > 0 && i < out.numel(); ++i) {
    const auto values = values_of(all, i);
    const double least = cutoff(values, tolerances);
    out.data<int64_t>()[i] =
        std::ranges::count_if(values, [least](double value) { return value > least; });
  }
  return out;
}

// The solution in LAPACK's layout: column-major, with columns as long as those of the right-hand
// side, because LAPACK overwrites the right-hand side.
Result<Meta> solution_meta(const Tensor& self, const Tensor& columns) {
  const std::array batches{batch_of(self), batch_of(columns)};
  PT2_TRY(Sizes sizes, broadcast_sizes(batches));
  const int64_t height = columns_of(self), width = columns_of(columns);
  Sizes buffer = sizes;
  buffer.insert(buffer.end(), {width, std::max(rows_of(self), height)});
  if (!checked_numel(buffer))
    return operator_error("b: found " + columns.type_text() +
                          ", expected sizes whose product fits in 64 bits");
  Sizes strides = contiguous_strides(buffer);
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  sizes.insert(sizes.end(), {height, width});
  return Meta(self.dtype(), std::move(sizes), std::move(strides));
}
// Checks the operands and returns b as matrices.
Result<Tensor> lstsq_columns(const Tensor& self, const Tensor& b, const std::string& method) {
  PT2_TRY_VOID(check_matrices(self, "self"));
  PT2_TRY_VOID(check_same_dtype(b, self, "b"));
  if (method != "gels" && method != "gelsy" && method != "gelsd" && method != "gelss")
    return operator_error("driver: found '" + method + "', expected gels, gelsy, gelsd or gelss");
  PT2_TRY(Tensor columns, holds_vectors(self, b) ? unsqueeze(b, -1) : Result<Tensor>(b));
  PT2_TRY_VOID(check_rank_at_least(columns, 2, "b"));
  if (rows_of(columns) != rows_of(self))
    return operator_error("b: found " + b.type_text() + ", expected the rows of " +
                          self.type_text());
  return columns;
}
// Residuals exist only for overdetermined systems of full rank, which gels assumes. The default
// driver, gelsy, computes the rank but no singular values.
Result<std::array<Meta, 4>> lstsq_meta(const Tensor& self, const Tensor& b,
                                       const std::optional<double>&, const OptionalString& driver) {
  const std::string method = driver.value_or("gelsy");
  PT2_TRY(const Tensor columns, lstsq_columns(self, b, method));
  const Dtype real = real_dtype(self.dtype());
  PT2_TRY(Meta solution, solution_meta(self, columns));
  Meta residuals(real, {0});
  if (method != "gelsy" && rows_of(self) > columns_of(self)) {
    if (method != "gels")
      return Error{ErrorCode::unsupported, "the size of the residuals depends on elements", ""};
    residuals.sizes = solution.sizes;
    residuals.sizes.erase(residuals.sizes.end() - 2);
  }
  if (holds_vectors(self, b))
    for (Sizes* numbers : {&solution.sizes, &solution.strides}) numbers->pop_back();
  const bool has_values = method == "gelsd" || method == "gelss";
  return std::array{
      std::move(solution), std::move(residuals),
      Meta(Dtype::int64, method == "gels" ? Sizes{0} : batch_of(self)),
      Meta(real,
           has_values ? batch_of(self, {std::min(rows_of(self), columns_of(self))}) : Sizes{0})};
}
Result<TensorQuadruple> lstsq(const Tensor& self, const Tensor& b,
                              const std::optional<double>& rcond, const OptionalString& driver) {
  const std::string method = driver.value_or("gelsy");
  PT2_TRY(const Tensor columns, lstsq_columns(self, b, method));
  PT2_TRY(const Meta layout, solution_meta(self, columns));
  const auto inverse = apply(aten<"linalg_pinv.atol_rtol_float">, {self, 0.0, rcond});
  PT2_TRY(const Tensor product, apply(aten<"matmul.default">, {inverse, columns}));
  PT2_TRY(const Tensor singular, singular_values(self));
  PT2_TRY(Tensor ranks, rank_with(self, singular, tolerances_of(self, 0.0, rcond)));
  Tensor residuals = Tensor::zeros(real_dtype(self.dtype()), {0});
  const Input<int64_t> found(ranks);
  const bool full = std::all_of(found.data(), found.data() + found.size(),
                                [&](int64_t r) { return r == columns_of(self); });
  if (method != "gelsy" && (full || method == "gels") && rows_of(self) > columns_of(self)) {
    const auto fitted = apply(aten<"matmul.default">, {self, product});
    const auto size = apply(aten<"abs.default">, {apply(aten<"sub.Tensor">, {fitted, columns})});
    const auto square = apply(aten<"mul.Tensor">, {size, size});
    PT2_TRY(residuals, apply(aten<"sum.dim_IntList">, {square, Value::List{int64_t{-2}}}));
  }
  PT2_TRY(Tensor solution, allocate(layout));
  copy_elements(solution, product);
  if (holds_vectors(self, b)) {
    PT2_TRY(solution, select(solution, -1, 0));
  }
  const bool has_values = method == "gelsd" || method == "gelss";
  PT2_TRY(Tensor values,
          allocate({real_dtype(self.dtype()), has_values ? singular.sizes() : Sizes{0}}));
  if (has_values) copy_elements(values, singular);
  if (method == "gels") ranks = Tensor::zeros(Dtype::int64, {0});
  return TensorQuadruple(std::move(solution), std::move(residuals), std::move(ranks),
                         std::move(values));
}

// Error for the first matrix that an `_ex` operator could not factor.
Result<void> check_errors(const Tensor& info, const std::string& api_name, bool) {
  const Input<int64_t> numbers(info);
  for (int64_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] != 0)
      return operator_error(api_name + ": found info " + std::to_string(numbers[i]) +
                            " for matrix " + std::to_string(i));
  return {};
}

// --- Formulas (ATen/native/BatchLinearAlgebra.cpp, LinearAlgebra.cpp)

Result<TensorTriple> linalg_svd(Emitter& e, const Tensor& a, bool full_matrices,
                                const OptionalString& driver) {
  return e.several<Tensor, Tensor, Tensor>(aten<"_linalg_svd.default">,
                                           {a, full_matrices, true, driver});
}
Result<Tensor> svdvals(Emitter& e, const Tensor& a, const OptionalString& driver) {
  PT2_TRY(auto parts, e.several<Tensor, Tensor>(aten<"_linalg_svd.default">,
                                                {a, false, e.requires_grad(a), driver}));
  return std::move(std::get<1>(parts));
}
// A = U H, computed from the singular vectors. The columns of U are orthonormal, H is Hermitian.
Result<std::tuple<Tensor, Tensor>> polar(Emitter& e, const Tensor& a) {
  PT2_TRY_VOID(check_matrices(a, "A"));
  if (rows_of(a) < columns_of(a))
    return operator_error("A: found " + a.type_text() + ", expected no more columns than rows");
  PT2_TRY(const auto parts, linalg_svd(e, a, false, std::nullopt));
  const auto& [u, s, vh] = parts;
  PT2_TRY(Tensor basis, e(aten<"matmul.default">, {u, vh}));
  const auto scaled = e(aten<"mul.Tensor">, {e(aten<"unsqueeze.default">, {s, -1}), vh});
  const auto product = e(aten<"matmul.default">, {e(aten<"mH.default">, {vh}), scaled});
  const auto twice = e(aten<"add.Tensor">, {product, e(aten<"mH.default">, {product})});
  PT2_TRY(Tensor hermitian, e(aten<"mul.Scalar">, {twice, 0.5}));
  return std::tuple(std::move(basis), std::move(hermitian));
}
// torch.svd returns V instead of its adjoint. If it computes no vectors, it returns zeros for them.
Result<TensorTriple> old_svd(Emitter& e, const Tensor& self, bool some, bool compute_uv) {
  PT2_TRY_VOID(check_matrices(self, "self"));
  if (compute_uv) {
    PT2_TRY(auto parts, linalg_svd(e, self, !some, std::nullopt));
    PT2_TRY(std::get<2>(parts), e(aten<"mH.default">, {std::get<2>(parts)}));
    return parts;
  }
  PT2_TRY(Tensor s, svdvals(e, self, std::nullopt));
  const auto zeros = [&](int64_t size) {
    return e(aten<"zeros.default">, {batch_of(self, {size, size}), self.dtype()});
  };
  PT2_TRY(Tensor u, zeros(rows_of(self)));
  // An adjoint, as when vectors are computed.
  PT2_TRY(Tensor v, e(aten<"mT.default">, {zeros(columns_of(self))}));
  return TensorTriple(std::move(u), std::move(s), std::move(v));
}

Result<TensorPair> eigh(Emitter& e, const Tensor& self, const std::string& uplo) {
  return e.several<Tensor, Tensor>(aten<"_linalg_eigh.default">, {self, uplo, true});
}
Result<Tensor> eigvalsh(Emitter& e, const Tensor& self, const std::string& uplo) {
  return e(aten<"_linalg_eigh.default">, {self, uplo, e.requires_grad(self)});
}

// A tolerance as a tensor.
Result<Tensor> tolerance(Emitter& e, double number) {
  return e(aten<"full.default">, {Sizes{}, number, Dtype::float64});
}
// A relative tolerance that is not given depends on the absolute one.
Result<Tensor> relative_tolerance(Emitter& e, const Tensor& self, const OptionalTensor& atol,
                                  const OptionalTensor& rtol) {
  if (rtol) return *rtol;
  const auto fallback = tolerance(e, tolerances_of(self, 0, {}).relative);
  if (!atol) return fallback;
  return e(aten<"where.self">, {e(aten<"gt.Scalar">, {*atol, 0}), tolerance(e, 0), fallback});
}

// What counts as zero among `sizes`, which descend unless the matrix is Hermitian.
Result<Tensor> zero_threshold(Emitter& e, const Result<Tensor>& sizes, const Result<Tensor>& atol,
                              const Result<Tensor>& rtol, bool hermitian) {
  const auto largest = hermitian ? e(aten<"amax.default">, {sizes, Sizes{-1}, true})
                                 : e(aten<"narrow.default">, {sizes, -1, 0, 1});
  return e(aten<"maximum.default">,
           {e(aten<"unsqueeze.default">, {atol, -1}),
            e(aten<"mul.Tensor">, {e(aten<"unsqueeze.default">, {rtol, -1}), largest})});
}

// The steps of PyTorch, which autocast casts one by one. The kernel rounds only once.
Result<Tensor> pinv_formula(Emitter& e, const Tensor& self, const OptionalTensor& atol,
                            const OptionalTensor& rtol, bool hermitian) {
  PT2_TRY(const Meta meta, pinv_meta(self, atol, rtol, hermitian));
  if (self.numel() == 0) return e(aten<"zeros.default">, {meta.sizes, self.dtype()});
  // self = u diag(values) v^H
  Tensor u, v, values;
  if (hermitian) {
    PT2_TRY(std::tie(values, u), (e.several<Tensor, Tensor>(aten<"linalg_eigh.default">, {self})));
    v = u;
  } else {
    PT2_TRY(const auto parts, linalg_svd(e, self, false, std::nullopt));
    std::tie(u, values, v) = parts;
    PT2_TRY(v, e(aten<"mH.default">, {v}));
  }
  PT2_TRY(const Tensor sizes,
          hermitian ? e(aten<"abs.default">, {values}) : Result<Tensor>(values));
  const auto absolute = atol ? Result<Tensor>(*atol) : tolerance(e, 0);
  const auto relative = relative_tolerance(e, self, atol, rtol);
  const auto least = zero_threshold(e, sizes, absolute, relative, hermitian);
  const auto inverse = e(aten<"where.ScalarOther">, {e(aten<"gt.Tensor">, {sizes, least}),
                                                     e(aten<"reciprocal.default">, {values}), 0.0});
  const auto row = e(aten<"unsqueeze.default">, {e(aten<"to.dtype">, {inverse, self.dtype()}), -2});
  return e(aten<"matmul.default">, {e(aten<"mul.Tensor">, {v, row}), e(aten<"mH.default">, {u})});
}
Result<Tensor> pinv_floats(Emitter& e, const Tensor& self, const std::optional<double>& atol,
                           const std::optional<double>& rtol, bool hermitian) {
  PT2_TRY_VOID(check_matrices(self, "self"));
  const Tolerances used = tolerances_of(self, atol, rtol);
  return e(aten<"linalg_pinv.atol_rtol_tensor">,
           {self, tolerance(e, used.absolute), tolerance(e, used.relative), hermitian});
}
Result<Tensor> pinv(Emitter& e, const Tensor& self, double rcond, bool hermitian) {
  return pinv_floats(e, self, 0.0, rcond, hermitian);
}
Result<Tensor> pinverse(Emitter& e, const Tensor& self, double rcond) {
  return pinv_floats(e, self, 0.0, rcond, false);
}
Result<Tensor> pinv_rcond(Emitter& e, const Tensor& self, const Tensor& rcond, bool hermitian) {
  return e(aten<"linalg_pinv.atol_rtol_tensor">, {self, tolerance(e, 0), rcond, hermitian});
}

// The number of singular values, or of absolute eigenvalues, above both tolerances.
Result<Tensor> rank_above(Emitter& e, const Tensor& self, const Result<Tensor>& atol,
                          const Result<Tensor>& rtol, bool hermitian) {
  PT2_TRY_VOID(check_matrices(self, "self"));
  if (self.numel() == 0) return e(aten<"zeros.default">, {batch_of(self), Dtype::int64});
  const auto values = hermitian
                          ? e(aten<"abs.default">, {e(aten<"linalg_eigvalsh.default">, {self})})
                          : e(aten<"linalg_svdvals.default">, {self});
  const auto least = zero_threshold(e, values, atol, rtol, hermitian);
  return e(aten<"sum.dim_IntList">, {e(aten<"gt.Tensor">, {values, least}), Sizes{-1}});
}
Result<Tensor> rank_floats(Emitter& e, const Tensor& self, const std::optional<double>& atol,
                           const std::optional<double>& rtol, bool hermitian) {
  PT2_TRY_VOID(check_matrices(self, "self"));
  const Tolerances used = tolerances_of(self, atol, rtol);
  const auto absolute = tolerance(e, used.absolute);
  return rank_above(e, self, absolute, tolerance(e, used.relative), hermitian);
}
Result<Tensor> rank_tensors(Emitter& e, const Tensor& input, const OptionalTensor& atol,
                            const OptionalTensor& rtol, bool hermitian) {
  PT2_TRY_VOID(check_matrices(input, "input"));
  for (const OptionalTensor* each : {&atol, &rtol})
    if (*each) PT2_TRY_VOID(check_not_complex(**each, "a tolerance"));
  return rank_above(e, input, atol ? Result<Tensor>(*atol) : tolerance(e, 0),
                    relative_tolerance(e, input, atol, rtol), hermitian);
}
Result<Tensor> rank(Emitter& e, const Tensor& self, double tol, bool hermitian) {
  return rank_floats(e, self, tol, 0.0, hermitian);
}
Result<Tensor> rank_tolerance(Emitter& e, const Tensor& input, const Tensor& tol, bool hermitian) {
  PT2_TRY_VOID(check_not_complex(tol, "a tolerance"));
  return rank_above(e, input, tol, tolerance(e, 0), hermitian);
}

// clang-format off
constexpr OpDef kDecompositionsOps[] = {
    op<"aten::_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()", check_errors>,
    op<"aten::linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)", linalg_svd>.with({.autocast = AutocastRule::float32}),
    op<"aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)", inner_svd_meta, inner_svd>,
    op<"aten::svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)", old_svd>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor", svdvals>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_polar(Tensor A) -> (Tensor U, Tensor H)", polar>,
    op<"aten::linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor eigenvectors)", eigh>.with({.autocast = AutocastRule::float32}),
    op<"aten::_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)", eigh_meta, eigh_parts>,
    op<"aten::linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor", eigvalsh>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor", pinv>,
    op<"aten::linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor", pinv_floats>,
    op<"aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor", pinv_meta, pinv_tensors, pinv_formula>,
    op<"aten::linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor", pinv_rcond>,
    op<"aten::pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor", pinverse>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor", rank>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor", rank_tolerance>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor", rank_floats>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor", rank_tensors>.with({.autocast = AutocastRule::float32}),
    composed<"aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)", lstsq_meta, lstsq>.with({.autocast = AutocastRule::float32}),
};
// clang-format on

}  // namespace

std::span<const OpDef> decompositions_ops() { return kDecompositionsOps; }

}  // namespace pt2::ops
