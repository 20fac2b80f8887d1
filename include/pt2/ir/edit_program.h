// A program with other sizes, names, results or arguments. Each edit leaves the program as it was
// where it is refused, and the reason names the place. What an edit says about sizes is checked by
// verify_program with check_operators, which callers run before they write (as `pt2 edit` does).
//
//   PT2_TRY_VOID(pt2::fix_dim(program, "x", 0, 1));
//   PT2_TRY_VOID(pt2::extract(program, {{"image"}}, {{"%relu_3"}}));
#ifndef PT2_IR_EDIT_PROGRAM_H
#define PT2_IR_EDIT_PROGRAM_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "pt2/ir/program.h"
#include "pt2/ir/symbols.h"
#include "pt2/result.h"

namespace pt2 {

// In all that follows an input is named as user_input_names names it, or by its value; a value by
// its name in the graph, with or without "%". Errors: `argument` for what is not there or cannot
// be; `unsupported` for what is not done here.

// A symbolic size of an input becomes a number, in the whole program, and the size of every other
// input that has the same symbol. `argument` where the program's range has it not, or the size is
// an expression.
Result<void> fix_dim(Program& program, std::string_view input, size_t dim, int64_t size);
// Another range for the symbol of a size.
Result<void> set_range(Program& program, std::string_view input, size_t dim, SymRange range);
// A fixed size becomes a symbol with that range. Sizes behind it follow where they are found to:
// the shape rules of all operators are asked with other numbers. `unsupported`, at the node, where
// a size does not follow as a*n + b, or a node holds the old size as a number.
Result<void> free_dim(Program& program, std::string_view input, size_t dim, std::string_view symbol,
                      SymRange range);

// The name in the call (forward_arg_names) and of the value. `unsupported` for keywords and for
// parts of an argument.
Result<void> rename_input(Program& program, std::string_view input, std::string_view name);
// Of a result, by its name or place ("0"): the key that holds it, where a dict does, and the value.
// `unsupported` for fields of a class.
Result<void> rename_output(Program& program, std::string_view output, std::string_view name);

// Only what computes the values `to` from the values `from`; weights come along, inputs that are
// needed besides stay inputs. Named outputs are a tuple in that order. `argument` where nothing of
// `from` is needed; `unsupported` for truth values, which PyTorch cannot load as results.
Result<void> extract(Program& program, std::span<const std::string> from,
                     std::span<const std::string> to);
// The part that one call of a module computes, as ModuleHierarchy::call_name names it
// ("encoder.layers.0"): from what others give it, to what others take from it. `argument` where
// there is no such call.
Result<void> extract_module(Program& program, std::string_view module);
// One more result, behind the others. `unsupported`, at the node, where a later one writes to its
// memory: the result would be what the memory holds at the end; for truth values.
Result<void> add_output(Program& program, std::string_view value);

// "add.other" of the node that gives the value add, to a constant as parse_constant reads it; where
// the argument is text now, quotes may be left out.
Result<void> set_argument(Program& program, std::string_view place, std::string_view text);

// Every record and argument that names a device names this one.
void set_device(Program& program, const Device& device);

}  // namespace pt2

#endif  // PT2_IR_EDIT_PROGRAM_H
