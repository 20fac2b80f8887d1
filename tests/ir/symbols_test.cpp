#include "pt2/ir/symbols.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pt2 {
namespace {

struct EvaluateCase {
  const char* text;
  Number expected;
};

// Evaluates an expression with s0 = 10, s1 = 3, u0 = -7 and zf0 = 2.5.
Result<Number> evaluate_text(std::string_view text) {
  ExprPool pool;
  PT2_TRY(const SpelledExpr* spelled, pool.parse(text));
  SymbolBindings bindings;
  bindings.bind(pool.symbol("s0")->symbol, int64_t{10});
  bindings.bind(pool.symbol("s1")->symbol, int64_t{3});
  bindings.bind(pool.symbol("u0")->symbol, int64_t{-7});
  bindings.bind(pool.symbol("zf0")->symbol, 2.5);
  return evaluate(spelled->expr, bindings);
}

TEST(Symbols, EvaluatesBothSpellings) {
  const EvaluateCase kCases[] = {
      {"s0", int64_t{10}},
      {"2*s0 - 1", int64_t{19}},
      {"5 - u0", int64_t{12}},
      {"-s0 + 3*s1", int64_t{-1}},
      {"((-s0 + 3*s1)//2) + 1", int64_t{0}},
      {"(u0//2)", int64_t{-4}},
      {"s0/2", int64_t{5}},
      {"s0/4", Rational{5, 2}},
      {"s0**2", int64_t{100}},
      {"2**-1", Rational{1, 2}},
      {"-s1**2", int64_t{-9}},
      {"Mod(s0*s1, s0 + 1)", int64_t{8}},
      {"u0 % 3", int64_t{2}},
      {"Max(1, u0, s1)", int64_t{3}},
      {"Eq(u0 + s0, 3)", true},
      {"Ne(s0, 10)", false},
      {"s0 <= 3*s1 + 1", true},
      {"(u0 > 0) & (u0 < s1)", false},
      {"(u0 > 0) | (u0 < s1)", true},
      {"~(u0 > 0)", true},
      {"Piecewise((s0, u0 > 0), (s1, True))", int64_t{3}},
      {"CeilToInt(IntTrueDiv(s0, 4))", int64_t{3}},
      {"u0 < oo", true},
      {"2.50000000000000", 2.5},
      {"1e-05", 1e-05},
      {"Add(Symbol('s0', positive=True, integer=True), Integer(-1))", int64_t{9}},
      {"Mul(Rational(1, 2), Symbol('s0', positive=True, integer=True))", int64_t{5}},
      {"Pow(Symbol('s0', positive=True, integer=True), Integer(2))", int64_t{100}},
      {"Mul(Float('1.5', precision=53), ToFloat(Symbol('s0', integer=True)))", 15.0},
      {"OpaqueUnaryFn_sqrt(ToFloat(Integer(16)))", 4.0},
      {"TruncToInt(IntTrueDiv(Symbol('u0', integer=True), Integer(2)))", int64_t{-3}},
      {"StrictGreaterThan(Symbol('s0', positive=True, integer=True), Integer(4))", true},
      {"Piecewise(ExprCondPair(Integer(1), false), ExprCondPair(Integer(2), true))", int64_t{2}},
      {"ModularIndexing(Symbol('s0'), Integer(2), Integer(3))", int64_t{2}},
      {"PythonMod(Symbol('u0', integer=True), Integer(3))", int64_t{2}},
      {"CleanDiv(Symbol('s0'), Integer(5))", int64_t{2}},
      {"PowByNatural(Symbol('s1'), Integer(4))", int64_t{81}},
      {"RoundToInt(Float('2.5', precision=53))", int64_t{2}},
      {"RoundDecimal(Float('2.675', precision=53), Integer(2))", 2.67},
      {"FloatTrueDiv(Symbol('zf0', real=True), Float('0.5', precision=53))", 5.0},
      {"LShift(Integer(3), Symbol('s1'))", int64_t{24}},
      {"RShift(Symbol('u0'), Integer(1))", int64_t{-4}},
      {"Where(true, Integer(1), FloorDiv(Integer(1), Integer(0)))", int64_t{1}},
      {"IsNonOverlappingAndDenseIndicator(s0, s1, 3, 1)", int64_t{1}},
      {"IsNonOverlappingAndDenseIndicator(s0, s1, 4, 1)", int64_t{0}},
      {"IntTrueDiv(9007199254740993, 3)", 3002399751580331.0},
  };
  for (const EvaluateCase& c : kCases) {
    const auto value = evaluate_text(c.text);
    ASSERT_TRUE(value) << c.text << ": " << value.error().text();
    EXPECT_EQ(*value, c.expected) << c.text;
  }
}

TEST(Symbols, RefusesWhatHasNoValue) {
  const std::pair<const char*, ErrorCode> kCases[] = {
      {"s9", ErrorCode::invalid},
      {"s0//0", ErrorCode::invalid},
      {"Mod(s0, s1 - 3)", ErrorCode::invalid},
      {"Mod(u0, 3)", ErrorCode::invalid},
      {"s0**40", ErrorCode::unsupported},
      {"9223372036854775807 + s0", ErrorCode::unsupported},
      {"9223372036854775808", ErrorCode::unsupported},
      {"Piecewise((1, False))", ErrorCode::invalid},
      {"Where(s0, 1, 2)", ErrorCode::invalid},
      {"Martian(s0)", ErrorCode::unsupported},
      {"Function('f')(s0)", ErrorCode::unsupported},
      {"OpaqueUnaryFn_log(Integer(0))", ErrorCode::invalid},
      {"1/0", ErrorCode::invalid},
      {"__import__('os').system('true')", ErrorCode::malformed},
      {"__import__('os')", ErrorCode::malformed},
      {"[x for x in ()]", ErrorCode::malformed},
      {"lambda: 1", ErrorCode::malformed},
      {"s0 +", ErrorCode::malformed},
      {"", ErrorCode::malformed},
      {"(s0", ErrorCode::malformed},
      {"s0 s1", ErrorCode::malformed},
      {"FloorDiv(s0)", ErrorCode::malformed},
      {"Integer('3')", ErrorCode::malformed},
      {"Rational(1)", ErrorCode::malformed},
      {"Symbol('s0", ErrorCode::malformed},
  };
  for (const auto& [text, code] : kCases) {
    const auto value = evaluate_text(text);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().code, code) << text << ": " << value.error().text();
  }
}

TEST(Symbols, ConditionsAreNoSizes) {
  ExprPool pool;
  SymbolBindings bindings;
  bindings.bind(pool.symbol("u0")->symbol, int64_t{4});
  const auto size = [&](const char* text) {
    return evaluate(SymInt(pool.parse(text).value(), std::nullopt), bindings);
  };
  EXPECT_EQ(size("u0 + 1").value(), 5);
  EXPECT_EQ(size("u0 >= 0").error().text(), "u0 >= 0: found a condition, expected a number");
  EXPECT_FALSE(size("Not(Eq(u0, 2))"));
}

TEST(Symbols, NestingIsLimited) {
  for (const std::string& text : {std::string(100'000, '('), std::string(100'000, '-') + "1",
                                  std::string(100'000, '~') + "s0"}) {
    ExprPool pool;
    const auto parsed = pool.parse(text);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, ErrorCode::limit);
  }
  // Parsing left-deep trees needs no recursion, but walking them does, so their depth is limited.
  std::string divided = "s0", powers = "s0";
  for (int i = 0; i < 1000; ++i) divided += "//2", powers += "**s0";
  ExprPool pool;
  EXPECT_EQ(pool.parse(divided).error().code, ErrorCode::limit);
  EXPECT_EQ(pool.parse(powers).error().code, ErrorCode::limit);
}

TEST(Symbols, LongSumsCostLinearTime) {
  std::string text = "s0";
  for (int i = 0; i < 200'000; ++i) text += " + s0";
  const auto value = evaluate_text(text);
  ASSERT_TRUE(value);
  EXPECT_EQ(*value, Number(int64_t{2'000'010}));
}

// A quotient has all operands of its dividend, so a chain of n quotients has n * n.
TEST(Symbols, LongQuotientsAreBounded) {
  std::string quotients = "s0", sums = "s0";
  for (int i = 0; i < 20'000; ++i) quotients += "/s1", sums += "+s" + std::to_string(i);
  for (int i = 0; i < 90; ++i) sums = "(" + sums + ")+s0";
  ExprPool pool;
  EXPECT_EQ(pool.parse(quotients).error().code, ErrorCode::limit);
  EXPECT_EQ(pool.parse(sums).error().code, ErrorCode::limit);
  EXPECT_TRUE(pool.parse("s0*s1*s2/s3/s4/2*(s0 + s1 + s2)/(s3*s4)"));
}

TEST(Symbols, EqualStructureIsOneNode) {
  ExprPool pool;
  const SpelledExpr* short_form = *pool.parse("s0 + 1");
  const SpelledExpr* long_form =
      *pool.parse("Add(Symbol('s0', positive=True, integer=True), Integer(1))");
  EXPECT_NE(short_form, long_form);
  EXPECT_EQ(short_form->expr, long_form->expr);
  EXPECT_EQ(pool.parse("s0 + 1").value(), short_form);
  EXPECT_EQ(short_form->text, "s0 + 1");
  EXPECT_EQ(pool.symbol_count(), 1u);
  EXPECT_EQ(pool.symbol_name(*pool.find_symbol("s0")), "s0");
  EXPECT_FALSE(pool.find_symbol("s1"));
}

// PyTorch evaluates expressions as Python. Builtins can express any program without strings.
TEST(Symbols, RefusesCallsOfPythonFunctions) {
  for (const char* text :
       {"eval(chr(49))", "Max(2, exec(s0))", "print(s0)", "S(s0)", "getattr(s0, s1)"}) {
    ExprPool pool;
    const auto parsed = pool.parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::malformed) << text;
  }
  for (const char* text : {"Newer(s0)", "log(s0)", "Function('f')(Symbol('s0'))", "floor(s0/2)"}) {
    ExprPool pool;
    EXPECT_TRUE(pool.parse(text)) << text;
  }
}

TEST(Symbols, PrintsForPeople) {
  const std::pair<const char*, const char*> kCases[] = {
      {"Add(Mul(Integer(-1), Symbol('s0')), Mul(Integer(3), Symbol('s1')))", "-s0 + 3*s1"},
      {"Add(Symbol('s0'), Mul(Integer(-1), Symbol('s1')))", "s0 - s1"},
      {"Add(Symbol('s0'), Integer(-1))", "s0 - 1"},
      {"FloorDiv(Add(Symbol('s0'), Integer(1)), Integer(2))", "((s0 + 1)//2)"},
      {"Mul(Rational(1, 2), Symbol('s0'))", "s0/2"},
      {"Pow(Add(Symbol('s0'), Integer(1)), Integer(2))", "(s0 + 1)**2"},
      {"Max(Integer(1), Symbol('u0'))", "Max(1, u0)"},
      {"Equality(Symbol('u0'), Integer(4))", "Eq(u0, 4)"},
      {"-oo", "-oo"},
      {"Martian(s0, 9223372036854775808)", "Martian(s0, 9223372036854775808)"},
  };
  for (const auto& [text, expected] : kCases) {
    ExprPool pool;
    EXPECT_EQ(print_expr(pool.parse(text).value()->expr), expected);
  }
}

TEST(Symbols, Ranges) {
  EXPECT_EQ(print(SymRange{2, std::nullopt}), "[2, oo]");
  EXPECT_TRUE((SymRange{2, 5}).contains(5));
  EXPECT_FALSE((SymRange{2, 5}).contains(6));
}

}  // namespace
}  // namespace pt2
