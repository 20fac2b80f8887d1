// Vectors of double for one target: the counterparts of the float functions in vectors-inl.h, and
// functions that floats compute in double. Included once for each target, inside no namespace, by
// sources that list themselves in HWY_TARGET_INCLUDE.
#if defined(PT2_KERNELS_DTYPES_DOUBLES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT2_KERNELS_DTYPES_DOUBLES_INL_H
#undef PT2_KERNELS_DTYPES_DOUBLES_INL_H
#else
#define PT2_KERNELS_DTYPES_DOUBLES_INL_H
#endif

#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

using LongTag = hn::RebindToSigned<DoubleTag>;

// A double near 1.5 * 2^52 has no fraction bits: adding this constant rounds a number to an
// integer, which the low mantissa bits then hold.
constexpr double kWholesOnly = 0x1.8p52;

// 2^n for an integer n from -1022 to 1023; 0 for -1023.
HWY_INLINE VD power_of_two(VD n) {
  const auto bits = hn::BitCast(LongTag(), hn::Add(n, set(kWholesOnly + 1023)));
  return hn::BitCast(DoubleTag(), hn::ShiftLeft<52>(bits));
}
// x * 2^n for n from -2044 to 2046.
HWY_INLINE VD times_power_of_two(VD x, VD n) {
  const VD half = hn::Round(hn::Mul(n, set(0.5)));
  return hn::Mul(hn::Mul(x, power_of_two(half)), power_of_two(hn::Sub(n, half)));
}

// exp(r) - 1 for |r| up to ln(2) / 2.
HWY_INLINE VD expm1_near_0(VD r) {
  const VD p = horner(r, set(2.5100375832840034e-08), 2.762007588034591e-07, 2.755726848030944e-06,
                      2.480152132236793e-05, 0.00019841269863040545, 0.0013888888917196719,
                      0.008333333333330065, 0.041666666666624164, 0.16666666666666669, 0.5);
  return hn::MulAdd(hn::Mul(p, r), r, r);
}
// Reduces x to n ln 2 + r; returns exp(r) - 1. Products with the first part of ln 2 are exact.
HWY_INLINE VD reduced_expm1(VD x, VD& n) {
  n = hn::Round(hn::Mul(x, set(1.4426950408889634)));
  VD r = hn::NegMulAdd(n, set(6.93147180369123816490e-01), x);
  r = hn::NegMulAdd(n, set(1.90821492927058770002e-10), r);
  return expm1_near_0(r);
}

HWY_INLINE VD exp(VD x) {
  x = at_most(at_least(x, set(-746.0)), set(710.0));
  VD n;
  const VD p = hn::Add(reduced_expm1(x, n), set(1.0));
  return times_power_of_two(p, n);
}
HWY_INLINE VD exp_of_difference(VD x) { return exp(x); }
HWY_INLINE VD exp2(VD x) {
  x = at_most(at_least(x, set(-1076.0)), set(1025.0));
  const VD n = hn::Round(x);
  const VD r = hn::Mul(hn::Sub(x, n), set(0.6931471805599453));
  return times_power_of_two(hn::Add(expm1_near_0(r), set(1.0)), n);
}
HWY_INLINE VD expm1(VD x) {
  VD n;
  const VD p = reduced_expm1(at_most(at_least(x, set(-40.0)), set(40.0)), n);
  const VD scale = power_of_two(n);
  const VD near = hn::MulAdd(scale, p, hn::Sub(scale, set(1.0)));
  // A zero keeps its sign.
  const VD small = hn::IfThenElse(hn::Eq(x, hn::Zero(DoubleTag())), x, near);
  return hn::IfThenElse(hn::Gt(x, set(40.0)), exp(x), small);
}

// log(x) = power * ln 2 + log(1 + f) with 1 + f between sqrt(1/2) and sqrt(2); log(1 + f) is f -
// half_square + rest.
struct DoubleLogarithm {
  VD power, f, half_square, rest;
};
HWY_INLINE DoubleLogarithm logarithm_parts(VD x) {
  const DoubleTag d;
  const LongTag i;
  const auto is_small = hn::Lt(x, set(0x1p-1022));  // subnormal, 0, negative
  const VD scaled = hn::IfThenElse(is_small, hn::Mul(x, set(0x1p54)), x);
  const auto bits = hn::BitCast(i, scaled);
  // Minus the bits of sqrt(1/2), so that the exponent changes there; plus 1024, to keep it above 0.
  const auto e = hn::ShiftRight<52>(hn::BitCast(
      hn::RebindToUnsigned<DoubleTag>(),
      hn::Add(hn::Sub(bits, hn::Set(i, 0x3fe6a09e667f3bcd)), hn::Set(i, int64_t{1024} << 52))));
  const auto above = hn::BitCast(i, e);
  const VD m =
      hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<52>(hn::Sub(above, hn::Set(i, int64_t{1024})))));
  // Converts the integer to double: it becomes the low mantissa bits of 2^52.
  const VD as_number = hn::BitCast(d, hn::Or(above, hn::Set(i, 0x4330000000000000)));
  const VD power = hn::Sub(hn::Sub(as_number, set(0x1p52 + 1024)),
                           hn::IfThenElse(is_small, set(54.0), hn::Zero(d)));
  const VD f = hn::Sub(m, set(1.0));
  const VD half_square = hn::Mul(hn::Mul(f, f), set(0.5));
  const VD s = hn::Div(f, hn::Add(f, set(2.0)));
  const VD z = hn::Mul(s, s);
  const VD r = hn::Mul(horner(z, set(0.1479819860511658591), 0.1531383769920937332,
                              0.1818357216161805012, 0.2222219843214978396, 0.2857142874366239149,
                              0.3999999999940941908, 0.6666666666666735130),
                       z);
  return {power, f, half_square, hn::Mul(s, hn::Add(half_square, r))};
}
// Returns `result` where x is positive and finite, and the special values of a logarithm elsewhere.
HWY_INLINE VD logarithm_or_special(VD x, VD result) {
  const DoubleTag d;
  const VD infinity = hn::Inf(d);
  const VD special = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), hn::NaN(d));
  const VD positive = hn::IfThenElse(hn::Eq(x, infinity), infinity, result);
  return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), positive, special);
}
HWY_INLINE VD log(VD x) {
  const DoubleLogarithm part = logarithm_parts(x);
  const VD low =
      hn::Sub(hn::MulAdd(part.power, set(1.90821492927058770002e-10), part.rest), part.half_square);
  const VD result = hn::MulAdd(part.power, set(6.93147180369123816490e-01), hn::Add(part.f, low));
  return logarithm_or_special(x, result);
}

// Returns power * unit + log(1 + f) * factor. `unit` and `factor` come in two parts, the first of
// few bits: the result is exact for integer powers of the base.
HWY_INLINE VD logarithm_of_base(VD x, double factor_high, double factor_low, double unit_high,
                                double unit_low) {
  const DoubleTag d;
  const LongTag i;
  const DoubleLogarithm part = logarithm_parts(x);
  const VD sum = hn::Sub(part.f, part.half_square);
  const VD high = hn::BitCast(
      d, hn::And(hn::BitCast(i, sum), hn::Set(i, static_cast<int64_t>(0xffffffff00000000))));
  const VD low = hn::Add(hn::Sub(hn::Sub(part.f, high), part.half_square), part.rest);
  const VD product = hn::Mul(high, set(factor_high));
  const VD whole = hn::Mul(part.power, set(unit_high));
  const VD total = hn::Add(whole, product);
  VD lost = hn::Add(hn::Sub(whole, total), product);
  // `product` is larger than `whole` only where `whole` is 0.
  lost = hn::MulAdd(part.power, set(unit_low), lost);
  lost = hn::MulAdd(hn::Add(high, low), set(factor_low), lost);
  lost = hn::MulAdd(low, set(factor_high), lost);
  return logarithm_or_special(x, hn::Add(total, lost));
}
HWY_INLINE VD log2(VD x) {
  return logarithm_of_base(x, 1.44269504072144627571e+00, 1.67517131648865118353e-10, 1, 0);
}
HWY_INLINE VD log10(VD x) {
  return logarithm_of_base(x, 4.34294481878168880939e-01, 2.50829467116452752298e-11,
                           3.01029995663611771306e-01, 3.69423907715893078616e-13);
}
HWY_INLINE VD log1p(VD x) {
  const VD one = set(1.0);
  const VD sum = hn::Add(one, x);
  // Subtracting the larger of 1 and x from the sum is exact.
  const VD lost =
      hn::IfThenElse(hn::Gt(x, one), hn::Sub(one, hn::Sub(sum, x)), hn::Sub(x, hn::Sub(sum, one)));
  const auto is_end = hn::Or(hn::Eq(sum, hn::Zero(DoubleTag())), hn::Eq(sum, hn::Inf(DoubleTag())));
  const VD logarithm = log(sum);
  const VD near = hn::IfThenElse(is_end, logarithm, hn::Add(logarithm, hn::Div(lost, sum)));
  return hn::IfThenElse(hn::Eq(x, hn::Zero(DoubleTag())), x, near);
}
HWY_INLINE VD softplus(VD x) {
  const VD positive = hn::IfThenElse(hn::Gt(x, hn::Zero(DoubleTag())), x, hn::Zero(DoubleTag()));
  const VD rest = log1p(exp(hn::Neg(hn::Abs(x))));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Add(positive, rest));
}

// Sine and cosine of x - n pi / 2. The last two bits of `quarter` are those of n.
struct DoubleAngle {
  VD sine, cosine;
  hn::Vec<LongTag> quarter;
};
// For |x| up to this limit, the products of n with all parts of pi / 2 but the last are exact.
constexpr double kLargestDoubleAngle = 0x1p20;
HWY_INLINE DoubleAngle reduced_angle(VD x) {
  const VD wholes = set(kWholesOnly);
  const VD shifted = hn::Add(hn::Mul(x, set(0.63661977236758134)), wholes);
  const VD n = hn::Sub(shifted, wholes);
  const VD first = hn::NegMulAdd(n, set(1.57079632673412561417e+00), x);
  const VD step = hn::Mul(n, set(6.07710050630396597660e-11));
  const VD second = hn::Sub(first, step);
  const VD lost = hn::Sub(hn::Sub(first, second), step);
  const VD r = hn::Add(second, hn::NegMulAdd(n, set(2.02226624879595063154e-21), lost));
  const VD z = hn::Mul(r, r);
  const VD sine =
      hn::MulAdd(hn::Mul(horner(z, set(1.58969099521155010221e-10), -2.50507602534068634195e-08,
                                2.75573137070700676789e-06, -1.98412698298579493134e-04,
                                8.33333333332248946124e-03, -1.66666666666666324348e-01),
                         z),
                 r, r);
  const VD curve = horner(z, set(-1.13596475577881948265e-11), 2.08757232129817482790e-09,
                          -2.75573143513906633035e-07, 2.48015872894767294178e-05,
                          -1.38888888888741095749e-03, 4.16666666666666019037e-02);
  // The rounding error of 1 - z / 2 is added back.
  const VD half = hn::Mul(z, set(0.5)), one = set(1.0);
  const VD top = hn::Sub(one, half);
  const VD rest = hn::Sub(hn::Sub(one, top), half);
  const VD cosine = hn::Add(top, hn::MulAdd(hn::Mul(curve, z), z, rest));
  return {sine, cosine, hn::BitCast(LongTag(), shifted)};
}
HWY_INLINE hn::Mask<DoubleTag> has_bit(hn::Vec<LongTag> bits, int64_t bit) {
  const auto wanted = hn::Set(LongTag(), bit);
  return hn::RebindMask(DoubleTag(), hn::Eq(hn::And(bits, wanted), wanted));
}
// Returns `small` up to kLargestDoubleAngle, and `exact` lane by lane beyond.
template <class Small, class Exact>
HWY_INLINE VD of_angle(VD x, const Small& small, const Exact& exact) {
  const DoubleTag d;
  const auto is_small = hn::Le(hn::Abs(x), set(kLargestDoubleAngle));
  const VD value = small(reduced_angle(hn::IfThenElseZero(is_small, x)));
  if (HWY_LIKELY(hn::AllTrue(d, is_small))) return value;
  HWY_ALIGN double angles[kLanesOf<double>], values[kLanesOf<double>];
  hn::Store(x, d, angles);
  hn::Store(value, d, values);
  for (int64_t lane = 0; lane < kLanesOf<double>; ++lane)
    if (!(std::abs(angles[lane]) <= kLargestDoubleAngle)) values[lane] = exact(angles[lane]);
  return hn::Load(d, values);
}
HWY_INLINE VD negated_if(hn::Mask<DoubleTag> mask, VD x) {
  return hn::IfThenElse(mask, hn::Neg(x), x);
}
HWY_INLINE VD keep_zero(VD x, VD value) {
  return hn::IfThenElse(hn::Eq(x, hn::Zero(DoubleTag())), x, value);
}
HWY_INLINE VD sin(VD x) {
  const auto small = [](const DoubleAngle& angle) HWY_ATTR {
    const VD value = hn::IfThenElse(has_bit(angle.quarter, 1), angle.cosine, angle.sine);
    return negated_if(has_bit(angle.quarter, 2), value);
  };
  return keep_zero(x, of_angle(x, small, [](double angle) { return std::sin(angle); }));
}
HWY_INLINE VD cos(VD x) {
  const auto small = [](const DoubleAngle& angle) HWY_ATTR {
    const VD value = hn::IfThenElse(has_bit(angle.quarter, 1), angle.sine, angle.cosine);
    const auto next = hn::Add(angle.quarter, hn::Set(LongTag(), int64_t{1}));
    return negated_if(has_bit(next, 2), value);
  };
  return of_angle(x, small, [](double angle) { return std::cos(angle); });
}
HWY_INLINE VD tan(VD x) {
  const auto small = [](const DoubleAngle& angle) HWY_ATTR {
    const auto is_odd = has_bit(angle.quarter, 1);
    const VD top = hn::IfThenElse(is_odd, angle.cosine, angle.sine);
    const VD bottom = hn::IfThenElse(is_odd, angle.sine, angle.cosine);
    return negated_if(is_odd, hn::Div(top, bottom));
  };
  return keep_zero(x, of_angle(x, small, [](double angle) { return std::tan(angle); }));
}

HWY_INLINE VD sigmoid(VD x) { return hn::Div(set(1.0), hn::Add(set(1.0), exp(hn::Neg(x)))); }
HWY_INLINE VD silu(VD x) { return hn::Div(x, hn::Add(set(1.0), exp(hn::Neg(x)))); }
HWY_INLINE VD tanh(VD x) {
  const VD t = expm1(at_most(hn::Abs(hn::Add(x, x)), set(44.0)));
  return hn::CopySign(hn::Div(t, hn::Add(t, set(2.0))), x);
}
HWY_INLINE VD sinh(VD x) {
  const VD size = hn::Abs(x), t = expm1(size);
  const VD near = hn::Mul(set(0.5), hn::Add(t, hn::Div(t, hn::Add(t, set(1.0)))));
  // exp(x) / 2 may be finite where exp(x) overflows.
  const VD root = exp(hn::Mul(size, set(0.5)));
  const VD far = hn::Mul(hn::Mul(root, set(0.5)), root);
  return hn::CopySign(hn::IfThenElse(hn::Gt(size, set(40.0)), far, near), x);
}
HWY_INLINE VD cosh(VD x) {
  const VD size = hn::Abs(x), e = exp(size);
  const VD near = hn::MulAdd(set(0.5), e, hn::Div(set(0.5), e));
  const VD root = exp(hn::Mul(size, set(0.5)));
  const VD far = hn::Mul(hn::Mul(root, set(0.5)), root);
  return hn::IfThenElse(hn::Gt(size, set(40.0)), far, near);
}
HWY_INLINE VD asinh(VD x) {
  const VD size = hn::Abs(x), one = set(1.0);
  const auto is_large = hn::Gt(size, set(0x1p28));
  const VD a = hn::IfThenElseZero(hn::Not(is_large), size), square = hn::Mul(a, a);
  const VD step = hn::Div(square, hn::Add(one, hn::Sqrt(hn::Add(square, one))));
  const VD near = log1p(hn::Add(a, step));
  const VD far = hn::Add(log(size), set(0.6931471805599453));
  const VD value = hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenElse(is_large, far, near));
  return hn::CopySign(value, x);
}
HWY_INLINE VD acosh(VD x) {
  const auto is_large = hn::Gt(x, set(0x1p28));
  const VD t = hn::Sub(x, set(1.0));
  const VD near = log1p(hn::Add(t, hn::Sqrt(hn::MulAdd(t, t, hn::Add(t, t)))));
  const VD far = hn::Add(log(x), set(0.6931471805599453));
  return hn::IfThenElse(hn::Lt(x, set(1.0)), hn::NaN(DoubleTag()),
                        hn::IfThenElse(is_large, far, near));
}
HWY_INLINE VD atanh(VD x) {
  const VD size = hn::Abs(x);
  const VD value = log1p(hn::Div(hn::Add(size, size), hn::Sub(set(1.0), size)));
  return hn::CopySign(hn::Mul(value, set(0.5)), x);
}

// The arcsine of x from 0 to 1/2; z is the square of x.
HWY_INLINE VD asin_near_0(VD x, VD z) {
  const VD p =
      horner(z, set(0.028757851367421566), -0.014851887071247204, 0.01740087944269402,
             0.005457506718640358, 0.01032281435018578, 0.011479177415184906, 0.013971212973552933,
             0.017352392720869973, 0.02237217294214989, 0.030381944138531247, 0.04464285714635543,
             0.07499999999998433, 0.16666666666666669);
  return hn::MulAdd(hn::Mul(p, z), x, x);
}
// Returns the arcsine of `size` up to 1/2, and half of its arccosine beyond.
HWY_INLINE VD asin_or_half_acos(VD size, hn::Mask<DoubleTag> is_near) {
  const VD z =
      hn::IfThenElse(is_near, hn::Mul(size, size), hn::Mul(hn::Sub(set(1.0), size), set(0.5)));
  return asin_near_0(hn::IfThenElse(is_near, size, hn::Sqrt(z)), z);
}
HWY_INLINE VD asin(VD x) {
  const VD size = hn::Abs(x);
  const auto is_near = hn::Le(size, set(0.5));
  const VD angle = asin_or_half_acos(size, is_near);
  // pi / 2 in two parts.
  const VD far =
      hn::Add(hn::NegMulAdd(set(2.0), angle, set(1.5707963267948966)), set(6.123233995736766e-17));
  return hn::CopySign(hn::IfThenElse(is_near, angle, far), x);
}
HWY_INLINE VD acos(VD x) {
  const VD size = hn::Abs(x);
  const auto is_near = hn::Le(size, set(0.5)), is_negative = hn::Lt(x, hn::Zero(DoubleTag()));
  const VD angle = asin_or_half_acos(size, is_near);
  const VD near = hn::Sub(set(1.5707963267948966),
                          hn::Sub(negated_if(is_negative, angle), set(6.123233995736766e-17)));
  const VD twice = hn::Add(angle, angle);
  const VD left = hn::Sub(set(3.141592653589793), hn::Sub(twice, set(1.2246467991473532e-16)));
  return hn::IfThenElse(is_near, near, hn::IfThenElse(is_negative, left, twice));
}

// The arctangent of numerator / denominator, a quotient from 0 to 1. Above tan(pi / 8), it is pi /
// 4 plus the arctangent of a number near 0.
HWY_INLINE VD atan_of_ratio(VD numerator, VD denominator) {
  const auto is_middle = hn::Gt(numerator, hn::Mul(denominator, set(0.41421356237309503)));
  const VD top = hn::IfThenElse(is_middle, hn::Sub(numerator, denominator), numerator);
  // Both are halved: the sum of numerator and denominator may overflow.
  const VD bottom = hn::IfThenElse(
      is_middle, hn::MulAdd(numerator, set(0.5), hn::Mul(denominator, set(0.5))), denominator);
  const VD x = hn::Div(hn::IfThenElse(is_middle, hn::Mul(top, set(0.5)), top), bottom);
  const VD z = hn::Mul(x, x);
  const VD p =
      horner(z, set(-0.01917680071440982), 0.03923158774224821, -0.050854472957630806,
             0.05858148446112195, -0.06664511393659163, 0.07692183187012169, -0.09090904577959731,
             0.11111111015252322, -0.14285714284666493, 0.1999999999999552, -0.3333333333333333);
  const VD near = hn::MulAdd(hn::Mul(p, z), x, x);
  const VD far = hn::Add(set(0.7853981633974483), hn::Add(near, set(3.061616997868383e-17)));
  return hn::IfThenElse(is_middle, far, near);
}
// pi / 2 - angle, and pi - angle.
HWY_INLINE VD from_quarter(VD angle) {
  return hn::Sub(set(1.5707963267948966), hn::Sub(angle, set(6.123233995736766e-17)));
}
HWY_INLINE VD from_half(VD angle) {
  return hn::Sub(set(3.141592653589793), hn::Sub(angle, set(1.2246467991473532e-16)));
}

// The tail of the normal curve: erfc(x) = erfc_curve(x) * exp(-x * x) for x from 1/2 to 28.
HWY_INLINE VD erfc_curve(VD x) {
  const VD u = hn::Div(hn::Sub(x, set(2.5)), hn::Add(x, set(2.5)));
  const VD p = horner(
      u, set(2.2548063991006186e-08), -1.055706519140209e-07, -8.46558459010389e-08,
      5.412451993818213e-07, 6.356155642691555e-07, -1.6094477631214736e-06, -4.276493975598241e-06,
      2.6263426629951855e-06, 2.2719558895743447e-05, 6.259484862335978e-06,
      -0.00011352673114817018, -8.84777981328098e-05, 0.0006321249532284515, 0.0004918656246995484,
      -0.004382078392965795, 0.0009318928312607058, 0.03276089327120725, -0.10296705603908965,
      0.1576299190231605, -0.09902453957359442, -0.1223567630824039, 1.2648381843668615);
  return hn::Div(p, hn::MulAdd(set(2.0), x, set(1.0)));
}
// exp(-x * x). x is split into two parts; the square of the first is exact.
HWY_INLINE VD exp_of_negative_square(VD x) {
  const LongTag i;
  const VD high =
      hn::BitCast(DoubleTag(),
                  hn::And(hn::BitCast(i, x), hn::Set(i, static_cast<int64_t>(0xfffffffff8000000))));
  const VD low = hn::Mul(hn::Sub(x, high), hn::Add(x, high));
  const VD e = exp(hn::Neg(hn::Mul(high, high)));
  const VD more = hn::NegMulAdd(hn::Mul(set(0.5), low), low, low);
  return hn::NegMulAdd(e, more, e);
}
// erf(x) / x - 1 for |x| up to 1.
HWY_INLINE VD erf_slope(VD x) {
  return horner(hn::Mul(x, x), set(5.957176147748911e-11), -1.1372848856791674e-09,
                1.4659775274047436e-08, -1.6350312701054695e-07, 1.6461000484121368e-06,
                -1.4925595266831182e-05, 0.0001205533111164271, -0.000854832698083379,
                0.0052239776248180145, -0.026866170645076792, 0.11283791670954879,
                -0.3761263890318375, 0.1283791670955126);
}
HWY_INLINE VD erf(VD x) {
  const VD size = hn::Abs(x);
  const VD near = hn::MulAdd(erf_slope(x), x, x);
  const VD t = at_most(at_least(size, set(1.0)), set(6.0));
  const VD far = hn::NegMulAdd(erfc_curve(t), exp(hn::Neg(hn::Mul(t, t))), set(1.0));
  return hn::IfThenElse(hn::Lt(size, set(1.0)), near, hn::CopySign(far, x));
}
HWY_INLINE VD erfc(VD x) {
  const VD size = hn::Abs(x);
  const VD near = hn::Sub(set(1.0), hn::MulAdd(erf_slope(x), x, x));
  const VD t = at_most(at_least(size, set(0.5)), set(28.0));
  const VD far = hn::Mul(erfc_curve(t), exp_of_negative_square(t));
  const VD all = hn::IfThenElse(hn::Lt(x, hn::Zero(DoubleTag())), hn::Sub(set(2.0), far), far);
  return hn::IfThenElse(hn::Lt(size, set(0.5)), near, all);
}
// Inverse of erf for floats or doubles: a quotient of polynomials, then two Newton steps, as
// calc_erfinv in ATen/native/Math.h does.
template <class X>
HWY_INLINE X erfinv(X y) {
  using T = hn::TFromV<X>;
  const hn::DFromV<X> d;
  const auto number = [](double value) HWY_ATTR { return set(static_cast<T>(value)); };
  const X size = hn::Abs(y), one = number(1);
  const auto is_near = hn::Le(size, number(0.7));
  const X half = hn::Mul(hn::Sub(one, size), number(0.5));
  const X z = hn::IfThenElse(is_near, hn::Mul(y, y), hn::Sqrt(hn::Neg(log(half))));
  const X near = hn::Div(
      hn::Mul(y, horner(z, number(-0.140543331), T(0.914624893), T(-1.645349621), T(0.886226899))),
      horner(z, number(0.012229801), T(-0.329097515), T(1.442710462), T(-2.118377725), T(1)));
  const X far =
      hn::Div(horner(z, number(1.641345311), T(3.429567803), T(-1.624906493), T(-1.970840454)),
              horner(z, number(1.637067800), T(3.543889200), T(1)));
  X x = hn::IfThenElse(is_near, near, hn::CopySign(far, y));
  for (int step = 0; step < 2; ++step) {
    const X slope = hn::Mul(number(1.1283791670955126), exp(hn::Neg(hn::Mul(x, x))));
    x = hn::Sub(x, hn::Div(hn::Sub(erf(x), y), slope));
  }
  x = hn::IfThenElse(hn::Eq(size, one), hn::CopySign(hn::Inf(d), y), x);
  return hn::IfThenElse(hn::Gt(size, one), hn::NaN(d), x);
}
// log(|gamma(x)|) for x above 0, by Stirling's series of x, or of x + 8 where x < 8.
HWY_INLINE VD lgamma_above_0(VD x) {
  const auto is_small = hn::Lt(x, set(8.0));
  VD product = set(1.0);
  for (int i = 0; i < 8; ++i) product = hn::Mul(product, hn::Add(x, set(static_cast<double>(i))));
  const VD t = hn::IfThenElse(is_small, hn::Add(x, set(8.0)), x);
  const VD part = hn::Div(set(1.0), t);
  const VD series =
      hn::Mul(part, horner(hn::Mul(part, part), set(1.0 / 156), -691.0 / 360360, 1.0 / 1188,
                           -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12));
  const VD line = hn::Sub(hn::Mul(hn::Sub(t, set(0.5)), log(t)), t);
  const VD sum = hn::Add(hn::Add(line, set(0.9189385332046727)), series);
  const VD result = hn::IfThenElse(is_small, hn::Sub(sum, log(product)), sum);
  return hn::IfThenElse(hn::Eq(x, hn::Inf(DoubleTag())), x, result);
}
// log(|gamma(x)|) for any x that is a float. Below 0: log(pi / |x sin(pi x)|) - log(gamma(-x)).
// Near the zeros of the function, the absolute error is that of a result near 1.
HWY_INLINE VD lgamma_of_floats(VD x) {
  const VD size = hn::Abs(x);
  const VD above = lgamma_above_0(size);
  const VD from_whole = hn::Sub(size, hn::Round(size));
  const VD sine = hn::Abs(sin(hn::Mul(from_whole, set(3.141592653589793))));
  const VD mirrored = hn::Neg(log(hn::Mul(hn::Mul(size, sine), set(0.3183098861837907))));
  const VD below = hn::Sub(mirrored, above);
  const VD result = hn::IfThenElse(hn::Lt(x, hn::Zero(DoubleTag())), below, above);
  const auto is_endless =
      hn::Or(hn::Eq(size, hn::Inf(DoubleTag())), hn::Eq(x, hn::Zero(DoubleTag())));
  return hn::IfThenElse(is_endless, hn::Inf(DoubleTag()), result);
}
HWY_INLINE VD gelu(VD x) {
  const VD share = hn::Mul(set(0.5), erfc(hn::Mul(x, set(-0.70710678118654752))));
  return hn::Mul(x, share);
}
HWY_INLINE VD gelu_tanh(VD x) {
  const VD cube = hn::Mul(hn::Mul(x, x), x);
  const VD angle = hn::Mul(set(1.5957691216057308), hn::MulAdd(set(0.044715), cube, x));
  return hn::Div(x, hn::Add(set(1.0), exp(hn::Neg(angle))));
}
HWY_INLINE VD relu(VD x) { return at_least(x, hn::Zero(DoubleTag())); }
HWY_INLINE VD relu6(VD x) { return at_most(relu(x), set(6.0)); }
HWY_INLINE VD hardsigmoid(VD x) { return hn::Div(relu6(hn::Add(x, set(3.0))), set(6.0)); }
// The product comes first, as in PyTorch: it may overflow.
HWY_INLINE VD hardswish(VD x) { return hn::Div(hn::Mul(x, relu6(hn::Add(x, set(3.0)))), set(6.0)); }

// a^b lane by lane, if a base is not positive and finite or an exponent is not finite.
HWY_INLINE VD pow_of_each(VD a, VD b) {
  HWY_ALIGN double left[kLanesOf<double>], right[kLanesOf<double>];
  hn::Store(a, DoubleTag(), left);
  hn::Store(b, DoubleTag(), right);
  for (int64_t i = 0; i < kLanesOf<double>; ++i) left[i] = std::pow(left[i], right[i]);
  return hn::Load(DoubleTag(), left);
}
// a^b to the precision of floats; a and b are values of floats.
HWY_INLINE VD pow_of_floats(VD a, VD b) {
  const DoubleTag d;
  const auto is_plain = hn::And(hn::And(hn::Gt(a, hn::Zero(d)), hn::Lt(a, hn::Inf(d))),
                                hn::Lt(hn::Abs(b), hn::Inf(d)));
  if (HWY_LIKELY(hn::AllTrue(d, is_plain))) return exp(hn::Mul(b, log(a)));
  return pow_of_each(a, b);
}

HWY_INLINE VD hypot(VD a, VD b) {
  const DoubleTag d;
  const VD x = hn::Abs(a), y = hn::Abs(b);
  const VD high = hn::Max(x, y), low = hn::Min(x, y);
  const VD ratio = hn::Div(low, high);
  const VD length = hn::Mul(high, hn::Sqrt(hn::MulAdd(ratio, ratio, set(1.0))));
  const VD some = hn::IfThenElse(hn::Eq(high, hn::Zero(d)), high, length);
  const VD number = hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::IsNaN(b)), hn::Add(a, b), some);
  const VD infinity = hn::Inf(d);
  return hn::IfThenElse(hn::Or(hn::Eq(x, infinity), hn::Eq(y, infinity)), infinity, number);
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#endif
