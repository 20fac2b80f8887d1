// Guards that join several comparisons, as one: releases up to 2.8 read no `and`, `or` or `not` of
// conditions.
#ifndef PT2_CONVERT_GUARD_MARGIN_H
#define PT2_CONVERT_GUARD_MARGIN_H

#include <functional>
#include <optional>

#include "pt2/ir/symbols.h"

namespace pt2 {

// A comparison that holds where the condition does, of a number that the comparisons in it are away
// from failing: `a >= 1 or b >= 2` is max(a - 1, b - 2) >= 0. Comparisons are of integers. Python
// leaves out what an `or` no longer needs, and nodes compute all of it: nothing is returned where
// that could divide by 0, as far as `is_positive` knows. Linear in the tree.
std::optional<Expr> as_comparison(ExprPool& pool, Expr condition,
                                  const std::function<bool(Expr)>& is_positive);

}  // namespace pt2

#endif  // PT2_CONVERT_GUARD_MARGIN_H
