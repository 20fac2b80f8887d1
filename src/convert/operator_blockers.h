// Operators and functions that a release does not have.
#pragma once

#include "convert/converter.h"

namespace pt2 {

void check_operators(const Program& program, const Release& release, const AddBlocker& add);

}  // namespace pt2
