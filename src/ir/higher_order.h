// How higher-order operators use their arguments, from the rows of higher_order.def.
#ifndef PT2_IR_HIGHER_ORDER_H
#define PT2_IR_HIGHER_ORDER_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/ir/graph.h"

namespace pt2 {

struct HigherOrderRow {
  std::string_view name;  // "cond"; the whole target for a Python function
  uint8_t first_graph = 0;
  uint8_t graph_count = 0;    // 0: no graphs, or unknown positions
  uint8_t first_operand = 0;  // first operand of the graphs or of the called operator
  int8_t callee = -1;         // position of the argument that names an operator to call
  uint8_t traits = 0;

  enum Trait : uint8_t {
    kFirstIsCondition = 1,  // the first graph returns a truth value: a loop
    kCopiesArguments = 2,   // the called operator writes to copies, not to the arguments
    kPairs = 4,             // the graph combines two slices of each tensor that it goes over
    kSlices = 8,            // the graphs take slices of operands, or return slices of results
    kSetsMode = 16,         // the graph runs unchanged in another mode
    kCarries = 32,          // the first operands are carried from slice to slice, not sliced
  };
  bool has(Trait trait) const { return (traits & trait) != 0; }
};

// Returns the operators sorted by name, without the Python functions.
std::span<const HigherOrderRow> higher_order_operators();
// Null if the target is not such an operator. Accepts "torch.ops.higher_order.cond", and the
// spellings of releases up to 2.4: "torch.ops.cond" and "torch._higher_order_ops.cond.cond".
const HigherOrderRow* find_higher_order_operator(std::string_view target);
struct GraphOperand {
  const Argument* argument = nullptr;  // belongs to the node
  bool in_list = false;
  std::optional<int64_t> sliced_along{};  // the dimension, if the graphs take slices
};
// Returns the operands of the node's graphs in the graphs' order, the items of lists one by one.
std::vector<GraphOperand> operands_of_graphs(const HigherOrderRow& row, const Node& node);
// Returns the dimension along which result `index` of the node stacks the graph's results; nothing
// if the graph returns the result itself.
std::optional<int64_t> stacked_along(const HigherOrderRow& row, const Node& node, size_t index);
// False if the recorded sizes certainly differ from those of `whole`, or of a slice of it. Symbols
// are not compared: a nested graph may have its own.
bool may_have_sizes_of(const TensorMeta& part, const TensorMeta& whole,
                       std::optional<int64_t> sliced_along = std::nullopt);
// Returns the operator that a higher-order operator names among its arguments; null if it names
// none.
const std::string* called_operator(const Node& node);
// For nodes that call a method of a script object: call_torchbind(object, name, *arguments) and
// with_effects(token, call_torchbind, object, name, *arguments). Nothing for others.
// called_object: the position of the object among the node's inputs; the name follows.
// called_method: "__torch__.torch.classes.mine.Table.get"; nothing if the graph has no class.
std::optional<size_t> called_object(const Node& node);
std::optional<std::string> called_method(const Graph& graph, const Node& node);

}  // namespace pt2

#endif  // PT2_IR_HIGHER_ORDER_H
