// Cached keys and values grow in place.
#include "decode/cache.h"

#include <gtest/gtest.h>

#include "base/memory_account.h"
#include "decode/cache_tree.h"

namespace pt2::decode {
namespace {

// Returns a tensor [2, size] with the rows 0, 1, … and 100, 101, …
Tensor rows(int64_t size) {
  Tensor out = Tensor::zeros(Dtype::float32, {2, size});
  for (int64_t i = 0; i < size; ++i) {
    out.data<float>()[i] = static_cast<float>(i);
    out.data<float>()[size + i] = static_cast<float>(100 + i);
  }
  return out;
}

std::vector<float> elements_of(const Tensor& tensor) {
  std::vector<float> out;
  for (const float each : tensor.elements<float>()) out.push_back(each);
  return out;
}

// Each of many leaves would have a copy of the key.
TEST(CacheLeaves, HaveNoPathBelowALongKey) {
  const std::string leaf = R"(": {"_t": "tensor", "i": )";
  const std::vector<CacheLeaf> leaves =
      cache_leaves({.kind = TreeKind::registered,
                    .context = "{\"keys" + leaf + "0}, \"" + std::string(5000, 'k') + leaf + "1}}",
                    .children = {TreeSpec(), TreeSpec()}});
  ASSERT_EQ(leaves.size(), 2u);
  EXPECT_EQ(leaves[0].path, "keys");
  EXPECT_EQ(leaves[1].path, "");
}

TEST(Cache, MovesAValueIntoARoomOnce) {
  Cache cache;
  cache.set(0, rows(3), 1);
  EXPECT_EQ(cache.copied_bytes(), 24u);
  EXPECT_EQ(elements_of(cache.value(0)), elements_of(rows(3)));
  const GrowingInput growing = *cache.growing(0, 5);
  EXPECT_EQ(growing.input, 5u);
  EXPECT_EQ(growing.dim, 1u);
  EXPECT_EQ(growing.room.sizes()[0], 2);
  EXPECT_GT(growing.room.sizes()[1], 3);

  // The result of a step is a view of the room, so nothing is copied.
  const Tensor longer = growing.room.with_view({2, 4}, growing.room.strides(), 0);
  cache.set(0, longer, 1);
  EXPECT_EQ(cache.copied_bytes(), 24u);
  EXPECT_EQ(cache.value(0).storage(), growing.room.storage());
}

TEST(Cache, KeepsAValueWithoutMemoryForARoom) {
  const Tensor value = rows(3);
  const MemoryAccount::Scope scope(std::make_shared<MemoryAccount>(100));
  Cache cache;
  cache.set(0, value, 1);
  EXPECT_EQ(cache.value(0).storage(), value.storage());
  EXPECT_FALSE(cache.growing(0, 0));
}

TEST(Cache, DoublesAFullRoom) {
  Cache cache;
  cache.set(0, rows(100), 1);
  const int64_t room = cache.growing(0, 0)->room.sizes()[1];
  EXPECT_EQ(room, 200);
  cache.make_room(100);
  EXPECT_EQ(cache.growing(0, 0)->room.sizes()[1], room);
  cache.make_room(101);
  EXPECT_EQ(cache.growing(0, 0)->room.sizes()[1], 402);
  EXPECT_EQ(elements_of(cache.value(0)), elements_of(rows(100)));
}

TEST(Cache, FollowsAWindowThroughItsRoom) {
  Cache cache;
  cache.set(0, rows(3), 1);
  const Tensor room = cache.growing(0, 0)->room;
  const uint64_t copied = cache.copied_bytes();
  cache.set(0, room.with_view({2, 3}, room.strides(), 1), 1);
  EXPECT_EQ(cache.copied_bytes(), copied);
  EXPECT_EQ(cache.growing(0, 0)->room.sizes()[1], room.sizes()[1] - 1);
  EXPECT_EQ(cache.growing(0, 0)->room.storage_offset(), 1);
}

TEST(Cache, CopiesWhatIsNoPartOfTheRoom) {
  Cache cache;
  cache.set(0, rows(3), 1);
  const Tensor room = cache.growing(0, 0)->room;
  cache.set(0, room.with_view({1, 3}, room.strides(), 0), 1);  // other rows
  EXPECT_NE(cache.value(0).storage(), room.storage());
  cache.set(0, rows(4), 1);
  EXPECT_EQ(elements_of(cache.value(0)), elements_of(rows(4)));
}

TEST(Cache, EnlargesFixedSizesWithZeros) {
  Cache cache;
  cache.set(0, rows(3), std::nullopt);
  cache.enlarge(0, 1, 5);
  EXPECT_EQ(cache.value(0).sizes(), (Sizes{2, 5}));
  EXPECT_EQ(elements_of(cache.value(0)), (std::vector<float>{0, 1, 2, 0, 0, 100, 101, 102, 0, 0}));
  EXPECT_FALSE(cache.growing(0, 0));
}

TEST(Cache, LeavesFixedSizesAlone) {
  Cache cache;
  const Tensor state = rows(3);
  cache.set(0, state, std::nullopt);
  EXPECT_EQ(cache.value(0).storage(), state.storage());
  EXPECT_FALSE(cache.growing(0, 0));
  EXPECT_EQ(cache.copied_bytes(), 0u);
}

}  // namespace
}  // namespace pt2::decode
