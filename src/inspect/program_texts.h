// Texts of a program's JSON that PyTorch makes Python of.
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

// "transformers" of "transformers.cache_utils.DynamicCache".
std::string_view package_of(std::string_view name);
// Whether importing it runs nothing that PyTorch or Python did not bring.
bool needs_no_note(std::string_view package);

// `was_verified`: what rules of `verify` say of a program that it could read is left out.
std::vector<TextFinding> find_hostile_texts(std::string_view json, bool was_verified);

}  // namespace pt2

#endif  // PT2_INSPECT_PROGRAM_TEXTS_H
