// A possibly symbolic number of a program, as a known number and as an expression.
#ifndef PT2_IR_SYMBOLS_SYM_INT_H
#define PT2_IR_SYMBOLS_SYM_INT_H

#include <optional>

#include "pt2/ir/symbols.h"

namespace pt2 {

// Returns the number, or the expression's value for the example inputs; nullopt if the file does
// not record that value.
inline std::optional<int64_t> known_number(const SymInt& number) {
  return number.is_symbolic() ? number.hint() : std::optional(number.literal());
}

inline Expr expression_of(const SymInt& number, ExprPool& pool) {
  return number.is_symbolic() ? number.expr() : pool.integer(number.literal());
}

}  // namespace pt2

#endif  // PT2_IR_SYMBOLS_SYM_INT_H
