// Pointwise mathematics of one operand.
#include "ops/pointwise/pointwise.h"

#include <limits>
#include <numbers>

#include "ops/compose.h"
#include "ops/pointwise/unsigned_order.h"

namespace pt2::ops {
namespace {

double inverse_erf(double y) {
  const double size = std::fabs(y);
  if (!(size < 1)) return size == 1 ? y * HUGE_VAL : std::nan("");
  if (size <= 0.85) return normal_quantile_near_half(y / 2) * (std::numbers::sqrt2 / 2);
  const double x = upper_normal_quantile((1 - size) / 2) * (std::numbers::sqrt2 / 2);
  return std::copysign(x, y);
}

}  // namespace

// Recurrence up to 10, then the asymptotic series. Reflection for negative x.
double digamma_of(double x) {
  if (x == 0) return std::copysign(HUGE_VAL, -x);
  if (x < 0) {
    if (x == std::floor(x)) return std::nan("");
    return digamma_of(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * (x - std::trunc(x)));
  }
  double sum = 0;
  for (; x < 10; ++x) sum -= 1 / x;
  const double inverse = 1 / (x * x);
  const double series =
      inverse *
      (1.0 / 12 -
       inverse *
           (1.0 / 120 -
            inverse * (1.0 / 252 -
                       inverse * (1.0 / 240 - inverse * (1.0 / 132 - inverse * 691.0 / 32760)))));
  return sum + std::log(x) - 0.5 / x - series;
}

namespace {

template <class C>
C reciprocal_of(C x) {
  return C(1) / x;
}
// If the square of the magnitude neither overflows nor underflows, the division needs no
// unpredictable branches on the parts. This covers every complex64 except 0 and infinities.
Complex reciprocal_of(Complex x) {
  const double square = x.real() * x.real() + x.imag() * x.imag();
  if (!(square > 1e-280 && square < 1e280)) return complex_quotient(Complex(1), x);
  const double inverse = 1 / square;
  return {x.real() * inverse, -x.imag() * inverse};
}
std::complex<float> reciprocal_of(std::complex<float> x) {
  return complex_quotient(std::complex<float>(1), x);
}

template <class C>
C sigmoid_of(C x) {
  return reciprocal_of(C(1) + std::exp(-x));
}

// clang-format off
constexpr auto kAcos = [](auto x) { return std::acos(x); };
constexpr auto kAcosh = [](auto x) { return std::acosh(x); };
constexpr auto kAsin = [](auto x) { return std::asin(x); };
constexpr auto kAsinh = [](auto x) { return std::asinh(x); };
constexpr auto kAtan = [](auto x) { return std::atan(x); };
constexpr auto kAtanh = [](auto x) { return std::atanh(x); };
constexpr auto kCos = [](auto x) { return std::cos(x); };
constexpr auto kCosh = [](auto x) { return std::cosh(x); };
constexpr auto kErf = [](auto x) { return std::erf(x); };
constexpr auto kErfc = [](auto x) { return std::erfc(x); };
constexpr auto kErfinv = [](auto x) { return inverse_erf(x); };
constexpr auto kExp = [](auto x) { return std::exp(x); };
constexpr auto kLgamma = [](auto x) { return log_gamma(x); };
constexpr auto kDigamma = [](auto x) { return digamma_of(x); };
constexpr auto kLog = [](auto x) { return std::log(x); };
constexpr auto kLog10 = [](auto x) { return std::log10(x); };
constexpr auto kReciprocal = [](auto x) { return reciprocal_of(x); };
constexpr auto kRsqrt = [](auto x) { return reciprocal_of(std::sqrt(x)); };
constexpr auto kSigmoid = [](auto x) { return sigmoid_of(x); };
constexpr auto kSin = [](auto x) { return std::sin(x); };
constexpr auto kSinh = [](auto x) { return std::sinh(x); };
constexpr auto kSqrt = [](auto x) { return std::sqrt(x); };
constexpr auto kTan = [](auto x) { return std::tan(x); };
constexpr auto kTanh = [](auto x) { return std::tanh(x); };
constexpr auto kCeil = [](auto x) { return std::ceil(x); };
constexpr auto kFloor = [](auto x) { return std::floor(x); };
constexpr auto kRound = [](auto x) { return std::nearbyint(x); };
constexpr auto kTrunc = [](auto x) { return std::trunc(x); };
constexpr auto kFrac = [](auto x) { return x - std::trunc(x); };
constexpr auto kSquare = [](auto x) { return times(x, x); };
constexpr auto kSign = []<class C>(C x) { return C((x > C(0)) - (x < C(0))); };
constexpr auto kBitwiseNot = [](int64_t x) { return ~x; };
constexpr auto kLogicalNot = []<class C>(C x) { return C(x == C(0) ? 1 : 0); };
constexpr auto kIsNan = []<class C>(C x) { return C(is_nan(x) ? 1 : 0); };
constexpr auto kSignbit = []<class C>(C x) { return C(!std::is_unsigned_v<C> && std::signbit(static_cast<double>(x)) ? 1 : 0); };
constexpr auto kPositiveInfinity = []<class C>(C x) { return C(static_cast<double>(x) == HUGE_VAL ? 1 : 0); };
constexpr auto kNegativeInfinity = []<class C>(C x) { return C(static_cast<double>(x) == -HUGE_VAL ? 1 : 0); };
// clang-format on

constexpr auto kLog2 = []<class C>(C x) {
  if constexpr (kIsComplex<C>)
    return std::log(x) / std::numbers::ln2;
  else
    return std::log2(x);
};
// Near 0, 1 + x loses most digits of x, so that std::log is inaccurate.
constexpr auto kLog1p = []<class C>(C x) {
  if constexpr (kIsComplex<C>) {
    const auto real = x.real(), imag = x.imag();
    // The sum of the number 1 and x would lose the sign of an imaginary zero.
    if (!(std::abs(x) < 0.5)) return std::log(C(1 + real, imag));
    return C(std::log1p(real * (2 + real) + imag * imag) / 2, std::atan2(imag, 1 + real));
  } else {
    return std::log1p(x);
  }
};
constexpr auto kExp2 = []<class C>(C x) {
  if constexpr (kIsComplex<C>)
    return std::exp(x * static_cast<typename C::value_type>(std::numbers::ln2));
  else
    return std::exp2(x);
};
// exp(a + bi) - 1 without cancellation near 0.
constexpr auto kExpm1 = []<class C>(C x) {
  if constexpr (kIsComplex<C>) {
    const auto half_sine = std::sin(x.imag() / 2);
    return C(std::expm1(x.real()) * std::cos(x.imag()) - 2 * half_sine * half_sine,
             std::exp(x.real()) * std::sin(x.imag()));
  } else {
    return std::expm1(x);
  }
};
constexpr auto kSgn = []<class C>(C x) {
  if constexpr (kIsComplex<C>) {
    const double magnitude = std::abs(x);
    return magnitude == 0 ? C(0) : x / magnitude;
  } else {
    return kSign(x);
  }
};
constexpr auto kIsInf = []<class C>(C x) {
  if constexpr (kIsComplex<C>)
    return C(std::isinf(x.real()) || std::isinf(x.imag()) ? 1 : 0);
  else
    return C(std::isinf(static_cast<double>(x)) ? 1 : 0);
};
constexpr auto kIsFinite = []<class C>(C x) {
  if constexpr (kIsComplex<C>)
    return C(std::isfinite(x.real()) && std::isfinite(x.imag()) ? 1 : 0);
  else
    return C(std::isfinite(static_cast<double>(x)) ? 1 : 0);
};
// If the square neither overflows nor underflows, its root is faster than std::abs.
inline double magnitude_of(Complex x) {
  const double square = x.real() * x.real() + x.imag() * x.imag();
  return square > 1e-280 && square < 1e280 ? std::sqrt(square) : std::abs(x);
}
constexpr auto kMagnitude = []<class C>(C x) {
  if constexpr (kIsComplex<C>)
    return C(magnitude_of(x));
  else
    return x < C(0) || (std::is_floating_point_v<C> && x == C(0)) ? minus(C(0), x) : x;
};
// The angle of a negative real number is pi; NaN stays NaN.
constexpr auto kAngle = []<class C>(C x) {
  if constexpr (kIsComplex<C>)
    return C(std::arg(x));
  else
    return is_nan(x) ? x : C(x < C(0) ? std::numbers::pi : 0);
};

constexpr auto magnitude_of_self = rule_of_one<real_dtype, expect_not_bool>;
Result<Meta> angle_of_self(const Tensor& self) {
  PT2_TRY(Meta meta, elementwise_meta(real_dtype(float_or_default(self.dtype())), {&self}));
  if (dtype_category(self.dtype()) == DtypeCategory::complex) meta.strides.clear();
  return meta;
}
// Computes in the operand's type, because the result's type is narrower.
template <const auto& F>
void part_of_self(Tensor& out, const Tensor& self) {
  const Dtype common =
      dtype_category(self.dtype()) == DtypeCategory::complex ? self.dtype() : out.dtype();
  with_compute_type(common, [&]<class C>() { elementwise<C>(out, common, F, self); });
}

template <const auto& F>
void real_predicate(Tensor& out, const Tensor& self) {
  with_real_compute_type(self.dtype(),
                         [&]<class C>() { ordered_elementwise<C>(out, self.dtype(), F, self); });
}
// pow(self, 2), which converts bool to an integer.
void square(Tensor& out, const Tensor& self) {
  if (dtype_category(out.dtype()) == DtypeCategory::complex)
    single_fraction_unary<kSquare>(out, self);
  else
    unary<kSquare>(out, self);
}
Result<Meta> square_meta(const Tensor& self) { return promoted(self, number_tensor(2)); }

void bitwise_not(Tensor& out, const Tensor& self) {
  if (self.dtype() == Dtype::bool_)
    elementwise<int64_t>(out, self.dtype(), kLogicalNot, self);
  else
    elementwise<int64_t>(out, self.dtype(), kBitwiseNot, self);
}

void neg(Tensor& out, const Tensor& self) {
  if (!negates_from_zero(out.dtype(), out.numel())) return unary<kNeg>(out, self);
  elementwise<Complex>(
      out, out.dtype(), [](Complex x) { return Complex(0) - x; }, self);
}

// Integers are unchanged by rounding, also above 2^53.
template <const auto& F>
void rounding(Tensor& out, const Tensor& self) {
  if (dtype_category(self.dtype()) < DtypeCategory::floating)
    copy_elements(out, self);
  else
    float_unary<F>(out, self);
}

// ATen/native/cpu/UnaryOpsKernel.cpp round_decimals_kernel: divides or multiplies by a positive
// power of ten, which is exact.
void round_decimals(Tensor& out, const Tensor& self, int64_t decimals) {
  with_float_compute_type(out.dtype(), [&]<class C>() {
    const C ten = std::pow(C(10), static_cast<C>(std::abs(static_cast<double>(decimals))));
    elementwise<C>(
        out, out.dtype(),
        [=](C x) {
          return decimals < 0 ? std::nearbyint(x / ten) * ten : std::nearbyint(x * ten) / ten;
        },
        self);
  });
}

Result<Meta> logit_meta(const Tensor& self, std::optional<double> eps) {
  PT2_TRY(Meta meta, real_fraction_of_self(self));
  if (eps) PT2_TRY_VOID(expect_representable(*eps, meta.dtype));
  return meta;
}
void logit(Tensor& out, const Tensor& self, std::optional<double> eps) {
  with_float_compute_type(out.dtype(), [&]<class C>() {
    // Half floats are rounded after each step, and the bounds are also rounded to halves.
    const auto rounded = [dtype = out.dtype()](C x) {
      round_elements<C>(dtype, 1, &x);
      return x;
    };
    const C low = rounded(static_cast<C>(eps.value_or(0))), high = rounded(C(1) - low);
    elementwise<C>(
        out, out.dtype(),
        [=, clamped = eps.has_value()](C x) {
          const C z = clamped ? (x < low ? low : (x > high ? high : x)) : x;
          return std::log(rounded(z / rounded(C(1) - z)));
        },
        self);
  });
}

void nan_to_num(Tensor& out, const Tensor& self, std::optional<double> nan,
                std::optional<double> posinf, std::optional<double> neginf) {
  if (dtype_category(self.dtype()) < DtypeCategory::floating) return copy_elements(out, self);
  const double largest = largest_finite(self.dtype());
  const double values[] = {nan.value_or(0), posinf.value_or(largest), neginf.value_or(-largest)};
  auto replaced = [&](auto x) {
    using T = decltype(x);
    if (is_nan(x)) return static_cast<T>(values[0]);
    if (std::isinf(x)) return static_cast<T>(values[x > 0 ? 1 : 2]);
    return x;
  };
  with_fraction_compute_type(self.dtype(), [&]<class C>() {
    auto function = [&](C x) {
      if constexpr (kIsComplex<C>)
        return C(replaced(x.real()), replaced(x.imag()));
      else
        return replaced(x);
    };
    elementwise<C>(out, self.dtype(), function, self);
  });
}

Result<Tensor> positive(const Tensor& self) {
  PT2_TRY_VOID(expect_not_bool(self.dtype()));
  return self;
}

Result<Tensor> square_formula(Emitter& e, const Tensor& self) {
  return e(aten<"pow.Tensor_Scalar">, {self, 2});
}
Result<Tensor> positive_formula(Emitter&, const Tensor& self) { return positive(self); }

// ATen/native/TensorCompare.cpp isfinite.
Result<Tensor> isfinite_formula(Emitter& e, const Tensor& self) {
  if (dtype_category(self.dtype()) < DtypeCategory::floating)
    return e(aten<"ones_like.default">, {self, Dtype::bool_});
  if (dtype_category(self.dtype()) == DtypeCategory::complex)
    return e(aten<"bitwise_and.Tensor">,
             {e(aten<"isfinite.default">, {e(aten<"real.default">, {self})}),
              e(aten<"isfinite.default">, {e(aten<"imag.default">, {self})})});
  const auto is_small = e(
      aten<"ne.Scalar">, {e(aten<"abs.default">, {self}), std::numeric_limits<double>::infinity()});
  return e(aten<"mul.Tensor">, {e(aten<"eq.Tensor">, {self, self}), is_small});
}

// clang-format off
constexpr OpDef kPointwiseOps[] = {
    op<"aten::abs(Tensor self) -> Tensor", magnitude_of_self, part_of_self<kMagnitude>>,
    op<"aten::absolute(Tensor self) -> Tensor", magnitude_of_self, part_of_self<kMagnitude>>.with({.same_as = "abs.default"}),
    op<"aten::angle(Tensor self) -> Tensor", angle_of_self, part_of_self<kAngle>>,
    op<"aten::acos(Tensor self) -> Tensor", fraction_of_self, fraction_unary<kAcos>>,
    op<"aten::acosh(Tensor self) -> Tensor", fraction_of_self, fraction_unary<kAcosh>>,
    op<"aten::asin(Tensor self) -> Tensor", fraction_of_self, fraction_unary<kAsin>>,
    op<"aten::asinh(Tensor self) -> Tensor", fraction_of_self, fraction_unary<kAsinh>>,
    op<"aten::atan(Tensor self) -> Tensor", fraction_of_self, fraction_unary<kAtan>>,
    op<"aten::atanh(Tensor self) -> Tensor", fraction_of_self, fraction_unary<kAtanh>>,
    op<"aten::bitwise_not(Tensor self) -> Tensor", integral_as_self, bitwise_not>,
    op<"aten::ceil(Tensor self) -> Tensor", real_number_as_self, rounding<kCeil>>.with({.slope = Slope::constant}),
    op<"aten::cos(Tensor self) -> Tensor", fraction_of_self, fraction_unary<kCos>>,
    op<"aten::cosh(Tensor self) -> Tensor", fraction_of_self, fraction_unary<kCosh>>,
    op<"aten::digamma(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kDigamma>>,
    op<"aten::erf(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kErf>>,
    op<"aten::erfc(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kErfc>>,
    op<"aten::erfinv(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kErfinv>>,
    op<"aten::exp(Tensor self) -> Tensor", fraction_of_self, fraction_unary<kExp>>,
    op<"aten::exp2(Tensor self) -> Tensor", fraction_of_self, single_fraction_unary<kExp2>>,
    op<"aten::expm1(Tensor self) -> Tensor", fraction_of_self, single_fraction_unary<kExpm1>>,
    op<"aten::floor(Tensor self) -> Tensor", real_number_as_self, rounding<kFloor>>.with({.slope = Slope::constant}),
    op<"aten::frac(Tensor self) -> Tensor", strict_float_as_self, float_unary<kFrac>>,
    op<"aten::isfinite(Tensor self) -> Tensor", bool_like_self, predicate<kIsFinite>, isfinite_formula>,
    op<"aten::isinf(Tensor self) -> Tensor", bool_like_self, predicate<kIsInf>>,
    op<"aten::isnan(Tensor self) -> Tensor", bool_like_self, predicate<kIsNan>>,
    op<"aten::isneginf(Tensor self) -> Tensor", real_bool_like_self, real_predicate<kNegativeInfinity>>,
    op<"aten::isposinf(Tensor self) -> Tensor", real_bool_like_self, real_predicate<kPositiveInfinity>>,
    op<"aten::lgamma(Tensor self) -> Tensor", real_fraction_of_self, float_unary<kLgamma>>,
    op<"aten::log(Tensor self) -> Tensor", fraction_of_self, fraction_unary<kLog>>,
    op<"aten::log10(Tensor self) -> Tensor", fraction_of_self, fraction_unary<kLog10>>,
    op<"aten::log1p(Tensor self) -> Tensor", fraction_of_self, fraction_unary<kLog1p>>,
    op<"aten::log2(Tensor self) -> Tensor", fraction_of_self, fraction_unary<kLog2>>,
    op<"aten::logical_not(Tensor self) -> Tensor", bool_like_self, predicate<kLogicalNot>>,
    op<"aten::logit(Tensor self, float? eps=None) -> Tensor", logit_meta, logit>,
    op<"aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor", as_self, nan_to_num>,
    op<"aten::neg(Tensor self) -> Tensor", number_as_self, neg>.with({.slope = Slope::linear}),
    op<"aten::negative(Tensor self) -> Tensor", number_as_self, neg>.with({.slope = Slope::linear, .same_as = "neg.default"}),
    op<"aten::positive(Tensor(a) self) -> Tensor(a)", positive, positive_formula>.with({.inverse = Inverse::same, .slope = Slope::linear}),
    op<"aten::reciprocal(Tensor self) -> Tensor", fraction_of_self, fraction_unary<kReciprocal>>,
    op<"aten::round(Tensor self) -> Tensor", real_number_as_self, rounding<kRound>>.with({.slope = Slope::constant}),
    op<"aten::round.decimals(Tensor self, *, int decimals) -> Tensor", strict_float_as_self, round_decimals>,
    op<"aten::special_round(Tensor self, *, int decimals=0) -> Tensor", delegate<aten<"round.decimals">, Tensor, int64_t>>.with({.slope = Slope::constant}),
    op<"aten::rsqrt(Tensor self) -> Tensor", fraction_of_self, single_fraction_unary<kRsqrt>>,
    op<"aten::sgn(Tensor self) -> Tensor", as_self, unary<kSgn>>,
    op<"aten::sigmoid(Tensor self) -> Tensor", fraction_of_self, single_fraction_unary<kSigmoid>>,
    op<"aten::sign(Tensor self) -> Tensor", real_as_self, real_unary<kSign>>.with({.slope = Slope::constant}),
    op<"aten::signbit(Tensor self) -> Tensor", real_bool_like_self, real_predicate<kSignbit>>,
    op<"aten::sin(Tensor self) -> Tensor", fraction_of_self, fraction_unary<kSin>>,
    op<"aten::sinh(Tensor self) -> Tensor", fraction_of_self, fraction_unary<kSinh>>,
    op<"aten::sqrt(Tensor self) -> Tensor", fraction_of_self, fraction_unary<kSqrt>>,
    op<"aten::square(Tensor self) -> Tensor", square_meta, square, square_formula>,
    op<"aten::tan(Tensor self) -> Tensor", fraction_of_self, fraction_unary<kTan>>,
    op<"aten::tanh(Tensor self) -> Tensor", fraction_of_self, fraction_unary<kTanh>>,
    op<"aten::trunc(Tensor self) -> Tensor", real_number_as_self, rounding<kTrunc>>.with({.slope = Slope::constant}),
    op<"aten::fix(Tensor self) -> Tensor", real_number_as_self, rounding<kTrunc>>.with({.slope = Slope::constant, .same_as = "trunc.default"}),
};
// clang-format on

}  // namespace

std::span<const OpDef> pointwise_ops() { return kPointwiseOps; }

}  // namespace pt2::ops
