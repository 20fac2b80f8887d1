// Views: other sizes and strides over the same storage, as PyTorch's view operators make them.
#ifndef PT2_OPS_SHAPE_VIEW_H
#define PT2_OPS_SHAPE_VIEW_H

#include <optional>

#include "ops/meta.h"

namespace pt2::ops {

// True if both view the same memory with the same sizes and strides.
bool is_set_to(const Tensor& self, const Tensor& tensor);
// Returns the strides with which `tensor` can be viewed with `sizes` without a copy; nothing if
// there are none (ATen/TensorUtils.cpp computeStride). The sizes must have the tensor's number of
// elements.
std::optional<Sizes> view_strides(const Tensor& tensor, const Sizes& sizes);
// Replaces a -1 in `sizes` by the size that `numel` elements require (ATen/InferSize.h).
Result<Sizes> infer_sizes(const Sizes& sizes, int64_t numel);

Result<Tensor> view(const Tensor& self, const Sizes& size);
Result<Tensor> reshape(const Tensor& self, const Sizes& shape);
Result<Tensor> expand(const Tensor& self, const Sizes& size, bool implicit = false);
Result<Tensor> permute(const Tensor& self, const std::vector<int64_t>& dims);
Result<Tensor> transpose(const Tensor& self, int64_t dim0, int64_t dim1);
Result<Tensor> unsqueeze(const Tensor& self, int64_t dim);
Result<Tensor> select(const Tensor& self, int64_t dim, int64_t index);
Result<Tensor> slice(const Tensor& self, int64_t dim, std::optional<int64_t> start,
                     std::optional<int64_t> end, int64_t step);
Result<Tensor> narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length);
Result<Tensor> diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2);
Result<Tensor> as_strided(const Tensor& self, const Sizes& size, const Sizes& stride,
                          std::optional<int64_t> storage_offset);
Result<Tensor> unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step);
Result<Tensor> flatten(const Tensor& self, int64_t start_dim, int64_t end_dim);
Result<Tensor> movedim(const Tensor& self, const std::vector<int64_t>& source,
                       const std::vector<int64_t>& destination);
Result<std::vector<Tensor>> split(const Tensor& self, int64_t split_size, int64_t dim);
Result<std::vector<Tensor>> split_with_sizes(const Tensor& self, const std::vector<int64_t>& sizes,
                                             int64_t dim);

// Wraps `dim`. Error if the tensor has no dims.
Result<int64_t> wrap_existing_dim(int64_t dim, const Tensor& self);
// Wraps each of `dims`. Error if one appears twice.
Result<std::vector<int64_t>> wrap_distinct_dims(const std::vector<int64_t>& dims, int64_t rank);

}  // namespace pt2::ops

#endif  // PT2_OPS_SHAPE_VIEW_H
