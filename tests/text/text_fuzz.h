// Entry point for fuzzing. Parsing any text must return. A parsed program must print as a text that
// parses to the same program.
#ifndef PT2_TESTS_TEXT_TEXT_FUZZ_H
#define PT2_TESTS_TEXT_TEXT_FUZZ_H

#include <cstddef>
#include <span>

#include "text/round_trip.h"

namespace pt2::test {

inline void fuzz_text(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<Error> errors;
  const Result<Program> program = parse_program(text, "text", errors);
  PT2_CHECK(program.has_value() == errors.empty());
  if (!program) return;
  PT2_CHECK(round_trip_fault(*program).empty());
  // Even if the program is invalid, reading its JSON must be safe.
  (void)read_program(json_of(*program));
}

}  // namespace pt2::test

#endif  // PT2_TESTS_TEXT_TEXT_FUZZ_H
