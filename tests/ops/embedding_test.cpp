#include <gtest/gtest.h>

#include "ops/compose.h"

namespace pt2::ops {
namespace {

// torch 2.15's numbers.
TEST(Embedding, RowsThatAreLookedUpAreShortened) {
  const Tensor weight = Tensor::of<float>({4, 2}, {3, 4, 1, 1, 6, 8, 0.5, 0});
  const auto shortened = apply(aten<"embedding_renorm.default">,
                               {weight, Tensor::of<int64_t>({0, 2, 2, 3}), 1.0, 2.0});
  ASSERT_TRUE(shortened) << shortened.error().text();
  const float expected[] = {0.6000000238418579f, 0.800000011920929f, 1,   1,
                            0.6000000238418579f, 0.800000011920929f, 0.5, 0};
  const auto found = shortened->elements<float>();
  EXPECT_TRUE(std::equal(found.begin(), found.end(), expected));
  EXPECT_EQ(weight.as<float>()[0], 3);
  EXPECT_FALSE(
      apply(aten<"embedding_renorm.default">, {weight, Tensor::of<int64_t>({4}), 1.0, 2.0}));
}

}  // namespace
}  // namespace pt2::ops
