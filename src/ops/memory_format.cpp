#include "ops/memory_format.h"

#include <algorithm>

namespace pt2::ops {
namespace {

bool has_channels_last_strides(const Tensor& tensor) {
  const int64_t rank = tensor.dim();
  if (tensor.stride(1) == 0) return false;
  int64_t smallest = 0;
  auto grows = [&](int64_t dim) {
    if (tensor.size(dim) == 0 || tensor.stride(dim) < smallest) return false;
    // If every size but the first is 1, the strides are ambiguous; row-major is the default.
    if (dim == 0 && smallest == tensor.stride(1)) return false;
    // A file may record strides that exceed any memory.
    return !__builtin_mul_overflow(tensor.stride(dim), std::max<int64_t>(tensor.size(dim), 1),
                                   &smallest);
  };
  if (!grows(1)) return false;
  for (int64_t dim = rank - 1; dim >= 2; --dim)
    if (!grows(dim)) return false;
  return grows(0);
}

}  // namespace

MemoryFormat suggest_memory_format(const Tensor& tensor) {
  if (tensor.dim() == 4 && has_channels_last_strides(tensor)) return MemoryFormat::channels_last;
  if (tensor.dim() == 5 && has_channels_last_strides(tensor)) return MemoryFormat::channels_last_3d;
  return MemoryFormat::contiguous;
}

MemoryFormat suggest_format_of_rows(const Tensor& tensor) {
  const int64_t length = tensor.size(2), step = tensor.stride(2);
  int64_t row = 0;
  if (__builtin_mul_overflow(length, step, &row)) return MemoryFormat::contiguous;
  return suggest_memory_format(tensor.with_view({tensor.size(0), tensor.size(1), 1, length},
                                                {tensor.stride(0), tensor.stride(1), row, step},
                                                tensor.storage_offset()));
}

Meta like_in_format(const Tensor& tensor) {
  return Meta(tensor.dtype(), tensor.sizes(),
              format_strides(tensor.sizes(), suggest_memory_format(tensor)));
}

Sizes row_strides(const Sizes& sizes, MemoryFormat format) {
  Sizes strides = format_strides({sizes[0], sizes[1], 1, sizes[2]}, format);
  if (!strides.empty()) strides.erase(strides.begin() + 2);
  return strides;
}

bool is_contiguous_in(const Tensor& tensor, MemoryFormat format) {
  if (format == MemoryFormat::contiguous || format == MemoryFormat::preserve)
    return tensor.is_contiguous();
  const Sizes strides = format_strides(tensor.sizes(), format);
  for (size_t i = 0; i < strides.size(); ++i)
    if (tensor.sizes()[i] != 1 && tensor.strides()[i] != strides[i]) return false;
  return !strides.empty();
}

MemoryFormat dense_memory_format(const Tensor& tensor) {
  const MemoryFormat format =
      tensor.dim() == 5 ? MemoryFormat::channels_last_3d : MemoryFormat::channels_last;
  return is_contiguous_in(tensor, format) ? format : MemoryFormat::contiguous;
}

Sizes format_strides(const Sizes& sizes, MemoryFormat format) {
  const size_t rank = sizes.size();
  if (!(format == MemoryFormat::channels_last && rank == 4) &&
      !(format == MemoryFormat::channels_last_3d && rank == 5))
    return {};
  Sizes strides(rank);
  int64_t next = 1;
  // Sizes that exceed any memory wrap around, as in contiguous_strides().
  auto place = [&](size_t dim) {
    strides[dim] = next;
    next = static_cast<int64_t>(static_cast<uint64_t>(next) *
                                static_cast<uint64_t>(std::max<int64_t>(sizes[dim], 1)));
  };
  place(1);
  for (size_t dim = rank - 1; dim >= 2; --dim) place(dim);
  place(0);
  return strides;
}

bool may_overlap(const Tensor& tensor) {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim)
    if (tensor.size(dim) > 1) dims.emplace_back(tensor.stride(dim), tensor.size(dim));
  std::ranges::sort(dims);
  int64_t reach = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

}  // namespace pt2::ops
