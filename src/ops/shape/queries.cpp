// Queries of a tensor's properties other than its elements.
#include <algorithm>

#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

int64_t dim_of(const Tensor& self) { return self.dim(); }
int64_t numel_of(const Tensor& self) { return self.numel(); }
int64_t offset_of(const Tensor& self) { return self.storage_offset(); }
Sizes sizes_of(const Tensor& self) { return self.sizes(); }
Sizes strides_of(const Tensor& self) { return self.strides(); }
Result<int64_t> size_at(const Tensor& self, int64_t dim) {
  PT2_TRY(const int64_t at, wrap_existing_dim(dim, self));
  return self.size(at);
}
Result<int64_t> stride_at(const Tensor& self, int64_t dim) {
  PT2_TRY(const int64_t at, wrap_existing_dim(dim, self));
  return self.stride(at);
}
int64_t element_size(const Tensor& self) { return dtype_size(self.dtype()); }
bool contiguous_now(const Tensor& self) { return self.is_contiguous(); }
bool contiguous_in(const Tensor& self, MemoryFormat format) {
  return is_contiguous_in(self, format);
}
bool has_same_size(const Tensor& self, const Tensor& other) {
  return self.sizes() == other.sizes();
}
Result<bool> is_nonzero(const Tensor& self) {
  if (self.numel() != 1)
    return operator_error("found " + self.type_text() + ", expected one element");
  return Input<Complex>(self)[0] != Complex(0);
}

bool has_floats(const Tensor& self) {
  return dtype_category(self.dtype()) == DtypeCategory::floating;
}
bool has_complex(const Tensor& self) {
  return dtype_category(self.dtype()) == DtypeCategory::complex;
}
bool has_signs(const Tensor& self) {
  constexpr Dtype kUnsigned[] = {Dtype::bool_, Dtype::uint8, Dtype::uint16, Dtype::uint32,
                                 Dtype::uint64};
  return std::ranges::find(kUnsigned, self.dtype()) == std::end(kUnsigned);
}
// Always false: conjugation and negation are eager here.
bool never(const Tensor&) { return false; }

// ATen/native/TypeProperties.cpp can_cast.
bool can_cast(Dtype from, Dtype to) {
  const DtypeCategory given = dtype_category(from), wanted = dtype_category(to);
  if (given == DtypeCategory::complex) return wanted == DtypeCategory::complex;
  if (given == DtypeCategory::floating) return wanted >= DtypeCategory::floating;
  return to != Dtype::bool_ || from == Dtype::bool_;
}
template <class First, class Second>
Dtype result_type(const First& first, const Second& second) {
  return Promotion().add(first).add(second).result();
}
// All tensors here have the same layout and device.
bool have_compatible_types(const Tensor&, const Tensor&) { return true; }
bool have_equal_storages(const Tensor& self, const Tensor& other) {
  return self.storage()->size() / static_cast<size_t>(dtype_size(self.dtype())) ==
         other.storage()->size() / static_cast<size_t>(dtype_size(other.dtype()));
}

// --- Formulas

Result<Tensor> sizes_tensor(Emitter& e, const Tensor& self) {
  Tensors parts;
  for (const int64_t size : self.sizes()) {
    PT2_TRY(Tensor part, e(aten<"full.default">, {Sizes{1}, size, Dtype::int64}));
    parts.push_back(std::move(part));
  }
  if (parts.empty()) return e(aten<"full.default">, {Sizes{0}, 0, Dtype::int64});
  return e(aten<"cat.default">, {parts});
}
Result<Tensor> dim_range(Emitter& e, const Tensor& like, int64_t dim) {
  PT2_TRY(const int64_t size, size_at(like, dim));
  return e(aten<"arange.default">, {size, Dtype::int64});
}
// ATen/native/TensorCompare.cpp isreal.
Result<Tensor> isreal(Emitter& e, const Tensor& self) {
  if (has_complex(self)) return e(aten<"eq.Scalar">, {e(aten<"imag.default">, {self}), 0});
  return e(aten<"ones_like.default">, {self, Dtype::bool_});
}
Result<Tensor> same(Emitter&, const Tensor& self) { return self; }
Result<Tensors> same_list(Emitter&, const Tensors& tensors) { return tensors; }
template <Dtype To>
Result<Tensor> cast(Emitter& e, const Tensor& self, bool non_blocking) {
  return e(aten<"to.dtype">, {self, To, non_blocking});
}

// Sums over broadcast dims; without sizes, returns self unchanged.
Result<Tensor> sum_gradient_to_size(const Tensor& self, const std::optional<Sizes>& size) {
  return size ? apply(aten<"sum_to_size.default">, {self, box(*size)}) : Result<Tensor>(self);
}

// clang-format off
constexpr OpDef kQueriesOps[] = {
    op<"aten::dim(Tensor self) -> int", dim_of>.with({.looks_at_sizes_alone = true, .undecomposed = Undecomposed::gives_numbers}),
    op<"aten::numel(Tensor self) -> int", numel_of>.with({.looks_at_sizes_alone = true, .undecomposed = Undecomposed::gives_numbers}),
    op<"aten::size(Tensor self) -> int[]", sizes_of>.with({.looks_at_sizes_alone = true}),
    op<"aten::size.int(Tensor self, int dim) -> int", size_at>.with({.looks_at_sizes_alone = true, .undecomposed = Undecomposed::gives_numbers}),
    op<"aten::stride(Tensor self) -> int[]", strides_of>.with({.looks_at_strides = true}),
    op<"aten::stride.int(Tensor self, int dim) -> int", stride_at>.with({.looks_at_strides = true, .undecomposed = Undecomposed::gives_numbers}),
    op<"aten::sym_size(Tensor self) -> SymInt[]", sizes_of>.with({.looks_at_sizes_alone = true}),
    op<"aten::sym_stride(Tensor self) -> SymInt[]", strides_of>.with({.looks_at_strides = true}),
    op<"aten::sym_size.int(Tensor self, int dim) -> SymInt", size_at>.with({.looks_at_sizes_alone = true}),
    op<"aten::sym_stride.int(Tensor self, int dim) -> SymInt", stride_at>.with({.looks_at_strides = true}),
    op<"aten::sym_numel(Tensor self) -> SymInt", numel_of>.with({.looks_at_sizes_alone = true}),
    op<"aten::sym_storage_offset(Tensor self) -> SymInt", offset_of>.with({.looks_at_strides = true}),
    op<"aten::sym_is_contiguous(Tensor self, MemoryFormat memory_format=0) -> SymBool", contiguous_in>.with({.looks_at_strides = true}),
    op<"aten::storage_offset(Tensor self) -> int", offset_of>.with({.looks_at_strides = true, .undecomposed = Undecomposed::gives_numbers}),
    op<"aten::element_size(Tensor self) -> int", element_size>,
    op<"aten::is_contiguous(Tensor self) -> bool", contiguous_now>.with({.looks_at_strides = true, .undecomposed = Undecomposed::gives_numbers}),
    op<"aten::is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool", contiguous_in>.with({.looks_at_strides = true, .undecomposed = Undecomposed::gives_numbers}),
    op<"aten::is_same_size(Tensor self, Tensor other) -> bool", has_same_size>.with({.looks_at_sizes_alone = true}),
    op<"aten::is_nonzero(Tensor self) -> bool", is_nonzero>.with({.undecomposed = Undecomposed::gives_numbers}),
    op<"aten::is_floating_point(Tensor self) -> bool", has_floats>.with({.undecomposed = Undecomposed::gives_numbers}),
    op<"aten::is_complex(Tensor self) -> bool", has_complex>.with({.undecomposed = Undecomposed::gives_numbers}),
    op<"aten::is_signed(Tensor self) -> bool", has_signs>.with({.undecomposed = Undecomposed::gives_numbers}),
    op<"aten::is_conj(Tensor self) -> bool", never>.with({.undecomposed = Undecomposed::gives_numbers}),
    op<"aten::is_neg(Tensor self) -> bool", never>.with({.undecomposed = Undecomposed::gives_numbers}),
    // Non-strict torch.export leaves a node for each dtype query, whose result is unused.
    op<"aten::promote_types(ScalarType type1, ScalarType type2) -> ScalarType", promote_types>.with({.undecomposed = Undecomposed::gives_numbers}),
    op<"aten::result_type.Tensor(Tensor tensor, Tensor other) -> ScalarType", result_type<Tensor, Tensor>>.with({.undecomposed = Undecomposed::gives_numbers}),
    op<"aten::result_type.Scalar(Tensor tensor, Scalar other) -> ScalarType", result_type<Tensor, Scalar>>.with({.undecomposed = Undecomposed::gives_numbers}),
    op<"aten::result_type.Scalar_Tensor(Scalar scalar, Tensor tensor) -> ScalarType", result_type<Scalar, Tensor>>.with({.undecomposed = Undecomposed::gives_numbers}),
    op<"aten::result_type.Scalar_Scalar(Scalar scalar1, Scalar scalar2) -> ScalarType", result_type<Scalar, Scalar>>.with({.undecomposed = Undecomposed::gives_numbers}),
    op<"aten::can_cast(ScalarType from_, ScalarType to) -> bool", can_cast>.with({.undecomposed = Undecomposed::gives_numbers}),
    op<"aten::is_set_to(Tensor self, Tensor tensor) -> bool", is_set_to>,
    op<"aten::_has_compatible_shallow_copy_type(Tensor self, Tensor from) -> bool", have_compatible_types>.with({.undecomposed = Undecomposed::gives_numbers}),
    op<"aten::_has_same_storage_numel(Tensor self, Tensor other) -> bool", have_equal_storages>.with({.looks_at_strides = true}),
    op<"aten::is_distributed(Tensor self) -> bool", never>.with({.undecomposed = Undecomposed::gives_numbers}),
    op<"aten::isreal(Tensor self) -> Tensor", isreal>,
    op<"aten::_shape_as_tensor(Tensor self) -> Tensor", sizes_tensor>,
    op<"aten::_dim_arange(Tensor like, int dim) -> Tensor", dim_range>,
    op<"aten::data(Tensor self) -> Tensor", same>.with({.sharing = Sharing::always, .inverse = Inverse::same}),
    op<"aten::_to_cpu(Tensor[] tensors) -> Tensor[]", same_list>.with({.sharing = Sharing::possibly, .slope = Slope::linear, .linear_in = "tensors", .looks_at_sizes_alone = true}),
    op<"aten::_grad_sum_to_size(Tensor(a) self, int[]? size) -> Tensor(a)", sum_gradient_to_size>.with({.sharing = Sharing::possibly, .slope = Slope::linear}),
    op<"aten::_cast_Byte(Tensor self, bool non_blocking=False) -> Tensor", cast<Dtype::uint8>>.with({.sharing = Sharing::unless_cast}),
    op<"aten::_cast_Char(Tensor self, bool non_blocking=False) -> Tensor", cast<Dtype::int8>>.with({.sharing = Sharing::unless_cast}),
    op<"aten::_cast_Short(Tensor self, bool non_blocking=False) -> Tensor", cast<Dtype::int16>>.with({.sharing = Sharing::unless_cast}),
    op<"aten::_cast_Int(Tensor self, bool non_blocking=False) -> Tensor", cast<Dtype::int32>>.with({.sharing = Sharing::unless_cast}),
    op<"aten::_cast_Long(Tensor self, bool non_blocking=False) -> Tensor", cast<Dtype::int64>>.with({.sharing = Sharing::unless_cast}),
    op<"aten::_cast_Half(Tensor self, bool non_blocking=False) -> Tensor", cast<Dtype::float16>>.with({.sharing = Sharing::unless_cast}),
    op<"aten::_cast_Float(Tensor self, bool non_blocking=False) -> Tensor", cast<Dtype::float32>>.with({.sharing = Sharing::unless_cast}),
    op<"aten::_cast_Double(Tensor self, bool non_blocking=False) -> Tensor", cast<Dtype::float64>>.with({.sharing = Sharing::unless_cast, .slope = Slope::linear}),
};
// clang-format on

}  // namespace

std::span<const OpDef> queries_ops() { return kQueriesOps; }

}  // namespace pt2::ops
