#include "base/strided_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace pt2 {
namespace {

using Dim = LayoutDim;  // strides in bytes

template <size_t N>
void copy_element(const std::byte* from, std::byte* to) {
  std::memcpy(to, from, N);
}

// A square of elements of N bytes with rows of 16 bytes.
template <size_t N>
class Square {
 public:
  static constexpr int kSide = 16 / N;

  // Rows of the source become columns of the target; steps are in bytes.
  static void turn(const std::byte* from, int64_t from_step, std::byte* to, int64_t to_step) {
    Row rows[kSide], next[kSide];
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) std::memcpy(&rows[i], from + i * from_step, sizeof(Row));
      // Each round puts elements that are half a square apart beside each other.
#pragma GCC unroll 4
    for (int side = 1; side < kSide; side *= 2) {
#pragma GCC unroll 8
      for (int i = 0; i < kSide / 2; ++i) {
        next[2 * i] = interleave<0>(rows[i], rows[i + kSide / 2], Places());
        next[2 * i + 1] = interleave<kSide / 2>(rows[i], rows[i + kSide / 2], Places());
      }
#pragma GCC unroll 16
      for (int i = 0; i < kSide; ++i) rows[i] = next[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) std::memcpy(to + i * to_step, &rows[i], sizeof(Row));
  }

 private:
  using Element = std::conditional_t<
      N == 1, uint8_t,
      std::conditional_t<N == 2, uint16_t, std::conditional_t<N == 4, uint32_t, uint64_t>>>;
  typedef Element Row __attribute__((vector_size(16)));
  using Places = std::make_integer_sequence<int, kSide>;

  // Interleaves half of the elements of both rows, from kBegin on.
  template <int kBegin, int... I>
  static Row interleave(Row a, Row b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, (kBegin + I / 2 + I % 2 * kSide)...);
  }
};

// Copies rows and columns in blocks of whole cache lines: the source is dense in `row`, the target
// in `column`. More lines at a time would evict each other from the cache if the length of rows is
// a power of two.
template <size_t N>
void copy_plane(const Dim& row, const Dim& column, const std::byte* from, std::byte* to) {
  constexpr int64_t kBlock = 64 / N, kSide = 16 / N;
  const auto copy_part = [&](int64_t i, int64_t i_end, int64_t j, int64_t j_end) {
    for (int64_t a = i; a < i_end; ++a)
      for (int64_t b = j; b < j_end; ++b)
        copy_element<N>(from + a * row.from + b * column.from, to + a * row.to + b * column.to);
  };
  [[maybe_unused]] const bool has_squares =
      kSide > 1 && row.from == static_cast<int64_t>(N) && column.to == static_cast<int64_t>(N);
  for (int64_t i = 0; i < row.size; i += kBlock)
    for (int64_t j = 0; j < column.size; j += kBlock) {
      const int64_t i_end = std::min(row.size, i + kBlock),
                    j_end = std::min(column.size, j + kBlock);
      int64_t a = i;
      if constexpr (kSide > 1)
        for (; has_squares && a + kSide <= i_end; a += kSide) {
          int64_t b = j;
          for (; b + kSide <= j_end; b += kSide)
            Square<N>::turn(from + a * row.from + b * column.from, column.from,
                            to + a * row.to + b * column.to, row.to);
          copy_part(a, a + kSide, b, j_end);
        }
      copy_part(a, i_end, j, j_end);
    }
}

// Writes one element `count` times.
template <size_t N>
void fill_line(const std::byte* from, int64_t count, std::byte* to) {
  // kFirst is a multiple of every element size. The bytes that are copied repeatedly stay in the L1
  // cache.
  constexpr size_t kFirst = 256, kAtOnce = 8192;
  std::byte first[kFirst];
  const auto bytes = static_cast<size_t>(count) * N;
  size_t have = std::min(kFirst, bytes);
  for (size_t i = 0; i < have; i += N) copy_element<N>(from, first + i);
  std::memcpy(to, first, have);
  for (size_t more; have < bytes; have += more) {
    more = std::min({have, kAtOnce, bytes - have});
    std::memcpy(to + have, to, more);
  }
}

template <size_t N>
void copy_line(const Dim& dim, const std::byte* from, std::byte* to) {
  if (dim.from == static_cast<int64_t>(N) && dim.to == static_cast<int64_t>(N)) {
    std::memcpy(to, from, static_cast<size_t>(dim.size) * N);
    return;
  }
  if (dim.from == 0 && dim.to == static_cast<int64_t>(N)) return fill_line<N>(from, dim.size, to);
  for (int64_t i = 0; i < dim.size; ++i) copy_element<N>(from + i * dim.from, to + i * dim.to);
}

// Loops over the outer dims; the last one or two dims are a line or a plane.
template <size_t N>
void copy_dims(const Dim* dims, size_t outer, bool is_plane, const std::byte* from, std::byte* to) {
  if (outer == 0)
    return is_plane ? copy_plane<N>(dims[0], dims[1], from, to) : copy_line<N>(dims[0], from, to);
  for (int64_t i = 0; i < dims[0].size; ++i)
    copy_dims<N>(dims + 1, outer - 1, is_plane, from + i * dims[0].from, to + i * dims[0].to);
}

template <size_t N>
void copy(std::vector<Dim> dims, const std::byte* from, std::byte* to) {
  // Moves the dim in which the source is dense next to the last dim, in which the target is dense.
  // A line that repeats one element is filled instead.
  const auto dense = std::ranges::find(dims, static_cast<int64_t>(N), &Dim::from);
  const bool is_plane = dims.size() > 1 && dense < dims.end() - 1 && dims.back().from != 0;
  if (is_plane) std::rotate(dense, dense + 1, dims.end() - 1);
  copy_dims<N>(dims.data(), dims.size() - (is_plane ? 2 : 1), is_plane, from, to);
}

}  // namespace

void copy_strided(const Sizes& sizes, size_t element_size, const std::byte* from,
                  const Sizes& from_strides, std::byte* to, const Sizes& to_strides) {
  if (std::ranges::find(sizes, 0) != sizes.end()) return;
  std::vector<Dim> dims = joined_dims(sizes, from_strides, to_strides);
  if (dims.empty()) dims.push_back({1, 1, 1});
  for (Dim& dim : dims) {
    dim.from *= static_cast<int64_t>(element_size);
    dim.to *= static_cast<int64_t>(element_size);
  }
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

std::vector<LayoutDim> joined_dims(const Sizes& sizes, const Sizes& from, const Sizes& to) {
  std::vector<LayoutDim> dims, out;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != 1) dims.push_back({sizes[i], from[i], to[i]});
  std::ranges::stable_sort(dims, std::ranges::greater(), &LayoutDim::to);
  for (const LayoutDim& dim : dims) {
    if (!out.empty() && out.back().from == dim.size * dim.from &&
        out.back().to == dim.size * dim.to)
      out.back() = {out.back().size * dim.size, dim.from, dim.to};
    else
      out.push_back(dim);
  }
  return out;
}

std::optional<int64_t> extent(std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  int64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    int64_t reach = 0;
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return std::nullopt;
  }
  if (__builtin_add_overflow(last, 1, &last)) return std::nullopt;
  return last;
}

}  // namespace pt2
