// The module hierarchy of a program, as text and as JSON.
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

// Returns a tree with a line for each module: class, calls, nodes, number of parameter elements.
// Sums include submodules.
std::string modules_text(const Program& program, const ProgramStats& stats);
// Writes the member "modules".
void write_modules(JsonWriter& json, const Program& program);

// Returns the statistics for "parameters", "buffers" and "constants".
std::array<std::pair<std::string_view, const HeldStats*>, 3> held_by_name(
    const ProgramStats& stats);
// Writes a member for each of these names.
void write_held(JsonWriter& json, const ProgramStats& stats);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_MODULES_H
