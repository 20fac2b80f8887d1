#include "kernels/gradients/rows.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gradients/rows.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/dtypes/doubles-inl.h"
#include "kernels/reductions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// Calls function(place, lanes) for each vector of a span.
template <class T, class Function>
HWY_INLINE void for_each_part(int64_t count, const Function& function) {
  for (int64_t i = 0; i < count; i += kLanesOf<T>) function(i, std::min(kLanesOf<T>, count - i));
}

template <class T>
HWY_INLINE void softmax_gradient(const T* gradient, const T* y, int64_t count, bool logarithm,
                                 T* out) {
  const auto total = set(static_cast<T>(sum_span<T>(count, [&](int64_t i, int64_t lanes) HWY_ATTR {
    const auto g = load_first(gradient + i, lanes);
    return logarithm ? g : hn::Mul(g, load_first(y + i, lanes));
  })));
  for_each_part<T>(count, [&](int64_t i, int64_t lanes) HWY_ATTR {
    const auto g = load_first(gradient + i, lanes), result = load_first(y + i, lanes);
    const auto value =
        logarithm ? hn::NegMulAdd(exp(result), total, g) : hn::Mul(result, hn::Sub(g, total));
    store_first(value, out + i, lanes);
  });
}
void softmax_gradient_of_floats(const float* gradient, const float* y, int64_t count,
                                bool logarithm, float* out) {
  softmax_gradient(gradient, y, count, logarithm, out);
}
void softmax_gradient_of_doubles(const double* gradient, const double* y, int64_t count,
                                 bool logarithm, double* out) {
  softmax_gradient(gradient, y, count, logarithm, out);
}

template <class T>
HWY_INLINE VectorOf<T> weighted(const NormalizedSpan<T>& span, int64_t i, int64_t lanes) {
  const auto g = load_first(span.gradient + i, lanes);
  return span.weight == nullptr ? g : hn::Mul(g, load_first(span.weight + i, lanes));
}
template <class T>
HWY_INLINE VectorOf<T> centered(const NormalizedSpan<T>& span, int64_t i, int64_t lanes) {
  return hn::Sub(load_first(span.x + i, lanes), set(span.center));
}

template <class T>
HWY_INLINE NormalizedSums sums_of(const NormalizedSpan<T>& span) {
  NormalizedSums out;
  // Both sums of a part are computed together, so that the part stays in the L1 cache.
  constexpr int64_t kPart = 2048;
  for (int64_t begin = 0; begin < span.count; begin += kPart) {
    const int64_t count = std::min(kPart, span.count - begin);
    out.gradient += sum_span<T>(
        count, [&](int64_t i, int64_t lanes) HWY_ATTR { return weighted(span, begin + i, lanes); });
    out.product += sum_span<T>(count, [&](int64_t i, int64_t lanes) HWY_ATTR {
      return hn::Mul(weighted(span, begin + i, lanes), centered(span, begin + i, lanes));
    });
  }
  return out;
}
NormalizedSums sums_of_floats(const NormalizedSpan<float>& span) { return sums_of(span); }
NormalizedSums sums_of_doubles(const NormalizedSpan<double>& span) { return sums_of(span); }

template <class T>
HWY_INLINE void combine_span_of(const NormalizedSpan<T>& span, T factor, T slope, T shift, T* out) {
  if (slope == 0)
    return for_each_part<T>(span.count, [&](int64_t i, int64_t lanes) HWY_ATTR {
      store_first(hn::MulAdd(weighted(span, i, lanes), set(factor), set(shift)), out + i, lanes);
    });
  for_each_part<T>(span.count, [&](int64_t i, int64_t lanes) HWY_ATTR {
    const auto rest = hn::MulAdd(centered(span, i, lanes), set(slope), set(shift));
    store_first(hn::MulAdd(weighted(span, i, lanes), set(factor), rest), out + i, lanes);
  });
}
void combine_floats(const NormalizedSpan<float>& span, float factor, float slope, float shift,
                    float* out) {
  combine_span_of(span, factor, slope, shift, out);
}
void combine_doubles_of_span(const NormalizedSpan<double>& span, double factor, double slope,
                             double shift, double* out) {
  combine_span_of(span, factor, slope, shift, out);
}

// Plain loops, which compilers vectorize for each target.
template <class T>
HWY_INLINE void add_spans(const NormalizedSpan<T>& span, T factor, double* HWY_RESTRICT weights,
                          double* HWY_RESTRICT biases) {
  for (int64_t i = 0; i < span.count; ++i) {
    const T product = span.gradient[i] * ((span.x[i] - span.center) * factor);
    weights[i] += static_cast<double>(product);
    biases[i] += static_cast<double>(span.gradient[i]);
  }
}
void add_floats(const NormalizedSpan<float>& span, float factor, double* weights, double* biases) {
  add_spans(span, factor, weights, biases);
}
void add_doubles(const NormalizedSpan<double>& span, double factor, double* weights,
                 double* biases) {
  add_spans(span, factor, weights, biases);
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(softmax_gradient_of_floats);
PT2_EXPORT(softmax_gradient_of_doubles);
PT2_EXPORT(sums_of_floats);
PT2_EXPORT(sums_of_doubles);
PT2_EXPORT(combine_floats);
PT2_EXPORT(combine_doubles_of_span);
PT2_EXPORT(add_floats);
PT2_EXPORT(add_doubles);

template <>
void softmax_gradient_row(const float* gradient, const float* y, int64_t count, float* out) {
  PT2_DISPATCH(softmax_gradient_of_floats)(gradient, y, count, false, out);
}
template <>
void softmax_gradient_row(const double* gradient, const double* y, int64_t count, double* out) {
  PT2_DISPATCH(softmax_gradient_of_doubles)(gradient, y, count, false, out);
}
template <>
void log_softmax_gradient_row(const float* gradient, const float* y, int64_t count, float* out) {
  PT2_DISPATCH(softmax_gradient_of_floats)(gradient, y, count, true, out);
}
template <>
void log_softmax_gradient_row(const double* gradient, const double* y, int64_t count, double* out) {
  PT2_DISPATCH(softmax_gradient_of_doubles)(gradient, y, count, true, out);
}

template <>
NormalizedSums sum_normalized(const NormalizedSpan<float>& span) {
  return PT2_DISPATCH(sums_of_floats)(span);
}
template <>
NormalizedSums sum_normalized(const NormalizedSpan<double>& span) {
  return PT2_DISPATCH(sums_of_doubles)(span);
}
template <>
void combine_normalized(const NormalizedSpan<float>& span, double factor, double slope,
                        double shift, float* out) {
  PT2_DISPATCH(combine_floats)
  (span, static_cast<float>(factor), static_cast<float>(slope), static_cast<float>(shift), out);
}
template <>
void combine_normalized(const NormalizedSpan<double>& span, double factor, double slope,
                        double shift, double* out) {
  PT2_DISPATCH(combine_doubles_of_span)(span, factor, slope, shift, out);
}
template <>
void add_normalized(const NormalizedSpan<float>& span, double factor, double* weights,
                    double* biases) {
  PT2_DISPATCH(add_floats)(span, static_cast<float>(factor), weights, biases);
}
template <>
void add_normalized(const NormalizedSpan<double>& span, double factor, double* weights,
                    double* biases) {
  PT2_DISPATCH(add_doubles)(span, factor, weights, biases);
}

}  // namespace pt2::kernels
#endif
