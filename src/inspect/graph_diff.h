// Compares the nodes of two graphs.
#ifndef PT2_INSPECT_GRAPH_DIFF_H
#define PT2_INSPECT_GRAPH_DIFF_H

#include <string>
#include <vector>

#include "inspect/plain_text.h"
#include "pt2/ir/graph.h"
#include "pt2/tools/diff.h"

namespace pt2 {

// One of the two graphs, with the data for the comparison.
struct GraphSide {
  const Graph& graph;
  std::vector<std::string> inputs;  // roles (input_roles.h)
  SymbolNames& symbols;
};

// Adds changes of nodes and sizes, also of nested graphs. Pairs of nodes go to `pairs`; those of
// nested graphs go to out.nested. With `semantic`, omits nodes and arguments that say nothing
// (spelling.h).
void diff_graphs(const GraphSide& before, const GraphSide& after, bool semantic, Difference& out,
                 std::vector<NodePair>& pairs);

}  // namespace pt2

#endif  // PT2_INSPECT_GRAPH_DIFF_H
