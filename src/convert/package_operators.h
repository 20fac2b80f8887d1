// Operators that PyTorch only has after the import of another package.
#ifndef PT2_CONVERT_PACKAGE_OPERATORS_H
#define PT2_CONVERT_PACKAGE_OPERATORS_H

#include <string>
#include <vector>

#include "pt2/ir/program.h"

namespace pt2 {

// Returns each such target once, in alphabetical order. Linear in the nodes.
std::vector<std::string> package_operators(const Program& program);

}  // namespace pt2

#endif  // PT2_CONVERT_PACKAGE_OPERATORS_H
