// The module hierarchy of a program, for people and as JSON.
#ifndef PT2_TOOLS_MODULES_H
#define PT2_TOOLS_MODULES_H

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "pt2/ir/program.h"
#include "pt2/tools/stats.h"

namespace pt2::tools {

// A tree with a line for each module: class, calls, nodes, elements of its parameters. Sums include
// submodules.
std::string modules_text(const Program& program, const ProgramStats& stats);
// The member "modules".
void write_modules(JsonWriter& json, const Program& program);

// "parameters", "buffers" and "constants".
std::array<std::pair<std::string_view, const HeldStats*>, 3> held_by_name(
    const ProgramStats& stats);
// A member of each of these names.
void write_held(JsonWriter& json, const ProgramStats& stats);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_MODULES_H
