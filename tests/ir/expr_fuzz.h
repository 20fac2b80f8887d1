// Entry point for fuzzing expressions and guards. Any text is refused or parsed. Printing, parsing
// and printing again must give the same text.
#ifndef PT2_TESTS_IR_EXPR_FUZZ_H
#define PT2_TESTS_IR_EXPR_FUZZ_H

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <span>
#include <string_view>

#include "base/check.h"
#include "pt2/ir/expr_bounds.h"
#include "pt2/ir/expr_rewrite.h"
#include "pt2/ir/guards.h"

namespace pt2::test {

inline bool has_plain_names(const ExprPool& pool) {
  const auto is_plain = [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c));
  };
  for (size_t i = 0; i < pool.symbol_count(); ++i) {
    const std::string name = pool.symbol_name(static_cast<SymbolId>(i));
    const bool digit = name.empty() || std::isdigit(static_cast<unsigned char>(name[0]));
    if (digit || !std::ranges::all_of(name, is_plain)) return false;
  }
  return true;
}

// The srepr spelling keeps everything. A str of an expression that sympy would have simplified,
// such as 2*3, is parsed as something simpler.
inline void check_print_is_stable(const ExprPool& pool, Expr expr) {
  const std::string text = print_expr(expr, ExprSpelling::srepr);
  ExprPool other;
  const auto parsed = other.parse(text);
  // A sign that is printed as a separate factor adds one level of nesting.
  if (!parsed && parsed.error().code == ErrorCode::limit) return;
  PT2_CHECK(parsed.has_value());
  PT2_CHECK(print_expr((*parsed)->expr, ExprSpelling::srepr) == text);
  if (!has_plain_names(pool)) return;
  const auto read = other.parse(print_expr(expr));
  PT2_CHECK(read.has_value() || read.error().code != ErrorCode::malformed);
}

inline void use_expression(ExprPool& pool, Expr expr) {
  SymbolBindings bindings;
  SymbolRanges ranges;
  std::vector<std::pair<SymbolId, Expr>> replacements;
  for (SymbolId symbol : free_symbols(expr)) {
    const auto value = static_cast<int64_t>(symbol) + 2;
    bindings.bind(symbol, value);
    ranges.set(symbol, {value - 1, value + 1});
    replacements.emplace_back(symbol, pool.integer(value));
  }
  (void)evaluate(expr, bindings);
  (void)bounds(expr, ranges);
  (void)decide(pool, expr, ranges);
  (void)simplify(pool, expr);
  (void)substitute(pool, expr, replacements);
}

inline void fuzz_expression(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  ExprPool pool;
  if (const auto parsed = pool.parse(text)) {
    check_print_is_stable(pool, (*parsed)->expr);
    use_expression(pool, (*parsed)->expr);
  }
  if (const auto guard = parse_guard(pool, text)) {
    (void)print(*guard);
    (void)check_guard(*guard, [](const GuardSource& source) { return Number(source.dim + 2); });
    use_expression(pool, guard->expr);
  }
}

}  // namespace pt2::test

#endif  // PT2_TESTS_IR_EXPR_FUZZ_H
