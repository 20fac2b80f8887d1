// Which nodes write to their arguments, and the operators that compute what those write.
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
    in_place,  // its one result is the argument that it writes to
    updates,   // the last results of `target` are what the arguments called `written` become
    unknown,   // it writes, and `text` says why nothing else does the same
  };
  Form form = Form::none;
  std::string target{};                // the operator that computes what is written
  size_t input = 0;                    // in_place: of the node, the tensor that is written to
  std::vector<std::string> written{};  // updates: tensors or lists of tensors
  // Of arguments that are called otherwise there.
  std::map<std::string, std::string, std::less<>> names{};
  std::string text{};
};
// `op` is that of the node's target, an overload. Linear in the node.
Write write_of(const Graph& graph, const Node& node, const ops::Operator& op);

// The dtypes of a node's results by its operator's shape rule, which sizes have no part in, lists
// item by item; nothing where there is no rule or the rule refuses the arguments. Linear in the
// node.
std::optional<std::vector<Dtype>> dtypes_of_results(const Graph& graph, const Node& node);

// What the file would say of a result as large as `meta`: dense, in the same order of dimensions.
TensorMeta in_memory_of_its_own(TensorMeta meta);

}  // namespace pt2

#endif  // PT2_LOWER_FUNCTIONAL_WRITES_H
