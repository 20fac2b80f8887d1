// Copies of tensors in a memory format, shared by clone, to, contiguous and the *_like operators.
#ifndef PT2_OPS_POINTWISE_COPYING_H
#define PT2_OPS_POINTWISE_COPYING_H

#include <optional>

#include "ops/memory_format.h"

namespace pt2::ops {

class Emitter;

// Error if tensors of this rank cannot have the format.
Result<void> check_format(const Sizes& sizes, MemoryFormat format);
// Returns the metadata of a new tensor like `self`. The default format, preserve, keeps the order
// of dimensions.
Result<Meta> meta_like(const Tensor& self, Dtype dtype, std::optional<MemoryFormat> format);
// Returns a copy of `self`, converted to `dtype`.
Result<Tensor> copy_as(const Tensor& self, Dtype dtype, std::optional<MemoryFormat> format);
// Emits a conversion to `dtype`, unless the tensor has that dtype.
Result<Tensor> converted(Emitter& e, const Result<Tensor>& tensor, Dtype dtype);
// Returns `self` as a row-major tensor; `self` itself if it is one.
Result<Tensor> contiguous_tensor(const Tensor& self);
// Returns complex numbers as pairs of their parts, which are a last dimension.
Result<Tensor> view_as_real(const Tensor& self);
// True if elements share memory because a dimension is expanded.
bool has_internal_overlap(const Tensor& tensor);
// Error if the layout is not strided, the only supported one. Devices are ignored: everything runs
// on the CPU, even if the program was exported on another device.
Result<void> check_layout(const std::optional<Layout>& layout);

}  // namespace pt2::ops

#endif  // PT2_OPS_POINTWISE_COPYING_H
