#include "pt2/ir/expr_rewrite.h"

#include <gtest/gtest.h>

#include "ir/recorded_values.h"

namespace pt2 {
namespace {

std::string simplified(std::string_view text) {
  ExprPool pool;
  const auto parsed = pool.parse(text);
  if (!parsed) return parsed.error().text();
  const auto simple = simplify(pool, (*parsed)->expr);
  return simple ? print_expr(*simple) : simple.error().text();
}

TEST(ExprRewrite, SimplifiesAsPyTorchDoes) {
  const std::pair<const char*, const char*> kCases[] = {
      {"2 + 3*4", "14"},
      {"s0 + 0 + s1 - s0", "s1"},
      {"s0 + s0 + 3*s0", "5*s0"},
      {"s0*s1*s0", "s0**2*s1"},
      {"2*(s0 + s1) - 2*s1", "2*s0"},
      {"(s0 + 1) + (s0 + 1)", "2*s0 + 2"},
      {"s0*0 + 1", "1"},
      {"s0**1 + s0**0", "s0 + 1"},
      {"s0/2 + s0/2", "s0"},
      {"((4*s0)//2)", "2*s0"},
      {"((4*s0 + s1)//2)", "2*s0 + (s1//2)"},
      {"((2*s0 + 4*s1)//6)", "((s0 + 2*s1)//3)"},
      {"((u0//2)//3)", "(u0//6)"},
      {"(u0//u0)", "1"},
      {"PythonMod(4*s0 + u0, 4)", "PythonMod(u0, 4)"},
      {"PythonMod(4*s0, 2)", "0"},
      {"Mod(4*s0, 2)", "0"},
      {"Mod(4*s0 + u0, 2)", "Mod(4*s0 + u0, 2)"},
      {"Max(1, Max(s0, 3), s0)", "Max(3, s0)"},
      {"Min(s0, s0)", "s0"},
      {"Where(s0 < s0, 1, s1)", "s1"},
      {"Piecewise((s0, 1 > 2), (s1, True))", "s1"},
      {"(s0 <= s0) & (u0 > 0)", "u0 > 0"},
      {"~(u0 > 0)", "u0 <= 0"},
      {"~(zf0 > 0)", "~(zf0 > 0)"},
      {"zf0 + zf0", "zf0 + zf0"},
      {"TruncToInt(s0)", "s0"},
      {"TruncToInt(IntTrueDiv(s0, 2))", "TruncToInt(IntTrueDiv(s0, 2))"},
      {"Identity(s0 + 1) - 1", "s0"},
      {"s0 + Mul()", "s0 + Mul()"},
      {"1//0 + s0", "(1//0) + s0"},
      {"9223372036854775807*s0 + s0", "9223372036854775807*s0 + s0"},
  };
  for (const auto& [text, expected] : kCases) EXPECT_EQ(simplified(text), expected) << text;
}

TEST(ExprRewrite, SimplerExpressionsHaveTheSameValues) {
  const test::Recording recording = test::Recording::read();
  size_t compared = 0, changed = 0;
  for (const test::Recorded& recorded : recording.expressions) {
    ExprPool pool;
    const Expr expr = (*pool.parse(recorded.srepr))->expr;
    const auto simple = simplify(pool, expr);
    ASSERT_TRUE(simple) << recorded.str;
    changed += *simple != expr ? 1 : 0;
    EXPECT_LE((*simple)->size, expr->size * 2) << recorded.str << ": " << print_expr(*simple);
    for (size_t i = 0; i < recording.assignments.size(); ++i) {
      const SymbolBindings bindings = recording.bindings(pool, i);
      const auto expected = evaluate(expr, bindings);
      if (!expected) continue;
      const auto found = evaluate(*simple, bindings);
      ASSERT_TRUE(found) << recorded.str << " as " << print_expr(*simple) << ": "
                         << found.error().text();
      EXPECT_TRUE(test::same(*found, *expected)) << recorded.str << " as " << print_expr(*simple);
      ++compared;
    }
  }
  EXPECT_GT(compared, 20'000u);
  EXPECT_GT(changed, 50u);
}

TEST(ExprRewrite, SubstitutesAllAtOnce) {
  ExprPool pool;
  const Expr expr = (*pool.parse("s0 + 2*s1 + Max(s0, 1)"))->expr;
  const Expr s0 = pool.symbol("s0"), s1 = pool.symbol("s1");
  const std::pair<SymbolId, Expr> swapped[] = {{s0->symbol, s1}, {s1->symbol, s0}};
  EXPECT_EQ(print_expr(*substitute(pool, expr, swapped)), "s1 + 2*s0 + Max(s1, 1)");
  EXPECT_EQ(*substitute(pool, expr, {}), expr);
}

TEST(ExprRewrite, SubstitutionIsEvaluationOfTheReplacement) {
  const test::Recording recording = test::Recording::read();
  for (const test::Recorded& recorded : recording.expressions) {
    ExprPool pool;
    const Expr expr = (*pool.parse(recorded.srepr))->expr;
    const Expr replacement = (*pool.parse("s1 + 2"))->expr;
    const std::pair<SymbolId, Expr> change[] = {{pool.symbol("s0")->symbol, replacement}};
    const Expr replaced = *substitute(pool, expr, change);
    for (size_t i = 0; i < recording.assignments.size(); i += 5) {
      SymbolBindings bindings = recording.bindings(pool, i);
      const auto found = evaluate(replaced, bindings);
      bindings.bind(change[0].first, *evaluate(replacement, bindings));
      const auto expected = evaluate(expr, bindings);
      ASSERT_EQ(found.has_value(), expected.has_value()) << recorded.str;
      if (!found) continue;
      EXPECT_TRUE(test::same(*found, *expected)) << recorded.str;
    }
  }
}

TEST(ExprRewrite, GrowthIsLimited) {
  ExprPool pool;
  const SymbolId s0 = pool.symbol("s0")->symbol;
  const Expr doubled = (*pool.parse("Max(s0, s0 + s0)"))->expr;
  Expr expr = doubled;
  Result<Expr> next = expr;
  for (int i = 0; i < 300 && next; ++i) {
    const std::pair<SymbolId, Expr> change[] = {{s0, expr}};
    next = substitute(pool, doubled, change);
    if (next) expr = *next;
  }
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, ErrorCode::limit);
  EXPECT_LE(expr->size, ExprPool::kMaxSize);
}

}  // namespace
}  // namespace pt2
