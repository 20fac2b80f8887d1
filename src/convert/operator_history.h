// First and last releases of operators and their arguments.
#ifndef PT2_CONVERT_OPERATOR_HISTORY_H
#define PT2_CONVERT_OPERATOR_HISTORY_H

#include <string_view>

namespace pt2 {

// Releases are numbered as in releases.def; `last` is 0 if the operator or argument still exists.
struct Lifetime {
  int first = 0;
  int last = 0;
  bool includes(int release) const { return release >= first && (last == 0 || release <= last); }
};

// Null for an operator or argument that every release has, or that is unknown. O(log n).
const Lifetime* find_operator_lifetime(std::string_view target);
const Lifetime* find_argument_lifetime(std::string_view target, std::string_view argument);
// The argument's name in `release`, given its name in any other release.
std::string_view argument_name_in(int release, std::string_view target, std::string_view argument);

}  // namespace pt2

#endif  // PT2_CONVERT_OPERATOR_HISTORY_H
