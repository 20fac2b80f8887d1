// The kind of number that an expression evaluates to, as far as its nodes tell.
#ifndef PT2_IR_SYMBOLS_EXPR_KIND_H
#define PT2_IR_SYMBOLS_EXPR_KIND_H

#include <unordered_map>

#include "pt2/ir/symbols.h"

namespace pt2 {

// Each kind contains the kinds before it; real means a float, or unknown.
enum class NumberKind : uint8_t { boolean, integer, rational, real };

// Caches its answers, so asking for all nodes of an expression costs linear time.
class NumberKinds {
 public:
  NumberKind of(Expr expr);
  bool is_integer(Expr expr) { return of(expr) <= NumberKind::integer; }
  // True if no float is involved, so that the laws of arithmetic hold.
  bool is_exact(Expr expr) { return of(expr) <= NumberKind::rational; }

 private:
  NumberKind compute(Expr expr);
  NumberKind widest(std::span<const Expr> args, NumberKind least);

  std::unordered_map<const ExprNode*, NumberKind> known_;
};

// The kind of a symbol: integer if its assumptions contain "integer=True"; else by PyTorch's
// prefixes (torch/utils/_sympy/symbol.py: s, u and the older i; zf and zuf are floats).
NumberKind symbol_kind(Expr symbol);

// True if the expression consists only of sums and products of integers and symbols.
bool is_polynomial(Expr expr);

}  // namespace pt2

#endif  // PT2_IR_SYMBOLS_EXPR_KIND_H
