// The hazards that no rule of verify describes, by their numbers in hazards.def.
#ifndef PT2_INSPECT_HAZARD_H
#define PT2_INSPECT_HAZARD_H

#include <cstdint>

namespace pt2 {

enum class Hazard : uint16_t {
#define PT2_HAZARD(number, name, level, title, why, remedy) name = number,
#include "pt2/tools/hazards.def"
};

}  // namespace pt2

#endif  // PT2_INSPECT_HAZARD_H
