#include "convert/guard_assertions.h"

#include <algorithm>
#include <map>

#include "convert/guard_margin.h"
#include "convert/operator_history.h"
#include "ir/target.h"
#include "ir/version_facts.h"
#include "pt2/ir/expr_bounds.h"
#include "pt2/ir/expr_rewrite.h"

namespace pt2 {
namespace {

constexpr std::string_view kAssert = "torch.ops.aten._assert_scalar.default";

// The Python function that computes an operation of an expression. It is applied repeatedly if
// there are more than two operands.
struct FunctionRow {
  ExprOp op;
  std::string_view target;
  bool is_condition;
};
constexpr FunctionRow kFunctions[] = {
    {ExprOp::add, "_operator.add", false},
    {ExprOp::multiply, "_operator.mul", false},
    {ExprOp::floor_div, "_operator.floordiv", false},
    {ExprOp::python_mod, "_operator.mod", false},
    {ExprOp::maximum, "torch.sym_max", false},
    {ExprOp::minimum, "torch.sym_min", false},
    {ExprOp::equal, "_operator.eq", true},
    {ExprOp::not_equal, "_operator.ne", true},
    {ExprOp::less, "_operator.lt", true},
    {ExprOp::less_equal, "_operator.le", true},
    {ExprOp::greater, "_operator.gt", true},
    {ExprOp::greater_equal, "_operator.ge", true},
};

const FunctionRow* find_function(ExprOp op) {
  for (const FunctionRow& row : kFunctions)
    if (row.op == op) return &row;
  return nullptr;
}

class GuardAsserter {
 public:
  GuardAsserter(Converter& converter, const Guard& guard, const AssertionPlace& place)
      : converter_(converter),
        graph_(converter.program.graph),
        pool_(*converter.program.expressions),
        guard_(guard),
        place_(place) {}

  // True if every source and operator of the guard is available from first_release() on: emit()
  // cannot fail in such a release.
  bool can_say(const FindOperand& find) {
    for (const GuardSource& source : guard_.sources) {
      const auto operand = find(source);
      if (!operand) return false;
      const SymbolId symbol = source.symbol->symbol;
      if (!operand->number.is_symbolic()) {
        literals_.emplace_back(symbol, pool_.integer(operand->number.literal()));
        continue;
      }
      operands_[symbol] = {&source, *operand};
      known_.emplace_back(symbol, operand->number.expr());
      if (const auto hint = operand->number.hint()) hints_.bind(symbol, *hint);
    }
    const auto filled = substitute(pool_, guard_.expr, literals_);
    if (!filled) return false;
    const auto simple = simplify(pool_, *filled);
    condition_ = without_divisions(pool_, simple ? *simple : *filled);
    if (joins_conditions()) {
      const auto comparison = as_comparison(pool_, condition_, least_value());
      if (!comparison) return false;
      condition_ = *comparison;
    }
    const FunctionRow* row = find_function(condition_->op);
    return row != nullptr && row->is_condition && exists(kAssert) && can_compute(condition_);
  }

  int first_release() const { return first_release_; }

  // Each part becomes at most one node.
  uint64_t most_nodes() const { return parts_.size() + 1; }

  void emit() {
    const Argument condition = compute(condition_);
    insert({.target = std::string(kAssert),
            .inputs = {input("self", condition),
                       input("assert_msg", "Guard failed: " + guard_.text)}});
  }

 private:
  struct Source {
    const GuardSource* source;
    GuardOperand operand;
  };

  bool joins_conditions() const {
    return condition_->op == ExprOp::logical_and || condition_->op == ExprOp::logical_or ||
           condition_->op == ExprOp::logical_not;
  }

  LeastValue least_value() {
    return [this, ranges = SymbolRanges(converter_.program.range_constraints)](
               Expr expr) -> std::optional<int64_t> {
      const auto in_program = substitute(pool_, expr, known_);
      return in_program ? integer_bounds(*in_program, ranges).min : std::nullopt;
    };
  }

  // Raises first_release_ to the first release that has the function. False if first_release_ is
  // then later than the last release that has it.
  bool exists(std::string_view target) {
    const Lifetime* lifetime = find_operator_lifetime(target);
    if (lifetime == nullptr) return true;
    first_release_ = std::max(first_release_, lifetime->first);
    return lifetime->includes(first_release_);
  }

  // The value of one node: an operation on its first operands, for example a + b of a + b + c.
  struct Part {
    Expr expr;  // in the program's symbols, simplified
    const SpelledExpr* spelled = nullptr;
    std::optional<Number> hint{};
  };
  using PartKey = std::pair<const ExprNode*, size_t>;  // the operation and the number of operands

  static PartKey key(Expr expr) { return {expr.operator->(), expr->args.size()}; }

  // Recursive: parse_guard bounds the depth. Each part is computed from the part before it, because
  // a file may have a sum of any number of terms.
  bool can_compute(Expr expr) {
    if (parts_.contains(key(expr))) return true;
    if (expr->op == ExprOp::integer) {
      parts_[key(expr)] = {.expr = expr, .hint = expr->number};
      return true;
    }
    if (expr.is_symbol()) {
      if (!operands_.contains(expr->symbol)) return false;
      const auto in_program = substitute(pool_, expr, known_);
      return in_program && spell(key(expr), *in_program, known(evaluate(expr, hints_)));
    }
    const FunctionRow* row = find_function(expr->op);
    if (row == nullptr || !exists(row->target) || expr->args.size() < 2) return false;
    if (!can_compute(expr->args[0])) return false;
    const Part* before = &parts_.at(key(expr->args[0]));
    for (size_t i = 1; i < expr->args.size(); ++i) {
      if (!can_compute(expr->args[i])) return false;
      const Part& next = parts_.at(key(expr->args[i]));
      const PartKey both{expr.operator->(), i + 1};
      std::optional<Number> hint = evaluated(expr->op, before->hint, next.hint);
      // The result exceeds 64 bits, which no value of a graph may.
      if (is_integer(before->hint) && is_integer(next.hint) && !hint) return false;
      if (!spell(both, applied(expr->op, before->expr, next.expr), std::move(hint))) return false;
      before = &parts_.at(both);
    }
    return true;
  }

  Expr applied(ExprOp op, Expr a, Expr b) { return pool_.intern({.op = op, .args = {a, b}}); }

  std::optional<Number> evaluated(ExprOp op, const std::optional<Number>& a,
                                  const std::optional<Number>& b) {
    const auto *left = a ? std::get_if<int64_t>(&*a) : nullptr,
               *right = b ? std::get_if<int64_t>(&*b) : nullptr;
    if (left == nullptr || right == nullptr) return std::nullopt;
    return known(evaluate(applied(op, pool_.integer(*left), pool_.integer(*right)), {}));
  }

  static bool is_integer(const std::optional<Number>& number) {
    return number && std::holds_alternative<int64_t>(*number);
  }

  static std::optional<Number> known(Result<Number> number) {
    return number ? std::optional(*std::move(number)) : std::nullopt;
  }

  // Spells the expression as the target release does. False if the spelling exceeds the limits of
  // expressions.
  bool spell(PartKey part, Expr in_program, std::optional<Number> hint) {
    const auto simple = simplify(pool_, in_program);
    const Expr expr = simple ? *simple : in_program;
    // The constant exceeds 64 bits, which no value of a graph may.
    if (free_symbols(expr).empty() && !evaluate(expr, {})) return false;
    const std::string text = print_expr(expr, expression_spelling(converter_.to));
    // Each partial sum spells all terms so far, so a long sum takes quadratic space without this
    // bound.
    constexpr size_t kMaxSpelledGrowth = 64;
    spelled_bytes_ += text.size();
    if (spelled_bytes_ > kMaxSpelledGrowth * (guard_.text.size() + kMaxSpelledGrowth)) return false;
    const auto spelled = pool_.parse(text);
    if (spelled) parts_[part] = {.expr = expr, .spelled = *spelled, .hint = std::move(hint)};
    return static_cast<bool>(spelled);
  }

  Argument compute(Expr expr) {
    if (const auto found = computed_.find(expr.operator->()); found != computed_.end())
      return found->second;
    Argument result;
    if (expr->op == ExprOp::integer) {
      result = std::get<int64_t>(expr->number);
    } else if (expr.is_symbol()) {
      result = read(operands_.at(expr->symbol), expr);
    } else {
      result = apply(*find_function(expr->op), expr);
    }
    computed_.emplace(expr.operator->(), result);
    return result;
  }

  Argument read(const Source& source, Expr expr) {
    if (source.source->property == GuardSource::Property::value)
      return Argument(source.operand.value);
    return call(kSymSize, {input("self", source.operand.value), input("dim", source.source->dim)},
                key(expr), false);
  }

  Argument apply(const FunctionRow& row, Expr expr) {
    Argument result = compute(expr->args[0]);
    for (size_t i = 1; i < expr->args.size(); ++i)
      result = call(row.target, {input("a", result), input("b", compute(expr->args[i]))},
                    {expr.operator->(), i + 1}, row.is_condition);
    return result;
  }

  Argument call(std::string_view target, std::vector<NamedArgument> inputs, PartKey computed,
                bool is_condition) {
    const Part& part = parts_.at(computed);
    GraphValue value{.name = graph_.unused_name(base_name(target))};
    if (is_condition) {
      const bool* hint = part.hint ? std::get_if<bool>(&*part.hint) : nullptr;
      value.meta = SymBool(part.spelled, hint ? std::optional(*hint) : std::nullopt);
    } else {
      const int64_t* hint = part.hint ? std::get_if<int64_t>(&*part.hint) : nullptr;
      value.meta = SymInt(part.spelled, hint ? std::optional(*hint) : std::nullopt);
    }
    const ValueId id = graph_.add_value(std::move(value)).value();
    insert({.target = std::string(target), .inputs = std::move(inputs), .outputs = {Argument(id)}});
    return Argument(id);
  }

  // Names values as torch.fx does: "sym_size_int" for torch.ops.aten.sym_size.int, "eq" for
  // _operator.eq.
  static std::string base_name(std::string_view target) {
    if (!target.starts_with(kAten)) return std::string(target.substr(target.rfind('.') + 1));
    std::string name(target.substr(kAten.size()));
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
  }

  NamedArgument input(std::string name, Argument argument) const {
    return {.name = std::move(name),
            .arg = std::move(argument),
            .kind = usual_argument_kind(converter_.to)};
  }

  void insert(Node node) {
    node.metadata = place_.metadata;
    if (place_.before)
      graph_.insert_node(std::move(node), *place_.before);
    else
      graph_.add_node(std::move(node));
  }

  Converter& converter_;
  Graph& graph_;
  ExprPool& pool_;
  const Guard& guard_;
  const AssertionPlace& place_;
  Expr condition_;
  std::map<SymbolId, Source> operands_;
  std::vector<std::pair<SymbolId, Expr>> known_;     // symbolic sources, in the program's symbols
  std::vector<std::pair<SymbolId, Expr>> literals_;  // the other sources
  SymbolBindings hints_;
  int first_release_ = converter_.target.release->number;
  size_t spelled_bytes_ = 0;
  std::map<PartKey, Part> parts_;
  std::map<const ExprNode*, Argument> computed_;
};

}  // namespace

Result<const Release*> assert_guard(Converter& converter, const Guard& guard,
                                    const FindOperand& find, const AssertionPlace& place) {
  GuardAsserter asserter(converter, guard, place);
  if (!asserter.can_say(find)) return first_release_with(kFirstWithGuards);
  if (asserter.first_release() > converter.target.release->number)
    return release_from(asserter.first_release());
  NodeBudget& budget = converter.pipeline.budget;
  if (!budget.take(asserter.most_nodes())) return budget.exceeded_by("assertions of guards add");
  asserter.emit();
  return static_cast<const Release*>(nullptr);
}

}  // namespace pt2
