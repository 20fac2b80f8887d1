#include "schema/version.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/json_keys.h"
#include "pt2/format/schema_json.h"

namespace pt2::schema {
namespace {

constexpr std::string_view kKey = "\"schema_version\"";
// A longer version is not read: a search to the end of the text for each of its keys would take
// quadratic time.
constexpr size_t kLongestVersion = 256;

// Returns the text after the key at `at`, up to the end of a number or of a flat object or list;
// empty if there is no key at `at`.
std::string_view version_json(std::string_view json, size_t at) {
  if (at > 0 && json[at - 1] == '\\') return {};
  constexpr std::string_view blanks = " \t\r\n";
  size_t begin = json.find_first_not_of(blanks, at + kKey.size());
  if (begin == std::string_view::npos || json[begin] != ':') return {};
  begin = json.find_first_not_of(blanks, begin + 1);
  if (begin == std::string_view::npos) return {};
  json = json.substr(0, begin + kLongestVersion);
  const bool nested = json[begin] == '{' || json[begin] == '[';
  const size_t end = json.find_first_of(nested ? "}]" : ",} \t\r\n", begin);
  if (end == std::string_view::npos) return {};
  return json.substr(begin, end - begin + (nested ? 1 : 0));
}

SchemaVersion parse_version(std::string_view json) {
  const auto value = parse_json(json);
  if (!value) return {};
  auto part = [](const JsonValue* number) {
    const auto parsed = number ? number->get_int() : Result<int64_t>(int64_t{0});
    return parsed ? *parsed : 0;
  };
  if (value->is_number()) return {.major = part(&*value)};
  if (value->is_array() && value->items.size() == 2) {
    return {.major = part(&value->items[0]), .minor = part(&value->items[1])};
  }
  return {.major = part(value->find("major")), .minor = part(value->find("minor"))};
}

// True if the brackets in the text after a key close exactly one level more than they open: the key
// is in the outermost object.
bool closes_one_object(std::string_view rest) {
  int depth = 1;
  for (size_t i = 0; i < rest.size(); ++i) {
    const char c = rest[i];
    if (c == '"') {
      i = json_string_end(rest, i);
    } else {
      depth += static_cast<int>(c == '{' || c == '[') - static_cast<int>(c == '}' || c == ']');
      if (depth < 0) return false;
    }
  }
  return depth == 0;
}

// PyTorch writes some keys after the version. A text with more occurrences than this is made to
// slow the search down.
constexpr int kMaxOccurrences = 8;

}  // namespace

SchemaVersion find_schema_version(std::string_view json, bool outermost) {
  if (!outermost) {
    for (size_t at = json.find(kKey); at != std::string_view::npos; at = json.find(kKey, at + 1)) {
      if (const std::string_view found = version_json(json, at); !found.empty())
        return parse_version(found);
    }
    return {};
  }
  size_t at = json.rfind(kKey);
  for (int i = 0; i < kMaxOccurrences && at != std::string_view::npos; ++i) {
    const std::string_view found = version_json(json, at);
    if (!found.empty() && closes_one_object(json.substr(at + kKey.size())))
      return parse_version(found);
    at = at == 0 ? std::string_view::npos : json.rfind(kKey, at - 1);
  }
  return {};
}

Result<void> check_major(const SchemaVersion& version) {
  if (version.major >= 1 && version.major <= kNewestVersion / 100) return {};
  return Error{ErrorCode::unsupported,
               fmt::format("found schema version {}.{}, expected 1 to {}", version.major,
                           version.minor, version_text(kNewestVersion)),
               ".schema_version"};
}

int version_number(const SchemaVersion& version) {
  const int64_t major = std::clamp<int64_t>(version.major, 0, 1000);
  return static_cast<int>(100 * major + std::clamp<int64_t>(version.minor, 0, 99));
}

std::string version_text(int version) {
  if (version < 300) return std::to_string(version / 100);
  return fmt::format("{}.{}", version / 100, version % 100);
}

}  // namespace pt2::schema
