#include "convert/guard_margin.h"

#include <algorithm>
#include <set>
#include <utility>

namespace pt2 {
namespace {

class Margins {
 public:
  explicit Margins(ExprPool& pool) : pool_(pool) {}

  // At least 0 where the condition has the value `holds`, and below 0 elsewhere.
  std::optional<Expr> find(Expr condition, bool holds) {
    switch (condition->op) {
      case ExprOp::logical_not:
        return find(condition->args[0], !holds);
      case ExprOp::logical_and:
        return of_all(condition, holds, holds ? ExprOp::minimum : ExprOp::maximum);
      case ExprOp::logical_or:
        return of_all(condition, holds, holds ? ExprOp::maximum : ExprOp::minimum);
      default:
        return of_comparison(condition, holds);
    }
  }

 private:
  std::optional<Expr> of_all(Expr condition, bool holds, ExprOp op) {
    std::optional<Expr> all;
    for (const Expr each : condition->args) {
      const auto margin = find(each, holds);
      if (!margin) return std::nullopt;
      all = all ? make(op, *all, *margin) : *margin;
    }
    return all;
  }

  std::optional<Expr> of_comparison(Expr condition, bool holds) {
    if (condition->args.size() != 2) return std::nullopt;
    const Expr a = condition->args[0], b = condition->args[1];
    switch (condition->op) {
      case ExprOp::greater_equal:
        return holds ? above(a, b) : beyond(b, a);
      case ExprOp::less_equal:
        return holds ? above(b, a) : beyond(a, b);
      case ExprOp::greater:
        return holds ? beyond(a, b) : above(b, a);
      case ExprOp::less:
        return holds ? beyond(b, a) : above(a, b);
      case ExprOp::equal:
        return is_equal(a, b, holds);
      case ExprOp::not_equal:
        return is_equal(a, b, !holds);
      default:
        return std::nullopt;
    }
  }

  Expr is_equal(Expr a, Expr b, bool holds) {
    return holds ? make(ExprOp::minimum, above(a, b), above(b, a))
                 : make(ExprOp::maximum, beyond(a, b), beyond(b, a));
  }
  // a - b, and a - b - 1: at least 0 where a >= b, where a > b.
  Expr above(Expr a, Expr b) {
    if (b->op == ExprOp::integer && b->number == Number(int64_t{0})) return a;
    return make(ExprOp::add, a, make(ExprOp::multiply, pool_.integer(-1), b));
  }
  Expr beyond(Expr a, Expr b) { return make(ExprOp::add, above(a, b), pool_.integer(-1)); }

  Expr make(ExprOp op, Expr a, Expr b) { return pool_.intern({.op = op, .args = {a, b}}); }

  ExprPool& pool_;
};

// Whether the condition divides by nothing that could be 0 when Python would not have divided.
class Divisors {
 public:
  explicit Divisors(const std::function<bool(Expr)>& is_positive) : is_positive_(is_positive) {}

  bool are_safe(Expr expr, bool is_always_computed) {
    const bool joins = expr->op == ExprOp::logical_and || expr->op == ExprOp::logical_or;
    for (size_t i = 0; i < expr->args.size(); ++i)
      if (!are_safe(expr->args[i], is_always_computed && (i == 0 || !joins))) return false;
    if (expr->op != ExprOp::floor_div && expr->op != ExprOp::python_mod) return true;
    const Expr divisor = expr->args[1];
    if (is_always_computed) seen_.insert(divisor.operator->());
    return seen_.contains(divisor.operator->()) || is_positive_(divisor);
  }

 private:
  const std::function<bool(Expr)>& is_positive_;
  std::set<const ExprNode*> seen_;
};

}  // namespace

std::optional<Expr> as_comparison(ExprPool& pool, Expr condition,
                                  const std::function<bool(Expr)>& is_positive) {
  if (!Divisors(is_positive).are_safe(condition, true)) return std::nullopt;
  const auto margin = Margins(pool).find(condition, true);
  if (!margin) return std::nullopt;
  return pool.intern({.op = ExprOp::greater_equal, .args = {*margin, pool.integer(0)}});
}

}  // namespace pt2
