// What the result of a vmap region becomes: its dimensions in the order in which they lay in
// memory.
#ifndef PT2_LOWER_VMAP_RESULTS_H
#define PT2_LOWER_VMAP_RESULTS_H

#include <span>
#include <vector>

#include "pt2/graph.h"

namespace pt2 {

// The dimensions of a tensor from the one with the longest stride to the one with the shortest;
// `first`, then the others, where strides are not known.
std::vector<int64_t> memory_order(const TensorMeta& meta, int64_t first);
// `meta` with its dimensions in another order.
TensorMeta permuted(const TensorMeta& meta, std::span<const int64_t> order);
std::vector<int64_t> inverse(std::span<const int64_t> order);

// The node becomes a permutation of `stacked`, whose batch dimension comes first, with that
// dimension at `dim`. It gets the strides that it had: nodes behind it may take a view of it.
void arrange_result(Graph& graph, NodeId id, ValueId stacked, int64_t dim);
// The node becomes `value`, which is the same for all elements, `size` times along a new dimension.
void expand_result(Graph& graph, NodeId id, ValueId value, const Argument& size, int64_t dim);

}  // namespace pt2

#endif  // PT2_LOWER_VMAP_RESULTS_H
