// Operators that change the sizes of a tensor in its memory, or its memory. The result is the
// changed tensor; the argument itself stays unchanged.
#include <algorithm>
#include <cstring>

#include "ops/compose.h"
#include "ops/pointwise/copying.h"

namespace pt2::ops {
namespace {

// Keeps the memory if it is large enough; otherwise copies the elements that fit. New memory is
// zero.
Result<Tensor> resized(const Tensor& self, Sizes sizes, Sizes strides) {
  for (int64_t dim : sizes)
    if (dim < 0)
      return operator_error("found a negative size in " + sizes_text(sizes) +
                            ", expected 0 or more");
  if (strides.empty()) strides = contiguous_strides(sizes);
  auto view = Tensor::view_of(self.storage(), self.dtype(), sizes, strides, self.storage_offset());
  if (view) return view;
  PT2_TRY(Tensor out, allocate({self.dtype(), std::move(sizes), std::move(strides)}));
  // A tensor without elements may begin behind the end of its storage.
  const auto places = static_cast<int64_t>(self.storage()->size()) / dtype_size(self.dtype());
  const int64_t left = places - std::min(self.storage_offset(), places);
  const auto kept =
      std::min(static_cast<size_t>(left * dtype_size(self.dtype())), out.storage()->size());
  if (kept > 0) std::memcpy(out.raw_data(), self.raw_data(), kept);
  return out;
}
Result<Tensor> resize_in_place(const Tensor& self, const Sizes& size,
                               const OptionalFormat& format) {
  if (format == MemoryFormat::preserve)
    return operator_error("found the preserve format, expected a definite one");
  if (!format) return size == self.sizes() ? self : resized(self, size, {});
  PT2_TRY_VOID(check_format(size, *format));
  return resized(self, size, format_strides(size, *format));
}
Result<Tensor> resize_as_in_place(const Tensor& self, const Tensor& the_template,
                                  const OptionalFormat& format) {
  const bool keeps = format == MemoryFormat::preserve;
  return resize_in_place(self, the_template.sizes(),
                         keeps ? suggest_memory_format(the_template) : format);
}
Result<Tensor> resize(const Tensor& self, const Sizes& size, const OptionalFormat& format) {
  PT2_TRY(const Tensor own, copy_as(self, self.dtype(), MemoryFormat::preserve));
  return resize_in_place(own, size, format);
}
Result<Tensor> resize_as(const Tensor& self, const Tensor& the_template,
                         const OptionalFormat& format) {
  PT2_TRY(const Tensor own, copy_as(self, self.dtype(), MemoryFormat::preserve));
  return resize_as_in_place(own, the_template, format);
}
Meta resize_meta(const Tensor& self, const Sizes& size, const OptionalFormat&) {
  return {self.dtype(), size};
}
Meta resize_as_meta(const Tensor& self, const Tensor& the_template, const OptionalFormat&) {
  return {self.dtype(), the_template.sizes()};
}

Result<void> check_source(const Tensor& self, const Tensor& source) {
  if (self.dtype() == source.dtype()) return {};
  return operator_error("found a source of dtype " + std::string(dtype_name(source.dtype())) +
                        " for a tensor of dtype " + std::string(dtype_name(self.dtype())));
}
Result<Tensor> set(const Tensor& self, const Tensor& source) {
  PT2_TRY_VOID(check_source(self, source));
  return source;
}
Result<Meta> set_meta(const Tensor& self, const Tensor& source) {
  PT2_TRY_VOID(check_source(self, source));
  return Meta::like(source);
}

// PyTorch copies at the first write; here the copy is immediate.
Result<Tensor> lazy_clone(Emitter& e, const Tensor& self) {
  return e(aten<"clone.default">, {self});
}

// clang-format off
constexpr OpDef kStorageOps[] = {
    composed<"aten::resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor", resize_meta, resize>.with({.slope = Slope::linear, .overwrites = true}),
    composed<"aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)", resize_meta, resize_in_place>,
    composed<"aten::resize_as(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor", resize_as_meta, resize_as>.with({.slope = Slope::linear, .overwrites = true}),
    composed<"aten::resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)", resize_as_meta, resize_as_in_place>,
    composed<"aten::set.source_Tensor(Tensor self, Tensor source) -> Tensor", set_meta, set>.with({.sharing = Sharing::always, .slope = Slope::linear, .linear_in = "source", .looks_at_sizes_alone = true}),
    composed<"aten::set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)", set_meta, set>.with({.sharing = Sharing::always}),
    op<"aten::_lazy_clone(Tensor self) -> Tensor", lazy_clone>.with({.slope = Slope::linear}),
};
// clang-format on

}  // namespace

std::span<const OpDef> storage_ops() { return kStorageOps; }

}  // namespace pt2::ops
