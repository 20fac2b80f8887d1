// The module hierarchy of a program, for people and as JSON.
#ifndef PT2_TOOLS_MODULES_H
#define PT2_TOOLS_MODULES_H

#include <string>

#include "base/json.h"
#include "pt2/program.h"

namespace pt2::tools {

// A tree with a line for each module: class, calls, nodes, elements of its parameters. Sums include
// submodules.
std::string modules_text(const Program& program);
// The member "modules".
void write_modules(JsonWriter& json, const Program& program);

// The elements of a tensor as the graph records it; 0 where a size is symbolic or there is no
// record.
uint64_t element_count(const TensorMeta* meta);
const TensorMeta* find_meta(const Program& program, const ArgumentSpec& spec);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_MODULES_H
