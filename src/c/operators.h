// Custom operators of the C interface.
#ifndef PT2_C_OPERATORS_H
#define PT2_C_OPERATORS_H

#include "c/border.h"
#include "pt2/ops/custom_operators.h"

struct pt2_operators {
  pt2::CustomOperators operators;
};

#endif  // PT2_C_OPERATORS_H
