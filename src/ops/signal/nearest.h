// Which element of a dimension is nearest when it is resized, computed in T, as in PyTorch: its
// rounding decides (ATen/native/UpSample.h).
#ifndef PT2_OPS_SIGNAL_NEAREST_H
#define PT2_OPS_SIGNAL_NEAREST_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

namespace pt2::ops {

// Elements of the source from one element of the result to the next.
template <class T>
T resize_step(int64_t in, int64_t out, const std::optional<double>& scale) {
  return scale && *scale > 0 ? static_cast<T>(1.0 / *scale)
                             : static_cast<T>(in) / static_cast<T>(out);
}

// The integer part of a place, which may lie far beyond every tensor; -2^62 for NaN. A conversion
// of what int64 cannot hold is undefined in C++, and processors differ.
template <class T>
int64_t whole_place(T place) {
  constexpr T kFar = T(0x1p62);
  return static_cast<int64_t>(place > -kFar ? std::min(place, kFar) : -kFar);
}

// `exact`: from the middle of elements to the middle.
template <class T>
int64_t nearest_element(int64_t index, T step, int64_t in, bool exact) {
  const T position = (static_cast<T>(index) + (exact ? T(0.5) : T(0))) * step;
  return std::clamp<int64_t>(whole_place(std::floor(position)), 0, in - 1);
}

}  // namespace pt2::ops

#endif  // PT2_OPS_SIGNAL_NEAREST_H
