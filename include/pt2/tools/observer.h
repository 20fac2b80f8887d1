// Observers receive every value that a running program computes. They serve to make traces and to
// find the node where results go wrong.
#ifndef PT2_TOOLS_OBSERVER_H
#define PT2_TOOLS_OBSERVER_H

#include <functional>
#include <string>

#include "pt2/ir/graph.h"
#include "pt2/result.h"
#include "pt2/value.h"

namespace pt2 {

struct ObservedValue {
  // The name of the value in its graph, "linear_1". For a value of a nested graph, the names of the
  // calling node and of the graph precede it, "cond.true_graph_0.add". From the second run of that
  // graph on, the name also has the number of the run, "while_loop.body_graph_0[1].add".
  std::string name;
  const Graph& graph;
  const Node& node;
  // The value right after the node ran. A later node may write to its storage.
  const Value& value;
};

// Called after each node, once for each value that it computed, in execution order. If it returns
// an error, the run ends with this error.
using Observer = std::function<Result<void>(const ObservedValue& observed)>;

}  // namespace pt2

#endif  // PT2_TOOLS_OBSERVER_H
