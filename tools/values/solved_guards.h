// Guards from the caller's view: the allowed sizes of a dim, instead of a list of conditions on it.
#ifndef PT2_TOOLS_VALUES_SOLVED_GUARDS_H
#define PT2_TOOLS_VALUES_SOLVED_GUARDS_H

#include <string>
#include <vector>

#include "pt2/ir/program.h"

namespace pt2::tools {

// Returns "x dim 0: 4, 6, … 20" for each symbol whose guards exclude sizes of its range. Omits
// guards that the sizes in the input types already imply. Other guards are those of guard_texts.
std::vector<std::string> solved_guards(const Program& program);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_VALUES_SOLVED_GUARDS_H
