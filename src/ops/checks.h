// Conditions that several shape rules check, each with one error message.
#ifndef PT2_OPS_CHECKS_H
#define PT2_OPS_CHECKS_H

#include <initializer_list>
#include <span>
#include <string_view>

#include "ops/meta.h"

namespace pt2::ops {

// `what` names the argument in the message.
Result<void> check_rank(const Tensor& tensor, int64_t rank, std::string_view what);
Result<void> check_rank_at_least(const Tensor& tensor, int64_t rank, std::string_view what);
Result<void> check_dtype(const Tensor& tensor, Dtype expected, std::string_view what);
Result<void> check_same_dtype(const Tensor& tensor, const Tensor& other, std::string_view what);
Result<void> check_sizes(const Tensor& tensor, const Sizes& expected, std::string_view what);
// Error unless `sizes` broadcast to `whole` without changing it.
Result<void> check_broadcasts(const Sizes& sizes, const Sizes& whole, std::string_view what);
Result<void> check_floating(const Tensor& tensor, std::string_view what);
// float32 or float64.
Result<void> check_float_or_double(const Tensor& tensor, std::string_view what);
Result<void> check_floating_or_complex(const Tensor& tensor, std::string_view what);
Result<void> check_not_complex(const Tensor& tensor, std::string_view what);
Result<void> check_not_bool(const Tensor& tensor, std::string_view what);
// int32 or int64.
Result<void> check_index_dtype(const Tensor& tensor, std::string_view what);
// Error if the tensor's storage is read-only; for kernels that write its elements themselves.
Result<void> check_writable(const Tensor& tensor, std::string_view what);
// Error `unsupported` if `sparse`: the caller asks for a sparse gradient.
Result<void> check_dense_gradient(bool sparse);
// Error `limit` if the tensor has more dims than any real one. A value takes memory and time for
// each, and a file could record hundreds of thousands.
Result<void> check_real_rank(int64_t rank);
// Error if the tensor has more than 64 dimensions: PyTorch keeps dims in a bit set.
Result<void> check_max_rank(const Tensor& tensor);

// Wraps dims and checks that they are distinct; keeps their order. An empty list means every dim.
Result<Sizes> wrap_dims(std::span<const int64_t> dims, int64_t rank);
Result<Sizes> wrap_optional_dims(const std::optional<Sizes>& dims, int64_t rank);

// a * b + c; error `limit` when the result overflows int64.
Result<int64_t> multiply_add(int64_t a, int64_t b, int64_t c = 0);

}  // namespace pt2::ops

#endif  // PT2_OPS_CHECKS_H
