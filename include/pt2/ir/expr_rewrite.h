// Rewrites symbolic expressions: substitution of symbols, and simplification.
#ifndef PT2_IR_EXPR_REWRITE_H
#define PT2_IR_EXPR_REWRITE_H

#include <span>
#include <utility>

#include "pt2/ir/symbols.h"

namespace pt2 {

// Returns `expr` with all symbols of `replacements` replaced at once. Does not simplify the result;
// use simplify. Error `limit` if the result would be deeper than ExprPool::kMaxDepth or larger than
// kMaxSize. Linear in the nodes.
Result<Expr> substitute(ExprPool& pool, Expr expr,
                        std::span<const std::pair<SymbolId, Expr>> replacements);

// Returns a shorter expression with the same value. It folds constants, flattens sums and products,
// collects equal terms and factors (as sympy does on construction), and applies the rules of
// FloorDiv, PythonMod, Max, Min, Where, Piecewise and relations (torch/utils/_sympy/functions.py)
// that are exact for every integer. It does not change float arithmetic. If `expr` has a value, the
// result has the same value, except that different intermediate numbers may overflow int64. Terms
// keep the order of their first appearance. Error `limit` as above. Linear in the nodes, if few of
// them share a sum.
Result<Expr> simplify(ExprPool& pool, Expr expr);

}  // namespace pt2

#endif  // PT2_IR_EXPR_REWRITE_H
