#ifndef PT2_IR_VALUES_CONSTANT_VALUE_H
#define PT2_IR_VALUES_CONSTANT_VALUE_H

#include "pt2/ir/graph.h"
#include "pt2/value.h"

namespace pt2 {

// Returns the value of an argument that does not refer to a value of the graph. Error `unsupported`
// for an argument without a runtime value.
Result<Value> constant_value(const Argument& argument);

}  // namespace pt2

#endif  // PT2_IR_VALUES_CONSTANT_VALUE_H
