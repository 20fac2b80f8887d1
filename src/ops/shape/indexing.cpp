// Reads and writes at the positions that index tensors give.
#include <algorithm>
#include <cstring>

#include "base/memory_account.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/pointwise/pointwise.h"
#include "ops/shape/element_size.h"
#include "ops/shape/offsets.h"

namespace pt2::ops {
namespace {

// Copies lines of N bytes; for N = 0, of `bytes` bytes.
template <size_t N>
void copy_bytes(std::byte* to, const std::byte* from, size_t bytes) {
  std::memcpy(to, from, N == 0 ? bytes : N);
}
template <class F>
void with_line_size(int64_t bytes, F&& function) {
  if (bytes > 16 || (bytes & (bytes - 1)) != 0) return function.template operator()<size_t{0}>();
  with_element_size(bytes, function);
}

// Copies the elements of `whole` that the plan selects to `part`, which is dense and has the same
// dtype, or back. The bytes of the one to write are `to`.
template <bool Gathers>
void copy_selected(const Tensor& whole, const std::byte* from, std::byte* to,
                   const IndexPlan& plan) {
  const int64_t element = dtype_size(whole.dtype());
  const auto bytes = static_cast<size_t>(plan.line * element);
  with_line_size(plan.line * element, [&]<size_t N>() {
    plan.for_each([&](int64_t i, int64_t offset) {
      copy_bytes<N>(to + (Gathers ? i : offset) * element, from + (Gathers ? offset : i) * element,
                    bytes);
    });
  });
}
void gather_elements(Tensor& part, const Tensor& whole, const IndexPlan& plan) {
  copy_selected<true>(whole, whole.raw_data(), part.raw_data(), plan);
}
void scatter_elements(Tensor& whole, const Tensor& part, const IndexPlan& plan) {
  copy_selected<false>(whole, part.raw_data(), whole.raw_data(), plan);
}

// As scatter_elements, but adds alpha * value. Half floats are summed in float and rounded once.
// Without alpha the values are not multiplied: 1 times a complex infinity contains NaN.
void add_elements(Tensor& out, const Tensor& values, const IndexPlan& plan,
                  const std::optional<Scalar>& alpha) {
  with_compute_type(out.dtype(), [&]<class C>() {
    const Scalar factor = alpha.value_or(Scalar(1));
    C scale{};
    if constexpr (std::is_same_v<C, Complex>)
      scale = factor.to_complex();
    else if constexpr (std::is_same_v<C, int64_t>)
      scale = out.dtype() == Dtype::bool_ ? factor.to_double() != 0 : factor.to_int();
    else
      scale = static_cast<C>(factor.to_double());
    const Input<C> added(values);
    Tensor sums = out;
    if (out.dtype() != kDtypeOf<C>) {
      sums = Tensor::zeros_strided(kDtypeOf<C>, out.sizes(), out.strides());
      copy_elements(sums, out);
    }
    C* target = sums.data<C>();
    const C* source = added.data();
    plan.for_each([&](int64_t i, int64_t offset) {
      for (int64_t j = 0; j < plan.line; ++j)
        target[offset + j] = alpha ? plus_product(target[offset + j], source[i + j], scale)
                                   : plus(target[offset + j], source[i + j]);
    });
    if (out.dtype() != kDtypeOf<C>) copy_elements(out, sums);
  });
}

Result<Tensor> index(const Tensor& self, const OptionalTensors& indices) {
  PT2_TRY(const IndexPlan plan, plan_index(self, indices));
  PT2_TRY(Tensor dense, allocate(Meta(self.dtype(), plan.sizes)));
  gather_elements(dense, self, plan);
  if (self.is_contiguous()) return dense;
  PT2_TRY(Sizes strides, indexed_strides(self, indices));
  if (strides.empty()) return dense;
  PT2_TRY(Tensor out, allocate(Meta(self.dtype(), dense.sizes(), std::move(strides))));
  copy_elements(out, dense);
  return out;
}

// Returns the mask if it is the only index, else null.
const Tensor* only_mask(const OptionalTensors& indices) {
  const Tensor* mask = nullptr;
  for (const std::optional<Tensor>& index : indices) {
    if (!index) continue;
    if (mask != nullptr || index->dtype() != Dtype::bool_) return nullptr;
    mask = &*index;
  }
  return mask;
}

// If a mask selects the elements, PyTorch treats a single value like a number, which may have
// another dtype (ATen/native/TensorAdvancedIndexing.cpp canDispatchToMaskedFill).
Result<Tensor> as_number(const Tensor& value, Dtype dtype) {
  if (value.dtype() != dtype) {
    PT2_TRY(const std::vector<Value> number, apply_all(aten<"item.default">, {value}));
    PT2_TRY_VOID(expect_representable(unbox<Scalar>(number[0]), dtype));
  }
  Tensor out = Tensor::zeros(dtype, {});
  copy_elements(out, value.with_view({}, {}, value.storage_offset()));
  return out;
}

Result<void> index_put(Tensor& out, const OptionalTensors& indices, Tensor values,
                       bool accumulate) {
  const Tensor* mask = accumulate || values.numel() != 1 ? nullptr : only_mask(indices);
  if (mask != nullptr) {
    PT2_TRY(values, as_number(values, out.dtype()));
    // A false mask of rank 0 leaves no index dims, so the plan would select an element.
    if (mask->dim() == 0 && true_flags(*mask)[0] == 0) return {};
  }
  PT2_TRY_VOID(check_same_dtype(values, out, "values"));
  PT2_TRY(const IndexPlan plan, plan_index(out, indices));
  PT2_TRY_VOID(check_broadcasts(values.sizes(), plan.sizes, "values"));
  // One value may stand for many, and indices for a line each.
  constexpr int64_t kWorkOfElement = 4;
  const Tensor spread = broadcast_to(values, plan.sizes);
  MemoryAccount::count_loops({spread.numel(), kWorkOfElement}, 1);
  const Tensor dense = spread.contiguous();
  if (accumulate)
    add_elements(out, dense, plan, std::nullopt);
  else
    scatter_elements(out, dense, plan);
  return {};
}

Result<void> index_put_impl(Tensor& out, const OptionalTensors& indices, const Tensor& values,
                            bool accumulate, bool) {
  return index_put(out, indices, values, accumulate);
}

// Refuses masks: their true elements would have to be counted.
Result<Tensor> unsafe_index(const Tensor& self, const OptionalTensors& indices) {
  for (const OptionalTensor& each : indices)
    if (each) PT2_TRY_VOID(check_index_dtype(*each, "indices"));
  return index(self, indices);
}

Result<void> index_select(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index) {
  PT2_TRY(const IndexPlan plan, plan_index_dim(self, dim, index, false));
  gather_elements(out, self, plan);
  return {};
}

// Returns `source`, checked against the indexed sizes. A 0-dim source stands for one slice.
Result<Tensor> checked_source(const Tensor& self, const Tensor& source, const IndexPlan& plan) {
  PT2_TRY_VOID(check_same_dtype(source, self, "source"));
  if (source.dim() == 0 && checked_numel(plan.sizes) == 1) return source;
  PT2_TRY_VOID(check_sizes(source, plan.sizes, "source"));
  return source.contiguous();
}

Result<void> index_add(Tensor& out, int64_t dim, const Tensor& index, const Tensor& source,
                       const Scalar& alpha) {
  PT2_TRY_VOID(expect_representable(alpha, out.dtype()));
  PT2_TRY(const IndexPlan plan, plan_index_dim(out, dim, index, false));
  PT2_TRY_VOID(check_rank(source, out.dim(), "source"));
  PT2_TRY(const Tensor dense, checked_source(out, source, plan));
  add_elements(out, dense, plan, alpha);
  return {};
}

Result<void> index_copy(Tensor& out, int64_t dim, const Tensor& index, const Tensor& source) {
  PT2_TRY_VOID(check_dtype(index, Dtype::int64, "index"));
  // A 0-dim out is handled like a tensor of one element, with one source element per index.
  if (out.dim() == 0 && source.dim() == 1 && source.numel() == index.numel()) {
    Tensor row = out.with_view({1}, {1}, out.storage_offset());
    PT2_TRY_VOID(wrap_dim(dim, 0));
    return index_copy(row, 0, index, source);
  }
  PT2_TRY(const IndexPlan plan, plan_index_dim(out, dim, index, false));
  PT2_TRY(const Tensor dense, checked_source(out, source, plan));
  scatter_elements(out, dense, plan);
  return {};
}

// The value for scalars of self's dtype; error if it cannot be one.
Result<Tensor> fill_value(const Tensor& self, const Scalar& value) {
  if (value.category() == DtypeCategory::complex &&
      dtype_category(self.dtype()) != DtypeCategory::complex)
    return operator_error("value: found a complex number, expected a real one");
  PT2_TRY_VOID(expect_representable(value, self.dtype()));
  return scalar_tensor(value, self.dtype());
}

Result<void> index_fill_tensor(Tensor& out, int64_t dim, const Tensor& index, const Tensor& value) {
  PT2_TRY_VOID(check_rank(value, 0, "value"));
  PT2_TRY_VOID(check_index_dtype(index, "index"));
  // If nothing is filled, the indices are not checked.
  if (index.numel() == 0 || out.numel() == 0) {
    PT2_TRY_VOID(wrap_dim(dim, out.dim()));
    return {};
  }
  PT2_TRY(const IndexPlan plan, plan_index_dim(out, dim, index, true));
  PT2_TRY(Tensor filled, allocate(Meta(out.dtype(), plan.sizes)));
  copy_elements(filled, value);
  scatter_elements(out, filled, plan);
  return {};
}

Result<void> index_fill(Tensor& out, int64_t dim, const Tensor& index, const Scalar& value) {
  PT2_TRY(const Tensor element, fill_value(out, value));
  return index_fill_tensor(out, dim, index, element);
}

Tensor flattened(const Tensor& self) {
  const Tensor dense = self.contiguous();
  return dense.with_view({dense.numel()}, {1}, dense.storage_offset());
}

Result<void> take(Tensor& out, const Tensor& self, const Tensor& index) {
  PT2_TRY_VOID(check_dtype(index, Dtype::int64, "index"));
  const Tensor flat = flattened(self);
  PT2_TRY(const IndexPlan plan, plan_index(flat, {index}));
  gather_elements(out, flat, plan);
  return {};
}

Result<void> put(Tensor& out, const Tensor& index, const Tensor& source, bool accumulate) {
  if (index.numel() != source.numel())
    return operator_error("source: found " + std::to_string(source.numel()) +
                          " elements, expected " + std::to_string(index.numel()));
  Tensor flat = flattened(out);
  PT2_TRY_VOID(index_put(flat, {flattened(index)}, flattened(source), accumulate));
  if (!out.is_contiguous())
    copy_elements(out, flat.with_view(out.sizes(), contiguous_strides(out.sizes()), 0));
  return {};
}

// Clamps every index to its dimension: elements that the mask hides may have any index.
Result<OptionalTensors> clamped_indices(Emitter& e, const Tensor& self, OptionalTensors indices) {
  for (size_t dim = 0; dim < indices.size(); ++dim) {
    if (!indices[dim]) continue;
    PT2_TRY_VOID(check_index_dtype(*indices[dim], "indices"));
    if (static_cast<int64_t>(dim) >= self.dim())
      return operator_error("indices: found more than the dims of " + self.type_text());
    const int64_t size = self.size(static_cast<int64_t>(dim));
    PT2_TRY(indices[dim], e(aten<"clamp.default">, {*indices[dim], -size, size - 1}));
  }
  return indices;
}
Result<Tensor> unsafe_masked_index(Emitter& e, const Tensor& self, const Tensor& mask,
                                   const OptionalTensors& indices, const Scalar& fill) {
  if (self.numel() == 0) {  // no index is in range, and the mask is ignored
    PT2_TRY(const Sizes sizes, indexed_sizes(self, indices));
    return e(aten<"new_full.default">, {self, sizes, fill});
  }
  PT2_TRY(const OptionalTensors clamped, clamped_indices(e, self, indices));
  const auto found = e(aten<"index.Tensor">, {self, clamped});
  return e(aten<"masked_fill.Scalar">, {found, e(aten<"logical_not.default">, {mask}), fill});
}
Result<Tensor> unsafe_masked_index_put(Emitter& e, const Tensor& self, const Tensor& mask,
                                       const OptionalTensors& indices, const Tensor& values) {
  if (self.numel() == 0) return e(aten<"clone.default">, {self});
  PT2_TRY(const OptionalTensors clamped, clamped_indices(e, self, indices));
  const auto hidden = e(aten<"logical_not.default">, {mask});
  const auto kept = e(aten<"masked_fill.Scalar">, {values, hidden, int64_t{0}});
  return e(aten<"index_put.default">, {self, clamped, kept, true});
}

Result<Meta> index_meta(const Tensor& self, const OptionalTensors& indices) {
  PT2_TRY(Sizes sizes, indexed_sizes(self, indices));
  if (self.is_contiguous()) return Meta(self.dtype(), std::move(sizes));
  PT2_TRY(Sizes strides, indexed_strides(self, indices));
  return Meta(self.dtype(), std::move(sizes), std::move(strides));
}
Result<Meta> index_select_meta(const Tensor& self, int64_t dim, const Tensor& index) {
  PT2_TRY(const int64_t wrapped, wrap_dim(dim, self.dim()));
  if (index.dim() > 1)
    return operator_error("index: found " + index.type_text() + ", expected at most 1 dim");
  Sizes sizes = self.sizes();
  if (!sizes.empty()) sizes[static_cast<size_t>(wrapped)] = index.numel();
  return Meta(self.dtype(), std::move(sizes));
}

Result<Meta> take_meta(const Tensor& self, const Tensor& index) {
  return Meta(self.dtype(), index.sizes());
}

// The rule of index_put: where a mask is no index, the sizes tell whether the values fit.
Result<std::vector<Meta>> index_put_meta(std::span<const Value> arguments) {
  const auto* self = arguments[0].get_if<Tensor>();
  const auto* values = arguments[2].get_if<Tensor>();
  const auto indices = unbox<OptionalTensors>(arguments[1]);
  const bool has_mask = std::ranges::any_of(indices, [](const std::optional<Tensor>& index) {
    return index && (index->dtype() == Dtype::bool_ || index->dtype() == Dtype::uint8);
  });
  if (has_mask || self == nullptr || values == nullptr) return like_first(arguments);
  PT2_TRY(const Sizes selected, indexed_sizes(*self, indices));
  PT2_TRY_VOID(check_broadcasts(values->sizes(), selected, "values"));
  return like_first(arguments);
}

// clang-format off
constexpr OpDef kIndexingOps[] = {
    composed<"aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", index_meta, index>.with({.slope = Slope::linear}),
    composed<"aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", index_meta, unsafe_index>.with({.slope = Slope::linear}),
    kept<"aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor", unsafe_masked_index>.with({.slope = Slope::linear}),
    kept<"aten::_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor", unsafe_masked_index_put>.with({.slope = Slope::linear, .linear_in = "self values"}),
    changed<"aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", index_put, index_put_meta>.with({.slope = Slope::linear, .linear_in = "self values", .overwrites = true}),
    changed<"aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", index_put, index_put_meta>.with({.slope = Slope::linear, .linear_in = "self values"}),
    changed<"aten::_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor", index_put_impl, index_put_meta>.with({.slope = Slope::linear, .linear_in = "self values", .overwrites = true}),
    op<"aten::index_select(Tensor self, int dim, Tensor index) -> Tensor", index_select_meta, index_select>.with({.slope = Slope::linear}),
    changed_contiguous<"aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor", index_add>.with({.slope = Slope::linear, .linear_in = "self source"}),
    changed_contiguous<"aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", index_copy>.with({.autocast = AutocastRule::widest, .slope = Slope::linear, .linear_in = "self source"}),
    changed<"aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", index_fill>.with({.overwrites = true}),
    changed<"aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", index_fill_tensor>.with({.slope = Slope::linear, .linear_in = "self value", .overwrites = true}),
    op<"aten::take(Tensor self, Tensor index) -> Tensor", take_meta, take>.with({.slope = Slope::linear}),
    changed<"aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", put>.with({.slope = Slope::linear, .linear_in = "self source"}),
};
// clang-format on

}  // namespace

std::span<const OpDef> indexing_ops() { return kIndexingOps; }

}  // namespace pt2::ops
