// Entry points for fuzzing. For any bytes they must return. Decoding, encoding and decoding again
// must give the same value.
#ifndef PT2_TESTS_SCHEMA_SCHEMA_FUZZ_H
#define PT2_TESTS_SCHEMA_SCHEMA_FUZZ_H

#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "pt2/format/draft_types.h"
#include "pt2/format/schema_json.h"

namespace pt2::test {

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class T>
void fuzz_decode(std::string_view json) {
  Diagnostics warnings;
  const auto value = schema::decode<T>(json, Limits{}, warnings);
  if (!value) return;
  const std::string written = schema::encode(*value);
  const auto again = schema::decode<T>(written, Limits{}, warnings);
  PT2_CHECK(again.has_value());
  PT2_CHECK(schema::encode(*again) == written);
  PT2_CHECK(schema::equal(*value, *again));
  PT2_CHECK(schema::hash(*value) == schema::hash(*again));
  PT2_CHECK(schema::diff(*value, *again).empty());
}

inline void fuzz_json(std::span<const std::byte> bytes) {
  const std::string_view json = as_text(bytes);
  fuzz_decode<schema::ExportedProgram>(json);
  fuzz_decode<schema::PayloadConfig>(json);
  fuzz_decode<schema::Model>(json);
  fuzz_decode<draft::GraphModule>(json);
  const auto value = parse_json(json, {.allow_non_finite = true});
  if (!value) return;
  for (const JsonStyle style : {JsonStyle::python, JsonStyle::compact, JsonStyle::pretty}) {
    const std::string written = print_json(*value, style);
    const auto again = parse_json(written, {.allow_non_finite = true});
    PT2_CHECK(again.has_value());
    PT2_CHECK(print_json(*again, style) == written);
  }
}

inline void fuzz_float_text(std::span<const std::byte> bytes) {
  const std::string_view text = as_text(bytes);
  for (const auto& value : {parse_float(text), parse_non_finite(text)}) {
    if (!value) continue;
    const std::string printed = print_float(*value);
    const auto again = std::isfinite(*value) ? parse_float(printed) : parse_non_finite(printed);
    PT2_CHECK(again.has_value());
    PT2_CHECK(print_float(*again) == printed);
    PT2_CHECK(std::isnan(*value) || *again == *value);
  }
  if (const auto value = parse_int(text)) PT2_CHECK(parse_int(std::to_string(*value)) == value);
  const std::string quoted = print_json_string(text);
  const auto back = unescape_json(std::string_view(quoted).substr(1, quoted.size() - 2));
  PT2_CHECK(back.has_value() && back->is_usual);
  if (is_utf8(text)) PT2_CHECK(back->text == text && valid_utf8_prefix(text) == text.size());
  if (const auto unescaped = unescape_json(text)) (void)print_json_string(unescaped->text);
}

}  // namespace pt2::test

#endif  // PT2_TESTS_SCHEMA_SCHEMA_FUZZ_H
