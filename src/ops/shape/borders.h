// Source positions beyond the borders of a padded dimension. Each function maps the position of a
// padded element, counted from the first unpadded element, to the position of its source; -1 for
// none.
#ifndef PT2_OPS_SHAPE_BORDERS_H
#define PT2_OPS_SHAPE_BORDERS_H

#include <algorithm>
#include <cstdint>

namespace pt2::ops {

using Border = int64_t (*)(int64_t position, int64_t size);

inline int64_t constant_border(int64_t position, int64_t size) {
  return position < 0 || position >= size ? -1 : position;
}
inline int64_t reflected_border(int64_t position, int64_t size) {
  if (position < 0) return -position;
  return position >= size ? 2 * (size - 1) - position : position;
}
inline int64_t repeated_border(int64_t position, int64_t size) {
  return std::clamp<int64_t>(position, 0, size - 1);
}

}  // namespace pt2::ops

#endif  // PT2_OPS_SHAPE_BORDERS_H
