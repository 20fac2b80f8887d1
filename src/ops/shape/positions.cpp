#include "ops/shape/positions.h"

#include <cstring>
#include <numeric>

#include "ops/shape/element_size.h"

namespace pt2::ops {

std::vector<Positions> identity_positions(const Sizes& sizes) {
  std::vector<Positions> out;
  for (int64_t size : sizes) {
    Positions& positions = out.emplace_back(static_cast<size_t>(size));
    std::iota(positions.begin(), positions.end(), 0);
  }
  return out;
}

namespace {

// Copies elements of N bytes along one dim; the strides are in bytes.
template <size_t N>
void take_line(const Positions& positions, const std::byte* source, int64_t source_stride,
               std::byte* target, int64_t target_stride) {
  for (const int64_t position : positions) {
    if (position >= 0) std::memcpy(target, source + position * source_stride, N);
    target += target_stride;
  }
}

// A run of elements that are adjacent both in the source and in the result.
struct Run {
  int64_t to;
  int64_t from;
  int64_t count;
};

std::vector<Run> runs_of(const Positions& positions) {
  std::vector<Run> out;
  for (size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] < 0) continue;
    if (i > 0 && !out.empty() && positions[i - 1] >= 0 && positions[i] == positions[i - 1] + 1)
      ++out.back().count;
    else
      out.push_back({static_cast<int64_t>(i), positions[i], 1});
  }
  return out;
}

using TakeLine = void (*)(const Positions&, const std::byte*, int64_t, std::byte*, int64_t);

}  // namespace

void take_positions(Tensor& out, const Tensor& self, const std::vector<Positions>& positions) {
  if (out.numel() == 0) return;
  const int64_t bytes = dtype_size(out.dtype());
  if (positions.empty())
    return static_cast<void>(
        std::memcpy(out.raw_data(), self.raw_data(), static_cast<size_t>(bytes)));
  const TakeLine take =
      with_element_size(bytes, []<size_t N>() -> TakeLine { return take_line<N>; });
  const size_t last = positions.size() - 1;
  // If runs are this long on average, each is copied as a whole.
  constexpr size_t kLong = 8;
  std::vector<Run> runs;
  if (self.strides()[last] == 1 && out.strides()[last] == 1) runs = runs_of(positions[last]);
  const bool copies_runs = !runs.empty() && runs.size() <= positions[last].size() / kLong;
  Sizes index(last, 0);
  for (;;) {
    const std::byte* source = self.raw_data();
    std::byte* target = out.raw_data();
    bool missing = false;
    for (size_t i = 0; i < last; ++i) {
      const int64_t from = positions[i][static_cast<size_t>(index[i])];
      missing |= from < 0;
      source += from < 0 ? 0 : from * self.strides()[i] * bytes;
      target += index[i] * out.strides()[i] * bytes;
    }
    if (!missing && copies_runs)
      for (const Run& run : runs)
        std::memcpy(target + run.to * bytes, source + run.from * bytes,
                    static_cast<size_t>(run.count * bytes));
    else if (!missing)
      take(positions[last], source, self.strides()[last] * bytes, target,
           out.strides()[last] * bytes);
    size_t dim = last;
    while (dim > 0 && ++index[dim - 1] == out.sizes()[dim - 1]) index[--dim] = 0;
    if (dim == 0) return;
  }
}

}  // namespace pt2::ops
