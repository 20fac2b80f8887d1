// A graph whose operators write made into one whose operators only compute: what PyTorch does while
// it traces (torch/_subclasses/functional_tensor.py, aten/src/ATen/FunctionalTensorWrapper.cpp),
// here on the graph. An operator that writes becomes the one that computes the same; what shares
// memory with the result is viewed again where it is read next, and a write through a view is done
// again on what it is a view of.
#ifndef PT2_LOWER_FUNCTIONAL_FUNCTIONALIZE_H
#define PT2_LOWER_FUNCTIONAL_FUNCTIONALIZE_H

#include <string>
#include <vector>

#include "lower/pass.h"
#include "pt2/graph.h"

namespace pt2 {

// Whether no operator of the graph, or of one nested in it, writes to its arguments: neither by its
// signature nor otherwise.
bool is_functional(const Graph& graph);

// A node that writes in a way that has no other form.
struct UnfunctionalNode {
  const Graph* graph = nullptr;
  size_t position = 0;  // of the node, before anything was changed
  NodePlace node{};
  std::string text{};
};

struct FunctionalGraph {
  // An input that is written to, and its value at the end.
  struct Mutation {
    ValueId input{};
    ValueId value{};
  };
  std::vector<Mutation> mutations{};
  // When there are any, the graph is in no good state.
  std::vector<UnfunctionalNode> failures{};
};

// Changes `graph` and the graphs nested in it; the graph's results are those of before, the
// mutations not among them. The file's sizes, strides and dtypes are believed. Linear in the graph,
// but for views of views, which count one by one.
FunctionalGraph functionalize(Graph& graph, const RefuseInput& refuse, NodeBudget& budget);

}  // namespace pt2

#endif  // PT2_LOWER_FUNCTIONAL_FUNCTIONALIZE_H
