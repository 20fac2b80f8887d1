// Operators whose results depend on which elements are true.
#include <algorithm>
#include <array>
#include <cstring>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/shape/element_size.h"
#include "ops/shape/offsets.h"

namespace pt2::ops {
namespace {

// Returns the indices of nonzero elements, one row per element, stored column by column as by
// PyTorch's CPU kernel.
Result<Tensor> nonzero(const Tensor& self) {
  const Scratch<uint8_t> flags = true_flags(self);
  const int64_t count = count_of(flags);
  PT2_TRY(Tensor out,
          allocate(Meta(Dtype::int64, {count, self.dim()}, {1, std::max<int64_t>(count, 1)})));
  write_positions(self.sizes(), flags, count, out.data<int64_t>());
  return out;
}

Result<Tensors> nonzero_numpy(const Tensor& self) {
  if (self.dim() > 0) return true_positions(self);
  return true_positions(self.with_view({1}, {1}, self.storage_offset()));
}

Result<Meta> nonzero_static_meta(const Tensor& self, int64_t size) {
  if (size < 0)
    return operator_error("size: found " + std::to_string(size) + ", expected no negative number");
  return Meta(Dtype::int64, {size, self.dim()});
}
Result<void> nonzero_static(Tensor& out, const Tensor& self, int64_t size, int64_t fill_value) {
  PT2_TRY(const Tensor found, nonzero(self));
  fill_elements(out, Scalar(fill_value));
  const int64_t rows = std::min(size, found.size(0));
  Tensor head = out.with_view({rows, self.dim()}, out.strides(), 0);
  copy_elements(head, found.with_view({rows, self.dim()}, found.strides(), 0));
  return {};
}

Result<void> check_mask(const Tensor& mask) {
  return mask.dtype() == Dtype::uint8 ? Result<void>() : check_dtype(mask, Dtype::bool_, "mask");
}

Result<Tensor> masked_select(const Tensor& self, const Tensor& mask) {
  PT2_TRY_VOID(check_mask(mask));
  const std::array both{self.sizes(), mask.sizes()};
  PT2_TRY(const Sizes sizes, broadcast_sizes(both));
  const Tensor values = broadcast_to(self, sizes).contiguous();
  const Scratch<uint8_t> flags = true_flags(broadcast_to(mask, sizes));
  const int64_t count = count_of(flags);
  PT2_TRY(Tensor out, allocate(Meta(self.dtype(), {count})));
  with_element_size(dtype_size(self.dtype()), [&]<size_t N>() {
    const std::byte* source = values.raw_data();
    std::byte* target = out.raw_data();
    const std::byte* const end = target + static_cast<size_t>(count) * N;
    // Copies every element and advances only past selected ones: mispredicted branches cost more
    // than copies.
    for (size_t i = 0; target < end; ++i, source += N) {
      std::memcpy(target, source, N);
      target += flags[i] * N;
    }
  });
  return out;
}

Result<Meta> masked_scatter_meta(const Tensor& self, const Tensor& mask, const Tensor& source) {
  PT2_TRY_VOID(check_dtype(mask, Dtype::bool_, "mask"));
  PT2_TRY_VOID(check_same_dtype(source, self, "source"));
  PT2_TRY(Sizes sizes, broadcast_sizes(std::array{self.sizes(), mask.sizes()}));
  return Meta(self.dtype(), std::move(sizes));
}
Result<Tensor> masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  PT2_TRY(const Meta meta, masked_scatter_meta(self, mask, source));
  PT2_TRY(Tensor out, allocate(meta));
  copy_elements(out, self);
  const Scratch<uint8_t> flags = true_flags(broadcast_to(mask, meta.sizes));
  const Tensor values = source.contiguous();
  const int64_t count = count_of(flags);
  if (count > values.numel())
    return operator_error("source: found " + std::to_string(values.numel()) +
                          " elements, expected one for each true of the mask");
  with_element_size(dtype_size(self.dtype()), [&]<size_t N>() {
    const std::byte* next = values.raw_data();
    const std::byte* const end = next + static_cast<size_t>(count) * N;
    std::byte* target = out.raw_data();
    // Avoids branches: mispredicted branches cost more than copies.
    for (size_t i = 0; next < end; ++i, target += N) {
      std::array<std::byte, N> element;
      std::memcpy(element.data(), flags[i] != 0 ? next : target, N);
      std::memcpy(target, element.data(), N);
      next += flags[i] * N;
    }
  });
  return out;
}

// Returns the columns of nonzero's result.
Result<Tensors> where_formula(Emitter& e, const Tensor& condition) {
  const auto dims = condition.dim() > 0 ? Result<Tensor>(condition)
                                        : e(aten<"unsqueeze.default">, {condition, 0});
  PT2_TRY(const Tensor places, e(aten<"nonzero.default">, {dims}));
  Tensors out;
  for (int64_t dim = 0; dim < std::max<int64_t>(condition.dim(), 1); ++dim) {
    PT2_TRY(Tensor column, e(aten<"select.int">, {places, 1, dim}));
    out.push_back(std::move(column));
  }
  return out;
}

// clang-format off
constexpr OpDef kMaskingOps[] = {
    composed<"aten::nonzero(Tensor self) -> Tensor", depends_on_data, nonzero>,
    composed<"aten::argwhere(Tensor self) -> Tensor", depends_on_data, nonzero>.with({.same_as = "nonzero.default"}),
    op<"aten::nonzero_numpy(Tensor self) -> Tensor[]", nonzero_numpy, where_formula>,
    composed<"aten::where(Tensor condition) -> Tensor[]", depends_on_data, nonzero_numpy, where_formula>,
    op<"aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor", nonzero_static_meta, nonzero_static>,
    composed<"aten::masked_select(Tensor self, Tensor mask) -> Tensor", depends_on_data, masked_select>.with({.slope = Slope::linear}),
    composed<"aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", masked_scatter_meta, masked_scatter>.with({.slope = Slope::linear, .linear_in = "self source"}),
};
// clang-format on

}  // namespace

std::span<const OpDef> masking_ops() { return kMaskingOps; }

}  // namespace pt2::ops
