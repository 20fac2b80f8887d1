// One grammar for sympy's str ("s0 + 1", "(s0//2)", "Eq(u0, 4)") and srepr ("Add(Symbol('s0', ...),
// Integer(1))"): Python expressions made of operators, calls, numbers and names. It has no
// attributes, subscripts or other Python syntax, so a file cannot make the parser do more than
// build a tree. Guards use more of Python's syntax and give some operators another meaning:
// `guard_` selects the guard-only parts.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_set>

#include "base/json.h"
#include "base/platform.h"
#include "base/printable.h"
#include "base/text.h"
#include "ir/number.h"
#include "ir/symbols/expr_lexer.h"
#include "ir/symbols/symbols_internal.h"
#include "pt2/ir/guards.h"

namespace pt2 {
namespace {

// Precedences of Python's binary operators; 0 if a token is not a binary operator.
struct BinaryOperator {
  std::string_view text;
  int precedence;
};
constexpr BinaryOperator kBinaryOperators[] = {
    {"or", 1}, {"and", 2}, {"<", 4},  {"<=", 4},  {">", 4},  {">=", 4}, {"==", 4},
    {"!=", 4}, {"|", 5},   {"^", 6},  {"&", 7},   {"<<", 8}, {">>", 8}, {"+", 9},
    {"-", 9},  {"*", 10},  {"/", 10}, {"//", 10}, {"%", 10},
};
constexpr int kNotPrecedence = 3;
constexpr int kComparison = 4;
constexpr int kUnaryPrecedence = 11;

int precedence_of(const Token& token) {
  if (token.kind != TokenKind::punctuation && token.kind != TokenKind::name) return 0;
  for (const BinaryOperator& op : kBinaryOperators) {
    if (op.text == token.text) return op.precedence;
  }
  return 0;
}

class Parser {
 public:
  // `sources` receives the sources of a guard; null when parsing an expression.
  Parser(std::string_view text, ExprPool& pool, std::vector<GuardSource>* sources)
      : lexer_(text), pool_(pool), guard_(sources), left_to_copy_(kMostCopies * text.size()) {}

  Result<Expr> parse() {
    PT2_TRY_VOID(advance());
    PT2_TRY(Expr expr, expression());
    if (current_.kind != TokenKind::end) return unexpected("the end");
    if (!unsupported_.empty())
      return Error{
          ErrorCode::unsupported,
          fmt::format("the guard calls {}(), which is not known to this version", unsupported_),
          {}};
    return expr;
  }

 private:
  // A quotient has the operands of its dividend, and a sum those of a sum in parentheses. So
  // a/b/c/… takes quadratic space and time without this bound: copied operands for each character.
  static constexpr size_t kMostCopies = 4;

  struct DepthGuard {
    explicit DepthGuard(int& counter) : depth(counter) { ++depth; }
    ~DepthGuard() { --depth; }
    int& depth;
  };

  Result<void> advance() {
    PT2_TRY(current_, lexer_.next());
    return {};
  }
  bool at(std::string_view punctuation) const {
    return current_.kind == TokenKind::punctuation && current_.text == punctuation;
  }
  bool at_name(std::string_view name) const {
    return current_.kind == TokenKind::name && current_.text == name;
  }
  Error unexpected(std::string_view expected) const {
    const std::string_view found = current_.kind == TokenKind::end ? "the end" : current_.text;
    return {ErrorCode::malformed,
            fmt::format("found '{}' at character {} of an expression, expected {}", found,
                        current_.position, expected),
            {}};
  }
  Result<void> expect(std::string_view punctuation) {
    if (!at(punctuation)) return unexpected(fmt::format("'{}'", punctuation));
    return advance();
  }
  static Error too_deep() {
    return {ErrorCode::limit,
            fmt::format("an expression is nested deeper than {}", ExprPool::kMaxDepth),
            {}};
  }

  Result<Expr> make(ExprNode node) {
    for (Expr arg : node.args) {
      if (arg->depth >= ExprPool::kMaxDepth) return too_deep();
    }
    return pool_.intern(std::move(node));
  }
  Result<Expr> make(ExprOp op, std::vector<Expr> args) {
    return make({.op = op, .args = std::move(args)});
  }

  Result<Expr> literal(const Number& number) {
    return make({.op = literal_op(number), .number = number});
  }

  static const Number* literal_of(Expr expr) {
    return expr->op == ExprOp::integer || expr->op == ExprOp::rational ||
                   expr->op == ExprOp::floating
               ? &expr->number
               : nullptr;
  }

  Result<Expr> negative(Expr operand) {
    if (const Number* number = literal_of(operand)) {
      PT2_TRY(Number negated, negate(*number));
      return literal(negated);
    }
    if (operand->op == ExprOp::infinity) {
      ExprNode node = *operand.operator->();
      node.number = -std::get<int64_t>(node.number);
      return make(std::move(node));
    }
    // The parser sees INT64_MIN as a minus and a magnitude beyond int64.
    if (operand->op == ExprOp::constant && is_digit(operand->name[0]))
      return whole_number("-" + operand->name);
    return product(Number(int64_t{-1}), {}, operand);
  }

  Result<void> count_copies(size_t operands) {
    if (operands > left_to_copy_)
      return Error{ErrorCode::limit,
                   "an expression divides products, or nests sums, of too many operands",
                   {}};
    left_to_copy_ -= operands;
    return {};
  }

  // Returns coefficient * factors * operand. Merges the operand's factors and coefficient in,
  // because sympy keeps one number in front of a product.
  Result<Expr> product(Number coefficient, std::vector<Expr> factors, Expr operand) {
    std::span<const Expr> rest(&operand, 1);
    if (operand->op == ExprOp::multiply) rest = operand->args;
    if (!rest.empty() && literal_of(rest[0]) != nullptr) {
      PT2_TRY(coefficient, multiply(coefficient, rest[0]->number));
      rest = rest.subspan(1);
    }
    if (rest.size() > 1) PT2_TRY_VOID(count_copies(rest.size()));
    factors.insert(factors.begin(), rest.begin(), rest.end());
    if (coefficient != Number(int64_t{1}) || factors.empty()) {
      PT2_TRY(Expr number, literal(coefficient));
      factors.insert(factors.begin(), number);
    }
    return factors.size() == 1 ? Result<Expr>(factors[0])
                               : make(ExprOp::multiply, std::move(factors));
  }

  // Returns 1/operand in sympy's form: if the operand is a power with a number as exponent, the
  // exponent is negated.
  Result<Expr> inverse(Expr operand) {
    Expr base = operand;
    Number exponent = int64_t{-1};
    if (operand->op == ExprOp::power) {
      if (const Number* number = literal_of(operand->args[1])) {
        base = operand->args[0];
        PT2_TRY(exponent, negate(*number));
      }
    }
    PT2_TRY(Expr power, literal(exponent));
    return make(ExprOp::power, {base, power});
  }

  Result<Expr> quotient(Expr left, Expr right) {
    Number coefficient = int64_t{1};
    std::vector<Expr> factors;
    const std::span<const Expr> divisors =
        right->op == ExprOp::multiply ? std::span<const Expr>(right->args) : std::span(&right, 1);
    for (Expr divisor : divisors) {
      if (const Number* number = literal_of(divisor)) {
        PT2_TRY(coefficient, divide(coefficient, *number));
      } else {
        PT2_TRY(Expr factor, inverse(divisor));
        factors.push_back(factor);
      }
    }
    return product(coefficient, std::move(factors), left);
  }

  // Returns the sympy operator if it takes any number of operands (such as +); nullopt for other
  // operators.
  std::optional<ExprOp> flat_operator(std::string_view op) const {
    if (op == "+" || op == "-") return ExprOp::add;
    if (op == "*") return ExprOp::multiply;
    if (op == "and" || (op == "&" && guard_ == nullptr)) return ExprOp::logical_and;
    if (op == "or" || (op == "|" && guard_ == nullptr)) return ExprOp::logical_or;
    return std::nullopt;
  }

  Result<Expr> combine(std::string_view op, Expr left, Expr right) {
    if (op == "/" && guard_ == nullptr) return quotient(left, right);
    static constexpr std::pair<std::string_view, ExprOp> kPlain[] = {
        {"//", ExprOp::floor_div},   {"%", ExprOp::python_mod},     {"<<", ExprOp::left_shift},
        {">>", ExprOp::right_shift}, {"<", ExprOp::less},           {"<=", ExprOp::less_equal},
        {">", ExprOp::greater},      {">=", ExprOp::greater_equal}, {"==", ExprOp::equal},
        {"!=", ExprOp::not_equal},   {"/", ExprOp::int_true_div},   {"&", ExprOp::bitwise_and},
        {"|", ExprOp::bitwise_or},   {"^", ExprOp::bitwise_xor},
    };
    for (const auto& [text, plain] : kPlain) {
      if (text == op) return make(plain, {left, right});
    }
    return unexpected("an operator");
  }

  // The operands of one flat operator so far. The node is made when another operator follows, so a
  // sum of n terms takes O(n).
  struct Chain {
    ExprOp op = ExprOp::add;
    std::vector<Expr> operands;
  };

  Result<void> extend(Chain& chain, ExprOp op, Expr& left, Expr right) {
    if (!chain.operands.empty() && chain.op != op) {
      PT2_TRY(left, close(chain, left));
    }
    if (chain.operands.empty()) {
      chain.op = op;
      if (left->op == op) PT2_TRY_VOID(count_copies(left->args.size()));
      chain.operands = left->op == op ? left->args : std::vector<Expr>{left};
    }
    chain.operands.push_back(right);
    return {};
  }

  Result<Expr> close(Chain& chain, Expr left) {
    if (chain.operands.empty()) return left;
    return make(chain.op, std::exchange(chain.operands, {}));
  }

  Result<Expr> binary(int minimum) {
    Chain chain;
    PT2_TRY(Expr left, unary());
    while (true) {
      const Token op = current_;
      const int precedence = precedence_of(op);
      if (precedence < minimum || precedence == 0) return close(chain, left);
      PT2_TRY_VOID(advance());
      PT2_TRY(Expr right, binary(precedence + 1));
      // The parser refuses a chain a < b < c, which in Python means a < b and b < c. Neither sympy
      // nor PyTorch writes chains.
      if (precedence == kComparison && precedence_of(current_) == kComparison)
        return unexpected("one comparison");
      if (op.text == "-") {
        PT2_TRY(right, negative(right));
      }
      if (const auto flat = flat_operator(op.text)) {
        PT2_TRY_VOID(extend(chain, *flat, left, right));
      } else {
        PT2_TRY(left, close(chain, left));
        PT2_TRY(left, combine(op.text, left, right));
      }
    }
  }

  Result<Expr> unary() {
    const DepthGuard guard(depth_);
    if (depth_ > ExprPool::kMaxDepth) return too_deep();
    if (at("-")) {
      PT2_TRY_VOID(advance());
      PT2_TRY(Expr operand, binary(kUnaryPrecedence));
      return negative(operand);
    }
    if (at("~") || at_name("not")) {
      const int precedence = at("~") ? kUnaryPrecedence : kNotPrecedence;
      PT2_TRY_VOID(advance());
      PT2_TRY(Expr operand, binary(precedence));
      return make(ExprOp::logical_not, {operand});
    }
    PT2_TRY(Expr base, primary());
    if (!at("**")) return base;
    PT2_TRY_VOID(advance());
    PT2_TRY(Expr exponent, unary());
    return make(ExprOp::power, {base, exponent});
  }

  // In guards this also parses "a if c else b".
  Result<Expr> expression() {
    const DepthGuard guard(depth_);
    if (depth_ > ExprPool::kMaxDepth) return too_deep();
    PT2_TRY(Expr value, binary(1));
    if (guard_ == nullptr || !at_name("if")) return value;
    PT2_TRY_VOID(advance());
    PT2_TRY(Expr condition, binary(1));
    if (!at_name("else")) return unexpected("'else'");
    PT2_TRY_VOID(advance());
    PT2_TRY(Expr otherwise, expression());
    return make(ExprOp::where, {condition, value, otherwise});
  }

  Result<Expr> primary() {
    const Token token = current_;
    if (token.kind == TokenKind::number) {
      PT2_TRY_VOID(advance());
      return number(token.text);
    }
    if (token.kind == TokenKind::name) {
      PT2_TRY_VOID(advance());
      if (guard_ != nullptr && token.text == "L" && at("[")) return source();
      if (guard_ != nullptr && at(".")) return member(token.text);
      if (guard_ != nullptr && at("(")) return python_call(token.text);
      return at("(") ? call(token.text) : name(token.text);
    }
    if (!at("(")) return unexpected("an expression");
    PT2_TRY_VOID(advance());
    PT2_TRY(Expr inner, expression());
    if (at(",") && guard_ == nullptr) return pair(inner);
    PT2_TRY_VOID(expect(")"));
    return inner;
  }

  // Parses the rest of a Piecewise's "(value, condition)".
  Result<Expr> pair(Expr first) {
    PT2_TRY_VOID(advance());
    PT2_TRY(Expr second, binary(1));
    PT2_TRY_VOID(expect(")"));
    return make(ExprOp::condition_pair, {first, second});
  }

  Result<Expr> name(std::string_view text) {
    if (text == "True" || text == "true") return literal(true);
    if (text == "False" || text == "false") return literal(false);
    if (text == "oo" || text == "int_oo") {
      return make({.op = ExprOp::infinity, .number = int64_t{1}, .name = std::string(text)});
    }
    for (std::string_view constant : {"nan", "zoo", "pi", "E", "I"})
      if (text == constant) return make({.op = ExprOp::constant, .name = std::string(text)});
    return pool_.symbol(text);
  }

  Result<Expr> number(std::string_view text) {
    if (text.find_first_of(".eE") != std::string_view::npos) return float_literal(text);
    return whole_number(text);
  }

  Result<Expr> whole_number(std::string_view text) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    // Python's integers are unbounded. An integer beyond int64 is kept as text; it cannot be
    // evaluated.
    if (error == std::errc::result_out_of_range)
      return make({.op = ExprOp::constant, .name = std::string(text)});
    if (error != std::errc() || end != text.data() + text.size()) {
      return Error{ErrorCode::malformed, fmt::format("'{}' is not a number", text), {}};
    }
    return literal(value);
  }

  Result<Expr> float_literal(std::string_view text) {
    const auto value = decimal_value(text);
    if (!value) return Error{ErrorCode::malformed, fmt::format("'{}' is not a float", text), {}};
    return literal(*value);
  }

  // Parses a string, then options: the rest of Symbol('s77', positive=True, integer=True),
  // Float('2.5', precision=53), Function('f').
  struct Quoted {
    std::string_view text;
    std::string options;  // "positive=True, integer=True"
  };
  Result<Quoted> quoted() {
    if (current_.kind != TokenKind::string) return unexpected("a string");
    Quoted out{current_.text, {}};
    PT2_TRY_VOID(advance());
    while (at(",")) {
      PT2_TRY_VOID(advance());
      if (current_.kind != TokenKind::name) return unexpected("an assumption");
      if (!out.options.empty()) out.options += ", ";
      out.options += current_.text;
      PT2_TRY_VOID(advance());
      PT2_TRY_VOID(expect("="));
      if (current_.kind != TokenKind::name && current_.kind != TokenKind::number)
        return unexpected("a value");
      out.options += '=';
      out.options += current_.text;
      PT2_TRY_VOID(advance());
    }
    PT2_TRY_VOID(expect(")"));
    return out;
  }

  Result<Expr> call(std::string_view function) {
    PT2_TRY_VOID(advance());
    if (function == "Symbol" || function == "Dummy") {
      PT2_TRY(Quoted symbol, quoted());
      return pool_.symbol(symbol.text, symbol.options);
    }
    if (function == "Float") {
      PT2_TRY(Quoted number, quoted());
      return float_literal(number.text);
    }
    if (function == "Function") {
      PT2_TRY(Quoted named, quoted());
      PT2_TRY_VOID(expect("("));
      return undefined(named.text);
    }
    return apply(function);
  }

  // Parses call arguments; the opening parenthesis is already consumed.
  Result<std::vector<Expr>> arguments() {
    std::vector<Expr> args;
    while (!at(")")) {
      PT2_TRY(Expr arg, expression());
      args.push_back(arg);
      if (at(")")) break;
      PT2_TRY_VOID(expect(","));
    }
    PT2_TRY_VOID(advance());
    return args;
  }

  Result<Expr> undefined(std::string_view function) {
    PT2_TRY(std::vector<Expr> args, arguments());
    return make({.op = ExprOp::opaque,
                 .number = true,
                 .name = std::string(function),
                 .args = std::move(args)});
  }

  Result<Expr> apply(std::string_view function) {
    PT2_TRY(std::vector<Expr> args, arguments());
    if (function == "sqrt" && args.size() == 1) {
      PT2_TRY(Expr half, literal(Rational{1, 2}));
      return make(ExprOp::power, {args[0], half});
    }
    if (function == "Integer" || function == "Rational") return exact_number(function, args);
    const ExprFunction* known = find_expr_function(function);
    if (known == nullptr && !may_be_sympys(function))
      return Error{
          ErrorCode::malformed,
          fmt::format("found a call of '{}', expected a function of symbolic shapes", function),
          {}};
    if (known == nullptr)
      return make({.op = ExprOp::opaque, .name = std::string(function), .args = std::move(args)});
    return make_checked(*known, std::move(args));
  }

  Result<Expr> make_checked(const ExprFunction& function, std::vector<Expr> args) {
    const int count = static_cast<int>(args.size());
    if (count < function.min_arguments ||
        (function.max_arguments >= 0 && count > function.max_arguments)) {
      return Error{
          ErrorCode::malformed, fmt::format("{} arguments for {}", count, function.name), {}};
    }
    if (function.op == ExprOp::multiply) PT2_TRY_VOID(join_sign(args));
    return make(function.op, std::move(args));
  }

  // True if an unknown function may belong to sympy. PyTorch evaluates the text with every builtin
  // of Python available: eval(chr(95) + ...). Functions of sympy and of newer releases that the
  // table lacks are classes (capitalized), or sympy's elementary functions.
  static bool may_be_sympys(std::string_view function) {
    constexpr std::string_view kElementary[] = {"exp",   "log",   "sin",   "cos",  "tan",  "asin",
                                                "acos",  "atan",  "atan2", "sinh", "cosh", "tanh",
                                                "asinh", "acosh", "atanh", "sign", "gamma"};
    return (function.size() > 1 && function[0] >= 'A' && function[0] <= 'Z') ||
           std::ranges::find(kElementary, function) != std::end(kElementary);
  }

  // Merges the sign into the coefficient: srepr writes the sign as a separate factor,
  // Mul(Integer(-1), Integer(2), x).
  Result<void> join_sign(std::vector<Expr>& factors) {
    if (factors.size() < 2 || literal_of(factors[1]) == nullptr) return {};
    if (factors[0]->op != ExprOp::integer || factors[0]->number != Number(int64_t{-1})) return {};
    PT2_TRY(factors[1], negative(factors[1]));
    factors.erase(factors.begin());
    return {};
  }

  Result<Expr> exact_number(std::string_view function, const std::vector<Expr>& args) {
    const size_t wanted = function == "Integer" ? 1 : 2;
    if (args.size() == 1 && wanted == 1 && args[0]->op == ExprOp::constant) return args[0];
    if (args.size() != wanted)
      return Error{ErrorCode::malformed,
                   fmt::format("{} takes {} number{}, found {}", function, wanted,
                               wanted == 1 ? "" : "s", args.size()),
                   {}};
    for (Expr arg : args)
      if (arg->op != ExprOp::integer)
        return Error{ErrorCode::malformed,
                     fmt::format("{} takes numbers, found an expression", function),
                     {}};
    if (wanted == 1) return args[0];
    PT2_TRY(Number value, divide(args[0]->number, args[1]->number));
    return literal(value);
  }

  // Parses a source: L['x'].size()[0], L['xs'][1].stride()[0], L['table']['bias'].storage_offset(),
  // L['n'].
  Result<Expr> source() {
    GuardSource out;
    std::string text = "L";
    PT2_TRY_VOID(expect("["));
    if (current_.kind != TokenKind::string) return unexpected("the name of an input");
    out.input = current_.text;
    text += fmt::format("['{}']", current_.text);
    PT2_TRY_VOID(advance());
    PT2_TRY_VOID(expect("]"));
    while (true) {
      if (out.input.size() > kMaxSourceBytes) {
        return Error{ErrorCode::limit,
                     fmt::format("the name of an input is longer than {} bytes", kMaxSourceBytes),
                     {}};
      }
      if (at("[")) {
        PT2_TRY_VOID(subscript(out.input, text));
      } else if (at(".")) {
        PT2_TRY_VOID(advance());
        if (current_.kind != TokenKind::name) return unexpected("an attribute");
        const std::string_view attribute = current_.text;
        PT2_TRY_VOID(advance());
        if (at("(")) {
          PT2_TRY_VOID(property(attribute, out, text));
          break;
        }
        out.input += fmt::format(".{}", attribute);
        text += fmt::format(".{}", attribute);
      } else {
        break;
      }
    }
    out.symbol = pool_.symbol(text);
    if (known_sources_.insert(out.symbol->symbol).second) guard_->push_back(out);
    return out.symbol;
  }

  // Parses ['key'] or [1]. Appends it to `input` in the spelling of user_input_names.
  Result<void> subscript(std::string& input, std::string& text) {
    PT2_TRY_VOID(advance());
    if (current_.kind == TokenKind::string) {
      input += is_word(current_.text) ? fmt::format(".{}", current_.text)
                                      : fmt::format("[{}]", print_json_string(current_.text));
      text += fmt::format("['{}']", current_.text);
    } else {
      PT2_TRY(int64_t index, subscript_index());
      input += fmt::format("[{}]", index);
      text += fmt::format("[{}]", index);
    }
    PT2_TRY_VOID(advance());
    return expect("]");
  }

  Result<int64_t> subscript_index() const {
    int64_t index = 0;
    const char* end = current_.text.data() + current_.text.size();
    const auto [last, error] = std::from_chars(current_.text.data(), end, index);
    if (current_.kind != TokenKind::number || error != std::errc() || last != end)
      return unexpected("a string or a whole number");
    return index;
  }

  // Parses the rest of a source: size()[0], stride()[0], storage_offset().
  Result<void> property(std::string_view method, GuardSource& out, std::string& text) {
    using Property = GuardSource::Property;
    if (method == "size" || method == "stride") {
      out.property = method == "size" ? Property::size : Property::stride;
    } else if (method == "storage_offset") {
      out.property = Property::storage_offset;
    } else {
      // Parsing continues, because the text after the method may show that this is not a guard.
      unsupported_ = method;
    }
    PT2_TRY_VOID(advance());
    PT2_TRY_VOID(expect(")"));
    text += fmt::format(".{}()", method);
    if (method != "size" && method != "stride") return {};
    PT2_TRY_VOID(expect("["));
    PT2_TRY(out.dim, subscript_index());
    text += fmt::format("[{}]", out.dim);
    PT2_TRY_VOID(advance());
    return expect("]");
  }

  // Parses math.ceil(x), math.inf, torch.sym_max(a, b), torch._sym_sqrt(x).
  Result<Expr> member(std::string_view module) {
    if (module != "math" && module != "torch") return unexpected("an expression");
    PT2_TRY_VOID(advance());
    if (current_.kind != TokenKind::name) return unexpected("a name");
    std::string_view name = current_.text;
    PT2_TRY_VOID(advance());
    if (at("(")) return python_call(name);
    if (module == "math" && name == "inf")
      return make({.op = ExprOp::infinity, .number = int64_t{1}, .name = "oo"});
    if (module == "math" && name == "nan")
      return make({.op = ExprOp::constant, .name = std::string(name)});
    return unexpected("a call");
  }

  // Parses a call of a Python function that PythonPrinter (torch/utils/_sympy/printers.py) and
  // ShapeGuardPythonPrinter use in expressions. They print any other function by its class name.
  Result<Expr> python_call(std::string_view name) {
    static constexpr std::pair<std::string_view, ExprOp> kPython[] = {
        {"max", ExprOp::maximum},         {"min", ExprOp::minimum},
        {"sym_max", ExprOp::maximum},     {"sym_min", ExprOp::minimum},
        {"abs", ExprOp::absolute},        {"floor", ExprOp::floor_to_int},
        {"ceil", ExprOp::ceil_to_int},    {"trunc", ExprOp::trunc_to_int},
        {"int", ExprOp::trunc_to_int},    {"sym_int", ExprOp::trunc_to_int},
        {"float", ExprOp::to_float},      {"sym_float", ExprOp::to_float},
        {"sym_not", ExprOp::logical_not}, {"sym_ite", ExprOp::where},
        {"pow", ExprOp::power},           {"round", ExprOp::round_to_int},
    };
    for (const auto& [python, op] : kPython) {
      if (python != name) continue;
      PT2_TRY_VOID(advance());
      PT2_TRY(std::vector<Expr> args, arguments());
      // round(x, digits) returns a float.
      const bool decimal = op == ExprOp::round_to_int && args.size() == 2;
      return make_checked(expr_function(decimal ? ExprOp::round_decimal : op), std::move(args));
    }
    if (name.starts_with("_sym_")) name.remove_prefix(5);
    // PyTorch's classes for math.sqrt and similar functions are OpaqueUnaryFn_sqrt and so on.
    if (const ExprFunction* known = find_expr_function(fmt::format("OpaqueUnaryFn_{}", name))) {
      PT2_TRY_VOID(advance());
      PT2_TRY(std::vector<Expr> args, arguments());
      return make_checked(*known, std::move(args));
    }
    return call(name);
  }

  Lexer lexer_;
  ExprPool& pool_;
  std::vector<GuardSource>* guard_;
  std::unordered_set<SymbolId> known_sources_;  // of guard_, which may be as many as the file has
  Token current_;
  size_t left_to_copy_;
  std::string_view unsupported_;  // a method of an input that this version does not know
  int depth_ = 0;
};

}  // namespace

Result<Expr> parse_expr(std::string_view text, ExprPool& pool) {
  return Parser(text, pool, nullptr).parse();
}

std::string evaluated_text(std::string_view text) {
  constexpr size_t kMaxBytes = 300;
  return fmt::format("; PyTorch evaluates it as Python: {}", printable(text, kMaxBytes));
}

Result<Guard> parse_guard(ExprPool& pool, std::string_view text) {
  Guard guard{.text = std::string(text)};
  PT2_TRY(guard.expr, Parser(text, pool, &guard.sources).parse());
  return guard;
}

}  // namespace pt2
