// The part of verification that needs the table of operators, which lies in pt2::ops; verify.h
// takes it as an option:
//
//   Diagnostics findings = verify(path, Level::full, {.operators = check_operators});
#ifndef PT2_OPS_VERIFY_OPERATORS_H
#define PT2_OPS_VERIFY_OPERATORS_H

#include <string>

#include "pt2/diagnostics.h"
#include "pt2/ir/program.h"

namespace pt2 {

// Checks every call against its operator's signature (arguments, their types, results), and the
// recorded dtypes, sizes and numbers of results against its shape rule: V6xx, and V536 where only
// the signature tells. Symbolic sizes are compared under the hints and under four other assignments
// of the symbols that fit ranges, guards, assertions and operators. They are wrong when they differ
// under the hints, or under all four others. Nothing is computed and no tensor is allocated. Sizes
// are left out where `findings` has V500 to V509 for the program: what was not read cannot be
// compared. `place` goes before the place of each finding. Operators outside PyTorch's own
// namespaces are taken as they are. Linear in the program.
void check_operators(const Program& program, const std::string& place, Diagnostics& findings);

}  // namespace pt2

#endif  // PT2_OPS_VERIFY_OPERATORS_H
