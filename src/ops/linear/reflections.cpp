// Orthogonal matrices as products of reflections, as LAPACK's geqrf leaves them.
#include <algorithm>

#include "ops/checks.h"
#include "ops/linear/matrices.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

Result<TensorPair> geqrf(const Tensor& self) {
  PT2_TRY_VOID(check_matrices(self, "self"));
  PT2_TRY(const Matrices matrices, matrices_of(self));
  const int64_t rows = self.size(self.dim() - 2);
  const int64_t columns = self.size(self.dim() - 1);
  Matrices factors;
  std::vector<Complex> scales;
  for (const Matrix& matrix : matrices) {
    Reflections reflections = factor_reflections(matrix);
    scales.insert(scales.end(), reflections.tau.begin(), reflections.tau.end());
    factors.push_back(std::move(reflections.a));
  }
  Sizes sizes = batch_of(self);
  sizes.push_back(std::min(rows, columns));
  PT2_TRY(Tensor a, tensor_of(factors, batch_of(self), rows, columns, self.dtype()));
  PT2_TRY(Tensor tau, allocate({self.dtype(), std::move(sizes)}));
  store_elements<Complex>(scales.data(), tau.numel(), tau.dtype(), 1, tau.raw_data());
  return TensorPair(std::move(a), std::move(tau));
}

// The reflections of each matrix of a batch; those that tau does not reach are left out.
Result<std::vector<Reflections>> reflections_of(const Tensor& input, const Tensor& tau) {
  PT2_TRY_VOID(check_matrices(input, "input"));
  PT2_TRY_VOID(check_same_dtype(tau, input, "tau"));
  PT2_TRY_VOID(check_rank(tau, input.dim() - 1, "tau"));
  const int64_t count = tau.size(tau.dim() - 1);
  Sizes expected = batch_of(input);
  expected.push_back(count);
  PT2_TRY_VOID(check_sizes(tau, expected, "tau"));
  if (count > input.size(input.dim() - 1) || count > input.size(input.dim() - 2))
    return operator_error("tau: found " + tau.type_text() + ", expected at most one number for " +
                          "each row and column of " + input.type_text());
  PT2_TRY(const Matrices matrices, matrices_of(input));
  std::vector<Complex> scales(static_cast<size_t>(tau.numel()));
  load_elements<Complex>(tau.contiguous().raw_data(), 1, tau.dtype(), tau.numel(), scales.data());
  std::vector<Reflections> out;
  for (size_t i = 0; i < matrices.size(); ++i) {
    const auto begin = scales.begin() + static_cast<int64_t>(i) * count;
    out.push_back({matrices[i], {begin, begin + count}});
  }
  return out;
}

Result<Tensor> householder_product(const Tensor& input, const Tensor& tau) {
  PT2_TRY(const std::vector<Reflections> all, reflections_of(input, tau));
  const int64_t rows = input.size(input.dim() - 2);
  const int64_t columns = input.size(input.dim() - 1);
  if (rows < columns)
    return operator_error("input: found " + input.type_text() +
                          ", expected at least as many rows as columns");
  Matrices products;
  for (const Reflections& reflections : all)
    products.push_back(apply_reflections(
        reflections, part_of(Matrix::identity(rows), rows, columns), true, false));
  return tensor_of(products, batch_of(input), rows, columns, input.dtype());
}

Result<Tensor> ormqr(const Tensor& self, const Tensor& input2, const Tensor& input3, bool left,
                     bool transpose) {
  PT2_TRY(const std::vector<Reflections> all, reflections_of(self, input2));
  PT2_TRY_VOID(check_matrices(input3, "other"));
  PT2_TRY_VOID(check_same_dtype(input3, self, "other"));
  const int64_t rows = input3.size(input3.dim() - 2);
  const int64_t columns = input3.size(input3.dim() - 1);
  if (batch_of(input3) != batch_of(self) || self.size(self.dim() - 2) != (left ? rows : columns))
    return operator_error("other: found " + input3.type_text() + " for reflections of " +
                          self.type_text());
  PT2_TRY(const Matrices sides, matrices_of(input3));
  Matrices products;
  for (size_t i = 0; i < all.size(); ++i)
    products.push_back(apply_reflections(all[i], sides[i], left, transpose));
  return tensor_of(products, batch_of(input3), rows, columns, self.dtype());
}

// clang-format off
constexpr OpDef kOps[] = {
    op<"aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)", geqrf>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor", householder_product>.with({.autocast = AutocastRule::float32}),
    op<"aten::orgqr(Tensor self, Tensor input2) -> Tensor", householder_product>.with({.autocast = AutocastRule::float32}),
    op<"aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor", ormqr>.with({.autocast = AutocastRule::float32}),
};
// clang-format on

}  // namespace

std::span<const OpDef> reflections_ops() { return kOps; }

}  // namespace pt2::ops
