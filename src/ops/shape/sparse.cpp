// Sparse tensors. A sparse tensor is represented by the equivalent dense tensor: results have the
// same numbers, but explicitly stored zeros are not distinguished.
#include <algorithm>
#include <unordered_set>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/shape/view.h"

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

// As coo, with the numbers of sparse and dense dims, which the other arguments imply.
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

Result<Tensor> zeros_of(Emitter& e, const Sizes& size, const OptionalDtype& dtype,
                        const OptionalLayout&, const OptionalDevice&, const PinMemory&) {
  return e(aten<"zeros.default">, {size, dtype.value_or(Dtype::float32)});
}

// Norms below 0 depend on stored zeros.
Result<Tensor> native_norm(Emitter& e, const Tensor& self, const Scalar& p) {
  if (!(p.to_double() >= 0))
    return Error{ErrorCode::unsupported, "norms below 0 of sparse tensors", ""};
  return e(aten<"norm.Scalar">, {self, p});
}
Result<Tensor> native_norm_along(Emitter& e, const Tensor& self, const std::optional<Scalar>& p,
                                 const Sizes& dim, bool keepdim, const OptionalDtype& dtype) {
  PT2_TRY(const Sizes all, wrap_dims(dim, self.dim()));
  if (static_cast<int64_t>(all.size()) != self.dim() || keepdim || dtype)
    return operator_error("found dims " + sizes_text(dim) +
                          ", keepdim or a dtype, expected all dims and neither of these");
  return native_norm(e, self, p.value_or(2));
}

// Row k of `diagonals` becomes the diagonal number offsets[k]; its element j is in column j.
Result<Meta> spdiags_meta(const Tensor& diagonals, const Tensor& offsets, const Sizes& shape,
                          const OptionalLayout&) {
  if (diagonals.dim() > 2 || diagonals.dim() < 1 || offsets.dim() > 1 ||
      offsets.dtype() != Dtype::int64)
    return operator_error("found " + diagonals.type_text() + " and " + offsets.type_text() +
                          ", expected rows of diagonals, and their offsets of int64");
  if (offsets.numel() != (diagonals.dim() == 1 ? 1 : diagonals.size(0)))
    return operator_error("offsets: found " + offsets.type_text() + ", expected one for each of " +
                          diagonals.type_text());
  if (shape.size() != 2 || shape[0] < 0 || shape[1] < 0)
    return operator_error("shape: found " + sizes_text(shape) + ", expected two sizes");
  return Meta(diagonals.dtype(), shape);
}
Result<void> spdiags(Tensor& out, const Tensor& diagonals, const Tensor& offsets,
                     const Sizes& shape, const OptionalLayout&) {
  const Input<int64_t> all(offsets);
  std::unordered_set<int64_t> seen;
  for (int64_t k = 0; k < all.size(); ++k) {
    const int64_t offset = all[k];
    if (!seen.insert(offset).second || offset <= -shape[0] || offset >= shape[1])
      return operator_error("offsets: found " + std::to_string(offset) +
                            ", expected different diagonals of " + sizes_text(shape));
    PT2_TRY(const Tensor row,
            diagonals.dim() == 1 ? Result<Tensor>(diagonals) : select(diagonals, 0, k));
    const int64_t begin = std::max<int64_t>(offset, 0);
    PT2_TRY(const int64_t below, multiply_add(offset, 1, shape[0]));
    const int64_t end = std::min({shape[1], below, row.size(0)});
    if (begin >= end) continue;
    Tensor target =
        out.with_view({end - begin}, {shape[1] + 1}, (begin - offset) * shape[1] + begin);
    PT2_TRY(const Tensor source, narrow(row, 0, begin, end - begin));
    copy_elements(target, source);
  }
  return {};
}

// --- Positions of elements: the row of each (COO), or the start of each row (CSR)

Dtype place_dtype(bool out_int32) { return out_int32 ? Dtype::int32 : Dtype::int64; }

Result<Meta> coo_to_csr_meta(const Tensor& self, int64_t size, bool out_int32) {
  PT2_TRY_VOID(check_rank(self, 1, "self"));
  PT2_TRY_VOID(check_index_dtype(self, "self"));
  PT2_TRY(const int64_t count, multiply_add(size, 1, 1));
  if (size < 0) return operator_error("size: found " + std::to_string(size));
  return Meta(place_dtype(out_int32), {count});
}
// The start of row i is the number of indices below i.
Result<void> coo_to_csr(Tensor& out, const Tensor& self, int64_t size, bool) {
  const Input<int64_t> rows(self);
  Output<int64_t> starts(out);
  int64_t row = 0;
  for (int64_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < (i == 0 ? 0 : rows[i - 1]) || rows[i] >= size)
      return operator_error("self: found " + std::to_string(rows[i]) +
                            ", expected ascending numbers below " + std::to_string(size));
    for (; row <= rows[i]; ++row) starts[row] = i;
  }
  for (; row <= size; ++row) starts[row] = rows.size();
  return {};
}

Result<Meta> csr_to_coo_meta(const Tensor& crow, const Tensor& col, bool out_int32, bool) {
  PT2_TRY_VOID(check_rank_at_least(crow, 1, "crow_indices"));
  PT2_TRY_VOID(check_index_dtype(crow, "crow_indices"));
  PT2_TRY_VOID(check_index_dtype(col, "col_indices"));
  Sizes sizes = crow.sizes();
  if (sizes.back() < 1 || col.dim() != crow.dim())
    return operator_error("crow_indices: found " + crow.type_text() + ", expected " +
                          std::to_string(col.dim()) + " dims, the last not empty");
  sizes.back() = col.sizes().back();
  PT2_TRY_VOID(check_sizes(col, sizes, "col_indices"));
  return Meta(place_dtype(out_int32), {crow.dim() + 1, col.numel()});
}
// Writes one row for each batch dim, then one row of row numbers and one of column numbers, which
// `transpose` swaps.
Result<void> csr_to_coo(Tensor& out, const Tensor& crow, const Tensor& col, bool, bool transpose) {
  const Input<int64_t> starts(crow), columns(col);
  Output<int64_t> places(out);
  const int64_t count = col.sizes().back(), line = crow.sizes().back(), all = col.numel();
  int64_t* const rows = places.data() + (crow.dim() - (transpose ? 0 : 1)) * all;
  int64_t* const row_columns = places.data() + (crow.dim() - (transpose ? 1 : 0)) * all;
  std::copy_n(columns.data(), all, row_columns);
  for (int64_t matrix = 0; all > 0 && matrix < all / count; ++matrix) {
    const int64_t* begin = starts.data() + matrix * line;
    if (begin[0] != 0 || begin[line - 1] != count || !std::is_sorted(begin, begin + line))
      return operator_error("crow_indices: found " + std::to_string(begin[0]) + " to " +
                            std::to_string(begin[line - 1]) +
                            ", expected ascending numbers from 0 to " + std::to_string(count));
    for (int64_t row = 0; row + 1 < line; ++row)
      std::fill(rows + matrix * count + begin[row], rows + matrix * count + begin[row + 1], row);
    int64_t place = matrix;
    for (int64_t dim = crow.dim() - 1; dim-- > 0; place /= crow.size(dim))
      std::fill_n(places.data() + dim * all + matrix * count, count, place % crow.size(dim));
  }
  return {};
}

// clang-format off
constexpr OpDef kSparseOps[] = {
    op<"aten::sparse_coo_tensor.indices_size(Tensor indices, Tensor values, int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool? is_coalesced=None) -> Tensor", coo, coo_formula>.with({.slope = Slope::linear, .linear_in = "values"}),
    op<"aten::_sparse_coo_tensor_unsafe(Tensor indices, Tensor values, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool? is_coalesced=None) -> Tensor", coo_formula>.with({.slope = Slope::linear, .linear_in = "values"}),
    op<"aten::_sparse_coo_tensor_with_dims_and_tensors(int sparse_dim, int dense_dim, SymInt[] size, Tensor indices, Tensor values, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False, bool? is_coalesced=None) -> Tensor", coo_with_dims>,
    op<"aten::to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor", to_sparse>.with({.slope = Slope::linear}),
    op<"aten::to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor", to_sparse_of_rank>.with({.slope = Slope::linear}),
    op<"aten::_to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor", to_sparse>.with({.slope = Slope::linear}),
    op<"aten::_to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor", to_sparse_of_rank>.with({.slope = Slope::linear}),
    op<"aten::_to_dense(Tensor self, ScalarType? dtype=None, bool? masked_grad=None) -> Tensor", to_dense>.with({.slope = Slope::linear}),
    op<"aten::coalesce(Tensor(a) self) -> Tensor(a)", itself>.with({.inverse = Inverse::same, .slope = Slope::linear}),
    op<"aten::_coalesce(Tensor self) -> Tensor", clone_of>.with({.slope = Slope::linear}),
    op<"aten::_sparse_mm(Tensor sparse, Tensor dense) -> Tensor", sparse_mm>,
    op<"aten::_sparse_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", sparse_addmm>,
    op<"aten::_sparse_sparse_matmul(Tensor self, Tensor other) -> Tensor", sparse_mm>,
    op<"aten::hspmm(Tensor mat1, Tensor mat2) -> Tensor", sparse_mm>,
    op<"aten::smm(Tensor self, Tensor mat2) -> Tensor", sparse_mm>,
    op<"aten::sspaddmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", sparse_addmm>,
    op<"aten::sparse_coo_tensor.size(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor", zeros_of>,
    op<"aten::_spdiags(Tensor diagonals, Tensor offsets, int[] shape, Layout? layout=None) -> Tensor", spdiags_meta, spdiags>.with({.slope = Slope::linear, .linear_in = "diagonals"}),
    op<"aten::native_norm(Tensor self, Scalar p=2) -> Tensor", native_norm>,
    op<"aten::native_norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, ScalarType? dtype) -> Tensor", native_norm_along>,
    op<"aten::_convert_indices_from_coo_to_csr(Tensor self, int size, *, bool out_int32=False) -> Tensor", coo_to_csr_meta, coo_to_csr>,
    op<"aten::_convert_indices_from_csr_to_coo(Tensor crow_indices, Tensor col_indices, *, bool out_int32=False, bool transpose=False) -> Tensor", csr_to_coo_meta, csr_to_coo>,
    op<"aten::_sparse_sum(Tensor self) -> Tensor", sum>.with({.slope = Slope::linear}),
    op<"aten::_sparse_sum.dtype(Tensor self, *, ScalarType dtype) -> Tensor", sum_as>.with({.slope = Slope::linear}),
    op<"aten::_sparse_sum.dim(Tensor self, int[1] dim) -> Tensor", sum_along>.with({.slope = Slope::linear}),
    op<"aten::_sparse_sum.dim_dtype(Tensor self, int[1] dim, *, ScalarType dtype) -> Tensor", sum_along_as>.with({.slope = Slope::linear}),
};
// clang-format on

}  // namespace

std::span<const OpDef> sparse_ops() { return kSparseOps; }

}  // namespace pt2::ops
