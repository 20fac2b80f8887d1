// Values that lie otherwise here than the file records. torch.export's shape functions lay out some
// results otherwise than PyTorch's kernels do (batch norm of [N, C, L] that lies across): a view
// that the record allows then fails, here as there.
#ifndef PT2_LOWER_DECOMPOSE_OTHER_STRIDES_H
#define PT2_LOWER_DECOMPOSE_OTHER_STRIDES_H

#include <unordered_map>

#include "ops/table.h"
#include "pt2/ir/graph.h"
#include "pt2/value.h"

namespace pt2 {

// Those that kernels give them, under the hints of the symbols.
using OtherStrides = std::unordered_map<ValueId, Sizes>;

// Of a tensor of recorded strides; nothing where they are not known.
std::optional<Sizes> recorded_strides(const TensorMeta& meta, const SymbolBindings& bindings);

// Adds those of a node's results, by its operator's rule. Nodes go in the order of the graph.
void learn_other_strides(const Graph& graph, const Node& node, const ops::Operator& op,
                         const SymbolBindings& hints, OtherStrides& known);

// Strides in the order of the given ones with room between all dimensions: of two that are merged
// there is no view.
Sizes strides_apart(const Sizes& sizes, const Sizes& strides);

}  // namespace pt2

#endif  // PT2_LOWER_DECOMPOSE_OTHER_STRIDES_H
