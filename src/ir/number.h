// Exact arithmetic on the numbers of symbolic expressions. Booleans count as integers. Integers and
// fractions are exact within int64. A float operand makes the result a float. Every function fails
// with `invalid` on division by zero and `unsupported` on results beyond int64.
#ifndef PT2_IR_NUMBER_H
#define PT2_IR_NUMBER_H

#include <compare>

#include "pt2/ir/symbols.h"

namespace pt2 {

Result<Number> add(const Number& a, const Number& b);
Result<Number> multiply(const Number& a, const Number& b);
Result<Number> divide(const Number& a, const Number& b);
// Rounds towards minus infinity, like Python's //.
Result<Number> floor_divide(const Number& a, const Number& b);
// The result has the sign of the divisor, like Python's %.
Result<Number> modulo(const Number& a, const Number& b);
Result<Number> power(const Number& base, const Number& exponent);
Result<Number> negate(const Number& a);
// Rounds towards minus infinity, to an integer.
Result<int64_t> floor_to_integer(const Number& a);
// Converts a float in the range of int64; `unsupported` otherwise.
Result<int64_t> float_to_integer(double value);
// Correctly rounded, like Python's int / int.
Result<double> true_divide(int64_t a, int64_t b);

double to_double(const Number& a);
// Nullopt for fractions and floats.
std::optional<int64_t> as_integer(const Number& a);
std::partial_ordering compare(const Number& a, const Number& b);
// "3", "1/2", "2.5", "True".
std::string print(const Number& a);

}  // namespace pt2

#endif  // PT2_IR_NUMBER_H
