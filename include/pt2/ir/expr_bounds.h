// Computes bounds of expressions from the ranges of their symbols. Interval arithmetic after
// torch/utils/_sympy/value_ranges.py. Used for rules that must hold for every size.
#ifndef PT2_IR_EXPR_BOUNDS_H
#define PT2_IR_EXPR_BOUNDS_H

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "pt2/ir/symbols.h"

namespace pt2 {

struct RangeConstraint;

// The ranges of symbols. A symbol without a range may have any number of its kind.
class SymbolRanges {
 public:
  SymbolRanges() = default;
  // Takes the ranges of Program::range_constraints whose key is a symbol.
  explicit SymbolRanges(std::span<const RangeConstraint> constraints);
  void set(SymbolId symbol, SymRange range);
  SymRange find(SymbolId symbol) const;

 private:
  std::vector<SymRange> ranges_;
};

// Inclusive bounds. An infinite double means no bound. Bounds of a condition are booleans; [false,
// true] means unknown.
struct ValueRange {
  Number min = -std::numeric_limits<double>::infinity();
  Number max = std::numeric_limits<double>::infinity();
  bool operator==(const ValueRange&) const = default;
};

// Returns bounds that enclose every value of `expr`, except NaN, for all assignments within
// `ranges`. The bounds may not be tight. Arithmetic is exact for integers and fractions, and
// rounded outwards for floats. Linear in the tree.
ValueRange bounds(Expr expr, const SymbolRanges& ranges);
// As bounds, in integers.
SymRange integer_bounds(Expr expr, const SymbolRanges& ranges);
// Returns the range as text, "[2, oo]".
std::string print(const ValueRange& range);

// Returns true if a condition holds for every assignment, false if it holds for none, nothing if
// neither is known. For a relation of integers it also tries the simplified difference of both
// sides, e.g. s0 + 1 > s0.
std::optional<bool> decide(ExprPool& pool, Expr condition, const SymbolRanges& ranges);

}  // namespace pt2

#endif  // PT2_IR_EXPR_BOUNDS_H
