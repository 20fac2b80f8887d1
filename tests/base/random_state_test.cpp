// The state of a generator as bytes. Tests of operators and programs compare the numbers with
// PyTorch's.
#include "base/random_state.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace pt2 {
namespace {

// Returns the bytes of torch.Generator().manual_seed(0).get_state().
std::vector<std::byte> fresh_state() {
  std::vector<std::byte> bytes(RandomState::kBytes);
  constexpr size_t kLeft = 8, kSeeded = 12, kTable = 24;
  bytes[kLeft] = bytes[kSeeded] = std::byte{1};
  uint64_t word = 0;
  for (uint64_t i = 0; i < 624; ++i) {
    word = i == 0 ? 0 : (1812433253 * (word ^ word >> 30) + i) & 0xFFFFFFFF;
    std::memcpy(bytes.data() + kTable + i * sizeof word, &word, sizeof word);
  }
  return bytes;
}

TEST(RandomState, IsTheMersenneTwister) {
  for (const uint64_t seed : {uint64_t{0}, uint64_t{7}, uint64_t{1} << 40 | 5}) {
    RandomState state(seed);
    std::mt19937 expected(static_cast<uint32_t>(seed));
    for (int i = 0; i < 2000; ++i) ASSERT_EQ(state.next32(), expected()) << i;
  }
}

TEST(RandomState, GoesOnFromItsBytes) {
  std::vector<std::byte> bytes = fresh_state();
  RandomState whole(0);
  // Draws part of a table of 624 numbers, all of it, and more than one table, each with one normal
  // number, which leaves half of a pair.
  for (const int count : {3, 621, 624, 1500, 1}) {
    Result<RandomState> part = RandomState::read(bytes);
    ASSERT_TRUE(part) << part.error().message;
    for (int i = 0; i < count; ++i) ASSERT_EQ(part->next32(), whole.next32());
    EXPECT_EQ(part->normal(), whole.normal());
    part->write(bytes);
  }
}

TEST(RandomState, RefusesBytesThatNoGeneratorHas) {
  const auto message = [](size_t place, int value) {
    std::vector<std::byte> bytes = fresh_state();
    std::memcpy(bytes.data() + place, &value, sizeof value);
    const auto read = RandomState::read(bytes);
    return read ? "" : read.error().message;
  };
  constexpr size_t kLeft = 8, kSeeded = 12, kNext = 16;
  EXPECT_EQ(message(kLeft, 1), "");
  for (const int left : {0, -1, 2, 624, 625, INT32_MAX, INT32_MIN})
    EXPECT_NE(message(kLeft, left), "") << left;
  for (const int next : {625, 1 << 20, -1}) EXPECT_NE(message(kNext, next), "") << next;
  EXPECT_NE(message(kSeeded, 0), "");
  const std::vector<std::byte> bytes = fresh_state();
  const auto cut = RandomState::read(std::span(bytes).first(RandomState::kBytes - 1));
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().message, "the generator's state has 5055 bytes, expected 5056");
}

}  // namespace
}  // namespace pt2
