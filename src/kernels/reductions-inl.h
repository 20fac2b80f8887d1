// Sums and extremes of spans for one target; included as vectors-inl.h is.
#if defined(PT2_KERNELS_REDUCTIONS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT2_KERNELS_REDUCTIONS_INL_H
#undef PT2_KERNELS_REDUCTIONS_INL_H
#else
#define PT2_KERNELS_REDUCTIONS_INL_H
#endif

#include <algorithm>
#include <limits>

#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

HWY_INLINE float sum_lanes(V value) { return hn::GetLane(hn::SumOfLanes(Floats(), value)); }
HWY_INLINE float largest_lane(V value) { return hn::GetLane(hn::MaxOfLanes(Floats(), value)); }

// Keeps lanes below `count` and makes the others 0.
HWY_INLINE V keep_first(V value, int64_t count) {
  return hn::IfThenElseZero(hn::FirstN(Floats(), static_cast<size_t>(count)), value);
}

// The sum of term(vector of elements i ..) over `count` elements. `term` is given how many lanes
// hold elements, and may store what it computes.
template <class Term>
HWY_INLINE double sum_span(int64_t count, const Term& term) {
  constexpr int64_t kBlock = 512;
  double total = 0;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(count, begin + kBlock);
    V sums[4] = {hn::Zero(Floats()), hn::Zero(Floats()), hn::Zero(Floats()), hn::Zero(Floats())};
    int64_t i = begin;
    for (; i + 4 * kLanes <= end; i += 4 * kLanes)
#pragma GCC unroll 4
      for (int64_t j = 0; j < 4; ++j) sums[j] = hn::Add(sums[j], term(i + j * kLanes, kLanes));
    for (; i < end; i += kLanes) {
      const int64_t lanes = std::min(kLanes, end - i);
      const V value = term(i, lanes);
      sums[0] = hn::Add(sums[0], lanes < kLanes ? keep_first(value, lanes) : value);
    }
    total += sum_lanes(hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3])));
  }
  return total;
}

// The largest lane of term(vector of elements i ..) that is not NaN, -inf if there is none; `term`
// as in sum_span.
template <class Term>
HWY_INLINE float largest_of_span(int64_t count, const Term& term) {
  const V lowest = set(-std::numeric_limits<float>::infinity());
  V largest = lowest;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) largest = at_least(largest, term(i, kLanes));
  if (i < count) {
    const auto present = hn::FirstN(Floats(), static_cast<size_t>(count - i));
    largest = at_least(largest, hn::IfThenElse(present, term(i, count - i), lowest));
  }
  return largest_lane(largest);
}
HWY_INLINE float largest_of(const float* from, int64_t count) {
  return largest_of_span(
      count, [&](int64_t i, int64_t lanes) HWY_ATTR { return load_first(from + i, lanes); });
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#endif
