#include "convert/guard_margin.h"

#include <cmath>
#include <set>

namespace pt2 {
namespace {

// Of a condition: at least 0 where it holds, below 0 elsewhere; and at least 0 where Python comes
// to its end without a division by 0, if it has one that could be.
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
  // Of the condition, or of its opposite. `is_reached`: whatever its symbols are.
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

  // Python goes on behind an item of an `or` where it does not hold, of an `and` where it does.
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

  // The expression, in which divisors that could be 0 where Python does not get to are at least 1;
  // `ends` becomes what says that they are none the less. Nothing where one could be negative.
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
  // a - b, and a - b - 1: at least 0 where a >= b, where a > b.
  Expr above(Expr a, Expr b) {
    if (b == pool_.integer(0)) return a;
    return make(ExprOp::add, a, make(ExprOp::multiply, pool_.integer(-1), b));
  }
  Expr beyond(Expr a, Expr b) { return make(ExprOp::add, above(a, b), pool_.integer(-1)); }

  Expr make(ExprOp op, Expr a, Expr b) { return pool_.intern({.op = op, .args = {a, b}}); }

  ExprPool& pool_;
  const LeastValue& least_;
  std::set<const ExprNode*> reached_;  // divisors that are divided by in any case
};

// The number times the divisor, where that is exact and lies among the whole numbers that floats
// have all of.
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
  // A fraction equals no whole number; nobody writes that.
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
  // What says that Python ends repeats what it ends with: twice as much for each nested condition.
  constexpr size_t kMostGrowth = 16;
  const auto margin = Margins(pool, least).find(condition);
  if (!margin || (*margin)->size > kMostGrowth * condition->size) return std::nullopt;
  return pool.intern({.op = ExprOp::greater_equal, .args = {*margin, pool.integer(0)}});
}

}  // namespace pt2
