// Conclusions from strides: channels-last layouts, recognised as PyTorch does, and overlapping
// elements.
#ifndef PT2_OPS_MEMORY_FORMAT_H
#define PT2_OPS_MEMORY_FORMAT_H

#include "ops/meta.h"

namespace pt2::ops {

// channels_last for rank 4, channels_last_3d for rank 5, else contiguous
// (c10/core/TensorImpl.h suggest_memory_format, c10/core/MemoryFormat.h is_channels_last_strides).
MemoryFormat suggest_memory_format(const Tensor& tensor);
bool is_contiguous_in(const Tensor& tensor, MemoryFormat format);
// channels_last or channels_last_3d if the elements are in that order without gaps, ignoring the
// strides of dims of size 1; else contiguous.
MemoryFormat dense_memory_format(const Tensor& tensor);
// suggest_memory_format() for rows [N, C, L] that are computed as images of height 1.
MemoryFormat suggest_format_of_rows(const Tensor& tensor);
// The Meta of a tensor like `tensor` in its format, as suggest_memory_format() tells it.
Meta like_in_format(const Tensor& tensor);
Sizes row_strides(const Sizes& sizes, MemoryFormat format);
// Strides of a new tensor. Empty (row-major) unless the format is a channels-last one that fits the
// rank.
Sizes format_strides(const Sizes& sizes, MemoryFormat format);

// True if elements may overlap, that is unless the stride of each dimension exceeds the extent of
// all dimensions with smaller strides. Meaningless for tensors without elements.
bool may_overlap(const Tensor& tensor);

}  // namespace pt2::ops

#endif  // PT2_OPS_MEMORY_FORMAT_H
