#include "ops/forms/autocast.h"

#include <algorithm>

#include "ops/meta.h"

namespace pt2::ops {

std::optional<Dtype> autocast_region(std::optional<Dtype> around, std::string_view device,
                                     std::optional<Dtype> dtype, bool enabled) {
  // Autocast for another device does not change the CPU's region.
  if (device != "cpu") return around;
  if (!enabled) return std::nullopt;
  if (!dtype) return Dtype::bfloat16;
  // For any other dtype, PyTorch warns and computes without autocast (torch/amp/autocast_mode.py).
  const bool known = *dtype == Dtype::bfloat16 || *dtype == Dtype::float16;
  return known ? dtype : std::nullopt;
}

Result<std::optional<Dtype>> autocast_dtype(const Operator& op, std::optional<Dtype> region,
                                            std::span<const Dtype> dtypes) {
  if (!region || op.form != Operator::Form::as_written) return std::optional<Dtype>();
  switch (op.def->facts.autocast) {
    case AutocastRule::as_given:
      return std::optional<Dtype>();
    case AutocastRule::lower_precision:
      return region;
    case AutocastRule::float32:
      return std::optional(Dtype::float32);
    case AutocastRule::widest:
      break;
  }
  // at::autocast::promote_type: float32 if any argument is float32.
  for (const Dtype dtype : dtypes)
    if (dtype != Dtype::float32 && dtype != *region)
      return operator_error("found " + std::string(dtype_name(dtype)) + " in a region of " +
                            std::string(dtype_name(*region)));
  return std::ranges::find(dtypes, Dtype::float32) != dtypes.end() ? std::optional(Dtype::float32)
                                                                   : region;
}

}  // namespace pt2::ops
