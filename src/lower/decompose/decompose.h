// Operators that are made of others, written out as these.
#ifndef PT2_LOWER_DECOMPOSE_DECOMPOSE_H
#define PT2_LOWER_DECOMPOSE_DECOMPOSE_H

#include <set>
#include <string>

#include "lower/pass.h"
#include "ops/table.h"

namespace pt2 {

// What may be left of a program.
struct OperatorSet {
  // All that PyTorch does not make of others: core ATen, and what lies outside of it.
  bool core = true;
  // Besides, or instead: targets, "torch.ops.aten.linear.default".
  std::set<std::string, std::less<>> targets{};

  bool has(std::string_view target, const ops::Operator& op) const;
};

// "core", and operators as "aten.linear", "aten.linear.default" or whole targets. Error `argument`
// for a name that no operator here has.
Result<OperatorSet> operator_set(std::span<const std::string> names);

// Writes out every operator that is not in the set. Those for which it cannot be done stay, each
// with a failure.
PassResult decompose_to(const OperatorSet& set, Program& program, Pipeline& pipeline);

}  // namespace pt2

#endif  // PT2_LOWER_DECOMPOSE_DECOMPOSE_H
