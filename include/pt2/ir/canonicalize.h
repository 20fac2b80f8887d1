// Canonical form of programs. Programs that differ only in names, in the order of independent nodes
// and in source metadata have the same canonical form. Use it to compare and to identify programs,
// not to run them: nodes with side effects are ordered only by their arguments.
#ifndef PT2_IR_CANONICALIZE_H
#define PT2_IR_CANONICALIZE_H

#include "pt2/ir/program.h"
#include "pt2/result.h"

namespace pt2 {

// The rule that orders two nodes if target and arguments do not.
enum class TieBreak : uint8_t {
  // The order in the program. Gives exactly PyTorch's result.
  position,
  // The order of constants and users. All node orders of a program give the same result. Drops the
  // names of nodes, which PyTorch keeps.
  content,
};

// Returns the canonical form, as canonicalize of torch/_export/serde/serialize.py. It sorts inputs
// by kind and name, and outputs by kind. It puts nodes in topological order, smallest target and
// argument ranks first. It renames values to _0, _1, ... and nested graphs to _g0, ..., sorts
// tables by name, and drops the metadata of nodes and of the graph module and the field names of
// namedtuples. It also renames references inside as_string_to_argument, which PyTorch forgets. The
// result shares the expressions of `program`. Error `invalid` if signature and graph differ in
// length, or nodes use one another in a cycle. O(n log n).
Result<Program> canonicalize(const Program& program, TieBreak tie_break = TieBreak::position);

}  // namespace pt2

#endif  // PT2_IR_CANONICALIZE_H
