// The bounds of an expression whose symbols stay in their ranges: interval arithmetic after
// torch/utils/_sympy/value_ranges.py, for rules that hold for every size.
#ifndef PT2_IR_EXPR_BOUNDS_H
#define PT2_IR_EXPR_BOUNDS_H

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "pt2/ir/symbols.h"

namespace pt2 {

struct RangeConstraint;

// The ranges of symbols. A symbol without one may be any number of its kind.
class SymbolRanges {
 public:
  SymbolRanges() = default;
  // Those of Program::range_constraints whose key is a symbol.
  explicit SymbolRanges(std::span<const RangeConstraint> constraints);
  void set(SymbolId symbol, SymRange range);
  SymRange find(SymbolId symbol) const;

 private:
  std::vector<SymRange> ranges_;
};

// Inclusive; an infinite double where there is no bound. Conditions have booleans: [false, true] is
// unknown.
struct ValueRange {
  Number min = -std::numeric_limits<double>::infinity();
  Number max = std::numeric_limits<double>::infinity();
  bool operator==(const ValueRange&) const = default;
};

// Encloses every value that `expr` has, NaN apart, under an assignment within `ranges`; not always
// tight. Exact for integers and fractions, rounded outwards for floats. Linear in the tree.
ValueRange bounds(Expr expr, const SymbolRanges& ranges);
// The same in integers.
SymRange integer_bounds(Expr expr, const SymbolRanges& ranges);
// "[2, oo]".
std::string print(const ValueRange& range);

// Whether a condition holds under every assignment (true), under none (false), or neither is known.
// A relation of integers is also decided by the simplified difference of its sides, e.g. s0 + 1 >
// s0.
std::optional<bool> decide(ExprPool& pool, Expr condition, const SymbolRanges& ranges);

}  // namespace pt2

#endif  // PT2_IR_EXPR_BOUNDS_H
