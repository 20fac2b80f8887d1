#include "kernels/dtypes/mapped_copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pt2::kernels {
namespace {

int64_t sum_of(int64_t a, int64_t b) { return a == kNowhere || b == kNowhere ? kNowhere : a + b; }

// Rows should be long, so short inner dimensions are merged with the next outer dimension.
void join_short_rows(MappedCopy::Places& places) {
  constexpr size_t kLong = 64, kMost = 4096;
  while (places.size() > 1) {
    const std::vector<int64_t> inner = std::move(places.back());
    const std::vector<int64_t>& outer = places[places.size() - 2];
    if (inner.size() >= kLong || inner.size() * outer.size() > kMost) {
      places.back() = inner;
      return;
    }
    std::vector<int64_t> both;
    both.reserve(inner.size() * outer.size());
    for (const int64_t place : outer)
      for (const int64_t more : inner) both.push_back(sum_of(place, more));
    places.pop_back();
    places.back() = std::move(both);
  }
}

}  // namespace

MappedCopy::MappedCopy(Places places, int64_t bytes, const std::array<std::byte, 16>& filler)
    : bytes_(bytes), filler_(filler) {
  if (places.empty()) places.push_back({0});
  join_short_rows(places);
  row_ = std::move(places.back());
  places.pop_back();
  outer_ = std::move(places);
  const size_t size = row_.size();
  row_size_ = static_cast<int64_t>(size);
  for (size_t i = 0; i < size;) {
    Run run{1, row_[i], 0};
    if (i + 1 < size && (run.from == kNowhere) == (row_[i + 1] == kNowhere)) {
      if (run.from != kNowhere) run.step = row_[i + 1] - row_[i];
      const auto continues = [&](size_t next) {
        if (next >= size || run.from == kNowhere || row_[next] == kNowhere)
          return next < size && run.from == row_[next];
        return row_[next] - row_[next - 1] == run.step;
      };
      while (continues(i + static_cast<size_t>(run.count))) ++run.count;
    }
    i += static_cast<size_t>(run.count);
    runs_.push_back(run);
  }
  constexpr size_t kShort = 4;
  if (runs_.size() * kShort > size)
    runs_ = {};
  else
    row_ = {};
}

uint64_t MappedCopy::bytes() const {
  uint64_t out = row_.size() * sizeof(int64_t) + runs_.capacity() * sizeof(Run);
  for (const std::vector<int64_t>& places : outer_) out += places.size() * sizeof(int64_t);
  return out;
}

namespace {

// Constant steps let compilers vectorize the loops.
template <size_t N>
void copy_run(const std::byte* from, std::byte* to, int64_t count, int64_t step) {
  constexpr auto kBytes = static_cast<int64_t>(N);
  if (step == 1) {
    std::memcpy(to, from, static_cast<size_t>(count) * N);
  } else if (step == -1) {
    int64_t i = 0;
    if constexpr (N == 1)
      for (uint64_t eight = 0; i + 8 <= count; i += 8) {
        std::memcpy(&eight, from - i - 7, sizeof eight);
        eight = __builtin_bswap64(eight);
        std::memcpy(to + i, &eight, sizeof eight);
      }
    for (; i < count; ++i) std::memcpy(to + i * kBytes, from - i * kBytes, N);
  } else if (step == 0) {
    std::array<std::byte, N> element;
    std::memcpy(element.data(), from, N);
    for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * kBytes, element.data(), N);
  } else {
    for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * kBytes, from + i * step * kBytes, N);
  }
}

}  // namespace

template <size_t N>
void MappedCopy::fill(std::byte* to, int64_t count) const {
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * N, filler_.data(), N);
}

template <size_t N>
void MappedCopy::copy_row(const std::byte* from, std::byte* to) const {
  constexpr auto kBytes = static_cast<int64_t>(N);
  if (runs_.empty()) {
    for (const int64_t place : row_) {
      std::memcpy(to, place == kNowhere ? filler_.data() : from + place * kBytes, N);
      to += N;
    }
    return;
  }
  for (const Run& run : runs_) {
    if (run.from == kNowhere) {
      fill<N>(to, run.count);
    } else {
      copy_run<N>(from + run.from * kBytes, to, run.count, run.step);
    }
    to += run.count * kBytes;
  }
}

template <size_t N>
void MappedCopy::copy_rows(const std::byte* from, std::byte* to, int64_t first, int64_t end) const {
  for (int64_t row = first; row < end; ++row) {
    int64_t place = 0, rest = row;
    for (size_t dim = outer_.size(); dim-- > 0;) {
      const auto size = static_cast<int64_t>(outer_[dim].size());
      place = sum_of(place, outer_[dim][static_cast<size_t>(rest % size)]);
      rest /= size;
    }
    std::byte* target = to + row * row_size_ * static_cast<int64_t>(N);
    if (place == kNowhere)
      fill<N>(target, row_size_);
    else
      copy_row<N>(from + place * static_cast<int64_t>(N), target);
  }
}

void MappedCopy::run(const std::byte* from, std::byte* to, ThreadPool* pool) const {
  int64_t rows = row_size_ == 0 ? 0 : 1;
  for (const std::vector<int64_t>& places : outer_) rows *= static_cast<int64_t>(places.size());
  if (rows == 0) return;
  constexpr int64_t kTaskBytes = int64_t{1} << 16;
  const int64_t bytes = rows * row_size_ * bytes_;
  const int64_t tasks = std::clamp<int64_t>(bytes / kTaskBytes, 1, rows);
  run_tasks(pool, tasks, [&](int64_t task, int) {
    const int64_t first = part_begin(rows, tasks, task), end = part_begin(rows, tasks, task + 1);
    switch (bytes_) {
      case 1:
        return copy_rows<1>(from, to, first, end);
      case 2:
        return copy_rows<2>(from, to, first, end);
      case 4:
        return copy_rows<4>(from, to, first, end);
      case 8:
        return copy_rows<8>(from, to, first, end);
      default:
        return copy_rows<16>(from, to, first, end);
    }
  });
}

}  // namespace pt2::kernels
