// The memory that a program takes, counted while it is decoded: Limits::max_program_ratio. Lists
// whose elements hardly have text, such as [], "" and 1, would otherwise make gigabytes of a
// megabyte.
#ifndef PT2_SCHEMA_PROGRAM_MEMORY_H
#define PT2_SCHEMA_PROGRAM_MEMORY_H

#include <cstddef>
#include <cstdint>

#include "base/platform.h"
#include "pt2/limits.h"
#include "schema/type.h"

namespace pt2::schema {

class ProgramMemory {
 public:
  ProgramMemory(const Limits& limits, size_t json_bytes)
      : max_(saturating_product(limits.max_program_ratio, json_bytes)), left_(max_) {}

  // These count what a file may repeat, and say whether it was too much.
  bool take(uint64_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }
  bool take_element(const Type& element) { return take(2 * element.bytes + kBytesPerElement); }
  // JSON without a type of its own.
  bool take_json(size_t bytes, bool is_scalar) {
    return take(bytes * (is_scalar ? 1 : kJsonBytesPerByte));
  }
  bool take_expression(size_t bytes) { return take(bytes * kExpressionBytesPerByte); }

  uint64_t max() const { return max_; }

 private:
  // What an element of a list or a dictionary costs besides itself: its part of a vector that grew,
  // and what the program and findings about it take later.
  static constexpr size_t kBytesPerElement = 64;
  // It is parsed into values to be checked.
  static constexpr size_t kJsonBytesPerByte = 48;
  // It is parsed whenever it is needed; an operator and a number have two characters.
  static constexpr size_t kExpressionBytesPerByte = 16;

  uint64_t max_;
  uint64_t left_;
};

}  // namespace pt2::schema

#endif  // PT2_SCHEMA_PROGRAM_MEMORY_H
