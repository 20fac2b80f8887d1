// Rewrites symbolic sizes and their ranges: spelling, names, bounds.
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "convert/converter.h"
#include "ir/version_facts.h"
#include "ir/walk.h"
#include "pt2/ir/expr_rewrite.h"
#include "pt2/ir/guards.h"

namespace pt2 {
namespace {

// Replaces every symbolic number of a program by the result of `respell` for its expression.
class ExpressionEditor {
 public:
  using Respell = std::function<Result<const SpelledExpr*>(const SpelledExpr&)>;
  explicit ExpressionEditor(Respell respell) : respell_(std::move(respell)) {}

  Result<void> edit(Graph& graph) {
    return change_numbers(graph, [&]<class T>(Symbolic<T>& number) -> Result<void> {
      if (!number.is_symbolic()) return {};
      PT2_TRY(const SpelledExpr* spelled, edit(number.spelled()));
      number = Symbolic<T>(spelled, number.hint());
      return {};
    });
  }
  Result<const SpelledExpr*> edit(const SpelledExpr* spelled) {
    const auto [found, is_new] = done_.try_emplace(spelled, nullptr);
    if (is_new) {
      PT2_TRY(const SpelledExpr* respelled, respell_(*spelled));
      done_[spelled] = respelled;
      changed_ |= respelled != spelled;
      return respelled;
    }
    return found->second;
  }
  bool changed() const { return changed_; }

 private:
  Respell respell_;
  std::unordered_map<const SpelledExpr*, const SpelledExpr*> done_;
  bool changed_ = false;
};

// Returns the assumptions in the spelling of a symbol. str writes none. srepr writes those with
// which the shape environment creates the symbol (torch/fx/experimental/symbolic_shapes.py,
// create_symbol, create_unbacked_symint).
std::string_view assumptions_of(std::string_view symbol) {
  if (symbol.starts_with("zf") || symbol.starts_with("zuf")) return "real=True";
  return symbol.starts_with("s") ? "positive=True, integer=True" : "integer=True";
}

constexpr int64_t kClamped = std::numeric_limits<int64_t>::max() - 1;

// Blocks a range of an input size below 2, or raises its lower bound to 2 if that loss is accepted.
// The reader up to 2.3 asks whether a size is 0 or 1, and fails if the range does not decide that
// (torch/fx/experimental/symbolic_shapes.py, evaluate_expr).
void keep_from_small_sizes(Converter& converter, RangeConstraint& constraint) {
  constexpr int64_t kSmallest = 2;
  const Expr key = constraint.key->expr;
  if (!key.is_symbol() || !key->name.starts_with('s')) return;
  if (constraint.range.min && *constraint.range.min >= kSmallest) return;
  if (converter.block({.kind = BlockerKind::small_size,
                       .text = "the range of " + key->name + " has sizes below 2",
                       .where = ".range_constraints." + key->name,
                       .first = find_release("2.4")}))
    constraint.range.min = kSmallest;
}

// True if the name is the letter followed by digits, such as i0 or u0.
bool is_numbered(std::string_view name, char letter) {
  return name.size() > 1 && name[0] == letter &&
         name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

}  // namespace

Result<void> rewrite_symbol_names(Converter& converter) {
  const bool up = converter.rises_to(200);
  if (!up && !converter.falls_below(200)) return {};
  const char old_letter = up ? 'i' : 'u', new_letter = up ? 'u' : 'i';
  ExprPool& pool = *converter.program.expressions;
  std::vector<std::pair<SymbolId, Expr>> replacements;
  for (size_t i = 0, count = pool.symbol_count(); i < count; ++i) {
    const SymbolId id{static_cast<uint32_t>(i)};
    std::string name = pool.symbol_name(id);
    if (!is_numbered(name, old_letter)) continue;
    name[0] = new_letter;
    replacements.emplace_back(id, pool.symbol(name));
  }
  if (replacements.empty()) return {};
  const auto rename = [&](const SpelledExpr& spelled,
                          ExprSpelling spelling) -> Result<const SpelledExpr*> {
    PT2_TRY(const Expr renamed, substitute(pool, spelled.expr, replacements));
    if (renamed == spelled.expr) return &spelled;
    return pool.parse(print_expr(renamed, spelling));
  };
  ExpressionEditor editor([&](const SpelledExpr& spelled) {
    return rename(spelled, expression_spelling(converter.from));
  });
  PT2_TRY_VOID(editor.edit(converter.program.graph));
  converter.changed = editor.changed();
  for (RangeConstraint& constraint : converter.program.range_constraints) {
    const SpelledExpr* before = constraint.key;
    // Every release writes str(symbol) here.
    PT2_TRY(constraint.key, rename(*before, ExprSpelling::str));
    converter.changed |= constraint.key != before;
  }
  return {};
}

Result<void> rewrite_expressions(Converter& converter) {
  const ExprSpelling spelling = expression_spelling(converter.to);
  if (spelling == expression_spelling(converter.from)) return {};
  ExprPool& pool = *converter.program.expressions;
  ExpressionEditor editor([&](const SpelledExpr& spelled) {
    for (const SymbolId id : free_symbols(spelled.expr)) {
      const std::string name = pool.symbol_name(id);
      if (spelling == ExprSpelling::srepr) pool.symbol(name, assumptions_of(name));
    }
    return pool.parse(print_expr(spelled.expr, spelling));
  });
  PT2_TRY_VOID(editor.edit(converter.program.graph));
  converter.changed = editor.changed();
  return {};
}

Result<void> rewrite_ranges(Converter& converter) {
  using enum Release::Unbounded;
  const bool was_clamped = converter.source.unbounded == clamped;
  const bool is_clamped = converter.target.release->unbounded == clamped;
  constexpr int kLastWithoutSmallSizes = 203;
  const bool has_small_sizes = converter.target.release->number > kLastWithoutSmallSizes;
  for (RangeConstraint& constraint : converter.program.range_constraints) {
    SymRange& range = constraint.range;
    const SymRange before = range;
    if (!has_small_sizes) keep_from_small_sizes(converter, constraint);
    if (was_clamped && range.max == kClamped) range.max = std::nullopt;
    // A bound beyond those that stand for infinity must not leave the range empty.
    if (is_clamped && !range.max) range.max = std::max(kClamped, range.min.value_or(kClamped));
    if (is_clamped && !range.min) range.min = std::min(-kClamped - 1, *range.max);
    converter.changed |= range != before;
  }
  return {};
}

}  // namespace pt2
