// Safety limits on the cost of a file. Every number that a file states is checked against these
// limits, and against the real size of the file, before memory is allocated for it.
#ifndef PT2_LIMITS_H
#define PT2_LIMITS_H

#include <cstdint>
#include <span>
#include <string_view>

#include "pt2/result.h"

namespace pt2 {

// The members, with the reason of each, are the rows of limits.def.
struct Limits {
#define PT2_LIMIT(name, type, value, text) type name = value;
#include "pt2/limits.def"
};

// A row of limits.def.
struct LimitInfo {
  std::string_view name;
  uint64_t value = 0;     // the default
  std::string_view text;  // the quantity that it bounds
  void (*set)(Limits& limits, uint64_t value) = nullptr;
};
std::span<const LimitInfo> limit_infos();
const LimitInfo* find_limit(std::string_view name);  // null if there is none
// Sets a limit from a text such as "max_entries=100". Error `argument`.
Result<void> set_limit(Limits& limits, std::string_view text);

}  // namespace pt2

#endif  // PT2_LIMITS_H
