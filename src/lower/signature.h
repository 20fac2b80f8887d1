// What a pass changes in a program's signature.
#ifndef PT2_LOWER_SIGNATURE_H
#define PT2_LOWER_SIGNATURE_H

#include "pt2/program.h"

namespace pt2 {

// Gives results that are other values now their names.
void rename_results(Program& program);

}  // namespace pt2

#endif  // PT2_LOWER_SIGNATURE_H
