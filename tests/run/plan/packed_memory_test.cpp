#include "run/plan/packed_memory.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pt2::run {
namespace {

class PackedMemoryTest : public testing::Test {
 protected:
  PackedMemory memory(std::string_view order, Sizes numbers, Dtype dtype = Dtype::float32) {
    return {copies_, {order, weight_.data(), dtype, std::move(numbers)}};
  }
  const float* get(const PackedMemory& memory, int64_t count = 4) {
    return memory.get(count, [&](float* to) {
      ++packed_;
      std::copy_n(weight_.data(), 4, to);
    });
  }

  std::vector<float> weight_{1, 2, 3, 4};
  std::shared_ptr<WeightCopies> copies_ = std::make_shared<WeightCopies>(64);
  int packed_ = 0;
};

TEST_F(PackedMemoryTest, StepsThatAskForTheSameShareIt) {
  const PackedMemory first = memory("panels", {2, 2, 1, 2}),
                     second = memory("panels", {2, 2, 1, 2});
  EXPECT_EQ(get(first), get(second));
  EXPECT_EQ(packed_, 1);
}

TEST_F(PackedMemoryTest, OtherOrdersAndOtherWaysToReadAreOtherCopies) {
  const PackedMemory first = memory("panels", {2, 2, 1, 2}),
                     turned = memory("turned", {2, 2, 1, 2}),
                     strided = memory("panels", {2, 2, 2, 1}), own(copies_);
  EXPECT_NE(get(first), get(turned));
  EXPECT_NE(get(first), get(strided));
  EXPECT_NE(get(first), get(own));
  EXPECT_EQ(packed_, 4);
}

TEST_F(PackedMemoryTest, AWeightSeenAsAnotherDtypeIsAnotherCopy) {
  const PackedMemory floats = memory("gates", {4}), halves = memory("gates", {4}, Dtype::float16);
  EXPECT_NE(get(floats), get(halves));
  EXPECT_EQ(packed_, 2);
}

TEST_F(PackedMemoryTest, AStepThatNeedsMoreThanWasPackedGetsNothing) {
  const PackedMemory first = memory("panels", {4}), second = memory("panels", {4});
  EXPECT_NE(get(first), nullptr);
  EXPECT_EQ(get(second, 5), nullptr);
}

TEST_F(PackedMemoryTest, WhatNobodyHoldsIsForgotten) {
  { get(memory("panels", {4})); }
  get(memory("panels", {4}));
  EXPECT_EQ(packed_, 2);
}

TEST_F(PackedMemoryTest, WithoutRoomNothingIsKept) {
  const PackedMemory large = memory("panels", {4});
  EXPECT_EQ(get(large, 17), nullptr);
  std::vector<float> once;
  const float* filled = large.get(
      4, [](float* to) { *to = 5; }, once);
  EXPECT_EQ(filled, once.data());
  EXPECT_EQ(once[0], 5);
}

}  // namespace
}  // namespace pt2::run
