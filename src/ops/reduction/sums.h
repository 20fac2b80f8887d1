// Sums of rows. float32 is summed in double. Every sum keeps eight partial sums over short blocks,
// so that long rows lose no more accuracy than in PyTorch's cascade
// (ATen/native/cpu/SumKernel.cpp).
#ifndef PT2_OPS_REDUCTION_SUMS_H
#define PT2_OPS_REDUCTION_SUMS_H

#include <complex>
#include <cstdint>
#include <type_traits>

#include "ops/convert.h"

namespace pt2::ops {

template <class C>
struct AccumulatorOf {
  using type = C;
};
template <>
struct AccumulatorOf<float> {
  using type = double;
};
// Unsigned: overflow wraps, as in PyTorch.
template <>
struct AccumulatorOf<int64_t> {
  using type = uint64_t;
};
template <class C>
using Accumulator = typename AccumulatorOf<C>::type;

// Returns the sum of term(values[i]) for i < count.
template <class C, class F>
auto sum_terms(const C* values, int64_t count, F&& term) {
  using A = std::decay_t<decltype(term(values[0]))>;
  constexpr int64_t kLanes = 8;
  constexpr int64_t kBlock = 1024;
  A total{};
  int64_t i = 0;
  while (count - i >= kLanes) {
    A lanes[kLanes] = {};
    const int64_t end = i + (count - i < kBlock ? (count - i) / kLanes * kLanes : kBlock);
    for (; i < end; i += kLanes)
      for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(values[i + lane]);
    total += ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
             ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  }
  for (; i < count; ++i) total += term(values[i]);
  return total;
}

template <class C>
Accumulator<C> sum_row(const C* values, int64_t count) {
  return sum_terms(values, count, [](C x) { return static_cast<Accumulator<C>>(x); });
}

// The mean, and the sum of squared deviations from it, computed in two passes.
struct Moments {
  double mean = 0;
  double squares = 0;
};
template <class C>
Moments row_moments(const C* values, int64_t count) {
  const double mean = sum_row(values, count) / static_cast<double>(count);
  const double squares = sum_terms(values, count, [mean](C x) {
    const double distance = static_cast<double>(x) - mean;
    return distance * distance;
  });
  return {mean, squares};
}

}  // namespace pt2::ops

#endif  // PT2_OPS_REDUCTION_SUMS_H
