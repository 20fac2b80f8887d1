// Results whose elements are those of another tensor at other positions, dimension by dimension:
// flips, rolls, repetitions, padding.
#ifndef PT2_OPS_SHAPE_POSITIONS_H
#define PT2_OPS_SHAPE_POSITIONS_H

#include "base/memory_account.h"
#include "ops/meta.h"

namespace pt2::ops {

// Which position of a dimension of the source each position of the result takes; -1 takes none.
using Positions = Scratch<int64_t>;

// The positions 0, 1, … of each dimension.
std::vector<Positions> identity_positions(const Sizes& sizes);
// out[i, j, …] = self[positions[0][i], positions[1][j], …], bytes as they are; elements with a
// position of -1 keep what they are. Both have the same rank and dtype.
void take_positions(Tensor& out, const Tensor& self, const std::vector<Positions>& positions);

}  // namespace pt2::ops

#endif  // PT2_OPS_SHAPE_POSITIONS_H
