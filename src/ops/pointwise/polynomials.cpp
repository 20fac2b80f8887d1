// Orthogonal polynomials by their recurrences (ATen/native/Math.h). A polynomial is given by the
// first two values, the step from two values to the next, and the degree beyond which a closed form
// is used.
#include <cmath>

#include "base/memory_account.h"
#include "ops/dense.h"
#include "ops/pointwise/pointwise.h"

namespace pt2::ops {
namespace {

// Bounds the loop. PyTorch's loop is unlimited while a sequence neither grows nor shrinks. Real
// programs use small degrees.
constexpr int64_t kMaxDegree = 1 << 16;

template <class T>
T sign_of(int64_t n) {
  return n % 2 == 0 ? T(1) : T(-1);
}

// next(k, p, q) returns the polynomial of degree k + 1 from p and q, those of degrees k - 1 and k.
template <class T, class Next>
T recurrence(int64_t n, T first, T second, Next&& next) {
  if (n == 0) return first;
  if (n > kMaxDegree) return std::numeric_limits<T>::quiet_NaN();
  T p = first;
  T q = second;
  for (int64_t k = 1; k < n && !std::isnan(q); ++k) {
    const T r = next(static_cast<T>(k), p, q);
    p = q;
    q = r;
  }
  return q;
}
template <class T>
T chebyshev(T x, int64_t n, T second) {
  return recurrence(n, T(1), second, [=](T, T p, T q) { return (x + x) * q - p; });
}

// Chebyshev polynomials of all four kinds at x. Inside (-1, 1) the closed forms apply above a
// degree that PyTorch chose for each kind; the shifted polynomials have other degrees.
struct Degrees {
  int64_t t = 6;
  int64_t u = 8;
  int64_t v = 8;
  int64_t w = 8;
  bool is_shifted = false;
};
template <class T>
T chebyshev_t(T x, int64_t n, const Degrees& degrees) {
  if (n < 0) return T(0);
  if (std::fabs(x) == T(1)) return x > 0 ? T(1) : sign_of<T>(n);
  if (n > degrees.t && std::fabs(x) < T(1)) return std::cos(static_cast<T>(n) * std::acos(x));
  return chebyshev(x, n, x);
}
template <class T>
T chebyshev_u(T x, int64_t n, const Degrees& degrees) {
  if (n < 0) return T(0);
  const T next = static_cast<T>(n) + T(1);
  if (std::fabs(x) == T(1)) return x > 0 ? next : sign_of<T>(n) * next;
  if (n > degrees.u && std::fabs(x) < T(1)) {
    const T angle = std::acos(x);
    return std::sin(angle) != T(0) ? std::sin(next * angle) / std::sin(angle)
                                   : next * std::cos(next * angle) / x;
  }
  return chebyshev(x, n, x + x);
}
template <class T>
T chebyshev_v(T x, int64_t n, const Degrees& degrees) {
  if (n < 0) return T(0);
  const T odd = static_cast<T>(n) + static_cast<T>(n) + T(1);
  if (std::fabs(x) == T(1)) return x > 0 ? T(1) : sign_of<T>(n) * odd;
  if (n > degrees.v && std::fabs(x) < T(1)) {
    const T angle = std::acos(x);
    if (std::sin(angle / T(2)) == T(1)) return sign_of<T>(n) * odd;
    return std::cos((static_cast<T>(n) + T(0.5)) * angle) / std::cos(angle / T(2));
  }
  return chebyshev(x, n, x + x - T(1));
}
template <class T>
T chebyshev_w(T x, int64_t n, const Degrees& degrees) {
  if (n < 0) return T(0);
  const T odd = static_cast<T>(n) + static_cast<T>(n) + T(1);
  if (std::fabs(x) == T(1)) return x > 0 ? odd : sign_of<T>(n);
  if (n > degrees.w && std::fabs(x) < T(1)) {
    const T angle = std::acos(x);
    if (std::cos(angle / T(2)) == T(1)) return x > 0 ? odd : sign_of<T>(n);
    return std::sin((static_cast<T>(n) + T(0.5)) * angle) / std::sin(angle / T(2));
  }
  return chebyshev(x, n, x + x + T(1));
}
constexpr Degrees kPlain{};
constexpr Degrees kShifted{6, 6, 6, 4, true};

// Beyond these degrees Hermite polynomials overflow the type.
template <class T>
constexpr int64_t kMaxHermiteDegree = std::is_same_v<T, float> ? 128 : 512;
template <class T>
T hermite(T x, int64_t n, T factor) {
  if (n < 0) return T(0);
  if (n > kMaxHermiteDegree<T>) return std::numeric_limits<T>::quiet_NaN();
  if (n == 0) return T(1);
  T p = T(1);
  T q = factor * x;
  for (int64_t k = 1; k < n; ++k) {
    const T r = std::fma(factor * x, q, -(factor * static_cast<T>(k) * p));
    p = q;
    q = r;
  }
  return q;
}
template <class T>
T laguerre(T x, int64_t n) {
  if (n < 0) return T(0);
  if (x == T(0)) return T(1);
  return recurrence(n, T(1), T(1) - x,
                    [=](T k, T p, T q) { return ((k + k + (T(1) - x)) * q - k * p) / (k + T(1)); });
}
template <class T>
T legendre(T x, int64_t n) {
  if (n < 0) return T(0);
  if (std::fabs(x) == T(1)) return x > 0 ? T(1) : sign_of<T>(n);
  return recurrence(n, T(1), x,
                    [=](T k, T p, T q) { return ((k + k + T(1)) * x * q - k * p) / (k + T(1)); });
}

// An out-of-range degree becomes negative, as the x86 conversion does.
template <class T>
int64_t degree_of(T n) {
  return std::fabs(n) < T(0x1p63) ? static_cast<int64_t>(n) : INT64_MIN;
}
// The polynomials of x, or of 2x - 1 if they are shifted.
template <const Degrees& D, class T>
T argument_of(T x) {
  return D.is_shifted ? x + x - T(1) : x;
}
template <const Degrees& D>
constexpr auto kT = [](auto x, auto n) { return chebyshev_t(argument_of<D>(x), degree_of(n), D); };
template <const Degrees& D>
constexpr auto kU = [](auto x, auto n) { return chebyshev_u(argument_of<D>(x), degree_of(n), D); };
template <const Degrees& D>
constexpr auto kV = [](auto x, auto n) { return chebyshev_v(argument_of<D>(x), degree_of(n), D); };
template <const Degrees& D>
constexpr auto kW = [](auto x, auto n) { return chebyshev_w(argument_of<D>(x), degree_of(n), D); };
constexpr auto kHermiteH = [](auto x, auto n) {
  return hermite(x, degree_of(n), static_cast<decltype(x)>(2));
};
constexpr auto kHermiteHe = [](auto x, auto n) {
  return hermite(x, degree_of(n), static_cast<decltype(x)>(1));
};
constexpr auto kLaguerre = [](auto x, auto n) { return laguerre(x, degree_of(n)); };
constexpr auto kLegendre = [](auto x, auto n) { return legendre(x, degree_of(n)); };

Result<Meta> polynomial_meta(const Tensor& x, const Tensor& n) {
  PT2_TRY(Meta meta, fraction_promoted(x, n));
  if (meta.dtype != Dtype::float32 && meta.dtype != Dtype::float64)
    return operator_error("found dtype " + std::string(dtype_name(meta.dtype)) +
                          ", expected float32 or float64");
  return meta;
}
// Each element may take as many steps as the largest degree.
void count_steps(const Tensor& out, const Tensor& n) {
  constexpr int64_t kWorkOfStep = 4;  // a division
  const Input<double> degrees(n);
  double most = 1;
  for (int64_t i = 0; i < n.numel(); ++i) most = std::max(most, degrees[i]);
  const auto steps = static_cast<int64_t>(std::min<double>(most, kMaxDegree));
  MemoryAccount::count_loops({out.numel(), steps, kWorkOfStep}, 1);
}
template <const auto& F>
void polynomial(Tensor& out, const Tensor& x, const Tensor& n) {
  count_steps(out, n);
  with_float_compute_type(out.dtype(),
                          [&]<class C>() { elementwise<C>(out, out.dtype(), F, x, n); });
}

#define PT2_POLYNOMIAL(name, F)                                                               \
  op<"aten::special_" name "(Tensor x, Tensor n) -> Tensor", polynomial_meta, polynomial<F>>, \
      op<"aten::special_" name ".x_scalar(Scalar x, Tensor n) -> Tensor",                     \
         rule_of_number<polynomial_meta>, of_number<polynomial<F>>>,                          \
      op<"aten::special_" name ".n_scalar(Tensor x, Scalar n) -> Tensor",                     \
         rule_with_number<polynomial_meta>, with_number<polynomial<F>>>
constexpr OpDef kPolynomialsOps[] = {
    PT2_POLYNOMIAL("chebyshev_polynomial_t", kT<kPlain>),
    PT2_POLYNOMIAL("chebyshev_polynomial_u", kU<kPlain>),
    PT2_POLYNOMIAL("chebyshev_polynomial_v", kV<kPlain>),
    PT2_POLYNOMIAL("chebyshev_polynomial_w", kW<kPlain>),
    PT2_POLYNOMIAL("shifted_chebyshev_polynomial_t", kT<kShifted>),
    PT2_POLYNOMIAL("shifted_chebyshev_polynomial_u", kU<kShifted>),
    PT2_POLYNOMIAL("shifted_chebyshev_polynomial_v", kV<kShifted>),
    PT2_POLYNOMIAL("shifted_chebyshev_polynomial_w", kW<kShifted>),
    PT2_POLYNOMIAL("hermite_polynomial_h", kHermiteH),
    PT2_POLYNOMIAL("hermite_polynomial_he", kHermiteHe),
    PT2_POLYNOMIAL("laguerre_polynomial_l", kLaguerre),
    PT2_POLYNOMIAL("legendre_polynomial_p", kLegendre),
};
#undef PT2_POLYNOMIAL

}  // namespace

std::span<const OpDef> polynomials_ops() { return kPolynomialsOps; }

}  // namespace pt2::ops
