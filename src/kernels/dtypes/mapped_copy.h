// Copies of elements of any dtype whose places in the source each dimension of the result decides
// for itself: padding, rolls, flips, repetitions, shuffled pixels, enlarged images.
#ifndef PT2_KERNELS_DTYPES_MAPPED_COPY_H
#define PT2_KERNELS_DTYPES_MAPPED_COPY_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/threads.h"

namespace pt2::kernels {

// An element that the source does not have.
inline constexpr int64_t kNowhere = INT64_MIN;

class MappedCopy {
 public:
  // By dimension of the result, from the outermost in memory to the innermost, what each index adds
  // to the place of an element in the source, in elements; kNowhere: it is `filler`.
  using Places = std::vector<std::vector<int64_t>>;
  // `bytes` of an element: 1, 2, 4, 8 or 16.
  MappedCopy(Places places, int64_t bytes, const std::array<std::byte, 16>& filler = {});

  // Elements of the result lie side by side.
  void run(const std::byte* from, std::byte* to, ThreadPool* pool = nullptr) const;

  // What it holds.
  uint64_t bytes() const;

 private:
  // Neighbours in the result that lie evenly apart in the source.
  struct Run {
    int64_t count;
    int64_t from;  // kNowhere: none of them is there
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
  std::vector<Run> runs_;     // of the row; empty where they are too short to be worth it
  std::vector<int64_t> row_;  // empty where there are runs
  int64_t bytes_;
  std::array<std::byte, 16> filler_;
};

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_DTYPES_MAPPED_COPY_H
