// The nodes of two graphs side by side.
#ifndef PT2_INSPECT_GRAPH_DIFF_H
#define PT2_INSPECT_GRAPH_DIFF_H

#include <string>
#include <vector>

#include "inspect/plain_text.h"
#include "pt2/ir/graph.h"
#include "pt2/tools/diff.h"

namespace pt2 {

// One graph of the two, with what it takes to compare it.
struct GraphSide {
  const Graph& graph;
  std::vector<std::string> inputs;  // roles (input_roles.h)
  SymbolNames& symbols;
};

// Adds changes of nodes and sizes, in nested graphs too, whose pairs go to out.nested; `pairs` of
// this graph. With `semantic` without what says nothing (spelling.h).
void diff_graphs(const GraphSide& before, const GraphSide& after, bool semantic, Difference& out,
                 std::vector<NodePair>& pairs);

}  // namespace pt2

#endif  // PT2_INSPECT_GRAPH_DIFF_H
