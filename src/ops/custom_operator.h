// A registered operator: its signature, which it owns, and its kernel.
#ifndef PT2_OPS_CUSTOM_OPERATOR_H
#define PT2_OPS_CUSTOM_OPERATOR_H

#include "ops/forms/owned_signature.h"
#include "ops/table.h"
#include "pt2/custom_operators.h"

namespace pt2::ops {

struct CustomOperator : OwnedSignature {
  using OwnedSignature::OwnedSignature;
  OpDef def;  // no functions: call_custom calls the kernel
  CustomOperators::Kernel kernel;
};

// A registered operator, or else one of the build; null when there is neither.
Operator find_operator(const CustomOperators& operators, std::string_view target);

// Runs the kernel on bound arguments and holds it to its signature. Error `argument` when it
// returns another number of values, or another kind, than it declares.
Result<std::vector<Value>> call_custom(const CustomOperator& op, std::span<const Value> arguments);

}  // namespace pt2::ops

#endif  // PT2_OPS_CUSTOM_OPERATOR_H
