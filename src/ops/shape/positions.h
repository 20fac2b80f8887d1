// Results whose elements come from other positions of a tensor, computed per dimension: flips,
// rolls, repetitions, padding.
#ifndef PT2_OPS_SHAPE_POSITIONS_H
#define PT2_OPS_SHAPE_POSITIONS_H

#include "base/memory_account.h"
#include "ops/meta.h"

namespace pt2::ops {

// For each position in a dimension of the result, the position in the source; -1 for none.
using Positions = Scratch<int64_t>;

// Returns the positions 0, 1, … of each dimension.
std::vector<Positions> identity_positions(const Sizes& sizes);
// out[i, j, …] = self[positions[0][i], positions[1][j], …], copied bytewise; elements with a
// position of -1 stay unchanged. Both must have the same rank and dtype.
void take_positions(Tensor& out, const Tensor& self, const std::vector<Positions>& positions);

}  // namespace pt2::ops

#endif  // PT2_OPS_SHAPE_POSITIONS_H
