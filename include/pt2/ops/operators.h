// Which operators a program calls, and which of them this build can compute.
#ifndef PT2_OPS_OPERATORS_H
#define PT2_OPS_OPERATORS_H

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/ir/program.h"
#include "pt2/ops/custom_operators.h"

namespace pt2 {

// True when this build computes the target: "torch.ops.aten.add.Tensor", "_operator.mul",
// "torch.ops.higher_order.cond". O(log of the table).
bool has_kernel(std::string_view target, const CustomOperators& operators = {});

struct OperatorInfo {
  std::string target;
  std::string signature;  // PyTorch's text; empty for higher-order operators
  enum class Origin : uint8_t { build, higher_order, custom };
  Origin origin = Origin::build;
  // A rule gives dtypes and sizes of the results without running it.
  bool has_rule = false;
};
// Every operator that a program may call here, sorted by its target. In-place and `_copy` forms
// that follow from these are not listed.
std::vector<OperatorInfo> available_operators(const CustomOperators& operators = {});

// Names the positional arguments that have no name, as in programs from the early draft, after
// their parameters: PyTorch's loader binds by name. Arguments of unknown operators stay unnamed.
void name_positional_arguments(Program& program);

// One call of an operator, described for people.
struct OperatorCall {
  std::string node;         // "linear_1", the node's name or its first result's
  std::string source_line;  // "model.py:12", empty when unknown
  std::string module_path;  // "layers.0.attention"
};
struct OperatorUse {
  std::string target;
  bool has_kernel = false;
  std::vector<OperatorCall> calls;
};
// Every target of the program and its nested graphs, most called first. Where a higher-order
// operator names another one to call, as with_effects does, that is a use as well. Linear in the
// nodes.
std::vector<OperatorUse> operators_used(const Program& program,
                                        const CustomOperators& operators = {});

}  // namespace pt2

#endif  // PT2_OPS_OPERATORS_H
