// Prints expressions as sympy does. The str spelling follows StrPrinter (sympy/printing/str.py,
// precedence.py) with the functions of PyTorch 2.1 to 2.5, the releases that save it. The srepr
// spelling follows ReprPrinter (printing/repr.py), which needs no functions or precedences. Terms
// keep the order of the arguments.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "base/text.h"
#include "ir/number.h"
#include "ir/symbols/symbols_internal.h"

namespace pt2 {
namespace {

// sympy's precedence numbers.
constexpr int kOr = 20, kAnd = 30, kRelation = 35, kBitwiseOr = 36, kBitwiseAnd = 38, kAdd = 40,
              kMultiply = 50, kPower = 60, kFunction = 70, kNot = 100, kAtom = 1000;

// mpmath's to_str (libmp/libmpf.py): `digits` significant digits, halves rounded away from zero,
// fixed notation from 1e-4 up to `digits` places before the point.
std::string print_mpmath_float(double value, int digits, bool strip_zeros) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (value == 0) return "0.0";
  // The closest that a double comes to the midpoint between two decimals, unless it is the
  // midpoint.
  constexpr int kExactEnough = 60;
  const std::string exact = fmt::format("{:.{}e}", std::abs(value), kExactEnough - 1);
  const size_t mark = exact.find('e');
  int exponent = std::stoi(exact.substr(mark + 1));
  std::string mantissa = exact.substr(0, 1) + exact.substr(2, mark - 2);
  const bool up = mantissa[static_cast<size_t>(digits)] >= '5';
  mantissa.resize(static_cast<size_t>(digits));
  for (size_t i = mantissa.size(); up && i-- > 0;) {
    if (mantissa[i]++ != '9') break;
    mantissa[i] = '0';
    if (i == 0) mantissa.insert(0, 1, '1'), mantissa.pop_back(), ++exponent;
  }
  size_t split = 1;
  if (exponent > -5 && exponent < digits) {
    if (exponent < 0) mantissa.insert(0, static_cast<size_t>(-exponent), '0');
    if (exponent > 0) split = static_cast<size_t>(exponent) + 1;
    exponent = 0;
  }
  mantissa.insert(split, ".");
  while (strip_zeros && mantissa.back() == '0') mantissa.pop_back();
  if (strip_zeros && mantissa.back() == '.') mantissa += '0';
  return (value < 0 ? "-" : "") + mantissa + (exponent != 0 ? fmt::format("e{:+}", exponent) : "");
}

bool is_number(Expr expr) {
  return expr->op == ExprOp::integer || expr->op == ExprOp::rational ||
         expr->op == ExprOp::floating;
}

bool is_negative(const Number& number) { return compare(number, Number(int64_t{0})) < 0; }

// Returns the coefficient of a product, 1 if it has none (sympy's as_coeff_Mul).
Number coefficient_of(Expr expr) {
  if (is_number(expr)) return expr->number;
  if (expr->op == ExprOp::multiply && !expr->args.empty() && is_number(expr->args[0]))
    return expr->args[0]->number;
  return int64_t{1};
}

bool is_half(Expr expr) {
  return expr->op == ExprOp::rational && expr->number == Number(Rational{1, 2});
}
bool is_minus_half(Expr expr) {
  return expr->op == ExprOp::rational && expr->number == Number(Rational{-1, 2});
}

int precedence(Expr expr) {
  switch (expr->op) {
    case ExprOp::integer:
    case ExprOp::floating:
      return is_negative(expr->number) ? kAdd : kAtom;
    case ExprOp::rational:
      return is_negative(expr->number) ? kAdd : kMultiply;
    case ExprOp::infinity:
      return is_negative(expr->number) && expr->name == "oo" ? kAdd : kAtom;
    case ExprOp::constant:
      return expr->name.starts_with('-') ? kAdd : kAtom;
    case ExprOp::add:
      return kAdd;
    case ExprOp::multiply:
      return is_negative(coefficient_of(expr)) ? kAdd : kMultiply;
    case ExprOp::floor_div:
    case ExprOp::clean_div:
    case ExprOp::mod:
    case ExprOp::equal:
    case ExprOp::not_equal:
      return kMultiply;
    case ExprOp::power:
      return kPower;
    case ExprOp::less:
    case ExprOp::less_equal:
    case ExprOp::greater:
    case ExprOp::greater_equal:
      return kRelation;
    case ExprOp::logical_and:
      return kAnd;
    case ExprOp::logical_or:
      return kOr;
    case ExprOp::logical_not:
      return kNot;
    case ExprOp::boolean:
    case ExprOp::symbol:
    case ExprOp::condition_pair:
      return kAtom;
    default:
      return kFunction;
  }
}

class StrPrinter {
 public:
  // `name` returns the text of each symbol; null for the symbols' own names.
  explicit StrPrinter(std::string& out, const SymbolText* name) : out_(out), name_(name) {}

  void print(Expr expr) {
    ++level_;
    print_any(expr);
    --level_;
  }

 private:
  void print_any(Expr expr) {
    switch (expr->op) {
      case ExprOp::integer:
      case ExprOp::rational:
      case ExprOp::boolean:
        out_ += pt2::print(expr->number);
        return;
      case ExprOp::floating:
        out_ += print_mpmath_float(std::get<double>(expr->number), 15, level_ > 1);
        return;
      case ExprOp::infinity:
        if (is_negative(expr->number)) out_ += '-';
        [[fallthrough]];
      case ExprOp::constant:
        out_ += expr->name;
        return;
      case ExprOp::symbol:
        out_ += name_ == nullptr ? expr->name : (*name_)(expr);
        return;
      case ExprOp::opaque:
        return print_call(expr->name, expr->args);
#define PT2_EXPR_FUNCTION(op, name, min_arguments, max_arguments) case ExprOp::op:
#include "pt2/ir/expr.def"
        return print_function(expr);
    }
  }

  void print_function(Expr expr) {
    const std::vector<Expr>& args = expr->args;
    const std::string_view name = expr_function(expr->op).name;
    if (args.empty()) return print_call(name, args);
    switch (expr->op) {
      case ExprOp::add:
        return print_sum(args);
      case ExprOp::multiply:
        return print_product(expr);
      case ExprOp::power:
        return print_power(args[0], args[1]);
      case ExprOp::floor_div:
      case ExprOp::clean_div:
        out_ += '(';
        join(args, "//", kMultiply);
        out_ += ')';
        return;
      case ExprOp::less:
        return join(args, " < ", kRelation);
      case ExprOp::less_equal:
        return join(args, " <= ", kRelation);
      case ExprOp::greater:
        return join(args, " > ", kRelation);
      case ExprOp::greater_equal:
        return join(args, " >= ", kRelation);
      case ExprOp::logical_and:
        return join(args, " & ", kBitwiseAnd);
      case ExprOp::logical_or:
        return join(args, " | ", kBitwiseOr);
      case ExprOp::logical_not:
        out_ += '~';
        return parenthesize(args[0], kNot);
      case ExprOp::equal:
        return print_call("Eq", args);
      case ExprOp::not_equal:
        return print_call("Ne", args);
      case ExprOp::condition_pair:
        return print_call("", args);
      default:
        return print_call(name, args);
    }
  }

  void print_call(std::string_view name, std::span<const Expr> args) {
    out_ += name;
    out_ += '(';
    join(args, ", ", 0);
    out_ += ')';
  }

  void join(std::span<const Expr> args, std::string_view separator, int level) {
    for (size_t i = 0; i < args.size(); ++i) {
      if (i != 0) out_ += separator;
      parenthesize(args[i], level);
    }
  }

  void parenthesize(Expr expr, int level) {
    const bool needed = precedence(expr) <= level;
    if (needed) out_ += '(';
    print(expr);
    if (needed) out_ += ')';
  }

  void print_sum(std::span<const Expr> terms) {
    for (size_t i = 0; i < terms.size(); ++i) {
      const Expr term = terms[i];
      const size_t start = out_.size();
      print(term);
      const bool is_sum = term->op == ExprOp::add;
      const bool minus = out_[start] == '-' && !is_sum;
      // A negative term that binds weaker than a sum starts with "-(": the sign stays outside the
      // parentheses.
      std::string_view sign = minus ? "-" : "";
      if (i != 0) sign = minus ? " - " : " + ";
      std::string text = out_.substr(start + (minus ? 1 : 0));
      out_.resize(start);
      const bool parentheses = precedence(term) < kAdd || is_sum;
      out_ += sign;
      if (parentheses) out_ += '(';
      out_ += text;
      if (parentheses) out_ += ')';
    }
  }

  void print_power(Expr base, Expr exponent) {
    if (is_half(exponent)) return print_call("sqrt", {&base, 1});
    if (is_minus_half(exponent)) {
      out_ += "1/";
      return print_call("sqrt", {&base, 1});
    }
    if (is_integer(exponent, -1)) {
      out_ += "1/";
      return parenthesize(base, kPower);
    }
    parenthesize(base, kPower);
    out_ += "**";
    parenthesize(exponent, kPower);
  }

  // Prints a factor of a denominator: base**-exponent, where `exponent` is negative.
  void print_inverse(Expr base, Expr exponent, int level) {
    if (is_integer(exponent, -1)) return parenthesize(base, level);
    if (is_minus_half(exponent)) return print_call("sqrt", {&base, 1});
    parenthesize(base, kPower);
    out_ += "**";
    const bool is_negated = exponent->op == ExprOp::multiply && exponent->args.size() == 2 &&
                            is_integer(exponent->args[0], -1);
    if (is_negated) return parenthesize(exponent->args[1], kPower);
    const bool parentheses = exponent->op == ExprOp::multiply || exponent->op == ExprOp::rational;
    if (parentheses) out_ += '(';
    out_.append(text_of(exponent, 0), 1);
    if (parentheses) out_ += ')';
  }

  // Prints numerator over denominator, with the coefficient's sign in front.
  void print_product(Expr expr) {
    const int level = precedence(expr);
    const Number coefficient = coefficient_of(expr);
    std::vector<std::string> above, below;
    std::span<const Expr> factors = expr->args;
    if (is_number(factors[0]))
      factors = factors.subspan(1), add_coefficient(coefficient, above, below);
    for (Expr factor : factors) {
      const bool inverted =
          factor->op == ExprOp::power && is_negative(coefficient_of(factor->args[1]));
      (inverted ? below : above)
          .push_back(inverted ? inverse_text(factor, level) : text_of(factor, level));
    }
    if (is_negative(coefficient)) out_ += '-';
    if (above.empty()) above.push_back("1");
    out_ += fmt::format("{}", fmt::join(above, "*"));
    if (below.empty()) return;
    const std::string denominator = fmt::format("{}", fmt::join(below, "*"));
    out_ += below.size() == 1 ? "/" + denominator : "/(" + denominator + ")";
  }

  void add_coefficient(const Number& number, std::vector<std::string>& above,
                       std::vector<std::string>& below) {
    if (const auto* value = std::get_if<double>(&number)) {
      above.push_back(print_mpmath_float(std::abs(*value), 15, true));
      return;
    }
    const std::string text = pt2::print(number);
    const std::string_view magnitude = std::string_view(text).substr(text[0] == '-' ? 1 : 0);
    const size_t slash = magnitude.find('/');
    if (magnitude.substr(0, slash) != "1") above.emplace_back(magnitude.substr(0, slash));
    if (slash != std::string_view::npos) below.emplace_back(magnitude.substr(slash + 1));
  }

  std::string text_of(Expr expr, int level) {
    return nested([&](StrPrinter& printer) { printer.parenthesize(expr, level); });
  }
  std::string inverse_text(Expr power, int level) {
    return nested(
        [&](StrPrinter& printer) { printer.print_inverse(power->args[0], power->args[1], level); });
  }
  template <class Print>
  std::string nested(Print print) {
    std::string text;
    StrPrinter printer(text, name_);
    printer.level_ = level_;
    print(printer);
    return text;
  }

  std::string& out_;
  const SymbolText* name_;
  int level_ = 0;
};

void print_srepr(std::string& out, Expr expr);

void print_srepr_call(std::string& out, std::string_view name, std::span<const Expr> args) {
  out += name;
  out += '(';
  for (size_t i = 0; i < args.size(); ++i) {
    if (i != 0) out += ", ";
    print_srepr(out, args[i]);
  }
  out += ')';
}

// Imitates sympy's args_cnc: the sign of a negative coefficient is a separate factor.
void print_srepr_product(std::string& out, Expr expr) {
  const std::vector<Expr>& args = expr->args;
  const bool split = is_number(args[0]) && is_negative(args[0]->number) && !is_integer(args[0], -1);
  if (!split) return print_srepr_call(out, "Mul", args);
  std::string factors;
  print_srepr_call(factors, "", args);
  // This is the only minus before the digits of the first argument.
  factors.erase(factors.find('-'), 1);
  out += "Mul(Integer(-1), " + factors.substr(1);
}

bool is_integer_text(std::string_view text) {
  return text.find_first_not_of("-0123456789") == std::string_view::npos;
}

void print_srepr(std::string& out, Expr expr) {
  switch (expr->op) {
    case ExprOp::integer:
      out += fmt::format("Integer({})", print(expr->number));
      return;
    case ExprOp::rational: {
      const auto& value = std::get<Rational>(expr->number);
      out += fmt::format("Rational({}, {})", value.numerator, value.denominator);
      return;
    }
    case ExprOp::floating:
      out += fmt::format("Float('{}', precision=53)",
                         print_mpmath_float(std::get<double>(expr->number), 17, true));
      return;
    case ExprOp::boolean:
      out += std::get<bool>(expr->number) ? "true" : "false";
      return;
    case ExprOp::infinity:
      if (is_negative(expr->number)) out += '-';
      out += expr->name;
      return;
    case ExprOp::constant:
      out += is_integer_text(expr->name) ? fmt::format("Integer({})", expr->name) : expr->name;
      return;
    case ExprOp::symbol: {
      const std::string_view assumptions = expr->assumptions->text();
      out += fmt::format("Symbol({}{}{})", print_python_string(expr->name),
                         assumptions.empty() ? "" : ", ", assumptions);
      return;
    }
    case ExprOp::opaque:
      return print_srepr_call(out,
                              expr->number == Number(true)
                                  ? fmt::format("Function({})", print_python_string(expr->name))
                                  : expr->name,
                              expr->args);
#define PT2_EXPR_FUNCTION(op, name, min_arguments, max_arguments) case ExprOp::op:
#include "pt2/ir/expr.def"
      if (expr->op == ExprOp::multiply && !expr->args.empty())
        return print_srepr_product(out, expr);
      return print_srepr_call(out, expr_function(expr->op).name, expr->args);
  }
}

}  // namespace

std::string print_expr(Expr expr, ExprSpelling spelling) {
  std::string out;
  if (!expr) return out;
  if (spelling == ExprSpelling::srepr)
    print_srepr(out, expr);
  else
    StrPrinter(out, nullptr).print(expr);
  return out;
}

std::string print_expr(Expr expr, const SymbolText& symbol_text) {
  std::string out;
  StrPrinter(out, &symbol_text).print(expr);
  return out;
}

std::string print(const SymInt& value) {
  return value.is_symbolic() ? print_expr(value.expr()) : fmt::format("{}", value.literal());
}

std::string print(const SymRange& range) {
  return fmt::format("[{}, {}]", range.min ? fmt::format("{}", *range.min) : "-oo",
                     range.max ? fmt::format("{}", *range.max) : "oo");
}

}  // namespace pt2
