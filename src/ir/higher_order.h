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
    kOwnOperands = 4,       // the graphs do not take the operands one by one
    kSlices = 8,            // the graphs take slices of operands, or return slices of results
    kSetsMode = 16,         // the graph runs unchanged in another mode
  };
  bool has(Trait trait) const { return (traits & trait) != 0; }
};

// Returns the operators sorted by name, without the Python functions.
std::span<const HigherOrderRow> higher_order_operators();
// Null if the target is not such an operator. Accepts "torch.ops.higher_order.cond", and the
// spellings of releases up to 2.4: "torch.ops.cond" and "torch._higher_order_ops.cond.cond".
const HigherOrderRow* find_higher_order_operator(std::string_view target);
// Returns the operands of the node's graphs, the items of lists one by one. They belong to the
// node.
std::vector<const Argument*> operands_of_graphs(const HigherOrderRow& row, const Node& node);
// False if the recorded sizes certainly differ. Symbols are not compared: a nested graph may have
// its own.
bool may_have_same_sizes(const TensorMeta& a, const TensorMeta& b);
// Returns the operator that a higher-order operator names among its arguments; null if it names
// none.
const std::string* called_operator(const Node& node);

}  // namespace pt2

#endif  // PT2_IR_HIGHER_ORDER_H
