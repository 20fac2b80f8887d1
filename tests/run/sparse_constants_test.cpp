// Sparse constants become dense if the program only converts them to dense tensors. A hostile file
// can neither exceed the limits nor cause writes out of bounds.
#include "run/sparse_constants.h"

#include <gtest/gtest.h>

#include "run/graph_maker.h"

namespace pt2::run {
namespace {

PayloadTensor coo(Sizes sizes, const std::vector<int64_t>& indices, Sizes index_sizes,
                  Tensor values) {
  PayloadTensor payload;
  payload.name = "s";
  payload.missing = "layout torch.sparse_coo";
  payload.sizes = std::move(sizes);
  payload.parts = {Tensor::from<int64_t>(Dtype::int64, std::move(index_sizes),
                                         std::span<const int64_t>(indices)),
                   std::move(values)};
  return payload;
}

Graph user(const std::string& target) {
  GraphMaker maker;
  const ValueId s = maker.input("s");
  maker.graph.set_outputs({Argument(maker.call(target, {named("self", s)}))});
  return std::move(maker.graph);
}

TEST(SparseConstants, BecomeDense) {
  const Graph graph = user("torch.ops.aten.to_dense.default");
  const auto dense = dense_constant(
      graph, "s", coo({2, 3}, {0, 1, 1, 2, 0, 0}, {2, 3}, floats({3}, {5, 1, 2})), {});
  ASSERT_TRUE(dense) << dense.error().text();
  EXPECT_EQ(elements(Value(*dense)), (std::vector<float>{0, 0, 5, 3, 0, 0}));
  // One sparse dimension; each value is a row of two.
  const auto rows =
      dense_constant(graph, "s", coo({3, 2}, {2}, {1, 1}, floats({1, 2}, {7, 8})), {});
  ASSERT_TRUE(rows) << rows.error().text();
  EXPECT_EQ(elements(Value(*rows)), (std::vector<float>{0, 0, 0, 0, 7, 8}));
}

TEST(SparseConstants, AreRefusedElsewhere) {
  const auto dense = dense_constant(user("torch.ops.aten.relu.default"), "s",
                                    coo({2}, {0}, {1, 1}, floats({1}, {1})), {});
  ASSERT_FALSE(dense);
  EXPECT_EQ(dense.error().code, ErrorCode::unsupported);
  EXPECT_EQ(dense.error().message,
            "the tensor 's' has the layout torch.sparse_coo and is used by %v0 "
            "(torch.ops.aten.relu.default); only aten.to_dense takes it here");
}

TEST(SparseConstants, AreCheckedBeforeAnythingIsAllocated) {
  const Graph graph = user("torch.ops.aten.to_dense.default");
  const auto code = [&](const PayloadTensor& payload) {
    const auto dense = dense_constant(graph, "s", payload, {.max_fake_bytes = 1000});
    return dense ? std::optional<ErrorCode>() : dense.error().code;
  };
  const Tensor one = floats({1}, {1});
  EXPECT_EQ(code(coo({int64_t{1} << 62, int64_t{1} << 62}, {0, 0}, {2, 1}, one)), ErrorCode::limit);
  EXPECT_EQ(code(coo({251}, {0}, {1, 1}, one)), ErrorCode::limit);
  EXPECT_EQ(code(coo({250}, {0}, {1, 1}, one)), std::nullopt);
  EXPECT_EQ(code(coo({2}, {2}, {1, 1}, one)), ErrorCode::invalid);     // index out of bounds
  EXPECT_EQ(code(coo({2}, {0, 1}, {1, 2}, one)), ErrorCode::invalid);  // two indices, one value
  EXPECT_EQ(code(coo({2, 2}, {0}, {1, 1}, one)), ErrorCode::invalid);  // too few dimensions
  EXPECT_EQ(code(coo({2}, {0}, {1}, one)), ErrorCode::invalid);        // indices have one dim
  EXPECT_EQ(code(coo({2, 3}, {0}, {1, 1}, floats({1, 2}, {1, 2}))), ErrorCode::invalid);
}

}  // namespace
}  // namespace pt2::run
