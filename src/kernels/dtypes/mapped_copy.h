// Copies of elements of any dtype whose source offset is a sum of one term per dimension of the
// result: padding, rolls, flips, repetitions, pixel shuffles, upsampled images.
#ifndef PT2_KERNELS_DTYPES_MAPPED_COPY_H
#define PT2_KERNELS_DTYPES_MAPPED_COPY_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/threads.h"

namespace pt2::kernels {

// Marks an element that is not in the source.
inline constexpr int64_t kNowhere = INT64_MIN;

class MappedCopy {
 public:
  // For each dimension of the result, from the outermost in memory to the innermost: the offset, in
  // elements of the source, that each index adds. With kNowhere, the element is `filler`.
  using Places = std::vector<std::vector<int64_t>>;
  // `bytes` is the size of an element: 1, 2, 4, 8 or 16.
  MappedCopy(Places places, int64_t bytes, const std::array<std::byte, 16>& filler = {});

  // The elements of the result are contiguous.
  void run(const std::byte* from, std::byte* to, ThreadPool* pool = nullptr) const;

  // Memory that the object holds.
  uint64_t bytes() const;

 private:
  // Consecutive elements of the result that are evenly spaced in the source.
  struct Run {
    int64_t count;
    int64_t from;  // kNowhere: all elements are `filler`
    int64_t step;
  };

  template <size_t N>
  void copy_row(const std::byte* from, std::byte* to) const;
  template <size_t N>
  void copy_rows(const std::byte* from, std::byte* to, int64_t first, int64_t end) const;
  template <size_t N>
  void fill(std::byte* to, int64_t count) const;

  Places outer_;
  int64_t row_size_ = 0;
  std::vector<Run> runs_;     // runs of the row; empty if they are too short to be worthwhile
  std::vector<int64_t> row_;  // offsets of the row; empty if there are runs
  int64_t bytes_;
  std::array<std::byte, 16> filler_;
};

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_DTYPES_MAPPED_COPY_H
