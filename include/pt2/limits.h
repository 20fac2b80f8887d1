// What a file may cost before it is refused. Every number a file states is checked against these,
// and against the file's real size, before anything is allocated for it.
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
  uint64_t value = 0;  // if nobody sets it
  std::string_view text;  // what it bounds
  void (*set)(Limits& limits, uint64_t value) = nullptr;
};
std::span<const LimitInfo> limit_infos();
const LimitInfo* find_limit(std::string_view name);  // null when there is none
// "max_entries=100". Error `argument`.
Result<void> set_limit(Limits& limits, std::string_view text);

}  // namespace pt2

#endif  // PT2_LIMITS_H
