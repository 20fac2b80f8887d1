// Members of the JSON objects that verbs print.
#ifndef PT2_TOOLS_JSON_MEMBERS_H
#define PT2_TOOLS_JSON_MEMBERS_H

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"

namespace pt2::tools {

inline void write_text(JsonWriter& json, std::string_view key, std::string_view text) {
  json.key(key);
  json.string(text);
}

inline void write_integer(JsonWriter& json, std::string_view key, uint64_t value) {
  json.key(key);
  json.raw(std::to_string(value));  // sums that are too large end at 2^64 - 1
}

// Infinity and NaN, which JSON does not have, become text: "inf", "nan".
inline void write_number(JsonWriter& json, double value) {
  if (std::isfinite(value))
    json.number(value);
  else
    json.string(print_float(value));
}

inline void write_number(JsonWriter& json, std::string_view key, double value) {
  json.key(key);
  write_number(json, value);
}

inline void write_flag(JsonWriter& json, std::string_view key, bool value) {
  json.key(key);
  json.boolean(value);
}

inline void write_integers(JsonWriter& json, std::string_view key,
                           std::span<const int64_t> values) {
  json.key(key);
  json.begin_array();
  for (int64_t value : values) json.integer(value);
  json.end_array();
}

inline void write_texts(JsonWriter& json, std::string_view key,
                        std::span<const std::string> texts) {
  json.key(key);
  json.begin_array();
  for (const std::string& text : texts) json.string(text);
  json.end_array();
}

// Writes an array of objects; `write` writes the members of each.
template <class Range, class Write>
void write_objects(JsonWriter& json, std::string_view key, const Range& items, Write&& write) {
  json.key(key);
  json.begin_array();
  for (const auto& item : items) {
    json.begin_object();
    write(item);
    json.end_object();
  }
  json.end_array();
}

// Returns a whole answer: one object on one line.
template <class Write>
std::string json_object(Write&& write) {
  JsonWriter json;
  json.begin_object();
  write(json);
  json.end_object();
  return json.take() + "\n";
}

}  // namespace pt2::tools

#endif  // PT2_TOOLS_JSON_MEMBERS_H
