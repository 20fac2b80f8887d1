#include "ops/shape/positions.h"

#include <cstring>
#include <numeric>

namespace pt2::ops {

std::vector<Positions> identity_positions(const Sizes& sizes) {
  std::vector<Positions> out;
  for (int64_t size : sizes) {
    Positions& positions = out.emplace_back(static_cast<size_t>(size));
    std::iota(positions.begin(), positions.end(), 0);
  }
  return out;
}

void take_positions(Tensor& out, const Tensor& self, const std::vector<Positions>& positions) {
  if (out.numel() == 0) return;
  const auto element = static_cast<size_t>(dtype_size(out.dtype()));
  const auto bytes = static_cast<int64_t>(element);
  const size_t rank = positions.size();
  Sizes index(rank, 0);
  for (;;) {
    const std::byte* source = self.raw_data();
    std::byte* target = out.raw_data();
    bool missing = false;
    for (size_t i = 0; i < rank; ++i) {
      const int64_t from = positions[i][static_cast<size_t>(index[i])];
      missing |= from < 0;
      source += from < 0 ? 0 : from * self.strides()[i] * bytes;
      target += index[i] * out.strides()[i] * bytes;
    }
    if (!missing) std::memcpy(target, source, element);
    size_t dim = rank;
    while (dim > 0 && ++index[dim - 1] == out.sizes()[dim - 1]) index[--dim] = 0;
    if (dim == 0) return;
  }
}

}  // namespace pt2::ops
