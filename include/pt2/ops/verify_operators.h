// The part of verification that needs the table of operators. It is an option of verify.h:
//
//   Diagnostics findings = verify(path, Level::full, {.operators = check_operators});
#ifndef PT2_OPS_VERIFY_OPERATORS_H
#define PT2_OPS_VERIFY_OPERATORS_H

#include <string>

#include "pt2/diagnostics.h"
#include "pt2/ir/program.h"

namespace pt2 {

// Checks every call against the signature of its operator (arguments, their types, results), and
// the recorded dtypes, sizes and numbers of results against the operator's shape rule. Adds
// findings V6xx, and V536 if only the signature shows the violation. `place` precedes the place of
// each finding. Symbolic sizes are compared under the hints and under four other assignments of the
// symbols that fit ranges, guards, assertions and operators. A size is wrong if it differs under
// the hints, or under all four others. Nothing is computed and no tensor is allocated. Sizes are
// not checked if `findings` has V500 to V509 for the program, because values without a valid record
// cannot be compared. Operators outside PyTorch's own namespaces are not checked. Linear in the
// program.
void check_operators(const Program& program, const std::string& place, Diagnostics& findings);

}  // namespace pt2

#endif  // PT2_OPS_VERIFY_OPERATORS_H
