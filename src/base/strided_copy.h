// Copies elements from one memory layout to another.
#ifndef PT2_BASE_STRIDED_COPY_H
#define PT2_BASE_STRIDED_COPY_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pt2/tensor.h"

namespace pt2 {

// Copies the elements of `sizes`, each of `element_size` bytes (1, 2, 4, 8 or 16), from one memory
// to another; strides count elements, and may be negative or 0 in the source. The two must not
// overlap. Transposed layouts are copied in blocks that fit into the cache. Linear.
void copy_strided(const Sizes& sizes, size_t element_size, const std::byte* from,
                  const Sizes& from_strides, std::byte* to, const Sizes& to_strides);

// A dimension of two memory layouts, with its stride in each.
struct LayoutDim {
  int64_t size;
  int64_t from;
  int64_t to;
};
// Returns the dimensions of more than one element, sorted from the largest stride in `to` to the
// smallest. Adjacent ones that are one dimension in both layouts are joined.
std::vector<LayoutDim> joined_dims(const Sizes& sizes, const Sizes& from, const Sizes& to);

// Returns one past the largest element index that sizes and strides reach, from offset 0; 0 without
// elements; nothing on overflow, which no Tensor has.
std::optional<int64_t> extent(std::span<const int64_t> sizes, std::span<const int64_t> strides);

// True if the elements fill a block without gaps or overlap, in some order of the dimensions.
bool is_dense(const Sizes& sizes, const Sizes& strides);

}  // namespace pt2

#endif  // PT2_BASE_STRIDED_COPY_H
