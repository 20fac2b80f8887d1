// The position of a walk through a value. The steps are on the stack and become text only if a
// message needs them.
#ifndef PT2_SCHEMA_PATH_H
#define PT2_SCHEMA_PATH_H

#include <cstdint>
#include <string>
#include <string_view>

#include "schema/type.h"

namespace pt2::schema {

// Appends ".name", or ["any text"] for keys that are not identifiers, e.g. of range constraints.
void append_key_step(std::string& path, std::string_view key);
void append_index_step(std::string& path, size_t index);

struct Step {
  const Step* parent = nullptr;
  std::string_view key = {};     // of a member, an alternative or a dict entry
  size_t index = 0;              // of a list element, if `key` is null
  TraceHolder* trace = nullptr;  // set if the value at this step is a record
  uint32_t depth = 0;            // number of JSON objects and lists around it

  Step below(std::string_view name) const { return {this, name, 0, nullptr, depth + 1}; }
  Step element(size_t i) const { return {this, {}, i, nullptr, depth + 1}; }
};

// Prints the path from the root, or from `base` (exclusive), down to `step`.
std::string print_path(const Step& step, const Step* base = nullptr);

}  // namespace pt2::schema

#endif  // PT2_SCHEMA_PATH_H
