// What a shape rule computes and a kernel may rely on: dtype, sizes and strides of a result, before
// it exists.
#ifndef PT2_OPS_META_H
#define PT2_OPS_META_H

#include <span>

#include "pt2/tensor.h"
#include "pt2/value.h"

namespace pt2::ops {

struct Meta {
  Dtype dtype = Dtype::float32;
  Sizes sizes;
  // Empty means row-major.
  Sizes strides;
  // The kernel writes all elements, whatever they were.
  bool is_overwritten = false;

  Meta() = default;
  Meta(Dtype dtype_in, Sizes sizes_in, Sizes strides_in = {})
      : dtype(dtype_in), sizes(std::move(sizes_in)), strides(std::move(strides_in)) {}
  static Meta like(const Tensor& tensor) { return {tensor.dtype(), tensor.sizes()}; }
  int64_t dim() const { return static_cast<int64_t>(sizes.size()); }
};

// What one tensor may take on this thread while the object lives; an inner object can only lower
// it. Rules and kernels are given no options, and the bound must hold for all of them.
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

// A new tensor of this description, zero-filled: kernels that add to their result rely on it, and
// only memory of a caller is left as it is where the kernel overwrites it. Error `limit` when its
// bytes exceed AllocationLimit::current().
Result<Tensor> allocate(const Meta& meta);

// Error `invalid` without a place; the executor adds the node.
Error operator_error(std::string message);

// A dimension counted from the end when negative, as PyTorch's maybe_wrap_dim: a 0-dim tensor has
// dims 0 and -1.
Result<int64_t> wrap_dim(int64_t dim, int64_t rank);
// The sizes that all broadcast to (PyTorch: infer_size). Error when they do not fit.
Result<Sizes> broadcast_sizes(std::span<const Sizes> operands);
// A view of `tensor` with `sizes`, stride 0 where it is repeated. The sizes must be a broadcast of
// the tensor's.
Tensor broadcast_to(const Tensor& tensor, const Sizes& sizes);
// "[2, 3]".
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
// The dtype that integers become where an operator needs fractions: torch.get_default_dtype().
inline Dtype float_or_default(Dtype dtype) {
  return dtype_category(dtype) >= DtypeCategory::floating ? dtype : Dtype::float32;
}

// Strides of an elementwise result: the operands' common order of dimensions is kept
// (ATen/TensorIterator.cpp compute_types, reorder_dimensions, allocate_or_resize_outputs). Empty
// when row-major.
Sizes elementwise_strides(const Sizes& sizes, std::span<const Tensor* const> operands);

}  // namespace pt2::ops

#endif  // PT2_OPS_META_H
