// The casts that torch.autocast applies to arguments of operators on a CPU (ATen/autocast_mode.h).
// A region is the dtype of lower-precision operators; nullopt means that nothing is cast.
#ifndef PT2_OPS_FORMS_AUTOCAST_H
#define PT2_OPS_FORMS_AUTOCAST_H

#include <optional>
#include <span>
#include <string_view>

#include "ops/table.h"

namespace pt2::ops {

// The region that torch.autocast(device, dtype, enabled) opens within the region `around`.
std::optional<Dtype> autocast_region(std::optional<Dtype> around, std::string_view device,
                                     std::optional<Dtype> dtype, bool enabled);

// True if a region may cast tensors of this dtype.
inline bool is_autocast(Dtype dtype) {
  return dtype_category(dtype) == DtypeCategory::floating && dtype != Dtype::float64;
}

// The dtype to which a region casts the operator's castable arguments, whose dtypes are `dtypes`.
// Nothing (nullopt) if they are not cast. Error `invalid` if PyTorch refuses them.
Result<std::optional<Dtype>> autocast_dtype(const Operator& op, std::optional<Dtype> region,
                                            std::span<const Dtype> dtypes);

// Calls visit(Tensor&) for every tensor that a region may cast, including those in lists. Stops at
// the first error.
template <class Visit>
Result<void> for_each_autocast(std::span<Value> arguments, const Visit& visit) {
  for (Value& argument : arguments) {
    if (auto* list = argument.get_if<Value::List>()) PT2_TRY_VOID(for_each_autocast(*list, visit));
    auto* tensor = argument.get_if<Tensor>();
    if (tensor != nullptr && is_autocast(tensor->dtype())) PT2_TRY_VOID(visit(*tensor));
  }
  return {};
}

}  // namespace pt2::ops

#endif  // PT2_OPS_FORMS_AUTOCAST_H
