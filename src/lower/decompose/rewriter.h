// Replaces one node by the calls of its operator's formula.
#ifndef PT2_LOWER_DECOMPOSE_REWRITER_H
#define PT2_LOWER_DECOMPOSE_REWRITER_H

#include <map>
#include <optional>
#include <span>

#include "lower/decompose/numbers.h"
#include "lower/decompose/other_strides.h"
#include "lower/decompose/recorder.h"
#include "lower/new_nodes.h"
#include "lower/node_budget.h"
#include "lower/written_memory.h"
#include "pt2/dtype.h"
#include "pt2/ir/graph.h"

namespace pt2 {

// The state of a graph while its nodes are replaced in order.
struct GraphState {
  // The graph values of the numbers that earlier nodes compute, by expression.
  std::map<const ExprNode*, ValueId> numbers{};
  std::optional<NodeNames> node_names{};  // from the first that is needed on
  OtherStrides other_strides{};
  bool is_nested = false;
  std::optional<WrittenMemory> written{};  // of the graph, from the first question about it on
};

// A node of a graph and what is known there. In a `region` of torch.autocast its casts become
// calls, and the results may have other dtypes than the file records.
struct NodeToRewrite {
  Graph& graph;
  NodeId id{};
  const ops::Operator& op;
  GraphState& state;
  std::optional<Dtype> region{};
};
// The formula is traced under each of `choices`, which assign values to the program's symbols. All
// traces must make the same calls. Every number in the traces must be an expression of the numbers
// that the node receives. On failure the graph is unchanged.
Result<void> rewrite_node(const NodeToRewrite& node, NodeBudget& budget, const NumberWriter& writer,
                          std::span<const SymbolBindings> choices,
                          const Recorder::Expands& expands);

}  // namespace pt2

#endif  // PT2_LOWER_DECOMPOSE_REWRITER_H
