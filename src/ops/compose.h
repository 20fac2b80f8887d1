// Operators made of others: each step is a call through the table, so promotion, strides and
// rounding are those of the operator called.
#pragma once

#include <initializer_list>
#include <string_view>

#include "pt2/value.h"

namespace pt2::ops {

// The first result, a tensor, of an aten operator, e.g. apply("mul.Tensor", {x, 2.0}). Arguments
// left out at the end take their defaults.
Result<Tensor> apply(std::string_view overload, std::initializer_list<Value> arguments);

}  // namespace pt2::ops
