// The position of a walk through a value: steps on the stack, made into text only when a message
// needs them.
#ifndef PT2_SCHEMA_PATH_H
#define PT2_SCHEMA_PATH_H

#include <cstdint>
#include <string>
#include <string_view>

#include "schema/type.h"

namespace pt2::schema {

// ".name", or ["any text"] for keys that are no identifiers, e.g. of range constraints.
void append_key_step(std::string& path, std::string_view key);
void append_index_step(std::string& path, size_t index);

struct Step {
  const Step* parent = nullptr;
  std::string_view key = {};     // of a member, an alternative or a dict entry
  size_t index = 0;              // of a list's element, when `key` has no data
  TraceHolder* trace = nullptr;  // set while the value at this step is a record
  uint32_t depth = 0;            // JSON objects and lists around it

  Step below(std::string_view name) const { return {this, name, 0, nullptr, depth + 1}; }
  Step element(size_t i) const { return {this, {}, i, nullptr, depth + 1}; }
};

// From the root, or from `base` (exclusive), down to `step`.
std::string print_path(const Step& step, const Step* base = nullptr);

}  // namespace pt2::schema

#endif  // PT2_SCHEMA_PATH_H
