// Which operators draw random numbers.
#pragma once

#include "ops/table.h"

namespace pt2::ops {

// They take a generator, or a probability for them to draw by; dropout only when it trains.
bool may_draw(const Operator& op);

}  // namespace pt2::ops
