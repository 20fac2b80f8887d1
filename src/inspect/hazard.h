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
// Null for a rule that does not describe a hazard.
const HazardInfo* hazard_of(Rule rule);

// Returns "note", "warning" or "error": the names of levels in SARIF and in the reports of verify.
std::string_view severity_name(HazardLevel level);

// True if verify could not read everything after this finding: the whole file or program is unread.
bool stops_reading(const Diagnostic& finding);

}  // namespace pt2

#endif  // PT2_INSPECT_HAZARD_H
