// Symbolic sizes: expressions over symbols such as s77 (a dimension of an input) and u0 (known only
// while running). A file holds them as text, up to 2.5 as sympy's str ("s0 + 1"), later as srepr
// ("Add(Symbol('s0', ...), Integer(1))"). Both are parsed by one grammar, never evaluated as Python
// as torch.export.load does (sympify is eval), and the text is kept, so that it is written back as
// it was. Expressions are immutable and interned: equal structure is the same node, so comparing is
// comparing handles.
#ifndef PT2_IR_SYMBOLS_H
#define PT2_IR_SYMBOLS_H

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "pt2/result.h"

namespace pt2 {

// What an expression evaluates to. Rationals appear inside sympy's expressions (s77/2) and are kept
// exact.
struct Rational {
  int64_t numerator = 0;
  int64_t denominator = 1;  // at least 2; a whole number is an int64_t
  bool operator==(const Rational&) const = default;
};
using Number = std::variant<bool, int64_t, Rational, double>;

enum class ExprOp : uint8_t {
  integer,
  rational,
  floating,
  boolean,
  infinity,  // oo, int_oo and their negatives
  constant,  // a number that is not computed with: integers beyond int64, nan, zoo, pi
  symbol,
#define PT2_EXPR_FUNCTION(op, name, min_arguments, max_arguments) op,
#include "pt2/ir/expr.def"
  opaque,  // a function that is not known here: kept, cannot be evaluated
};

// The two ways in which files hold an expression.
enum class ExprSpelling : uint8_t {
  str,    // "s77 + 1": up to 2.5, and the keys of range constraints in every release
  srepr,  // "Add(Symbol('s77', positive=True, integer=True), Integer(1))": since 2.6
};

// Dense within one ExprPool.
enum class SymbolId : uint32_t {};

// What srepr says about a symbol: "positive=True, integer=True". A symbol is its name, as it is for
// torch/_export/serde/serialize.py (_parse_sym_expr): the first assumptions that a text gives it
// stay. They are spelling, not fact: PyTorch writes positive=True for sizes that may be 0.
class SymbolAssumptions {
 public:
  std::string_view text() const {
    const std::string* text = text_.load(std::memory_order_acquire);
    return text == nullptr ? std::string_view() : *text;
  }

 private:
  friend class ExprPool;
  std::atomic<const std::string*> text_ = nullptr;
};

struct ExprNode;

// A handle to a node of an ExprPool; valid as long as the pool. A default handle is no expression.
class Expr {
 public:
  Expr() = default;
  explicit Expr(const ExprNode* node) : node_(node) {}
  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const Expr&) const = default;
  const ExprNode* operator->() const { return node_; }
  bool is_symbol() const;

 private:
  const ExprNode* node_ = nullptr;
};

struct ExprNode {
  ExprOp op = ExprOp::integer;
  // integer, rational, floating, boolean; infinity: +1 or -1; opaque: true for srepr's
  // Function('f')(x), a function that sympy does not know either.
  Number number = int64_t{0};
  // symbol: its name; opaque: the function's; infinity: "oo" or "int_oo"; constant: its text.
  std::string name{};
  std::vector<Expr> args{};
  // Filled in by the pool.
  SymbolId symbol{};
  const SymbolAssumptions* assumptions = nullptr;  // of a symbol
  int depth = 1;                                   // of the tree below
  size_t size = 1;  // nodes of the tree below, shared ones counted each time; may saturate
};

// An expression with its spelling in the file.
struct SpelledExpr {
  std::string text{};
  Expr expr{};
};

// Owns the expressions of one program. Only ever grows; adding locks, so programs that share a pool
// may be edited in different threads. Handles stay valid until the pool dies.
class ExprPool {
 public:
  ExprPool();
  ~ExprPool();
  ExprPool(const ExprPool&) = delete;
  ExprPool& operator=(const ExprPool&) = delete;

  // Either spelling. Each distinct text is parsed once. Errors: malformed (not an expression),
  // limit (deeper than kMaxDepth). Linear in the text.
  Result<const SpelledExpr*> parse(std::string_view text);
  // The one node of this structure. `node.symbol` is filled in for symbols.
  Expr intern(ExprNode node);
  Expr integer(int64_t value) { return intern({.op = ExprOp::integer, .number = value}); }
  // `assumptions` are taken if the symbol has none yet.
  Expr symbol(std::string_view name, std::string_view assumptions = {});
  std::optional<SymbolId> find_symbol(std::string_view name) const;
  size_t symbol_count() const;
  std::string symbol_name(SymbolId id) const;

  static constexpr int kMaxDepth = 200;
  // The size limit of functions that build expressions; what is parsed is bounded by its text.
  static constexpr size_t kMaxSize = 1'000'000;

 private:
  Expr intern_locked(ExprNode node);

  mutable std::mutex mutex_;
  std::deque<ExprNode> nodes_;
  std::unordered_multimap<size_t, const ExprNode*> index_;
  std::vector<const ExprNode*> symbols_;
  std::deque<SymbolAssumptions> assumptions_;  // by SymbolId
  std::deque<std::string> assumption_texts_;
  std::unordered_map<std::string, std::unique_ptr<SpelledExpr>> spelled_;
};

// Values of symbols, for one evaluation.
class SymbolBindings {
 public:
  void bind(SymbolId symbol, Number value);
  const Number* find(SymbolId symbol) const;

 private:
  std::vector<std::optional<Number>> values_;
};

// Exact arithmetic with PyTorch's meaning (torch/utils/_sympy/functions.py): FloorDiv rounds
// towards minus infinity, IntTrueDiv is correctly rounded, ... Errors: invalid (unbound symbol,
// division by zero, beyond int64, a condition that is not a bool), unsupported (opaque function).
// Linear in the size of the expression.
Result<Number> evaluate(Expr expr, const SymbolBindings& bindings);
// The same where an integer is wanted, e.g. a size; invalid when the result is not one.
Result<int64_t> evaluate_integer(Expr expr, const SymbolBindings& bindings);

// The symbols of `expr`, each once, in order of first appearance.
std::vector<SymbolId> free_symbols(Expr expr);
// Whether a symbol of this name is known only while running: "u0", "zuf0"; in 2.1 "i0"
// (torch/utils/_sympy/symbol.py).
bool is_unbacked(std::string_view symbol_name);
// As sympy writes it, arguments in the order in which they are held (str: as up to 2.5, whose
// FloorDiv binds like a product). Parsing the result gives the same expression where sympy's own
// text does: in str CleanDiv prints as FloorDiv, and floats have 15 digits. str is for people too.
// Linear in the tree.
std::string print_expr(Expr expr, ExprSpelling spelling = ExprSpelling::str);

// A known number, or an expression with the value it had while exporting (the hint). T is int64_t,
// double or bool.
template <class T>
class Symbolic {
 public:
  Symbolic() = default;
  Symbolic(T literal) : value_(literal) {}
  Symbolic(const SpelledExpr* expression, std::optional<T> hint)
      : expression_(reinterpret_cast<uintptr_t>(expression) | uintptr_t{hint.has_value()}),
        value_(hint.value_or(T{})) {}

  bool is_symbolic() const { return spelled() != nullptr; }
  // The number; meaningful when not symbolic.
  T literal() const { return value_; }
  Expr expr() const { return is_symbolic() ? spelled()->expr : Expr(); }
  const SpelledExpr* spelled() const {
    return reinterpret_cast<const SpelledExpr*>(expression_ & ~uintptr_t{1});
  }
  std::optional<T> hint() const {
    return (expression_ & 1) != 0 ? std::optional<T>(value_) : std::nullopt;
  }
  // Whether both are the same in every call, as far as one can see: the same number, or the same
  // expression of one program. Hints do not count.
  bool operator==(const Symbolic& other) const {
    return is_symbolic() == other.is_symbolic() &&
           (is_symbolic() ? expr() == other.expr() : value_ == other.value_);
  }

 private:
  // A program has millions of these: the pointer's lowest bit says whether there is a hint.
  uintptr_t expression_ = 0;
  T value_{};
};
using SymInt = Symbolic<int64_t>;
using SymFloat = Symbolic<double>;
using SymBool = Symbolic<bool>;

// The literal, or the expression's value.
Result<int64_t> evaluate(const SymInt& value, const SymbolBindings& bindings);
// "3" or "s77 + 1".
std::string print(const SymInt& value);

// Inclusive bounds of an expression; nothing stands for an infinite bound.
struct SymRange {
  std::optional<int64_t> min{};
  std::optional<int64_t> max{};
  bool contains(int64_t value) const { return (!min || value >= *min) && (!max || value <= *max); }
  bool is_empty() const { return min && max && *min > *max; }
  // Releases up to 2.4 write the largest size instead of infinity.
  bool is_unbounded() const { return !max || *max >= INT64_MAX - 1; }
  bool operator==(const SymRange&) const = default;
};
// "[2, oo]".
std::string print(const SymRange& range);

}  // namespace pt2

#endif  // PT2_IR_SYMBOLS_H
