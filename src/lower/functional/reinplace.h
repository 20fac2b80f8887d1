// Writes new values in place, the reverse of functionalize. A functional program gives the new
// value of an input as a result, which is then copied to the input, although an update of a cache
// changes only a few of its elements; and it copies all rows that a loop has computed to add the
// next (torch/_inductor/fx_passes/reinplace.py).
#ifndef PT2_LOWER_FUNCTIONAL_REINPLACE_H
#define PT2_LOWER_FUNCTIONAL_REINPLACE_H

#include <cstddef>
#include <span>

#include "pt2/ir/graph.h"

namespace pt2 {

// An output of the graph that is the new value of an input.
struct NewValue {
  ValueId input{};
  size_t output = 0;
};

// Where a new value is computed from its input by operators that change elements of it, such as
// copy, index_put, scatter and slice_scatter, they write to the input. Values that the caller gets,
// and values that are read later than the write, are never written to. An output that was such a
// new value is the input afterwards, or a value that lies in its memory. Returns true if the graph
// changed. Inputs must be dense and share no memory, and no operator may look at strides; the
// recorded sizes are trusted. Linear.
bool reinplace(Graph& graph, std::span<const NewValue> new_values);

// True if the node's result is a tensor with a part of it replaced: by a scatter, such as
// select_scatter, or PyTorch's decomposition of one.
bool replaces_part(const Graph& graph, NodeId id);
// Does the same for values that the graph computes and then replaces part by part. Such a value has
// memory of its own, which the caller may get.
bool reinplace_parts(Graph& graph);

}  // namespace pt2

#endif  // PT2_LOWER_FUNCTIONAL_REINPLACE_H
