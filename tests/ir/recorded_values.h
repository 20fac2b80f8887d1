// Reads expressions with sympy's spellings and values (tests/scripts/symbol_values.py).
#ifndef PT2_TESTS_IR_RECORDED_VALUES_H
#define PT2_TESTS_IR_RECORDED_VALUES_H

#include <cmath>
#include <sstream>

#include "ir/number.h"
#include "pt2/ir/symbols.h"
#include "seeds.h"

namespace pt2::test {

inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

// Reads a number: "3", "-1/2", "2.5", "1e-05", "True".
inline Number number(const std::string& text) {
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

// True if the numbers are equal. Floats may differ by rounding: the order of sums and the C library
// may differ.
inline bool same(const Number& found, const Number& expected) {
  if (std::holds_alternative<bool>(expected)) return found == expected;
  if (compare(found, expected) == 0) return true;
  const double a = to_double(found), b = to_double(expected);
  const bool exact =
      !std::holds_alternative<double>(found) && !std::holds_alternative<double>(expected);
  return !exact && std::abs(a - b) <= 1e-13 * std::max(std::abs(a), std::abs(b));
}

}  // namespace pt2::test

#endif  // PT2_TESTS_IR_RECORDED_VALUES_H
