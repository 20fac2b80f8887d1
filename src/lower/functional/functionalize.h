// Functionalizes a graph. PyTorch does this while it traces
// (torch/_subclasses/functional_tensor.py, aten/src/ATen/FunctionalTensorWrapper.cpp); here it is
// done on the finished graph. An operator that writes is replaced by the operator that computes the
// same result without writing. Values that alias the written value are viewed again before their
// next use. A write through a view is repeated on the base of the view.
#ifndef PT2_LOWER_FUNCTIONAL_FUNCTIONALIZE_H
#define PT2_LOWER_FUNCTIONAL_FUNCTIONALIZE_H

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lower/pass.h"
#include "pt2/ir/graph.h"

namespace pt2 {

// True if no operator of the graph or of its nested graphs writes to its arguments, by its
// signature or otherwise.
bool is_functional(const Graph& graph);

// A node that writes and has no functional form.
struct UnfunctionalNode {
  const Graph* graph = nullptr;
  size_t position = 0;  // of the node, in the original graph
  NodePlace node{};
  std::string text{};
};

struct FunctionalGraph {
  // A graph input that is written to, and its final value.
  struct Mutation {
    ValueId input{};
    ValueId value{};
  };
  std::vector<Mutation> mutations{};
  // After a failure the graph must not be used.
  std::vector<UnfunctionalNode> failures{};
};

// Changes `graph` and its nested graphs. The graph's results stay the same; they do not include the
// mutations. The recorded sizes, strides and dtypes are trusted. Linear in the graph, except that
// each level of a chain of views counts separately.
FunctionalGraph functionalize(Graph& graph, const RefuseInput& refuse, NodeBudget& budget);

// Says which inputs cannot get their new values as results: constants, what is not a tensor,
// weights that share memory, and parameters in files whose schema has no result for them
// (before 8.10). `storage_of` numbers the memory of a weight, or gives nothing; null if no weights
// share memory. O(inputs).
RefuseInput refuse_inputs(const Program& program,
                          const std::function<std::optional<size_t>(const InputSpec&)>& storage_of);

}  // namespace pt2

#endif  // PT2_LOWER_FUNCTIONAL_FUNCTIONALIZE_H
