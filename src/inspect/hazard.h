// The hazards that no rule of verify describes, by their numbers in hazards.def.
#ifndef PT2_INSPECT_HAZARD_H
#define PT2_INSPECT_HAZARD_H

#include <cstdint>
#include <string_view>

#include "pt2/tools/scan.h"

namespace pt2 {

enum class Hazard : uint16_t {
#define PT2_HAZARD(number, name, level, title, why, remedy) name = number,
#include "pt2/tools/hazards.def"
};

const HazardInfo& hazard_info(Hazard hazard);
// Null for rules that describe no hazard.
const HazardInfo* hazard_of(Rule rule);

// "note", "warning" or "error": what SARIF and the reports of verify call the level.
std::string_view severity_name(HazardLevel level);

// Whether verify could not read something behind this finding: nothing, or nothing of the program,
// was looked at.
bool stops_reading(const Diagnostic& finding);

}  // namespace pt2

#endif  // PT2_INSPECT_HAZARD_H
