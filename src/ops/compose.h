// Operators made of others: each step is a call through the table, so promotion, strides and
// rounding are those of the operator called.
#ifndef PT2_OPS_COMPOSE_H
#define PT2_OPS_COMPOSE_H

#include <initializer_list>

#include "ops/op_def.h"
#include "ops/table.h"

namespace pt2::ops {

// The operator of aten with this overload, which must be there.
Operator known_operator(std::string_view overload);
// The same as a Handle: aten<"mul.Tensor">. A test asks for each that the sources name.
template <SignatureText Overload>
const Operator& aten() {
  static const Operator kOperator =
      known_operator(std::string_view(Overload.text, sizeof(Overload.text) - 1));
  return kOperator;
}

// What functions do that look at elements between the steps, so that they are no formulas.
Result<std::vector<Value>> apply_all(Handle handle, std::initializer_list<Operand> arguments);
Result<Tensor> apply(Handle handle, std::initializer_list<Operand> arguments);

}  // namespace pt2::ops

#endif  // PT2_OPS_COMPOSE_H
