// Changes that passes make to a program's signature.
#ifndef PT2_LOWER_SIGNATURE_H
#define PT2_LOWER_SIGNATURE_H

#include "pt2/ir/program.h"

namespace pt2 {

// Updates the names of results that other values now produce, also in module_call_graph. A module
// call loses its signature if that names values that no longer exist. Linear.
void rename_results(Program& program);

}  // namespace pt2

#endif  // PT2_LOWER_SIGNATURE_H
