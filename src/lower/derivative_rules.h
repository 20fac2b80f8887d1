// Forward derivatives of operators: how the tangent of a result follows from the tangents of the
// operands, as calls of other operators.
#ifndef PT2_LOWER_DERIVATIVE_RULES_H
#define PT2_LOWER_DERIVATIVE_RULES_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/ir/graph.h"
#include "pt2/result.h"

namespace pt2 {

// A value during the rewriting: a graph value or a dual number. Terms stand in arguments in place
// of ValueIds.
using Term = ValueId;
// No term; as a tangent, zero: the value does not depend on the variable.
inline constexpr Term kNoTerm{0};

struct DerivativeCall {
  std::string target{};
  std::vector<NamedArgument> inputs{};
  // A graph value with the type of the result. `typed_as`, `dtype` and `kept_dims` override parts
  // of it.
  ValueId like{};
  // The operand whose type the result has; kNoTerm: the type of `like`.
  Term typed_as = kNoTerm;
  std::optional<Dtype> dtype{};
  // The dimensions in which the result has size 1.
  std::vector<int64_t> kept_dims{};
};

class DerivativeBuilder {
 public:
  virtual ~DerivativeBuilder() = default;
  virtual Result<Term> call(DerivativeCall wanted) = 0;
};

// A call of an operator, the tangents of its arguments at the same places, and its result.
struct Differential {
  const DerivativeCall& primal;
  const std::vector<NamedArgument>& tangents;
  Term result;
};

class DerivativeFormula;
struct DerivativeRule {
  // Builds the tangent of the result; kNoTerm if it is zero.
  Term (*tangent)(DerivativeFormula& formula);
  // The names of the operands that `tangent` reads.
  std::vector<std::string_view> operands{};
  // True if `tangent` is also correct for complex operands.
  bool holds_for_complex = true;
};
Result<Term> tangent_of(DerivativeBuilder& builder, const DerivativeRule& rule,
                        const Differential& differential);
// Returns the call of a linear operator with the tangents in place of the operands of the rule. The
// operator must be linear in all these operands together. It may have several results; no other
// rule supports that. Nothing (nullopt) if no operand has a tangent.
using LinearCall = Result<std::optional<DerivativeCall>>;
LinearCall linear_call(DerivativeBuilder& builder, const DerivativeRule& rule,
                       const Differential& differential);
bool is_linear(const DerivativeRule& rule);
// Null when the target has no rule.
const DerivativeRule* find_derivative_rule(std::string_view target);

}  // namespace pt2

#endif  // PT2_LOWER_DERIVATIVE_RULES_H
