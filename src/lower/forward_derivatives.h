// Lowers torch.func.jvp as pre-dispatch exports write it: _make_dual(x, dx) … _unpack_dual(y), with
// operators on dual numbers in between. The tangents become nodes of their own, as in PyTorch's
// decompositions, so that engines never see dual numbers.
#ifndef PT2_LOWER_FORWARD_DERIVATIVES_H
#define PT2_LOWER_FORWARD_DERIVATIVES_H

#include <optional>

#include "lower/node_budget.h"
#include "pt2/ir/graph.h"
#include "pt2/result.h"

namespace pt2 {

// Returns the graph without dual numbers, nested graphs included; nothing (nullopt) if it has none.
// Levels may be nested (derivatives of derivatives). Error `unsupported`, naming the node, for an
// operator without a derivative rule. Linear in the graph; a value at n levels takes 2^n nodes, as
// in PyTorch. Formulas: tools/autograd/derivatives.yaml.
Result<std::optional<Graph>> lower_forward_derivatives(const Graph& graph, NodeBudget& budget);

}  // namespace pt2

#endif  // PT2_LOWER_FORWARD_DERIVATIVES_H
