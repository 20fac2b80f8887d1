// A program as text to read, compare and edit, one line a node. Only the metadata of nodes is left
// out, unless asked for. docs/text.md has the grammar. `pt2 dis` prints this text and `pt2 as`
// reads it.
//
//   std::string text = pt2::print_program(program, {.metadata = true});
//   std::vector<pt2::Error> errors;
//   pt2::Result<pt2::Program> same = pt2::parse_program(text, "model.txt", errors);
#ifndef PT2_IR_PROGRAM_TEXT_H
#define PT2_IR_PROGRAM_TEXT_H

#include <string>
#include <string_view>
#include <vector>

#include "pt2/ir/program.h"
#include "pt2/limits.h"
#include "pt2/result.h"

namespace pt2 {

struct TextOptions {
  // Include stack traces, module stacks and other metadata about the Python source. The text then
  // holds everything that the program does, and encodes to the bytes of its file.
  bool metadata = false;
};

// Ends with a line break. Weights stand by name. Equal programs have equal texts. Subgraphs that no
// node calls are left out, as they are in files. Linear in the program.
std::string print_program(const Program& program, const TextOptions& options = {});

// Errors: `malformed` (not this grammar), `invalid` (a value that nothing defines, a name twice, an
// argument of the wrong type), `limit` (nesting, size). All that are found, up to a hundred, are
// added to `errors` with their place, "model.txt:12:7"; the first of them is returned. Nothing is
// checked against operators; verify does that. Linear in the text, in time and memory.
Result<Program> parse_program(std::string_view text, std::string_view name,
                              std::vector<Error>& errors, const Limits& limits = {});

// One constant as an argument of a node is written in that text: 3, true, none, "text", [1, 2],
// f32, device "cpu". Error `malformed`.
Result<Argument> parse_constant(std::string_view text, SchemaVersion version);

}  // namespace pt2

#endif  // PT2_IR_PROGRAM_TEXT_H
