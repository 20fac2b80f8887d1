// In-place writes at the positions that index tensors give.
#ifndef PT2_OPS_SHAPE_INDEXING_H
#define PT2_OPS_SHAPE_INDEXING_H

#include <span>

#include "ops/signature.h"
#include "pt2/value.h"

namespace pt2::ops {

// Runs the in-place forms of index_put, index_copy and index_add without a copy of the first
// argument. Returns false, without a write, for other operators, and if the tensor must not be
// written to while the other arguments are read.
Result<bool> write_at_indices(const Signature& signature, std::span<const Value> arguments);

}  // namespace pt2::ops

#endif  // PT2_OPS_SHAPE_INDEXING_H
