// Calls written by hand, for rows whose recorded calls fail and for which random arguments hardly
// ever succeed.
#ifndef PT2_TESTS_OPS_LISTED_CALLS_H
#define PT2_TESTS_OPS_LISTED_CALLS_H

#include <string>
#include <string_view>
#include <vector>

#include "pt2/result.h"
#include "pt2/value.h"

namespace pt2::ops {

// An argument that is a list of integers.
Value ints(const Sizes& numbers);
// Returns a tensor of 1, 2, 3, …
Tensor counted(const Sizes& sizes, Dtype dtype = Dtype::float32);

// Returns the leading arguments of each call. The remaining arguments have their defaults.
std::vector<std::vector<Value>> listed_calls(const std::string& target);

// Runs an operator with its leading arguments, coerced to its parameters. The remaining ones have
// their defaults.
Result<std::vector<Value>> run(std::string_view target, const std::vector<Value>& arguments);

}  // namespace pt2::ops

#endif  // PT2_TESTS_OPS_LISTED_CALLS_H
