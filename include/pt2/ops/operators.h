// Lists the operators that a program calls, and the operators that this build can compute.
#ifndef PT2_OPS_OPERATORS_H
#define PT2_OPS_OPERATORS_H

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/ir/program.h"
#include "pt2/ops/custom_operators.h"

namespace pt2 {

// True if this build or `operators` has a kernel for the target: "torch.ops.aten.add.Tensor",
// "_operator.mul", "torch.ops.higher_order.cond". O(log n) in the table.
bool has_kernel(std::string_view target, const CustomOperators& operators = {});

struct OperatorInfo {
  std::string target;
  std::string signature;  // PyTorch's text; empty for higher-order operators
  enum class Origin : uint8_t { build, higher_order, custom };
  Origin origin = Origin::build;
  // True if a shape rule gives dtypes and sizes of the results without running the operator.
  bool has_rule = false;
};
// Returns every operator that a program may call here, sorted by target. In-place and `_copy`
// variants that are derived from these operators are not listed.
std::vector<OperatorInfo> available_operators(const CustomOperators& operators = {});

// Gives positional arguments without a name the names of their parameters, because PyTorch's loader
// binds by name. Programs from the early draft have such arguments. Arguments of unknown operators
// stay unnamed.
void name_positional_arguments(Program& program);

// One call of an operator, described for people.
struct OperatorCall {
  std::string node;         // "linear_1", the name of the node or of its first result
  std::string source_line;  // "model.py:12", empty if unknown
  std::string module_path;  // "layers.0.attention"
};
struct OperatorUse {
  std::string target;
  bool has_kernel = false;
  std::vector<OperatorCall> calls;
};
// Returns every target that the program and its nested graphs call, the most frequent first. If a
// higher-order operator calls an operator that it takes as an argument, as with_effects does, this
// counts as a use of that operator too. Linear in the nodes.
std::vector<OperatorUse> operators_used(const Program& program,
                                        const CustomOperators& operators = {});

}  // namespace pt2

#endif  // PT2_OPS_OPERATORS_H
