// Which operators a program calls, and which of them this build can compute.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/program.h"

namespace pt2 {

// True when this build computes the target: "torch.ops.aten.add.Tensor", "_operator.mul",
// "torch.ops.higher_order.cond". O(log of the table).
bool has_kernel(std::string_view target);
// PyTorch's signature text of the operator behind a target; empty when unknown.
std::string_view signature_text(std::string_view target);
// The targets of every operator of this build, sorted.
std::vector<std::string> all_targets();

// Gives positional arguments without a name, as programs from the early draft have them, the name
// of their parameter where the operator is known: PyTorch's loader binds by name. The others stay.
void name_positional_arguments(Program& program);

// One call of an operator, for people to find it.
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
// Every target of the program and its nested graphs, most called first. Linear in the nodes.
std::vector<OperatorUse> operators_used(const Program& program);

}  // namespace pt2
