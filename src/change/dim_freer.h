// Follows a freed size through a graph.
#ifndef PT2_CHANGE_DIM_FREER_H
#define PT2_CHANGE_DIM_FREER_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "pt2/ir/program.h"
#include "pt2/result.h"

namespace pt2 {

using InputPlace = std::pair<ValueId, size_t>;  // an input, and its dim

// Gives the sizes at `places`, all of them `old_size`, the symbol, and the values computed from
// them what the operators' shape rules say for other sizes of the range. Where a node can be
// followed in several ways, a later node that refuses undoes the choice. Errors: `argument` for a
// range of fewer than three sizes, `unsupported` with the node that needs the old size.
Result<void> follow_freed_dim(Program& program, Expr symbol, int64_t old_size,
                              const SymRange& range, std::span<const InputPlace> places);

}  // namespace pt2

#endif  // PT2_CHANGE_DIM_FREER_H
