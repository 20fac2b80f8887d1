#include "pt2/ir/guards.h"

#include <fmt/format.h>

#include <unordered_map>

#include "ir/number.h"
#include "ir/symbols/symbols_internal.h"

namespace pt2 {
namespace {

std::string_view relation_words(ExprOp op) {
  switch (op) {
    case ExprOp::equal:
      return "must equal";
    case ExprOp::not_equal:
      return "must not equal";
    case ExprOp::less:
      return "must be less than";
    case ExprOp::less_equal:
      return "must be at most";
    case ExprOp::greater:
      return "must be greater than";
    case ExprOp::greater_equal:
      return "must be at least";
    default:
      return {};
  }
}

// Returns the text of one side of a relation. A text of several words gets parentheses inside a
// larger expression.
std::string side_text(const Guard& guard, Expr expr) {
  // A guard may have as many sources as the file has room for, so they are not searched each time.
  std::unordered_map<SymbolId, const GuardSource*> sources;
  for (const GuardSource& source : guard.sources) sources.emplace(source.symbol->symbol, &source);
  const auto source_text = [&](Expr symbol) {
    const auto source = sources.find(symbol->symbol);
    return source == sources.end() ? symbol->name : print(*source->second);
  };
  if (expr.is_symbol()) return source_text(expr);
  return print_expr(expr, [&](Expr symbol) {
    const std::string text = source_text(symbol);
    return text.find(' ') == std::string::npos ? text : "(" + text + ")";
  });
}

// Truncates a guard's text, which may have any length in a file.
std::string shortened(std::string text) {
  constexpr size_t kShownBytes = 500;
  if (text.size() <= kShownBytes) return text;
  size_t end = kShownBytes;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;  // keeps UTF-8 characters whole
  return fmt::format("{}... ({} bytes)", text.substr(0, end), text.size());
}

}  // namespace

Result<bool> evaluate(const Guard& guard, const GuardLookup& lookup) {
  SymbolBindings bindings;
  for (const GuardSource& source : guard.sources) {
    const std::optional<Number> value = lookup(source);
    if (!value)
      return Error{ErrorCode::unsupported, fmt::format("the call has no {}", print(source)), {}};
    bindings.bind(source.symbol->symbol, *value);
  }
  PT2_TRY(Number value, evaluate(guard.expr, bindings));
  if (const auto* holds = std::get_if<bool>(&value)) return *holds;
  return Error{ErrorCode::invalid, "the guard is not a condition", {}};
}

Result<void> check_guard(const Guard& guard, const GuardLookup& lookup) {
  Result<bool> holds = evaluate(guard, lookup);
  if (!holds && holds.error().code != ErrorCode::invalid) return std::move(holds).error();
  if (holds && *holds) return {};
  std::string found;
  for (const GuardSource& source : guard.sources)
    found += fmt::format("{} {} is {}", found.empty() ? ", but" : ",", print(source),
                         print(*lookup(source)));
  return Error{ErrorCode::argument,
               fmt::format("guard failed: {}{}{}", shortened(print(guard)),
                           shortened(std::move(found)), holds ? "" : ": " + holds.error().message),
               {}};
}

std::string print(const GuardSource& source) {
  switch (source.property) {
    case GuardSource::Property::value:
      return source.input;
    case GuardSource::Property::size:
      return fmt::format("size {} of {}", source.dim, source.input);
    case GuardSource::Property::stride:
      return fmt::format("stride {} of {}", source.dim, source.input);
    case GuardSource::Property::storage_offset:
      return fmt::format("storage offset of {}", source.input);
  }
  return {};
}

std::string print(const Guard& guard) {
  const std::string_view words = relation_words(guard.expr->op);
  if (words.empty()) return side_text(guard, guard.expr) + " must hold";
  return fmt::format("{} {} {}", side_text(guard, guard.expr->args[0]), words,
                     side_text(guard, guard.expr->args[1]));
}

}  // namespace pt2
