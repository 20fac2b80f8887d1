// Batches of matrices between tensors and factorisations.
#ifndef PT2_OPS_LINEAR_MATRICES_H
#define PT2_OPS_LINEAR_MATRICES_H

#include <string_view>
#include <tuple>
#include <vector>

#include "ops/linear/factorization.h"
#include "ops/meta.h"

namespace pt2::ops {

using Matrices = std::vector<Matrix>;
using TensorPair = std::tuple<Tensor, Tensor>;

// Float or complex numbers of 32 or 64 bits, two dims at least.
Result<void> check_matrices(const Tensor& a, std::string_view what);
Result<void> check_square(const Tensor& a, std::string_view what);
// The sizes before the last two.
Sizes batch_of(const Tensor& a);
Result<Matrices> matrices_of(const Tensor& a);
// The matrices as a tensor, column-major as LAPACK leaves them unless `row_major`.
Result<Tensor> tensor_of(const Matrices& matrices, Sizes batch, int64_t rows, int64_t columns,
                         Dtype dtype, bool row_major = false);
Result<Tensor> integers_of(std::span<const int64_t> numbers, Sizes sizes);
// An error for the first info that is not 0, when errors are asked for.
Result<void> check_info(std::span<const int64_t> infos, bool check_errors, std::string_view what);
// Both with the batch sizes that they broadcast to.
Result<TensorPair> same_batch(const Tensor& a, const Tensor& b);
// The upper left corner.
Matrix part_of(const Matrix& matrix, int64_t rows, int64_t columns);

}  // namespace pt2::ops

#endif  // PT2_OPS_LINEAR_MATRICES_H
