// Edits of whole programs: sizes, names, results, arguments, extraction. An edit that fails leaves
// the program unchanged, and its error has the place. Callers should check the sizes that an edit
// sets with verify_program and check_operators before they write the program (as `pt2 edit` does).
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

// Functions below take an input by its name in user_input_names or by its value, and a value by its
// name in the graph, with or without "%". Errors of all: `argument` for names that do not exist and
// for edits that are not possible; `unsupported` for edits that are not implemented.

// Replaces the symbolic size of an input by a number in the whole program, including the sizes of
// other inputs with the same symbol. Error `argument` if the range of the symbol or a guard
// excludes the number, or the size is an expression.
Result<void> fix_dim(Program& program, std::string_view input, size_t dim, int64_t size);
// Sets the range of the symbol of a size. Error `argument` if it is not within the old one, or a
// guard excludes all of it.
Result<void> set_range(Program& program, std::string_view input, size_t dim, SymRange range);
// Replaces a fixed size by a symbol with a range. The sizes of later values follow: the function
// evaluates the shape rules of all operators with other numbers to find the dependence. Error
// `unsupported`, at the node, if a size does not have the form a*n + b, or a node holds the old
// size as a number.
Result<void> free_dim(Program& program, std::string_view input, size_t dim, std::string_view symbol,
                      SymRange range);
// A size of an input.
struct InputDim {
  std::string_view input;
  size_t dim = 0;
};
// As free_dim, with one symbol for several sizes that are equal in every call, such as the batch of
// all inputs.
Result<void> free_dims(Program& program, std::span<const InputDim> dims, std::string_view symbol,
                       SymRange range);

// Renames an input in the call (forward_arg_names) and its value. Error `unsupported` for keywords
// and for parts of an argument.
Result<void> rename_input(Program& program, std::string_view input, std::string_view name);
// Renames a result: its key, if a dict holds it, and its value; of a gradient, the value. `output`
// is the name (graph_output_names) or the position among all that callers get ("0"). Error
// `unsupported` for fields of a class.
Result<void> rename_output(Program& program, std::string_view output, std::string_view name);

// Reduces the program to the part that computes the values `to` from the values `from`. The weights
// that it uses and the other inputs that it needs stay. The result is a tuple of `to` in that
// order. Errors: `argument` if a value of `from` is not needed or `to` is empty; `unsupported` for
// booleans, which PyTorch cannot load as results, and for a piece of a vmap or jvp.
Result<void> extract(Program& program, std::span<const std::string> from,
                     std::span<const std::string> to);
// Reduces the program to one call of a module, named as in ModuleHierarchy::call_name
// ("encoder.layers.0"). Its inputs are the values that the call takes from other nodes, its results
// the values that other nodes take from it. Error `argument` if there is no such call.
Result<void> extract_module(Program& program, std::string_view module);
// Adds a value as the last result. Error `unsupported` for booleans, if the present result is not a
// tensor, tuple or list, and at the node if a later node writes to the memory of the value: the
// result would have the elements at the end of the run.
Result<void> add_output(Program& program, std::string_view value);
// As add_output for each value in turn, in the time of one.
Result<void> add_outputs(Program& program, std::span<const std::string> values);

// Sets an argument of a node to a constant. `place` is "add.other" for the argument `other` of the
// node that computes the value add; the node may leave the argument at its default now. `text` is
// as in parse_constant; the quotes of a string may be left out.
Result<void> set_argument(Program& program, std::string_view place, std::string_view text);

// Sets the device in all tensor metadata and device arguments.
void set_device(Program& program, const Device& device);

}  // namespace pt2

#endif  // PT2_IR_EDIT_PROGRAM_H
