// What a pass changes in a program's signature.
#pragma once

#include "pt2/program.h"

namespace pt2 {

// Gives results that are other values now their names.
void rename_results(Program& program);

}  // namespace pt2
