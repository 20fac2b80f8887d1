#include "kernels/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/dtypes/doubles-inl.h"
#include "kernels/reductions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

double sum_of(const float* from, int64_t count) {
  return sum_span(
      count, [from](int64_t i, int64_t lanes) HWY_ATTR { return load_first(from + i, lanes); });
}

// Returns the maximum, or with kNegated the minimum: the negated maximum of the negated elements.
// NaN if an element is NaN.
template <bool kNegated>
float extreme_of(const float* from, int64_t count) {
  const V sign = set(kNegated ? -1.0f : 1.0f);
  const V lowest = set(-std::numeric_limits<float>::infinity());
  V largest = lowest;
  auto unordered = hn::IsNaN(largest);
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t lanes = std::min(kLanes, count - i);
    V value = hn::Mul(load_first(from + i, lanes), sign);
    if (lanes < kLanes)
      value = hn::IfThenElse(hn::FirstN(Floats(), static_cast<size_t>(lanes)), value, lowest);
    unordered = hn::Or(unordered, hn::IsNaN(value));
    largest = at_least(largest, value);
  }
  if (!hn::AllFalse(Floats(), unordered)) return std::numeric_limits<float>::quiet_NaN();
  return kNegated ? -largest_lane(largest) : largest_lane(largest);
}

float reduce_row(Reduction reduction, const float* from, int64_t count) {
  switch (reduction) {
    case Reduction::sum:
      return static_cast<float>(sum_of(from, count));
    case Reduction::mean:
      return static_cast<float>(sum_of(from, count) / static_cast<double>(count));
    case Reduction::maximum:
      return extreme_of<false>(from, count);
    case Reduction::minimum:
      return extreme_of<true>(from, count);
  }
  return 0;
}

template <class T>
HWY_INLINE double exponentials_of(const T* from, int64_t count, T shift) {
  return sum_span<T>(count, [&](int64_t i, int64_t lanes) HWY_ATTR {
    return exp_of_difference(hn::Sub(load_first(from + i, lanes), set(shift)));
  });
}
double exponentials(const float* from, int64_t count, float shift) {
  return exponentials_of(from, count, shift);
}
double exponentials_of_doubles(const double* from, int64_t count, double shift) {
  return exponentials_of(from, count, shift);
}

template <class T>
HWY_INLINE void softmax_span(const T* from, int64_t count, bool logarithm, T* to) {
  const T largest = largest_of(from, count);
  const auto shift = set(largest);
  if (logarithm) {
    const auto log_sum = set(static_cast<T>(std::log(exponentials_of(from, count, largest))));
    return map_span(from, to, count,
                    [&](VectorOf<T> x) HWY_ATTR { return hn::Sub(hn::Sub(x, shift), log_sum); });
  }
  const double sum = sum_span<T>(count, [&](int64_t i, int64_t lanes) HWY_ATTR {
    const auto value = exp_of_difference(hn::Sub(load_first(from + i, lanes), shift));
    store_first(value, to + i, lanes);
    return value;
  });
  const auto factor = set(static_cast<T>(1 / sum));
  map_span(to, to, count, [&](VectorOf<T> x) HWY_ATTR { return hn::Mul(x, factor); });
}
void softmax_row(const float* from, int64_t count, bool logarithm, float* to) {
  softmax_span(from, count, logarithm, to);
}
void softmax_row_of_doubles(const double* from, int64_t count, bool logarithm, double* to) {
  softmax_span(from, count, logarithm, to);
}

// (x - center) * factor * weight + bias.
HWY_INLINE void normalize_span(const float* from, int64_t count, float center, float factor,
                               const float* weight, const float* bias, float* to) {
  const V middle = set(center);
  const V scale = set(factor);
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t lanes = std::min(kLanes, count - i);
    V value = hn::Mul(hn::Sub(load_first(from + i, lanes), middle), scale);
    if (weight != nullptr) value = hn::Mul(value, load_first(weight + i, lanes));
    if (bias != nullptr) value = hn::Add(value, load_first(bias + i, lanes));
    store_first(value, to + i, lanes);
  }
}

double squares_about(float center, const float* from, int64_t count) {
  const V middle = set(center);
  return sum_span(count, [&](int64_t i, int64_t lanes) HWY_ATTR {
    const V difference = hn::Sub(load_first(from + i, lanes), middle);
    return hn::Mul(difference, difference);
  });
}

RowMoments moments_of(const float* from, int64_t count) {
  const auto size = static_cast<double>(count);
  float mean = static_cast<float>(sum_of(from, count) / size);
  double squares = squares_about(mean, from, count);
  // The rounding error of the mean counts if the elements differ by little: a row of equal
  // elements must have the variance 0.
  if (squares < 1e-4 * size * static_cast<double>(mean) * static_cast<double>(mean)) {
    const V middle = set(mean);
    const double rest = sum_span(count, [&](int64_t i, int64_t lanes) HWY_ATTR {
      return hn::Sub(load_first(from + i, lanes), middle);
    });
    mean = static_cast<float>(static_cast<double>(mean) + rest / size);
    squares = squares_about(mean, from, count);
  }
  return {static_cast<double>(mean), squares};
}

void layer_norm_row(const float* from, int64_t count, const float* weight, const float* bias,
                    double epsilon, float* to) {
  const RowMoments moments = moments_of(from, count);
  const auto factor =
      static_cast<float>(1 / std::sqrt(moments.squares / static_cast<double>(count) + epsilon));
  normalize_span(from, count, static_cast<float>(moments.mean), factor, weight, bias, to);
}

void normalize(const float* from, int64_t count, float center, float factor, const float* weight,
               const float* bias, float* to) {
  normalize_span(from, count, center, factor, weight, bias, to);
}

void scale(const float* from, int64_t count, float factor, float shift, float* to) {
  // Product and sum are rounded separately. The shift of a group is computed in the same way, so
  // the mean of the group becomes exactly 0.
  map_span(from, to, count,
           [=](V x) HWY_ATTR { return hn::Add(hn::Mul(x, set(factor)), set(shift)); });
}

void rms_norm_row(const float* from, int64_t count, const float* weight, double epsilon,
                  float* to) {
  const double squares = sum_span(count, [&](int64_t i, int64_t lanes) HWY_ATTR {
    const V value = load_first(from + i, lanes);
    return hn::Mul(value, value);
  });
  const auto factor =
      static_cast<float>(1 / std::sqrt(squares / static_cast<double>(count) + epsilon));
  normalize_span(from, count, 0, factor, weight, nullptr, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(reduce_row);
PT2_EXPORT(softmax_row);
PT2_EXPORT(exponentials);
PT2_EXPORT(exponentials_of_doubles);
PT2_EXPORT(softmax_row_of_doubles);
PT2_EXPORT(layer_norm_row);
PT2_EXPORT(rms_norm_row);
PT2_EXPORT(moments_of);
PT2_EXPORT(normalize);
PT2_EXPORT(scale);

namespace {

// Calls function(row) for every row; a task has enough rows to be worth a thread's time.
template <class Function>
void over_rows(const RowShape& shape, ThreadPool* pool, const Function& function) {
  constexpr int64_t kElements = int64_t{1} << 13;
  const int64_t at_once = std::max<int64_t>(1, kElements / std::max<int64_t>(1, shape.columns));
  run_tasks(pool, (shape.rows + at_once - 1) / at_once, [&](int64_t task, int) {
    const int64_t end = std::min(shape.rows, (task + 1) * at_once);
    for (int64_t row = task * at_once; row < end; ++row) function(row);
  });
}

}  // namespace

void reduce_rows(Reduction reduction, const RowShape& shape, const float* in, float* out,
                 ThreadPool* pool) {
  over_rows(shape, pool, [&](int64_t row) {
    out[row * shape.out_stride] =
        PT2_DISPATCH(reduce_row)(reduction, in + row * shape.in_stride, shape.columns);
  });
}

void softmax_rows(bool logarithm, const RowShape& shape, const float* in, float* out,
                  ThreadPool* pool) {
  over_rows(shape, pool, [&](int64_t row) {
    PT2_DISPATCH(softmax_row)
    (in + row * shape.in_stride, shape.columns, logarithm, out + row * shape.out_stride);
  });
}
void softmax_rows(bool logarithm, const RowShape& shape, const double* in, double* out,
                  ThreadPool* pool) {
  over_rows(shape, pool, [&](int64_t row) {
    PT2_DISPATCH(softmax_row_of_doubles)
    (in + row * shape.in_stride, shape.columns, logarithm, out + row * shape.out_stride);
  });
}

double sum_of_exponentials(const float* row, int64_t columns, float shift) {
  return PT2_DISPATCH(exponentials)(row, columns, shift);
}
double sum_of_exponentials(const double* row, int64_t columns, double shift) {
  return PT2_DISPATCH(exponentials_of_doubles)(row, columns, shift);
}

void layer_norm_rows(const RowShape& shape, const float* in, const float* weight, const float* bias,
                     double epsilon, float* out, ThreadPool* pool) {
  over_rows(shape, pool, [&](int64_t row) {
    PT2_DISPATCH(layer_norm_row)
    (in + row * shape.in_stride, shape.columns, weight, bias, epsilon,
     out + row * shape.out_stride);
  });
}

void rms_norm_rows(const RowShape& shape, const float* in, const float* weight, double epsilon,
                   float* out, ThreadPool* pool) {
  over_rows(shape, pool, [&](int64_t row) {
    PT2_DISPATCH(rms_norm_row)
    (in + row * shape.in_stride, shape.columns, weight, epsilon, out + row * shape.out_stride);
  });
}

RowMoments row_moments(const float* row, int64_t columns) {
  return PT2_DISPATCH(moments_of)(row, columns);
}

void normalize_row(const float* in, int64_t columns, float center, float factor,
                   const float* weight, const float* bias, float* out) {
  PT2_DISPATCH(normalize)(in, columns, center, factor, weight, bias, out);
}

void scale_row(const float* in, int64_t columns, float factor, float shift, float* out) {
  PT2_DISPATCH(scale)(in, columns, factor, shift, out);
}

}  // namespace pt2::kernels
#endif
