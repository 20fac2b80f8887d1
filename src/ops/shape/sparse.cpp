// Sparse tensors. A sparse tensor is kept as the dense one that it stands for: what is computed
// with it has the same numbers, and which zeros it stored is not known.
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/pointwise/copying.h"

namespace pt2::ops {
namespace {

using OptionalFlag = std::optional<bool>;

// ATen/native/sparse/SparseTensor.cpp _validate_sparse_coo_tensor_args.
Result<void> check_parts(const Tensor& indices, const Tensor& values, const Sizes& size) {
  PT2_TRY_VOID(check_rank(indices, 2, "indices"));
  PT2_TRY_VOID(check_rank_at_least(values, 1, "values"));
  PT2_TRY_VOID(check_index_dtype(indices, "indices"));
  const auto sparse = static_cast<size_t>(indices.size(0));
  if (sparse + static_cast<size_t>(values.dim()) - 1 != size.size())
    return operator_error("found sizes " + sizes_text(size) + " for indices of " +
                          std::to_string(sparse) + " dims and values of " + values.type_text());
  Sizes expected(size.begin() + static_cast<std::ptrdiff_t>(sparse), size.end());
  expected.insert(expected.begin(), indices.size(1));
  return check_sizes(values, expected, "values");
}

Result<Meta> coo_meta(const Tensor& indices, const Tensor& values, const Sizes& size,
                      const OptionalDtype& dtype, const OptionalLayout&, const OptionalDevice&,
                      const PinMemory&, const OptionalFlag&) {
  PT2_TRY_VOID(check_parts(indices, values, size));
  return Meta(dtype.value_or(values.dtype()), size);
}
// Values with equal indices are added.
Result<Tensor> coo_formula(Emitter& e, const Tensor& indices, const Tensor& values,
                           const Sizes& size, const OptionalDtype& dtype, const OptionalLayout&,
                           const OptionalDevice&, const PinMemory&, const OptionalFlag&) {
  PT2_TRY_VOID(check_parts(indices, values, size));
  const Dtype wanted = dtype.value_or(values.dtype());
  Tensors each;
  for (int64_t dim = 0; dim < indices.size(0); ++dim) {
    PT2_TRY(Tensor index, e(aten<"select.int">, {indices, int64_t{0}, dim}));
    each.push_back(std::move(index));
  }
  PT2_TRY(const Tensor zeros, e(aten<"full.default">, {size, int64_t{0}, wanted}));
  PT2_TRY(const Tensor cast, e(aten<"to.dtype">, {values, wanted}));
  if (each.empty())
    return e(aten<"add.Tensor">, {zeros, e(aten<"sum.dim_IntList">, {cast, Sizes{0}})});
  return e(aten<"index_put.default">, {zeros, each, cast, true});
}
Result<Tensor> coo(const Tensor& indices, const Tensor& values, const Sizes& size,
                   const OptionalDtype& dtype, const OptionalLayout& layout,
                   const OptionalDevice& device, const PinMemory& pin_memory,
                   const OptionalFlag& is_coalesced) {
  const Input<int64_t> index(indices);
  for (int64_t i = 0; i < indices.numel(); ++i)
    if (index[i] < 0) return operator_error("found the negative index " + std::to_string(index[i]));
  Context context;
  Runner runner(context);
  return coo_formula(runner, indices, values, size, dtype, layout, device, pin_memory,
                     is_coalesced);
}

// The same with counts of dims, which the other arguments imply.
Result<Meta> coo_with_dims_meta(int64_t, int64_t, const Sizes& size, const Tensor& indices,
                                const Tensor& values, const OptionalDtype& dtype,
                                const OptionalLayout& layout, const OptionalDevice& device,
                                const PinMemory& pin_memory, const OptionalFlag& is_coalesced) {
  return coo_meta(indices, values, size, dtype, layout, device, pin_memory, is_coalesced);
}
Result<Tensor> coo_with_dims(Emitter& e, int64_t, int64_t, const Sizes& size, const Tensor& indices,
                             const Tensor& values, const OptionalDtype& dtype,
                             const OptionalLayout& layout, const OptionalDevice& device,
                             const PinMemory& pin_memory, const OptionalFlag& is_coalesced) {
  return coo_formula(e, indices, values, size, dtype, layout, device, pin_memory, is_coalesced);
}

Result<Tensor> clone_of(Emitter& e, const Tensor& self) {
  return e(aten<"clone.default">, {self, MemoryFormat::contiguous});
}
Result<Tensor> to_sparse(Emitter& e, const Tensor& self, const OptionalLayout&,
                         const std::optional<Sizes>&, const std::optional<int64_t>&) {
  return clone_of(e, self);
}
Result<Tensor> to_sparse_of_rank(Emitter& e, const Tensor& self, int64_t sparse_dim) {
  if (sparse_dim < 0 || sparse_dim > self.dim() || (sparse_dim == 0 && self.dim() > 0))
    return operator_error("found " + std::to_string(sparse_dim) + " sparse dims for " +
                          self.type_text());
  return clone_of(e, self);
}
Result<Tensor> to_dense(Emitter& e, const Tensor& self, const OptionalDtype& dtype,
                        const OptionalFlag&) {
  return e(aten<"_to_copy.default">, {self, dtype.value_or(self.dtype())});
}
Result<Tensor> itself(Emitter&, const Tensor& self) { return self; }

Result<Tensor> sparse_mm(Emitter& e, const Tensor& sparse, const Tensor& dense) {
  return e(aten<"mm.default">, {sparse, dense});
}
Result<Tensor> sparse_addmm(Emitter& e, const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                            const Scalar& beta, const Scalar& alpha) {
  return e(aten<"addmm.default">, {self, mat1, mat2, beta, alpha});
}
Result<Tensor> sum(Emitter& e, const Tensor& self) {
  return e(aten<"sum.default">, {self, self.dtype()});
}
Result<Tensor> sum_as(Emitter& e, const Tensor& self, Dtype dtype) {
  return e(aten<"sum.default">, {self, dtype});
}
Result<Tensor> sum_along(Emitter& e, const Tensor& self, const Sizes& dim) {
  return e(aten<"sum.dim_IntList">, {self, dim, false, self.dtype()});
}
Result<Tensor> sum_along_as(Emitter& e, const Tensor& self, const Sizes& dim, Dtype dtype) {
  return e(aten<"sum.dim_IntList">, {self, dim, false, dtype});
}

// clang-format off
constexpr OpDef kSparseOps[] = {
    composed<"aten::sparse_coo_tensor.indices_size(Tensor indices, Tensor values, int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool? is_coalesced=None) -> Tensor", coo_meta, coo, coo_formula>.with({.slope = Slope::linear, .linear_in = "values"}),
    composed<"aten::_sparse_coo_tensor_unsafe(Tensor indices, Tensor values, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool? is_coalesced=None) -> Tensor", coo_meta, coo_formula>.with({.slope = Slope::linear, .linear_in = "values"}),
    composed<"aten::_sparse_coo_tensor_with_dims_and_tensors(int sparse_dim, int dense_dim, SymInt[] size, Tensor indices, Tensor values, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False, bool? is_coalesced=None) -> Tensor", coo_with_dims_meta, coo_with_dims>,
    op<"aten::to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor", to_sparse>.with({.slope = Slope::linear}),
    op<"aten::to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor", to_sparse_of_rank>.with({.slope = Slope::linear}),
    op<"aten::_to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor", to_sparse>.with({.slope = Slope::linear}),
    op<"aten::_to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor", to_sparse_of_rank>.with({.slope = Slope::linear}),
    op<"aten::_to_dense(Tensor self, ScalarType? dtype=None, bool? masked_grad=None) -> Tensor", to_dense>.with({.slope = Slope::linear}),
    op<"aten::coalesce(Tensor(a) self) -> Tensor(a)", itself>.with({.inverse = Inverse::same, .slope = Slope::linear}),
    op<"aten::_coalesce(Tensor self) -> Tensor", clone_of>.with({.slope = Slope::linear}),
    op<"aten::_sparse_mm(Tensor sparse, Tensor dense) -> Tensor", sparse_mm>,
    op<"aten::_sparse_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", sparse_addmm>,
    op<"aten::_sparse_sum(Tensor self) -> Tensor", sum>.with({.slope = Slope::linear}),
    op<"aten::_sparse_sum.dtype(Tensor self, *, ScalarType dtype) -> Tensor", sum_as>.with({.slope = Slope::linear}),
    op<"aten::_sparse_sum.dim(Tensor self, int[1] dim) -> Tensor", sum_along>.with({.slope = Slope::linear}),
    op<"aten::_sparse_sum.dim_dtype(Tensor self, int[1] dim, *, ScalarType dtype) -> Tensor", sum_along_as>.with({.slope = Slope::linear}),
};
// clang-format on

}  // namespace

std::span<const OpDef> sparse_ops() { return kSparseOps; }

}  // namespace pt2::ops
