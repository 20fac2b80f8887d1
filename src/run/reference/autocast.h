// Autocast regions: operators inside get their floating-point arguments in another dtype, by the
// CPU lists of ATen/autocast_mode.cpp.
#ifndef PT2_RUN_REFERENCE_AUTOCAST_H
#define PT2_RUN_REFERENCE_AUTOCAST_H

#include <optional>
#include <vector>

#include "ops/table.h"

namespace pt2::run {

// Casts `arguments` by the operator's list; operators on no list get their arguments unchanged.
// Regions are described in ops/forms/autocast.h.
Result<void> apply_autocast(std::optional<Dtype> region, const ops::Operator& op,
                            std::vector<Value>& arguments);

}  // namespace pt2::run

#endif  // PT2_RUN_REFERENCE_AUTOCAST_H
