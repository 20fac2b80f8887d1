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
