// torch._prims, which decompositions of PyTorch 2 produce. Aliases of aten operators are in
// forms/aliases.def; the operators here have other parameters (torch/_prims/__init__.py).
#include <algorithm>
#include <limits>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/op_def.h"
#include "ops/pointwise/pointwise.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {
namespace prims {

using OptionalSizes = std::optional<Sizes>;

Value list_of(const Sizes& numbers) { return box(numbers); }

// --- Creation

Result<Tensor> empty(const Sizes& shape, Dtype dtype, const Device&, bool) {
  return apply(aten<"empty.memory_format">, {list_of(shape), dtype});
}
Result<Tensor> empty_permuted(const Sizes& shape, const Sizes& physical_layout, Dtype dtype,
                              const Device&, bool) {
  return apply(aten<"empty_permuted.default">, {list_of(shape), list_of(physical_layout), dtype});
}
Result<Tensor> empty_strided(const Sizes& shape, const Sizes& strides, Dtype dtype, const Device&,
                             bool) {
  return apply(aten<"empty_strided.default">, {list_of(shape), list_of(strides), dtype});
}
Result<Tensor> full(const Sizes& shape, const Scalar& fill_value, Dtype dtype, const Device&,
                    bool) {
  return apply(aten<"full.default">, {list_of(shape), box(fill_value), dtype});
}
Result<Tensor> full_like(const Tensor& a, const Scalar& fill_value, Dtype dtype, const Device&,
                         bool) {
  return apply(aten<"full_like.default">, {a, box(fill_value), dtype});
}
Result<Tensor> make_scalar(const Scalar& s, OptionalDtype dtype, const OptionalDevice&) {
  return apply(aten<"scalar_tensor.default">, {box(s), box(dtype)});
}
Result<Tensor> iota(int64_t length, int64_t start, int64_t step, Dtype dtype, const Device&, bool) {
  if (dtype_category(dtype) != DtypeCategory::integer)
    return operator_error("dtype: found " + std::string(dtype_name(dtype)) + ", expected integers");
  if (step == 0) return operator_error("step: found 0, expected another number");
  PT2_TRY(const Tensor positions, apply(aten<"arange.default">, {length, Dtype::int64}));
  PT2_TRY(const Tensor steps, apply(aten<"mul.Scalar">, {positions, step}));
  PT2_TRY(const Tensor moved, apply(aten<"add.Scalar">, {steps, start}));
  return apply(aten<"_to_copy.default">, {moved, dtype});
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

Result<Tensor> collapse_view(const Tensor& a, int64_t start, int64_t end) {
  return flatten(a, start, end);
}
Result<Tensor> collapse(const Tensor& a, int64_t start, int64_t end) {
  PT2_TRY(const Tensor flat, flatten(a, start, end));
  return flat.clone();
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
Result<Tensor> view_of_dtype(const Tensor& a, Dtype dtype) {
  return apply(aten<"view.dtype">, {a, dtype});
}
Result<Tensor> strided(const Tensor& a, const Sizes& size, const Sizes& stride, int64_t offset) {
  return as_strided(a, size, stride, offset);
}
Result<Tensor> transpose_dims(const Tensor& a, const Sizes& permutation) {
  return permute(a, permutation);
}
Result<Tensor> squeeze(const Tensor& a, const Sizes& dimensions) {
  return apply(aten<"squeeze.dims">, {a, list_of(dimensions)});
}

// --- Copies

Result<Tensor> convert_element_type(const Tensor& a, Dtype dtype) {
  return apply(aten<"_to_copy.default">, {a, dtype});
}
Result<Tensor> copy_strided(const Tensor& a, const Sizes& stride) {
  PT2_TRY(const Tensor out,
          apply(aten<"empty_strided.default">, {list_of(a.sizes()), list_of(stride), a.dtype()}));
  return apply(aten<"copy_.default">, {out, a});
}
Tensor device_put(const Tensor& a, const Device&, bool) { return a; }
Result<Tensor> reshape_copy(const Tensor& a, const Sizes& shape) {
  PT2_TRY(const Tensor out, reshape(a, shape));
  return out.contiguous().clone();
}
Result<Tensor> copy_to(const Tensor& a, const Tensor& b) {
  return apply(aten<"copy_.default">, {a, b});
}
Result<Tensor> resize(const Tensor& a, const Sizes& shape) {
  return apply(aten<"resize_.default">, {a, list_of(shape)});
}
Result<Tensor> reverse(const Tensor& a, const Sizes& dims) {
  return apply(aten<"flip.default">, {a, list_of(dims)});
}

// Tokens only order the effects of a program: nothing is computed from them.
Result<Tensor> make_token() { return apply(aten<"empty.memory_format">, {list_of({0})}); }
void sink_tokens(const Tensors&) {}

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

Result<Tensor> where(const Tensor& pred, const Tensor& a, const Tensor& b) {
  return apply(aten<"where.self">, {pred, a, b});
}
Result<Tensor> power(const Tensor& self, const Tensor& other) {
  return apply(aten<"pow.Tensor_Tensor">, {self, other});
}
// Returns real roots, also for negative numbers.
Result<Tensor> cbrt(const Tensor& self) {
  PT2_TRY(const Tensor magnitude, apply(aten<"abs.default">, {self}));
  PT2_TRY(const Tensor root, apply(aten<"pow.Tensor_Scalar">, {magnitude, 1.0 / 3.0}));
  return apply(aten<"copysign.Tensor">, {root, self});
}
// Integer quotients are rounded toward zero.
Result<Tensor> div(const Tensor& self, const Tensor& other) {
  const bool whole = dtype_category(self.dtype()) == DtypeCategory::integer &&
                     dtype_category(other.dtype()) == DtypeCategory::integer;
  if (whole) return apply(aten<"div.Tensor_mode">, {self, other, std::string("trunc")});
  return apply(aten<"div.Tensor">, {self, other});
}

// --- Reductions

Value dims_of(const Tensor& inp, const OptionalSizes& dims) {
  if (dims) return list_of(*dims);
  Sizes all;
  for (int64_t dim = 0; dim < inp.dim(); ++dim) all.push_back(dim);
  return list_of(all);
}
Result<Tensor> converted(const Tensor& tensor, OptionalDtype dtype) {
  if (!dtype || *dtype == tensor.dtype()) return tensor;
  return convert_element_type(tensor, *dtype);
}
Result<Tensor> amax(const Tensor& inp, const OptionalSizes& dims, OptionalDtype dtype) {
  PT2_TRY(const Tensor out, apply(aten<"amax.default">, {inp, dims_of(inp, dims)}));
  return converted(out, dtype);
}
Result<Tensor> amin(const Tensor& inp, const OptionalSizes& dims, OptionalDtype dtype) {
  PT2_TRY(const Tensor out, apply(aten<"amin.default">, {inp, dims_of(inp, dims)}));
  return converted(out, dtype);
}
Result<Tensor> sum(const Tensor& inp, const OptionalSizes& dims, OptionalDtype dtype) {
  return apply(aten<"sum.dim_IntList">, {inp, dims_of(inp, dims), false, box(dtype)});
}
// aten.prod reduces only one dimension. Reducing the last dimensions first keeps the indices of the
// others valid.
Result<Tensor> prod(const Tensor& inp, const OptionalSizes& dims, OptionalDtype dtype) {
  PT2_TRY(Sizes order, wrap_optional_dims(dims, inp.dim()));
  std::ranges::sort(order, std::greater());
  Tensor out = order.empty() ? inp.clone() : inp;
  for (int64_t dim : order) {
    PT2_TRY(out, apply(aten<"prod.dim_int">, {out, dim, false, box(dtype)}));
  }
  return converted(out, dtype);
}
Result<Tensor> var(const Tensor& inp, const OptionalSizes& dims, std::optional<double> correction,
                   OptionalDtype dtype) {
  PT2_TRY(const Tensor out,
          apply(aten<"var.correction">, {inp, dims_of(inp, dims), correction.value_or(1)}));
  return converted(out, dtype);
}

// --- Transforms

// The transforms are unscaled in both directions, unlike torch.fft.
constexpr int64_t kNoScaling = 0;
Result<Tensor> fft_c2c(const Tensor& self, const Sizes& dim, bool forward) {
  return apply(aten<"_fft_c2c.default">, {self, list_of(dim), kNoScaling, forward});
}
Result<Tensor> fft_c2r(const Tensor& self, const Sizes& dim, int64_t last_dim_size) {
  return apply(aten<"_fft_c2r.default">, {self, list_of(dim), kNoScaling, last_dim_size});
}
Result<Tensor> fft_r2c(const Tensor& self, const Sizes& dim, bool onesided) {
  return apply(aten<"_fft_r2c.default">, {self, list_of(dim), kNoScaling, onesided});
}

// clang-format off
constexpr OpDef kPrimsOps[] = {
    op<"prims::empty(SymInt[] shape, *, ScalarType dtype, Device device, bool requires_grad) -> Tensor", empty>,
    op<"prims::empty_permuted(SymInt[] shape, int[] physical_layout, *, ScalarType dtype, Device device, bool requires_grad) -> Tensor", empty_permuted>,
    op<"prims::empty_strided(SymInt[] shape, SymInt[] strides, *, ScalarType dtype, Device device, bool requires_grad) -> Tensor", empty_strided>,
    op<"prims::full(SymInt[] shape, Scalar fill_value, *, ScalarType dtype, Device device, bool requires_grad) -> Tensor", full>,
    op<"prims::full_like(Tensor a, Scalar fill_value, *, ScalarType dtype, Device device, bool requires_grad) -> Tensor", full_like>,
    op<"prims::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Device? device=None) -> Tensor", make_scalar>,
    op<"prims::iota(SymInt length, *, SymInt start, SymInt step, ScalarType dtype, Device device, bool requires_grad) -> Tensor", iota>,
    op<"prims::broadcast_in_dim(Tensor(a) a, SymInt[] shape, int[] broadcast_dimensions) -> Tensor(a)", broadcast_in_dim>,
    op<"prims::collapse_view(Tensor(a) a, int start, int end) -> Tensor(a)", collapse_view>,
    op<"prims::collapse(Tensor a, int start, int end) -> Tensor", collapse>,
    op<"prims::split_dim(Tensor(a) a, int dim, SymInt outer_length) -> Tensor(a)", split_dim>,
    op<"prims::conj(Tensor(a) a) -> Tensor(a)", conjugate>.with({.sharing = Sharing::unless_complex}),
    op<"prims::view_of(Tensor(a) a) -> Tensor(a)", view_of>,
    op<"prims::convert_element_type(Tensor a, ScalarType dtype) -> Tensor", convert_element_type>,
    op<"prims::copy_strided(Tensor a, SymInt[] stride) -> Tensor", copy_strided>,
    op<"prims::device_put(Tensor a, Device device, bool non_blocking=False) -> Tensor", device_put>.with({.sharing = Sharing::possibly}),
    op<"prims::reshape(Tensor a, SymInt[] shape) -> Tensor", reshape_copy>,
    op<"prims::view_of_dtype(Tensor(a) a, ScalarType dtype) -> Tensor(a)", view_of_dtype>,
    op<"prims::as_strided(Tensor(a!) a, SymInt[] size, SymInt[] stride, SymInt storage_offset) -> Tensor(a!)", strided>.with({.looks_at_strides = true}),
    op<"prims::transpose(Tensor(a) a, int[] permutation) -> Tensor(a)", transpose_dims>,
    op<"prims::squeeze(Tensor(a) a, int[] dimensions) -> Tensor(a)", squeeze>,
    op<"prims::copy_to(Tensor(a!) a, Tensor b) -> Tensor(a!)", copy_to>,
    op<"prims::resize(Tensor(a!) a, SymInt[] shape) -> Tensor(a!)", resize>,
    op<"prims::_make_token() -> Tensor", make_token>,
    op<"prims::_sink_tokens(Tensor[] tokens) -> ()", sink_tokens>,
    op<"prims::maximum_value(ScalarType dtype) -> Scalar", extreme_value<true>>,
    op<"prims::minimum_value(ScalarType dtype) -> Scalar", extreme_value<false>>,
    op<"prims::rev(Tensor a, int[] dims) -> Tensor", reverse>,
    op<"prims::where(Tensor pred, Tensor a, Tensor b) -> Tensor", where>,
    op<"prims::pow(Tensor self, Tensor other) -> Tensor", power>,
    op<"prims::cbrt(Tensor self) -> Tensor", cbrt>,
    op<"prims::div(Tensor self, Tensor other) -> Tensor", div>,
    op<"prims::amax(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor", amax>,
    op<"prims::amin(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor", amin>,
    op<"prims::sum(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor", sum>,
    op<"prims::prod(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor", prod>,
    op<"prims::var(Tensor inp, int[]? dims, float? correction=1, *, ScalarType? output_dtype=None) -> Tensor", var>,
    op<"prims::fft_c2c(Tensor self, *, int[] dim, bool forward) -> Tensor", fft_c2c>,
    op<"prims::fft_c2r(Tensor self, *, int[] dim, SymInt last_dim_size) -> Tensor", fft_c2r>,
    op<"prims::fft_r2c(Tensor self, *, int[] dim, bool onesided) -> Tensor", fft_r2c>,
};
// clang-format on

}  // namespace prims
}  // namespace

std::span<const OpDef> prims_ops() { return prims::kPrimsOps; }

}  // namespace pt2::ops
