// Symbolic sizes: expressions over symbols. A symbol is backed (s77, a dimension of an input) or
// unbacked (u0, known only at run time). A file holds an expression as text: up to 2.5 as sympy's
// str ("s0 + 1"), later as srepr ("Add(Symbol('s0', ...), Integer(1))"). One grammar parses both.
// The text is never evaluated as Python, as torch.export.load does (sympify is eval). The text is
// kept, so that it can be written back unchanged. Expressions are immutable and interned: equal
// expressions are the same node, so comparing expressions is comparing handles.
#ifndef PT2_IR_SYMBOLS_H
#define PT2_IR_SYMBOLS_H

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
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

// Number is the value of an expression. Rationals occur inside sympy's expressions (s77/2) and are
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
  constant,  // a number that is kept but not computed with: integers beyond int64, nan, zoo, pi
  symbol,
#define PT2_EXPR_FUNCTION(op, name, min_arguments, max_arguments) op,
#include "pt2/ir/expr.def"
  opaque,  // an unknown function: kept, cannot be evaluated
};

// The two text forms of expressions in files.
enum class ExprSpelling : uint8_t {
  str,    // "s77 + 1": up to 2.5, and the keys of range constraints in every release
  srepr,  // "Add(Symbol('s77', positive=True, integer=True), Integer(1))": since 2.6
};

// The number of a symbol. The ids of one ExprPool are dense.
enum class SymbolId : uint32_t {};

// The assumptions of a symbol in srepr: "positive=True, integer=True". The name alone identifies a
// symbol, as in torch/_export/serde/serialize.py (_parse_sym_expr), and the first assumptions that
// a text gives it stay. They are kept as spelling and must not be relied on: PyTorch writes
// positive=True for sizes that may be 0.
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

// A handle to a node of an ExprPool. It is valid as long as the pool. A default handle is null.
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
  // integer, rational, floating, boolean: the value; infinity: +1 or -1; opaque: true for srepr's
  // Function('f')(x), a function that sympy does not know either.
  Number number = int64_t{0};
  // symbol: its name; opaque: the name of the function; infinity: "oo" or "int_oo"; constant: its
  // text.
  std::string name{};
  std::vector<Expr> args{};
  // The pool fills in the members below.
  SymbolId symbol{};
  const SymbolAssumptions* assumptions = nullptr;  // of a symbol
  int depth = 1;                                   // of the tree, this node included
  size_t size = 1;  // nodes of the tree; shared nodes count at each occurrence; may saturate
};

// An expression and its text in the file.
struct SpelledExpr {
  std::string text{};
  Expr expr{};
};

// Owns the expressions of one program. The pool only grows, and handles are valid until it is
// destroyed. Adding takes a lock, so threads may edit different programs that share a pool.
class ExprPool {
 public:
  ExprPool();
  ~ExprPool();
  ExprPool(const ExprPool&) = delete;
  ExprPool& operator=(const ExprPool&) = delete;

  // Parses a text in either spelling. The pool parses each distinct text once and owns the result.
  // Errors: `malformed` (not an expression), `limit` (deeper than kMaxDepth). Linear in the text.
  Result<const SpelledExpr*> parse(std::string_view text);
  // Returns the handle of the unique node equal to `node`. Fills in `symbol` if it is a symbol.
  Expr intern(ExprNode node);
  Expr integer(int64_t value) { return intern({.op = ExprOp::integer, .number = value}); }
  // Returns the symbol with this name. Sets its assumptions if it has none yet.
  Expr symbol(std::string_view name, std::string_view assumptions = {});
  // Returns the symbol with this name; nothing if the pool has none.
  std::optional<SymbolId> find_symbol(std::string_view name) const;
  size_t symbol_count() const;
  std::string symbol_name(SymbolId id) const;

  static constexpr int kMaxDepth = 200;
  // The size limit of functions that build expressions. The length of the text bounds a parsed
  // expression.
  static constexpr size_t kMaxSize = 1'000'000;

 private:
  Expr intern_locked(ExprNode node);

  mutable std::mutex mutex_;
  std::deque<ExprNode> nodes_;
  std::unordered_multimap<size_t, const ExprNode*> index_;
  std::vector<const ExprNode*> symbols_;
  std::deque<SymbolAssumptions> assumptions_;  // by SymbolId
  std::deque<std::string> assumption_texts_;
  std::map<std::string, std::unique_ptr<SpelledExpr>, std::less<>> spelled_;
  const uint64_t key_;  // of the hashes of names
};

// Values of symbols, for one evaluation.
class SymbolBindings {
 public:
  void bind(SymbolId symbol, Number value);
  const Number* find(SymbolId symbol) const;

 private:
  std::vector<std::optional<Number>> values_;
};

// Evaluates an expression in exact arithmetic with PyTorch's semantics
// (torch/utils/_sympy/functions.py): FloorDiv rounds towards minus infinity, IntTrueDiv is
// correctly rounded, ... Errors: `invalid` (unbound symbol, division by zero, a condition that is
// not a bool), `unsupported` (opaque function, a value beyond int64). Linear in the size of the
// expression.
Result<Number> evaluate(Expr expr, const SymbolBindings& bindings);
// As evaluate, for integers such as sizes. Error `invalid` if the result is not an integer.
Result<int64_t> evaluate_integer(Expr expr, const SymbolBindings& bindings);

// Returns the symbols of `expr`, each once, in order of first appearance.
std::vector<SymbolId> free_symbols(Expr expr);
// True if this is the name of an unbacked symbol, known only at run time: "u0", "zuf0"; in 2.1 "i0"
// (torch/utils/_sympy/symbol.py).
bool is_unbacked(std::string_view symbol_name);
// Returns the text of an expression as sympy writes it, with the arguments in their stored order.
// `str` is also the form for people; it follows releases up to 2.5, where FloorDiv has the
// precedence of a product. Parsing the text gives the same expression except where sympy's own text
// does not: in `str`, CleanDiv prints as FloorDiv, and floats have 15 digits. Linear in the tree.
std::string print_expr(Expr expr, ExprSpelling spelling = ExprSpelling::str);

// A literal number, or an expression with the value that it had during export (the hint). T is
// int64_t, double or bool.
template <class T>
class Symbolic {
 public:
  Symbolic() = default;
  Symbolic(T literal) : value_(literal) {}
  Symbolic(const SpelledExpr* expression, std::optional<T> hint)
      : expression_(reinterpret_cast<uintptr_t>(expression) | uintptr_t{hint.has_value()}),
        value_(hint.value_or(T{})) {}

  bool is_symbolic() const { return spelled() != nullptr; }
  // Returns the number. Meaningful only if not symbolic.
  T literal() const { return value_; }
  Expr expr() const { return is_symbolic() ? spelled()->expr : Expr(); }
  const SpelledExpr* spelled() const {
    return reinterpret_cast<const SpelledExpr*>(expression_ & ~uintptr_t{1});
  }
  std::optional<T> hint() const {
    return (expression_ & 1) != 0 ? std::optional<T>(value_) : std::nullopt;
  }
  // True if both are the same literal or the same expression of one program. Hints are not
  // compared. If false, the values may still be equal in every call.
  bool operator==(const Symbolic& other) const {
    return is_symbolic() == other.is_symbolic() &&
           (is_symbolic() ? expr() == other.expr() : value_ == other.value_);
  }

 private:
  // A pointer to the SpelledExpr. Its lowest bit is set if there is a hint. This saves memory: a
  // program has millions of these.
  uintptr_t expression_ = 0;
  T value_{};
};
using SymInt = Symbolic<int64_t>;
using SymFloat = Symbolic<double>;
using SymBool = Symbolic<bool>;

// Returns the literal, or the value of the expression.
Result<int64_t> evaluate(const SymInt& value, const SymbolBindings& bindings);
// Returns "3" or "s77 + 1".
std::string print(const SymInt& value);

// Inclusive bounds of an expression. An empty optional is an infinite bound.
struct SymRange {
  std::optional<int64_t> min{};
  std::optional<int64_t> max{};
  bool contains(int64_t value) const { return (!min || value >= *min) && (!max || value <= *max); }
  bool is_empty() const { return min && max && *min > *max; }
  // True if there is no upper bound. Releases up to 2.4 write the largest size instead of infinity.
  bool is_unbounded() const { return !max || *max >= INT64_MAX - 1; }
  bool operator==(const SymRange&) const = default;
};
// Returns the range as text, "[2, oo]".
std::string print(const SymRange& range);

}  // namespace pt2

#endif  // PT2_IR_SYMBOLS_H
