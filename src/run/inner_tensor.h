// The operator that takes an inner tensor out of a subclass. It has no kernel: models have the
// inner tensors as inputs (subclass_parameters.h).
#ifndef PT2_RUN_INNER_TENSOR_H
#define PT2_RUN_INNER_TENSOR_H

#include <string_view>

namespace pt2::run {

inline constexpr std::string_view kAccessInnerTensor =
    "torch.ops.export.access_subclass_inner_tensor.default";

}  // namespace pt2::run

#endif  // PT2_RUN_INNER_TENSOR_H
