// Guards in the words of whoever has inputs to give: the sizes that a dim may have, instead of a
// list of conditions on it.
#ifndef PT2_TOOLS_VALUES_SOLVED_GUARDS_H
#define PT2_TOOLS_VALUES_SOLVED_GUARDS_H

#include <string>
#include <vector>

#include "pt2/ir/program.h"

namespace pt2::tools {

// "x dim 0: 4, 6, … 20" for each symbol whose guards leave out sizes of its range; nothing
// for guards that the sizes of the inputs' types say already; the other guards as guard_texts has
// them.
std::vector<std::string> solved_guards(const Program& program);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_VALUES_SOLVED_GUARDS_H
