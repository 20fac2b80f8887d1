// Reads and writes at indices: expanded index tensors, writes in place, and elements that are
// copied in contiguous runs.
#include <gtest/gtest.h>

#include <random>

#include "ops/compose.h"
#include "ops/listed_calls.h"
#include "ops/loops.h"
#include "ops/table.h"

namespace pt2::ops {
namespace {

void expect_equal(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(found.sizes(), expected.sizes());
  Tensor a = Tensor::zeros(Dtype::float32, found.sizes()), b = a.clone();
  copy_elements(a, found);
  copy_elements(b, expected);
  const auto x = a.as<float>(), y = b.as<float>();
  EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin(), y.end()));
}

// Kernels may exploit an expanded index tensor, but must give the results of a dense one.
TEST(Indexing, ExpandedIndicesAreLikeOthers) {
  std::mt19937 random(3);
  const auto whole = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int round = 0; round < 200; ++round) {
    const int64_t dim = whole(0, 2);
    Sizes sizes{whole(1, 4), whole(1, 5), whole(1, 6)};
    Sizes index_sizes = sizes, narrow = sizes;
    index_sizes[static_cast<size_t>(dim)] = whole(1, 7);
    narrow = index_sizes;
    for (size_t i = 0; i < 3; ++i)
      if (static_cast<int64_t>(i) != dim) {
        index_sizes[i] = whole(1, sizes[i]);
        narrow[i] = whole(0, 2) == 0 ? index_sizes[i] : 1;
      }
    std::vector<int64_t> places(static_cast<size_t>(*checked_numel(narrow)));
    for (int64_t& place : places) place = whole(0, sizes[static_cast<size_t>(dim)] - 1);
    const Tensor expanded = broadcast_to(
        Tensor::from<int64_t>(Dtype::int64, narrow, std::span<const int64_t>(places)), index_sizes);
    const Tensor dense = expanded.contiguous();
    Tensor self = counted(sizes, round % 3 == 0 ? Dtype::bfloat16 : Dtype::float32);
    if (round % 4 == 0) {
      // The dimensions have another order in memory.
      const Tensor turned = counted({sizes[2], sizes[0], sizes[1]}, self.dtype());
      self = turned.with_view(sizes, {turned.stride(1), turned.stride(2), turned.stride(0)}, 0);
    }
    const Tensor source = counted(index_sizes, self.dtype());
    const auto both = [&](auto call) { expect_equal(*call(expanded), *call(dense)); };
    both([&](const Tensor& index) { return apply(aten<"gather.default">, {self, dim, index}); });
    both([&](const Tensor& index) {
      return apply(aten<"scatter_add.default">, {self, dim, index, source});
    });
    both([&](const Tensor& index) {
      return apply(aten<"scatter.src">, {self, dim, index, source});
    });
    for (const char* reduce : {"amax", "mean", "prod"})
      both([&](const Tensor& index) {
        return apply(aten<"scatter_reduce.two">,
                     {self, dim, index, source, std::string(reduce), round % 2 == 0});
      });
  }
}

std::vector<Value> put_arguments(const Tensor& self, const Tensor& values) {
  return {self, Value(Value::List{Value(), Value(Tensor::of<int64_t>({2}, {3, 1}))}), values,
          false};
}

// A write to few rows of a large cache must not copy the cache.
TEST(Indexing, PositionsAreWrittenWhereTheTensorLies) {
  const Tensor index = Tensor::of<int64_t>({2}, {3, 1});
  const Tensor source = counted({2, 2});
  const Tensor places = Tensor::of<int64_t>({2, 2}, {3, 1, 0, 2});
  struct Call {
    std::string name, overload;
    std::vector<Value> arguments;
  };
  const std::vector<Call> calls = {
      {"index_put", "default", {Value(Value::List{Value(), Value(index)}), source, false}},
      {"index_put", "default", {Value(Value::List{Value(), Value(index)}), source, true}},
      {"index_copy", "default", {int64_t{1}, index, source}},
      {"index_add", "default", {int64_t{1}, index, source, int64_t{2}}},
      {"index_fill", "int_Scalar", {int64_t{1}, index, 2.5}},
      {"index_fill", "int_Tensor", {int64_t{1}, index, counted({})}},
      {"put", "default", {places, source, true}},
      {"scatter", "src", {int64_t{1}, places, source}},
      {"scatter", "value", {int64_t{1}, places, 2.5}},
      {"scatter_reduce", "two", {int64_t{1}, places, source, std::string("mean"), false}},
      {"scatter_reduce", "two", {int64_t{1}, places, source, std::string("amax"), true}},
      {"scatter_add", "default", {int64_t{1}, places, source}},
      {"copy", "default", {counted({2, 1}), false}}};
  for (const Call& call : calls)
    for (const bool is_turned : {false, true}) {
      Tensor self = counted({2, 4});
      if (is_turned) self = counted({4, 2}).with_view({2, 4}, {1, 2}, 0);
      std::vector<Value> arguments = call.arguments;
      arguments.insert(arguments.begin(), Value(self));
      Context context;
      const std::string target = "torch.ops.aten." + call.name;
      const auto expected =
          ops::call(find_operator(target + "." + call.overload), context, arguments);
      ASSERT_TRUE(expected) << expected.error().text();
      const auto found =
          ops::call(find_operator(target + "_." + call.overload), context, arguments);
      ASSERT_TRUE(found) << found.error().text();
      EXPECT_EQ((*found)[0].get_if<Tensor>()->raw_data(), self.raw_data());
      expect_equal(self, *(*expected)[0].get_if<Tensor>());
    }
}

TEST(Indexing, WhatIsReadIsNotWrittenTo) {
  const Operator put = find_operator("torch.ops.aten.index_put_.default");
  Context context;
  // The values are rows of the tensor itself.
  Tensor self = counted({2, 4});
  const Tensor values = self.with_view({2, 2}, {4, 1}, 0);
  const Tensor copy = self.clone();
  const auto expected = ops::call(find_operator("torch.ops.aten.index_put.default"), context,
                                  put_arguments(copy, values.contiguous()));
  ASSERT_TRUE(ops::call(put, context, put_arguments(self, values)));
  expect_equal(self, *(*expected)[0].get_if<Tensor>());
  // An index beyond the end changes nothing.
  const Tensor before = self.clone();
  std::vector<Value> arguments = put_arguments(self, counted({2, 2}));
  arguments[1] = Value(Value::List{Value(), Value(Tensor::of<int64_t>({2}, {0, 4}))});
  EXPECT_FALSE(ops::call(put, context, arguments));
  expect_equal(self, before);
}

TEST(Indexing, NoIndexIsReadWhereThereAreNoElements) {
  const Tensor mask = Tensor::zeros(Dtype::bool_, {0, 3});
  const OptionalTensors indices{Tensor::of<int64_t>({2, 1}, {-1, 7}), std::nullopt};
  const auto found = apply(aten<"_unsafe_masked_index.default">,
                           {Tensor::zeros(Dtype::float32, {0, 3}), mask, indices, 4});
  ASSERT_TRUE(found);
  Tensor fours = Tensor::zeros(Dtype::float32, {2, 1, 3});
  fill_elements(fours, 4);
  expect_equal(*found, fours);
}

TEST(Indexing, PlacesAlongADimAreTakenModuloItsSize) {
  const Tensor places = Tensor::of<int64_t>({1, 4}, {-1, 0, 7, -6});
  const auto found = apply(aten<"take_along_dim.default">, {counted({1, 5}), places, 1});
  ASSERT_TRUE(found);
  const Tensor expected = Tensor::of<float>({1, 4}, {5, 1, 3, 5});
  expect_equal(*found, expected);
}

// Rows of several widths, with and without padding beside them.
TEST(Indexing, RunsOfElementsAreCopiedAsAWhole) {
  for (const int64_t width : {1, 7, 8, 40})
    for (const Sizes& pad : {Sizes{3, 2}, Sizes{-1, 4}, Sizes{0, 0, 1, 2}, Sizes{2, -1, -1, 1}}) {
      const Tensor self = counted({3, width});
      const auto padded = apply(aten<"constant_pad_nd.default">, {self, pad, 9.0});
      if (width + pad[0] + pad[1] <= 0) continue;
      ASSERT_TRUE(padded) << padded.error().text();
      const auto all = padded->elements<float>();
      const std::vector<float> found(all.begin(), all.end());
      const int64_t top = pad.size() > 2 ? pad[2] : 0;
      for (int64_t row = 0; row < padded->size(0); ++row)
        for (int64_t column = 0; column < padded->size(1); ++column) {
          const int64_t y = row - top, x = column - pad[0];
          const bool is_inside = y >= 0 && y < 3 && x >= 0 && x < width;
          EXPECT_EQ(found[static_cast<size_t>(row * padded->size(1) + column)],
                    is_inside ? static_cast<float>(y * width + x + 1) : 9.0f);
        }
    }
}

// Flips and rotations, compared with index_select, which moves one index at a time.
TEST(Indexing, FlipsAndTurnsMoveEveryElement) {
  std::mt19937 random(11);
  const auto whole = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int round = 0; round < 300; ++round) {
    const Dtype dtype = std::array{Dtype::float32, Dtype::uint8, Dtype::bfloat16,
                                   Dtype::float64}[static_cast<size_t>(whole(0, 3))];
    const Tensor dense = counted({whole(0, 4), whole(1, 9), whole(1, 40)}, dtype);
    const Tensor self = whole(0, 2) == 0 ? *apply(aten<"permute.default">, {dense, Sizes{2, 0, 1}})
                        : whole(0, 3) == 0
                            ? *apply(aten<"expand.default">,
                                     {*apply(aten<"unsqueeze.default">,
                                             {*apply(aten<"select.int">, {dense, 1, 0}), 0}),
                                      Sizes{3, dense.size(0), dense.size(2)}})
                            : dense;
    const int64_t a = whole(0, 2), b = (a + whole(1, 2)) % 3, turns = whole(-5, 5);
    const auto flipped = apply(aten<"flip.default">, {self, Sizes{a}});
    const auto both = apply(aten<"flip.default">, {self, Sizes{a, b}});
    const auto turned = apply(aten<"rot90.default">, {self, turns, Sizes{a, b}});
    ASSERT_TRUE(flipped && both && turned);
    // Flips a dimension with index_select.
    const auto backwards = [&](const Tensor& tensor, int64_t dim) {
      Tensor places = Tensor::zeros(Dtype::int64, {tensor.size(dim)});
      for (int64_t i = 0; i < places.numel(); ++i)
        places.data<int64_t>()[i] = places.numel() - 1 - i;
      return *apply(aten<"index_select.default">, {tensor, dim, places});
    };
    expect_equal(*flipped, backwards(self, a));
    expect_equal(*both, backwards(backwards(self, a), b));
    Tensor expected = self;
    for (int64_t i = 0; i < ((turns % 4) + 4) % 4; ++i)
      expected = *apply(aten<"transpose.int">, {backwards(expected, b), a, b});
    expect_equal(*turned, expected);
  }
}

}  // namespace
}  // namespace pt2::ops
