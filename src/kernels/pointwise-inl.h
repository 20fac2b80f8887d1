// Functions of rows element by element for one target. Included once for each target, inside no
// namespace, by sources that list themselves in HWY_TARGET_INCLUDE.
#if defined(PT2_KERNELS_POINTWISE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT2_KERNELS_POINTWISE_INL_H
#undef PT2_KERNELS_POINTWISE_INL_H
#else
#define PT2_KERNELS_POINTWISE_INL_H
#endif

#include "kernels/pointwise.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// Below 0, or -0, or such a NaN.
HWY_INLINE hn::Mask<Floats> has_sign(V x) {
  return hn::RebindMask(Floats(), hn::Lt(hn::BitCast(Ints(), x), hn::Zero(Ints())));
}

// The arctangent of a quotient from 0 to 1: of what lies within tan(pi / 8) of 0, perhaps beside
// pi / 4.
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

HWY_INLINE V atan(V x) {
  const V size = hn::Abs(x), one = set(1.0f);
  const auto is_large = hn::Gt(size, one);
  const V angle =
      atan_of_ratio(hn::IfThenElse(is_large, one, size), hn::IfThenElse(is_large, size, one));
  return hn::CopySign(hn::IfThenElse(is_large, from_quarter(angle), angle), x);
}

HWY_INLINE V atan2(V y, V x) {
  const Floats d;
  const V zero = hn::Zero(d), a = hn::Abs(y), b = hn::Abs(x), infinity = hn::Inf(d);
  const auto is_steep = hn::Gt(a, b);
  V low = hn::IfThenElse(is_steep, b, a), high = hn::IfThenElse(is_steep, a, b);
  // 0 / 0 is 0, and infinity / infinity is 1.
  high = hn::IfThenElse(hn::Eq(high, zero), set(1.0f), high);
  const auto are_infinite = hn::Eq(low, infinity);
  low = hn::IfThenElse(are_infinite, set(1.0f), low);
  high = hn::IfThenElse(are_infinite, set(1.0f), high);
  V angle = atan_of_ratio(low, high);
  angle = hn::IfThenElse(is_steep, from_quarter(angle), angle);
  angle = hn::CopySign(hn::IfThenElse(has_sign(x), from_half(angle), angle), y);
  return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::IsNaN(y)), hn::Add(x, y), angle);
}

HWY_INLINE V sign(V x) {
  const V zero = hn::Zero(Floats()), one = set(1.0f);
  const V positive = hn::IfThenElse(hn::Gt(x, zero), one, zero);
  return hn::Sub(positive, hn::IfThenElse(hn::Lt(x, zero), one, zero));
}

// What a division leaves whose quotient is rounded down, or towards 0. A product that is rounded
// once with a sum is exact there, as long as the quotient is.
template <bool kDown>
HWY_INLINE V rest_of_division(V a, V b) {
  constexpr bool kIsExact = !HWY_ARCH_X86 || HWY_TARGET <= HWY_AVX2;
  const Floats d;
  const V zero = hn::Zero(d), quotient = hn::Div(a, b);
  const auto is_plain =
      hn::And(hn::Lt(hn::Abs(quotient), set(4194304.0f)), hn::Lt(hn::Abs(b), hn::Inf(d)));
  if (kIsExact && HWY_LIKELY(hn::AllTrue(d, is_plain))) {
    const V whole = kDown ? hn::Floor(quotient) : hn::Trunc(quotient);
    const V rest = hn::NegMulAdd(whole, b, a);
    // A quotient that was rounded to a whole number is one too large. A rest of 0 has a's sign.
    const V model = kDown ? b : a;
    const V other =
        hn::IfThenElse(has_sign(hn::Xor(rest, model)), hn::Add(rest, hn::CopySign(b, model)), rest);
    return hn::IfThenElse(hn::Eq(rest, zero), hn::CopySign(zero, a), other);
  }
  HWY_ALIGN float left[kLanes], right[kLanes];
  hn::Store(a, d, left);
  hn::Store(b, d, right);
  for (int64_t i = 0; i < kLanes; ++i) {
    float rest = std::fmod(left[i], right[i]);
    if (kDown && rest != 0 && (rest < 0) != (right[i] < 0)) rest += right[i];
    left[i] = rest;
  }
  return hn::Load(d, left);
}

inline void apply_unary(Unary function, const float* from, float* to, int64_t count) {
  switch (function) {
    case Unary::negate:
      return map_span(from, to, count, [](V x) HWY_ATTR { return hn::Neg(x); });
    case Unary::absolute:
      return map_span(from, to, count, [](V x) HWY_ATTR { return hn::Abs(x); });
    case Unary::square:
      return map_span(from, to, count, [](V x) HWY_ATTR { return hn::Mul(x, x); });
    case Unary::square_root:
      return map_span(from, to, count, [](V x) HWY_ATTR { return hn::Sqrt(x); });
    case Unary::reciprocal_square_root:
      return map_span(from, to, count,
                      [](V x) HWY_ATTR { return hn::Div(set(1.0f), hn::Sqrt(x)); });
    case Unary::reciprocal:
      return map_span(from, to, count, [](V x) HWY_ATTR { return hn::Div(set(1.0f), x); });
    case Unary::exponential:
      return map_span(from, to, count, [](V x) HWY_ATTR { return exp(x); });
    case Unary::exponential_minus_1:
      return map_span(from, to, count, [](V x) HWY_ATTR { return expm1(x); });
    case Unary::logarithm:
      return map_span(from, to, count, [](V x) HWY_ATTR { return log(x); });
    case Unary::logarithm_of_1_plus:
      return map_span(from, to, count, [](V x) HWY_ATTR { return log1p(x); });
    case Unary::softplus:
      return map_span(from, to, count, [](V x) HWY_ATTR { return softplus(x); });
    case Unary::logarithm_2:
      return map_span(from, to, count, [](V x) HWY_ATTR { return log2(x); });
    case Unary::logarithm_10:
      return map_span(from, to, count, [](V x) HWY_ATTR { return log10(x); });
    case Unary::sine:
      return map_span(from, to, count, [](V x) HWY_ATTR { return sin(x); });
    case Unary::cosine:
      return map_span(from, to, count, [](V x) HWY_ATTR { return cos(x); });
    case Unary::floor:
      return map_span(from, to, count, [](V x) HWY_ATTR { return hn::Floor(x); });
    case Unary::ceiling:
      return map_span(from, to, count, [](V x) HWY_ATTR { return hn::Ceil(x); });
    case Unary::round:
      return map_span(from, to, count, [](V x) HWY_ATTR { return hn::Round(x); });
    case Unary::truncate:
      return map_span(from, to, count, [](V x) HWY_ATTR { return hn::Trunc(x); });
    case Unary::sign:
      return map_span(from, to, count, [](V x) HWY_ATTR { return sign(x); });
    case Unary::arctangent:
      return map_span(from, to, count, [](V x) HWY_ATTR { return atan(x); });
    case Unary::error_function:
      return map_span(from, to, count, [](V x) HWY_ATTR { return erf(x); });
  }
}

// A row of an operand: elements side by side, or one for all.
struct RowReader {
  const float* data;
  bool single;
  V value;

  HWY_INLINE RowReader(const Rows& rows, int64_t row)
      : data(rows.data + row * rows.row_stride),
        single(rows.column_stride == 0),
        value(set(*data)) {}
  HWY_INLINE V at(int64_t column) const { return single ? value : load(data + column); }
  HWY_INLINE V first(int64_t column, int64_t count) const {
    return single ? value : load_first(data + column, count);
  }
};

struct Span {
  int64_t row;
  int64_t begin;
  int64_t end;
};

template <class Function>
HWY_INLINE void combine_span(const Span& span, const Rows& a, const Rows& b, const RowsOut& out,
                             const Function& function) {
  const RowReader left(a, span.row);
  const RowReader right(b, span.row);
  float* to = out.data + span.row * out.row_stride;
  int64_t i = span.begin;
  for (; i + kLanes <= span.end; i += kLanes) store(function(left.at(i), right.at(i)), to + i);
  const int64_t rest = span.end - i;
  if (rest > 0) store_first(function(left.first(i, rest), right.first(i, rest)), to + i, rest);
}

inline void combine_rows(Binary function, int64_t row, int64_t begin, int64_t end, const Rows& a,
                         const Rows& b, const RowsOut& out) {
  const Span span{row, begin, end};
  switch (function) {
    case Binary::add:
      return combine_span(span, a, b, out, [](V x, V y) HWY_ATTR { return hn::Add(x, y); });
    case Binary::subtract:
      return combine_span(span, a, b, out, [](V x, V y) HWY_ATTR { return hn::Sub(x, y); });
    case Binary::multiply:
      return combine_span(span, a, b, out, [](V x, V y) HWY_ATTR { return hn::Mul(x, y); });
    case Binary::divide:
      return combine_span(span, a, b, out, [](V x, V y) HWY_ATTR { return hn::Div(x, y); });
    case Binary::maximum:
      return combine_span(span, a, b, out, [](V x, V y) HWY_ATTR {
        return hn::IfThenElse(hn::Or(hn::Gt(x, y), hn::IsNaN(x)), x, y);
      });
    case Binary::minimum:
      return combine_span(span, a, b, out, [](V x, V y) HWY_ATTR {
        return hn::IfThenElse(hn::Or(hn::Lt(x, y), hn::IsNaN(x)), x, y);
      });
    case Binary::bend:
      return combine_span(span, a, b, out, [](V x, V y) HWY_ATTR {
        return hn::IfThenElse(hn::Gt(x, hn::Zero(Floats())), x, hn::Mul(x, y));
      });
    case Binary::gate:
      return combine_span(span, a, b, out, [](V x, V y) HWY_ATTR {
        return hn::IfThenZeroElse(hn::Le(y, hn::Zero(Floats())), x);
      });
    case Binary::arctangent:
      return combine_span(span, a, b, out, [](V x, V y) HWY_ATTR { return atan2(x, y); });
    case Binary::remainder:
      return combine_span(span, a, b, out,
                          [](V x, V y) HWY_ATTR { return rest_of_division<true>(x, y); });
    case Binary::fmod:
      return combine_span(span, a, b, out,
                          [](V x, V y) HWY_ATTR { return rest_of_division<false>(x, y); });
  }
}

inline void add_scaled_rows(float alpha, int64_t row, int64_t begin, int64_t end, const Rows& a,
                            const Rows& b, const RowsOut& out) {
  const V factor = set(alpha);
  combine_span({row, begin, end}, a, b, out,
               [factor](V x, V y) HWY_ATTR { return hn::MulAdd(factor, y, x); });
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#endif
