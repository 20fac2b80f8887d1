// One grammar for sympy's str ("s0 + 1", "(s0//2)", "Eq(u0, 4)") and srepr ("Add(Symbol('s0', ...),
// Integer(1))"): Python expressions made of operators, calls, numbers and names. Attributes,
// subscripts and anything else of Python are not in it, so a file cannot make us do more than build
// a tree.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "ir/number.h"
#include "ir/symbols_internal.h"

namespace pt2 {
namespace {

enum class TokenKind : uint8_t { end, name, number, string, punctuation };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;  // strings: without the quotes
  size_t position = 0;
};

bool is_name_start(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<Token> next() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n'))
      ++position_;
    const size_t start = position_;
    if (start == text_.size()) return Token{TokenKind::end, {}, start};
    const char c = text_[start];
    if (is_name_start(c)) {
      while (position_ < text_.size() &&
             (is_name_start(text_[position_]) || is_digit(text_[position_])))
        ++position_;
      return token(TokenKind::name, start);
    }
    if (is_digit(c)) return number(start);
    if (c == '\'' || c == '"') return string(start, c);
    for (std::string_view symbol : {"**", "//", "<=", ">=", "==", "!=", "<<", ">>"}) {
      if (text_.substr(start, 2) == symbol)
        return position_ += 2, token(TokenKind::punctuation, start);
    }
    if (std::string_view("+-*/%()<>&|~,=").find(c) != std::string_view::npos) {
      return ++position_, token(TokenKind::punctuation, start);
    }
    return Error{ErrorCode::malformed,
                 fmt::format("found '{}' at character {} of an expression", c, start),
                 {}};
  }

 private:
  Token token(TokenKind kind, size_t start) const {
    return {kind, text_.substr(start, position_ - start), start};
  }

  Token number(size_t start) {
    const auto skip_digits = [&] {
      while (position_ < text_.size() && is_digit(text_[position_])) ++position_;
    };
    skip_digits();
    if (position_ < text_.size() && text_[position_] == '.') ++position_, skip_digits();
    if (position_ < text_.size() && (text_[position_] == 'e' || text_[position_] == 'E')) {
      size_t digits = position_ + 1;
      if (digits < text_.size() && (text_[digits] == '+' || text_[digits] == '-')) ++digits;
      if (digits < text_.size() && is_digit(text_[digits])) position_ = digits, skip_digits();
    }
    return token(TokenKind::number, start);
  }

  Result<Token> string(size_t start, char quote) {
    const size_t end = text_.find(quote, start + 1);
    const std::string_view content =
        text_.substr(start + 1, end == std::string_view::npos ? end : end - start - 1);
    if (end == std::string_view::npos || content.find('\\') != std::string_view::npos) {
      return Error{ErrorCode::malformed,
                   fmt::format("bad string at character {} of an expression", start),
                   {}};
    }
    position_ = end + 1;
    return Token{TokenKind::string, content, start};
  }

  std::string_view text_;
  size_t position_ = 0;
};

// Python's precedences of binary operators; 0: not one of them.
struct BinaryOperator {
  std::string_view text;
  int precedence;
};
constexpr BinaryOperator kBinaryOperators[] = {
    {"or", 1}, {"and", 2}, {"<", 4}, {"<=", 4}, {">", 4},  {">=", 4},
    {"==", 4}, {"!=", 4},  {"|", 5}, {"&", 6},  {"<<", 7}, {">>", 7},
    {"+", 8},  {"-", 8},   {"*", 9}, {"/", 9},  {"//", 9}, {"%", 9},
};
constexpr int kNotPrecedence = 3;
constexpr int kUnaryPrecedence = 10;

int precedence_of(const Token& token) {
  if (token.kind != TokenKind::punctuation && token.kind != TokenKind::name) return 0;
  for (const BinaryOperator& op : kBinaryOperators) {
    if (op.text == token.text) return op.precedence;
  }
  return 0;
}

class Parser {
 public:
  Parser(std::string_view text, ExprPool& pool) : lexer_(text), pool_(pool) {}

  Result<Expr> parse() {
    PT2_TRY_VOID(advance());
    PT2_TRY(Expr expr, binary(1));
    if (current_.kind != TokenKind::end) return unexpected("the end");
    return expr;
  }

 private:
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
    const ExprOp op = std::holds_alternative<double>(number)     ? ExprOp::floating
                      : std::holds_alternative<bool>(number)     ? ExprOp::boolean
                      : std::holds_alternative<Rational>(number) ? ExprOp::rational
                                                                 : ExprOp::integer;
    return make({.op = op, .number = number});
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
    PT2_TRY(Expr minus_one, literal(int64_t{-1}));
    return make(ExprOp::multiply, {minus_one, operand});
  }

  Result<Expr> quotient(Expr left, Expr right) {
    if (const Number* divisor = literal_of(right)) {
      PT2_TRY(Number inverse, divide(Number(int64_t{1}), *divisor));
      if (const Number* dividend = literal_of(left)) {
        PT2_TRY(Number value, multiply(*dividend, inverse));
        return literal(value);
      }
      PT2_TRY(Expr factor, literal(inverse));
      return make(ExprOp::multiply, {factor, left});
    }
    PT2_TRY(Expr minus_one, literal(int64_t{-1}));
    PT2_TRY(Expr reciprocal, make(ExprOp::power, {right, minus_one}));
    return make(ExprOp::multiply, {left, reciprocal});
  }

  // + and its like take any number of operands, as in sympy; nothing for the others.
  static std::optional<ExprOp> flat_operator(std::string_view op) {
    if (op == "+" || op == "-") return ExprOp::add;
    if (op == "*") return ExprOp::multiply;
    if (op == "&" || op == "and") return ExprOp::logical_and;
    if (op == "|" || op == "or") return ExprOp::logical_or;
    return std::nullopt;
  }

  Result<Expr> combine(std::string_view op, Expr left, Expr right) {
    if (op == "/") return quotient(left, right);
    static constexpr std::pair<std::string_view, ExprOp> kPlain[] = {
        {"//", ExprOp::floor_div},   {"%", ExprOp::python_mod},     {"<<", ExprOp::left_shift},
        {">>", ExprOp::right_shift}, {"<", ExprOp::less},           {"<=", ExprOp::less_equal},
        {">", ExprOp::greater},      {">=", ExprOp::greater_equal}, {"==", ExprOp::equal},
        {"!=", ExprOp::not_equal},
    };
    for (const auto& [text, plain] : kPlain) {
      if (text == op) return make(plain, {left, right});
    }
    return unexpected("an operator");
  }

  // The operands of one flat operator so far; the node is made when another operator follows, so
  // that a sum of n terms costs n.
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
    if (at("~") || (current_.kind == TokenKind::name && current_.text == "not")) {
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

  Result<Expr> primary() {
    const Token token = current_;
    if (token.kind == TokenKind::number) {
      PT2_TRY_VOID(advance());
      return number(token.text);
    }
    if (token.kind == TokenKind::name) {
      PT2_TRY_VOID(advance());
      return at("(") ? call(token.text) : name(token.text);
    }
    if (!at("(")) return unexpected("an expression");
    PT2_TRY_VOID(advance());
    PT2_TRY(Expr inner, binary(1));
    if (at(",")) return pair(inner);
    PT2_TRY_VOID(expect(")"));
    return inner;
  }

  // "(value, condition)" of a Piecewise.
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
    return make({.op = ExprOp::symbol, .name = std::string(text)});
  }

  Result<Expr> number(std::string_view text) {
    if (text.find_first_of(".eE") != std::string_view::npos) return float_literal(text);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    // Python's integers have no end; one beyond int64 is kept, but cannot be computed with.
    if (error == std::errc::result_out_of_range)
      return make({.op = ExprOp::opaque, .name = std::string(text)});
    if (error != std::errc() || end != text.data() + text.size()) {
      return Error{ErrorCode::malformed, fmt::format("'{}' is not a number", text), {}};
    }
    return literal(value);
  }

  Result<Expr> float_literal(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
      return Error{ErrorCode::malformed, fmt::format("'{}' is not a float", text), {}};
    }
    return literal(value);
  }

  // Symbol('s77', positive=True, integer=True), Float('2.5', precision=53), Function('f')(x): a
  // string, then assumptions, which PyTorch derives from the symbol's name and nothing here depends
  // on.
  Result<std::string_view> string_argument() {
    if (current_.kind != TokenKind::string) return unexpected("a string");
    const std::string_view text = current_.text;
    PT2_TRY_VOID(advance());
    while (at(",")) {
      PT2_TRY_VOID(advance());
      if (current_.kind != TokenKind::name) return unexpected("an assumption");
      PT2_TRY_VOID(advance());
      PT2_TRY_VOID(expect("="));
      if (current_.kind != TokenKind::name && current_.kind != TokenKind::number)
        return unexpected("a value");
      PT2_TRY_VOID(advance());
    }
    PT2_TRY_VOID(expect(")"));
    return text;
  }

  Result<Expr> call(std::string_view function) {
    PT2_TRY_VOID(advance());
    if (function == "Symbol" || function == "Dummy") {
      PT2_TRY(std::string_view symbol, string_argument());
      return make({.op = ExprOp::symbol, .name = std::string(symbol)});
    }
    if (function == "Float") {
      PT2_TRY(std::string_view text, string_argument());
      return float_literal(text);
    }
    if (function == "Function") {
      PT2_TRY(std::string_view named, string_argument());
      PT2_TRY_VOID(expect("("));
      return apply(named);
    }
    return apply(function);
  }

  Result<Expr> apply(std::string_view function) {
    std::vector<Expr> args;
    while (!at(")")) {
      PT2_TRY(Expr arg, binary(1));
      args.push_back(arg);
      if (at(")")) break;
      PT2_TRY_VOID(expect(","));
    }
    PT2_TRY_VOID(advance());
    if (function == "Integer" || function == "Rational") return exact_number(function, args);
    const ExprFunction* known = find_expr_function(function);
    if (known == nullptr)
      return make({.op = ExprOp::opaque, .name = std::string(function), .args = std::move(args)});
    const int count = static_cast<int>(args.size());
    if (count < known->min_arguments ||
        (known->max_arguments >= 0 && count > known->max_arguments)) {
      return Error{ErrorCode::malformed, fmt::format("{} arguments for {}", count, function), {}};
    }
    return make(known->op, std::move(args));
  }

  Result<Expr> exact_number(std::string_view function, const std::vector<Expr>& args) {
    const size_t wanted = function == "Integer" ? 1 : 2;
    if (args.size() == 1 && wanted == 1 && args[0]->op == ExprOp::opaque && args[0]->args.empty())
      return args[0];
    for (Expr arg : args) {
      if (arg->op != ExprOp::integer || args.size() != wanted) {
        return Error{
            ErrorCode::malformed, fmt::format("{} of something that is no number", function), {}};
      }
    }
    if (args.size() != wanted)
      return Error{ErrorCode::malformed, fmt::format("{} without numbers", function), {}};
    if (wanted == 1) return args[0];
    PT2_TRY(Number value, divide(args[0]->number, args[1]->number));
    return literal(value);
  }

  Lexer lexer_;
  ExprPool& pool_;
  Token current_;
  int depth_ = 0;
};

}  // namespace

Result<Expr> parse_expr(std::string_view text, ExprPool& pool) {
  return Parser(text, pool).parse();
}

}  // namespace pt2
