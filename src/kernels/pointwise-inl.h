// Elementwise functions of rows for one target. Included once for each target, inside no namespace,
// by sources that list themselves in HWY_TARGET_INCLUDE.
#if defined(PT2_KERNELS_POINTWISE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT2_KERNELS_POINTWISE_INL_H
#undef PT2_KERNELS_POINTWISE_INL_H
#else
#define PT2_KERNELS_POINTWISE_INL_H
#endif

#include <type_traits>

#include "kernels/dtypes/doubles-inl.h"
#include "kernels/pointwise.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

template <class V>
using NumberOf = hn::TFromD<hn::DFromV<V>>;

// True in lanes with a set sign bit: negative numbers, -0 and negative NaNs.
template <class V>
HWY_INLINE auto has_sign(V x) {
  const hn::DFromV<V> d;
  const hn::RebindToSigned<decltype(d)> i;
  return hn::RebindMask(d, hn::Lt(hn::BitCast(i, x), hn::Zero(i)));
}

// The arctangent of numerator / denominator, a quotient from 0 to 1. Above tan(pi / 8), it is pi /
// 4 plus the arctangent of a number near 0.
HWY_INLINE V atan_of_ratio(V numerator, V denominator) {
  const auto is_middle = hn::Gt(numerator, hn::Mul(denominator, set(0.41421356f)));
  const V top = hn::IfThenElse(is_middle, hn::Sub(numerator, denominator), numerator);
  const V bottom = hn::IfThenElse(is_middle, hn::Add(numerator, denominator), denominator);
  const V x = hn::Div(top, bottom);
  const V z = hn::Mul(x, x);
  const V p =
      horner(z, set(-6.0782215e-2f), 1.0593814e-1f, -1.4243533e-1f, 1.9998472e-1f, -3.3333315e-1f);
  const V near = hn::MulAdd(hn::Mul(p, z), x, x);
  // pi / 4 in two parts.
  const V far = hn::Add(set(0.78539818f), hn::Add(near, set(-2.1855695e-8f)));
  return hn::IfThenElse(is_middle, far, near);
}

// pi / 2 - angle, and pi - angle.
HWY_INLINE V from_quarter(V angle) {
  return hn::Sub(set(1.57079637f), hn::Add(angle, set(4.371139e-8f)));
}
HWY_INLINE V from_half(V angle) {
  return hn::Sub(set(3.14159274f), hn::Add(angle, set(8.742278e-8f)));
}

template <class V>
HWY_INLINE V atan(V x) {
  const V size = hn::Abs(x), one = hn::Set(hn::DFromV<V>(), NumberOf<V>{1});
  const auto is_large = hn::Gt(size, one);
  const V angle =
      atan_of_ratio(hn::IfThenElse(is_large, one, size), hn::IfThenElse(is_large, size, one));
  return hn::CopySign(hn::IfThenElse(is_large, from_quarter(angle), angle), x);
}

template <class V>
HWY_INLINE V atan2(V y, V x) {
  const hn::DFromV<V> d;
  const V zero = hn::Zero(d), a = hn::Abs(y), b = hn::Abs(x), infinity = hn::Inf(d),
          one = hn::Set(d, NumberOf<V>{1});
  const auto is_steep = hn::Gt(a, b);
  V low = hn::IfThenElse(is_steep, b, a), high = hn::IfThenElse(is_steep, a, b);
  // 0 / 0 is 0, and infinity / infinity is 1.
  high = hn::IfThenElse(hn::Eq(high, zero), one, high);
  const auto are_infinite = hn::Eq(low, infinity);
  low = hn::IfThenElse(are_infinite, one, low);
  high = hn::IfThenElse(are_infinite, one, high);
  V angle = atan_of_ratio(low, high);
  angle = hn::IfThenElse(is_steep, from_quarter(angle), angle);
  angle = hn::CopySign(hn::IfThenElse(has_sign(x), from_half(angle), angle), y);
  return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::IsNaN(y)), hn::Add(x, y), angle);
}

template <class V>
HWY_INLINE V sign(V x) {
  const hn::DFromV<V> d;
  const V zero = hn::Zero(d), one = hn::Set(d, NumberOf<V>{1});
  const V positive = hn::IfThenElse(hn::Gt(x, zero), one, zero);
  return hn::Sub(positive, hn::IfThenElse(hn::Lt(x, zero), one, zero));
}

// The remainder of a division whose quotient is rounded down (kDown) or towards 0. A fused
// multiply-add computes it exactly, as long as the integer quotient is exact.
template <bool kDown, class V>
HWY_INLINE V rest_of_division(V a, V b) {
  constexpr bool kIsExact = !HWY_ARCH_X86 || HWY_TARGET <= HWY_AVX2;
  using T = NumberOf<V>;
  constexpr T kLargest = static_cast<T>(sizeof(T) == 4 ? 0x1p22 : 0x1p51);
  const hn::DFromV<V> d;
  const V zero = hn::Zero(d), quotient = hn::Div(a, b);
  const auto is_plain =
      hn::And(hn::Lt(hn::Abs(quotient), hn::Set(d, kLargest)), hn::Lt(hn::Abs(b), hn::Inf(d)));
  if (kIsExact && HWY_LIKELY(hn::AllTrue(d, is_plain))) {
    const V whole = kDown ? hn::Floor(quotient) : hn::Trunc(quotient);
    const V rest = hn::NegMulAdd(whole, b, a);
    // If the division rounded its quotient up to an integer, the integer is one too large and the
    // remainder has the wrong sign. A remainder of 0 takes the sign of a.
    const V model = kDown ? b : a;
    const V other =
        hn::IfThenElse(has_sign(hn::Xor(rest, model)), hn::Add(rest, hn::CopySign(b, model)), rest);
    return hn::IfThenElse(hn::Eq(rest, zero), hn::CopySign(zero, a), other);
  }
  HWY_ALIGN T left[kLanesOf<T>], right[kLanesOf<T>];
  hn::Store(a, d, left);
  hn::Store(b, d, right);
  for (int64_t i = 0; i < kLanesOf<T>; ++i) {
    T rest = std::fmod(left[i], right[i]);
    if (kDown && rest != 0 && (rest < 0) != (right[i] < 0)) rest += right[i];
    left[i] = rest;
  }
  return hn::Load(d, left);
}

// As div_floor_floating in c10/util/generic_math.h.
template <class V>
HWY_INLINE V floor_quotient(V a, V b) {
  const hn::DFromV<V> d;
  const V zero = hn::Zero(d), one = hn::Set(d, NumberOf<V>{1});
  const V plain = hn::Div(a, b), rest = rest_of_division<false>(a, b);
  V quotient = hn::Div(hn::Sub(a, rest), b);
  const auto is_above =
      hn::AndNot(hn::Eq(rest, zero), hn::Xor(hn::Lt(b, zero), hn::Lt(rest, zero)));
  quotient = hn::Sub(quotient, hn::IfThenElseZero(is_above, one));
  const V floor = hn::Floor(quotient);
  const auto is_near = hn::Gt(hn::Sub(quotient, floor), hn::Set(d, static_cast<NumberOf<V>>(0.5)));
  const V whole = hn::Add(floor, hn::IfThenElseZero(is_near, one));
  const V result = hn::IfThenElse(hn::Eq(quotient, zero), hn::CopySign(zero, plain), whole);
  return hn::IfThenElse(hn::Eq(b, zero), plain, result);
}

// For floats, functions that are computed in double (is_of_doubles) do nothing here.
template <class T>
HWY_NOINLINE void apply_unary(Unary function, const T* from, T* to, int64_t count) {
  const auto map = [&](const auto& f) HWY_ATTR { map_span(from, to, count, f); };
  const auto map_doubles = [&](const auto& f) HWY_ATTR {
    if constexpr (std::is_same_v<T, double>) map_span(from, to, count, f);
  };
  switch (function) {
    case Unary::negate:
      return map([](auto x) HWY_ATTR { return hn::Neg(x); });
    case Unary::absolute:
      return map([](auto x) HWY_ATTR { return hn::Abs(x); });
    case Unary::square:
      return map([](auto x) HWY_ATTR { return hn::Mul(x, x); });
    case Unary::square_root:
      return map([](auto x) HWY_ATTR { return hn::Sqrt(x); });
    case Unary::reciprocal_square_root:
      return map([](auto x) HWY_ATTR { return hn::Div(set(T{1}), hn::Sqrt(x)); });
    case Unary::reciprocal:
      return map([](auto x) HWY_ATTR { return hn::Div(set(T{1}), x); });
    case Unary::exponential:
      return map([](auto x) HWY_ATTR { return exp(x); });
    case Unary::exponential_minus_1:
      return map([](auto x) HWY_ATTR { return expm1(x); });
    case Unary::logarithm:
      return map([](auto x) HWY_ATTR { return log(x); });
    case Unary::logarithm_of_1_plus:
      return map([](auto x) HWY_ATTR { return log1p(x); });
    case Unary::softplus:
      return map([](auto x) HWY_ATTR { return softplus(x); });
    case Unary::logarithm_2:
      return map([](auto x) HWY_ATTR { return log2(x); });
    case Unary::logarithm_10:
      return map([](auto x) HWY_ATTR { return log10(x); });
    case Unary::sine:
      return map([](auto x) HWY_ATTR { return sin(x); });
    case Unary::cosine:
      return map([](auto x) HWY_ATTR { return cos(x); });
    case Unary::floor:
      return map([](auto x) HWY_ATTR { return hn::Floor(x); });
    case Unary::ceiling:
      return map([](auto x) HWY_ATTR { return hn::Ceil(x); });
    case Unary::round:
      return map([](auto x) HWY_ATTR { return hn::Round(x); });
    case Unary::truncate:
      return map([](auto x) HWY_ATTR { return hn::Trunc(x); });
    case Unary::sign:
      return map([](auto x) HWY_ATTR { return sign(x); });
    case Unary::arctangent:
      return map([](auto x) HWY_ATTR { return atan(x); });
    case Unary::error_function:
      return map([](auto x) HWY_ATTR { return erf(x); });
    case Unary::fraction:
      return map([](auto x) HWY_ATTR { return hn::Sub(x, hn::Trunc(x)); });
    case Unary::exponential_2:
      return map([](auto x) HWY_ATTR { return exp2(x); });
    case Unary::inverse_error_function:
      return map([](auto x) HWY_ATTR { return erfinv(x); });
    case Unary::tangent:
      return map_doubles([](VD x) HWY_ATTR { return tan(x); });
    case Unary::arcsine:
      return map_doubles([](VD x) HWY_ATTR { return asin(x); });
    case Unary::arccosine:
      return map_doubles([](VD x) HWY_ATTR { return acos(x); });
    case Unary::hyperbolic_sine:
      return map_doubles([](VD x) HWY_ATTR { return sinh(x); });
    case Unary::hyperbolic_cosine:
      return map_doubles([](VD x) HWY_ATTR { return cosh(x); });
    case Unary::inverse_hyperbolic_sine:
      return map_doubles([](VD x) HWY_ATTR { return asinh(x); });
    case Unary::inverse_hyperbolic_cosine:
      return map_doubles([](VD x) HWY_ATTR { return acosh(x); });
    case Unary::inverse_hyperbolic_tangent:
      return map_doubles([](VD x) HWY_ATTR { return atanh(x); });
    case Unary::error_function_complement:
      return map_doubles([](VD x) HWY_ATTR { return erfc(x); });
    case Unary::logarithm_of_gamma:
      return map_doubles([](VD x) HWY_ATTR { return lgamma_of_floats(x); });
  }
}

// A row of an operand: contiguous elements, or a single element for all columns.
template <class T>
struct RowReader {
  const T* data;
  bool single;
  hn::Vec<hn::ScalableTag<T>> value;

  HWY_INLINE RowReader(const NumberRows<T>& rows, int64_t row)
      : data(rows.data + row * rows.row_stride),
        single(rows.column_stride == 0),
        value(set(*data)) {}
  HWY_INLINE auto at(int64_t column) const { return single ? value : load(data + column); }
  HWY_INLINE auto first(int64_t column, int64_t count) const {
    return single ? value : load_first(data + column, count);
  }
};

struct Span {
  int64_t row;
  int64_t begin;
  int64_t end;
};

template <class T, class Function>
HWY_INLINE void combine_span(const Span& span, const NumberRows<T>& a, const NumberRows<T>& b,
                             const NumberRowsOut<T>& out, const Function& function) {
  const RowReader<T> left(a, span.row);
  const RowReader<T> right(b, span.row);
  T* to = out.data + span.row * out.row_stride;
  int64_t i = span.begin;
  for (; i + kLanesOf<T> <= span.end; i += kLanesOf<T>)
    store(function(left.at(i), right.at(i)), to + i);
  const int64_t rest = span.end - i;
  if (rest > 0) store_first(function(left.first(i, rest), right.first(i, rest)), to + i, rest);
}

// NaN is unequal to every number; Highway's Ne does not say so on every target.
template <class V>
HWY_INLINE auto is_other(V x, V y) {
  return hn::Not(hn::Eq(x, y));
}
template <class V>
HWY_INLINE auto is_not_0(V x) {
  return is_other(x, hn::Zero(hn::DFromV<V>()));
}
// 1 where the mask holds, 0 elsewhere.
template <class V, class Mask>
HWY_INLINE V truth(V, Mask mask) {
  return hn::IfThenElseZero(mask, hn::Set(hn::DFromV<V>(), NumberOf<V>{1}));
}

// All binary functions except those computed in double (is_of_doubles).
template <class T>
void combine_rows(Binary function, int64_t row, int64_t begin, int64_t end, const NumberRows<T>& a,
                  const NumberRows<T>& b, const NumberRowsOut<T>& out) {
  const Span span{row, begin, end};
  switch (function) {
    case Binary::add:
      return combine_span(span, a, b, out, [](auto x, auto y) HWY_ATTR { return hn::Add(x, y); });
    case Binary::subtract:
      return combine_span(span, a, b, out, [](auto x, auto y) HWY_ATTR { return hn::Sub(x, y); });
    case Binary::multiply:
      return combine_span(span, a, b, out, [](auto x, auto y) HWY_ATTR { return hn::Mul(x, y); });
    case Binary::divide:
      return combine_span(span, a, b, out, [](auto x, auto y) HWY_ATTR { return hn::Div(x, y); });
    case Binary::maximum:
      return combine_span(span, a, b, out, [](auto x, auto y) HWY_ATTR {
        return hn::IfThenElse(hn::Or(hn::Gt(x, y), hn::IsNaN(x)), x, y);
      });
    case Binary::minimum:
      return combine_span(span, a, b, out, [](auto x, auto y) HWY_ATTR {
        return hn::IfThenElse(hn::Or(hn::Lt(x, y), hn::IsNaN(x)), x, y);
      });
    case Binary::bend:
      return combine_span(span, a, b, out, [](auto x, auto y) HWY_ATTR {
        return hn::IfThenElse(hn::Gt(x, hn::Zero(hn::DFromV<decltype(x)>())), x, hn::Mul(x, y));
      });
    case Binary::gate:
      return combine_span(span, a, b, out, [](auto x, auto y) HWY_ATTR {
        return hn::IfThenZeroElse(hn::Le(y, hn::Zero(hn::DFromV<decltype(x)>())), x);
      });
    case Binary::arctangent:
      return combine_span(span, a, b, out, [](auto x, auto y) HWY_ATTR { return atan2(x, y); });
    case Binary::remainder:
      return combine_span(span, a, b, out,
                          [](auto x, auto y) HWY_ATTR { return rest_of_division<true>(x, y); });
    case Binary::fmod:
      return combine_span(span, a, b, out,
                          [](auto x, auto y) HWY_ATTR { return rest_of_division<false>(x, y); });
    case Binary::floor_quotient:
      return combine_span(span, a, b, out,
                          [](auto x, auto y) HWY_ATTR { return floor_quotient(x, y); });
    case Binary::copy_sign:
      return combine_span(span, a, b, out,
                          [](auto x, auto y) HWY_ATTR { return hn::CopySign(x, y); });
    case Binary::or_else:
      return combine_span(span, a, b, out, [](auto x, auto y) HWY_ATTR {
        return hn::IfThenElse(hn::IsNaN(x), y, x);
      });
    case Binary::less:
      return combine_span(span, a, b, out,
                          [](auto x, auto y) HWY_ATTR { return truth(x, hn::Lt(x, y)); });
    case Binary::less_equal:
      return combine_span(span, a, b, out,
                          [](auto x, auto y) HWY_ATTR { return truth(x, hn::Le(x, y)); });
    case Binary::greater:
      return combine_span(span, a, b, out,
                          [](auto x, auto y) HWY_ATTR { return truth(x, hn::Gt(x, y)); });
    case Binary::greater_equal:
      return combine_span(span, a, b, out,
                          [](auto x, auto y) HWY_ATTR { return truth(x, hn::Ge(x, y)); });
    case Binary::equal:
      return combine_span(span, a, b, out,
                          [](auto x, auto y) HWY_ATTR { return truth(x, hn::Eq(x, y)); });
    case Binary::not_equal:
      return combine_span(span, a, b, out,
                          [](auto x, auto y) HWY_ATTR { return truth(x, is_other(x, y)); });
    case Binary::both:
      return combine_span(span, a, b, out, [](auto x, auto y) HWY_ATTR {
        return truth(x, hn::And(is_not_0(x), is_not_0(y)));
      });
    case Binary::either:
      return combine_span(span, a, b, out, [](auto x, auto y) HWY_ATTR {
        return truth(x, hn::Or(is_not_0(x), is_not_0(y)));
      });
    case Binary::one_alone:
      return combine_span(span, a, b, out, [](auto x, auto y) HWY_ATTR {
        return truth(x, hn::Xor(is_not_0(x), is_not_0(y)));
      });
    case Binary::power:
    case Binary::hypotenuse:
      break;
  }
}

template <class T>
void add_scaled_rows(T alpha, int64_t row, int64_t begin, int64_t end, const NumberRows<T>& a,
                     const NumberRows<T>& b, const NumberRowsOut<T>& out) {
  const auto factor = set(alpha);
  combine_span({row, begin, end}, a, b, out,
               [factor](auto x, auto y) HWY_ATTR { return hn::MulAdd(factor, y, x); });
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#endif
