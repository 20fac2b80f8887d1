// What a running program computes, value by value: for traces, and to find where results go wrong.
#ifndef PT2_TOOLS_OBSERVER_H
#define PT2_TOOLS_OBSERVER_H

#include <functional>
#include <string>

#include "pt2/ir/graph.h"
#include "pt2/result.h"
#include "pt2/value.h"

namespace pt2 {

struct ObservedValue {
  // The value's name in its graph, "linear_1". In a nested graph the names of the calling node and
  // of the graph precede it, "cond.true_graph_0.add"; from the second run of that graph on, also
  // the number of the run, "while_loop.body_graph_0[1].add".
  std::string name;
  const Graph& graph;
  const Node& node;
  // The value right after the node ran; a later node may write to its storage.
  const Value& value;
};

// Called after each node, once for each value that it made, in the order in which they run. An
// error ends the run, and is its error.
using Observer = std::function<Result<void>(const ObservedValue& observed)>;

}  // namespace pt2

#endif  // PT2_TOOLS_OBSERVER_H
