// Matrix products as functions, for operators composed of them.
#ifndef PT2_OPS_LINEAR_MATMUL_H
#define PT2_OPS_LINEAR_MATMUL_H

#include <optional>

#include "ops/meta.h"

namespace pt2::ops {

// torch.matmul and torch.nn.functional.linear, including their checks.
Result<Tensor> matmul(const Tensor& self, const Tensor& other);
Result<Tensor> linear(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias);

// out[b, m, n] = left[b, m, k] right[b, k, n]; the caller has checked sizes and dtypes.
void batched_product(Tensor& out, const Tensor& left, const Tensor& right);

}  // namespace pt2::ops

#endif  // PT2_OPS_LINEAR_MATMUL_H
