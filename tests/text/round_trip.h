// A program that is printed as text and parsed must be the same in memory and in its bytes.
#ifndef PT2_TESTS_TEXT_ROUND_TRIP_H
#define PT2_TESTS_TEXT_ROUND_TRIP_H

#include <string>
#include <vector>

#include "base/check.h"
#include "pt2/format/schema_json.h"
#include "pt2/ir/program_text.h"
#include "serde/from_schema.h"
#include "serde/to_schema.h"

namespace pt2::test {

inline Result<Program> read_program(std::string_view json) {
  Diagnostics warnings;
  PT2_TRY(schema::ExportedProgram source, schema::decode_program(json, Limits{}, warnings));
  return from_schema(std::move(source));
}

inline std::string json_of(const Program& program) {
  return schema::encode_program(to_schema(program));
}

// Returns the first difference; "" if there is none.
inline std::string round_trip_fault(const Program& program) {
  const std::string json = json_of(program);
  const std::string text = print_program(program, {.metadata = true});
  std::vector<Error> errors;
  const Result<Program> again = parse_program(text, "text", errors);
  if (!again) return again.error().text();
  if (print_program(*again, {.metadata = true}) != text) return "another text";
  const schema::ExportedProgram before = to_schema(program), after = to_schema(*again);
  for (const auto& each : schema::diff(before, after))
    return each.path + ": " + each.left + " -> " + each.right;
  return schema::encode_program(after) == json ? "" : "other bytes";
}

}  // namespace pt2::test

#endif  // PT2_TESTS_TEXT_ROUND_TRIP_H
