// Copies of elements whose size is a compile-time constant.
#ifndef PT2_OPS_SHAPE_ELEMENT_SIZE_H
#define PT2_OPS_SHAPE_ELEMENT_SIZE_H

#include <cstddef>
#include <cstdint>

namespace pt2::ops {

// Calls function.template operator()<N>() with N = `bytes`, the size of an element.
template <class F>
auto with_element_size(int64_t bytes, F&& function) {
  switch (bytes) {
    case 1:
      return function.template operator()<size_t{1}>();
    case 2:
      return function.template operator()<size_t{2}>();
    case 4:
      return function.template operator()<size_t{4}>();
    case 8:
      return function.template operator()<size_t{8}>();
    default:
      return function.template operator()<size_t{16}>();
  }
}

}  // namespace pt2::ops

#endif  // PT2_OPS_SHAPE_ELEMENT_SIZE_H
