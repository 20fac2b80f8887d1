// Operators and functions that a release does not have.
#pragma once

#include <functional>

#include "pt2/conversion.h"

namespace pt2 {

void check_operators(const Program& program, const Release& release,
                     const std::function<void(Blocker)>& add);

}  // namespace pt2
