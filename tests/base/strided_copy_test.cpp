#include "base/strided_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace pt2 {
namespace {

// Returns strides of the sizes with the dimensions in random order in memory and gaps between them.
Sizes random_strides(const Sizes& sizes, std::mt19937_64& random) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::shuffle(order, random);
  Sizes strides(sizes.size());
  int64_t stride = 1;
  for (const size_t dim : order) {
    strides[dim] = stride;
    stride *= sizes[dim];
    if (random() % 4 == 0) stride += static_cast<int64_t>(random() % 3);
  }
  return strides;
}

int64_t extent(const Sizes& sizes, const Sizes& strides) {
  int64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * strides[i];
  return last + 1;
}

int64_t place_of(int64_t element, const Sizes& sizes, const Sizes& strides) {
  int64_t place = 0;
  for (size_t i = sizes.size(); i-- > 0; element /= sizes[i])
    place += element % sizes[i] * strides[i];
  return place;
}

TEST(StridedCopy, PutsEveryElementInItsPlace) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    Sizes sizes;
    const size_t rank = random() % 5;
    for (size_t i = 0; i < rank; ++i)
      sizes.push_back(1 + static_cast<int64_t>(random() % (rank < 3 ? 80 : 7)));
    const Sizes from_strides = random_strides(sizes, random);
    Sizes to_strides = random_strides(sizes, random);
    Sizes source_strides = from_strides;
    if (rank > 0 && random() % 5 == 0) source_strides[random() % rank] = 0;  // broadcast
    int64_t first = 0;  // negative strides along some dims
    for (size_t i = 0; i < rank; ++i)
      if (random() % 6 == 0) {
        first += (sizes[i] - 1) * source_strides[i];
        source_strides[i] = -source_strides[i];
      }
    const size_t size = size_t{1} << (random() % 5);
    std::vector<std::byte> from(static_cast<size_t>(extent(sizes, from_strides)) * size);
    for (std::byte& byte : from) byte = static_cast<std::byte>(random());
    std::vector<std::byte> to(static_cast<size_t>(extent(sizes, to_strides)) * size);
    std::vector<std::byte> expected = to;
    const int64_t count =
        std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
    for (int64_t i = 0; i < count; ++i)
      std::copy_n(&from[static_cast<size_t>(first + place_of(i, sizes, source_strides)) * size],
                  size, &expected[static_cast<size_t>(place_of(i, sizes, to_strides)) * size]);
    copy_strided(sizes, size, from.data() + static_cast<size_t>(first) * size, source_strides,
                 to.data(), to_strides);
    ASSERT_EQ(to, expected) << "round " << round;
  }
}

TEST(StridedCopy, OfNothingDoesNothing) {
  copy_strided({3, 0}, 4, nullptr, {1, 1}, nullptr, {1, 1});
}

}  // namespace
}  // namespace pt2
