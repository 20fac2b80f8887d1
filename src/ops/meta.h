// The description of a result before it exists: dtype, sizes and strides. A shape rule computes it,
// and a kernel may rely on it.
#ifndef PT2_OPS_META_H
#define PT2_OPS_META_H

#include <span>

#include "pt2/tensor.h"
#include "pt2/value.h"

namespace pt2::ops {

bool is_unsigned(Dtype dtype);

struct Meta {
  Dtype dtype = Dtype::float32;
  Sizes sizes;
  // Empty means row-major.
  Sizes strides;
  // True if the kernel writes all elements without reading them.
  bool is_overwritten = false;

  Meta() = default;
  Meta(Dtype dtype_in, Sizes sizes_in, Sizes strides_in = {})
      : dtype(dtype_in), sizes(std::move(sizes_in)), strides(std::move(strides_in)) {}
  static Meta like(const Tensor& tensor) { return {tensor.dtype(), tensor.sizes()}; }
  int64_t dim() const { return static_cast<int64_t>(sizes.size()); }
};

// Limits the bytes of each tensor that this thread allocates while the object lives. A nested
// object can only lower the limit. Rules and kernels take no options, and the limit must hold for
// all of them.
class AllocationLimit {
 public:
  explicit AllocationLimit(uint64_t bytes);
  ~AllocationLimit();
  AllocationLimit(const AllocationLimit&) = delete;
  AllocationLimit& operator=(const AllocationLimit&) = delete;
  static uint64_t current();

 private:
  uint64_t outer_;
};

// Allocates a tensor of this description, filled with zeros: kernels that add to their result rely
// on the zeros. Only memory of a caller (ResultMemory) keeps its contents if `is_overwritten`.
// Error `limit` if the bytes exceed AllocationLimit::current().
Result<Tensor> allocate(const Meta& meta);

// Error `invalid` without a location; the executor adds the node.
Error operator_error(std::string message);

// The dimension `dim`, counted from the end if negative, like PyTorch's maybe_wrap_dim: a 0-dim
// tensor has dims 0 and -1.
Result<int64_t> wrap_dim(int64_t dim, int64_t rank);
// The sizes that all operands broadcast to (PyTorch: infer_size). Error if they do not broadcast.
Result<Sizes> broadcast_sizes(std::span<const Sizes> operands);
// A view of `tensor` with `sizes`, stride 0 along repeated dimensions. The tensor must be
// broadcastable to `sizes`.
Tensor broadcast_to(const Tensor& tensor, const Sizes& sizes);
// The text "[2, 3]".
std::string sizes_text(std::span<const int64_t> sizes);

// Type promotion with PyTorch's three buckets: tensors with dimensions, 0-dim tensors, Python
// numbers (c10/core/ScalarType.cpp promote_types; ATen/native/TypeProperties.cpp result_type).
class Promotion {
 public:
  // A wrapped number counts as a number.
  Promotion& add(const Tensor& tensor);
  Promotion& add(const Scalar& scalar);
  Dtype result() const;

 private:
  std::optional<Dtype> dimension_result_;
  std::optional<Dtype> zero_dim_result_;
  std::optional<Dtype> number_result_;
};
Dtype promote_types(Dtype a, Dtype b);
// The dtype of a Python number of the category.
Dtype default_dtype(DtypeCategory category);
// The dtype itself if it is floating or complex, else torch.get_default_dtype(): for operators with
// fractional results.
inline Dtype float_or_default(Dtype dtype) {
  return dtype_category(dtype) >= DtypeCategory::floating ? dtype : Dtype::float32;
}

// Strides of an elementwise result, which keeps the operands' common order of dimensions
// (ATen/TensorIterator.cpp compute_types, reorder_dimensions, allocate_or_resize_outputs). Empty if
// row-major.
Sizes elementwise_strides(const Sizes& sizes, std::span<const Tensor* const> operands);

}  // namespace pt2::ops

#endif  // PT2_OPS_META_H
