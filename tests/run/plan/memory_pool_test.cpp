#include "run/plan/memory_pool.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>

namespace pt2::run {
namespace {

TEST(MemoryPoolTest, HoldsNoMoreThanTheLargestRunUsed) {
  MemoryPool pool(true);
  const auto run = [&](int64_t a, int64_t b) {
    const Tensor first = pool.tensor(Dtype::uint8, {a}), second = pool.tensor(Dtype::uint8, {b});
    EXPECT_GE(pool.most_used_in_run(), static_cast<uint64_t>(a + b));
  };
  run(5000, 70000);
  pool.finish_run();
  const uint64_t most = pool.bytes();
  for (int64_t size = 64; size < 22000; size += 640) {
    run(size, 2 * size);
    EXPECT_LE(pool.bytes(), most);
    pool.finish_run();
  }
}

// Imitates a loop that appends to a tensor: the previous value is alive while the next one is made.
TEST(MemoryPoolTest, ABlockHasRoomForSizesThatGrow) {
  for (MemoryPool pool : {MemoryPool(true), MemoryPool::keeping_addresses(0)}) {
    std::set<const std::byte*> blocks;
    std::optional<Tensor> last;
    for (int64_t size = 4096; size < 40960; size += 64) {
      last = pool.tensor(Dtype::uint8, {size});
      blocks.insert(last->raw_data());
    }
    EXPECT_LE(blocks.size(), 60) << "of 576 values";
  }
  MemoryPool pool(true);
  const Tensor first = pool.tensor(Dtype::uint8, {8192});
  { const Tensor shorter = pool.tensor(Dtype::uint8, {4096}); }
  const Tensor other = pool.tensor(Dtype::uint8, {6144});
  EXPECT_EQ(pool.most_used_in_run(), 8192 + 6144) << "sizes that do not grow step by step";
}

TEST(MemoryPoolTest, ForgetsWhatNoRunNeeded) {
  MemoryPool pool(true);
  { const Tensor once = pool.tensor(Dtype::uint8, {100000}); }
  for (int i = 0; i < 20; ++i) pool.finish_run();
  EXPECT_EQ(pool.bytes(), 0);
  EXPECT_EQ(pool.most_used_in_run(), 0);
}

TEST(MemoryPoolTest, TheSmallestSufficientGapIsTaken) {
  MemoryPool pool = MemoryPool::keeping_addresses(4096);
  const auto take = [&](int64_t bytes) { return pool.tensor(Dtype::uint8, {bytes}); };
  std::optional<Tensor> large = take(1024), wall = take(64), small = take(128), end = take(64);
  const std::byte *of_large = large->raw_data(), *of_small = small->raw_data();
  large.reset();
  small.reset();
  const Tensor first = take(128), second = take(512);
  EXPECT_EQ(first.raw_data(), of_small);
  EXPECT_EQ(second.raw_data(), of_large);
}

TEST(MemoryPoolTest, AnArenaIsFilledFromTheFront) {
  MemoryPool pool = MemoryPool::keeping_addresses(4096);
  EXPECT_EQ(pool.bytes(), 4096);
  const auto take = [&](int64_t bytes) { return pool.tensor(Dtype::uint8, {bytes}); };
  const auto place = [](const Tensor& tensor) { return tensor.raw_data(); };
  std::optional<Tensor> first = take(1000), second = take(512), third = take(64);
  const std::byte* begin = place(*first);
  EXPECT_EQ(place(*second), begin + 1024);
  EXPECT_EQ(place(*third), begin + 1536);
  first.reset();
  third.reset();
  // Freed memory merges with the gaps on both sides.
  const Tensor behind = take(1025);
  EXPECT_EQ(place(behind), begin + 1536);
  second.reset();
  const Tensor whole = take(1536);
  EXPECT_EQ(place(whole), begin);
  EXPECT_EQ(pool.bytes(), 4096);
  EXPECT_EQ(pool.most_used_in_run(), 1536 + 1088);
  // A tensor that does not fit gets a separate block, which is kept and reused.
  const std::byte* beyond = nullptr;
  {
    const Tensor large = take(4000);
    beyond = place(large);
  }
  EXPECT_EQ(place(take(4000)), beyond);
}

}  // namespace
}  // namespace pt2::run
