// Special functions, and exact functions of integers.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/memory_account.h"
#include "base/platform.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/pointwise/pointwise.h"

namespace pt2::ops {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// --- Modified Bessel functions, times exp(-|x|)

// 1 / (k (k + order)), by order and k.
constexpr int kBesselTerms = 64;
constexpr auto kBesselRatios = [] {
  std::array<std::array<double, kBesselTerms>, 2> out{};
  for (int order = 0; order < 2; ++order)
    for (int k = 1; k < kBesselTerms; ++k)
      out[static_cast<size_t>(order)][static_cast<size_t>(k)] =
          1.0 / (k * static_cast<double>(k + order));
  return out;
}();

// Sum of (x / 2)^(2k + order) / (k! (k + order)!), all terms positive, for x up to 30. The number
// of terms suffices for double precision. It takes only four values, so that branch prediction
// works.
double bessel_i_series(double x, int order) {
  const std::array<double, kBesselTerms>& ratios = kBesselRatios[static_cast<size_t>(order)];
  const double quarter = x * x / 4;
  double sum = 1;
  for (int k = x < 2 ? 13 : x < 4 ? 17 : x < 8 ? 25 : kBesselTerms - 1; k > 0; --k)
    sum = 1 + quarter * ratios[static_cast<size_t>(k)] * sum;
  return order == 0 ? sum : sum * x / 2;
}
// The asymptotic series in 1 / x; stops when its terms grow.
double bessel_i_asymptotic(double x, int order) {
  const double mu = 4.0 * order * order;
  double term = 1;
  double sum = 1;
  for (int k = 1; k < 60; ++k) {
    const double odd = 2 * k - 1;
    const double next = term * -(mu - odd * odd) / (k * 8 * x);
    if (std::fabs(next) >= std::fabs(term) || std::fabs(next) < 1e-18) break;
    term = next;
    sum += term;
  }
  return sum / std::sqrt(2 * std::numbers::pi * x);
}
double scaled_bessel_i(double x, int order) {
  constexpr double kSwitch = 30;
  if (std::isnan(x)) return x;
  const double size = std::fabs(x);
  const double value = size < kSwitch ? bessel_i_series(size, order) * std::exp(-size)
                                      : bessel_i_asymptotic(size, order);
  return order == 1 && x < 0 ? -value : value;
}
double bessel_i(double x, int order) {
  // exp(|x|) overflows before the product does, so exp(|x| / 2) is multiplied twice.
  const double half = std::exp(std::fabs(x) / 2);
  return scaled_bessel_i(x, order) * half * half;
}

// The Bessel function of the second kind for small x (DLMF 10.31): the logarithm times the function
// of the first kind, plus this series.
double bessel_k_series(double x, int order) {
  constexpr int kTerms = 14;
  const double quarter = x * x / 4;
  double term = 1, harmonic = 0;  // 1 + 1/2 + … + 1/k
  double sum = order == 0 ? 0 : 1 - 2 * std::numbers::egamma;
  for (int k = 1; k < kTerms; ++k) {
    term *= quarter / (k * static_cast<double>(k + order));
    harmonic += 1.0 / k;
    const double factor =
        order == 0 ? harmonic : 2 * (harmonic - std::numbers::egamma) + 1.0 / (k + 1);
    sum += term * factor;
  }
  const double logarithm = std::log(x / 2), first = bessel_i_series(x, order);
  return order == 0 ? sum - (logarithm + std::numbers::egamma) * first
                    : 1 / x + logarithm * first - x / 4 * sum;
}
// For other x: the trapezoidal rule for exp(-x cosh t) cosh(n t), whose error vanishes faster than
// any power of the step.
double scaled_bessel_k(double x, int order) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0) return HUGE_VAL;
  if (std::isinf(x)) return 0;
  if (x < 2) return std::exp(x) * bessel_k_series(x, order);
  // The integrand becomes narrower as x grows. The error of this step is below exp(-38) of the sum.
  const double step = 0.2 / std::sqrt(1 + x / 10);
  const double step_sinh = std::sinh(step / 2), step_cosh = std::cosh(step / 2);
  double half_sinh = 0, half_cosh = 1;  // of t / 2
  double sum = 0.5;
  for (;;) {
    const double last_sinh = half_sinh;
    half_sinh = last_sinh * step_cosh + half_cosh * step_sinh;
    half_cosh = half_cosh * step_cosh + last_sinh * step_sinh;
    const double square = half_sinh * half_sinh;
    const double term = std::exp(-2 * x * square) * (order == 0 ? 1 : 1 + 2 * square);
    sum += term;
    if (term < sum * 1e-18) break;
  }
  return sum * step;
}
double bessel_k(double x, int order) { return scaled_bessel_k(x, order) * std::exp(-x); }

// --- The normal distribution

// exp(x^2) erfc(x)
double erfcx_of(double x) {
  if (x < 25) return std::exp(x * x) * std::erfc(x);
  const double inverse = 1 / (x * x);
  return std::numbers::inv_sqrtpi / x *
         (1 - inverse / 2 * (1 - 3 * inverse / 2 * (1 - 5 * inverse / 2)));
}
double log_ndtr_of(double x) {
  if (x < -1) return std::log(erfcx_of(-x * std::numbers::sqrt2 / 2) / 2) - x * x / 2;
  return std::log1p(-std::erfc(x * std::numbers::sqrt2 / 2) / 2);
}
// The quotient of two polynomials. Coefficients start with the constant term.
template <size_t N>
double rational(const double (&top)[N], const double (&bottom)[N], double x) {
  double above = top[N - 1], below = bottom[N - 1];
  for (size_t i = N - 1; i-- > 0;) {
    above = above * x + top[i];
    below = below * x + bottom[i];
  }
  return above / below;
}
double ndtri_of(double p) {
  if (!(p >= 0 && p <= 1)) return kNan;
  if (p == 0 || p == 1) return p == 0 ? -HUGE_VAL : HUGE_VAL;
  if (std::fabs(p - 0.5) <= 0.425) return normal_quantile_near_half(p - 0.5);
  // 1 - p is exact here.
  return p < 0.5 ? -upper_normal_quantile(p) : upper_normal_quantile(1 - p);
}
double entropy_of(double x) {
  if (std::isnan(x)) return x;
  if (x > 0) return -x * std::log(x);
  return x == 0 ? 0 : -HUGE_VAL;
}
// The Airy function Ai (DLMF chapter 9). Its series around 0 suffers from cancellation elsewhere.
double airy_ai_near_zero(double x) {
  double even = 1;
  double odd = x;
  double even_term = 1;
  double odd_term = x;
  const double cube = x * x * x;
  for (int k = 3; k < 150; k += 3) {
    even_term *= cube / ((k - 1) * k);
    odd_term *= cube / (k * (k + 1));
    even += even_term;
    odd += odd_term;
  }
  return 0.355028053887817239 * even - 0.258819403792806798 * odd;
}
// sqrt(x / 3) / pi times the Bessel function K of order 1/3, by the trapezoidal rule.
double airy_ai_of_positive(double x) {
  const double zeta = 2.0 / 3 * x * std::sqrt(x);
  const double step = 0.25 / std::sqrt(1 + zeta / 8);
  double sum = 0.5;
  for (double t = step;; t += step) {
    const double half = std::sinh(t / 2);
    const double decay = 2 * zeta * half * half;
    if (!(decay < 40)) break;
    sum += std::exp(-decay) * std::cosh(t / 3);
  }
  return std::sqrt(x / 3) / std::numbers::pi * std::exp(-zeta) * step * sum;
}
// The asymptotic expansion, which oscillates.
double airy_ai_of_negative(double x) {
  const double zeta = -2.0 / 3 * x * std::sqrt(-x);
  double sums[4] = {1, 0, 0, 0};  // sums[i]: every fourth term, from term i on
  double term = 1;
  for (int k = 1; k < 24; ++k) {
    term *= (6.0 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216.0 * k * (2 * k - 1)) / zeta;
    sums[k % 4] += term;
  }
  const double angle = zeta - std::numbers::pi / 4;
  return std::numbers::inv_sqrtpi / std::sqrt(std::sqrt(-x)) *
         (std::cos(angle) * (sums[0] - sums[2]) + std::sin(angle) * (sums[1] - sums[3]));
}
double airy_ai(double x) {
  if (!std::isfinite(x)) return kNan;
  // Beyond this x the result is not a normal number, and the steps of the trapezoidal rule become
  // ever shorter.
  if (x > 103.892) return 0;
  if (x < -7) return airy_ai_of_negative(x);
  return x < 1 ? airy_ai_near_zero(x) : airy_ai_of_positive(x);
}

double spherical_j0(double x) { return std::isinf(x) ? 0 : x == 0 ? 1 : std::sin(x) / x; }
double sinc_of(double x) {
  const double angle = std::numbers::pi * x;
  return x == 0 ? 1 : std::sin(angle) / angle;
}

// --- Gamma and zeta

// a^-s. `factors` is s if s is a small integer: a division then replaces std::pow. It is not
// positive for other s.
double inverse_power(double a, double s, int factors) {
  double power = a;
  for (int i = 1; i < factors; ++i) power *= a;
  const double size = std::fabs(power);
  return factors > 0 && size > 1e-300 && size < 1e300 ? 1 / power : std::pow(a, -s);
}
// The sum of a^-s and (a + 1)^-s with one division instead of two.
double two_inverse_powers(double a, double s, int factors) {
  double x = a, y = a + 1;
  for (int i = 1; i < factors; ++i) {
    x *= a;
    y *= a + 1;
  }
  const double product = x * y, size = std::fabs(product);
  return factors > 0 && size > 1e-300 && size < 1e300 ? (x + y) / product
                                                      : std::pow(a, -s) + std::pow(a + 1, -s);
}
// Hurwitz's zeta function by the Euler-Maclaurin formula: ten terms, then the tail's series with
// Bernoulli numbers.
double zeta_of(double s, double q) {
  if (s == 1) return HUGE_VAL;
  if (s < 1) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return HUGE_VAL;
    if (s != std::floor(s)) return kNan;
  }
  // PyTorch's sum is NaN for an infinite q.
  if (std::isnan(s) || !std::isfinite(q)) return kNan;
  double sum = 0;
  // A very negative q needs too many terms.
  if (q < -1e6) return kNan;
  double a = q;
  const int factors = s <= 8 && s == std::floor(s) ? static_cast<int>(s) : 0;
  for (int i = 0; i < 10 || a <= 9; i += 2, a += 2) sum += two_inverse_powers(a, s, factors);
  double power = inverse_power(a, s, factors);
  // The tail is negligible. For a huge s its factors would be infinite.
  if (std::fabs(power) < 1e-17 * std::fabs(sum)) return sum;
  sum += inverse_power(a, s - 1, factors - 1) / (s - 1) + 0.5 * power;
  // Bernoulli numbers divided by the factorials of 2, 4, ...
  constexpr std::array kBernoulli{1.0 / 6 / 2,           -1.0 / 30 / 24,
                                  1.0 / 42 / 720,        -1.0 / 30 / 40320,
                                  5.0 / 66 / 3628800,    -691.0 / 2730 / 479001600,
                                  7.0 / 6 / 87178291200, -3617.0 / 510 / 20922789888000};
  const double inverse = 1 / a;
  double rising = s;
  power *= inverse;
  for (size_t j = 0; j < kBernoulli.size(); ++j) {
    const auto k = static_cast<double>(2 * j);
    sum += kBernoulli[j] * rising * power;
    rising *= (s + k + 1) * (s + k + 2);
    power *= inverse * inverse;
  }
  return sum;
}
// For large a and x near a, the series and the continued fraction need too many terms. Temme's
// uniform expansion (DLMF 8.12) needs only a few.
bool is_uniform(double a, double x) {
  return a >= 1e4 && std::isfinite(a) && std::fabs(x - a) <= 0.1 * a;
}
// side -1: the lower incomplete gamma function; 1: the upper one.
double uniform_gamma(double a, double x, int side) {
  constexpr double kTerms[3][8] = {{-1.0 / 3, 1.0 / 12, -2.0 / 135, 1.0 / 864, 1.0 / 2835,
                                    -139.0 / 777600, 1.0 / 25515, -571.0 / 261273600},
                                   {-1.0 / 540, -1.0 / 288, 1.0 / 378, -77.0 / 77760, 1.0 / 4860},
                                   {25.0 / 6048, -139.0 / 51840, 101.0 / 130896}};
  const double away = (x - a) / a;
  const double eta = std::copysign(std::sqrt(2 * (away - std::log1p(away))), away);
  double sum = 0;
  for (size_t k = std::size(kTerms); k-- > 0;) {
    double term = 0;
    for (size_t n = std::size(kTerms[k]); n-- > 0;) term = term * eta + kTerms[k][n];
    sum = sum / a + term;
  }
  return 0.5 * std::erfc(side * eta * std::sqrt(a / 2)) +
         side * std::exp(-0.5 * a * eta * eta) * sum / std::sqrt(2 * std::numbers::pi * a);
}
// The regularized lower incomplete gamma function: its series for x below a + 1, else the continued
// fraction of the upper function (Lentz).
double lower_gamma(double a, double x) {
  if (x < 0 || a < 0) return kNan;
  if (a == 0) return x > 0 ? 1 : kNan;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 0;
  if (std::isinf(x)) return 1;
  if (std::isnan(a) || std::isnan(x)) return kNan;
  if (is_uniform(a, x)) return uniform_gamma(a, x, -1);
  constexpr int kMaxTerms = 4000;
  const double scale = std::exp(a * std::log(x) - x - log_gamma(a));
  if (x < a + 1) {
    double term = 1 / a;
    double sum = term;
    for (int k = 1; k < kMaxTerms && term > sum * 1e-17; ++k) {
      term *= x / (a + k);
      sum += term;
    }
    return sum * scale;
  }
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a;
  double c = 1 / kTiny;
  double d = 1 / b;
  double fraction = d;
  for (int k = 1; k < kMaxTerms; ++k) {
    const double factor = -k * (k - a);
    b += 2;
    d = factor * d + b;
    if (std::fabs(d) < kTiny) d = kTiny;
    c = b + factor / c;
    if (std::fabs(c) < kTiny) c = kTiny;
    d = 1 / d;
    const double change = d * c;
    fraction *= change;
    if (std::fabs(change - 1) < 1e-16) break;
  }
  return 1 - fraction * scale;
}
double upper_gamma(double a, double x) {
  if (a == 0 && x > 0) return 0;
  if (is_uniform(a, x)) return uniform_gamma(a, x, 1);
  if (a > 0 && x >= a + 1 && !std::isinf(x)) {
    const double lower = lower_gamma(a, x);
    if (lower < 0.9) return 1 - lower;
    // Near 1 the difference loses digits, so the continued fraction is evaluated directly.
    double f = 0;
    for (int k = 600; k > 0; --k) f = k * (k - a) / (x + 2 * k + 1 - a - f);
    return std::exp(a * std::log(x) - x - log_gamma(a)) / (x + 1 - a - f);
  }
  return 1 - lower_gamma(a, x);
}

// --- Kernels

template <double (*F)(double)>
constexpr auto kOf = [](auto x) { return F(static_cast<double>(x)); };
template <double (*F)(double, int), int Order>
constexpr auto kOfOrder = [](auto x) { return F(static_cast<double>(x), Order); };
// PyTorch's oscillating functions are NaN at infinity (ATen/native/Math.h bessel_j0_forward).
template <double (*F)(double)>
constexpr auto kOscillating =
    [](auto x) { return std::isinf(x) ? kNan : F(static_cast<double>(x)); };
constexpr const auto& kJ0 = kOscillating<bessel_j0>;
constexpr const auto& kJ1 = kOscillating<bessel_j1>;
constexpr auto kY0 = [](auto x) {
  return x == 0 ? -HUGE_VAL : x < 0 ? kNan : kOscillating<bessel_y0>(x);
};
constexpr auto kY1 = [](auto x) {
  return x == 0 ? -HUGE_VAL : x < 0 ? kNan : kOscillating<bessel_y1>(x);
};
constexpr auto kZeta = [](auto s, auto q) {
  return zeta_of(static_cast<double>(s), static_cast<double>(q));
};
constexpr auto kLowerGamma = [](auto a, auto x) {
  return lower_gamma(static_cast<double>(a), static_cast<double>(x));
};
constexpr auto kUpperGamma = [](auto a, auto x) {
  return upper_gamma(static_cast<double>(a), static_cast<double>(x));
};
constexpr auto kSinc = []<class C>(C x) {
  if constexpr (kIsComplex<C>) {
    const C angle = std::numbers::pi * x;
    return x == C(0) ? C(1) : quotient(std::sin(angle), angle);
  } else {
    // The angle overflows C, as in PyTorch.
    if (std::isinf(std::numbers::pi_v<C> * x)) return std::numeric_limits<double>::quiet_NaN();
    return sinc_of(static_cast<double>(x));
  }
};

Result<Meta> polygamma_meta(int64_t n, const Tensor& self) {
  if (n < 0) return operator_error("n: found " + std::to_string(n) + ", expected 0 or more");
  return real_fraction_of_self(self);
}
// Trigamma at 0, -1, -2 and so on. PyTorch's poles are finite: the sine of a rounded multiple of pi
// is not 0 (ATen/native/Math.h).
template <class C>
C trigamma_at_pole(C x) {
  const C ratio = std::numbers::pi_v<C> / std::sin(std::numbers::pi_v<C> * x);
  return ratio * ratio;
}
// (-1)^(n + 1) n! zeta(n + 1, x)
Result<void> polygamma(Tensor& out, int64_t n, const Tensor& self) {
  if (n == 0) {
    PT2_TRY(const Tensor digamma, apply(aten<"digamma.default">, {self}));
    copy_elements(out, digamma);
    return {};
  }
  const double order = static_cast<double>(n) + 1;
  const double factor = (n % 2 != 0 ? 1 : -1) * std::exp(log_gamma(order));
  map_floats(
      out,
      [=]<class C>(C x) {
        if (n == 1 && x <= 0 && x == std::trunc(x)) return trigamma_at_pole(x);
        if (n == 1 && x == std::numeric_limits<C>::infinity()) return C(0);
        return static_cast<C>(factor * zeta_of(order, static_cast<double>(x)));
      },
      self);
  return {};
}

Result<Tensor> polygamma_in_place(Emitter& e, const Tensor& self, int64_t n) {
  PT2_TRY_VOID(check_floating(self, "self"));
  return e(aten<"copy_.default">, {self, e(aten<"polygamma.default">, {n, self})});
}

Result<Meta> mvlgamma_meta(const Tensor& self, int64_t p) {
  if (p < 1 || p > 1 << 20)
    return operator_error("p: found " + std::to_string(p) + ", expected 1 to 1048576");
  PT2_TRY(Meta meta, real_fraction_of_self(self));
  meta.strides = {};  // PyTorch sums over a further dim, which gives rows
  return meta;
}
void mvlgamma(Tensor& out, const Tensor& self, int64_t p) {
  constexpr int64_t kWorkOfLogarithm = 16;
  MemoryAccount::count_loops({out.numel(), p, kWorkOfLogarithm}, 1);
  const auto dims = static_cast<double>(p);
  map_floats(
      out,
      [=](auto x) {
        double sum = dims * (dims - 1) / 4 * std::log(std::numbers::pi);
        for (int64_t j = 0; j < p; ++j)
          sum += log_gamma(static_cast<double>(x) - static_cast<double>(j) / 2);
        return sum;
      },
      self);
}

constexpr double kDegree = std::numbers::pi / 180;
constexpr auto kRadians = []<class C>(C degrees) { return degrees * static_cast<C>(kDegree); };
constexpr auto kDegrees = []<class C>(C radians) { return radians * static_cast<C>(1 / kDegree); };

// --- Integers

// The magnitude of the smallest integer wraps around and stays negative, as in PyTorch. This
// determines the signs of the following steps.
int64_t gcd_of(int64_t a, int64_t b) {
  const auto magnitude = [](int64_t x) { return x < 0 ? minus(int64_t{0}, x) : x; };
  a = magnitude(a);
  b = magnitude(b);
  while (a != 0) {
    const int64_t rest = a == -1 ? 0 : b % a;
    b = a;
    a = rest;
  }
  return b;
}
constexpr auto kGcd = [](int64_t a, int64_t b) { return gcd_of(a, b); };
constexpr auto kLcm = [](int64_t a, int64_t b) {
  const int64_t divisor = gcd_of(a, b);
  if (divisor == 0) return int64_t{0};
  const int64_t product = times(divisor == -1 ? minus(int64_t{0}, a) : a / divisor, b);
  return product < 0 ? minus(int64_t{0}, product) : product;
};

// --- Mantissas and exponents

// Integer exponents do not change the mantissa's dtype.
bool keeps_mantissa(const Tensor& self, const Tensor& other) {
  return dtype_category(self.dtype()) >= DtypeCategory::floating &&
         dtype_category(other.dtype()) <= DtypeCategory::integer;
}
Result<Meta> ldexp_meta(const Tensor& self, const Tensor& other) {
  PT2_TRY(Meta meta, promoted(self, other));
  const Tensor power = Tensor::without_elements(float_or_default(other.dtype()), other.sizes());
  meta.dtype =
      keeps_mantissa(self, other) ? self.dtype() : Promotion().add(self).add(power).result();
  return meta;
}
Result<Tensor> ldexp_of(Emitter& e, const Tensor& self, const Tensor& other) {
  PT2_TRY(const Tensor product, e(aten<"mul.Tensor">, {self, e(aten<"pow.Scalar">, {2.0, other})}));
  const bool keeps = keeps_mantissa(self, other);
  return keeps && product.dtype() != self.dtype() ? e(aten<"to.dtype">, {product, self.dtype()})
                                                  : Result<Tensor>(product);
}
// PyTorch calls std::ldexp for integer exponents: 2^other may be infinite although the result is
// not. It converts them to int.
Result<void> ldexp_to(Tensor& out, const Tensor& self, const Tensor& other) {
  if (keeps_mantissa(self, other) && dtype_category(self.dtype()) == DtypeCategory::floating) {
    elementwise<double>(
        out, Dtype::float64,
        [](double x, double power) {
          const int64_t whole = std::fabs(power) < 0x1p62 ? static_cast<int64_t>(power) : 0;
          return std::ldexp(x, static_cast<int>(whole));
        },
        self, other);
    return {};
  }
  Context context;
  Runner runner(context);
  PT2_TRY(const Tensor product, ldexp_of(runner, self, other));
  copy_elements(out, product);
  return {};
}
Result<std::array<Meta, 2>> frexp_meta(const Tensor& self) {
  PT2_TRY(Meta mantissa, strict_float_as_self(self));
  Meta exponent = mantissa;
  exponent.dtype = Dtype::int32;
  return std::array<Meta, 2>{std::move(mantissa), std::move(exponent)};
}
// std::frexp(), which few compilers inline. The power of infinity and NaN is 0.
struct Split {
  double mantissa = 0;
  int power = 0;
};
Split split_of(double x) {
  constexpr uint64_t kExponentBits = 0x7ff0'0000'0000'0000, kExponentOfHalf = 0x3fe0'0000'0000'0000;
  const auto bits = std::bit_cast<uint64_t>(x);
  const uint64_t power = bits & kExponentBits;
  if (power == kExponentBits || x == 0) return {x, 0};
  if (power == 0) {  // below the normal numbers
    Split out;
    out.mantissa = std::frexp(x, &out.power);
    return out;
  }
  return {std::bit_cast<double>((bits & ~kExponentBits) | kExponentOfHalf),
          static_cast<int>(power >> 52) - static_cast<int>(kExponentOfHalf >> 52)};
}
void frexp_of(Tensor& mantissa, Tensor& exponent, const Tensor& self) {
  elementwise<double>(
      mantissa, Dtype::float64, [](double x) { return split_of(x).mantissa; }, self);
  elementwise<double>(
      exponent, Dtype::float64, [](double x) { return static_cast<double>(split_of(x).power); },
      self);
}

// ATen/native/UnaryOps.cpp special_ndtr.
Result<Tensor> ndtr(Emitter& e, const Tensor& self) {
  const auto scaled = e(aten<"mul.Scalar">, {self, std::numbers::sqrt2 / 2});
  const auto shifted = e(aten<"add.Scalar">, {e(aten<"erf.default">, {scaled}), 1});
  return e(aten<"mul.Scalar">, {shifted, 0.5});
}

// clang-format off
constexpr OpDef kSpecialOps[] = {
    op<"aten::special_i0e(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kOfOrder<scaled_bessel_i, 0>>>,
    op<"aten::special_i1e(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kOfOrder<scaled_bessel_i, 1>>>,
    op<"aten::special_i1(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kOfOrder<bessel_i, 1>>>,
    op<"aten::i0(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kOfOrder<bessel_i, 0>>>,
    op<"aten::special_modified_bessel_i0(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kOfOrder<bessel_i, 0>>>,
    op<"aten::special_modified_bessel_i1(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kOfOrder<bessel_i, 1>>>,
    op<"aten::special_modified_bessel_k0(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kOfOrder<bessel_k, 0>>>.with({.work = 2500}),
    op<"aten::special_modified_bessel_k1(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kOfOrder<bessel_k, 1>>>.with({.work = 2500}),
    op<"aten::special_scaled_modified_bessel_k0(Tensor x) -> Tensor", real_fraction_of_self, float_unary<kOfOrder<scaled_bessel_k, 0>>>.with({.work = 2500}),
    op<"aten::special_scaled_modified_bessel_k1(Tensor x) -> Tensor", real_fraction_of_self, float_unary<kOfOrder<scaled_bessel_k, 1>>>.with({.work = 2500}),
    op<"aten::special_bessel_j0(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kJ0>>.with({.work = 100}),
    op<"aten::special_bessel_j1(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kJ1>>.with({.work = 100}),
    op<"aten::special_bessel_y0(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kY0>>.with({.work = 100}),
    op<"aten::special_bessel_y1(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kY1>>.with({.work = 100}),
    op<"aten::special_airy_ai(Tensor x) -> Tensor", real_fraction_of_self, float_unary<kOf<airy_ai>>>.with({.work = 250}),
    op<"aten::special_spherical_bessel_j0(Tensor x) -> Tensor", real_fraction_of_self, float_unary<kOf<spherical_j0>>>,
    op<"aten::special_erfcx(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kOf<erfcx_of>>>,
    op<"aten::special_ndtr(Tensor self) -> Tensor", ndtr>,
    op<"aten::special_ndtri(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kOf<ndtri_of>>>,
    op<"aten::special_log_ndtr(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kOf<log_ndtr_of>>>,
    op<"aten::special_entr(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kOf<entropy_of>>>,
    op<"aten::sinc(Tensor self) -> Tensor", fraction_of_self, fraction_unary<kSinc>>,
    op<"aten::special_zeta(Tensor self, Tensor other) -> Tensor", real_fraction_promoted, float_function<kZeta>>.with({.work = 300}),
    op<"aten::special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor", rule_with_number<real_fraction_promoted>, with_number<float_function<kZeta>>>.with({.work = 300}),
    op<"aten::special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor", rule_of_number<real_fraction_promoted>, of_number<float_function<kZeta>>>.with({.work = 300}),
    op<"aten::igamma(Tensor self, Tensor other) -> Tensor", strict_float_promoted, float_function<kLowerGamma>>.with({.work = 500}),
    op<"aten::igammac(Tensor self, Tensor other) -> Tensor", strict_float_promoted, float_function<kUpperGamma>>.with({.work = 500}),
    op<"aten::polygamma(int n, Tensor self) -> Tensor", polygamma_meta, polygamma>.with({.work = 300}),
    op<"aten::polygamma_(Tensor(a!) self, int n) -> Tensor(a!)", polygamma_in_place>.with({.functional_form = "polygamma.default"}),
    op<"aten::mvlgamma(Tensor self, int p) -> Tensor", mvlgamma_meta, mvlgamma>,
    op<"aten::deg2rad(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kRadians>>.with({.slope = Slope::linear}),
    op<"aten::rad2deg(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kDegrees>>.with({.slope = Slope::linear}),
    op<"aten::gcd(Tensor self, Tensor other) -> Tensor", integer_promoted, integer_function<kGcd>>.with({.work = 200}),
    op<"aten::lcm(Tensor self, Tensor other) -> Tensor", integer_promoted, integer_function<kLcm>>.with({.work = 200}),
    op<"aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor", ldexp_meta, ldexp_to, ldexp_of>,
    op<"aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)", frexp_meta, frexp_of>,
};
// clang-format on

}  // namespace

// Wichura, Algorithm AS 241 (Applied Statistics 37, 1988): accurate to double precision.
double normal_quantile_near_half(double q) {
  constexpr double kTop[] = {3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427,
                             13731.693765509461125, 45921.953931549871457, 67265.770927008700853,
                             33430.575583588128105, 2509.0809287301226727};
  constexpr double kBottom[] = {1.0,
                                42.313330701600911252,
                                687.18700749205790830,
                                5394.1960214247511077,
                                21213.794301586595867,
                                39307.895800092710610,
                                28729.085735721942674,
                                5226.4952788528545610};
  return q * rational(kTop, kBottom, 0.180625 - q * q);
}
double upper_normal_quantile(double probability) {
  constexpr double kNearTop[] = {1.42343711074968357734,    4.63033784615654529590,
                                 5.76949722146069140550,    3.64784832476320460504,
                                 1.27045825245236838258,    2.41780725177450611770e-1,
                                 2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr double kNearBottom[] = {1.0,
                                    2.05319162663775882187,
                                    1.67638483018380384940,
                                    6.89767334985100004550e-1,
                                    1.48103976427480074590e-1,
                                    1.51986665636164571966e-2,
                                    5.47593808499534494600e-4,
                                    1.05075007164441684324e-9};
  constexpr double kFarTop[] = {6.65790464350110377720,    5.46378491116411436990,
                                1.78482653991729133580,    2.96560571828504891230e-1,
                                2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr double kFarBottom[] = {1.0,
                                   5.99832206555887937690e-1,
                                   1.36929880922735805310e-1,
                                   1.48753612908506148525e-2,
                                   7.86869131145613259100e-4,
                                   1.84631831751005468180e-5,
                                   1.42151175831644588870e-7,
                                   2.04426310338993978564e-15};
  const double root = std::sqrt(-std::log(probability));
  return root <= 5 ? rational(kNearTop, kNearBottom, root - 1.6)
                   : rational(kFarTop, kFarBottom, root - 5);
}

std::span<const OpDef> special_ops() { return kSpecialOps; }

}  // namespace pt2::ops
