// Lays out the result of a vmap region: the order of its dimensions in memory is kept.
#ifndef PT2_LOWER_VMAP_RESULTS_H
#define PT2_LOWER_VMAP_RESULTS_H

#include <span>
#include <vector>

#include "pt2/ir/graph.h"

namespace pt2 {

// Returns the dimensions of a tensor from the longest stride to the shortest. If strides are not
// known: `first`, then the others in order.
std::vector<int64_t> memory_order(const TensorMeta& meta, int64_t first);
// `meta` with its dimensions in another order.
TensorMeta permuted(const TensorMeta& meta, std::span<const int64_t> order);
std::vector<int64_t> inverse(std::span<const int64_t> order);

// Turns the node into a permutation of `stacked`, which moves the batch dimension from 0 to `dim`.
// The result keeps its recorded strides, because later nodes may take views of it.
void arrange_result(Graph& graph, NodeId id, ValueId stacked, int64_t dim);
// Turns the node into an expansion of `value`, which all elements share, along a new dimension of
// `size` at `dim`.
void expand_result(Graph& graph, NodeId id, ValueId value, const Argument& size, int64_t dim);

}  // namespace pt2

#endif  // PT2_LOWER_VMAP_RESULTS_H
