// What higher-order operators do with their arguments, by the rows of higher_order.def.
#ifndef PT2_IR_HIGHER_ORDER_H
#define PT2_IR_HIGHER_ORDER_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pt2/ir/graph.h"

namespace pt2 {

struct HigherOrderRow {
  std::string_view name;  // "cond"; the whole target where it is a Python function
  uint8_t first_graph = 0;
  uint8_t graph_count = 0;    // 0: no graphs, or positions unknown here
  uint8_t first_operand = 0;  // of what its graphs, or the operator that it calls, take
  int8_t callee = -1;         // the position of the argument that names an operator to call
  uint8_t traits = 0;

  enum Trait : uint8_t {
    kFirstIsCondition = 1,  // its first graph gives a truth value: a loop
    kCopiesArguments = 2,   // the operator called writes to copies, not to the arguments
    kOwnOperands = 4,       // its graphs do not take the operands one by one
    kSlices = 8,            // its graphs take slices of operands, or give slices of results
    kSetsMode = 16,         // its graph is run as it is, in another mode
  };
  bool has(Trait trait) const { return (traits & trait) != 0; }
};

// The operators by name, without the Python functions.
std::span<const HigherOrderRow> higher_order_operators();
// Null when the target is no such operator. Accepts "torch.ops.higher_order.cond", and the
// spellings of releases up to 2.4: "torch.ops.cond" and "torch._higher_order_ops.cond.cond".
const HigherOrderRow* find_higher_order_operator(std::string_view target);
// The operator that a higher-order operator names among its arguments; null when it names none.
const std::string* called_operator(const Node& node);

}  // namespace pt2

#endif  // PT2_IR_HIGHER_ORDER_H
