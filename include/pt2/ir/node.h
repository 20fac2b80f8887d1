// Nodes: calls of operators. Functions here read the metadata of a node about its Python source.
#ifndef PT2_IR_NODE_H
#define PT2_IR_NODE_H

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pt2/ir/argument.h"
#include "pt2/result.h"

namespace pt2 {

using Metadata = std::vector<std::pair<std::string, std::string>>;  // in the file's order
// Returns the value of `key`; null if there is none.
const std::string* find_metadata(const Metadata& metadata, std::string_view key);

struct Node {
  std::string
      target;  // "torch.ops.aten.add.Tensor", "_operator.mul", "torch.ops.higher_order.cond"
  std::vector<NamedArgument> inputs{};
  std::vector<Argument> outputs{};  // the values that it defines; None for absent results
  Metadata metadata{};
  // For higher-order operators with one output: true if the result is the bare value, false if it
  // is a tuple of one.
  std::optional<bool> is_hop_single_tensor_return{};
  std::optional<std::string> name{};  // the FX node's name, since schema 8.16
  schema::TraceHolder spelling{};

  // Returns the argument with this name; null if there is none.
  const Argument* find_input(std::string_view argument_name) const;
};

// One level of the module stack of a node: the call's key, the module's path ("" is the root) and
// its class.
struct ModuleStackEntry {
  std::string key{};
  std::string path{};
  std::string type{};
};
// Returns the stack_trace of the metadata; empty if there is none.
std::string_view stack_trace(const Node& node);
// Returns the innermost line of the stack trace, "model.py:12"; empty if unknown.
std::string source_line(const Node& node);
// Returns the nn_module_stack, outermost module first; empty if the node has none
// (torch/_export/serde/serialize.py, import_nn_module_stack). The format has no escapes. Error
// `malformed` if an entry does not have three parts.
Result<std::vector<ModuleStackEntry>> module_stack(const Node& node);
// Returns the path of the innermost module, "layers.0.attention"; empty for the root or if unknown.
std::string module_path(const Node& node);

}  // namespace pt2

#endif  // PT2_IR_NODE_H
