#include "text/expressions.h"

#include <fmt/format.h>

#include <bit>

#include "base/text.h"
#include "ir/number.h"
#include "text/vocabulary.h"

namespace pt2 {

template <>
std::optional<int64_t> parse_literal(std::string_view text) {
  return parse_int(text);
}
template <>
std::optional<double> parse_literal(std::string_view text) {
  const auto number = parse_float(text);
  return number ? number : parse_non_finite(text);
}
template <>
std::optional<bool> parse_literal(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

template <>
void append_literal(std::string& out, int64_t value) {
  append_int(out, value);
}
template <>
void append_literal(std::string& out, double value) {
  append_float(out, value);
}
template <>
void append_literal(std::string& out, bool value) {
  out += value ? "true" : "false";
}

namespace {

constexpr std::string_view kOperatorCharacters = "+-*/%<>!&|~ ";

template <class T>
bool is_literal(std::string_view text) {
  return parse_literal<T>(text).has_value();
}

// True if a text is a number of any kind. Such an unquoted text is never an expression, so the
// expected kind of number does not matter here.
bool is_any_literal(std::string_view text) {
  return is_literal<int64_t>(text) || is_literal<double>(text) || is_literal<bool>(text);
}

bool can_stand_alone(std::string_view text) {
  return !text.empty() && text.front() != ' ' && text.back() != ' ' &&
         expression_length(text) == text.size() && !is_any_literal(text);
}

std::string number_text(const Number& number) {
  std::string out;
  std::visit(
      [&]<class T>(const T& value) {
        if constexpr (!std::is_same_v<T, Rational>) append_literal(out, value);
      },
      number);
  return out;
}

template <class T>
bool is_same(const std::optional<T>& a, const std::optional<T>& b) {
  if constexpr (std::is_same_v<T, double>)
    return a && b ? std::bit_cast<uint64_t>(*a) == std::bit_cast<uint64_t>(*b) : a == b;
  return a == b;
}

// Returns "positive, integer" for "positive=True, integer=True"; other texts in quotes.
std::string assumptions_text(std::string_view assumptions) {
  std::string words, rebuilt;
  for (size_t at = 0; at < assumptions.size();) {
    const size_t end = assumptions.find('=', at);
    const std::string_view word = assumptions.substr(at, end - at);
    if (!is_dotted_word(word)) return print_json_string(assumptions);
    words += fmt::format("{}{}", words.empty() ? "" : ", ", word);
    rebuilt += fmt::format("{}{}=True", rebuilt.empty() ? "" : ", ", word);
    at = rebuilt.size() + 2;
  }
  return rebuilt == assumptions ? words : print_json_string(assumptions);
}

}  // namespace

size_t expression_length(std::string_view text) {
  const auto is_comparison = [&](size_t i) {
    return text.substr(i + 1, 1) == "=" ||
           (i > 0 && std::string_view("<>=!").find(text[i - 1]) != std::string_view::npos);
  };
  size_t depth = 0, i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(') ++depth;
    const bool is_part = is_word_part(c) || c == '(' || (c == ')' && depth > 0) ||
                         (c == ',' && depth > 0) || (c == '=' && is_comparison(i)) ||
                         kOperatorCharacters.find(c) != std::string_view::npos;
    if (!is_part) break;
    if (c == ')') --depth;
  }
  return i;
}

std::optional<Number> usual_hint(Expr expr, const SymbolBindings& hints) {
  auto value = evaluate(expr, hints);
  return value ? std::optional(*value) : std::nullopt;
}

void ExpressionPrinter::note(const SpelledExpr* expression) {
  if (!noted_.insert(expression).second) return;
  for (const SymbolId id : free_symbols(expression->expr)) {
    const auto index = static_cast<size_t>(id);
    if (index >= is_declared_.size()) is_declared_.resize(index + 1);
    if (is_declared_[index]) continue;
    is_declared_[index] = true;
    symbols_.push_back(pool_.symbol_name(id));
    scratch_.symbol(symbols_.back(), pool_.symbol(symbols_.back())->assumptions->text());
  }
}

template <class T>
void ExpressionPrinter::note(const Symbolic<T>& value) {
  if (!value.is_symbolic()) return;
  note(value.spelled());
  const Expr expr = value.expr();
  if (value.hint() && expr.is_symbol() && hints_.find(expr->symbol) == nullptr)
    hints_.bind(expr->symbol, *value.hint());
}

void ExpressionPrinter::append_symbols(std::string& out) {
  for (const std::string& name : symbols_) {
    const Expr symbol = pool_.symbol(name);
    out += fmt::format("  symbol {}", is_dotted_word(name) ? name : print_json_string(name));
    if (const Number* hint = hints_.find(symbol->symbol)) out += " = " + number_text(*hint);
    if (const std::string_view text = symbol->assumptions->text(); !text.empty())
      out += fmt::format(" ({})", assumptions_text(text));
    out += '\n';
  }
}

std::optional<std::string> ExpressionPrinter::without_quotes(const SpelledExpr& expression,
                                                             ExprSpelling spelling) {
  if (spelling == ExprSpelling::str)
    return can_stand_alone(expression.text) ? std::optional(expression.text) : std::nullopt;
  std::string text = print_expr(expression.expr);
  if (!can_stand_alone(text)) return std::nullopt;
  const auto parsed = scratch_.parse(text);
  const bool same = parsed && print_expr((*parsed)->expr, ExprSpelling::srepr) == expression.text;
  return same ? std::optional(std::move(text)) : std::nullopt;
}

auto ExpressionPrinter::printed(const SpelledExpr& expression) -> const Printed& {
  const auto [entry, is_new] = printed_.try_emplace(&expression);
  if (is_new) {
    auto text = without_quotes(expression, spelling_);
    entry->second = {text ? *std::move(text) : print_json_string(expression.text),
                     usual_hint(expression.expr, hints_)};
  }
  return entry->second;
}

template <class T>
void ExpressionPrinter::append(std::string& out, const Symbolic<T>& value) {
  if (!value.is_symbolic()) return append_literal(out, value.literal());
  const Printed& expression = printed(*value.spelled());
  out += expression.text;
  const std::optional<T> hint = value.hint();
  if (is_same(hint, hint_as<T>(expression.hint))) return;
  out += '{';
  if (hint) append_literal(out, *hint);
  out += '}';
}

void ExpressionPrinter::append_key(std::string& out, const SpelledExpr& key) {
  const auto text = without_quotes(key, ExprSpelling::str);
  out += text ? *text : print_json_string(key.text);
}

Result<void> ExpressionReader::declare(std::string_view name, std::string_view assumptions,
                                       std::optional<Number> hint) {
  if (!declared_.emplace(name).second)
    return Error{ErrorCode::invalid, fmt::format("the symbol '{}' is declared twice", name), {}};
  scratch_.symbol(name, assumptions);
  const Expr symbol = pool_.symbol(name, assumptions);
  if (hint) hints_.bind(symbol->symbol, *hint);
  return {};
}

Result<void> ExpressionReader::check_declared(Expr expr, const ExprPool& pool) const {
  for (const SymbolId id : free_symbols(expr)) {
    const std::string name = pool.symbol_name(id);
    if (!declared_.contains(name))
      return Error{ErrorCode::invalid, fmt::format("no symbol '{}' is declared", name), {}};
  }
  return {};
}

Result<const SpelledExpr*> ExpressionReader::read(std::string_view text) {
  const SpelledExpr*& known = read_[std::string(text)];
  if (known != nullptr) return known;
  if (spelling_ == ExprSpelling::str) {
    PT2_TRY(known, read_key(text));
  } else {
    PT2_TRY(const SpelledExpr* parsed, scratch_.parse(text));
    PT2_TRY_VOID(check_declared(parsed->expr, scratch_));
    PT2_TRY(known, pool_.parse(print_expr(parsed->expr, ExprSpelling::srepr)));
  }
  return known;
}

Result<const SpelledExpr*> ExpressionReader::read_key(std::string_view text) {
  PT2_TRY(const SpelledExpr* parsed, pool_.parse(text));
  PT2_TRY_VOID(check_declared(parsed->expr, pool_));
  return parsed;
}

std::optional<Number> ExpressionReader::hint(const SpelledExpr* expression) {
  const auto [entry, is_new] = usual_hints_.try_emplace(expression);
  if (is_new) entry->second = usual_hint(expression->expr, hints_);
  return entry->second;
}

template void ExpressionPrinter::note(const SymInt&);
template void ExpressionPrinter::note(const SymFloat&);
template void ExpressionPrinter::note(const SymBool&);
template void ExpressionPrinter::append(std::string&, const SymInt&);
template void ExpressionPrinter::append(std::string&, const SymFloat&);
template void ExpressionPrinter::append(std::string&, const SymBool&);

}  // namespace pt2
