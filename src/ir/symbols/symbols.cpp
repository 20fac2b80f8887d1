#include "pt2/ir/symbols.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <unordered_set>

#include "base/check.h"
#include "base/hash/text_hash.h"
#include "ir/number.h"
#include "ir/symbols/expr_kind.h"
#include "ir/symbols/symbols_internal.h"

namespace pt2 {
namespace {

void mix(size_t& hash, size_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
}

// Names are hashed with a key, because a file chooses them.
size_t hash_node(const ExprNode& node, uint64_t key) {
  size_t hash = static_cast<size_t>(node.op);
  mix(hash, node.number.index());
  if (const auto* rational = std::get_if<Rational>(&node.number)) {
    mix(hash, std::hash<int64_t>()(rational->numerator));
    mix(hash, std::hash<int64_t>()(rational->denominator));
  } else {
    mix(hash, std::hash<double>()(to_double(node.number)));
  }
  if (!node.name.empty()) mix(hash, static_cast<size_t>(hash_text(node.name, key)));
  for (Expr arg : node.args) mix(hash, std::hash<const void*>()(arg.operator->()));
  return hash;
}

bool same_node(const ExprNode& a, const ExprNode& b) {
  return a.op == b.op && a.number == b.number && a.name == b.name && a.args == b.args;
}

size_t add_saturating(size_t a, size_t b) {
  return a > std::numeric_limits<size_t>::max() - b ? std::numeric_limits<size_t>::max() : a + b;
}

constexpr ExprFunction kFunctions[] = {
#define PT2_EXPR_FUNCTION(op, name, min_arguments, max_arguments) \
  {ExprOp::op, name, min_arguments, max_arguments},
#include "pt2/ir/expr.def"
};

struct Alias {
  std::string_view name;
  ExprOp op;
};
constexpr Alias kAliases[] = {
#define PT2_EXPR_FUNCTION(op, name, min_arguments, max_arguments)
#define PT2_EXPR_ALIAS(op, name) {name, ExprOp::op},
#include "pt2/ir/expr.def"
};

void collect_symbols(Expr expr, std::unordered_set<uint32_t>& seen, std::vector<SymbolId>& found) {
  if (expr->op == ExprOp::symbol && seen.insert(static_cast<uint32_t>(expr->symbol)).second) {
    found.push_back(expr->symbol);
  }
  for (Expr arg : expr->args) collect_symbols(arg, seen, found);
}

}  // namespace

const ExprFunction& expr_function(ExprOp op) {
  const auto index = static_cast<size_t>(op) - static_cast<size_t>(kFunctions[0].op);
  PT2_CHECK(index < std::size(kFunctions));
  return kFunctions[index];
}

const ExprFunction* find_expr_function(std::string_view name) {
  for (const ExprFunction& function : kFunctions) {
    if (function.name == name) return &function;
  }
  for (const Alias& alias : kAliases) {
    if (alias.name == name) return &expr_function(alias.op);
  }
  return nullptr;
}

bool Expr::is_symbol() const { return node_ != nullptr && node_->op == ExprOp::symbol; }

Expr ExprPool::intern(ExprNode node) {
  const std::lock_guard lock(mutex_);
  return intern_locked(std::move(node));
}

Expr ExprPool::intern_locked(ExprNode node) {
  for (Expr arg : node.args) {
    node.depth = std::max(node.depth, arg->depth + 1);
    node.size = add_saturating(node.size, arg->size);
  }
  PT2_CHECK(node.depth <= kMaxDepth);
  const size_t hash = hash_node(node, key_);
  const auto [first, last] = index_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (same_node(*it->second, node)) return Expr(it->second);
  }
  if (node.op == ExprOp::symbol) {
    node.symbol = static_cast<SymbolId>(symbols_.size());
    node.assumptions = &assumptions_.emplace_back();
  }
  nodes_.push_back(std::move(node));
  const ExprNode* stored = &nodes_.back();
  if (stored->op == ExprOp::symbol) symbols_.push_back(stored);
  index_.emplace(hash, stored);
  return Expr(stored);
}

Expr ExprPool::symbol(std::string_view name, std::string_view assumptions) {
  const std::lock_guard lock(mutex_);
  const Expr symbol = intern_locked({.op = ExprOp::symbol, .name = std::string(name)});
  SymbolAssumptions& known = assumptions_[static_cast<size_t>(symbol->symbol)];
  if (!assumptions.empty() && known.text().empty())
    known.text_.store(&assumption_texts_.emplace_back(assumptions), std::memory_order_release);
  return symbol;
}

ExprPool::ExprPool() : key_(unforeseen_key(this)) {}
ExprPool::~ExprPool() = default;

Result<const SpelledExpr*> ExprPool::parse(std::string_view text) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = spelled_.find(text);
    if (found != spelled_.end()) return static_cast<const SpelledExpr*>(found->second.get());
  }
  PT2_TRY(Expr expr, parse_expr(text, *this));
  const std::lock_guard lock(mutex_);
  auto& entry = spelled_[std::string(text)];
  if (!entry) entry = std::make_unique<SpelledExpr>(SpelledExpr{std::string(text), expr});
  return static_cast<const SpelledExpr*>(entry.get());
}

std::optional<SymbolId> ExprPool::find_symbol(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  ExprNode wanted{.op = ExprOp::symbol, .name = std::string(name)};
  const auto [first, last] = index_.equal_range(hash_node(wanted, key_));
  for (auto it = first; it != last; ++it) {
    if (same_node(*it->second, wanted)) return it->second->symbol;
  }
  return std::nullopt;
}

size_t ExprPool::symbol_count() const {
  const std::lock_guard lock(mutex_);
  return symbols_.size();
}

std::string ExprPool::symbol_name(SymbolId id) const {
  const std::lock_guard lock(mutex_);
  return symbols_.at(static_cast<size_t>(id))->name;
}

void SymbolBindings::bind(SymbolId symbol, Number value) {
  const auto index = static_cast<size_t>(symbol);
  if (index >= values_.size()) values_.resize(index + 1);
  values_[index] = value;
}

const Number* SymbolBindings::find(SymbolId symbol) const {
  const auto index = static_cast<size_t>(symbol);
  return index < values_.size() && values_[index] ? &*values_[index] : nullptr;
}

std::vector<SymbolId> free_symbols(Expr expr) {
  std::vector<SymbolId> found;
  std::unordered_set<uint32_t> seen;
  if (expr) collect_symbols(expr, seen, found);
  return found;
}

bool is_unbacked(std::string_view symbol_name) {
  for (std::string_view prefix : {"zuf", "u", "i"}) {
    if (!symbol_name.starts_with(prefix) || symbol_name.size() == prefix.size()) continue;
    if (symbol_name.find_first_not_of("0123456789", prefix.size()) == std::string_view::npos)
      return true;
  }
  return false;
}

namespace {

// True if the expression is true or false. As a number it would be 1 for all samples of `u0 >= 0`.
bool is_condition(Expr expr) {
  const bool is_sum_or_symbol =
      expr.is_symbol() || expr->op == ExprOp::add || expr->op == ExprOp::multiply;
  return !is_sum_or_symbol && NumberKinds().of(expr) == NumberKind::boolean;
}

}  // namespace

Result<int64_t> evaluate(const SymInt& value, const SymbolBindings& bindings) {
  if (!value.is_symbolic()) return value.literal();
  if (is_condition(value.expr()))
    return Error{ErrorCode::invalid, "found a condition, expected a number",
                 print_expr(value.expr())};
  return evaluate_integer(value.expr(), bindings);
}

}  // namespace pt2
