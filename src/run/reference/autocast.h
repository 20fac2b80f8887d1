// Autocast regions: inside, operators get their floating arguments in another dtype, by the lists
// of ATen/autocast_mode.cpp for the CPU.
#ifndef PT2_RUN_REFERENCE_AUTOCAST_H
#define PT2_RUN_REFERENCE_AUTOCAST_H

#include <vector>

#include "ops/table.h"

namespace pt2::run {

struct Autocast {
  bool enabled = false;
  Dtype dtype = Dtype::bfloat16;  // for operators that are exact enough in it
};

// Casts by the operator's list; operators on no list get their arguments unchanged.
Result<void> apply_autocast(const Autocast& autocast, const ops::Operator& op,
                            std::vector<Value>& arguments);

}  // namespace pt2::run

#endif  // PT2_RUN_REFERENCE_AUTOCAST_H
