// Determines which nodes write to their arguments, and the functional operators for these writes.
#ifndef PT2_LOWER_FUNCTIONAL_WRITES_H
#define PT2_LOWER_FUNCTIONAL_WRITES_H

#include <map>
#include <optional>
#include <string>

#include "ops/table.h"
#include "pt2/ir/graph.h"

namespace pt2 {

struct Write {
  enum class Form : uint8_t {
    none,      // the node only reads
    view,      // the node only changes sizes or strides of a tensor: `target` returns the same view
    in_place,  // the only result is the argument that the node writes to
    updates,   // the last results of `target` are the new values of the arguments in `written`
    unknown,   // the node writes, and `text` says why there is no functional operator
  };
  Form form = Form::none;
  std::string target{};                // the functional operator
  size_t input = 0;                    // in_place: the node's input that is written to
  std::vector<std::string> written{};  // updates: names of tensors or lists of tensors
  // Arguments that have another name in `target`: from the node's name to the target's.
  std::map<std::string, std::string, std::less<>> names{};
  std::string text{};
};
// `op` is the operator of the node's target, which is an overload. Linear in the node.
Write write_of(const Graph& graph, const Node& node, const ops::Operator& op);

// Returns the dtypes of a node's results by the shape rule of its operator. Sizes do not affect
// them. The items of lists follow one by one. Nothing if there is no rule or the rule refuses the
// arguments. Linear in the node.
std::optional<std::vector<Dtype>> dtypes_of_results(const Graph& graph, const Node& node);

// Returns the metadata of a dense tensor with the sizes of `meta`, its dimensions in the same
// memory order.
TensorMeta in_memory_of_its_own(TensorMeta meta);

}  // namespace pt2

#endif  // PT2_LOWER_FUNCTIONAL_WRITES_H
