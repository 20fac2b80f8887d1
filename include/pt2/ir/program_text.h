// Prints a program as text to read, compare and edit, one line for each node, and parses this text.
// The text has everything except the metadata of nodes, which is optional. docs/text.md has the
// grammar. `pt2 dis` prints this text and `pt2 as` reads it.
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
  // has the whole program, and encodes to the bytes of its file.
  bool metadata = false;
};

// Returns the text of a program. It ends with a line break and has weights by name. Equal programs
// have equal texts. Subgraphs that no node calls are left out, as in files. Linear in the program.
std::string print_program(const Program& program, const TextOptions& options = {});

// Parses the text of a program. Does not check the program against operators; use verify. Errors:
// `malformed` (not this grammar), `invalid` (an undefined value, a duplicate name, an argument of
// the wrong type), `limit` (nesting, size). Adds up to a hundred errors to `errors` with their
// places, "model.txt:12:7", and returns the first. Linear in the text, in time and memory.
Result<Program> parse_program(std::string_view text, std::string_view name,
                              std::vector<Error>& errors, const Limits& limits = {});

// Parses one constant in the form of a node's argument in that text: 3, true, none, "text", [1, 2],
// f32, device "cpu". Error `malformed`.
Result<Argument> parse_constant(std::string_view text, SchemaVersion version);

}  // namespace pt2

#endif  // PT2_IR_PROGRAM_TEXT_H
