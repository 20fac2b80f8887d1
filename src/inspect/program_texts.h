// Texts of a program's JSON that PyTorch turns into Python.
#ifndef PT2_INSPECT_PROGRAM_TEXTS_H
#define PT2_INSPECT_PROGRAM_TEXTS_H

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "inspect/hazard.h"
#include "pt2/diagnostics.h"

namespace pt2 {

struct TextFinding {
  std::variant<Hazard, Rule> what;
  std::string where;  // ".graph_module.graph.nodes[3].target"
  std::string text;
};

// Returns "transformers" for "transformers.cache_utils.DynamicCache".
std::string_view package_of(std::string_view name);
// True if importing the package only runs code that belongs to PyTorch or Python.
bool needs_no_note(std::string_view package);

// With `was_verified`, omits findings that verify reports for a program that it can read.
std::vector<TextFinding> find_hostile_texts(std::string_view json, bool was_verified);

}  // namespace pt2

#endif  // PT2_INSPECT_PROGRAM_TEXTS_H
