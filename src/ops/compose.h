// Operators composed of others: each step is a call through the table, so promotion, strides and
// rounding are those of the called operator.
#ifndef PT2_OPS_COMPOSE_H
#define PT2_OPS_COMPOSE_H

#include <initializer_list>

#include "ops/op_def.h"
#include "ops/table.h"

namespace pt2::ops {

// The aten operator with this overload name, which must exist.
Operator known_operator(std::string_view overload);
// known_operator() as a Handle: aten<"mul.Tensor">. A test checks that each overload named in the
// sources exists.
template <SignatureText Overload>
const Operator& aten() {
  static const Operator kOperator =
      known_operator(std::string_view(Overload.text, sizeof(Overload.text) - 1));
  return kOperator;
}

// Runs an operator immediately. For functions that read elements between steps and therefore cannot
// be formulas.
Result<std::vector<Value>> apply_all(Handle handle, std::initializer_list<Operand> arguments);
Result<Tensor> apply(Handle handle, std::initializer_list<Operand> arguments);

}  // namespace pt2::ops

#endif  // PT2_OPS_COMPOSE_H
