// The index of the nearest element when a dimension is resized. Computed in T, as in PyTorch,
// because the rounding decides the index (ATen/native/UpSample.h).
#ifndef PT2_OPS_SIGNAL_NEAREST_H
#define PT2_OPS_SIGNAL_NEAREST_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

namespace pt2::ops {

// The number of source elements per result element.
template <class T>
T resize_step(int64_t in, int64_t out, const std::optional<double>& scale) {
  return scale && *scale > 0 ? static_cast<T>(1.0 / *scale)
                             : static_cast<T>(in) / static_cast<T>(out);
}

// The integer part of a position, which may lie far beyond every tensor; -2^62 for NaN. Converting
// a number that does not fit in int64 is undefined in C++, and processors differ.
template <class T>
int64_t whole_place(T place) {
  constexpr T kFar = T(0x1p62);
  return static_cast<int64_t>(place > -kFar ? std::min(place, kFar) : -kFar);
}

// `exact` maps centres of elements to centres; otherwise, begins of elements to begins.
template <class T>
int64_t nearest_element(int64_t index, T step, int64_t in, bool exact) {
  const T position = (static_cast<T>(index) + (exact ? T(0.5) : T(0))) * step;
  return std::clamp<int64_t>(whole_place(std::floor(position)), 0, in - 1);
}

}  // namespace pt2::ops

#endif  // PT2_OPS_SIGNAL_NEAREST_H
