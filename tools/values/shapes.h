// A program's conditions on its inputs in words, for `pt2 check` and `pt2 info`.
#ifndef PT2_TOOLS_VALUES_SHAPES_H
#define PT2_TOOLS_VALUES_SHAPES_H

#include <string>
#include <vector>

#include "base/json.h"
#include "pt2/ir/program.h"

namespace pt2::tools {

// Returns a line for each dimension of each input, then the guards.
std::string conditions_text(const Program& program);
// Writes members "inputs" (name, dtype, dims as objects of "size" and "means") and "guards".
void write_conditions(JsonWriter& json, const Program& program);

// Returns "size 1 of x must equal size 0 of y"; a guard that cannot be parsed is unchanged.
std::vector<std::string> guard_texts(const Program& program);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_VALUES_SHAPES_H
