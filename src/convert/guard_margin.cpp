#include "convert/guard_margin.h"

#include <cmath>
#include <set>

namespace pt2 {
namespace {

// Two expressions about a condition. `holds` is >= 0 exactly where the condition holds. `ends` is
// >= 0 exactly where Python evaluates the condition without dividing by zero; it is absent if no
// division can fail.
struct Margin {
  Expr holds;
  std::optional<Expr> ends{};
};

class Margins {
 public:
  Margins(ExprPool& pool, const LeastValue& least) : pool_(pool), least_(least) {}

  std::optional<Expr> find(Expr condition) {
    const auto margin = find(condition, true, true);
    return margin ? std::optional(least_of(margin->ends, margin->holds)) : std::nullopt;
  }

 private:
  // Returns the margin of the condition (`wanted`) or of its negation. `is_reached`: Python
  // evaluates the condition whatever the values of its symbols are.
  std::optional<Margin> find(Expr condition, bool wanted, bool is_reached) {
    if (condition->op == ExprOp::logical_not) return find(condition->args[0], !wanted, is_reached);
    if (condition->op == ExprOp::logical_and || condition->op == ExprOp::logical_or)
      return of_several(condition, wanted, is_reached);
    if (condition->args.size() != 2) return std::nullopt;
    std::optional<Expr> ends;
    const auto a = with_divisors(condition->args[0], is_reached, ends);
    const auto b = with_divisors(condition->args[1], is_reached, ends);
    const auto holds = a && b ? of_comparison(condition->op, *a, *b, wanted) : std::nullopt;
    return holds ? std::optional(Margin{*holds, ends}) : std::nullopt;
  }

  // Python evaluates the next operand of an `or` only if this one is false, of an `and` only if
  // this one is true.
  std::optional<Margin> of_several(Expr condition, bool wanted, bool is_reached) {
    const bool is_or = (condition->op == ExprOp::logical_or) == wanted;
    std::vector<Margin> items;
    for (const Expr each : condition->args) {
      auto margin = find(each, wanted, is_reached && items.empty());
      if (!margin) return std::nullopt;
      items.push_back(*std::move(margin));
    }
    if (items.empty()) return std::nullopt;
    Margin all = items.back();
    for (size_t i = items.size() - 1; i-- > 0;) {
      const Expr stops = is_or ? items[i].holds : beyond(pool_.integer(0), items[i].holds);
      if (all.ends) all.ends = make(ExprOp::maximum, stops, *all.ends);
      if (items[i].ends) all.ends = least_of(all.ends, *items[i].ends);
      all.holds = make(is_or ? ExprOp::maximum : ExprOp::minimum, items[i].holds, all.holds);
    }
    return all;
  }

  std::optional<Expr> of_comparison(ExprOp op, Expr a, Expr b, bool wanted) {
    switch (op) {
      case ExprOp::greater_equal:
        return wanted ? above(a, b) : beyond(b, a);
      case ExprOp::less_equal:
        return wanted ? above(b, a) : beyond(a, b);
      case ExprOp::greater:
        return wanted ? beyond(a, b) : above(b, a);
      case ExprOp::less:
        return wanted ? beyond(b, a) : above(a, b);
      case ExprOp::equal:
        return is_equal(a, b, wanted);
      case ExprOp::not_equal:
        return is_equal(a, b, !wanted);
      default:
        return std::nullopt;
    }
  }

  // Returns the expression with every divisor that may be 0, and that Python may skip, replaced by
  // max(divisor, 1). Adds to `ends` that these divisors are positive. nullopt if such a divisor
  // could be negative.
  std::optional<Expr> with_divisors(Expr expr, bool is_reached, std::optional<Expr>& ends) {
    if (expr->args.empty()) return expr;
    std::vector<Expr> args;
    for (const Expr each : expr->args) {
      const auto arg = with_divisors(each, is_reached, ends);
      if (!arg) return std::nullopt;
      args.push_back(*arg);
    }
    if (expr->op == ExprOp::floor_div || expr->op == ExprOp::python_mod) {
      const ExprNode* divisor = expr->args[1].operator->();
      if (is_reached) reached_.insert(divisor);
      const auto least = least_(expr->args[1]);
      if (!reached_.contains(divisor) && !(least && *least > 0)) {
        if (!least || *least < 0) return std::nullopt;
        ends = least_of(ends, beyond(args[1], pool_.integer(0)));
        args[1] = make(ExprOp::maximum, args[1], pool_.integer(1));
      }
    }
    ExprNode node = *expr.operator->();
    node.args = std::move(args);
    return pool_.intern(std::move(node));
  }

  Expr least_of(const std::optional<Expr>& a, Expr b) {
    return a ? make(ExprOp::minimum, *a, b) : b;
  }
  Expr is_equal(Expr a, Expr b, bool wanted) {
    return wanted ? make(ExprOp::minimum, above(a, b), above(b, a))
                  : make(ExprOp::maximum, beyond(a, b), beyond(b, a));
  }
  // above is a - b, >= 0 where a >= b. beyond is a - b - 1, >= 0 where a > b.
  Expr above(Expr a, Expr b) {
    if (b == pool_.integer(0)) return a;
    return make(ExprOp::add, a, make(ExprOp::multiply, pool_.integer(-1), b));
  }
  Expr beyond(Expr a, Expr b) { return make(ExprOp::add, above(a, b), pool_.integer(-1)); }

  Expr make(ExprOp op, Expr a, Expr b) { return pool_.intern({.op = op, .args = {a, b}}); }

  ExprPool& pool_;
  const LeastValue& least_;
  std::set<const ExprNode*> reached_;  // divisors that Python divides by in any case
};

// Returns number * divisor if the divisor is a power of two and the product is below 2**53, so that
// floats represent all integers of that size.
std::optional<double> scaled(Expr number, Expr divisor) {
  const auto* by =
      divisor->op == ExprOp::integer ? std::get_if<int64_t>(&divisor->number) : nullptr;
  if (by == nullptr || *by < 1 || (*by & (*by - 1)) != 0) return std::nullopt;
  const auto* real = std::get_if<double>(&number->number);
  const auto* whole = std::get_if<int64_t>(&number->number);
  const bool is_number = number->op == ExprOp::floating || number->op == ExprOp::integer;
  if (!is_number || (real == nullptr && whole == nullptr)) return std::nullopt;
  const double out =
      (real != nullptr ? *real : static_cast<double>(*whole)) * static_cast<double>(*by);
  return std::abs(out) < 0x1p53 ? std::optional(out) : std::nullopt;
}

Expr without_division(ExprPool& pool, Expr comparison) {
  if (comparison->args.size() != 2 || comparison->args[0]->op != ExprOp::int_true_div)
    return comparison;
  const Expr division = comparison->args[0];
  const auto limit = scaled(comparison->args[1], division->args[1]);
  if (!limit) return comparison;
  const bool rounds_up = comparison->op == ExprOp::less || comparison->op == ExprOp::greater_equal;
  const bool rounds_down =
      comparison->op == ExprOp::less_equal || comparison->op == ExprOp::greater;
  const double whole = rounds_up ? std::ceil(*limit) : std::floor(*limit);
  // A fraction never equals an integer. No guard compares them for equality.
  if (!rounds_up && !rounds_down && whole != *limit) return comparison;
  return pool.intern({.op = comparison->op,
                      .args = {division->args[0], pool.integer(static_cast<int64_t>(whole))}});
}

}  // namespace

Expr without_divisions(ExprPool& pool, Expr condition) {
  const bool joins = condition->op == ExprOp::logical_and || condition->op == ExprOp::logical_or ||
                     condition->op == ExprOp::logical_not;
  if (!joins) return without_division(pool, condition);
  ExprNode node = *condition.operator->();
  for (Expr& each : node.args) each = without_divisions(pool, each);
  return pool.intern(std::move(node));
}

std::optional<Expr> as_comparison(ExprPool& pool, Expr condition, const LeastValue& least) {
  // `ends` repeats the conditions that it depends on: the size doubles with each nested condition.
  constexpr size_t kMostGrowth = 16;
  const auto margin = Margins(pool, least).find(condition);
  if (!margin || (*margin)->size > kMostGrowth * condition->size) return std::nullopt;
  return pool.intern({.op = ExprOp::greater_equal, .args = {*margin, pool.integer(0)}});
}

}  // namespace pt2
