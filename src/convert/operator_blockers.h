// Operators, functions and sizes that a release does not accept.
#ifndef PT2_CONVERT_OPERATOR_BLOCKERS_H
#define PT2_CONVERT_OPERATOR_BLOCKERS_H

#include <optional>
#include <string_view>

#include "convert/converter.h"

namespace pt2 {

// A constant among a graph's results, and the first release whose reader accepts it there (a number
// beyond all releases if none does). Nothing for results that every release accepts
// (torch/_export/serde/serialize.py, deserialize_graph_output).
struct ConstantResult {
  std::string_view text;  // "a constant bool"
  int first;
};
std::optional<ConstantResult> constant_result(const Argument& output);

// The named tuples that operators such as topk return.
constexpr std::string_view kReturnTypes = "torch.return_types.";

// The part of check_operators that is about the structure of inputs and results.
void check_tree_classes(const Program& program, const Release& release, const AddBlocker& add);
void check_operators(const Program& program, const Release& release, const AddBlocker& add);

}  // namespace pt2

#endif  // PT2_CONVERT_OPERATOR_BLOCKERS_H
