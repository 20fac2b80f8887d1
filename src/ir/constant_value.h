#ifndef PT2_IR_CONSTANT_VALUE_H
#define PT2_IR_CONSTANT_VALUE_H

#include "pt2/graph.h"
#include "pt2/value.h"

namespace pt2 {

// An argument that is no value of the graph. Error `unsupported` for what cannot be computed with.
Result<Value> constant_value(const Argument& argument);

}  // namespace pt2

#endif  // PT2_IR_CONSTANT_VALUE_H
