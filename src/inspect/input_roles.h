// What the inputs of a program's graph are, whatever they are called.
#ifndef PT2_INSPECT_INPUT_ROLES_H
#define PT2_INSPECT_INPUT_ROLES_H

#include <string>
#include <vector>

#include "pt2/ir/program.h"

namespace pt2 {

// One for each input: "input 0", "parameter fc.weight"; constants with a name, which no position
// tells apart, "input scale".
std::vector<std::string> input_roles(const Program& program);

}  // namespace pt2

#endif  // PT2_INSPECT_INPUT_ROLES_H
