// torch.linalg: singular values, eigenvalues, LU, determinants and what is solved with them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/linear/matrices.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

using OptionalString = std::optional<std::string>;
using TensorTriple = std::tuple<Tensor, Tensor, Tensor>;
using TensorQuadruple = std::tuple<Tensor, Tensor, Tensor, Tensor>;

int64_t rows_of(const Tensor& a) { return a.size(a.dim() - 2); }
int64_t columns_of(const Tensor& a) { return a.size(a.dim() - 1); }

Result<Tensor> reals_of(const std::vector<double>& values, Sizes sizes, Dtype dtype) {
  PT2_TRY(Tensor out, allocate({dtype, std::move(sizes)}));
  store_elements<double>(values.data(), out.numel(), dtype, 1, out.raw_data());
  return out;
}

Result<Tensor> empty_of(Dtype dtype) { return allocate({dtype, {0}}); }

// --- Singular values

Result<TensorTriple> svd_parts(const Tensor& a, bool full_matrices, bool compute_uv) {
  PT2_TRY_VOID(check_matrices(a, "A"));
  PT2_TRY(const Matrices matrices, matrices_of(a));
  const int64_t rows = rows_of(a);
  const int64_t columns = columns_of(a);
  const int64_t rank = std::min(rows, columns);
  Matrices left;
  Matrices right;
  std::vector<double> values;
  for (const Matrix& matrix : matrices) {
    SvdFactors svd = factor_svd(matrix);
    values.insert(values.end(), svd.values.begin(), svd.values.end());
    if (!compute_uv) continue;
    left.push_back(full_matrices ? complete_basis(svd.u, rows) : std::move(svd.u));
    right.push_back((full_matrices ? complete_basis(svd.v, columns) : svd.v).adjoint());
  }
  Sizes value_sizes = batch_of(a);
  value_sizes.push_back(rank);
  PT2_TRY(Tensor s, reals_of(values, std::move(value_sizes), real_dtype(a.dtype())));
  if (!compute_uv) {
    PT2_TRY(Tensor u, empty_of(a.dtype()));
    PT2_TRY(Tensor vh, empty_of(a.dtype()));
    return TensorTriple(std::move(u), std::move(s), std::move(vh));
  }
  PT2_TRY(Tensor u, tensor_of(left, batch_of(a), rows, full_matrices ? rows : rank, a.dtype()));
  PT2_TRY(Tensor vh,
          tensor_of(right, batch_of(a), full_matrices ? columns : rank, columns, a.dtype()));
  return TensorTriple(std::move(u), std::move(s), std::move(vh));
}
Result<TensorTriple> inner_svd(const Tensor& a, bool full_matrices, bool compute_uv,
                               const OptionalString&) {
  return svd_parts(a, full_matrices, compute_uv);
}
Result<TensorTriple> linalg_svd(const Tensor& a, bool full_matrices, const OptionalString&) {
  return svd_parts(a, full_matrices, true);
}
Result<Tensor> svdvals(const Tensor& a, const OptionalString&) {
  PT2_TRY(auto parts, svd_parts(a, false, false));
  return std::move(std::get<1>(parts));
}
// torch.svd gives V rather than its adjoint, and zeros where it does not compute them.
Result<TensorTriple> old_svd(const Tensor& self, bool some, bool compute_uv) {
  PT2_TRY(auto parts, svd_parts(self, !some && compute_uv, compute_uv));
  auto& [u, s, vh] = parts;
  if (compute_uv) {
    PT2_TRY(vh, apply("mH.default", {vh}));
    return parts;
  }
  auto zeros = [&](int64_t size) {
    Sizes sizes = batch_of(self);
    sizes.insert(sizes.end(), {size, size});
    return allocate({self.dtype(), std::move(sizes)});
  };
  PT2_TRY(u, zeros(rows_of(self)));
  PT2_TRY(vh, zeros(columns_of(self)));
  return parts;
}

// --- Eigenvalues of Hermitian matrices

// Only one triangle is read.
Matrix hermitian_from(const Matrix& a, bool upper) {
  Matrix out(a.rows, a.rows);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      const Complex element = upper ? std::conj(a.at(j, i)) : a.at(i, j);
      out.at(i, j) = i == j ? Complex(element.real()) : element;
      out.at(j, i) = std::conj(out.at(i, j));
    }
  return out;
}
Result<TensorPair> eigh_parts(const Tensor& a, const std::string& uplo, bool compute_v) {
  PT2_TRY_VOID(check_square(a, "A"));
  const bool upper = uplo == "U" || uplo == "u";
  if (!upper && uplo != "L" && uplo != "l")
    return operator_error("UPLO: found '" + uplo + "', expected 'L' or 'U'");
  PT2_TRY(const Matrices matrices, matrices_of(a));
  const int64_t n = columns_of(a);
  std::vector<double> values;
  Matrices vectors;
  for (const Matrix& matrix : matrices) {
    EigenFactors eigen = factor_hermitian(hermitian_from(matrix, upper));
    values.insert(values.end(), eigen.values.begin(), eigen.values.end());
    vectors.push_back(std::move(eigen.vectors));
  }
  Sizes value_sizes = batch_of(a);
  value_sizes.push_back(n);
  PT2_TRY(Tensor l, reals_of(values, std::move(value_sizes), real_dtype(a.dtype())));
  PT2_TRY(Tensor v,
          compute_v ? tensor_of(vectors, batch_of(a), n, n, a.dtype()) : empty_of(a.dtype()));
  return TensorPair(std::move(l), std::move(v));
}
Result<TensorPair> eigh(const Tensor& self, const std::string& uplo) {
  return eigh_parts(self, uplo, true);
}
Result<Tensor> eigvalsh(const Tensor& self, const std::string& uplo) {
  PT2_TRY(auto parts, eigh_parts(self, uplo, false));
  return std::move(std::get<0>(parts));
}

// --- LU

struct LuBatch {
  std::vector<LuFactors> factors;
  Tensor lu;
  Tensor pivots;
  Tensor info;
};
Result<LuBatch> lu_batch(const Tensor& a) {
  PT2_TRY_VOID(check_matrices(a, "A"));
  PT2_TRY(const Matrices matrices, matrices_of(a));
  LuBatch out;
  Matrices both;
  std::vector<int64_t> pivots;
  std::vector<int64_t> infos;
  for (const Matrix& matrix : matrices) {
    LuFactors& factors = out.factors.emplace_back(factor_lu(matrix));
    both.push_back(factors.factors);
    pivots.insert(pivots.end(), factors.pivots.begin(), factors.pivots.end());
    infos.push_back(factors.info);
  }
  Sizes pivot_sizes = batch_of(a);
  pivot_sizes.push_back(std::min(rows_of(a), columns_of(a)));
  PT2_TRY(out.lu, tensor_of(both, batch_of(a), rows_of(a), columns_of(a), a.dtype()));
  PT2_TRY(out.pivots, integers_of(pivots, std::move(pivot_sizes)));
  PT2_TRY(out.info, integers_of(infos, batch_of(a)));
  return out;
}
Result<void> check_pivot(bool pivot) {
  if (!pivot) return operator_error("pivot: found False, which PyTorch has on CUDA only");
  return {};
}
Result<TensorTriple> lu_factor_ex(const Tensor& a, bool pivot, bool check_errors) {
  PT2_TRY_VOID(check_pivot(pivot));
  PT2_TRY(LuBatch batch, lu_batch(a));
  for (const LuFactors& factors : batch.factors)
    PT2_TRY_VOID(check_info(std::span(&factors.info, 1), check_errors, "a singular matrix: zero"));
  return TensorTriple(std::move(batch.lu), std::move(batch.pivots), std::move(batch.info));
}
Result<TensorPair> lu_factor(const Tensor& a, bool pivot) {
  PT2_TRY(auto parts, lu_factor_ex(a, pivot, true));
  return TensorPair(std::move(std::get<0>(parts)), std::move(std::get<1>(parts)));
}

// The exchanges as a matrix P with A = P L U.
Result<Matrix> permutation_of(std::span<const int64_t> pivots, int64_t rows) {
  std::vector<int64_t> order(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i) order[static_cast<size_t>(i)] = i;
  for (size_t k = 0; k < pivots.size(); ++k) {
    if (pivots[k] < 1 || pivots[k] > rows)
      return operator_error("pivots: found " + std::to_string(pivots[k]) + ", expected 1 to " +
                            std::to_string(rows));
    std::swap(order[k], order[static_cast<size_t>(pivots[k] - 1)]);
  }
  Matrix out(rows, rows);
  for (int64_t i = 0; i < rows; ++i) out.at(order[static_cast<size_t>(i)], i) = 1;
  return out;
}

Result<std::vector<int64_t>> pivot_numbers(const Tensor& pivots, const Tensor& lu) {
  Sizes sizes = batch_of(lu);
  const int64_t count = std::min(rows_of(lu), columns_of(lu));
  sizes.push_back(count);
  PT2_TRY_VOID(check_sizes(pivots, sizes, "pivots"));
  PT2_TRY_VOID(check_index_dtype(pivots, "pivots"));
  const Input<int64_t> input(pivots);
  return std::vector<int64_t>(input.data(), input.data() + input.size());
}

Result<TensorTriple> lu_unpack(const Tensor& data, const Tensor& pivots, bool unpack_data,
                               bool unpack_pivots) {
  PT2_TRY_VOID(check_matrices(data, "LU_data"));
  PT2_TRY(const std::vector<int64_t> numbers, pivot_numbers(pivots, data));
  PT2_TRY(const Matrices both, matrices_of(data));
  const int64_t rows = rows_of(data);
  const int64_t columns = columns_of(data);
  const int64_t inner = std::min(rows, columns);
  Matrices p;
  Matrices l;
  Matrices u;
  for (size_t i = 0; i < both.size(); ++i) {
    const std::span<const int64_t> own(numbers.data() + static_cast<int64_t>(i) * inner,
                                       static_cast<size_t>(inner));
    PT2_TRY(Matrix permutation, permutation_of(own, rows));
    p.push_back(std::move(permutation));
    Matrix& lower = l.emplace_back(part_of(both[i], rows, inner));
    Matrix& upper = u.emplace_back(part_of(both[i], inner, columns));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = r; c < inner; ++c) lower.at(r, c) = r == c ? 1 : 0;
    for (int64_t r = 0; r < inner; ++r)
      for (int64_t c = 0; c < r && c < columns; ++c) upper.at(r, c) = 0;
  }
  auto part = [&](bool wanted, const Matrices& matrices, int64_t height, int64_t width) {
    return wanted ? tensor_of(matrices, batch_of(data), height, width, data.dtype(), true)
                  : empty_of(data.dtype());
  };
  PT2_TRY(Tensor permutation, part(unpack_pivots, p, rows, rows));
  PT2_TRY(Tensor lower, part(unpack_data, l, rows, inner));
  PT2_TRY(Tensor upper, part(unpack_data, u, inner, columns));
  return TensorTriple(std::move(permutation), std::move(lower), std::move(upper));
}
Result<TensorTriple> linalg_lu(const Tensor& a, bool pivot) {
  PT2_TRY_VOID(check_pivot(pivot));
  PT2_TRY(const LuBatch batch, lu_batch(a));
  return lu_unpack(batch.lu, batch.pivots, true, true);
}

Result<Tensor> lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left,
                        bool adjoint) {
  PT2_TRY_VOID(check_square(lu, "LU"));
  PT2_TRY_VOID(check_matrices(b, "B"));
  PT2_TRY_VOID(check_same_dtype(b, lu, "B"));
  PT2_TRY(const auto parts, lu_unpack(lu, pivots, true, true));
  const auto& [p, l, u] = parts;
  PT2_TRY(const Tensor pl, apply("matmul.default", {p, l}));
  PT2_TRY(Tensor a, apply("matmul.default", {pl, u}));
  if (adjoint) {
    PT2_TRY(a, apply("mH.default", {a}));
  }
  return apply("linalg_solve.default", {a, b, left});
}
Result<Tensor> old_lu_solve(const Tensor& self, const Tensor& lu, const Tensor& pivots) {
  return lu_solve(lu, pivots, self, true, false);
}

// --- Determinants

// The sign is a number of length 1 in the complex plane.
Result<TensorQuadruple> slogdet_parts(const Tensor& a) {
  PT2_TRY_VOID(check_square(a, "A"));
  // As for determinants, LAPACK reads the transpose without a copy.
  const bool transposes = a.is_contiguous() && dtype_category(a.dtype()) != DtypeCategory::complex;
  PT2_TRY(const Tensor read, transposes ? transpose(a, -2, -1) : Result<Tensor>(a));
  PT2_TRY(LuBatch batch, lu_batch(read));
  PT2_TRY(Tensor sign, allocate({a.dtype(), batch_of(a)}));
  std::vector<double> logs;
  std::vector<Complex> signs;
  for (const LuFactors& factors : batch.factors) {
    Complex phase = 1;
    double log = 0;
    for (int64_t k = 0; k < factors.factors.rows; ++k) {
      const Complex diagonal = factors.factors.at(k, k);
      const double magnitude = std::abs(diagonal);
      phase *= magnitude == 0 ? Complex(0) : diagonal / magnitude;
      if (factors.pivots[static_cast<size_t>(k)] != k + 1) phase = -phase;
      log += std::log(magnitude);
    }
    signs.push_back(phase);
    logs.push_back(log);
  }
  store_elements<Complex>(signs.data(), sign.numel(), sign.dtype(), 1, sign.raw_data());
  PT2_TRY(Tensor logabsdet, reals_of(logs, batch_of(a), real_dtype(a.dtype())));
  return TensorQuadruple(std::move(sign), std::move(logabsdet), std::move(batch.lu),
                         std::move(batch.pivots));
}
Result<TensorPair> slogdet(const Tensor& a) {
  PT2_TRY(auto parts, slogdet_parts(a));
  return TensorPair(std::move(std::get<0>(parts)), std::move(std::get<1>(parts)));
}
Result<Tensor> logdet(const Tensor& self) {
  PT2_TRY(const auto parts, slogdet_parts(self));
  const auto& [sign, log, lu, pivots] = parts;
  PT2_TRY(const Tensor of_sign, apply("log.default", {sign}));
  return apply("add.Tensor", {of_sign, log});
}

Result<TensorQuadruple> inner_solve_ex(const Tensor& a, const Tensor& b, bool left,
                                       bool check_errors) {
  PT2_TRY_VOID(check_square(a, "A"));
  PT2_TRY(Tensor result, apply("linalg_solve_ex.default", {a, b, left, false}));
  PT2_TRY(LuBatch batch, lu_batch(a));
  for (const LuFactors& factors : batch.factors)
    PT2_TRY_VOID(check_info(std::span(&factors.info, 1), check_errors, "a singular matrix: zero"));
  return TensorQuadruple(std::move(result), std::move(batch.lu), std::move(batch.pivots),
                         std::move(batch.info));
}

// --- Rank, pseudoinverse, least squares

double machine_epsilon(Dtype dtype) {
  return real_dtype(dtype) == Dtype::float64 ? std::numeric_limits<double>::epsilon()
                                             : std::numeric_limits<float>::epsilon();
}

// Singular values not above max(atol, rtol * the largest) count as zero.
struct Tolerances {
  double absolute = 0;
  double relative = 0;
};
Tolerances tolerances_of(const Tensor& a, std::optional<double> atol, std::optional<double> rtol) {
  const double size = static_cast<double>(std::max(rows_of(a), columns_of(a)));
  const double fallback = atol.value_or(0) > 0 ? 0 : size * machine_epsilon(a.dtype());
  return {atol.value_or(0), rtol.value_or(fallback)};
}
double cutoff(const std::vector<double>& values, const Tolerances& tolerances) {
  const double largest = values.empty() ? 0 : values.front();
  return std::max(tolerances.absolute, tolerances.relative * largest);
}

// One for each matrix of self, from tensors that broadcast with them.
using AllTolerances = std::vector<Tolerances>;
Result<AllTolerances> read_tolerances(const Tensor& self, const OptionalTensor& atol,
                                      const OptionalTensor& rtol) {
  PT2_TRY_VOID(check_matrices(self, "self"));
  const Sizes batch = batch_of(self);
  const auto numbers_of = [&](const OptionalTensor& tensor) -> Result<std::vector<double>> {
    if (!tensor) return std::vector<double>();
    PT2_TRY_VOID(check_not_complex(*tensor, "a tolerance"));
    const std::array both{tensor->sizes(), batch};
    PT2_TRY(const Sizes sizes, broadcast_sizes(both));
    if (sizes != batch) return Error{ErrorCode::unsupported, "more tolerances than matrices", ""};
    const Input<double> numbers(broadcast_to(*tensor, batch));
    return std::vector<double>(numbers.data(), numbers.data() + numbers.size());
  };
  PT2_TRY(const std::vector<double> absolute, numbers_of(atol));
  PT2_TRY(const std::vector<double> relative, numbers_of(rtol));
  AllTolerances out;
  for (size_t i = 0; i < static_cast<size_t>(*checked_numel(batch)); ++i)
    out.push_back(tolerances_of(self, atol ? std::optional(absolute[i]) : std::nullopt,
                                rtol ? std::optional(relative[i]) : std::nullopt));
  return out;
}
Result<AllTolerances> same_tolerances(const Tensor& self, const std::optional<double>& atol,
                                      const std::optional<double>& rtol) {
  PT2_TRY_VOID(check_matrices(self, "self"));
  return AllTolerances(static_cast<size_t>(*checked_numel(batch_of(self))),
                       tolerances_of(self, atol, rtol));
}

Result<Tensor> pinv_with(const Tensor& self, const AllTolerances& tolerances) {
  PT2_TRY(const Matrices matrices, matrices_of(self));
  Matrices inverses;
  for (const Matrix& matrix : matrices) {
    SvdFactors svd = factor_svd(matrix);
    const double least = cutoff(svd.values, tolerances[inverses.size()]);
    for (int64_t j = 0; j < svd.v.columns; ++j) {
      const double value = svd.values[static_cast<size_t>(j)];
      for (int64_t i = 0; i < svd.v.rows; ++i)
        svd.v.at(i, j) = value > least ? svd.v.at(i, j) / value : Complex(0);
    }
    inverses.push_back(multiply(svd.v, svd.u.adjoint()));
  }
  return tensor_of(inverses, batch_of(self), columns_of(self), rows_of(self), self.dtype(), true);
}
Result<Tensor> pinv_floats(const Tensor& self, const std::optional<double>& atol,
                           const std::optional<double>& rtol, bool) {
  PT2_TRY(const AllTolerances tolerances, same_tolerances(self, atol, rtol));
  return pinv_with(self, tolerances);
}
Result<Tensor> pinv_tensors(const Tensor& self, const OptionalTensor& atol,
                            const OptionalTensor& rtol, bool) {
  PT2_TRY(const AllTolerances tolerances, read_tolerances(self, atol, rtol));
  return pinv_with(self, tolerances);
}
Result<Tensor> pinv(const Tensor& self, double rcond, bool hermitian) {
  return pinv_floats(self, 0.0, rcond, hermitian);
}
Result<Tensor> pinverse(const Tensor& self, double rcond) {
  return pinv_floats(self, 0.0, rcond, false);
}

Result<Tensor> rank_with(const Tensor& self, const AllTolerances& tolerances) {
  PT2_TRY(const Matrices matrices, matrices_of(self));
  PT2_TRY(Tensor out, allocate({Dtype::int64, batch_of(self)}));
  for (size_t i = 0; i < matrices.size(); ++i) {
    const std::vector<double> values = singular_values(matrices[i]);
    const double least = cutoff(values, tolerances[i]);
    out.data<int64_t>()[i] =
        std::ranges::count_if(values, [least](double value) { return value > least; });
  }
  return out;
}
Result<Tensor> rank_floats(const Tensor& self, const std::optional<double>& atol,
                           const std::optional<double>& rtol, bool) {
  PT2_TRY(const AllTolerances tolerances, same_tolerances(self, atol, rtol));
  return rank_with(self, tolerances);
}
Result<Tensor> rank_tensors(const Tensor& input, const OptionalTensor& atol,
                            const OptionalTensor& rtol, bool) {
  PT2_TRY(const AllTolerances tolerances, read_tolerances(input, atol, rtol));
  return rank_with(input, tolerances);
}
Result<Tensor> rank(const Tensor& self, double tol, bool hermitian) {
  return rank_floats(self, tol, 0.0, hermitian);
}
Result<Tensor> rank_tolerance(const Tensor& input, const Tensor& tol, bool) {
  const Tensor none = Tensor::zeros(Dtype::float64, {});
  PT2_TRY(const AllTolerances tolerances, read_tolerances(input, tol, none));
  return rank_with(input, tolerances);
}

// Column-major, in columns as long as those of the right-hand side that LAPACK overwrote.
Result<Tensor> solution_layout(const Tensor& solution, int64_t rows) {
  const int64_t height = rows_of(solution);
  const int64_t width = columns_of(solution);
  Sizes buffer = batch_of(solution);
  buffer.insert(buffer.end(), {width, std::max(rows, height)});
  if (!checked_numel(buffer)) return operator_error("b: found " + solution.type_text());
  Sizes strides = contiguous_strides(buffer);
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  PT2_TRY(Tensor out, allocate(Meta(solution.dtype(), solution.sizes(), std::move(strides))));
  copy_elements(out, solution);
  return out;
}

// Residuals are there for overdetermined systems of full rank; the driver gelsy, the default, gives
// the rank but no singular values.
Result<TensorQuadruple> lstsq(const Tensor& self, const Tensor& b,
                              const std::optional<double>& rcond, const OptionalString& driver) {
  PT2_TRY_VOID(check_matrices(self, "self"));
  PT2_TRY_VOID(check_same_dtype(b, self, "b"));
  const std::string method = driver.value_or("gelsy");
  if (method != "gels" && method != "gelsy" && method != "gelsd" && method != "gelss")
    return operator_error("driver: found '" + method + "', expected gels, gelsy, gelsd or gelss");
  const bool vectors = b.dim() == self.dim() - 1 &&
                       std::equal(b.sizes().begin(), b.sizes().end(), self.sizes().begin());
  PT2_TRY(const Tensor columns, vectors ? unsqueeze(b, -1) : Result<Tensor>(b));
  PT2_TRY_VOID(check_rank_at_least(columns, 2, "b"));
  if (rows_of(columns) != rows_of(self))
    return operator_error("b: found " + b.type_text() + ", expected the rows of " +
                          self.type_text());
  PT2_TRY(const Tensor inverse, pinv_floats(self, 0.0, rcond, false));
  PT2_TRY(Tensor solution, apply("matmul.default", {inverse, columns}));
  PT2_TRY(Tensor ranks, rank_floats(self, 0.0, rcond, false));
  PT2_TRY(Tensor residuals, empty_of(real_dtype(self.dtype())));
  const Input<int64_t> found(ranks);
  const bool full = std::all_of(found.data(), found.data() + found.size(),
                                [&](int64_t r) { return r == columns_of(self); });
  if (method != "gelsy" && (full || method == "gels") && rows_of(self) > columns_of(self)) {
    PT2_TRY(const Tensor product, apply("matmul.default", {self, solution}));
    PT2_TRY(const Tensor rest, apply("sub.Tensor", {product, columns}));
    PT2_TRY(const Tensor size, apply("abs.default", {rest}));
    PT2_TRY(const Tensor square, apply("mul.Tensor", {size, size}));
    PT2_TRY(residuals, apply("sum.dim_IntList", {square, Value::List{int64_t{-2}}}));
  }
  PT2_TRY(solution, solution_layout(solution, rows_of(self)));
  if (vectors) {
    PT2_TRY(solution, select(solution, -1, 0));
  }
  const bool has_values = method == "gelsd" || method == "gelss";
  PT2_TRY(Tensor values,
          has_values ? svdvals(self, std::nullopt) : empty_of(real_dtype(self.dtype())));
  if (method == "gels") {
    PT2_TRY(ranks, empty_of(Dtype::int64));
  }
  return TensorQuadruple(std::move(solution), std::move(residuals), std::move(ranks),
                         std::move(values));
}

// --- From triangular factors

Result<Tensor> solve_triangular_matrices(const Tensor& self, const Tensor& b, bool upper, bool left,
                                         bool unitriangular) {
  PT2_TRY_VOID(check_square(self, "self"));
  PT2_TRY_VOID(check_matrices(b, "B"));
  PT2_TRY_VOID(check_same_dtype(b, self, "B"));
  const int64_t n = columns_of(self);
  if ((left ? rows_of(b) : columns_of(b)) != n)
    return operator_error("B: found " + b.type_text() + ", expected sizes that fit " +
                          self.type_text());
  PT2_TRY(const auto pair, same_batch(self, b));
  PT2_TRY(const Matrices matrices, matrices_of(std::get<0>(pair)));
  PT2_TRY(const Matrices sides, matrices_of(std::get<1>(pair)));
  Matrices results;
  for (size_t i = 0; i < matrices.size(); ++i) {
    if (left) {
      results.push_back(solve_triangular(matrices[i], sides[i], upper, unitriangular));
    } else {
      const Matrix turned =
          solve_triangular(matrices[i].transposed(), sides[i].transposed(), !upper, unitriangular);
      results.push_back(turned.transposed());
    }
  }
  return tensor_of(results, batch_of(std::get<0>(pair)), rows_of(b), columns_of(b), b.dtype());
}
Result<Tensor> cholesky_solve(const Tensor& self, const Tensor& factor, bool upper) {
  PT2_TRY_VOID(check_square(factor, "input2"));
  PT2_TRY(const Tensor adjoint, apply("mH.default", {factor}));
  const Tensor& lower = upper ? adjoint : factor;
  PT2_TRY(const Tensor first, solve_triangular_matrices(lower, self, false, true, false));
  return solve_triangular_matrices(upper ? factor : adjoint, first, true, true, false);
}
Result<Tensor> cholesky_inverse(const Tensor& self, bool upper) {
  PT2_TRY_VOID(check_square(self, "self"));
  PT2_TRY(Tensor identity, apply("eye.default", {columns_of(self), self.dtype()}));
  return cholesky_solve(identity, self, upper);
}

Result<Tensor> pinv_rcond(const Tensor& self, const Tensor& rcond, bool hermitian) {
  return pinv_tensors(self, std::nullopt, rcond, hermitian);
}

// An error for the first matrix that an `_ex` operator could not factorise.
Result<void> check_errors(const Tensor& info, const std::string& api_name, bool) {
  const Input<int64_t> numbers(info);
  for (int64_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] != 0)
      return operator_error(api_name + ": found info " + std::to_string(numbers[i]) +
                            " for matrix " + std::to_string(i));
  return {};
}

// clang-format off
constexpr OpDef kOps[] = {
    op<"aten::_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()", check_errors>,
    op<"aten::linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)", linalg_svd>.with({.autocast = AutocastRule::float32}),
    op<"aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)", inner_svd>,
    op<"aten::svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)", old_svd>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor", svdvals>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor eigenvectors)", eigh>.with({.autocast = AutocastRule::float32}),
    op<"aten::_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)", eigh_parts>,
    op<"aten::linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor", eigvalsh>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)", lu_factor_ex>,
    op<"aten::_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)", lu_factor_ex>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)", lu_factor>,
    op<"aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)", linalg_lu>,
    op<"aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)", lu_unpack>,
    op<"aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor", lu_solve>,
    op<"aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor", old_lu_solve>.with({.autocast = AutocastRule::float32}),
    op<"aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)", slogdet_parts>,
    op<"aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)", slogdet>,
    op<"aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", slogdet>,
    op<"aten::logdet(Tensor self) -> Tensor", logdet>,
    op<"aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)", inner_solve_ex>,
    op<"aten::linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor", pinv>,
    op<"aten::linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor", pinv_floats>,
    op<"aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor", pinv_tensors>,
    op<"aten::linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor", pinv_rcond>,
    op<"aten::pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor", pinverse>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor", rank>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor", rank_tolerance>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor", rank_floats>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor", rank_tensors>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)", lstsq>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor", solve_triangular_matrices>,
    op<"aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor", cholesky_solve>.with({.autocast = AutocastRule::float32}),
    op<"aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor", cholesky_inverse>.with({.autocast = AutocastRule::float32}),
};
// clang-format on

}  // namespace

std::span<const OpDef> decompositions_ops() { return kOps; }

}  // namespace pt2::ops
