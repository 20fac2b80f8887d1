// Which recorded dtypes of a graph's values follow from those of its inputs. A file may record
// another dtype than an operator gives: whoever leaves out what a dtype makes superfluous must
// know.
#ifndef PT2_CHECK_SHAPES_PROVEN_DTYPES_H
#define PT2_CHECK_SHAPES_PROVEN_DTYPES_H

#include <vector>

#include "pt2/ir/graph.h"
#include "pt2/value.h"

namespace pt2::check {

// What the node's operator gives for operands of the recorded dtypes: tensors without elements,
// whose dtypes are right where no example shows the sizes, too. `hints` are values for the symbols
// of the sizes. Error `unsupported` where that is not known; else the operator's own.
Result<std::vector<Value>> results_of_recorded_dtypes(const Graph& graph, const Node& node,
                                                      const SymbolBindings& hints);

// For each value of the graph whether its dtype is proven; only of `wanted` values, and of what
// they are made of. `hints` are values for the symbols of the sizes. `inputs_hold`: the graph's
// inputs have the recorded dtypes for certain. Nothing is proven of what custom operators and
// nested graphs return, nor of what autocast casts, which the caller excludes. Linear in the nodes.
std::vector<bool> proven_dtypes(const Graph& graph, const SymbolBindings& hints, bool inputs_hold,
                                std::vector<bool> wanted);

}  // namespace pt2::check

#endif  // PT2_CHECK_SHAPES_PROVEN_DTYPES_H
