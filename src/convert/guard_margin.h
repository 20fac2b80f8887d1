// Writes a guard that joins several comparisons as one comparison: releases up to 2.8 read no
// `and`, `or` or `not` of conditions.
#ifndef PT2_CONVERT_GUARD_MARGIN_H
#define PT2_CONVERT_GUARD_MARGIN_H

#include <functional>
#include <optional>

#include "pt2/ir/symbols.h"

namespace pt2 {

// Replaces a comparison of an integer divided by a power of two by a comparison of the integer. `s0
// / 1024 <= 1.5` becomes s0 <= 1536, whether or not the quotient is rounded. No release before 2.9
// has `/` here.
Expr without_divisions(ExprPool& pool, Expr condition);

// Returns the least value that an expression can have; nothing if that is unknown.
using LeastValue = std::function<std::optional<int64_t>(Expr)>;

// Returns a comparison of integers, margin >= 0, that holds where the condition does. The margin
// tells how far the condition is from failing: for `a >= 1 or b >= 2` it is max(a - 1, b - 2).
// Python skips operands that an `or` does not need, but nodes compute all of them; where Python
// would divide by 0, the new comparison does not hold or fails as well. Nothing if a divisor that
// Python may skip could be negative, or if the margin is many times as long as the condition.
// Linear in the tree.
std::optional<Expr> as_comparison(ExprPool& pool, Expr condition, const LeastValue& least);

}  // namespace pt2

#endif  // PT2_CONVERT_GUARD_MARGIN_H
