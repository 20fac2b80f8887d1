// One call of an operator, and what its metadata says about the Python it comes from.
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
// The value of `key`, null when there is none.
const std::string* find_metadata(const Metadata& metadata, std::string_view key);

struct Node {
  std::string
      target;  // "torch.ops.aten.add.Tensor", "_operator.mul", "torch.ops.higher_order.cond"
  std::vector<NamedArgument> inputs{};
  std::vector<Argument> outputs{};  // the values it defines; None for results that are not there
  Metadata metadata{};
  // Of higher-order operators: one output means a bare value (true) or a tuple of one (false).
  std::optional<bool> is_hop_single_tensor_return{};
  std::optional<std::string> name{};  // the FX node's name, since schema 8.16
  schema::TraceHolder spelling{};

  // By argument name; null when absent.
  const Argument* find_input(std::string_view argument_name) const;
};

// One level of the module stack of a node: the call's key, the module's path ("" is the root) and
// its class.
struct ModuleStackEntry {
  std::string key{};
  std::string path{};
  std::string type{};
};
// The text of metadata's stack_trace, empty when there is none.
std::string_view stack_trace(const Node& node);
// The innermost line of the stack trace, "model.py:12"; empty when unknown.
std::string source_line(const Node& node);
// nn_module_stack, outermost first (torch/_export/serde/serialize.py, import_nn_module_stack). The
// format has no escapes; `malformed` when an entry has not three parts. Empty when the node has
// none.
Result<std::vector<ModuleStackEntry>> module_stack(const Node& node);
// The path of the innermost module, "layers.0.attention"; empty for the root or when unknown.
std::string module_path(const Node& node);

}  // namespace pt2

#endif  // PT2_IR_NODE_H
