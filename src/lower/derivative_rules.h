// The forward derivatives of operators: how the tangent of a result follows from the tangents of
// the operands, as calls of other operators.
#ifndef PT2_LOWER_DERIVATIVE_RULES_H
#define PT2_LOWER_DERIVATIVE_RULES_H

#include <string>
#include <string_view>
#include <vector>

#include "pt2/graph.h"
#include "pt2/result.h"

namespace pt2 {

// A value during the rewriting: one of the graph, or a dual number. It stands in arguments where a
// ValueId would.
using Term = ValueId;
// Also the tangent of what does not depend on the variable: zero.
inline constexpr Term kNoTerm{0};

struct DerivativeCall {
  std::string target{};
  std::vector<NamedArgument> inputs{};
  // A value of the graph with the result's type, more or less.
  ValueId like{};
};

class DerivativeBuilder {
 public:
  virtual ~DerivativeBuilder() = default;
  virtual Result<Term> call(DerivativeCall wanted) = 0;
};

// What an operator was called with, the tangents of that at the same places, and what it gave.
struct Differential {
  const DerivativeCall& primal;
  const std::vector<NamedArgument>& tangents;
  Term result;
};

struct DerivativeRule;
using TangentFunction = Result<Term> (*)(DerivativeBuilder& builder, const DerivativeRule& rule,
                                         const Differential& differential);
struct DerivativeRule {
  TangentFunction tangent;
  // Names of the operands that `tangent` speaks of.
  std::vector<std::string_view> operands{};
};
// Null when there is none.
const DerivativeRule* find_derivative_rule(std::string_view target);

}  // namespace pt2

#endif  // PT2_LOWER_DERIVATIVE_RULES_H
