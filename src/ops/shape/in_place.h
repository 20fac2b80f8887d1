// In-place forms that change a part of their first argument. Most of a large tensor stays as it is.
#ifndef PT2_OPS_SHAPE_IN_PLACE_H
#define PT2_OPS_SHAPE_IN_PLACE_H

#include <span>

#include "ops/op_def.h"

namespace pt2::ops {

// Runs the in-place form of the operator without a copy of its first argument. Returns false,
// without a write, for operators that are not in the list (in_place.cpp), and if the tensor must
// not be written to while the other arguments are read.
Result<bool> write_in_place(const Signature& signature, std::span<const Value> arguments);

// Each writes to `out` what the operator of its name changes. `out` may have any strides, but none
// of its elements may share memory with each other or with another argument.
Result<void> index_put_into(Tensor& out, const OptionalTensors& indices, Tensor values,
                            bool accumulate);
Result<void> index_add_into(Tensor& out, int64_t dim, const Tensor& index, const Tensor& source,
                            const Scalar& alpha);
Result<void> index_copy_into(Tensor& out, int64_t dim, const Tensor& index, const Tensor& source);
Result<void> index_fill_into(Tensor& out, int64_t dim, const Tensor& index, const Scalar& value);
Result<void> index_fill_tensor_into(Tensor& out, int64_t dim, const Tensor& index,
                                    const Tensor& value);
Result<void> put_into(Tensor& out, const Tensor& index, const Tensor& source, bool accumulate);
Result<void> scatter_into(Tensor& out, int64_t dim, const Tensor& index, const Tensor& src);
Result<void> scatter_add_into(Tensor& out, int64_t dim, const Tensor& index, const Tensor& src);
Result<void> scatter_value_into(Tensor& out, int64_t dim, const Tensor& index, const Scalar& value);
Result<void> scatter_reduce_into(Tensor& out, int64_t dim, const Tensor& index, const Tensor& src,
                                 const std::string& reduce, bool include_self);
Result<void> copy_into(Tensor& out, const Tensor& src, bool non_blocking);

}  // namespace pt2::ops

#endif  // PT2_OPS_SHAPE_IN_PLACE_H
