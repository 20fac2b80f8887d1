// Orthogonal matrices as products of reflections, in the layout of LAPACK's geqrf.
#include <algorithm>

#include "ops/checks.h"
#include "ops/linear/matrices.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

Result<std::array<Meta, 2>> geqrf_meta(const Tensor& self) {
  PT2_TRY_VOID(check_matrices(self, "self"));
  const int64_t rows = rows_of(self), columns = columns_of(self);
  return std::array{meta_of(self.dtype(), batch_of(self), rows, columns),
                    Meta(self.dtype(), batch_of(self, {std::min(rows, columns)}))};
}
Result<void> geqrf(Tensor& a, Tensor& tau, const Tensor& self) {
  return with_field(self, [&]<class T>() -> Result<void> {
    const int64_t inner = std::min(rows_of(self), columns_of(self));
    PT2_TRY(Matrices<T> factors, Matrices<T>::copy_of(self));
    Output<T> scales(tau);
    for (int64_t i = 0; i < factors.count(); ++i)
      factor_reflections(factors[i], scales.data() + i * inner);
    copy_elements(a, factors.tensor());
    return {};
  });
}

Result<void> check_reflections(const Tensor& input, const Tensor& tau) {
  PT2_TRY_VOID(check_matrices(input, "input"));
  PT2_TRY_VOID(check_same_dtype(tau, input, "tau"));
  PT2_TRY_VOID(check_rank(tau, input.dim() - 1, "tau"));
  const int64_t count = tau.size(tau.dim() - 1);
  PT2_TRY_VOID(check_sizes(tau, batch_of(input, {count}), "tau"));
  if (count > columns_of(input) || count > rows_of(input))
    return operator_error("tau: found " + tau.type_text() + ", expected at most one number for " +
                          "each row and column of " + input.type_text());
  return {};
}
// Applies the reflections of each matrix of a batch to `sides`; their number is the length of tau.
template <class T>
Result<void> reflect_batch(Tensor& out, const Tensor& input, const Tensor& tau, Matrices<T> sides,
                           bool left, bool adjoint) {
  PT2_TRY(Matrices<T> vectors, Matrices<T>::copy_of(input));
  const Input<T> scales(tau);
  const int64_t count = tau.size(tau.dim() - 1);
  for (int64_t i = 0; i < sides.count(); ++i)
    apply_reflections(vectors[i], scales.data() + i * count, count, sides[i], left, adjoint);
  copy_elements(out, sides.tensor());
  return {};
}

Result<Meta> householder_meta(const Tensor& input, const Tensor& tau) {
  PT2_TRY_VOID(check_reflections(input, tau));
  if (rows_of(input) < columns_of(input))
    return operator_error("input: found " + input.type_text() +
                          ", expected at least as many rows as columns");
  return meta_of(input.dtype(), batch_of(input), rows_of(input), columns_of(input));
}
Result<void> householder_product(Tensor& out, const Tensor& input, const Tensor& tau) {
  return with_field(input, [&]<class T>() -> Result<void> {
    PT2_TRY(Matrices<T> identities,
            Matrices<T>::zeros(batch_of(input), rows_of(input), columns_of(input)));
    for (int64_t i = 0; i < identities.count(); ++i) set_identity(identities[i]);
    return reflect_batch(out, input, tau, std::move(identities), true, false);
  });
}

Result<Meta> ormqr_meta(const Tensor& self, const Tensor& input2, const Tensor& input3, bool left,
                        bool) {
  PT2_TRY_VOID(check_reflections(self, input2));
  PT2_TRY_VOID(check_matrices(input3, "other"));
  PT2_TRY_VOID(check_same_dtype(input3, self, "other"));
  if (batch_of(input3) != batch_of(self) ||
      rows_of(self) != (left ? rows_of(input3) : columns_of(input3)))
    return operator_error("other: found " + input3.type_text() + " for reflections of " +
                          self.type_text() + ", expected its batch and " +
                          std::to_string(rows_of(self)) + (left ? " rows" : " columns"));
  return meta_of(self.dtype(), batch_of(input3), rows_of(input3), columns_of(input3));
}
Result<void> ormqr(Tensor& out, const Tensor& self, const Tensor& input2, const Tensor& input3,
                   bool left, bool transpose) {
  return with_field(self, [&]<class T>() -> Result<void> {
    PT2_TRY(Matrices<T> sides, Matrices<T>::copy_of(input3));
    return reflect_batch(out, self, input2, std::move(sides), left, transpose);
  });
}

// clang-format off
constexpr OpDef kReflectionsOps[] = {
    op<"aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)", geqrf_meta, geqrf>.with({.autocast = AutocastRule::float32}),
    op<"aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor", householder_meta, householder_product>.with({.autocast = AutocastRule::float32}),
    op<"aten::orgqr(Tensor self, Tensor input2) -> Tensor", householder_meta, householder_product>.with({.autocast = AutocastRule::float32, .same_as = "linalg_householder_product.default"}),
    op<"aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor", ormqr_meta, ormqr>.with({.autocast = AutocastRule::float32}),
};
// clang-format on

}  // namespace

std::span<const OpDef> reflections_ops() { return kReflectionsOps; }

}  // namespace pt2::ops
