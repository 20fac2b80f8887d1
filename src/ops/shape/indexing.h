// Writes at the positions of index tensors, to where a tensor lies.
#ifndef PT2_OPS_SHAPE_INDEXING_H
#define PT2_OPS_SHAPE_INDEXING_H

#include <span>

#include "ops/signature.h"
#include "pt2/value.h"

namespace pt2::ops {

// The in-place form of index_put, index_copy and index_add, without a copy of the first argument.
// False, and nothing is written, for other operators, and where the tensor may not be written to
// while the other arguments are read.
Result<bool> write_at_indices(const Signature& signature, std::span<const Value> arguments);

}  // namespace pt2::ops

#endif  // PT2_OPS_SHAPE_INDEXING_H
