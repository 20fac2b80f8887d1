#include "pt2/ir/expr_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/number.h"
#include "ir/symbols/expr_kind.h"
#include "pt2/ir/expr_rewrite.h"
#include "pt2/ir/program.h"

namespace pt2 {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_infinite(const Number& a) {
  const auto* value = std::get_if<double>(&a);
  return value != nullptr && std::isinf(*value);
}
bool is_less(const Number& a, const Number& b) { return compare(a, b) < 0; }
const Number& smaller(const Number& a, const Number& b) { return is_less(b, a) ? b : a; }
const Number& larger(const Number& a, const Number& b) { return is_less(a, b) ? b : a; }
int sign(const Number& a) {
  const Number zero = int64_t{0};
  return is_less(a, zero) ? -1 : is_less(zero, a) ? 1 : 0;
}

ValueRange point(Number value) { return {value, value}; }
ValueRange range(Number min, Number max) { return {min, max}; }
ValueRange unknown() { return {}; }
ValueRange unknown_condition() { return {false, true}; }

bool is_point(const ValueRange& a) { return compare(a.min, a.max) == 0; }
bool contains_zero(const ValueRange& a) { return sign(a.min) <= 0 && sign(a.max) >= 0; }

ValueRange united(const ValueRange& a, const ValueRange& b) {
  return {smaller(a.min, b.min), larger(a.max, b.max)};
}

// Widens a range by the error of intermediate rounding, a few ulps.
ValueRange outwards(const ValueRange& a) {
  constexpr double kSlack = 4 * std::numeric_limits<double>::epsilon();
  const auto moved = [](const Number& value, double direction) {
    const double x = to_double(value);
    return std::isinf(x)
               ? x
               : std::nextafter(x + direction * kSlack * std::abs(x), direction * kInfinity);
  };
  return {moved(a.min, -1), moved(a.max, 1)};
}

// Widens only the bounds that are floats, where exact arithmetic was not possible.
ValueRange enclosed(const ValueRange& a) {
  const ValueRange wide = outwards(a);
  return {std::holds_alternative<double>(a.min) ? wide.min : a.min,
          std::holds_alternative<double>(a.max) ? wide.max : a.max};
}

// Returns `exact` if it has a value. Otherwise returns infinity for a result beyond int64, where
// expressions have no value, and the approximation `nearly` for a fraction that does not fit.
Number or_nearly(const Result<Number>& exact, double nearly) {
  if (exact) return *exact;
  return std::abs(nearly) >= 0x1p62 ? Number(std::copysign(kInfinity, nearly)) : Number(nearly);
}

Number sum(const Number& a, const Number& b, double unbounded) {
  if (is_infinite(a) || is_infinite(b)) return unbounded;
  return or_nearly(add(a, b), to_double(a) + to_double(b));
}

Number product(const Number& a, const Number& b) {
  // An infinite bound stands for arbitrarily large finite numbers: 0 times them is 0.
  if (sign(a) == 0 || sign(b) == 0) return int64_t{0};
  if (is_infinite(a) || is_infinite(b)) return sign(a) * sign(b) * kInfinity;
  return or_nearly(multiply(a, b), to_double(a) * to_double(b));
}

ValueRange corners(const ValueRange& a, const ValueRange& b,
                   Number (*combine)(const Number&, const Number&)) {
  const Number all[] = {combine(a.min, b.min), combine(a.min, b.max), combine(a.max, b.min),
                        combine(a.max, b.max)};
  const auto [least, greatest] = std::minmax_element(std::begin(all), std::end(all), is_less);
  return enclosed({*least, *greatest});
}

ValueRange add_ranges(const ValueRange& a, const ValueRange& b) {
  return enclosed({sum(a.min, b.min, -kInfinity), sum(a.max, b.max, kInfinity)});
}
ValueRange multiply_ranges(const ValueRange& a, const ValueRange& b) {
  return corners(a, b, product);
}
ValueRange negated(const ValueRange& a) { return multiply_ranges(a, point(int64_t{-1})); }

// Divides by a nonzero divisor; infinite bounds as in `product`.
Number quotient(const Number& a, const Number& b) {
  if (sign(a) == 0 || is_infinite(b)) return int64_t{0};
  if (is_infinite(a)) return sign(a) * sign(b) * kInfinity;
  return or_nearly(divide(a, b), to_double(a) / to_double(b));
}

Number floored(const Number& a) {
  if (is_infinite(a)) return a;
  const auto value = floor_to_integer(a);
  return value ? Number(*value) : Number(std::floor(to_double(a)));
}

// Returns the parts of an integer divisor's range below and above 0, where division is defined.
std::vector<ValueRange> nonzero_parts(const ValueRange& a) {
  if (!contains_zero(a)) return {a};
  std::vector<ValueRange> parts;
  if (sign(a.min) < 0) parts.push_back({a.min, int64_t{-1}});
  if (sign(a.max) > 0) parts.push_back({int64_t{1}, a.max});
  return parts;
}

ValueRange divide_ranges(const ValueRange& a, const ValueRange& b, bool integer_divisor) {
  if (!integer_divisor && contains_zero(b)) return unknown();
  std::optional<ValueRange> out;
  for (const ValueRange& part : nonzero_parts(b)) {
    const ValueRange one = corners(a, part, quotient);
    out = out ? united(*out, one) : one;
  }
  return out.value_or(unknown());
}

ValueRange floor_divide_ranges(const ValueRange& a, const ValueRange& b, bool integer_divisor) {
  const ValueRange exact = divide_ranges(a, b, integer_divisor);
  ValueRange out{floored(exact.min), floored(exact.max)};
  // quotient() returns 0 for a finite number over an infinite bound. A negative quotient that close
  // to 0 floors to -1.
  const bool vanishes = is_infinite(b.min) || is_infinite(b.max);
  if (vanishes && compare(out.min, Number(int64_t{0})) == 0 && (sign(a.min) < 0 || sign(b.min) < 0))
    out.min = int64_t{-1};
  return out;
}

// Python's modulo, with the sign of the divisor. `step` is 1 for integers: the remainder's
// magnitude is at least 1 below the divisor's.
ValueRange modulo_ranges(const ValueRange& a, const ValueRange& b, bool integers) {
  const Number step = int64_t{integers ? 1 : 0}, zero = int64_t{0};
  if (sign(a.min) >= 0 && sign(b.min) > 0 && is_less(a.max, b.min)) return a;
  Number max = sign(b.max) > 0 ? sum(b.max, *negate(step), kInfinity) : zero;
  Number min = sign(b.min) < 0 ? sum(b.min, step, -kInfinity) : zero;
  if (sign(a.min) >= 0 && sign(b.min) >= 0) max = smaller(max, a.max);
  return {smaller(min, zero), larger(max, zero)};
}

// Mod is defined for dividends >= 0 and positive divisors. Elsewhere its only possible value is 0.
ValueRange plain_modulo_ranges(const ValueRange& a, const ValueRange& b, bool integers) {
  const Number zero = int64_t{0}, one = int64_t{1};
  if (!integers) return modulo_ranges(a, b, false);
  if (sign(a.max) < 0 || is_less(b.max, one)) return point(zero);
  const ValueRange valid =
      modulo_ranges({larger(a.min, zero), a.max}, {larger(b.min, one), b.max}, integers);
  return sign(a.min) >= 0 && sign(b.min) > 0 ? valid : united(valid, point(zero));
}

ValueRange power_ranges(const ValueRange& base, int64_t exponent) {
  const auto raise = [&](const Number& a) {
    const double nearly = std::pow(to_double(a), static_cast<double>(exponent));
    return is_infinite(a) ? Number(nearly) : or_nearly(power(a, Number(exponent)), nearly);
  };
  if (exponent == 0) return point(int64_t{1});
  const Number low = raise(base.min), high = raise(base.max);
  if (exponent % 2 != 0) return enclosed({low, high});
  return enclosed(
      {contains_zero(base) ? Number(int64_t{0}) : smaller(low, high), larger(low, high)});
}

// The range of powers with natural exponents; the exponent may have several values.
ValueRange natural_power_ranges(const ValueRange& base, const ValueRange& exponent) {
  const auto* fixed = std::get_if<int64_t>(&exponent.min);
  if (is_point(exponent) && fixed != nullptr && *fixed >= 0) return power_ranges(base, *fixed);
  const Number magnitude = larger(base.max, Number(-to_double(base.min)));
  const Number one = int64_t{1};
  Number most = kInfinity;
  if (const auto* top = std::get_if<int64_t>(&exponent.max); top != nullptr && *top >= 0)
    most = larger(power_ranges(point(magnitude), *top).max, one);
  if (!is_less(base.min, one)) {
    const auto* least = std::get_if<int64_t>(&exponent.min);
    const ValueRange low = power_ranges(base, least != nullptr ? std::max<int64_t>(*least, 0) : 0);
    return {low.min, larger(most, low.max)};
  }
  if (sign(base.min) >= 0) return {int64_t{0}, most};
  return range(negated(point(most)).min, most);
}

class Bounder {
 public:
  explicit Bounder(const SymbolRanges& ranges) : ranges_(ranges) {}

  ValueRange of(Expr expr) {
    const ValueRange found = compute(expr);
    const bool computed = !expr->args.empty() && kinds_.of(expr) == NumberKind::real;
    return computed ? outwards(found) : found;
  }

 private:
  std::vector<ValueRange> of_all(std::span<const Expr> args) {
    std::vector<ValueRange> out;
    for (Expr arg : args) out.push_back(of(arg));
    return out;
  }
  // Returns the range if it is a boolean range; otherwise the range of an unknown condition.
  static ValueRange condition(const ValueRange& a) {
    const bool known = std::holds_alternative<bool>(a.min) && std::holds_alternative<bool>(a.max);
    return known ? a : unknown_condition();
  }
  bool are_integers(Expr expr) {
    return std::ranges::all_of(expr->args, [&](Expr arg) { return kinds_.is_integer(arg); });
  }

  ValueRange compute(Expr expr) {
    switch (expr->op) {
      case ExprOp::integer:
      case ExprOp::rational:
      case ExprOp::floating:
      case ExprOp::boolean:
        return point(expr->number);
      case ExprOp::infinity:
        return point(sign(expr->number) * kInfinity);
      case ExprOp::symbol: {
        const SymRange found = ranges_.find(expr->symbol);
        return {found.min ? Number(*found.min) : Number(-kInfinity),
                found.max ? Number(*found.max) : Number(kInfinity)};
      }
      case ExprOp::constant:
      case ExprOp::opaque:
        return unknown();
      case ExprOp::where:
      case ExprOp::piecewise:
        return of_choice(expr);
      default:
        return expr->args.empty() ? of_empty(expr->op) : of_function(expr, of_all(expr->args));
    }
  }

  static ValueRange of_empty(ExprOp op) {
    if (op == ExprOp::logical_and || op == ExprOp::logical_or)
      return point(op == ExprOp::logical_and);
    return op == ExprOp::multiply ? point(int64_t{1}) : unknown();
  }

  ValueRange of_choice(Expr expr) {
    std::optional<ValueRange> out;
    const auto include = [&](Expr value) {
      const ValueRange one = of(value);
      out = out ? united(*out, one) : one;
    };
    const std::span<const Expr> args = expr->args;
    if (expr->op == ExprOp::where) {
      const ValueRange chosen = condition(of(args[0]));
      if (chosen.max == Number(true)) include(args[1]);
      if (chosen.min == Number(false)) include(args[2]);
      return out.value_or(unknown());
    }
    for (Expr pair : args) {
      if (pair->op != ExprOp::condition_pair) return unknown();
      const ValueRange chosen = condition(of(pair->args[1]));
      if (chosen.max == Number(true)) include(pair->args[0]);
      if (chosen.min == Number(true)) break;
    }
    return out.value_or(unknown());
  }

  ValueRange of_function(Expr expr, const std::vector<ValueRange>& args) {
    const ValueRange& a = args[0];
    const ValueRange& b = args.size() > 1 ? args[1] : a;
    switch (expr->op) {
      case ExprOp::add:
        return fold(args, add_ranges, kinds_.of(expr));
      case ExprOp::multiply:
        return fold(args, multiply_ranges, kinds_.of(expr));
      case ExprOp::maximum:
        return fold(args, [](const ValueRange& x, const ValueRange& y) {
          return range(larger(x.min, y.min), larger(x.max, y.max));
        });
      case ExprOp::minimum:
        return fold(args, [](const ValueRange& x, const ValueRange& y) {
          return range(smaller(x.min, y.min), smaller(x.max, y.max));
        });
      case ExprOp::identity:
      case ExprOp::to_float:
        return a;
      case ExprOp::absolute:
        return contains_zero(a)  ? range(int64_t{0}, larger(a.max, negated(a).max))
               : sign(a.min) > 0 ? a
                                 : negated(a);
      case ExprOp::power:
        return of_power(expr, a, b);
      case ExprOp::pow_by_natural:
        return are_integers(expr) ? natural_power_ranges(a, b) : unknown();
      case ExprOp::float_pow:
        return sign(a.min) >= 0 ? range(int64_t{0}, kInfinity) : unknown();
      case ExprOp::non_overlapping_and_dense:
        return range(int64_t{0}, int64_t{1});
      case ExprOp::bitwise_and:
      case ExprOp::bitwise_or:
      case ExprOp::bitwise_xor:
        return of_bits(expr, a, b);
      case ExprOp::logical_and:
      case ExprOp::logical_or:
        return of_logic(expr->op, args);
      case ExprOp::logical_not:
        return inverted(a);
      case ExprOp::equal:
        return equal(a, b);
      case ExprOp::not_equal:
        return inverted(equal(a, b));
      case ExprOp::less:
        return less(a, b);
      case ExprOp::greater:
        return less(b, a);
      case ExprOp::less_equal:
        return inverted(less(b, a));
      case ExprOp::greater_equal:
        return inverted(less(a, b));
      default:
        return of_division(expr, args);
    }
  }

  template <class Combine>
  static ValueRange fold(const std::vector<ValueRange>& args, Combine combine,
                         NumberKind kind = NumberKind::boolean) {
    ValueRange out = args[0];
    for (size_t i = 1; i < args.size(); ++i) {
      out = combine(out, args[i]);
      if (kind == NumberKind::real) out = outwards(out);
    }
    return out;
  }

  ValueRange of_power(Expr expr, const ValueRange& base, const ValueRange& exponent) {
    const auto* fixed = std::get_if<int64_t>(&exponent.min);
    if (!kinds_.is_exact(expr) || !is_point(exponent) || fixed == nullptr || *fixed == INT64_MIN)
      return sign(base.min) >= 0 ? range(int64_t{0}, kInfinity) : unknown();
    if (*fixed >= 0) return power_ranges(base, *fixed);
    return divide_ranges(point(int64_t{1}), power_ranges(base, -*fixed),
                         kinds_.is_integer(expr->args[0]));
  }

  ValueRange of_division(Expr expr, const std::vector<ValueRange>& args) {
    const bool integers = are_integers(expr);
    const bool exact =
        std::ranges::all_of(expr->args, [&](Expr arg) { return kinds_.is_exact(arg); });
    const ValueRange& a = args[0];
    const ValueRange& b = args.size() > 1 ? args[1] : a;
    switch (expr->op) {
      case ExprOp::floor_div:
      case ExprOp::clean_div:
        return exact ? floor_divide_ranges(a, b, integers) : unknown();
      case ExprOp::ceil_div:
        return exact ? negated(floor_divide_ranges(negated(a), b, integers)) : unknown();
      case ExprOp::mod:
        return exact ? plain_modulo_ranges(a, b, integers) : unknown();
      case ExprOp::python_mod:
        return exact ? modulo_ranges(a, b, integers) : unknown();
      case ExprOp::modular_indexing:
        return exact ? modulo_ranges(floor_divide_ranges(a, b, integers), args[2], integers)
                     : unknown();
      case ExprOp::int_true_div:
      case ExprOp::float_true_div:
        return divide_ranges(a, b, integers);
      case ExprOp::left_shift:
        return integers ? multiply_ranges(a, natural_power_ranges(point(int64_t{2}), b))
                        : unknown();
      case ExprOp::right_shift:
        return integers ? floor_divide_ranges(a, natural_power_ranges(point(int64_t{2}), b), true)
                        : unknown();
      default:
        return of_rounding(expr, a);
    }
  }

  // Rounding functions of one number; all are monotonic.
  ValueRange of_rounding(Expr expr, const ValueRange& a) {
    // Fractions are converted to floats before rounding.
    const ValueRange x = kinds_.is_integer(expr->args[0]) ? a : outwards(a);
    const auto mapped = [&](double (*round)(double)) {
      const auto one = [&](const Number& value) -> Number {
        if (!std::holds_alternative<double>(value)) return value;
        const double rounded = round(std::get<double>(value));
        const auto integer = float_to_integer(rounded);
        return integer ? Number(*integer) : Number(rounded);
      };
      return ValueRange{one(x.min), one(x.max)};
    };
    switch (expr->op) {
      case ExprOp::floor:
      case ExprOp::floor_to_int:
        return mapped(std::floor);
      case ExprOp::ceiling:
      case ExprOp::ceil_to_int:
        return mapped(std::ceil);
      case ExprOp::trunc_to_int:
      case ExprOp::trunc_to_float:
      case ExprOp::old_trunc:
        return mapped(std::trunc);
      case ExprOp::round_to_int:
      case ExprOp::old_round:
        return mapped(std::nearbyint);
      case ExprOp::square_root:
        return {std::sqrt(std::max(0.0, to_double(x.min))),
                std::sqrt(std::max(0.0, to_double(x.max)))};
      case ExprOp::cosine:
      case ExprOp::sine:
      case ExprOp::hyperbolic_tangent:
        return range(-1.0, 1.0);
      case ExprOp::exponential:
      case ExprOp::hyperbolic_cosine:
        return range(0.0, kInfinity);
      case ExprOp::arc_sine:
      case ExprOp::arc_tangent:
      case ExprOp::arc_cosine:
        return range(-4.0, 4.0);
      default:
        return unknown();
    }
  }

  ValueRange of_bits(Expr expr, const ValueRange& a, const ValueRange& b) {
    if (kinds_.of(expr) == NumberKind::boolean) {
      if (expr->op == ExprOp::bitwise_and)
        return range(smaller(a.min, b.min), smaller(a.max, b.max));
      if (expr->op == ExprOp::bitwise_or) return range(larger(a.min, b.min), larger(a.max, b.max));
      return inverted(equal(a, b));
    }
    const Number zero = int64_t{0};
    const bool positive = sign(a.min) >= 0 && sign(b.min) >= 0;
    const Number& top = larger(a.max, b.max);
    if (expr->op == ExprOp::bitwise_and) {
      if (positive) return range(zero, smaller(a.max, b.max));
      if (sign(a.min) >= 0) return range(zero, a.max);
      if (sign(b.min) >= 0) return range(zero, b.max);
      return range(-kInfinity, top);
    }
    if (!positive) return unknown();
    // All bits up to the highest one may be set.
    Number filled = kInfinity;
    if (const auto highest = as_integer(top))
      filled = static_cast<int64_t>(
          (uint64_t{1} << std::bit_width(static_cast<uint64_t>(*highest))) - 1);
    return range(expr->op == ExprOp::bitwise_or ? larger(a.min, b.min) : zero, filled);
  }

  static ValueRange of_logic(ExprOp op, const std::vector<ValueRange>& args) {
    ValueRange out = condition(args[0]);
    for (const ValueRange& arg : args) {
      const ValueRange next = condition(arg);
      const auto least = op == ExprOp::logical_and ? smaller : larger;
      out = {least(out.min, next.min), least(out.max, next.max)};
    }
    return out;
  }
  static ValueRange inverted(const ValueRange& a) {
    const ValueRange known = condition(a);
    return {known.max == Number(false), known.min == Number(false)};
  }
  static ValueRange equal(const ValueRange& a, const ValueRange& b) {
    if (is_point(a) && is_point(b) && compare(a.min, b.min) == 0) return point(true);
    return is_less(a.max, b.min) || is_less(b.max, a.min) ? point(false) : unknown_condition();
  }
  static ValueRange less(const ValueRange& a, const ValueRange& b) {
    if (is_less(a.max, b.min)) return point(true);
    return is_less(a.min, b.max) ? unknown_condition() : point(false);
  }

  const SymbolRanges& ranges_;
  NumberKinds kinds_;
};

bool is_relation(ExprOp op) {
  return op == ExprOp::equal || op == ExprOp::not_equal || op == ExprOp::less ||
         op == ExprOp::less_equal || op == ExprOp::greater || op == ExprOp::greater_equal;
}

std::optional<bool> decided(const ValueRange& condition) {
  const auto* least = std::get_if<bool>(&condition.min);
  const auto* greatest = std::get_if<bool>(&condition.max);
  return least && greatest && *least == *greatest ? std::optional<bool>(*least) : std::nullopt;
}

}  // namespace

SymbolRanges::SymbolRanges(std::span<const RangeConstraint> constraints) {
  for (const RangeConstraint& constraint : constraints)
    if (constraint.key != nullptr && constraint.key->expr.is_symbol())
      set(constraint.key->expr->symbol, constraint.range);
}

void SymbolRanges::set(SymbolId symbol, SymRange range) {
  const auto index = static_cast<size_t>(symbol);
  if (index >= ranges_.size()) ranges_.resize(index + 1);
  ranges_[index] = range;
}

SymRange SymbolRanges::find(SymbolId symbol) const {
  const auto index = static_cast<size_t>(symbol);
  return index < ranges_.size() ? ranges_[index] : SymRange{};
}

ValueRange bounds(Expr expr, const SymbolRanges& ranges) { return Bounder(ranges).of(expr); }

SymRange integer_bounds(Expr expr, const SymbolRanges& ranges) {
  const ValueRange found = bounds(expr, ranges);
  SymRange out;
  const auto max = floor_to_integer(found.max);
  if (!is_infinite(found.max) && max) out.max = *max;
  const auto negative = negate(found.min);
  if (is_infinite(found.min) || !negative) return out;
  const auto min = floor_to_integer(*negative);
  if (min && *min != INT64_MIN) out.min = -*min;
  return out;
}

std::string print(const ValueRange& range) {
  const auto one = [](const Number& a) {
    return is_infinite(a) ? std::string(sign(a) < 0 ? "-oo" : "oo") : print(a);
  };
  return fmt::format("[{}, {}]", one(range.min), one(range.max));
}

std::optional<bool> decide(ExprPool& pool, Expr condition, const SymbolRanges& ranges) {
  if (const auto answer = decided(bounds(condition, ranges))) return answer;
  if (!is_relation(condition->op)) return std::nullopt;
  NumberKinds kinds;
  const Expr left = condition->args[0], right = condition->args[1];
  const int deepest = std::max(left->depth, right->depth);
  if (!kinds.is_exact(left) || !kinds.is_exact(right) || deepest + 3 > ExprPool::kMaxDepth)
    return std::nullopt;
  const Expr minus = pool.intern({.op = ExprOp::multiply, .args = {pool.integer(-1), right}});
  const auto difference = simplify(pool, pool.intern({.op = ExprOp::add, .args = {left, minus}}));
  if (!difference) return std::nullopt;
  const ExprNode against_zero{.op = condition->op, .args = {*difference, pool.integer(0)}};
  if ((*difference)->depth >= ExprPool::kMaxDepth) return std::nullopt;
  return decided(bounds(pool.intern(against_zero), ranges));
}

}  // namespace pt2
