// Expressions, spellings and values that sympy recorded (tests/scripts/symbol_values.py).
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "ir/number.h"
#include "ir/symbols_internal.h"
#include "seeds.h"

namespace pt2 {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

// "3", "-1/2", "2.5", "1e-05", "True".
Number number(const std::string& text) {
  if (text == "True" || text == "False") return text == "True";
  if (const size_t slash = text.find('/'); slash != std::string::npos)
    return Rational{std::stoll(text.substr(0, slash)), std::stoll(text.substr(slash + 1))};
  if (text.find_first_of(".en") == std::string::npos) return int64_t{std::stoll(text)};
  return std::strtod(text.c_str(), nullptr);  // std::stod throws for subnormals
}

struct Recorded {
  std::string srepr, str;
  std::vector<std::string> values;
};

struct Recording {
  std::vector<std::string> symbols;
  std::vector<std::vector<std::string>> assignments;
  std::vector<Recorded> expressions;

  static Recording read() {
    std::ifstream file(std::filesystem::path(PT2_TEST_DATA) / "symbols" / "values.tsv");
    Recording out;
    std::string line;
    std::getline(file, line);
    out.symbols = split(line, ' ');
    std::getline(file, line);
    for (const std::string& one : split(line, ';')) out.assignments.push_back(split(one, ' '));
    while (std::getline(file, line)) {
      const auto columns = split(line, '\t');
      out.expressions.push_back({columns[0], columns[1], split(columns[2], ' ')});
    }
    return out;
  }

  SymbolBindings bindings(ExprPool& pool, size_t assignment) const {
    SymbolBindings out;
    for (size_t i = 0; i < symbols.size(); ++i)
      out.bind(pool.symbol(symbols[i])->symbol, number(assignments[assignment][i]));
    return out;
  }
};

// Floats may differ in the order of a sum and in the C library's last bits.
bool same(const Number& found, const Number& expected) {
  if (std::holds_alternative<bool>(expected)) return found == expected;
  if (compare(found, expected) == 0) return true;
  const double a = to_double(found), b = to_double(expected);
  const bool exact =
      !std::holds_alternative<double>(found) && !std::holds_alternative<double>(expected);
  return !exact && std::abs(a - b) <= 1e-13 * std::max(std::abs(a), std::abs(b));
}

TEST(SymbolsValues, PrintAsSympyPrints) {
  const Recording recording = Recording::read();
  ASSERT_GE(recording.expressions.size(), 500u);
  for (const Recorded& recorded : recording.expressions) {
    ExprPool pool;
    const auto parsed = pool.parse(recorded.srepr);
    ASSERT_TRUE(parsed) << recorded.srepr << ": " << parsed.error().text();
    EXPECT_EQ(print_expr((*parsed)->expr, ExprSpelling::srepr), recorded.srepr);
    // sympy's str alone sorts the arguments of Max and Min.
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
#include "pt2/expr.def"
}

}  // namespace
}  // namespace pt2
