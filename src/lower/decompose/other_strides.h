// Values whose strides differ from those that the file records. torch.export's shape functions lay
// out some results otherwise than PyTorch's kernels do (such as batch norm of a transposed [N, C,
// L]). A view that the recorded strides allow then fails, here as in PyTorch.
#ifndef PT2_LOWER_DECOMPOSE_OTHER_STRIDES_H
#define PT2_LOWER_DECOMPOSE_OTHER_STRIDES_H

#include <unordered_map>

#include "ops/table.h"
#include "pt2/ir/graph.h"
#include "pt2/value.h"

namespace pt2 {

// The strides that kernels give, evaluated with the hints of the symbols.
using OtherStrides = std::unordered_map<ValueId, Sizes>;

// Returns the recorded strides of a tensor; nothing if they are not known.
std::optional<Sizes> recorded_strides(const TensorMeta& meta, const SymbolBindings& bindings);

// Adds the results of a node whose strides differ, by the rule of its operator. Nodes must be
// visited in the order of the graph.
void learn_other_strides(const Graph& graph, const Node& node, const ops::Operator& op,
                         const SymbolBindings& hints, OtherStrides& known);

// Returns strides in the order of the given ones, with gaps between all dimensions. No two
// dimensions can then be merged by a view.
Sizes strides_apart(const Sizes& sizes, const Sizes& strides);

}  // namespace pt2

#endif  // PT2_LOWER_DECOMPOSE_OTHER_STRIDES_H
