#include "base/strided_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace pt2 {
namespace {

struct Dim {
  int64_t size;
  int64_t from;  // bytes from one element to the next
  int64_t to;
};

// A block of 32 rows of 32 elements of 8 bytes and its transpose take half of a small cache.
constexpr int64_t kBlock = 32;

template <size_t N>
void copy_element(const std::byte* from, std::byte* to) {
  std::memcpy(to, from, N);
}

// Rows and columns in blocks: `row` is the dim in which the source is dense, `column` the target.
template <size_t N>
void copy_plane(const Dim& row, const Dim& column, const std::byte* from, std::byte* to) {
  for (int64_t i = 0; i < row.size; i += kBlock)
    for (int64_t j = 0; j < column.size; j += kBlock) {
      const int64_t i_end = std::min(row.size, i + kBlock),
                    j_end = std::min(column.size, j + kBlock);
      for (int64_t a = i; a < i_end; ++a)
        for (int64_t b = j; b < j_end; ++b)
          copy_element<N>(from + a * row.from + b * column.from, to + a * row.to + b * column.to);
    }
}

template <size_t N>
void copy_line(const Dim& dim, const std::byte* from, std::byte* to) {
  if (dim.from == static_cast<int64_t>(N) && dim.to == static_cast<int64_t>(N)) {
    std::memcpy(to, from, static_cast<size_t>(dim.size) * N);
    return;
  }
  for (int64_t i = 0; i < dim.size; ++i) copy_element<N>(from + i * dim.from, to + i * dim.to);
}

// The outer dims, one after another; the last one or two are a line or a plane.
template <size_t N>
void copy_dims(const Dim* dims, size_t outer, bool is_plane, const std::byte* from, std::byte* to) {
  if (outer == 0)
    return is_plane ? copy_plane<N>(dims[0], dims[1], from, to) : copy_line<N>(dims[0], from, to);
  for (int64_t i = 0; i < dims[0].size; ++i)
    copy_dims<N>(dims + 1, outer - 1, is_plane, from + i * dims[0].from, to + i * dims[0].to);
}

// Without dims of size 1, from the largest step in the target to the smallest, and with dims that
// both memories hold as one made one.
std::vector<Dim> simplified(const Sizes& sizes, int64_t element_size, const Sizes& from_strides,
                            const Sizes& to_strides) {
  std::vector<Dim> dims;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != 1)
      dims.push_back({sizes[i], from_strides[i] * element_size, to_strides[i] * element_size});
  std::ranges::stable_sort(dims, std::ranges::greater(), &Dim::to);
  std::vector<Dim> out;
  for (const Dim& dim : dims) {
    if (!out.empty() && out.back().from == dim.size * dim.from &&
        out.back().to == dim.size * dim.to)
      out.back() = {out.back().size * dim.size, dim.from, dim.to};
    else
      out.push_back(dim);
  }
  if (out.empty()) out.push_back({1, element_size, element_size});
  return out;
}

template <size_t N>
void copy(std::vector<Dim> dims, const std::byte* from, std::byte* to) {
  // The dim in which the source is dense goes next to the last one, in which the target is.
  const auto dense = std::ranges::find(dims, static_cast<int64_t>(N), &Dim::from);
  const bool is_plane = dims.size() > 1 && dense < dims.end() - 1;
  if (is_plane) std::rotate(dense, dense + 1, dims.end() - 1);
  copy_dims<N>(dims.data(), dims.size() - (is_plane ? 2 : 1), is_plane, from, to);
}

}  // namespace

void copy_strided(const Sizes& sizes, size_t element_size, const std::byte* from,
                  const Sizes& from_strides, std::byte* to, const Sizes& to_strides) {
  if (std::ranges::find(sizes, 0) != sizes.end()) return;
  std::vector<Dim> dims =
      simplified(sizes, static_cast<int64_t>(element_size), from_strides, to_strides);
  switch (element_size) {
    case 1:
      return copy<1>(std::move(dims), from, to);
    case 2:
      return copy<2>(std::move(dims), from, to);
    case 4:
      return copy<4>(std::move(dims), from, to);
    case 8:
      return copy<8>(std::move(dims), from, to);
    default:
      return copy<16>(std::move(dims), from, to);
  }
}

}  // namespace pt2
