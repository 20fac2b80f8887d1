// The texts that guards use for the inputs of a program.
#ifndef PT2_IR_GUARD_NAMES_H
#define PT2_IR_GUARD_NAMES_H

#include <string>
#include <vector>

#include "pt2/ir/program.h"

namespace pt2 {

// Returns for each user input the text that PyTorch replaces by it in guards: "L['xs'][0]",
// "L['p'].bias". Empty for an input inside a registered class: the process that loads the program
// decides between ".low" (torch.export.register_dataclass) and "['low']"
// (torch._export.utils.register_dataclass_as_pytree_node).
std::vector<std::string> guard_paths(const Program& program);

}  // namespace pt2

#endif  // PT2_IR_GUARD_NAMES_H
