// One form for programs that differ only in names, in the order of independent nodes, and in where
// they come from. It serves to compare and to identify programs, not to run them: nodes with side
// effects are ordered by their arguments alone.
#ifndef PT2_IR_CANONICALIZE_H
#define PT2_IR_CANONICALIZE_H

#include "pt2/ir/program.h"
#include "pt2/result.h"

namespace pt2 {

// Which of two nodes comes first when target and arguments give no order.
enum class TieBreak : uint8_t {
  // The node that the program lists first: exactly PyTorch's result.
  position,
  // The order given by constants and users, so that every node order of a program gives the same
  // result. Names of nodes, which PyTorch keeps, are dropped.
  content,
};

// torch/_export/serde/serialize.py, canonicalize: inputs sorted by kind and name, outputs by kind;
// nodes in topological order, the smallest target and argument ranks first; values renamed to _0,
// _1, ... and nested graphs to _g0, ...; tables sorted by name; metadata of nodes and of the graph
// module and the field names of namedtuples dropped. References inside as_string_to_argument are
// renamed too, which PyTorch forgets. The result shares the expressions of `program`. Error
// `invalid` when signature and graph differ in length, or nodes use one another in a circle.
// O(n log n).
Result<Program> canonicalize(const Program& program, TieBreak tie_break = TieBreak::position);

}  // namespace pt2

#endif  // PT2_IR_CANONICALIZE_H
