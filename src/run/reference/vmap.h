// torch.vmap, which graphs express as _add_batch_dim(x, dim, level) … _remove_batch_dim(y, level,
// size, dim): in between, operators see tensors without the batch dimension. The graph alone
// determines which values are batched. An operator on batched values runs once per element, which
// is vmap's definition; there are no batching rules.
#ifndef PT2_RUN_REFERENCE_VMAP_H
#define PT2_RUN_REFERENCE_VMAP_H

#include "run/bound_graph.h"

namespace pt2::run {

// Sets `batched` and `levels` of the nodes. Error `invalid`, at the node, if a level is not a
// number, or if a value without batch dimension is written to for each element; `limit` if a value
// has more levels than a tensor may have dimensions.
Result<void> find_batched_values(BoundGraph& graph);

// Executor::compute for a node with batched inputs: computes it once per element of the batch.
Result<std::vector<Value>> compute_batched(Executor& executor, const BoundNode& node,
                                           std::vector<Value>& values);

}  // namespace pt2::run

#endif  // PT2_RUN_REFERENCE_VMAP_H
