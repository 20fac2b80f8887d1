// Calls that must stay within their memory budget, and calls whose results are easily wrong.
#include <gtest/gtest.h>

#include <array>

#include "base/memory_account.h"
#include "ops/compose.h"
#include "ops/table.h"

namespace pt2::ops {
namespace {

template <class T>
Tensor tensor_of(Dtype dtype, std::vector<T> values) {
  return Tensor::from<T>(dtype, {static_cast<int64_t>(values.size())}, std::span<const T>(values));
}

template <class T>
std::vector<T> result_elements(const Result<Tensor>& tensor) {
  if (!tensor) {
    ADD_FAILURE() << tensor.error().text();
    return {};
  }
  const Tensor dense = tensor->contiguous();
  return {dense.as<T>().begin(), dense.as<T>().end()};
}

// The budget is large but finite, so that uncounted memory is noticed.
Result<Tensor> apply_within(uint64_t bytes, Handle handle,
                            std::initializer_list<Operand> arguments) {
  const auto account = std::make_shared<MemoryAccount>(bytes);
  const MemoryAccount::Scope scope(account);
  return apply(handle, arguments);
}

constexpr uint64_t kBudget = 64 << 20;
constexpr int64_t kHugeSize = int64_t{3} << 30;

TEST(HostileCalls, EmptyTensorsOfHugeDimsNeedNoMemory) {
  const Tensor empty = Tensor::zeros(Dtype::float32, {0, kHugeSize});
  const Value last(int64_t{1});
  EXPECT_TRUE(apply_within(kBudget, aten<"sort.default">, {empty, last}));
  EXPECT_TRUE(apply_within(kBudget, aten<"flip.default">, {empty, Value(Value::List{last})}));
  EXPECT_TRUE(apply_within(kBudget, aten<"rot90.default">, {empty}));
  const auto repeated =
      apply_within(kBudget, aten<"repeat_interleave.self_int">, {empty, int64_t{2}, last});
  ASSERT_TRUE(repeated) << repeated.error().text();
  EXPECT_EQ(repeated->sizes(), (Sizes{0, 2 * kHugeSize}));
  const auto difference = apply_within(kBudget, aten<"diff.default">, {empty, int64_t{100}, last});
  ASSERT_TRUE(difference) << difference.error().text();
  EXPECT_EQ(difference->sizes(), (Sizes{0, kHugeSize - 100}));
}

TEST(HostileCalls, EmptyMatricesOfHugeDimsNeedNoMemory) {
  const Tensor empty = Tensor::zeros(Dtype::float32, {0, kHugeSize});
  const auto flipped = apply_within(kBudget, aten<"fliplr.default">, {empty});
  ASSERT_TRUE(flipped) << flipped.error().text();
  EXPECT_EQ(flipped->sizes(), (Sizes{0, kHugeSize}));
  const auto inverse = apply_within(kBudget, aten<"pinverse.default">, {empty});
  ASSERT_TRUE(inverse) << inverse.error().text();
  EXPECT_EQ(inverse->sizes(), (Sizes{kHugeSize, 0}));
  const auto rank = apply_within(kBudget, aten<"linalg_matrix_rank.default">, {empty, 0.5});
  EXPECT_EQ(result_elements<int64_t>(rank), std::vector<int64_t>{0});
  const MemoryAccount::Scope scope(std::make_shared<MemoryAccount>(kBudget));
  const auto unpacked =
      apply_all(aten<"lu_unpack.default">, {empty, Tensor::zeros(Dtype::int32, {0})});
  ASSERT_TRUE(unpacked) << unpacked.error().text();
  EXPECT_EQ((*unpacked)[0].get_if<Tensor>()->sizes(), (Sizes{0, 0}));
  EXPECT_EQ((*unpacked)[2].get_if<Tensor>()->sizes(), (Sizes{0, kHugeSize}));
  const Tensor right = Tensor::zeros(Dtype::float32, {0, 0});
  const auto solved = apply_all(aten<"linalg_lstsq.default">, {empty, right});
  ASSERT_TRUE(solved) << solved.error().text();
  EXPECT_EQ((*solved)[0].get_if<Tensor>()->sizes(), (Sizes{kHugeSize, 0}));
}

TEST(HostileCalls, WorkingMemoryIsCounted) {
  const Tensor rows = Tensor::zeros(Dtype::int64, {0});
  const Tensor grad = Tensor::zeros(Dtype::float32, {0, 0});
  const Tensor few = Tensor::zeros(Dtype::float32, {200});
  const Result<Tensor> results[] = {
      apply_within(kBudget, aten<"repeat_interleave.Tensor">,
                   {Tensor::from<int64_t>(Dtype::int64, {1}, std::array{kHugeSize})}),
      apply_within(kBudget, aten<"median.default">,
                   {Tensor::zeros(Dtype::float32, {1}).with_view({kHugeSize}, {0}, 0)}),
      apply_within(kBudget, aten<"embedding_dense_backward.default">,
                   {grad, rows, Value(kHugeSize), Value(int64_t{-1}), Value(false)}),
      apply_within(kBudget, aten<"embedding_dense_backward.default">,
                   {grad, rows, Value(int64_t{1} << 61), Value(int64_t{-1}), Value(false)}),
      apply_within(
          kBudget, aten<"linalg_lstsq.default">,
          {Tensor::zeros(Dtype::float32, {0, kHugeSize}), Tensor::zeros(Dtype::float32, {0, 1})}),
      apply_within(kBudget, aten<"combinations.default">, {few, int64_t{100}}),
      apply_within(kBudget, aten<"combinations.default">, {few, int64_t{5}, true})};
  for (size_t i = 0; i < std::size(results); ++i) {
    ASSERT_FALSE(results[i]) << i;
    EXPECT_EQ(results[i].error().code, ErrorCode::limit) << i << results[i].error().text();
  }
}

TEST(HostileCalls, WorkBesidesElementsIsCounted) {
  constexpr uint64_t kMostWork = 1'000'000;
  const MemoryAccount::Scope scope(std::make_shared<MemoryAccount>(kBudget, kMostWork));
  // Each index is a line of the tensor, and one value stands for all elements.
  const Tensor self = Tensor::zeros(Dtype::float32, {4, 3, 50});
  const Value indices(Value::List{Value(), Tensor::zeros(Dtype::int64, {50'000})});
  const Value number(Tensor::zeros(Dtype::float32, {}));
  const auto put = apply(aten<"index_put.default">, {self, indices, number, true});
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, ErrorCode::limit) << put.error().text();
  // A network of one cell takes its time for each step.
  const Tensor one = Tensor::zeros(Dtype::float32, {1, 1});
  const auto network = apply_all(
      aten<"rnn_tanh.input">,
      {Tensor::zeros(Dtype::float32, {3000, 1, 1}), Tensor::zeros(Dtype::float32, {1, 1, 1}),
       Value(Value::List{one, one}), false, int64_t{1}, 0.0, false, false, false});
  ASSERT_FALSE(network);
  EXPECT_EQ(network.error().code, ErrorCode::limit) << network.error().text();
}

TEST(HostileCalls, StridesOfTransposedConvolutionsMayBeCropped) {
  const auto ints = [](int64_t number) { return Value(Value::List{Value(number)}); };
  const auto out =
      apply_within(kBudget, aten<"conv_transpose1d.default">,
                   {tensor_of<float>(Dtype::float32, {1, 2}).with_view({1, 1, 2}, {2, 2, 1}, 0),
                    tensor_of<float>(Dtype::float32, {1, 2, 3}).with_view({1, 1, 3}, {3, 3, 1}, 0),
                    Value(), ints(int64_t{1} << 62), ints(int64_t{1} << 61)});
  EXPECT_EQ(result_elements<float>(out), (std::vector<float>{0, 0, 0}));
}

TEST(HostileCalls, WhatATensorStandsForIsNotCopiedUnseen) {
  // 64 TB from one element: no kernel may make a working copy of that size.
  const Tensor one = Tensor::zeros(Dtype::float32, {1}).with_view({int64_t{1} << 44}, {0}, 0);
  const auto cloned = apply_within(kBudget, aten<"clone.default">, {one});
  ASSERT_FALSE(cloned);
  EXPECT_EQ(cloned.error().code, ErrorCode::limit);
}

// Each argument may take what the account has, for its elements were counted when it was made.
TEST(HostileCalls, StoredElementsAreNotCountedAgain) {
  const Tensor stored = Tensor::zeros(Dtype::float32, {100'000});
  const auto done = apply_within(1 << 20, aten<"relu.default">, {stored});
  ASSERT_TRUE(done) << done.error().text();
  const Tensor view = Tensor::zeros(Dtype::float32, {1}).with_view({100'000}, {0}, 0);
  const auto refused = apply_within(1 << 20, aten<"relu.default">, {view});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("shows 1 stored elements"), std::string::npos);
}

TEST(HostileCalls, MemoryIsGivenBack) {
  const auto account = std::make_shared<MemoryAccount>(1 << 20);
  {
    const MemoryAccount::Scope scope(account);
    for (int round = 0; round < 100; ++round) {
      const auto sum = apply(aten<"add.Tensor">, {Tensor::zeros(Dtype::float32, {10'000}), 1.0});
      ASSERT_TRUE(sum) << sum.error().text();
      EXPECT_LT(account->left(), account->limit());
    }
    EXPECT_EQ(account->left(), account->limit());
    const auto large = apply(aten<"ones.default">, {Value(Value::List{Value(int64_t{1} << 18)})});
    ASSERT_FALSE(large);
    EXPECT_NE(large.error().message.find("max_tensor_bytes"), std::string::npos);
  }
  EXPECT_EQ(MemoryAccount::current(), nullptr);
}

TEST(HostileCalls, CombinationsAreCountedFirst) {
  const Tensor five = tensor_of<int64_t>(Dtype::int64, {0, 1, 2, 3, 4});
  const auto pairs = apply(aten<"combinations.default">, {five});
  ASSERT_TRUE(pairs) << pairs.error().text();
  EXPECT_EQ(pairs->sizes(), (Sizes{10, 2}));
  const auto repeated = apply(aten<"combinations.default">, {five, int64_t{3}, true});
  ASSERT_TRUE(repeated) << repeated.error().text();
  EXPECT_EQ(repeated->sizes(), (Sizes{35, 3}));
  const auto all = apply(aten<"combinations.default">, {five, int64_t{5}});
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(all->sizes(), (Sizes{1, 5}));
}

// A file may record any sizes, so rules must not allocate tensors of the sizes that they are given.
TEST(HostileCalls, RulesMakeNoTensors) {
  const Tensor input = Tensor::without_elements(Dtype::float32, {1, 200'000'000'000, 2});
  const Tensor running = Tensor::without_elements(Dtype::float32, {200'000'000'000});
  const Operator op = find_operator("torch.ops.aten._native_batch_norm_legit_functional.default");
  const MemoryAccount::Scope scope(std::make_shared<MemoryAccount>(1 << 20));
  const std::vector<Value> arguments{input,   Value(),     Value(),    running,
                                     running, Value(true), Value(0.1), Value(1e-5)};
  EXPECT_TRUE(op.def->infer(arguments));
}

// Expected: torch 2.15, linspace with dtype=torch.int64 and fractional bounds.
TEST(HostileCalls, IntegerProgressionsTruncateTheirBounds) {
  const auto line = [](double start, double end, int64_t steps) {
    return result_elements<int64_t>(apply(
        aten<"linspace.default">, {Value(start), Value(end), Value(steps), Value(Dtype::int64)}));
  };
  EXPECT_EQ(line(0.9, 9.9, 7), (std::vector<int64_t>{0, 1, 3, 4, 6, 7, 9}));
  EXPECT_EQ(line(5.9, -2.7, 6), (std::vector<int64_t>{5, 3, 2, 0, 0, -2}));
}

// With such scales the step between source positions exceeds every integer.
TEST(HostileCalls, ResizingByAnyScaleStaysInside) {
  const Tensor image =
      Tensor::from<uint8_t>(Dtype::uint8, {1, 1, 2, 2}, std::array<uint8_t, 4>{1, 2, 3, 4});
  const Sizes size{2, 2};
  for (const double scale : {1e-10, 1e-25, 1e-300}) {
    const Result<Tensor> results[] = {
        apply_within(kBudget, aten<"upsample_nearest2d.default">, {image, size, scale, scale}),
        apply_within(kBudget, aten<"upsample_bilinear2d.default">,
                     {image, size, false, scale, scale}),
        apply_within(kBudget, aten<"upsample_bicubic2d.default">,
                     {image, size, false, scale, scale})};
    for (const Result<Tensor>& result : results)
      EXPECT_EQ(result_elements<uint8_t>(result)[3], 4) << scale;
  }
}

TEST(HostileCalls, WindowsMayBeAsFarApartAsNumbersAre) {
  const Tensor image = Tensor::of<float>({1, 2, 2}, {1, 2, 3, 4});
  const auto two = [](int64_t number) { return Value(Value::List{Value(number), Value(number)}); };
  const auto patches =
      apply(aten<"im2col.default">, {image, two(2), two(1), two(1), two(INT64_MAX - 1)});
  EXPECT_EQ(result_elements<float>(patches), (std::vector<float>{0, 0, 0, 1}));
}

TEST(HostileCalls, KernelsMayBeAsFarApartAsNumbersAre) {
  const auto list = [](int64_t number) { return Value(Value::List{Value(number)}); };
  const Tensor three = Tensor::of<double>({1, 1, 3}, {1, 2, 3});
  const Tensor nine = Tensor::of<double>({1, 1, 9}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Tensor one = Tensor::of<double>({1, 1, 1}, {1});
  const auto windows =
      apply(aten<"conv1d.default">, {three, nine, OptionalTensor(), list(INT64_MAX), list(3)});
  EXPECT_EQ(result_elements<double>(windows), std::vector<double>{4 + 2 * 5 + 3 * 6});
  const auto spread = apply(aten<"conv_transpose1d.default">,
                            {one, nine, OptionalTensor(), list(INT64_MAX), list(3)});
  EXPECT_EQ(result_elements<double>(spread), (std::vector<double>{4, 5, 6}));
  const auto two = [](int64_t a, int64_t b) { return Value(Value::List{Value(a), Value(b)}); };
  const auto spread_floats = apply(aten<"conv_transpose2d.input">,
                                   {Tensor::of<float>({1, 1, 1, 1}, {1}),
                                    Tensor::of<float>({1, 1, 1, 9}, {1, 2, 3, 4, 5, 6, 7, 8, 9}),
                                    OptionalTensor(), two(1, INT64_MAX), two(0, 3)});
  EXPECT_EQ(result_elements<float>(spread_floats), (std::vector<float>{4, 5, 6}));
}

TEST(HostileCalls, MeansOfIntegersMayHaveAnyDivisor) {
  const auto two = [](int64_t number) { return Value(Value::List{Value(number), Value(number)}); };
  const Tensor image = Tensor::of<int64_t>({1, 1, 2}, {INT64_MIN, 7});
  const auto means =
      apply(aten<"avg_pool2d.default">, {image, two(1), two(1), two(0), false, true, int64_t{-1}});
  EXPECT_EQ(result_elements<int64_t>(means), (std::vector<int64_t>{INT64_MIN, -7}));
}

TEST(HostileCalls, AnEmptyPartBehindTheEndIsResized) {
  const auto list = [](int64_t number) { return Value(Value::List{Value(number)}); };
  const auto part = apply(aten<"narrow.default">, {Tensor::zeros(Dtype::float32, {0, 10}),
                                                   int64_t{1}, int64_t{5}, int64_t{5}});
  ASSERT_TRUE(part) << part.error().text();
  const auto resized = apply(aten<"resize_.default">, {*part, list(500)});
  EXPECT_EQ(result_elements<float>(resized), std::vector<float>(500));
}

TEST(HostileCalls, ManyDiagonalsAreCheckedInLinearTime) {
  constexpr int64_t kMany = 400'000;
  const Tensor ones = *apply(aten<"ones.default">, {Value(Value::List{kMany, int64_t{1}})});
  const Tensor offsets = *apply(aten<"arange.default">, {kMany, Dtype::int64});
  const auto line =
      apply(aten<"_spdiags.default">, {ones, offsets, Value(Value::List{int64_t{1}, kMany})});
  ASSERT_TRUE(line) << line.error().text();
  EXPECT_EQ(line->as<float>()[0], 1);
}

TEST(HostileCalls, ToDenseConverts) {
  const auto dense = apply(aten<"to_dense.default">,
                           {tensor_of<float>(Dtype::float32, {1.5F}), Value(Dtype::int64)});
  EXPECT_EQ(result_elements<int64_t>(dense), std::vector<int64_t>{1});
}

// Results are equal on every processor. If the compiler fused a product with the following sum
// (-ffp-contract), 2^-24 and 2^-54 would remain.
TEST(HostileCalls, ProductsAreRoundedBeforeTheyAreAdded) {
  const auto rest = [](Dtype dtype, double step, size_t count) {
    const auto filled = [&](double value) {
      const std::vector<double> values(count, value);
      Tensor out = Tensor::from<double>(Dtype::float64, {static_cast<int64_t>(count)},
                                        std::span<const double>(values));
      return *apply(aten<"to.dtype">, {out, Value(dtype)});
    };
    const auto complex = [&](double real, double imaginary) {
      return *apply(aten<"complex.default">, {filled(real), filled(imaginary)});
    };
    // The real part is (1 + step)**2 - (1 + 2 * step).
    const auto product =
        apply(aten<"mul.Tensor">, {complex(1 + step, 1 + 2 * step), complex(1 + step, 1)});
    const auto real = apply(aten<"real.default">, {*product});
    return result_elements<double>(apply(aten<"to.dtype">, {*real, Value(Dtype::float64)}));
  };
  for (const size_t count : {1, 7, 64}) {
    EXPECT_EQ(rest(Dtype::float32, 0x1p-12, count), std::vector<double>(count));
    EXPECT_EQ(rest(Dtype::float64, 0x1p-27, count), std::vector<double>(count));
  }
}

// Expected: results of torch 2.15.
TEST(HostileCalls, TheLastBagEndsAsInPyTorch) {
  const std::vector<float> numbers{0, 1, 2, 3, 4, 5, 6, 7};
  const Tensor weight =
      Tensor::from<float>(Dtype::float32, {4, 2}, std::span<const float>(numbers));
  const Tensor indices = tensor_of<int64_t>(Dtype::int64, {0, 1, 2, 3, 1});
  const Tensor offsets = tensor_of<int64_t>(Dtype::int64, {0, 2, 4});
  const auto bag = [&](const Tensor& table, int64_t mode) {
    return result_elements<float>(apply(
        aten<"embedding_bag.default">,
        {table, indices, offsets, Value(false), Value(mode), Value(false), Value(), Value(true)}));
  };
  EXPECT_EQ(bag(weight, 0), (std::vector<float>{2, 4, 10, 12}));
  EXPECT_EQ(bag(weight, 1), (std::vector<float>{1, 2, 10.F / 3, 4}));
  EXPECT_EQ(bag(weight, 2), (std::vector<float>{2, 3, 6, 7}));
  // PyTorch sums rows that are not contiguous without FBGEMM.
  const Tensor turned = Tensor::from<float>(Dtype::float32, {2, 4}, std::span<const float>(numbers))
                            .with_view({4, 2}, {1, 4}, 0);
  EXPECT_EQ(bag(turned, 0), (std::vector<float>{1, 9, 6, 18}));
  EXPECT_EQ(bag(turned, 1), (std::vector<float>{0.5, 4.5, 2, 6}));
}

// Each number of the list adds a dim, in the rule as in the call.
TEST(HostileCalls, FormulasOfTooManyDimsAreNotInferred) {
  const Tensor matrix = Tensor::without_elements(Dtype::float32, {2, 2});
  const Value none(Value::List{}), zeros(Value::List(100'000, Value(int64_t{0})));
  const std::vector<Value> arguments{matrix, matrix, matrix, zeros, none, none, none, int64_t{1}};
  const auto metas = aten<"_trilinear.default">().def->infer(arguments);
  ASSERT_FALSE(metas);
  EXPECT_EQ(metas.error().code, ErrorCode::limit) << metas.error().text();
}

// Without momentum, buffers are neither read nor written, whatever tensors stand there.
TEST(HostileCalls, SgdWithoutMomentumLeavesItsBuffers) {
  const Tensor parameter = Tensor::of<float>({1}, {1});
  const std::vector<Tensor> self{parameter}, grads{Tensor::of<float>({1}, {2})};
  const auto done = apply_all(aten<"_fused_sgd_.default">,
                              {self, grads, self, 0., 0., .5, 0., false, false, false});
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(parameter.as<float>()[0], 0);
}

}  // namespace
}  // namespace pt2::ops
