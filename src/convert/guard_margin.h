// Guards that join several comparisons, as one: releases up to 2.8 read no `and`, `or` or `not` of
// conditions.
#ifndef PT2_CONVERT_GUARD_MARGIN_H
#define PT2_CONVERT_GUARD_MARGIN_H

#include <functional>
#include <optional>

#include "pt2/ir/symbols.h"

namespace pt2 {

// The condition with comparisons of a whole number divided by a power of two as comparisons of that
// number: `s0 / 1024 <= 1.5` is s0 <= 1536, rounded or not. No release before 2.9 has `/` here.
Expr without_divisions(ExprPool& pool, Expr condition);

// The least value that an expression can have, as far as it is known.
using LeastValue = std::function<std::optional<int64_t>(Expr)>;

// A comparison that holds where the condition does, of a number that the comparisons in it are away
// from failing: `a >= 1 or b >= 2` is max(a - 1, b - 2) >= 0. Comparisons are of integers. Python
// leaves out what an `or` no longer needs, and nodes compute all of it; where Python would divide
// by 0 the comparison does not hold or fails as well. Nothing where a divisor that Python may leave
// out could be negative, or the number is many times as long as the condition. Linear in the tree.
std::optional<Expr> as_comparison(ExprPool& pool, Expr condition, const LeastValue& least);

}  // namespace pt2

#endif  // PT2_CONVERT_GUARD_MARGIN_H
