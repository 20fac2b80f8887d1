#include "ops/pointwise/copying.h"

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/loops.h"
#include "ops/memory_format.h"
#include "ops/op_def.h"
#include "ops/pointwise/pointwise.h"
#include "ops/shape/view.h"

namespace pt2::ops {

Result<void> check_format(const Sizes& sizes, MemoryFormat format) {
  const bool volumes = format == MemoryFormat::channels_last_3d;
  if (format != MemoryFormat::channels_last && !volumes) return {};
  const size_t rank = volumes ? 5 : 4;
  if (sizes.size() == rank) return {};
  return operator_error("found rank " + std::to_string(sizes.size()) + ", expected " +
                        std::to_string(rank) + " for a channels-last format");
}

Result<Meta> meta_like(const Tensor& self, Dtype dtype, std::optional<MemoryFormat> format) {
  if (!format || *format == MemoryFormat::preserve) {
    const Tensor* operand = &self;
    return Meta(dtype, self.sizes(), elementwise_strides(self.sizes(), std::span(&operand, 1)));
  }
  PT2_TRY_VOID(check_format(self.sizes(), *format));
  return Meta(dtype, self.sizes(), format_strides(self.sizes(), *format));
}

Result<Tensor> copy_as(const Tensor& self, Dtype dtype, std::optional<MemoryFormat> format) {
  PT2_TRY(const Meta meta, meta_like(self, dtype, format));
  PT2_TRY(Tensor out, allocate(meta));
  copy_elements(out, self);
  return out;
}

Result<Tensor> converted(Emitter& e, const Result<Tensor>& tensor, Dtype dtype) {
  if (!tensor || tensor->dtype() == dtype) return tensor;
  return e(aten<"_to_copy.default">, {*tensor, dtype});
}

Result<Tensor> contiguous_tensor(const Tensor& self) {
  if (self.is_contiguous()) return self;
  return copy_as(self, self.dtype(), MemoryFormat::contiguous);
}

bool has_internal_overlap(const Tensor& tensor) {
  if (tensor.numel() == 0) return false;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim)
    if (tensor.stride(dim) == 0 && tensor.size(dim) > 1) return true;
  return false;
}

Result<void> check_layout(const std::optional<Layout>& layout) {
  if (layout && *layout != Layout::strided)
    return Error{ErrorCode::unsupported, "found a sparse layout, expected strided", ""};
  return {};
}

namespace {

// --- to, clone, contiguous

bool is_converted(const Tensor& self, Dtype dtype, std::optional<MemoryFormat> format) {
  return dtype == self.dtype() &&
         (!format || *format == MemoryFormat::preserve || suggest_memory_format(self) == *format);
}
// A conversion, which is self if nothing must be converted or copied.
struct Cast {
  const Tensor& self;
  Dtype dtype;
  bool copy = false;
  OptionalFormat format = {};
  OptionalDevice device = {};
};
Cast cast_to_dtype(const Tensor& self, Dtype dtype, bool, bool copy, OptionalFormat format) {
  return {self, dtype, copy, format};
}
Cast cast_to_device(const Tensor& self, const Device& device, Dtype dtype, bool, bool copy,
                    OptionalFormat format) {
  return {self, dtype, copy, format, device};
}
Cast cast_to_other(const Tensor& self, const Tensor& other, bool, bool copy,
                   OptionalFormat format) {
  return {self, other.dtype(), copy, format};
}
Result<Cast> cast_to_layout(const Tensor& self, OptionalDtype dtype, OptionalLayout layout,
                            const OptionalDevice& device, PinMemory, bool, bool copy,
                            OptionalFormat format) {
  PT2_TRY_VOID(check_layout(layout));
  return Cast{self, dtype.value_or(self.dtype()), copy, format, device};
}
Cast cast_as(const Tensor& self, const Tensor& other) { return {self, other.dtype()}; }
Cast cast_to_dense(const Tensor& self, OptionalDtype dtype) {
  return {self, dtype.value_or(self.dtype())};
}
Result<Tensor> run_cast(const Cast& cast) {
  if (!cast.copy && is_converted(cast.self, cast.dtype, cast.format)) return cast.self;
  return copy_as(cast.self, cast.dtype, cast.format);
}
Result<Tensor> write_cast(Emitter& e, const Cast& cast) {
  const auto& [self, dtype, copy, format, device] = cast;
  if (!copy && !device && is_converted(self, dtype, format)) return self;
  if (!format) return e(aten<"_to_copy.default">, {self, dtype, std::nullopt, device});
  return e(aten<"_to_copy.default">,
           {self, dtype, std::nullopt, device, std::nullopt, false, *format});
}
Result<Meta> to_copy_meta(const Tensor& self, std::optional<Dtype> dtype,
                          std::optional<Layout> layout, const std::optional<Device>&,
                          std::optional<bool>, bool, std::optional<MemoryFormat> format) {
  PT2_TRY_VOID(check_layout(layout));
  return meta_like(self, dtype.value_or(self.dtype()), format);
}
Result<Meta> clone_meta(const Tensor& self, std::optional<MemoryFormat> format) {
  return meta_like(self, self.dtype(), format);
}
Meta contiguous_meta(const Tensor& self) { return Meta::like(self); }
void copy_of(Tensor& out, const Tensor& self) { copy_elements(out, self); }

// A tensor in the requested layout is returned before this check. PyTorch refuses to copy only for
// the preserve format (ATen/native/TensorProperties.cpp contiguous).
Result<void> check_copied_format(MemoryFormat format) {
  if (format != MemoryFormat::preserve) return {};
  return operator_error("found the preserve format, expected a definite one");
}
Result<Tensor> contiguous(const Tensor& self, MemoryFormat format) {
  if (is_contiguous_in(self, format)) return self;
  PT2_TRY_VOID(check_copied_format(format));
  return copy_as(self, self.dtype(), format);
}

// --- copy, fill, zero: self gives dtype and sizes, the other argument gives the values

Result<Meta> copy_meta(const Tensor& self, const Tensor& src) {
  PT2_TRY_VOID(check_broadcasts(src.sizes(), self.sizes(), "src"));
  // The result also keeps strides with gaps (ATen/native/Copy.cpp copy, clone_preserve_strides).
  if (has_internal_overlap(self)) return as_self(self);
  return Meta(self.dtype(), self.sizes(), self.strides());
}
void copy_second(Tensor& out, const Tensor&, const Tensor& src) { copy_elements(out, src); }

Result<void> copy_over(Tensor& out, const Tensor& src) {
  PT2_TRY_VOID(check_broadcasts(src.sizes(), out.sizes(), "src"));
  copy_elements(out, src);
  return {};
}

Result<Meta> fill_meta(const Tensor& self, const Scalar& value) {
  PT2_TRY_VOID(expect_representable(value, self.dtype()));
  return as_self(self);
}
Result<Meta> fill_tensor_meta(const Tensor& self, const Tensor& value) {
  if (value.dim() != 0)
    return operator_error("found a value of rank " + std::to_string(value.dim()) + ", expected 0");
  return as_self(self);
}

// --- Identities

Tensor itself(const Tensor& self) { return self; }

// Conjugation and negation are eager here, where PyTorch sets a lazy bit. The result therefore
// shares no storage, and resolving it is the identity.
void conjugate_elements(Tensor& out, const Tensor& self) {
  if (dtype_category(self.dtype()) != DtypeCategory::complex) return copy_elements(out, self);
  elementwise<Complex>(
      out, out.dtype(), [](Complex x) { return std::conj(x); }, self);
}
Result<Tensor> conj(const Tensor& self) {
  if (dtype_category(self.dtype()) != DtypeCategory::complex) return self;
  return compute<as_self, conjugate_elements>(self);
}
Result<void> check_complex(const Tensor& self) {
  if (dtype_category(self.dtype()) == DtypeCategory::complex) return {};
  return operator_error("found dtype " + std::string(dtype_name(self.dtype())) +
                        ", expected a complex one");
}
// This view exists only for complex tensors: PyTorch asserts that.
Result<Meta> lazy_conj_meta(const Tensor& self) {
  PT2_TRY_VOID(check_complex(self));
  return Meta::like(self);
}
Result<Tensor> lazy_conj(const Tensor& self) {
  PT2_TRY_VOID(check_complex(self));
  return conj(self);
}
Result<Tensor> negate(const Tensor& self) { return compute<as_self, unary<kNeg>>(self); }

// --- Parts of complex numbers

std::optional<Dtype> complex_with(Dtype part) {
  for (Dtype dtype : {Dtype::complex32, Dtype::complex64, Dtype::complex128})
    if (real_dtype(dtype) == part) return dtype;
  return std::nullopt;
}

}  // namespace

Result<Tensor> view_as_real(const Tensor& self) {
  PT2_TRY_VOID(check_complex(self));
  Sizes sizes = self.sizes();
  Sizes strides = self.strides();
  for (int64_t& stride : strides) stride *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  return Tensor::view_of(self.storage(), real_dtype(self.dtype()), std::move(sizes),
                         std::move(strides), self.storage_offset() * 2);
}

namespace {

Result<Tensor> view_as_complex(const Tensor& self) {
  const auto dtype = complex_with(self.dtype());
  if (!dtype)
    return operator_error("found dtype " + std::string(dtype_name(self.dtype())) +
                          ", expected a float one");
  if (self.dim() == 0 || self.sizes().back() != 2 || self.strides().back() != 1)
    return operator_error("found sizes " + sizes_text(self.sizes()) +
                          ", expected a last dim of 2 with stride 1");
  Sizes sizes = self.sizes();
  Sizes strides = self.strides();
  sizes.pop_back();
  strides.pop_back();
  for (int64_t& stride : strides) {
    if (stride % 2 != 0) return operator_error("found an odd stride, expected pairs");
    stride /= 2;
  }
  if (self.storage_offset() % 2 != 0)
    return operator_error("found an odd storage offset, expected pairs");
  return Tensor::view_of(self.storage(), *dtype, std::move(sizes), std::move(strides),
                         self.storage_offset() / 2);
}
Result<Tensor> real(const Tensor& self) {
  if (dtype_category(self.dtype()) != DtypeCategory::complex) return self;
  PT2_TRY(const Tensor parts, view_as_real(self));
  return select(parts, -1, 0);
}
Result<Tensor> imag(const Tensor& self) {
  PT2_TRY(const Tensor parts, view_as_real(self));
  return select(parts, -1, 1);
}

// Reinterprets the bytes as another dtype. The size of the last dimension changes with the element
// size.
Result<Tensor> view_dtype(const Tensor& self, Dtype dtype) {
  const int64_t from = dtype_size(self.dtype());
  const int64_t to = dtype_size(dtype);
  if (from == to) return self.with_dtype(dtype);
  if (self.dim() == 0)
    return operator_error(
        "found a 0-dim tensor, expected one with dims to change the element size");
  if (self.strides().back() != 1)
    return operator_error("found a last stride of " + std::to_string(self.strides().back()) +
                          ", expected 1");
  Sizes sizes = self.sizes();
  Sizes strides = self.strides();
  if (from > to) {
    const int64_t ratio = from / to;
    for (int64_t& stride : strides) stride *= ratio;
    strides.back() = 1;
    sizes.back() *= ratio;
    return Tensor::view_of(self.storage(), dtype, std::move(sizes), std::move(strides),
                           self.storage_offset() * ratio);
  }
  const int64_t ratio = to / from;
  bool divisible = sizes.back() % ratio == 0 && self.storage_offset() % ratio == 0;
  for (size_t i = 0; i + 1 < strides.size(); ++i) divisible = divisible && strides[i] % ratio == 0;
  if (!divisible)
    return operator_error("self: found sizes, strides or an offset that are not multiples of " +
                          std::to_string(ratio) + ", expected multiples");
  for (int64_t& stride : strides) stride /= ratio;
  strides.back() = 1;
  sizes.back() /= ratio;
  return Tensor::view_of(self.storage(), dtype, std::move(sizes), std::move(strides),
                         self.storage_offset() / ratio);
}

Result<Meta> complex_meta(const Tensor& a, const Tensor& b) {
  const auto dtype = complex_with(a.dtype());
  if (!dtype || a.dtype() != b.dtype())
    return operator_error("found dtypes " + std::string(dtype_name(a.dtype())) + " and " +
                          std::string(dtype_name(b.dtype())) + ", expected two equal float ones");
  return elementwise_meta(*dtype, {&a, &b});
}
template <const auto& F>
void complex_from(Tensor& out, const Tensor& a, const Tensor& b) {
  elementwise<Complex>(out, out.dtype(), F, a, b);
}
constexpr auto kFromParts = [](Complex a, Complex b) { return Complex(a.real(), b.real()); };
constexpr auto kFromPolar = [](Complex a, Complex b) {
  return Complex(a.real() * std::cos(b.real()), a.real() * std::sin(b.real()));
};

// --- Rules of the functions above

// Returns the metadata of self with the dtype of a dtype or tensor argument, if any.
Result<std::vector<Meta>> converted_meta(std::span<const Value> arguments) {
  Meta meta = Meta::like(*arguments[0].get_if<Tensor>());
  for (const Value& argument : arguments.subspan(1)) {
    if (const auto* dtype = argument.get_if<Dtype>()) meta.dtype = *dtype;
    if (const auto* other = argument.get_if<Tensor>()) meta.dtype = other->dtype();
    if (const auto* format = argument.get_if<MemoryFormat>())
      PT2_TRY_VOID(check_format(meta.sizes, *format));
  }
  return meta_list(std::move(meta));
}

Result<Meta> view_as_real_meta(const Tensor& self) {
  PT2_TRY_VOID(check_complex(self));
  Meta meta(real_dtype(self.dtype()), self.sizes());
  meta.sizes.push_back(2);
  return meta;
}
Result<Meta> view_as_complex_meta(const Tensor& self) {
  const auto dtype = complex_with(self.dtype());
  if (!dtype || self.dim() == 0 || self.sizes().back() != 2)
    return operator_error("found " + self.type_text() + ", expected floats with a last dim of 2");
  return Meta(*dtype, {self.sizes().begin(), self.sizes().end() - 1});
}
Result<Meta> part_meta(const Tensor& self) { return Meta(real_dtype(self.dtype()), self.sizes()); }

// --- Formulas

Result<Tensor> contiguous_formula(Emitter& e, const Tensor& self, MemoryFormat format) {
  if (!e.strides_vary() && is_contiguous_in(self, format)) return self;
  PT2_TRY_VOID(check_copied_format(format));
  return e(aten<"clone.default">, {self, format});
}
Result<Tensor> itself_formula(Emitter&, const Tensor& self) { return self; }
// A file does not record whether PyTorch marked a complex tensor as conjugated. A copy is never
// marked.
Result<Tensor> resolve_conj_formula(Emitter& e, const Tensor& self) {
  if (dtype_category(self.dtype()) != DtypeCategory::complex) return self;
  return e(aten<"clone.default">, {self});
}
Result<Tensor> real_formula(Emitter& e, const Tensor& self) {
  if (dtype_category(self.dtype()) != DtypeCategory::complex) return self;
  return e(aten<"select.int">, {e(aten<"view_as_real.default">, {self}), int64_t{-1}, 0});
}
Result<Tensor> imag_formula(Emitter& e, const Tensor& self) {
  return e(aten<"select.int">, {e(aten<"view_as_real.default">, {self}), int64_t{-1}, 1});
}
Result<Tensor> conj_formula(Emitter& e, const Tensor& self) {
  if (dtype_category(self.dtype()) != DtypeCategory::complex) return self;
  return e(aten<"_conj_physical.default">, {self});
}

Result<Tensor> chalf(Emitter& e, const Tensor& self, const OptionalFormat& format) {
  return e(aten<"to.dtype">, {self, Dtype::complex32, false, false, format});
}

// clang-format off
constexpr OpDef kCopyingOps[] = {
    composed<"aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)", converted_meta, gathered<cast_to_dtype, run_cast>, gathered<cast_to_dtype, write_cast>>.with({.sharing = Sharing::unless_cast, .slope = Slope::linear}),
    composed<"aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)", converted_meta, gathered<cast_to_device, run_cast>, gathered<cast_to_device, write_cast>>.with({.sharing = Sharing::unless_cast, .slope = Slope::linear}),
    composed<"aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)", converted_meta, gathered<cast_to_other, run_cast>, gathered<cast_to_other, write_cast>>.with({.sharing = Sharing::unless_cast, .slope = Slope::linear}),
    composed<"aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)", converted_meta, gathered<cast_to_layout, run_cast>, gathered<cast_to_layout, write_cast>>.with({.sharing = Sharing::unless_cast, .slope = Slope::linear}),
    op<"aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor", to_copy_meta, copy_of>.with({.slope = Slope::linear}),
    op<"aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", clone_meta, copy_of>.with({.slope = Slope::linear}),
    composed<"aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)", converted_meta, contiguous, contiguous_formula>.with({.sharing = Sharing::unless_contiguous, .slope = Slope::linear}),
    composed<"aten::type_as(Tensor self, Tensor other) -> Tensor", converted_meta, gathered<cast_as, run_cast>, gathered<cast_as, write_cast>>.with({.sharing = Sharing::unless_cast, .slope = Slope::linear}),
    op<"aten::chalf(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", chalf>.with({.sharing = Sharing::unless_cast}),
    op<"aten::lift_fresh_copy(Tensor self) -> Tensor", contiguous_meta, copy_of>.with({.slope = Slope::linear}),
    op<"aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", copy_meta, copy_second>.changing<copy_over>().with({.slope = Slope::linear, .linear_in = "src"}),
    op<"aten::fill.Scalar(Tensor self, Scalar value) -> Tensor", fill_meta, fill_with<Tensor>>.with({.slope = Slope::constant, .overwrites = true}),
    op<"aten::fill.Tensor(Tensor self, Tensor value) -> Tensor", fill_tensor_meta, copy_second>.with({.slope = Slope::linear, .linear_in = "value"}),
    op<"aten::zero(Tensor self) -> Tensor", as_self, leave_zero>.with({.slope = Slope::constant, .overwrites = true}),
    composed<"aten::detach(Tensor(a) self) -> Tensor(a)", like_first, itself>.with({.inverse = Inverse::same, .slope = Slope::constant}),
    composed<"aten::detach_(Tensor(a!) self) -> Tensor(a!)", like_first, itself>.with({.sharing = Sharing::always, .inverse = Inverse::same, .functional_form = "detach.default"}),
    composed<"aten::alias(Tensor(a) self) -> Tensor(a)", like_first, itself>.with({.inverse = Inverse::same, .slope = Slope::linear}),
    composed<"aten::to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor", converted_meta, gathered<cast_to_dense, run_cast>, gathered<cast_to_dense, write_cast>>.with({.sharing = Sharing::possibly, .slope = Slope::linear}),
    composed<"aten::lift(Tensor self) -> Tensor", like_first, itself>.with({.sharing = Sharing::always, .inverse = Inverse::same, .slope = Slope::linear}),
    op<"aten::lift_fresh(Tensor(a) self) -> Tensor(a)", itself>.with({.inverse = Inverse::same, .slope = Slope::linear}),
    composed<"aten::resolve_conj(Tensor(a) self) -> Tensor(a)", like_first, itself, resolve_conj_formula>.with({.sharing = Sharing::unless_complex, .inverse = Inverse::same, .slope = Slope::linear}),
    composed<"aten::resolve_neg(Tensor(a) self) -> Tensor(a)", like_first, itself, itself_formula>.with({.sharing = Sharing::unless_complex, .inverse = Inverse::same, .slope = Slope::linear}),
    op<"aten::conj(Tensor(a) self) -> Tensor(a)", conj, conj_formula>.with({.sharing = Sharing::unless_complex, .inverse = Inverse::same, .slope = Slope::linear}),
    composed<"aten::_conj(Tensor(a) self) -> Tensor(a)", lazy_conj_meta, lazy_conj>.with({.sharing = Sharing::possibly, .slope = Slope::linear}),
    op<"aten::_conj_physical(Tensor self) -> Tensor", as_self, conjugate_elements>.with({.slope = Slope::linear}),
    op<"aten::conj_physical(Tensor self) -> Tensor", conj_formula>.with({.sharing = Sharing::possibly, .slope = Slope::linear}),
    op<"aten::_neg_view(Tensor(a) self) -> Tensor(a)", negate>.with({.sharing = Sharing::possibly, .slope = Slope::linear}),
    composed<"aten::view_as_real(Tensor(a) self) -> Tensor(a)", view_as_real_meta, view_as_real>.with({.slope = Slope::linear}),
    composed<"aten::view_as_complex(Tensor(a) self) -> Tensor(a)", view_as_complex_meta, view_as_complex>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    composed<"aten::real(Tensor(a) self) -> Tensor(a)", part_meta, real, real_formula>.with({.sharing = Sharing::unless_complex, .inverse = Inverse::same, .slope = Slope::linear}),
    composed<"aten::imag(Tensor(a) self) -> Tensor(a)", part_meta, imag, imag_formula>.with({.slope = Slope::linear}),
    op<"aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", view_dtype>,
    op<"aten::complex(Tensor real, Tensor imag) -> Tensor", complex_meta, complex_from<kFromParts>>.with({.slope = Slope::linear, .linear_in = "real imag"}),
    op<"aten::polar(Tensor abs, Tensor angle) -> Tensor", complex_meta, complex_from<kFromPolar>>.with({.autocast = AutocastRule::float32}),
};
// clang-format on

}  // namespace

std::span<const OpDef> copying_ops() { return kCopyingOps; }

}  // namespace pt2::ops
