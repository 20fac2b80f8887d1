// Finds the recorded dtypes of a graph's values that follow from those of its inputs. A file may
// record another dtype than the operator gives: a pass that removes nodes because of dtypes must
// know which records are proven.
#ifndef PT2_CHECK_SHAPES_PROVEN_DTYPES_H
#define PT2_CHECK_SHAPES_PROVEN_DTYPES_H

#include <vector>

#include "check/shapes/abstract_value.h"
#include "pt2/ir/graph.h"
#include "pt2/value.h"

namespace pt2::check {

// Returns the results of the node's operator for operands of the recorded dtypes, as tensors
// without elements. Their dtypes are right even if no example shows the sizes. `hints` gives the
// operands by values for the symbols of the sizes (by_record). Error `unsupported` if the results
// are not known; else the operator's own error.
Result<std::vector<Value>> results_of_recorded_dtypes(const Graph& graph, const Node& node,
                                                      const Abstraction& hints);
inline Result<std::vector<Value>> results_of_recorded_dtypes(const Graph& graph, const Node& node,
                                                             const SymbolBindings& hints) {
  return results_of_recorded_dtypes(graph, node, by_record(hints));
}

// Tells for each value of the graph whether its dtype is proven; only for `wanted` values and the
// values that they are computed from. `hints` are values for the symbols of the sizes.
// `inputs_hold`: the graph's inputs certainly have the recorded dtypes. Proves nothing about
// results of custom operators and nested graphs. Autocast is not considered: the caller excludes
// values that it casts. Linear in the nodes.
std::vector<bool> proven_dtypes(const Graph& graph, const SymbolBindings& hints, bool inputs_hold,
                                std::vector<bool> wanted);

}  // namespace pt2::check

#endif  // PT2_CHECK_SHAPES_PROVEN_DTYPES_H
