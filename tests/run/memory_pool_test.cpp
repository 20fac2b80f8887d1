#include "run/plan/memory_pool.h"

#include <gtest/gtest.h>

namespace pt2::run {
namespace {

TEST(MemoryPoolTest, HoldsNoMoreThanTheLargestRunUsed) {
  MemoryPool pool;
  const auto run = [&](int64_t a, int64_t b) {
    const Tensor first = pool.tensor(Dtype::uint8, {a}), second = pool.tensor(Dtype::uint8, {b});
    EXPECT_GE(pool.most_used_in_run(), static_cast<uint64_t>(a + b));
  };
  run(5000, 70000);
  pool.finish_run();
  const uint64_t most = pool.bytes();
  for (int64_t size = 64; size < 30000; size += 640) {
    run(size, 2 * size);
    EXPECT_LE(pool.bytes(), most);
    pool.finish_run();
  }
}

TEST(MemoryPoolTest, ForgetsWhatNoRunNeeded) {
  MemoryPool pool;
  { const Tensor once = pool.tensor(Dtype::uint8, {100000}); }
  for (int i = 0; i < 20; ++i) pool.finish_run();
  EXPECT_EQ(pool.bytes(), 0);
  EXPECT_EQ(pool.most_used_in_run(), 0);
}

}  // namespace
}  // namespace pt2::run
