// Decomposes operators that PyTorch composes from other operators.
#ifndef PT2_LOWER_DECOMPOSE_DECOMPOSE_H
#define PT2_LOWER_DECOMPOSE_DECOMPOSE_H

#include <set>
#include <string>
#include <vector>

#include "lower/pass.h"
#include "ops/table.h"

namespace pt2 {

// The operators that decomposition may leave in a program.
struct OperatorSet {
  // Core ATen and the operators outside of ATen, which PyTorch does not decompose.
  bool core = true;
  // Further targets, such as "torch.ops.aten.linear.default". If `core` is false, the only ATen
  // targets.
  std::set<std::string, std::less<>> targets{};
  // If not empty: all operators except these, and the other members are ignored.
  std::set<std::string, std::less<>> all_but{};

  bool has(std::string_view target, const ops::Operator& op) const;
};

// Accepts "core", and operators as "aten.linear", "aten.linear.default" or full targets. Error
// `argument` for a name that matches no operator of the table.
Result<OperatorSet> operator_set(std::span<const std::string> names);

// Returns assignments of the program's symbols to trace formulas under. The first holds the sizes
// of the exported example.
std::vector<SymbolBindings> symbol_choices(const Program& program);

// Decomposes every operator that is not in the set. An operator that cannot be decomposed stays and
// adds a failure.
PassResult decompose_to(const OperatorSet& set, Program& program, Pipeline& pipeline);

}  // namespace pt2

#endif  // PT2_LOWER_DECOMPOSE_DECOMPOSE_H
