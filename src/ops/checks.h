// Conditions that shape rules share, with one wording each.
#ifndef PT2_OPS_CHECKS_H
#define PT2_OPS_CHECKS_H

#include <initializer_list>
#include <span>
#include <string_view>

#include "ops/meta.h"

namespace pt2::ops {

// `what` names the argument.
Result<void> check_rank(const Tensor& tensor, int64_t rank, std::string_view what);
Result<void> check_rank_at_least(const Tensor& tensor, int64_t rank, std::string_view what);
Result<void> check_same_dtype(const Tensor& tensor, const Tensor& other, std::string_view what);
Result<void> check_sizes(const Tensor& tensor, const Sizes& expected, std::string_view what);
Result<void> check_floating(const Tensor& tensor, std::string_view what);
Result<void> check_floating_or_complex(const Tensor& tensor, std::string_view what);
Result<void> check_not_complex(const Tensor& tensor, std::string_view what);
Result<void> check_not_bool(const Tensor& tensor, std::string_view what);
// int32 or int64.
Result<void> check_index_dtype(const Tensor& tensor, std::string_view what);
// PyTorch knows 64 dimensions where it keeps them in a bit set.
Result<void> check_max_rank(const Tensor& tensor);

// Distinct dims counted from the start, in the order given; none at all means every dim.
Result<Sizes> wrap_dims(std::span<const int64_t> dims, int64_t rank);
Result<Sizes> wrap_optional_dims(const std::optional<Sizes>& dims, int64_t rank);

// a * b + c with an error `limit` where int64 does not hold it.
Result<int64_t> multiply_add(int64_t a, int64_t b, int64_t c = 0);

}  // namespace pt2::ops

#endif  // PT2_OPS_CHECKS_H
