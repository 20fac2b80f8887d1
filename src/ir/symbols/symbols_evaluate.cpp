// Evaluates the functions of expr.def, after torch/utils/_sympy/functions.py.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/platform.h"
#include "ir/number.h"
#include "ir/symbols/symbols_internal.h"

namespace pt2 {
namespace {

using Arguments = std::span<const Number>;

Error invalid(std::string message) { return {ErrorCode::invalid, std::move(message), {}}; }

Result<int64_t> integer_of(const Number& number) {
  if (const auto value = as_integer(number)) return *value;
  return invalid(fmt::format("{} is not an integer", print(number)));
}

Result<bool> bool_of(const Number& number) {
  if (const auto* value = std::get_if<bool>(&number)) return *value;
  return invalid(fmt::format("{} is not a condition", print(number)));
}

Result<Number> evaluate_add(Arguments args) {
  Number sum = int64_t{0};
  for (const Number& arg : args) {
    PT2_TRY(sum, add(sum, arg));
  }
  return sum;
}

Result<Number> evaluate_multiply(Arguments args) {
  Number product = int64_t{1};
  for (const Number& arg : args) {
    PT2_TRY(product, multiply(product, arg));
  }
  return product;
}

Result<Number> evaluate_power(Arguments args) { return power(args[0], args[1]); }

Result<Number> evaluate_absolute(Arguments args) {
  return compare(args[0], Number(int64_t{0})) < 0 ? negate(args[0]) : Result<Number>(args[0]);
}

Result<Number> evaluate_floor(Arguments args) {
  PT2_TRY(int64_t value, floor_to_integer(args[0]));
  return Number(value);
}

Result<Number> evaluate_ceiling(Arguments args) {
  PT2_TRY(Number negative, negate(args[0]));
  PT2_TRY(int64_t value, floor_to_integer(negative));
  return negate(Number(value));
}

Result<Number> evaluate_maximum(Arguments args) {
  return *std::max_element(args.begin(), args.end(),
                           [](const Number& a, const Number& b) { return compare(a, b) < 0; });
}

Result<Number> evaluate_minimum(Arguments args) {
  return *std::min_element(args.begin(), args.end(),
                           [](const Number& a, const Number& b) { return compare(a, b) < 0; });
}

Result<Number> evaluate_floor_div(Arguments args) { return floor_divide(args[0], args[1]); }
Result<Number> evaluate_clean_div(Arguments args) { return floor_divide(args[0], args[1]); }

Result<Number> evaluate_ceil_div(Arguments args) {
  PT2_TRY(Number negative, negate(args[0]));
  PT2_TRY(Number quotient, floor_divide(negative, args[1]));
  return negate(quotient);
}

Result<Number> evaluate_modular_indexing(Arguments args) {
  PT2_TRY(Number quotient, floor_divide(args[0], args[1]));
  return modulo(quotient, args[2]);
}

// Mod.eval asserts p >= 0 and q >= 1, unless it sees at once that the result is 0.
Result<Number> evaluate_mod(Arguments args) {
  const Number zero = int64_t{0}, one = int64_t{1};
  PT2_TRY(Number remainder, modulo(args[0], args[1]));
  PT2_TRY(Number negative, negate(args[1]));
  const bool plainly_zero = compare(args[0], zero) == 0 || compare(args[0], args[1]) == 0 ||
                            compare(args[0], negative) == 0 || compare(args[1], one) == 0;
  if (plainly_zero || (compare(args[0], zero) >= 0 && compare(args[1], one) >= 0)) return remainder;
  return invalid(
      fmt::format("Mod({}, {}) is only defined for a dividend from 0 and a divisor from 1 on",
                  print(args[0]), print(args[1])));
}

Result<Number> evaluate_python_mod(Arguments args) { return modulo(args[0], args[1]); }

Result<Number> evaluate_pow_by_natural(Arguments args) {
  PT2_TRY(int64_t exponent, integer_of(args[1]));
  if (exponent < 0) return invalid(fmt::format("PowByNatural of exponent {}", exponent));
  return power(args[0], args[1]);
}

Result<Number> evaluate_float_pow(Arguments args) {
  return power(Number(to_double(args[0])), Number(to_double(args[1])));
}

// Guards may pass floats: for them Python writes / for both kinds of division.
Result<Number> evaluate_int_true_div(Arguments args) {
  if (std::ranges::any_of(args, [](const Number& a) { return std::holds_alternative<double>(a); }))
    return divide(Number(to_double(args[0])), Number(to_double(args[1])));
  PT2_TRY(int64_t dividend, integer_of(args[0]));
  PT2_TRY(int64_t divisor, integer_of(args[1]));
  PT2_TRY(double quotient, true_divide(dividend, divisor));
  return Number(quotient);
}

Result<Number> evaluate_float_true_div(Arguments args) {
  return divide(Number(to_double(args[0])), Number(to_double(args[1])));
}

Result<Number> power_of_two(const Number& exponent) {
  PT2_TRY(int64_t shift, integer_of(exponent));
  if (shift < 0) return invalid(fmt::format("a shift by {}", shift));
  return power(Number(int64_t{2}), exponent);
}

Result<Number> evaluate_left_shift(Arguments args) {
  const auto shift = as_integer(args[1]);
  if (compare(args[0], Number(int64_t{0})) == 0 && shift && *shift > 62) return args[0];
  PT2_TRY(Number factor, power_of_two(args[1]));
  return multiply(args[0], factor);
}

Result<Number> evaluate_right_shift(Arguments args) {
  // A shift by 63 or more leaves only the sign of an int64.
  const auto base = as_integer(args[0]), shift = as_integer(args[1]);
  if (base && shift && *shift > 62) return Number(int64_t{*base < 0 ? -1 : 0});
  PT2_TRY(Number divisor, power_of_two(args[1]));
  return floor_divide(args[0], divisor);
}

Result<Number> evaluate_to_float(Arguments args) { return Number(to_double(args[0])); }

template <double (*round)(double)>
Result<Number> rounded_to_integer(Arguments args) {
  if (const auto integer = as_integer(args[0])) return Number(*integer);
  PT2_TRY(int64_t value, float_to_integer(round(to_double(args[0]))));
  return Number(value);
}

constexpr auto evaluate_ceil_to_int = rounded_to_integer<std::ceil>;
constexpr auto evaluate_floor_to_int = rounded_to_integer<std::floor>;
constexpr auto evaluate_trunc_to_int = rounded_to_integer<std::trunc>;
// Rounds halves to even, in the default rounding mode.
constexpr auto evaluate_round_to_int = rounded_to_integer<std::nearbyint>;

Result<Number> evaluate_trunc_to_float(Arguments args) {
  return Number(std::trunc(to_double(args[0])));
}

// Python's round(x, digits): the decimal text of the exact value, rounded once.
Result<Number> evaluate_round_decimal(Arguments args) {
  PT2_TRY(int64_t digits, integer_of(args[1]));
  const double value = to_double(args[0]);
  if (digits >= 0 && as_integer(args[0])) return args[0];
  // More digits than a double has change nothing; rounding to more places than its magnitude gives
  // 0.
  if (!std::isfinite(value) || digits > 323) return Number(value);
  if (digits < -308) return Number(std::copysign(0.0, value));
  if (digits < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-digits));
    return Number(std::nearbyint(value / unit) * unit);
  }
  return Number(decimal_value(fmt::format("{:.{}f}", value, digits)).value_or(value));
}

// Trunc of PyTorch 2.1 to 2.3, which keeps whole numbers.
constexpr auto evaluate_old_trunc = evaluate_trunc_to_int;
constexpr auto evaluate_old_round = evaluate_round_to_int;

Result<Number> evaluate_identity(Arguments args) { return args[0]; }

Result<Number> evaluate_equal(Arguments args) { return Number(compare(args[0], args[1]) == 0); }
Result<Number> evaluate_not_equal(Arguments args) { return Number(compare(args[0], args[1]) != 0); }
Result<Number> evaluate_less(Arguments args) { return Number(compare(args[0], args[1]) < 0); }
Result<Number> evaluate_less_equal(Arguments args) {
  return Number(compare(args[0], args[1]) <= 0);
}
Result<Number> evaluate_greater(Arguments args) { return Number(compare(args[0], args[1]) > 0); }
Result<Number> evaluate_greater_equal(Arguments args) {
  return Number(compare(args[0], args[1]) >= 0);
}

Result<Number> evaluate_logical_not(Arguments args) {
  PT2_TRY(bool value, bool_of(args[0]));
  return Number(!value);
}

Result<Number> bitwise(Arguments args, int64_t (*combine)(int64_t, int64_t)) {
  PT2_TRY(int64_t a, integer_of(args[0]));
  PT2_TRY(int64_t b, integer_of(args[1]));
  const int64_t bits = combine(a, b);
  const bool both_bools =
      std::holds_alternative<bool>(args[0]) && std::holds_alternative<bool>(args[1]);
  return both_bools ? Number(bits != 0) : Number(bits);
}

Result<Number> evaluate_bitwise_and(Arguments args) {
  return bitwise(args, [](int64_t a, int64_t b) { return a & b; });
}
Result<Number> evaluate_bitwise_or(Arguments args) {
  return bitwise(args, [](int64_t a, int64_t b) { return a | b; });
}
Result<Number> evaluate_bitwise_xor(Arguments args) {
  return bitwise(args, [](int64_t a, int64_t b) { return a ^ b; });
}

template <double (*function)(double)>
Result<Number> unary_float(Arguments args) {
  const double argument = to_double(args[0]);
  const double result = function(argument);
  // Python's math raises ValueError where C returns NaN, and for log(0).
  if ((std::isnan(result) && !std::isnan(argument)) ||
      (std::isinf(result) && std::isfinite(argument))) {
    return invalid(fmt::format(
        "{} is outside the domain of the function: its value there is not finite", print(args[0])));
  }
  return Number(result);
}

constexpr auto evaluate_square_root = unary_float<std::sqrt>;
constexpr auto evaluate_cosine = unary_float<std::cos>;
constexpr auto evaluate_hyperbolic_cosine = unary_float<std::cosh>;
constexpr auto evaluate_sine = unary_float<std::sin>;
constexpr auto evaluate_hyperbolic_sine = unary_float<std::sinh>;
constexpr auto evaluate_tangent = unary_float<std::tan>;
constexpr auto evaluate_hyperbolic_tangent = unary_float<std::tanh>;
constexpr auto evaluate_arc_sine = unary_float<std::asin>;
constexpr auto evaluate_arc_cosine = unary_float<std::acos>;
constexpr auto evaluate_arc_tangent = unary_float<std::atan>;
constexpr auto evaluate_exponential = unary_float<std::exp>;
constexpr auto evaluate_logarithm = unary_float<std::log>;
constexpr auto evaluate_hyperbolic_arc_sine = unary_float<std::asinh>;
constexpr auto evaluate_logarithm_2 = unary_float<std::log2>;

// Imitates eval_is_non_overlapping_and_dense. The arguments are all sizes, then all strides.
Result<Number> evaluate_non_overlapping_and_dense(Arguments args) {
  if (args.size() % 2 != 0) return invalid("sizes and strides differ in number");
  const size_t rank = args.size() / 2;
  std::vector<std::pair<int64_t, int64_t>> strides_and_sizes;
  for (size_t i = 0; i < rank; ++i) {
    PT2_TRY(int64_t size, integer_of(args[i]));
    PT2_TRY(int64_t stride, integer_of(args[rank + i]));
    strides_and_sizes.emplace_back(stride, size);
  }
  if (rank == 1)
    return Number(int64_t{strides_and_sizes[0].first == 1 || strides_and_sizes[0].second < 2});
  std::stable_sort(strides_and_sizes.begin(), strides_and_sizes.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Number expected = int64_t{1};
  for (const auto& [stride, size] : strides_and_sizes) {
    if (size == 1) continue;
    if (compare(Number(stride), expected) != 0) return Number(int64_t{0});
    PT2_TRY(expected, multiply(expected, Number(size)));
  }
  return Number(int64_t{1});
}

using Evaluator = Result<Number> (*)(Arguments);

// These functions choose among their arguments, so the walk below evaluates them.
constexpr Evaluator evaluate_where = nullptr;
constexpr Evaluator evaluate_piecewise = nullptr;
constexpr Evaluator evaluate_condition_pair = nullptr;
constexpr Evaluator evaluate_logical_and = nullptr;
constexpr Evaluator evaluate_logical_or = nullptr;

constexpr Evaluator kEvaluators[] = {
#define PT2_EXPR_FUNCTION(op, name, min_arguments, max_arguments) evaluate_##op,
#include "pt2/ir/expr.def"
};

Result<bool> evaluate_condition(Expr expr, const SymbolBindings& bindings) {
  PT2_TRY(Number value, evaluate(expr, bindings));
  return bool_of(value);
}

Result<Number> evaluate_choice(Expr expr, const SymbolBindings& bindings) {
  if (expr->op == ExprOp::where) {
    PT2_TRY(bool condition, evaluate_condition(expr->args[0], bindings));
    return evaluate(expr->args[condition ? 1 : 2], bindings);
  }
  if (expr->op == ExprOp::piecewise) {
    for (Expr pair : expr->args) {
      if (pair->op != ExprOp::condition_pair)
        return invalid("an argument of Piecewise is not a pair");
      PT2_TRY(bool condition, evaluate_condition(pair->args[1], bindings));
      if (condition) return evaluate(pair->args[0], bindings);
    }
    return invalid("no condition of Piecewise holds");
  }
  if (expr->op == ExprOp::condition_pair) return invalid("a pair outside Piecewise");
  const bool decisive = expr->op == ExprOp::logical_or;
  for (Expr arg : expr->args) {
    PT2_TRY(bool condition, evaluate_condition(arg, bindings));
    if (condition == decisive) return Number(decisive);
  }
  return Number(!decisive);
}

}  // namespace

Result<Number> evaluate(Expr expr, const SymbolBindings& bindings) {
  switch (expr->op) {
    case ExprOp::integer:
    case ExprOp::rational:
    case ExprOp::floating:
    case ExprOp::boolean:
      return expr->number;
    case ExprOp::infinity:
      return Number(
          std::copysign(std::numeric_limits<double>::infinity(), to_double(expr->number)));
    case ExprOp::symbol: {
      const Number* bound = bindings.find(expr->symbol);
      if (bound == nullptr) return invalid(fmt::format("symbol {} has no value", expr->name));
      return *bound;
    }
    case ExprOp::constant:
    case ExprOp::opaque:
      return Error{ErrorCode::unsupported, fmt::format("cannot compute {}", print_expr(expr)), {}};
#define PT2_EXPR_FUNCTION(op, name, min_arguments, max_arguments) case ExprOp::op:
#include "pt2/ir/expr.def"
      break;
  }
  const Evaluator evaluator =
      kEvaluators[static_cast<size_t>(expr->op) - static_cast<size_t>(ExprOp::add)];
  if (evaluator == nullptr) return evaluate_choice(expr, bindings);
  std::vector<Number> args;
  for (Expr arg : expr->args) {
    PT2_TRY(Number value, evaluate(arg, bindings));
    args.push_back(value);
  }
  auto result = evaluator(args);
  if (!result && result.error().where.empty())
    return at(std::move(result).error(), print_expr(expr));
  return result;
}

Result<int64_t> evaluate_integer(Expr expr, const SymbolBindings& bindings) {
  PT2_TRY(Number value, evaluate(expr, bindings));
  return integer_of(value);
}

}  // namespace pt2
