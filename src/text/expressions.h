// Symbolic numbers in the text form: "s77 + 1" if this means the same as the file's own text, else
// the file's text in quotes. "{4}" follows if the hint differs from the value computed from the
// symbols' hints.
#ifndef PT2_TEXT_EXPRESSIONS_H
#define PT2_TEXT_EXPRESSIONS_H

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/hash/text_hash.h"
#include "pt2/ir/symbols.h"
#include "pt2/result.h"

namespace pt2 {

// Returns the length of the unquoted expression at the start of `text`.
size_t expression_length(std::string_view text);

// Parses "3", "-0.5", "inf", "true"; nullopt for other texts.
template <class T>
std::optional<T> parse_literal(std::string_view text);
template <class T>
void append_literal(std::string& out, T value);

// Returns the hint of an expression, computed from the hints of its symbols; nullopt if a hint is
// missing or the computation fails.
std::optional<Number> usual_hint(Expr expr, const SymbolBindings& hints);
template <class T>
std::optional<T> hint_as(const std::optional<Number>& hint) {
  const T* value = hint ? std::get_if<T>(&*hint) : nullptr;
  return value ? std::optional<T>(*value) : std::nullopt;
}

class ExpressionPrinter {
 public:
  ExpressionPrinter(ExprPool& pool, ExprSpelling spelling) : pool_(pool), spelling_(spelling) {}

  // Must be called with every expression before the first is printed. Symbols are declared in the
  // order of these calls, each with the hint of the first value that is just the symbol.
  void note(const SpelledExpr* expression);
  template <class T>
  void note(const Symbolic<T>& value);
  // Appends "  symbol s77 = 4 (positive, integer)" for each symbol.
  void append_symbols(std::string& out);

  template <class T>
  void append(std::string& out, const Symbolic<T>& value);
  // Appends the key of a range, always in sympy's str spelling.
  void append_key(std::string& out, const SpelledExpr& key);

 private:
  struct Printed {
    std::string text;
    std::optional<Number> hint;
  };
  const Printed& printed(const SpelledExpr& expression);
  std::optional<std::string> without_quotes(const SpelledExpr& expression, ExprSpelling spelling);

  ExprPool& pool_;
  ExprSpelling spelling_;
  ExprPool scratch_;  // imitates the state of a parser of the text
  std::vector<std::string> symbols_;
  SymbolBindings hints_;
  std::vector<bool> is_declared_;  // by SymbolId
  std::unordered_set<const SpelledExpr*> noted_;
  std::unordered_map<const SpelledExpr*, Printed> printed_;
};

class ExpressionReader {
 public:
  ExpressionReader(ExprPool& pool, ExprSpelling spelling) : pool_(pool), spelling_(spelling) {}

  // Error `invalid` if the symbol is already declared.
  Result<void> declare(std::string_view name, std::string_view assumptions,
                       std::optional<Number> hint);
  // Errors: malformed, limit, and invalid for an undeclared symbol.
  Result<const SpelledExpr*> read(std::string_view text);
  Result<const SpelledExpr*> read_key(std::string_view text);
  // Reads a file's own text, which was in quotes.
  Result<const SpelledExpr*> read_quoted(const std::string& text) { return pool_.parse(text); }
  std::optional<Number> hint(const SpelledExpr* expression);

 private:
  Result<void> check_declared(Expr expr, const ExprPool& pool) const;

  ExprPool& pool_;
  ExprSpelling spelling_;
  ExprPool scratch_;
  TextSet<std::string> declared_;
  SymbolBindings hints_;
  TextMap<std::string, const SpelledExpr*> read_;
  std::unordered_map<const SpelledExpr*, std::optional<Number>> usual_hints_;
};

}  // namespace pt2

#endif  // PT2_TEXT_EXPRESSIONS_H
