// The texts by which guards name the inputs of a program.
#ifndef PT2_IR_GUARD_NAMES_H
#define PT2_IR_GUARD_NAMES_H

#include <string>
#include <vector>

#include "pt2/ir/program.h"

namespace pt2 {

// For each user input, the text in guards that PyTorch replaces by it: "L['xs'][0]", "L['p'].bias".
std::vector<std::string> guard_paths(const Program& program);

}  // namespace pt2

#endif  // PT2_IR_GUARD_NAMES_H
