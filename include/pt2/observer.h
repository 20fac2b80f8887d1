// What a running program computes, value by value: for traces, and to find where results go wrong.
#ifndef PT2_OBSERVER_H
#define PT2_OBSERVER_H

#include <functional>
#include <string>

#include "pt2/graph.h"
#include "pt2/result.h"
#include "pt2/value.h"

namespace pt2 {

struct ObservedValue {
  // Its name in the graph, "linear_1"; in a nested graph after those of node and graph,
  // "cond.true_graph_0.add"; from the second run of a nested graph on with the number of the run,
  // "while_loop.body_graph_0[1].add".
  std::string name;
  const Graph& graph;
  const Node& node;
  // As it is right after the node: a later node may write to its storage.
  const Value& value;
};

// Called after each node, once for each value that it made, in the order in which they run. An
// error ends the run.
using Observer = std::function<Result<void>(const ObservedValue& observed)>;

}  // namespace pt2

#endif  // PT2_OBSERVER_H
