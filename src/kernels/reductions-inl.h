// Sums and extrema of spans of float or double for one target; included as vectors-inl.h is.
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

template <class T>
using VectorOf = hn::Vec<hn::ScalableTag<T>>;

template <class X>
HWY_INLINE hn::TFromV<X> sum_lanes(X value) {
  return hn::GetLane(hn::SumOfLanes(hn::DFromV<X>(), value));
}
#if HWY_TARGET != HWY_SCALAR
// Adds the halves of a vector until four lanes are left.
template <class X>
HWY_INLINE auto fold_to_four(X whole) {
  if constexpr (hn::MaxLanes(hn::DFromV<X>()) == 4) {
    return whole;
  } else {
    const hn::Half<hn::DFromV<X>> half;
    return fold_to_four(hn::Add(hn::LowerHalf(half, whole), hn::UpperHalf(half, whole)));
  }
}
// Returns the sums of the lanes of each of four vectors of float: with transpositions, in a third
// of the instructions of sum_lanes for each. Vectors have at least four lanes.
template <class X>
HWY_INLINE auto sums_of_four(X a, X b, X c, X d) {
  const hn::DFromV<X> floats;
  const hn::Repartition<double, hn::DFromV<X>> pairs;
  const auto ab = hn::BitCast(
      pairs, hn::Add(hn::InterleaveLower(floats, a, b), hn::InterleaveUpper(floats, a, b)));
  const auto cd = hn::BitCast(
      pairs, hn::Add(hn::InterleaveLower(floats, c, d), hn::InterleaveUpper(floats, c, d)));
  // Each block of four lanes has its part of the four sums.
  return fold_to_four(hn::Add(hn::BitCast(floats, hn::InterleaveLower(pairs, ab, cd)),
                              hn::BitCast(floats, hn::InterleaveUpper(pairs, ab, cd))));
}
#endif
template <class X>
HWY_INLINE hn::TFromV<X> largest_lane(X value) {
  return hn::GetLane(hn::MaxOfLanes(hn::DFromV<X>(), value));
}

// Keeps lanes below `count` and sets the others to 0.
template <class X>
HWY_INLINE X keep_first(X value, int64_t count) {
  return hn::IfThenElseZero(hn::FirstN(hn::DFromV<X>(), static_cast<size_t>(count)), value);
}

// Returns the sum of term(i, lanes), the vector of elements from i on, over `count` elements of
// type T. `lanes` is the number of lanes that hold elements. `term` may store the vector.
template <class T = float, class Term>
HWY_INLINE double sum_span(int64_t count, const Term& term) {
  constexpr int64_t kBlock = 512, kStep = kLanesOf<T>;
  const hn::ScalableTag<T> d;
  double total = 0;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(count, begin + kBlock);
    VectorOf<T> sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    int64_t i = begin;
    for (; i + 4 * kStep <= end; i += 4 * kStep)
#pragma GCC unroll 4
      for (int64_t j = 0; j < 4; ++j) sums[j] = hn::Add(sums[j], term(i + j * kStep, kStep));
    for (; i < end; i += kStep) {
      const int64_t lanes = std::min(kStep, end - i);
      const VectorOf<T> value = term(i, lanes);
      sums[0] = hn::Add(sums[0], lanes < kStep ? keep_first(value, lanes) : value);
    }
    total += static_cast<double>(
        sum_lanes(hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]))));
  }
  return total;
}

// Returns the largest lane of term(i, lanes) that is not NaN, or -inf if there is none; `term` as
// in sum_span.
template <class T = float, class Term>
HWY_INLINE T largest_of_span(int64_t count, const Term& term) {
  constexpr int64_t kStep = kLanesOf<T>;
  const VectorOf<T> lowest = set(-std::numeric_limits<T>::infinity());
  VectorOf<T> largest = lowest;
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) largest = at_least(largest, term(i, kStep));
  if (i < count) {
    const auto present = hn::FirstN(hn::ScalableTag<T>(), static_cast<size_t>(count - i));
    largest = at_least(largest, hn::IfThenElse(present, term(i, count - i), lowest));
  }
  return largest_lane(largest);
}
template <class T>
HWY_INLINE T largest_of(const T* from, int64_t count) {
  return largest_of_span<T>(
      count, [&](int64_t i, int64_t lanes) HWY_ATTR { return load_first(from + i, lanes); });
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#endif
