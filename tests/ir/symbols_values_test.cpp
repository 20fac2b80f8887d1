// Compares spellings and values of expressions with those of sympy
// (tests/scripts/symbol_values.py).
#include <gtest/gtest.h>

#include "ir/recorded_values.h"

namespace pt2 {
namespace {

using test::number;
using test::Recorded;
using test::Recording;
using test::same;

TEST(SymbolsValues, PrintAsSympyPrints) {
  const Recording recording = Recording::read();
  ASSERT_GE(recording.expressions.size(), 500u);
  for (const Recorded& recorded : recording.expressions) {
    ExprPool pool;
    const auto parsed = pool.parse(recorded.srepr);
    ASSERT_TRUE(parsed) << recorded.srepr << ": " << parsed.error().text();
    EXPECT_EQ(print_expr((*parsed)->expr, ExprSpelling::srepr), recorded.srepr);
    // Only sympy's str sorts the arguments of Max and Min.
    const bool sorted = recorded.str.find("Max(") == std::string::npos &&
                        recorded.str.find("Min(") == std::string::npos;
    if (sorted) {
      EXPECT_EQ(print_expr((*parsed)->expr, ExprSpelling::str), recorded.str);
    }
    const auto again = pool.parse(recorded.str);
    ASSERT_TRUE(again) << recorded.str << ": " << again.error().text();
    EXPECT_EQ(print_expr((*again)->expr, ExprSpelling::str), recorded.str);
  }
}

TEST(SymbolsValues, EqualSympys) {
  const Recording recording = Recording::read();
  size_t compared = 0, refused = 0;
  for (const Recorded& recorded : recording.expressions) {
    ExprPool pool;
    const Expr expr = (*pool.parse(recorded.srepr))->expr;
    ASSERT_EQ(recorded.values.size(), recording.assignments.size());
    for (size_t i = 0; i < recorded.values.size(); ++i) {
      const std::string& expected = recorded.values[i];
      if (expected == "?") continue;
      const auto found = evaluate(expr, recording.bindings(pool, i));
      if (expected == "!") {
        EXPECT_FALSE(found) << recorded.str << ", assignment " << i << ": " << print(*found);
        ++refused;
        continue;
      }
      ASSERT_TRUE(found) << recorded.str << ", assignment " << i << ": " << expected << ", "
                         << found.error().text();
      EXPECT_TRUE(same(*found, number(expected))) << recorded.str << ", assignment " << i << ": "
                                                  << print(*found) << ", expected " << expected;
      ++compared;
    }
  }
  EXPECT_GE(compared, 20'000u);
  EXPECT_GE(refused, 100u);
}

TEST(SymbolsValues, EveryFunctionIsRecorded) {
  const Recording recording = Recording::read();
#define PT2_EXPR_FUNCTION(op, name, min_arguments, max_arguments)                       \
  EXPECT_TRUE(std::ranges::any_of(recording.expressions, [](const Recorded& recorded) { \
    return recorded.srepr.find(name "(") != std::string::npos;                          \
  })) << name;
#include "pt2/ir/expr.def"
}

}  // namespace
}  // namespace pt2
