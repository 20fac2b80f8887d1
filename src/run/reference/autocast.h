// Autocast regions: inside, operators get their floating arguments in another dtype, by the lists
// of ATen/autocast_mode.cpp for the CPU.
#ifndef PT2_RUN_REFERENCE_AUTOCAST_H
#define PT2_RUN_REFERENCE_AUTOCAST_H

#include <optional>
#include <vector>

#include "ops/table.h"

namespace pt2::run {

// Casts by the operator's list; operators on no list get their arguments unchanged. A region is
// what ops/forms/autocast.h says.
Result<void> apply_autocast(std::optional<Dtype> region, const ops::Operator& op,
                            std::vector<Value>& arguments);

}  // namespace pt2::run

#endif  // PT2_RUN_REFERENCE_AUTOCAST_H
