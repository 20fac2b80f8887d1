#include "schema/scalar.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/text.h"

namespace pt2::schema {
namespace {

std::string_view between_quotes(std::string_view token) {
  return token.substr(1, token.size() - 2);
}

bool is_quoted(std::string_view token) {
  return token.size() >= 2 && token.front() == '"' && token.back() == '"';
}

bool starts_number(std::string_view token) {
  const size_t digit = !token.empty() && token[0] == '-' ? 1 : 0;
  return token.size() > digit && token[digit] >= '0' && token[digit] <= '9';
}

ScalarNote read_bool(std::string_view token, void* out) {
  if (token != "true" && token != "false") return {.expected = "a bool"};
  *static_cast<bool*>(out) = token == "true";
  return {};
}

ScalarNote read_int(std::string_view token, void* out) {
  const auto value = parse_int(token);
  const bool is_integer =
      starts_number(token) && token.find_first_of(".eE") == std::string_view::npos;
  if (!value) return {.expected = is_integer ? "an int of 64 bits" : "an int"};
  std::memcpy(out, &*value, sizeof *value);
  return {.unusual = token == "-0"};
}

ScalarNote read_enumerator(std::string_view token, const Type& type, void* out) {
  ScalarNote note = read_int(token, out);
  if (!note.expected.empty()) return note;
  int64_t value = 0;
  std::memcpy(&value, out, sizeof value);
  note.unknown_enumerator =
      std::none_of(type.values.begin(), type.values.end(),
                   [&](const EnumValue& each) { return each.value == value; });
  return note;
}

ScalarNote read_float(std::string_view token, void* out, const Profile& profile) {
  double& value = *static_cast<double*>(out);
  if (const auto finite = parse_float(token)) {
    value = *finite;
    return {.unusual = print_float(value) != token};
  }
  const bool quoted = is_quoted(token);
  const std::string_view word = quoted ? between_quotes(token) : token;
  const auto non_finite = parse_non_finite(word);
  if (!non_finite || print_float(*non_finite, NonFinite::json) != word)
    return {.expected = "a float"};
  value = *non_finite;
  const bool usual = quoted == profile.quotes_non_finite;
  return {.unusual = !usual, .nonstandard = !usual};
}

ScalarNote read_string(std::string_view token, void* out, const Profile& profile,
                       bool has_special_bytes) {
  if (!is_quoted(token)) return {.expected = "a string"};
  std::string& text = *static_cast<std::string*>(out);
  const std::string_view raw = between_quotes(token);
  ScalarNote note;
  if (raw.find('\\') == std::string_view::npos) {
    text.assign(raw);
  } else {
    auto unescaped = unescape_json(raw);
    if (!unescaped) return {.expected = "a string with JSON's escapes"};
    text = std::move(unescaped->text);
    note.unusual = !unescaped->is_usual;
    note.lone_surrogate = unescaped->has_lone_surrogate;
  }
  if (has_special_bytes) {
    std::string printed;
    append_json_string(printed, text, !profile.raw_utf8);
    note.unusual = printed != token;
  }
  return note;
}

}  // namespace

ScalarNote read_scalar(std::string_view token, const Type& type, void* out, const Profile& profile,
                       bool has_special_bytes) {
  switch (type.kind) {
    case Kind::boolean:
      return read_bool(token, out);
    case Kind::integer:
      return read_int(token, out);
    case Kind::number:
      return read_float(token, out, profile);
    case Kind::enumeration:
      return read_enumerator(token, type, out);
    default:
      return read_string(token, out, profile, has_special_bytes);
  }
}

bool may_be(const Type& type, std::string_view token) {
  const char first = token.empty() ? '\0' : token[0];
  switch (type.kind) {
    case Kind::none:
      return first == '[' || first == 't';
    case Kind::boolean:
      return first == 't' || first == 'f';
    case Kind::integer:
    case Kind::enumeration:
      return starts_number(token);
    case Kind::number:
      return starts_number(token) || first == '"' || first == 'N' || first == 'I' || first == '-';
    case Kind::string:
      return first == '"';
    case Kind::json:
      return true;
    case Kind::optional:
      return first == 'n' || may_be(*type.element, token);
    case Kind::box:
      return may_be(*type.element, token);
    case Kind::list:
      return first == '[';
    case Kind::dict:
    case Kind::record:
    case Kind::variant:
      return first == '{';
  }
  return false;
}

}  // namespace pt2::schema
