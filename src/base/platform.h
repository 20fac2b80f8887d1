// What one operating system, compiler or standard library does otherwise than another, a function
// each.
// Others do not call what these stand for (tests/structure/portable.sh).
#ifndef PT2_BASE_PLATFORM_H
#define PT2_BASE_PLATFORM_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace pt2 {

// The double nearest to a decimal number, as std::from_chars reads it: no space, no '+', no
// hexadecimal digits; "1.", ".5", "inf" and "nan" are among them. Nothing where anything follows,
// or where it is beyond the doubles. libc++ has no std::from_chars for them before release 20.
std::optional<double> decimal_value(std::string_view text);

// The logarithm of the absolute value of the gamma function. std::lgamma writes a global variable
// where POSIX wants it; this may be called by several threads.
double log_gamma(double x);

// The Bessel functions of the first and the second kind of order 0 and 1.
double bessel_j0(double x);
double bessel_j1(double x);
double bessel_y0(double x);
double bessel_y1(double x);

// Tells this process from others that run now.
int64_t process_id();

// Standard streams carry bytes, and text in UTF-8, where the system would change line ends or show
// another encoding unless told so.
void prepare_standard_streams();

// Of numbers that a file may choose: the largest number where the result would be larger. GCC and
// Clang have a builtin function that tells.
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
