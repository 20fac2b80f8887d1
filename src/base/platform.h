// Functions for what operating systems, compilers and standard libraries do differently. No other
// code calls the functions that these replace (tests/structure/portable.sh).
#ifndef PT2_BASE_PLATFORM_H
#define PT2_BASE_PLATFORM_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace pt2 {

// Returns the double nearest to a decimal number, as std::from_chars reads it: no space, no '+', no
// hexadecimal digits; "1.", ".5", "inf" and "nan" are accepted. Nothing if other text follows, or
// if the number is out of range. libc++ has no std::from_chars for doubles before release 20.
std::optional<double> decimal_value(std::string_view text);

// Returns the logarithm of the absolute value of the gamma function. std::lgamma writes a global
// variable on POSIX systems; this function is thread-safe.
double log_gamma(double x);

// The Bessel functions of the first and the second kind of order 0 and 1.
double bessel_j0(double x);
double bessel_j1(double x);
double bessel_y0(double x);
double bessel_y1(double x);

// Identifies this process among the running ones.
int64_t process_id();

// Makes the standard streams carry bytes, and UTF-8 text, on a system that would change line ends
// or use another encoding.
void prepare_standard_streams();

// Returns the sum or product of numbers that a file may choose; UINT64_MAX on overflow. GCC and
// Clang have builtin functions that detect overflow.
inline uint64_t saturating_sum(uint64_t a, uint64_t b) {
  uint64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? UINT64_MAX : out;
}
inline uint64_t saturating_product(uint64_t a, uint64_t b) {
  uint64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? UINT64_MAX : out;
}

}  // namespace pt2

#endif  // PT2_BASE_PLATFORM_H
