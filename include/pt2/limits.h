// What a file may cost before it is refused. Every number a file states is checked against these,
// and against the file's real size, before anything is allocated for it.
#ifndef PT2_LIMITS_H
#define PT2_LIMITS_H

#include <cstdint>

namespace pt2 {

// The members, with the reason of each, are the rows of limits.def.
struct Limits {
#define PT2_LIMIT(name, type, value, text) type name = value;
#include "pt2/limits.def"
};

}  // namespace pt2

#endif  // PT2_LIMITS_H
