// torch.vmap, which graphs spell as _add_batch_dim(x, dim, level) … _remove_batch_dim(y, level,
// size, dim): in between, operators see tensors without the batch dimension. Which values have one
// is known from the graph alone; an operator on such values runs once per element of the batch, as
// vmap is defined. There is no batching rule per operator.
#ifndef PT2_RUN_REFERENCE_VMAP_H
#define PT2_RUN_REFERENCE_VMAP_H

#include "run/bound_graph.h"

namespace pt2::run {

// Fills `batched` and `levels` of the nodes. Error `invalid`, at the node, where a level is no
// number or a value without batch dimension is written to for each element.
Result<void> find_batched_values(BoundGraph& graph);

// Executor::compute for a node with batched inputs, which stand for one element of the batch
// meanwhile.
Result<std::vector<Value>> compute_batched(Executor& executor, const BoundNode& node,
                                           std::vector<Value>& values);

}  // namespace pt2::run

#endif  // PT2_RUN_REFERENCE_VMAP_H
