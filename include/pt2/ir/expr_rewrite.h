// New expressions from old ones: replaced symbols, simpler forms.
#ifndef PT2_IR_EXPR_REWRITE_H
#define PT2_IR_EXPR_REWRITE_H

#include <span>
#include <utility>

#include "pt2/ir/symbols.h"

namespace pt2 {

// `expr` with each symbol of `replacements` replaced, all at once. Nothing is computed: simplify
// does. Error limit: the result would be deeper than ExprPool::kMaxDepth or larger than kMaxSize.
// Linear in the nodes.
Result<Expr> substitute(ExprPool& pool, Expr expr,
                        std::span<const std::pair<SymbolId, Expr>> replacements);

// A shorter expression of the same value: constants folded; sums and products flattened, equal
// terms and factors collected (as sympy does on construction); the rules of FloorDiv, PythonMod,
// Max, Min, Where, Piecewise and relations (torch/utils/_sympy/functions.py) where they are exact
// for every integer. Float arithmetic is left alone. Wherever `expr` has a value, the result has
// the same, except that different intermediate numbers may overflow int64. Terms keep the order of
// their first appearance. Error limit, as above. Linear in the nodes, if few of them share a sum.
Result<Expr> simplify(ExprPool& pool, Expr expr);

}  // namespace pt2

#endif  // PT2_IR_EXPR_REWRITE_H
