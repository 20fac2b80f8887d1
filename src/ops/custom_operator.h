// A registered operator: its own copy of the signature, and its kernel.
#ifndef PT2_OPS_CUSTOM_OPERATOR_H
#define PT2_OPS_CUSTOM_OPERATOR_H

#include "ops/forms/owned_signature.h"
#include "ops/table.h"
#include "pt2/ops/custom_operators.h"

namespace pt2::ops {

struct CustomOperator : OwnedSignature {
  using OwnedSignature::OwnedSignature;
  OpDef def;  // has no functions: call_custom runs `kernel`
  CustomOperators::Kernel kernel;
};

// A registered operator, else an operator of libpt2; null if there is neither.
Operator find_operator(const CustomOperators& operators, std::string_view target);

// Runs the kernel on bound arguments and checks its results against the signature. Error `argument`
// if their number or types differ from those declared.
Result<std::vector<Value>> call_custom(const CustomOperator& op, std::span<const Value> arguments);

}  // namespace pt2::ops

#endif  // PT2_OPS_CUSTOM_OPERATOR_H
