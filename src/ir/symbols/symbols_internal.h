// Shared by the files of symbols: the table of functions and the parser.
#ifndef PT2_IR_SYMBOLS_SYMBOLS_INTERNAL_H
#define PT2_IR_SYMBOLS_SYMBOLS_INTERNAL_H

#include <functional>
#include <iterator>
#include <variant>

#include "pt2/ir/symbols.h"

namespace pt2 {

// The longest name of an input in a guard, in bytes.
inline constexpr size_t kMaxSourceBytes = 4096;

struct ExprFunction {
  ExprOp op;
  std::string_view name;  // sympy's name in srepr
  int min_arguments;
  int max_arguments;  // -1: no maximum
};

// `op` must be a function of expr.def.
const ExprFunction& expr_function(ExprOp op);
// Finds a function by srepr name or alias; null if unknown.
const ExprFunction* find_expr_function(std::string_view name);

// Returns a remark for a text that is not an expression: "; PyTorch evaluates it as Python:
// exit()".
std::string evaluated_text(std::string_view text);

// Prints in str spelling, with the given text for each symbol.
using SymbolText = std::function<std::string(Expr symbol)>;
std::string print_expr(Expr expr, const SymbolText& symbol_text);

// True if `expr` is the integer literal `value`.
inline bool is_integer(Expr expr, int64_t value) {
  return expr->op == ExprOp::integer && expr->number == Number(value);
}

// Returns the operator of the literal that holds the number.
inline ExprOp literal_op(const Number& number) {
  constexpr ExprOp kLiterals[] = {ExprOp::boolean, ExprOp::integer, ExprOp::rational,
                                  ExprOp::floating};
  static_assert(std::size(kLiterals) == std::variant_size_v<Number>);
  return kLiterals[number.index()];
}

Result<Expr> parse_expr(std::string_view text, ExprPool& pool);

}  // namespace pt2

#endif  // PT2_IR_SYMBOLS_SYMBOLS_INTERNAL_H
