#include "ir/number.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "base/text.h"

namespace pt2 {
namespace {

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;

// Python's integers are unbounded, so there the operation has a result.
Error out_of_range() { return {ErrorCode::unsupported, "the result does not fit in 64 bits", {}}; }
Error division_by_zero() { return {ErrorCode::invalid, "division by zero", {}}; }

struct Fraction {
  int64_t numerator;
  int64_t denominator;
};

// Nullopt for floats, which are not exact.
std::optional<Fraction> as_fraction(const Number& a) {
  if (const auto* fraction = std::get_if<Rational>(&a))
    return Fraction{fraction->numerator, fraction->denominator};
  if (const auto integer = as_integer(a)) return Fraction{*integer, 1};
  return std::nullopt;
}

Wide absolute(Wide value) { return value < 0 ? -value : value; }

Wide greatest_common_divisor(Wide a, Wide b) {
  while (b != 0) {
    const Wide remainder = a % b;
    a = b;
    b = remainder;
  }
  return absolute(a);
}

// Both magnitudes must be below 2^127.
Result<Number> reduced(Wide numerator, Wide denominator) {
  if (denominator == 0) return division_by_zero();
  if (denominator < 0) {
    numerator = -numerator;
    denominator = -denominator;
  }
  const Wide divisor = greatest_common_divisor(absolute(numerator), denominator);
  numerator /= divisor;
  denominator /= divisor;
  if (numerator > INT64_MAX || numerator < INT64_MIN || denominator > INT64_MAX)
    return out_of_range();
  if (denominator == 1) return Number(static_cast<int64_t>(numerator));
  return Number(Rational{static_cast<int64_t>(numerator), static_cast<int64_t>(denominator)});
}

int64_t floor_of(const Fraction& a) {
  const int64_t quotient = a.numerator / a.denominator;
  return quotient - (a.numerator % a.denominator < 0 ? 1 : 0);
}

Result<Number> integer_power(Fraction base, uint64_t exponent) {
  Number result = int64_t{1};
  PT2_TRY(Number square, reduced(base.numerator, base.denominator));
  while (exponent != 0) {
    if (exponent & 1) {
      PT2_TRY(Number product, multiply(result, square));
      result = product;
    }
    exponent >>= 1;
    if (exponent == 0) break;
    PT2_TRY(Number next, multiply(square, square));
    square = next;
  }
  return result;
}

}  // namespace

std::optional<int64_t> as_integer(const Number& a) {
  if (const auto* value = std::get_if<int64_t>(&a)) return *value;
  if (const auto* value = std::get_if<bool>(&a)) return *value ? 1 : 0;
  return std::nullopt;
}

double to_double(const Number& a) {
  if (const auto* value = std::get_if<double>(&a)) return *value;
  const Fraction fraction = *as_fraction(a);
  return static_cast<double>(fraction.numerator) / static_cast<double>(fraction.denominator);
}

Result<Number> add(const Number& a, const Number& b) {
  const auto x = as_fraction(a), y = as_fraction(b);
  if (!x || !y) return Number(to_double(a) + to_double(b));
  return reduced(Wide{x->numerator} * y->denominator + Wide{y->numerator} * x->denominator,
                 Wide{x->denominator} * y->denominator);
}

Result<Number> multiply(const Number& a, const Number& b) {
  const auto x = as_fraction(a), y = as_fraction(b);
  if (!x || !y) return Number(to_double(a) * to_double(b));
  return reduced(Wide{x->numerator} * y->numerator, Wide{x->denominator} * y->denominator);
}

Result<Number> divide(const Number& a, const Number& b) {
  const auto x = as_fraction(a), y = as_fraction(b);
  if (x && y)
    return reduced(Wide{x->numerator} * y->denominator, Wide{x->denominator} * y->numerator);
  if (to_double(b) == 0) return division_by_zero();
  return Number(to_double(a) / to_double(b));
}

Result<Number> floor_divide(const Number& a, const Number& b) {
  PT2_TRY(Number quotient, divide(a, b));
  if (const auto fraction = as_fraction(quotient)) return Number(floor_of(*fraction));
  return Number(std::floor(std::get<double>(quotient)));
}

Result<Number> modulo(const Number& a, const Number& b) {
  if (as_fraction(a) && as_fraction(b)) {
    PT2_TRY(Number quotient, floor_divide(a, b));
    PT2_TRY(Number product, multiply(quotient, b));
    PT2_TRY(Number negative, negate(product));
    return add(a, negative);
  }
  const double divisor = to_double(b);
  if (divisor == 0) return division_by_zero();
  const double remainder = std::fmod(to_double(a), divisor);
  return Number(remainder != 0 && (remainder < 0) != (divisor < 0) ? remainder + divisor
                                                                   : remainder);
}

Result<Number> power(const Number& base, const Number& exponent) {
  const auto fraction = as_fraction(base);
  const auto integer = as_integer(exponent);
  if (!fraction || !integer) {
    const double x = to_double(base), y = to_double(exponent);
    if (x == 0 && y < 0) return division_by_zero();
    const double result = std::pow(x, y);
    if (std::isnan(result)) return Error{ErrorCode::invalid, "the power is not a real number", {}};
    if (std::isinf(result) && std::isfinite(x) && std::isfinite(y)) return out_of_range();
    return Number(result);
  }
  // A base of magnitude 2 or more overflows by exponent 64, so only 0 and +-1 loop longer.
  if (*integer >= 0) return integer_power(*fraction, static_cast<uint64_t>(*integer));
  if (*integer == INT64_MIN) return out_of_range();
  PT2_TRY(Number inverse, reduced(fraction->denominator, fraction->numerator));
  return integer_power(*as_fraction(inverse), static_cast<uint64_t>(-*integer));
}

Result<Number> negate(const Number& a) { return multiply(a, Number(int64_t{-1})); }

Result<int64_t> float_to_integer(double value) {
  // 2^63 is exact as a double; the largest int64 is not.
  if (!(value >= -0x1p63 && value < 0x1p63)) return out_of_range();
  return static_cast<int64_t>(value);
}

Result<int64_t> floor_to_integer(const Number& a) {
  if (const auto fraction = as_fraction(a)) return floor_of(*fraction);
  return float_to_integer(std::floor(std::get<double>(a)));
}

Result<double> true_divide(int64_t a, int64_t b) {
  if (b == 0) return division_by_zero();
  const bool negative = (a < 0) != (b < 0);
  const auto numerator = static_cast<uint64_t>(absolute(Wide{a}));
  const auto denominator = static_cast<uint64_t>(absolute(Wide{b}));
  // The quotient gets at least 55 bits, and its last bit is sticky, so only the conversion to
  // double rounds.
  const int shift = std::max(0, 55 + static_cast<int>(std::bit_width(denominator)) -
                                    static_cast<int>(std::bit_width(numerator)));
  const UnsignedWide scaled = numerator == 0 ? 0 : UnsignedWide{numerator} << shift;
  auto quotient = static_cast<uint64_t>(scaled / denominator);
  if (scaled % denominator != 0) quotient |= 1;
  const double result = std::ldexp(static_cast<double>(quotient), -shift);
  return negative ? -result : result;
}

std::partial_ordering compare(const Number& a, const Number& b) {
  const auto x = as_fraction(a), y = as_fraction(b);
  if (!x || !y) return to_double(a) <=> to_double(b);
  const Wide left = Wide{x->numerator} * y->denominator,
             right = Wide{y->numerator} * x->denominator;
  return left < right   ? std::partial_ordering::less
         : left > right ? std::partial_ordering::greater
                        : std::partial_ordering::equivalent;
}

std::string print(const Number& a) {
  if (const auto* value = std::get_if<bool>(&a)) return *value ? "True" : "False";
  if (const auto* value = std::get_if<int64_t>(&a)) return fmt::format("{}", *value);
  if (const auto* value = std::get_if<Rational>(&a))
    return fmt::format("{}/{}", value->numerator, value->denominator);
  return print_float(std::get<double>(a));
}

}  // namespace pt2
