#include "pt2/ir/expr_rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "ir/number.h"
#include "ir/symbols/expr_kind.h"
#include "ir/symbols/symbols_internal.h"

namespace pt2 {
namespace {

// Each node is rewritten once, arguments first.
using Rewritten = std::unordered_map<const ExprNode*, Expr>;

Result<Expr> make(ExprPool& pool, ExprNode node) {
  size_t size = 1;
  for (Expr arg : node.args) {
    size += std::min(arg->size, ExprPool::kMaxSize);
    if (arg->depth >= ExprPool::kMaxDepth || size > ExprPool::kMaxSize)
      return Error{ErrorCode::limit,
                   fmt::format("an expression grew deeper than {} or larger than {} nodes",
                               ExprPool::kMaxDepth, ExprPool::kMaxSize),
                   {}};
  }
  return pool.intern(std::move(node));
}

Result<Expr> with_args(ExprPool& pool, Expr expr, std::vector<Expr> args) {
  if (args == expr->args) return expr;
  return make(
      pool, {.op = expr->op, .number = expr->number, .name = expr->name, .args = std::move(args)});
}

bool is_literal(Expr expr) {
  return expr->op == ExprOp::integer || expr->op == ExprOp::rational ||
         expr->op == ExprOp::floating || expr->op == ExprOp::boolean;
}
std::optional<bool> truth(Expr expr) {
  return expr->op == ExprOp::boolean ? std::optional(std::get<bool>(expr->number)) : std::nullopt;
}

class Simplifier {
 public:
  explicit Simplifier(ExprPool& pool) : pool_(pool) {}

  Result<Expr> simplify(Expr expr) {
    if (expr->args.empty()) return expr;
    const ExprNode* node = expr.operator->();
    if (const auto found = done_.find(node); found != done_.end()) return found->second;
    std::vector<Expr> args;
    for (Expr arg : expr->args) {
      PT2_TRY(Expr simple, simplify(arg));
      args.push_back(simple);
    }
    PT2_TRY(Expr out, with_args(pool_, expr, std::move(args)));
    PT2_TRY(out, apply_rules(out));
    done_.emplace(node, out);
    return out;
  }

 private:
  using Terms = std::vector<std::pair<Expr, Number>>;
  using Seen = std::unordered_set<const ExprNode*>;

  Result<Expr> literal(const Number& number) {
    return pool_.intern({.op = literal_op(number), .number = number});
  }
  Result<Expr> build(ExprOp op, std::vector<Expr> args) {
    return make(pool_, {.op = op, .args = std::move(args)});
  }
  bool is_exact(Expr expr) { return kinds_.is_exact(expr); }
  bool are_integers(Expr expr) {
    return std::ranges::all_of(expr->args, [&](Expr arg) { return kinds_.is_integer(arg); });
  }

  Result<Expr> apply_rules(Expr expr) {
    if (std::ranges::all_of(expr->args, is_literal) && expr->op != ExprOp::condition_pair) {
      const auto value = evaluate(expr, {});
      if (value) return literal(*value);
      return expr;
    }
    const std::span<const Expr> args = expr->args;
    switch (expr->op) {
      case ExprOp::add:
        return is_exact(expr) ? simplify_sum(expr) : Result<Expr>(expr);
      case ExprOp::multiply:
        return is_exact(expr) ? simplify_product(expr) : Result<Expr>(expr);
      case ExprOp::power:
        return is_exact(expr) ? simplify_power(expr) : Result<Expr>(expr);
      case ExprOp::maximum:
      case ExprOp::minimum:
        return is_exact(expr) ? simplify_extremum(expr) : Result<Expr>(expr);
      case ExprOp::floor_div:
      case ExprOp::clean_div:
        return are_integers(expr) ? simplify_floor_div(expr) : Result<Expr>(expr);
      case ExprOp::mod:
      case ExprOp::python_mod:
        return are_integers(expr) ? simplify_modulo(expr) : Result<Expr>(expr);
      case ExprOp::identity:
        return args[0];
      case ExprOp::floor:
      case ExprOp::ceiling:
      case ExprOp::floor_to_int:
      case ExprOp::ceil_to_int:
      case ExprOp::trunc_to_int:
      case ExprOp::round_to_int:
        return kinds_.of(args[0]) == NumberKind::integer ? args[0] : expr;
      case ExprOp::where:
        if (const auto condition = truth(args[0])) return args[*condition ? 1 : 2];
        return args[1] == args[2] ? args[1] : expr;
      case ExprOp::piecewise:
        return simplify_piecewise(expr);
      case ExprOp::logical_and:
      case ExprOp::logical_or:
        return simplify_logic(expr);
      case ExprOp::logical_not:
        return simplify_not(expr);
      case ExprOp::equal:
      case ExprOp::less_equal:
      case ExprOp::greater_equal:
        return args[0] == args[1] && is_exact(args[0]) ? literal(true) : expr;
      case ExprOp::not_equal:
      case ExprOp::less:
      case ExprOp::greater:
        return args[0] == args[1] && is_exact(args[0]) ? literal(false) : expr;
      default:
        return expr;
    }
  }

  // Returns `number` times `rest`, where `rest` has no leading coefficient.
  Result<Expr> scaled(const Number& number, Expr rest) {
    if (is_literal(rest)) {
      PT2_TRY(Number value, multiply(number, rest->number));
      return literal(value);
    }
    if (number == Number(int64_t{1})) return rest;
    if (number == Number(int64_t{0})) return literal(int64_t{0});
    PT2_TRY(Expr factor, literal(number));
    std::vector<Expr> factors{factor};
    if (rest->op == ExprOp::multiply)
      factors.insert(factors.end(), rest->args.begin(), rest->args.end());
    else
      factors.push_back(rest);
    return build(ExprOp::multiply, std::move(factors));
  }

  // Splits 3*x into x and 3; splits a literal into 1 and the number.
  Result<std::pair<Expr, Number>> split(Expr term) {
    if (is_literal(term)) {
      PT2_TRY(Expr one, literal(int64_t{1}));
      return std::pair{one, term->number};
    }
    if (term->op != ExprOp::multiply || term->args.empty() || !is_literal(term->args[0]))
      return std::pair{term, Number(int64_t{1})};
    if (term->args.size() == 2) return std::pair{term->args[1], term->args[0]->number};
    PT2_TRY(Expr rest, build(ExprOp::multiply, {term->args.begin() + 1, term->args.end()}));
    return std::pair{rest, term->args[0]->number};
  }

  // Returns the terms of a sum with equal terms collected; a literal counts as a multiple of 1.
  // Fails if a coefficient overflows int64: then the sum cannot be simplified.
  Result<Terms> terms_of(Expr expr) {
    Terms terms;
    std::unordered_map<const ExprNode*, size_t> place;
    const std::span<const Expr> parts =
        expr->op == ExprOp::add ? std::span<const Expr>(expr->args) : std::span(&expr, 1);
    for (Expr part : parts) {
      // Arguments are already simplified, so sums are nested at most one level deep.
      const std::span<const Expr> inner =
          part->op == ExprOp::add ? std::span<const Expr>(part->args) : std::span(&part, 1);
      for (Expr term : inner) {
        PT2_TRY(auto one, split(term));
        const auto [found, is_new] = place.emplace(one.first.operator->(), terms.size());
        if (is_new) {
          terms.push_back(one);
        } else {
          PT2_TRY(terms[found->second].second, add(terms[found->second].second, one.second));
        }
      }
    }
    return terms;
  }

  // sympy holds the number as the first argument but prints it last. This function keeps the number
  // where it stands in `terms`.
  Result<Expr> sum_of(const Terms& terms) {
    std::vector<Expr> args;
    for (const auto& [term, coefficient] : terms) {
      if (coefficient == Number(int64_t{0}) || coefficient == Number(false)) continue;
      PT2_TRY(Expr one, scaled(coefficient, term));
      args.push_back(one);
    }
    if (args.empty()) return literal(int64_t{0});
    return args.size() == 1 ? Result<Expr>(args[0]) : build(ExprOp::add, std::move(args));
  }

  Result<Expr> simplify_sum(Expr expr) {
    const auto terms = terms_of(expr);
    if (!terms) return expr;
    return sum_of(*terms);
  }

  // Collects the numeric coefficient, and the natural powers of equal factors.
  Result<Expr> simplify_product(Expr expr) {
    Number number = int64_t{1};
    std::vector<std::pair<Expr, int64_t>> powers;
    std::unordered_map<const ExprNode*, size_t> place;
    const auto include = [&](Expr factor) {
      Expr base = factor;
      int64_t exponent = 1;
      const bool natural = factor->op == ExprOp::power && factor->args[1]->op == ExprOp::integer &&
                           std::get<int64_t>(factor->args[1]->number) > 0;
      if (natural) base = factor->args[0], exponent = std::get<int64_t>(factor->args[1]->number);
      const auto [found, is_new] = place.emplace(base.operator->(), powers.size());
      if (is_new) powers.emplace_back(base, 0);
      int64_t& total = powers[found->second].second;
      return !__builtin_add_overflow(total, exponent, &total);
    };
    for (Expr part : expr->args) {
      const std::span<const Expr> inner =
          part->op == ExprOp::multiply ? std::span<const Expr>(part->args) : std::span(&part, 1);
      for (Expr factor : inner) {
        if (is_literal(factor)) {
          const auto next = multiply(number, factor->number);
          if (!next) return expr;
          number = *next;
        } else if (!include(factor)) {
          return expr;
        }
      }
    }
    return product_of(number, powers);
  }

  Result<Expr> product_of(const Number& number,
                          const std::vector<std::pair<Expr, int64_t>>& powers) {
    std::vector<Expr> factors;
    for (const auto& [base, exponent] : powers) {
      Expr factor = base;
      if (exponent != 1) {
        PT2_TRY(Expr count, literal(exponent));
        PT2_TRY(factor, build(ExprOp::power, {base, count}));
      }
      factors.push_back(factor);
    }
    if (factors.empty()) return literal(number);
    if (factors.size() == 1 && factors[0]->op == ExprOp::add)
      return distributed(number, factors[0]);
    if (factors.size() == 1) return scaled(number, factors[0]);
    PT2_TRY(Expr rest, build(ExprOp::multiply, std::move(factors)));
    return scaled(number, rest);
  }

  // Returns 2*x + 2*y for 2*(x + y), as sympy does.
  Result<Expr> distributed(const Number& number, Expr sum) {
    PT2_TRY(Terms terms, terms_of(sum));
    for (auto& [term, coefficient] : terms) {
      const auto next = multiply(coefficient, number);
      if (!next) return scaled(number, sum);
      coefficient = *next;
    }
    return sum_of(terms);
  }

  Result<Expr> simplify_power(Expr expr) {
    const Expr base = expr->args[0], exponent = expr->args[1];
    if (is_integer(exponent, 0)) return literal(int64_t{1});
    return is_integer(exponent, 1) ? base : expr;
  }

  Result<Expr> simplify_extremum(Expr expr) {
    std::vector<Expr> kept;
    Seen seen;
    std::optional<Number> number;
    const bool most = expr->op == ExprOp::maximum;
    for (Expr part : expr->args) {
      const std::span<const Expr> inner =
          part->op == expr->op ? std::span<const Expr>(part->args) : std::span(&part, 1);
      for (Expr arg : inner) {
        if (!is_literal(arg)) {
          if (seen.insert(arg.operator->()).second) kept.push_back(arg);
        } else if (!number || (compare(arg->number, *number) > 0) == most) {
          number = arg->number;
        }
      }
    }
    if (number) {
      PT2_TRY(Expr one, literal(*number));
      kept.insert(kept.begin(), one);
    }
    return kept.size() == 1 ? Result<Expr>(kept[0]) : build(expr->op, std::move(kept));
  }

  // Removes from `rest` the terms divisible by `divisor`, and returns the quotients.
  static Terms divided_out(Terms& rest, int64_t divisor) {
    Terms quotients;
    std::erase_if(rest, [&](const auto& term) {
      const auto coefficient = as_integer(term.second);
      if (!coefficient || divisor == -1 || *coefficient % divisor != 0) return false;
      quotients.emplace_back(term.first, Number(*coefficient / divisor));
      return true;
    });
    return quotients;
  }

  // True if every term is an integer expression times an integer, so that it may be split off.
  bool are_whole(const Terms& terms) {
    return std::ranges::all_of(terms, [&](const auto& term) {
      return kinds_.is_integer(term.first) && as_integer(term.second).has_value();
    });
  }

  Result<Expr> simplify_floor_div(Expr expr) {
    const Expr base = expr->args[0], divisor = expr->args[1];
    if (is_integer(base, 0)) return base;
    if (is_integer(divisor, 1)) return base;
    if (base == divisor) return literal(int64_t{1});
    if (divisor->op != ExprOp::integer || std::get<int64_t>(divisor->number) <= 0) return expr;
    const auto n = std::get<int64_t>(divisor->number);
    // floor(floor(a/b)/n) is floor(a/(b*n)) for a positive n.
    if (base->op == ExprOp::floor_div && base->args[1]->op == ExprOp::integer) {
      const auto both = multiply(base->args[1]->number, Number(n));
      if (!both) return expr;
      PT2_TRY(Expr product, literal(*both));
      PT2_TRY(Expr once, build(ExprOp::floor_div, {base->args[0], product}));
      return apply_rules(once);
    }
    const auto terms = terms_of(base);
    if (!terms || !are_whole(*terms)) return expr;
    Terms rest = *terms;
    Terms quotients = divided_out(rest, n);
    PT2_TRY(Expr remainder, floor_div_without_common_factor(expr->op, rest, n));
    quotients.emplace_back(remainder, Number(int64_t{1}));
    PT2_TRY(Expr sum, sum_of(quotients));
    return sum->op == ExprOp::add ? simplify_sum(sum) : Result<Expr>(sum);
  }

  Result<Expr> floor_div_without_common_factor(ExprOp op, Terms terms, int64_t divisor) {
    int64_t common = divisor;
    for (const auto& [term, coefficient] : terms)
      common =
          *as_integer(coefficient) == INT64_MIN ? 1 : std::gcd(common, *as_integer(coefficient));
    for (auto& [term, coefficient] : terms) coefficient = *as_integer(coefficient) / common;
    PT2_TRY(Expr base, sum_of(terms));
    if (terms.empty() || divisor == common) return base;
    PT2_TRY(Expr by, literal(divisor / common));
    return build(op, {base, by});
  }

  Result<Expr> simplify_modulo(Expr expr) {
    const Expr base = expr->args[0], divisor = expr->args[1];
    if (is_integer(base, 0) || is_integer(divisor, 1) || base == divisor)
      return literal(int64_t{0});
    if (divisor->op != ExprOp::integer || std::get<int64_t>(divisor->number) <= 0) return expr;
    const auto terms = terms_of(base);
    if (!terms || !are_whole(*terms)) return expr;
    Terms rest = *terms;
    if (divided_out(rest, std::get<int64_t>(divisor->number)).empty()) return expr;
    if (rest.empty()) return literal(int64_t{0});
    // Mod is not defined for negative dividends, and the remaining terms may be negative.
    if (expr->op == ExprOp::mod) return expr;
    PT2_TRY(Expr remainder, sum_of(rest));
    PT2_TRY(Expr out, build(expr->op, {remainder, divisor}));
    return is_literal(remainder) ? apply_rules(out) : Result<Expr>(out);
  }

  Result<Expr> simplify_piecewise(Expr expr) {
    std::vector<Expr> kept;
    for (Expr pair : expr->args) {
      if (pair->op != ExprOp::condition_pair) return expr;
      const auto condition = truth(pair->args[1]);
      if (condition == false) continue;
      if (condition == true && kept.empty()) return pair->args[0];
      kept.push_back(pair);
      if (condition == true) break;
    }
    // No condition is ever true: the piecewise has no value. It is kept, so evaluation still fails.
    return kept.empty() ? Result<Expr>(expr) : with_args(pool_, expr, std::move(kept));
  }

  Result<Expr> simplify_logic(Expr expr) {
    const bool decisive = expr->op == ExprOp::logical_or;
    std::vector<Expr> kept;
    Seen seen;
    for (Expr arg : expr->args) {
      const auto value = truth(arg);
      if (value == !decisive || !seen.insert(arg.operator->()).second) continue;
      // A decisive argument ends the evaluation, so later arguments do not matter. If an earlier
      // argument has no value, neither has the expression, and any result is right.
      if (value == decisive) return literal(decisive);
      kept.push_back(arg);
    }
    if (kept.empty()) return literal(!decisive);
    // A single argument replaces the expression only if it is known to be a condition.
    if (kept.size() == 1 && kinds_.of(kept[0]) == NumberKind::boolean) return kept[0];
    return with_args(pool_, expr, std::move(kept));
  }

  Result<Expr> simplify_not(Expr expr) {
    const Expr arg = expr->args[0];
    if (arg->op == ExprOp::logical_not && kinds_.of(arg->args[0]) == NumberKind::boolean)
      return arg->args[0];
    static constexpr std::pair<ExprOp, ExprOp> kOpposites[] = {
        {ExprOp::equal, ExprOp::not_equal},
        {ExprOp::less, ExprOp::greater_equal},
        {ExprOp::greater, ExprOp::less_equal},
    };
    for (const auto& [one, other] : kOpposites) {
      if (arg->op != one && arg->op != other) continue;
      // Negating a relation would be wrong for NaN, which satisfies no relation.
      if (!is_exact(arg->args[0]) || !is_exact(arg->args[1])) return expr;
      return build(arg->op == one ? other : one, arg->args);
    }
    return expr;
  }

  ExprPool& pool_;
  NumberKinds kinds_;
  Rewritten done_;
};

class Substitution {
 public:
  Substitution(ExprPool& pool, std::span<const std::pair<SymbolId, Expr>> replacements)
      : pool_(pool) {
    for (const auto& [symbol, replacement] : replacements)
      replacements_.emplace(static_cast<uint32_t>(symbol), replacement);
  }

  Result<Expr> apply(Expr expr) {
    if (expr.is_symbol()) {
      const auto found = replacements_.find(static_cast<uint32_t>(expr->symbol));
      return found == replacements_.end() ? expr : found->second;
    }
    if (expr->args.empty()) return expr;
    const ExprNode* node = expr.operator->();
    if (const auto found = done_.find(node); found != done_.end()) return found->second;
    std::vector<Expr> args;
    for (Expr arg : expr->args) {
      PT2_TRY(Expr replaced, apply(arg));
      args.push_back(replaced);
    }
    PT2_TRY(Expr out, with_args(pool_, expr, std::move(args)));
    done_.emplace(node, out);
    return out;
  }

 private:
  ExprPool& pool_;
  std::unordered_map<uint32_t, Expr> replacements_;
  Rewritten done_;
};

}  // namespace

Result<Expr> substitute(ExprPool& pool, Expr expr,
                        std::span<const std::pair<SymbolId, Expr>> replacements) {
  return Substitution(pool, replacements).apply(expr);
}

Result<Expr> simplify(ExprPool& pool, Expr expr) { return Simplifier(pool).simplify(expr); }

}  // namespace pt2
