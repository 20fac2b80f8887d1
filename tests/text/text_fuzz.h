// Entry point for fuzzing: reading any text returns, and a program that was read prints as a text
// that reads as the same program.
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
  // Whether the program is valid or not, the JSON that it encodes to must be read without harm.
  (void)read_program(json_of(*program));
}

}  // namespace pt2::test

#endif  // PT2_TESTS_TEXT_TEXT_FUZZ_H
