// Roles of a program's graph inputs, independent of the inputs' names.
#ifndef PT2_INSPECT_INPUT_ROLES_H
#define PT2_INSPECT_INPUT_ROLES_H

#include <string>
#include <vector>

#include "pt2/ir/program.h"

namespace pt2 {

// Returns a role for each input: "input 0", "parameter fc.weight". A named constant has no
// distinguishing position and is "input scale".
std::vector<std::string> input_roles(const Program& program);

}  // namespace pt2

#endif  // PT2_INSPECT_INPUT_ROLES_H
