// Calls written by hand, of rows whose recorded calls fail and whose arguments chance does not
// find.
#ifndef PT2_TESTS_OPS_LISTED_CALLS_H
#define PT2_TESTS_OPS_LISTED_CALLS_H

#include <string>
#include <vector>

#include "pt2/value.h"

namespace pt2::ops {

// The leading arguments of each call; the others have their defaults.
std::vector<std::vector<Value>> listed_calls(const std::string& target);

}  // namespace pt2::ops

#endif  // PT2_TESTS_OPS_LISTED_CALLS_H
