// torch._prims, which decompositions of PyTorch 2 produce. Aliases of aten operators are in
// forms/aliases.def; the operators here have other parameters (torch/_prims/__init__.py).
#include <algorithm>
#include <limits>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"
#include "ops/pointwise/pointwise.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {
namespace prims {

using OptionalSizes = std::optional<Sizes>;

// --- Creation

Result<Meta> empty_permuted_meta(const Sizes& shape, const Sizes&, Dtype dtype) {
  return Meta(dtype, shape);
}
Result<Tensor> iota(Emitter& e, int64_t length, int64_t start, int64_t step, Dtype dtype) {
  if (dtype_category(dtype) != DtypeCategory::integer)
    return operator_error("dtype: found " + std::string(dtype_name(dtype)) + ", expected integers");
  if (step == 0) return operator_error("step: found 0, expected another number");
  const auto positions = e(aten<"arange.default">, {length, Dtype::int64});
  const auto steps = e(aten<"mul.Scalar">, {positions, step});
  return e(aten<"_to_copy.default">, {e(aten<"add.Scalar">, {steps, start}), dtype});
}

// --- Views

// Dimension i of `a` becomes dimension broadcast_dimensions[i]; the other dimensions are new.
Result<Tensor> broadcast_in_dim(const Tensor& a, const Sizes& shape, const Sizes& dimensions) {
  if (static_cast<int64_t>(dimensions.size()) != a.dim())
    return operator_error("broadcast_dimensions: found " + sizes_text(dimensions) + " for " +
                          a.type_text() + ", expected one for each dim");
  if (!std::ranges::is_sorted(dimensions, std::less_equal()))
    return operator_error("broadcast_dimensions: found " + sizes_text(dimensions) +
                          ", expected ascending ones");
  Tensor out = a;
  for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim) {
    if (std::ranges::binary_search(dimensions, dim)) continue;
    PT2_TRY(out, unsqueeze(out, std::min(dim, out.dim())));
  }
  if (out.dim() != static_cast<int64_t>(shape.size()))
    return operator_error("broadcast_dimensions: found " + sizes_text(dimensions) +
                          ", expected some of " + std::to_string(shape.size()) + " dims");
  return expand(out, shape);
}

Result<Tensor> collapse(Emitter& e, const Tensor& a, int64_t start, int64_t end) {
  return e(aten<"clone.default">,
           {e(aten<"flatten.using_ints">, {a, start, end}), MemoryFormat::contiguous});
}
Result<Tensor> split_dim(const Tensor& a, int64_t dim, int64_t outer_length) {
  PT2_TRY(const int64_t at, wrap_dim(dim, a.dim()));
  if (a.dim() == 0 || outer_length <= 0 || a.size(at) % outer_length != 0)
    return operator_error("outer_length: found " + std::to_string(outer_length) +
                          ", expected a divisor of dim " + std::to_string(dim) + " of " +
                          a.type_text());
  Sizes sizes = a.sizes();
  sizes[static_cast<size_t>(at)] = outer_length;
  sizes.insert(sizes.begin() + at + 1, a.size(at) / outer_length);
  return view(a, sizes);
}
Result<Tensor> conjugate(const Tensor& a) {
  if (dtype_category(a.dtype()) != DtypeCategory::complex) return a;
  return apply(aten<"_conj.default">, {a});
}
Tensor view_of(const Tensor& a) { return a; }
Result<Meta> sized_meta(const Tensor& a, const Sizes& size) { return Meta(a.dtype(), size); }
Result<Tensor> strided(const Tensor& a, const Sizes& size, const Sizes& stride, int64_t offset) {
  return as_strided(a, size, stride, offset);
}

// --- Copies

Result<Tensor> copy_strided(const Tensor& a, const Sizes& stride) {
  PT2_TRY(const Tensor out, apply(aten<"empty_strided.default">, {a.sizes(), stride, a.dtype()}));
  return apply(aten<"copy_.default">, {out, a});
}
// Tokens only order the effects of a program: nothing is computed from them.
Result<Tensor> make_token(Emitter& e) { return e(aten<"empty.memory_format">, {Sizes{0}}); }
void sink_tokens() {}

template <bool Largest>
Scalar extreme_value(Dtype dtype) {
  if (dtype == Dtype::bool_) return Scalar(Largest);
  if (dtype_category(dtype) != DtypeCategory::integer)
    return Scalar(Largest ? largest_finite(dtype) : -largest_finite(dtype));
  const int bits = static_cast<int>(dtype_size(dtype)) * 8;
  if (is_unsigned(dtype) && bits < 64) return Scalar(Largest ? (int64_t{1} << bits) - 1 : 0);
  const int64_t largest = std::numeric_limits<int64_t>::max() >> (64 - bits);
  return Scalar(Largest ? largest : -largest - 1);
}

// --- Elements

// Returns real roots, also for negative numbers.
Result<Tensor> cbrt(Emitter& e, const Tensor& self) {
  const auto magnitude = e(aten<"abs.default">, {self});
  const auto root = e(aten<"pow.Tensor_Scalar">, {magnitude, 1.0 / 3.0});
  return e(aten<"copysign.Tensor">, {root, self});
}
// Integer quotients are rounded toward zero.
Result<Tensor> div(Emitter& e, const Tensor& self, const Tensor& other) {
  const bool whole = dtype_category(self.dtype()) == DtypeCategory::integer &&
                     dtype_category(other.dtype()) == DtypeCategory::integer;
  if (whole) return e(aten<"div.Tensor_mode">, {self, other, std::string("trunc")});
  return e(aten<"div.Tensor">, {self, other});
}

// --- Reductions

Sizes dims_of(const Tensor& inp, const OptionalSizes& dims) {
  if (dims) return *dims;
  Sizes all;
  for (int64_t dim = 0; dim < inp.dim(); ++dim) all.push_back(dim);
  return all;
}
template <Handle Extreme>
Result<Tensor> extreme(Emitter& e, const Tensor& inp, const OptionalSizes& dims,
                       OptionalDtype dtype) {
  PT2_TRY(const Tensor out, e(Extreme, {inp, dims_of(inp, dims)}));
  return converted(e, out, dtype.value_or(out.dtype()));
}
Result<Tensor> sum(Emitter& e, const Tensor& inp, const OptionalSizes& dims, OptionalDtype dtype) {
  return e(aten<"sum.dim_IntList">, {inp, dims_of(inp, dims), false, dtype});
}
// aten.prod reduces only one dimension. Reducing the last dimensions first keeps the indices of the
// others valid.
Result<Tensor> prod(Emitter& e, const Tensor& inp, const OptionalSizes& dims, OptionalDtype dtype) {
  PT2_TRY(Sizes order, wrap_optional_dims(dims, inp.dim()));
  std::ranges::sort(order, std::greater());
  PT2_TRY(Tensor out, order.empty() ? e(aten<"clone.default">, {inp}) : Result<Tensor>(inp));
  for (int64_t dim : order) {
    PT2_TRY(out, e(aten<"prod.dim_int">, {out, dim, false, dtype}));
  }
  return converted(e, out, dtype.value_or(out.dtype()));
}
Result<Tensor> var(Emitter& e, const Tensor& inp, const OptionalSizes& dims,
                   std::optional<double> correction, OptionalDtype dtype) {
  PT2_TRY(const Tensor out,
          e(aten<"var.correction">, {inp, dims_of(inp, dims), correction.value_or(1)}));
  return converted(e, out, dtype.value_or(out.dtype()));
}

// --- Transforms

// The transforms are unscaled in both directions, unlike torch.fft.
constexpr int64_t kNoScaling = 0;
Result<Tensor> fft_c2c(Emitter& e, const Tensor& self, const Sizes& dim, bool forward) {
  return e(aten<"_fft_c2c.default">, {self, dim, kNoScaling, forward});
}
Result<Tensor> fft_c2r(Emitter& e, const Tensor& self, const Sizes& dim, int64_t last_dim_size) {
  return e(aten<"_fft_c2r.default">, {self, dim, kNoScaling, last_dim_size});
}
Result<Tensor> fft_r2c(Emitter& e, const Tensor& self, const Sizes& dim, bool onesided) {
  return e(aten<"_fft_r2c.default">, {self, dim, kNoScaling, onesided});
}

// clang-format off
constexpr OpDef kPrimsOps[] = {
    kept<"prims::empty(SymInt[] shape, *, ScalarType dtype, Device device, bool requires_grad) -> Tensor", delegate<aten<"empty.memory_format">, Sizes, Dtype>>,
    composed<"prims::empty_permuted(SymInt[] shape, int[] physical_layout, *, ScalarType dtype, Device device, bool requires_grad) -> Tensor", empty_permuted_meta, delegate_at_once<aten<"empty_permuted.default">, Sizes, Sizes, Dtype>>,
    kept<"prims::empty_strided(SymInt[] shape, SymInt[] strides, *, ScalarType dtype, Device device, bool requires_grad) -> Tensor", delegate<aten<"empty_strided.default">, Sizes, Sizes, Dtype>>,
    kept<"prims::full(SymInt[] shape, Scalar fill_value, *, ScalarType dtype, Device device, bool requires_grad) -> Tensor", delegate<aten<"full.default">, Sizes, Scalar, Dtype>>,
    kept<"prims::full_like(Tensor a, Scalar fill_value, *, ScalarType dtype, Device device, bool requires_grad) -> Tensor", delegate<aten<"full_like.default">, Tensor, Scalar, Dtype>>,
    kept<"prims::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Device? device=None) -> Tensor", delegate<aten<"scalar_tensor.default">, Scalar, OptionalDtype>>,
    kept<"prims::iota(SymInt length, *, SymInt start, SymInt step, ScalarType dtype, Device device, bool requires_grad) -> Tensor", iota>,
    op<"prims::broadcast_in_dim(Tensor(a) a, SymInt[] shape, int[] broadcast_dimensions) -> Tensor(a)", broadcast_in_dim>,
    op<"prims::collapse_view(Tensor(a) a, int start, int end) -> Tensor(a)", flatten>,
    kept<"prims::collapse(Tensor a, int start, int end) -> Tensor", collapse>,
    op<"prims::split_dim(Tensor(a) a, int dim, SymInt outer_length) -> Tensor(a)", split_dim>,
    op<"prims::conj(Tensor(a) a) -> Tensor(a)", conjugate>.with({.sharing = Sharing::unless_complex}),
    op<"prims::view_of(Tensor(a) a) -> Tensor(a)", view_of>,
    kept<"prims::convert_element_type(Tensor a, ScalarType dtype) -> Tensor", delegate<aten<"_to_copy.default">, Tensor, Dtype>>,
    composed<"prims::copy_strided(Tensor a, SymInt[] stride) -> Tensor", like_first, copy_strided>,
    composed<"prims::device_put(Tensor a, Device device, bool non_blocking=False) -> Tensor", like_first, view_of>.with({.sharing = Sharing::possibly}),
    kept<"prims::reshape(Tensor a, SymInt[] shape) -> Tensor", delegate<aten<"_reshape_copy.default">, Tensor, Sizes>>,
    op<"prims::view_of_dtype(Tensor(a) a, ScalarType dtype) -> Tensor(a)", delegate_at_once<aten<"view.dtype">, Tensor, Dtype>>,
    composed<"prims::as_strided(Tensor(a!) a, SymInt[] size, SymInt[] stride, SymInt storage_offset) -> Tensor(a!)", sized_meta, strided>.with({.looks_at_strides = true}),
    op<"prims::transpose(Tensor(a) a, int[] permutation) -> Tensor(a)", permute>,
    op<"prims::squeeze(Tensor(a) a, int[] dimensions) -> Tensor(a)", delegate_at_once<aten<"squeeze.dims">, Tensor, Sizes>>,
    composed<"prims::copy_to(Tensor(a!) a, Tensor b) -> Tensor(a!)", like_first, delegate_at_once<aten<"copy_.default">, Tensor, Tensor>>,
    composed<"prims::resize(Tensor(a!) a, SymInt[] shape) -> Tensor(a!)", sized_meta, delegate_at_once<aten<"resize_.default">, Tensor, Sizes>>,
    kept<"prims::_make_token() -> Tensor", make_token>,
    op<"prims::_sink_tokens(Tensor[] tokens) -> ()", sink_tokens>,
    op<"prims::maximum_value(ScalarType dtype) -> Scalar", extreme_value<true>>,
    op<"prims::minimum_value(ScalarType dtype) -> Scalar", extreme_value<false>>,
    kept<"prims::rev(Tensor a, int[] dims) -> Tensor", delegate<aten<"flip.default">, Tensor, Sizes>>,
    kept<"prims::where(Tensor pred, Tensor a, Tensor b) -> Tensor", delegate<aten<"where.self">, Tensor, Tensor, Tensor>>,
    kept<"prims::pow(Tensor self, Tensor other) -> Tensor", delegate<aten<"pow.Tensor_Tensor">, Tensor, Tensor>>,
    kept<"prims::cbrt(Tensor self) -> Tensor", cbrt>,
    kept<"prims::div(Tensor self, Tensor other) -> Tensor", div>,
    kept<"prims::amax(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor", extreme<aten<"amax.default">>>,
    kept<"prims::amin(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor", extreme<aten<"amin.default">>>,
    kept<"prims::sum(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor", sum>,
    kept<"prims::prod(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor", prod>,
    kept<"prims::var(Tensor inp, int[]? dims, float? correction=1, *, ScalarType? output_dtype=None) -> Tensor", var>,
    kept<"prims::fft_c2c(Tensor self, *, int[] dim, bool forward) -> Tensor", fft_c2c>,
    kept<"prims::fft_c2r(Tensor self, *, int[] dim, SymInt last_dim_size) -> Tensor", fft_c2r>,
    kept<"prims::fft_r2c(Tensor self, *, int[] dim, bool onesided) -> Tensor", fft_r2c>,
};
// clang-format on

}  // namespace prims
}  // namespace

std::span<const OpDef> prims_ops() { return prims::kPrimsOps; }

}  // namespace pt2::ops
