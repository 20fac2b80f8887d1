// Writes new values of inputs in place, the reverse of functionalize. A functional program gives
// such a value as a result, which is then copied to the input, although an update of a cache
// changes only a few of its elements (torch/_inductor/fx_passes/reinplace.py).
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

}  // namespace pt2

#endif  // PT2_LOWER_FUNCTIONAL_REINPLACE_H
