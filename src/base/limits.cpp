#include "pt2/limits.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace pt2 {
namespace {

constexpr LimitInfo kLimits[] = {
#define PT2_LIMIT(name, type, value, text) \
  {#name, value, text,                     \
   [](Limits& limits, uint64_t number) { limits.name = static_cast<type>(number); }},
#include "pt2/limits.def"
};

}  // namespace

std::span<const LimitInfo> limit_infos() { return kLimits; }

const LimitInfo* find_limit(std::string_view name) {
  const auto found = std::ranges::find(kLimits, name, &LimitInfo::name);
  return found == std::end(kLimits) ? nullptr : found;
}

Result<void> set_limit(Limits& limits, std::string_view text) {
  const size_t sign = std::min(text.find('='), text.size());
  const LimitInfo* limit = find_limit(text.substr(0, sign));
  const char* end = text.data() + text.size();
  uint64_t value = 0;
  const auto parsed = std::from_chars(std::min(text.data() + sign + 1, end), end, value);
  if (limit != nullptr && parsed.ec == std::errc() && parsed.ptr == end) {
    limit->set(limits, value);
    return {};
  }
  std::string names;
  for (const LimitInfo& each : kLimits)
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  return Error{ErrorCode::argument,
               "found '" + std::string(text) + "', expected " +
                   (limit != nullptr ? std::string(limit->name) + "=NUMBER"
                                     : "NAME=NUMBER, where NAME is one of " + names),
               ""};
}

}  // namespace pt2
