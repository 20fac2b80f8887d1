// Shared by the parts of symbols: the table of functions and the parser.
#pragma once

#include "pt2/symbols.h"

namespace pt2 {

struct ExprFunction {
  ExprOp op;
  std::string_view name;  // as sympy's srepr writes it
  int min_arguments;
  int max_arguments;  // -1: any number
};

// `op` must be a function of expr.def.
const ExprFunction& expr_function(ExprOp op);
// By srepr name or alias; null for unknown functions.
const ExprFunction* find_expr_function(std::string_view name);

Result<Expr> parse_expr(std::string_view text, ExprPool& pool);

}  // namespace pt2
