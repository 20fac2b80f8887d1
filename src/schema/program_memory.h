// Counts the memory of a program during decoding: Limits::max_program_ratio. Without the limit,
// lists of elements with hardly any text, such as [], "" and 1, would expand a megabyte to
// gigabytes.
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

  // These functions count memory that a file may repeat. False if the limit is exceeded.
  bool take(uint64_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }
  bool take_element(const Type& element) { return take(2 * element.bytes + kBytesPerElement); }
  // For JSON without a type in the schema.
  bool take_json(size_t bytes, bool is_scalar) {
    return take(bytes * (is_scalar ? 1 : kJsonBytesPerByte));
  }
  bool take_expression(size_t bytes) { return take(bytes * kExpressionBytesPerByte); }

  uint64_t max() const { return max_; }

 private:
  // The cost of a list or dictionary element besides its own size: the growth of its vector, and
  // later memory of the program and of findings about it.
  static constexpr size_t kBytesPerElement = 64;
  // Such JSON is parsed into values for a check.
  static constexpr size_t kJsonBytesPerByte = 48;
  // Expressions are parsed whenever they are needed; an operator and a number have two characters.
  static constexpr size_t kExpressionBytesPerByte = 16;

  uint64_t max_;
  uint64_t left_;
};

}  // namespace pt2::schema

#endif  // PT2_SCHEMA_PROGRAM_MEMORY_H
