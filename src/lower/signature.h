// Changes that passes make to a program's signature.
#ifndef PT2_LOWER_SIGNATURE_H
#define PT2_LOWER_SIGNATURE_H

#include "pt2/ir/program.h"

namespace pt2 {

// Updates the names of results that other values now produce, in module_call_graph too. A call of a
// module loses its signature when that names values which are gone. Linear.
void rename_results(Program& program);

}  // namespace pt2

#endif  // PT2_LOWER_SIGNATURE_H
