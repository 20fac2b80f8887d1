// Operators made of others: each step is a call through the table, so promotion, strides and
// rounding are those of the operator called.
#ifndef PT2_OPS_COMPOSE_H
#define PT2_OPS_COMPOSE_H

#include <initializer_list>
#include <string_view>

#include "pt2/value.h"

namespace pt2::ops {

// The results of an aten operator; arguments left out at the end take their defaults.
Result<std::vector<Value>> apply_all(std::string_view overload,
                                     std::initializer_list<Value> arguments);
// The first of them, a tensor: apply("mul.Tensor", {x, 2.0}).
Result<Tensor> apply(std::string_view overload, std::initializer_list<Value> arguments);

}  // namespace pt2::ops

#endif  // PT2_OPS_COMPOSE_H
