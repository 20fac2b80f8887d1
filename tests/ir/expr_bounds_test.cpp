#include "pt2/ir/expr_bounds.h"

#include <gtest/gtest.h>

#include "ir/recorded_values.h"

namespace pt2 {
namespace {

// Returns the ranges s0 in [2, 10], s1 in [1, oo] and u0 in [-3, 5]. u1 and zf0 are unbounded.
SymbolRanges ranges_of(ExprPool& pool) {
  SymbolRanges ranges;
  ranges.set(pool.symbol("s0")->symbol, {2, 10});
  ranges.set(pool.symbol("s1")->symbol, {1, std::nullopt});
  ranges.set(pool.symbol("u0")->symbol, {-3, 5});
  return ranges;
}

TEST(ExprBounds, OfIntegersAreTight) {
  const std::pair<const char*, const char*> kCases[] = {
      {"s0 + 1", "[3, 11]"},
      {"2*s0 - u0", "[-1, 23]"},
      {"s0*s1", "[2, oo]"},
      {"-s1", "[-oo, -1]"},
      {"u0**2", "[0, 25]"},
      {"u0**3", "[-27, 125]"},
      {"s0/4", "[1/2, 5/2]"},
      {"(s0//3)", "[0, 3]"},
      {"(u0//2)", "[-2, 2]"},
      {"(s0//s1)", "[0, 10]"},
      {"(u0//s1)", "[-3, 5]"},
      {"(1//u0)", "[-1, 1]"},
      {"Mod(s1, 4)", "[0, 3]"},
      {"Mod(s0, 100)", "[2, 10]"},
      {"PythonMod(u1, 4)", "[0, 3]"},
      {"PythonMod(u1, -4)", "[-3, 0]"},
      {"ModularIndexing(s1, 2, 8)", "[0, 7]"},
      {"Max(4, s0)", "[4, 10]"},
      {"Min(4, u0)", "[-3, 4]"},
      {"Abs(u0)", "[0, 5]"},
      {"Where(u0 > 5, 100, s0)", "[2, 10]"},
      {"Piecewise((s0, u0 > 0), (50, True))", "[2, 50]"},
      {"PowByNatural(2, s0)", "[4, 1024]"},
      {"s0 > 1", "[True, True]"},
      {"s0 >= 2", "[True, True]"},
      {"s0 < 2", "[False, False]"},
      {"Eq(s0, 11)", "[False, False]"},
      {"Ne(s0, 11)", "[True, True]"},
      {"(s0 > 1) & (u0 > 5)", "[False, False]"},
      {"(s0 > 1) | (u1 > 5)", "[True, True]"},
      {"~(u0 > 0)", "[False, True]"},
      {"~Martian(u0)", "[False, True]"},
      {"BitwiseFn_bitwise_and(s0, u1)", "[0, 10]"},
      {"BitwiseFn_bitwise_or(s0, 3)", "[3, 15]"},
      {"IsNonOverlappingAndDenseIndicator(s0, 1)", "[0, 1]"},
      {"9223372036854775807 + s0", "[oo, oo]"},
      {"u1", "[-oo, oo]"},
      {"Martian(s0)", "[-oo, oo]"},
  };
  for (const auto& [text, expected] : kCases) {
    ExprPool pool;
    const SymbolRanges ranges = ranges_of(pool);
    const auto parsed = pool.parse(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(print(bounds((*parsed)->expr, ranges)), expected) << text;
  }
}

TEST(ExprBounds, InIntegers) {
  ExprPool pool;
  const SymbolRanges ranges = ranges_of(pool);
  const auto found = [&](const char* text) {
    return integer_bounds((*pool.parse(text))->expr, ranges);
  };
  EXPECT_EQ(found("s0/4"), (SymRange{1, 2}));
  EXPECT_EQ(found("s1 + 1"), (SymRange{2, std::nullopt}));
  EXPECT_EQ(found("CeilToInt(IntTrueDiv(s0, 4))"), (SymRange{1, 3}));
}

TEST(ExprBounds, EncloseEveryValue) {
  const test::Recording recording = test::Recording::read();
  size_t enclosed = 0, bounded = 0, decisions = 0;
  for (size_t e = 0; e < recording.expressions.size(); ++e) {
    const test::Recorded& recorded = recording.expressions[e];
    ExprPool pool;
    const Expr expr = (*pool.parse(recorded.srepr))->expr;
    for (size_t first = 0; first + 4 <= recording.assignments.size(); first += 4) {
      // Takes the smallest ranges that contain four assignments.
      SymbolRanges ranges;
      for (size_t s = 0; s < recording.symbols.size(); ++s) {
        SymRange range{INT64_MAX, INT64_MIN};
        for (size_t i = first; i < first + 4; ++i) {
          const double value = to_double(test::number(recording.assignments[i][s]));
          range.min = std::min(*range.min, static_cast<int64_t>(std::floor(value)));
          range.max = std::max(*range.max, static_cast<int64_t>(std::ceil(value)));
        }
        ranges.set(pool.symbol(recording.symbols[s])->symbol, range);
      }
      const ValueRange found = bounds(expr, ranges);
      const auto decision = decide(pool, expr, ranges);
      bounded += std::isfinite(to_double(found.min)) && std::isfinite(to_double(found.max)) ? 1 : 0;
      for (size_t i = first; i < first + 4; ++i) {
        const auto value = evaluate(expr, recording.bindings(pool, i));
        if (!value || std::isnan(to_double(*value))) continue;
        EXPECT_FALSE(compare(*value, found.min) < 0 || compare(*value, found.max) > 0)
            << recorded.str << ", assignment " << i << ": " << print(*value) << " outside "
            << print(found);
        if (decision) {
          EXPECT_EQ(*value, Number(*decision)) << recorded.str << ", assignment " << i;
          ++decisions;
        }
        ++enclosed;
      }
    }
  }
  EXPECT_GT(enclosed, 20'000u);
  EXPECT_GT(bounded, 3'000u);
  EXPECT_GT(decisions, 500u);
}

TEST(ExprBounds, DecideRelations) {
  const std::pair<const char*, std::optional<bool>> kCases[] = {
      {"s0 + 1 > s0", true},
      {"Eq(2*s1, s1 + s1)", true},
      {"Ne(2*u1 + 2, 2*(u1 + 1))", false},
      {"u1 + s0 >= u1 + 2", true},
      {"u1 + s0 > u1 + 2", std::nullopt},
      {"u1*u1 >= 0", true},
      {"((4*s1)//2) < 2*s1", false},
      {"zf0 + 1 > zf0", std::nullopt},
      {"u1", std::nullopt},
      {"True", true},
  };
  for (const auto& [text, expected] : kCases) {
    ExprPool pool;
    const SymbolRanges ranges = ranges_of(pool);
    EXPECT_EQ(decide(pool, (*pool.parse(text))->expr, ranges), expected) << text;
  }
}

}  // namespace
}  // namespace pt2
