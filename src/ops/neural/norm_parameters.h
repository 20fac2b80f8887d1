// The weight, the bias and the statistics of normalizations, as their rules check them and their
// kernels read them.
#ifndef PT2_OPS_NEURAL_NORM_PARAMETERS_H
#define PT2_OPS_NEURAL_NORM_PARAMETERS_H

#include <initializer_list>
#include <string_view>
#include <vector>

#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/op_def.h"

namespace pt2::ops {

// Half inputs with float32 parameters have float32 statistics.
inline Dtype statistics_dtype(const Tensor& input,
                              std::initializer_list<const OptionalTensor*> parameters) {
  for (const OptionalTensor* parameter : parameters)
    if (*parameter && (*parameter)->dtype() == Dtype::float32) return Dtype::float32;
  return input.dtype();
}

inline Result<void> check_parameter(const OptionalTensor& parameter, const Tensor& input,
                                    const Sizes& sizes, std::string_view what) {
  if (!parameter) return {};
  PT2_TRY_VOID(check_sizes(*parameter, sizes, what));
  if (parameter->dtype() != Dtype::float32 || dtype_size(input.dtype()) != 2)
    return check_same_dtype(*parameter, input, what);
  return {};
}

// The elements of a parameter; none of an absent one.
inline std::vector<double> doubles(const OptionalTensor& parameter) {
  if (!parameter) return {};
  const Input<double> input(*parameter);
  return {input.data(), input.data() + input.size()};
}

}  // namespace pt2::ops

#endif  // PT2_OPS_NEURAL_NORM_PARAMETERS_H
