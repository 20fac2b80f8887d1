// A possibly symbolic number of a program, as a known number and as an expression.
#ifndef PT2_IR_SYMBOLS_SYM_INT_H
#define PT2_IR_SYMBOLS_SYM_INT_H

#include <algorithm>
#include <optional>

#include "pt2/ir/symbols.h"

namespace pt2 {

// Returns the number, or the expression's value for the example inputs; nullopt if the file does
// not record that value.
inline std::optional<int64_t> known_number(const SymInt& number) {
  return number.is_symbolic() ? number.hint() : std::optional(number.literal());
}

// Returns a size for estimates: the known number, at least 0, or 1 if it is unknown.
inline uint64_t estimated_size(const SymInt& size) {
  return static_cast<uint64_t>(std::max<int64_t>(known_number(size).value_or(1), 0));
}

inline Expr expression_of(const SymInt& number, ExprPool& pool) {
  return number.is_symbolic() ? number.expr() : pool.integer(number.literal());
}

}  // namespace pt2

#endif  // PT2_IR_SYMBOLS_SYM_INT_H
