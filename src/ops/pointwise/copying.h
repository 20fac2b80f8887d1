// Copies of tensors in a memory format, shared by clone, to, contiguous and the *_like operators.
#ifndef PT2_OPS_POINTWISE_COPYING_H
#define PT2_OPS_POINTWISE_COPYING_H

#include <optional>

#include "ops/memory_format.h"

namespace pt2::ops {

// Error unless tensors of this rank can have the format.
Result<void> check_format(const Sizes& sizes, MemoryFormat format);
// A new tensor like `self`. The default, preserve, keeps the order of dimensions.
Result<Meta> meta_like(const Tensor& self, Dtype dtype, std::optional<MemoryFormat> format);
bool is_contiguous_in(const Tensor& tensor, MemoryFormat format);
// The elements of `self`, converted, in a storage of their own.
Result<Tensor> copy_as(const Tensor& self, Dtype dtype, std::optional<MemoryFormat> format);
// Row-major; `self` itself when it already is.
Result<Tensor> contiguous_tensor(const Tensor& self);
// Whether several elements share a place because a dimension is expanded.
bool has_internal_overlap(const Tensor& tensor);
// Error unless the layout is strided, the only one here. Devices are ignored: everything is
// computed on the CPU, whatever device the program was exported on.
Result<void> check_layout(const std::optional<Layout>& layout);

}  // namespace pt2::ops

#endif  // PT2_OPS_POINTWISE_COPYING_H
