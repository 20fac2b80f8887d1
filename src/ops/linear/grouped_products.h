// Helpers for products of matrices whose rows belong to groups.
#ifndef PT2_OPS_LINEAR_GROUPED_PRODUCTS_H
#define PT2_OPS_LINEAR_GROUPED_PRODUCTS_H

#include <vector>

#include "ops/meta.h"

namespace pt2::ops {

// The ends of the groups along the split dimension, ascending.
Result<std::vector<int64_t>> group_ends(const Tensor& offs, int64_t length);

// Copies a group's result into `target`, a view of that group's part of the whole result.
Result<void> copy_into(Tensor target, const Tensor& source);

}  // namespace pt2::ops

#endif  // PT2_OPS_LINEAR_GROUPED_PRODUCTS_H
