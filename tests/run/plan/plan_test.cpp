// Plans: which nodes become one step, and that steps compute what the single nodes compute.
#include <algorithm>
#include <ctime>

#include "ops/loops.h"
#include "run/plan/plan_case.h"

namespace pt2::run {
namespace {

std::vector<NamedArgument> convolution(ValueId input, ValueId weight, ValueId bias,
                                       int64_t padding = 1) {
  return {named("input", Argument(input)), named("weight", Argument(weight)),
          named("bias", Argument(bias)), named("stride", ints({1, 1})),
          named("padding", ints({padding, padding}))};
}
ValueId batch_norm(Case& graph, ValueId input, int64_t channels) {
  return graph.call(
      "batch_norm.default",
      {named("input", Argument(input)), named("weight", Argument(graph.weight({channels}))),
       named("bias", Argument(graph.weight({channels}))),
       named("running_mean", Argument(graph.weight({channels}))),
       named("running_var", Argument(graph.weight({channels}, 0.1f))),
       named("training", Argument(false)), named("momentum", Argument(0.1)),
       named("eps", Argument(1e-5)), named("cudnn_enabled", Argument(false))});
}

TEST(Plan, AResidualBlockIsTwoConvolutions) {
  Case graph;
  const ValueId x = graph.input({2, 8, 5, 7});
  const ValueId a =
      graph.call("conv2d.default", convolution(x, graph.weight({8, 8, 3, 3}), graph.weight({8})));
  const ValueId b = graph.call("relu.default", {self(batch_norm(graph, a, 8))});
  const ValueId c =
      graph.call("conv2d.default", convolution(b, graph.weight({8, 8, 3, 3}), graph.weight({8})));
  const ValueId d = graph.call("add.Tensor", {self(batch_norm(graph, c, 8)), other(x)});
  graph.output(graph.call("relu.default", {self(d)}));
  EXPECT_EQ(graph.check(), (Names{"convolution", "convolution"}));
}

TEST(Plan, CallersFindTheUpperHalvesOfRegistersUnused) {
  Case graph;
  const ValueId x = graph.input({1, 64, 20, 20});
  graph.output(graph.call("conv2d.default", {named("input", Argument(x)),
                                             named("weight", Argument(graph.weight({64, 1, 3, 3}))),
                                             named("groups", Argument(int64_t{64}))}));
  EXPECT_EQ(graph.check(), Names{"convolution"});
  EXPECT_FALSE(graph.left_upper_halves());
}

TEST(Plan, AResultThatOthersNeedIsNotJoined) {
  Case graph;
  const ValueId x = graph.input({1, 3, 6, 6});
  const ValueId a =
      graph.call("conv2d.default", convolution(x, graph.weight({4, 3, 3, 3}), graph.weight({4})));
  graph.output(a);
  graph.output(graph.call("relu.default", {self(a)}));
  EXPECT_EQ(graph.check(), (Names{"convolution", "pointwise"}));
}

// Each asks how often the input is concatenated: it may grow if it is once.
TEST(Plan, ConcatenationsOfOneInputArePlannedInLinearTime) {
  const auto seconds = [](int count) {
    GraphMaker maker;
    const ValueId x = maker.input("x");
    for (int i = 0; i < count; ++i)
      maker.call("torch.ops.aten.cat.default",
                 {named("tensors", Argument(ArgumentList{.kind = ListKind::tensors,
                                                         .items = {Argument(x), Argument(x)}}))});
    maker.graph.set_outputs({Argument(x)});
    const auto bound = bind_graph(maker.graph).value();
    double least = 1e9;
    for (int i = 0; i < 3; ++i) {
      const std::clock_t start = std::clock();
      make_plan(*bound, std::vector<Value>(1), {true});
      least = std::min(least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return least;
  };
  EXPECT_LT(seconds(16'000), 24 * seconds(2'000) + 0.05);
}

TEST(Plan, NodesWithoutAResultOfTheirOwnAreTheReferenceExecutors) {
  Case graph;
  const ValueId x = graph.input({2, 3});
  const ValueId none = graph.call("relu.default", {self(x)});
  graph.set_results(none, {});
  const ValueId more = graph.call("relu.default", {self(x)});
  graph.set_results(more, {Argument(None{})});
  graph.output(graph.call("relu.default", {self(x)}));
  EXPECT_EQ(graph.check(), (Names{"reference", "reference", "pointwise"}));
}

// Steps accept more than operators: rows of any rank, broadcast batches, tensors as scalars. The
// plan must refuse what the operator refuses.
TEST(Plan, WhatAnOperatorRefusesIsRefused) {
  struct Refused {
    const char* target;
    Sizes left, right;
    bool is_weight;
  };
  const Refused all[] = {
      {"mm.default", {4}, {4, 3}, true},      {"mm.default", {2, 5, 4}, {4, 3}, true},
      {"mm.default", {4}, {4, 3}, false},     {"bmm.default", {1, 2, 4}, {5, 4, 3}, false},
      {"bmm.default", {2, 4}, {4, 3}, false}, {"mul.Scalar", {2, 3}, {2, 3}, false},
      {"add.Scalar", {3}, {}, false}};
  for (const Refused& each : all) {
    Case graph;
    const std::string_view target = each.target;
    const ValueId left = graph.input(each.left);
    const ValueId right = each.is_weight ? graph.weight(each.right) : graph.input(each.right);
    const char* const name = target.ends_with("Scalar") ? "other" : "mat2";
    graph.record(left, each.left);
    graph.record(right, each.right);
    graph.output(graph.call(each.target, {self(left), named(name, Argument(right))}));
    EXPECT_TRUE(graph.fails_alike()) << each.target << ops::sizes_text(each.left);
  }
}

// The same for an operator that the step of a later node absorbs.
TEST(Plan, WhatAnOperatorRefusesIsRefusedInAChain) {
  Case graph;
  const ValueId x = graph.input({3}), number = graph.input({});
  graph.record(x, {3});
  graph.record(number, {});
  const ValueId sum = graph.call("add.Tensor", {self(x), other(x)});
  const ValueId product = graph.call("mul.Scalar", {self(sum), other(number)});
  const ValueId last = graph.call("add.Tensor", {self(product), other(x)});
  for (const ValueId each : {sum, product, last}) graph.record(each, {3});
  graph.output(last);
  EXPECT_TRUE(graph.fails_alike());
}

TEST(Plan, ViewsOfImagesSeeThemInTheirOrder) {
  Case graph;
  const ValueId x = graph.input({2, 3, 6, 6});
  const ValueId a =
      graph.call("conv2d.default", convolution(x, graph.weight({4, 3, 3, 3}), graph.weight({4})));
  const ValueId flat =
      graph.call("flatten.using_ints", {self(a), named("start_dim", Argument(int64_t{1}))});
  graph.output(graph.call("linear.default", {named("input", Argument(flat)),
                                             named("weight", Argument(graph.weight({5, 144}))),
                                             named("bias", Argument(graph.weight({5})))}));
  graph.output(graph.call("permute.default", {self(a), named("dims", ints({0, 2, 3, 1}))}));
  EXPECT_EQ(graph.check(), (Names{"convolution", "reference", "product", "reference"}));
}

// In PyTorch the result of a pointwise operator has the strides of its operands. The view exists
// only for these strides.
TEST(Plan, ViewsThatExistOnlyOfTheProgramsOwnStrides) {
  Case graph;
  const ValueId x = graph.input({2, 6, 5, 8});
  const auto turned = [&](ValueId value) {
    return graph.call("transpose.int", {self(value), named("dim0", Argument(int64_t{1})),
                                        named("dim1", Argument(int64_t{2}))});
  };
  const ValueId sum =
      graph.call("add.Tensor", {self(turned(x)), named("other", Argument(turned(x)))});
  graph.output(graph.call("view.default", {self(turned(sum)), named("size", ints({2, -1}))}));
  EXPECT_EQ(graph.check(),
            (Names{"reference", "reference", "pointwise", "reference", "reference"}));
}

// The same for pairs seen as complex numbers.
TEST(Plan, PairsThatExistOnlyOfTheProgramsOwnStrides) {
  Case graph;
  const ValueId x = graph.input({2, 6, 5, 2});
  const auto turned = [&](ValueId value) {
    return graph.call("transpose.int", {self(value), named("dim0", Argument(int64_t{2})),
                                        named("dim1", Argument(int64_t{3}))});
  };
  const ValueId sum =
      graph.call("add.Tensor", {self(turned(x)), named("other", Argument(turned(x)))});
  graph.output(graph.call("view_as_complex.default", {self(turned(sum))}));
  EXPECT_EQ(graph.check(),
            (Names{"reference", "reference", "pointwise", "reference", "reference"}));
}

// A view of a value that is written to shares its memory, so it cannot be a copy.
TEST(Plan, WhatIsWrittenToLiesAsTheProgramRecords) {
  for (const bool by_reference : {false, true}) {
    Case graph;
    const ValueId x = graph.input({2, 6, 5, 8});
    const auto turned = [&](ValueId value) {
      return graph.call("transpose.int", {self(value), named("dim0", Argument(int64_t{1})),
                                          named("dim1", Argument(int64_t{2}))});
    };
    const ValueId sum =
        graph.call("add.Tensor", {self(turned(x)), named("other", Argument(turned(x)))});
    const ValueId written =
        by_reference ? graph.call("special_bessel_j0.default", {self(sum)}) : sum;
    graph.record(written, {2, 5, 6, 8}, Dtype::float32, {240, 8, 40, 1});
    const ValueId seen =
        graph.call("view.default", {self(turned(written)), named("size", ints({2, -1}))});
    graph.call("add_.Scalar", {self(written), named("other", Argument(1.0))});
    graph.output(seen);
    Names names(by_reference ? 7 : 6, "reference");
    names[2] = "pointwise";
    EXPECT_EQ(graph.check(), names);
  }
}

TEST(Plan, WhatIsWrittenToIsNotJoined) {
  Case graph;
  const ValueId x = graph.input({1, 4, 5, 5});
  const ValueId a =
      graph.call("conv2d.default", convolution(x, graph.weight({4, 4, 3, 3}), graph.weight({4})));
  const ValueId view = graph.call("view.default", {self(a), named("size", ints({4, 25}))});
  const ValueId changed = graph.call("relu_.default", {self(a)});
  graph.output(graph.call("add.Tensor", {self(view), other(graph.weight({25}))}));
  graph.output(changed);
  EXPECT_EQ(graph.check(), (Names{"convolution", "reference", "reference", "pointwise"}));
}

TEST(Plan, ProductsTakeBiasAddendAndActivationAcrossViews) {
  Case graph;
  const ValueId x = graph.input({2, 7, 12});
  const ValueId rows = graph.call("view.default", {self(x), named("size", ints({14, 12}))});
  const ValueId a =
      graph.call("addmm.default", {self(graph.weight({9})), named("mat1", Argument(rows)),
                                   named("mat2", Argument(graph.weight({12, 9})))});
  const ValueId b = graph.call("view.default", {self(a), named("size", ints({2, 7, 9}))});
  const ValueId c = graph.call("add.Tensor", {self(graph.input({2, 7, 9})), other(b)});
  graph.output(graph.call("gelu.default", {self(c)}));
  EXPECT_EQ(graph.check(), (Names{"reference", "product"}));
}

TEST(Plan, AnAddendOfOtherSizesIsAddedBehind) {
  Case graph;
  const ValueId x = graph.input({3, 6});
  const ValueId a = graph.call("linear.default", {named("input", Argument(x)),
                                                  named("weight", Argument(graph.weight({4, 6})))});
  graph.output(graph.call("add.Tensor", {self(a), other(graph.input({1, 4}))}));
  EXPECT_EQ(graph.check(), Names{"product"});
}

TEST(Plan, ScalesOfChannelsReachRearrangedImages) {
  Case graph;
  const ValueId x = graph.input({2, 4, 5, 5});
  const ValueId a =
      graph.call("conv2d.default", convolution(x, graph.weight({6, 4, 3, 3}), graph.weight({6})));
  const ValueId pooled =
      graph.call("adaptive_avg_pool2d.default", {self(a), named("output_size", ints({1, 1}))});
  const ValueId gate = graph.call("sigmoid.default", {self(pooled)});
  graph.output(graph.call("mul.Tensor", {self(a), other(gate)}));
  EXPECT_EQ(graph.check(), (Names{"convolution", "pooling", "pointwise_chain"}));
}

TEST(Plan, NormsAndSoftmax) {
  Case graph;
  const ValueId x = graph.input({3, 4, 10});
  const ValueId a = graph.call(
      "layer_norm.default",
      {named("input", Argument(x)), named("normalized_shape", ints({10})),
       named("weight", Argument(graph.weight({10}))), named("bias", Argument(graph.weight({10})))});
  graph.output(graph.call("softmax.int", {self(a), named("dim", Argument(int64_t{-1}))}));
  graph.output(graph.call("mean.dim", {self(a), named("dim", ints({-1, 1}))}));
  EXPECT_EQ(graph.check(), (Names{"layer_norm", "softmax", "mean"}));
}

TEST(Plan, SoftmaxOverAnyDimension) {
  Case graph;
  const ValueId x = graph.input({2, 4, 5, 6});
  const ValueId image =
      graph.call("conv2d.default", convolution(x, graph.weight({7, 4, 3, 3}), graph.weight({7})));
  for (const int64_t dim : {0, 1, -2, 3}) {
    graph.output(graph.call("softmax.int", {self(x), named("dim", Argument(dim))}));
    graph.output(graph.call("log_softmax.int", {self(image), named("dim", Argument(dim))}));
  }
  EXPECT_EQ(graph.check(), (Names{"convolution", "softmax", "softmax", "softmax", "softmax",
                                  "softmax", "softmax", "softmax", "softmax"}));
}

TEST(Plan, ZerosAroundAnImageAreTheConvolutions) {
  Case graph;
  const ValueId x = graph.input({1, 3, 8, 9});
  const auto padded = [&](const std::string& target, const Sizes& pads, NamedArgument value) {
    return graph.call(target, {self(x), named("pad", ints(pads)), std::move(value)});
  };
  const auto convolve = [&](ValueId input) {
    graph.output(graph.call("conv2d.default",
                            convolution(input, graph.weight({4, 3, 3, 3}), graph.weight({4}))));
  };
  convolve(padded("constant_pad_nd.default", {1, 2, 0, 3}, named("value", Argument(0.0))));
  convolve(padded("pad.default", {0, 1}, named("mode", Argument(std::string("constant")))));
  // These nodes do not pad with zeros.
  convolve(padded("constant_pad_nd.default", {1, 1}, named("value", Argument(1.0))));
  convolve(padded("constant_pad_nd.default", {1, -1}, named("value", Argument(0.0))));
  convolve(padded("pad.default", {1, 1, 1, 1}, named("mode", Argument(std::string("reflect")))));
  EXPECT_EQ(graph.check(), (Names{"convolution", "convolution", "mapped_copy", "convolution",
                                  "mapped_copy", "convolution", "mapped_copy", "convolution"}));
}

TEST(Plan, ABatchNormalizationThatWasTakenApartIsTheConvolutions) {
  Case graph;
  const ValueId x = graph.input({2, 3, 6, 5});
  const auto convolved = [&] {
    return graph.call("conv2d.default",
                      convolution(x, graph.weight({4, 3, 3, 3}), graph.weight({4})));
  };
  const auto scaled = [&](ValueId value, const Sizes& sizes) {
    return graph.call("mul.Tensor", {self(value), other(graph.weight(sizes))});
  };
  // The nodes of FrozenBatchNorm2d.
  const ValueId a = graph.call(
      "add.Tensor", {self(graph.weight({4, 1, 1})), other(scaled(convolved(), {1, 4, 1, 1}))});
  graph.output(graph.call("relu.default", {self(a)}));
  // These scale columns, rows or images, not channels.
  graph.output(scaled(convolved(), {5}));
  graph.output(scaled(convolved(), {6, 1}));
  graph.output(scaled(convolved(), {2, 1, 1, 1}));
  EXPECT_EQ(graph.check(), (Names{"convolution", "convolution", "pointwise", "convolution",
                                  "pointwise", "convolution", "pointwise"}));
}

TEST(Plan, SameAddsTheOddZeroBehind) {
  Case graph;
  const ValueId x = graph.input({2, 3, 11});
  graph.output(
      graph.call("conv1d.padding",
                 {named("input", Argument(x)), named("weight", Argument(graph.weight({5, 3, 4}))),
                  named("bias", Argument(graph.weight({5}))), named("stride", ints({1})),
                  named("padding", Argument(std::string("same")))}));
  EXPECT_EQ(graph.check(), Names{"convolution"});
}

TEST(Plan, WhatWeightsAloneDecideIsComputedOnce) {
  Case graph;
  const ValueId w = graph.weight({3, 4});
  const ValueId turned = graph.call("permute.default", {self(w), named("dims", ints({1, 0}))});
  const ValueId twice = graph.call("add.Tensor", {self(turned), other(turned)});
  graph.output(
      graph.call("mm.default", {self(graph.input({7, 4})), named("mat2", Argument(twice))}));
  // The caller may write to results, so this one must be a copy of the constant for later calls.
  graph.output(twice);
  EXPECT_EQ(graph.check(), Names{"product"});
}

TEST(Plan, ActivationsThatWereTakenApartAreFound) {
  Case graph;
  const auto linear = [&](ValueId x) {
    return graph.call("linear.default", {named("input", Argument(x)),
                                         named("weight", Argument(graph.weight({6, 6})))});
  };
  const ValueId a = linear(graph.input({9, 6}));
  const ValueId silu =
      graph.call("mul.Tensor", {self(a), other(graph.call("sigmoid.default", {self(a)}))});
  const ValueId b = linear(silu);
  const ValueId shifted = graph.call("add.Tensor", {self(b), named("other", Argument(int64_t{3}))});
  const ValueId low =
      graph.call("clamp.default", {self(shifted), named("min", Argument(int64_t{0}))});
  const ValueId clamped =
      graph.call("clamp.default", {self(low), named("max", Argument(int64_t{6}))});
  const ValueId product = graph.call("mul.Tensor", {self(b), other(clamped)});
  graph.output(graph.call("div.Tensor", {self(product), named("other", Argument(int64_t{6}))}));
  EXPECT_EQ(graph.check(), (Names{"product", "product"}));
}

// Of a turned result these operators make a copy, of a row-major one, which steps make, a view.
TEST(Plan, WritesDoNotPassThroughCopiesOfTurnedResults) {
  const std::pair<std::string, std::vector<NamedArgument>> kCopies[] = {
      {"reshape.default", {named("shape", ints({-1}))}},
      {"flatten.using_ints", {}},
      {"contiguous.default", {}}};
  for (const auto& [target, rest] : kCopies)
    for (const bool is_used_again : {true, false}) {
      Case graph;
      const ValueId x = graph.call("t.default", {self(graph.input({4, 6}))});
      const ValueId y = graph.call("relu.default", {self(graph.call("exp.default", {self(x)}))});
      std::vector<NamedArgument> arguments{self(y)};
      arguments.insert(arguments.end(), rest.begin(), rest.end());
      const ValueId copy = graph.call(target, arguments);
      graph.output(graph.call("add_.Tensor", {self(copy), named("other", Argument(1.0))}));
      if (is_used_again) graph.output(y);
      EXPECT_EQ(std::ranges::count(graph.check(), "pointwise_chain"), is_used_again ? 0 : 1)
          << target;
    }
}

// A cast may return an input itself, but one to another dtype is a step.
TEST(Plan, WritesDoNotPassThroughCopiesOfCasts) {
  Case graph;
  const ValueId x = graph.call("t.default", {self(graph.input({4, 6}))});
  const ValueId y = graph.call(
      "to.dtype",
      {self(x), named("dtype", Argument(ScalarType{dtype_info(Dtype::float64).schema_number}))});
  graph.record(y, {6, 4}, Dtype::float64);
  const ValueId copy = graph.call("reshape.default", {self(y), named("shape", ints({-1}))});
  graph.output(graph.call("add_.Tensor", {self(copy), named("other", Argument(1.0))}));
  graph.output(y);
  EXPECT_EQ(graph.check(), Names(4, "reference"));
}

// A view of a turned result that is row-major again shows what is written to it.
TEST(Plan, WritesPassThroughViewsOfTurnedResults) {
  Case graph;
  const ValueId x = graph.call("t.default", {self(graph.input({4, 6}))});
  const ValueId y = graph.call("relu.default", {self(graph.call("exp.default", {self(x)}))});
  const ValueId z = graph.call("exp.default", {self(graph.call("t.default", {self(y)}))});
  const ValueId view = graph.call("reshape.default", {self(z), named("shape", ints({-1}))});
  graph.output(graph.call("add_.Tensor", {self(view), named("other", Argument(1.0))}));
  graph.output(z);
  EXPECT_EQ(graph.check(), Names(7, "reference"));
}

TEST(Plan, WhatIsReadBeforeAWriteIsReadBefore) {
  Case graph;
  const ValueId state = graph.input({3, 4});
  const ValueId a = graph.call("linear.default", {named("input", Argument(state)),
                                                  named("weight", Argument(graph.weight({5, 4})))});
  graph.call("add_.Tensor", {self(state), other(graph.input({3, 4}))});
  graph.output(graph.call("relu.default", {self(a)}));
  EXPECT_EQ(graph.check(), (Names{"product", "reference", "pointwise"}));
}

TEST(Plan, AnAddendThatBroadcastsTheProductIsAddedBehindViewsToo) {
  Case graph;
  const ValueId a = graph.call("linear.default", {named("input", Argument(graph.input({1, 4}))),
                                                  named("weight", Argument(graph.weight({4, 4})))});
  const ValueId b = graph.call("add.Tensor", {self(a), other(graph.input({3, 4}))});
  const ValueId c = graph.call("view.default", {self(b), named("size", ints({3, 2, 2}))});
  graph.output(graph.call("relu.default", {self(c)}));
  EXPECT_EQ(graph.check(), Names{"product"});
}

// The operands are small integers, whose sums are exact. So results are rounded alike.
TEST(Plan, HalvesAreMultipliedAsFloats) {
  for (const Dtype dtype : {Dtype::bfloat16, Dtype::float16})
    for (const int64_t rows : {1, 5, 300}) {
      Case graph;
      const auto whole = [&](ValueId id, const Sizes& sizes, int64_t step) {
        std::vector<float> numbers;
        for (int64_t i = 0; i < *checked_numel(sizes); ++i)
          numbers.push_back(static_cast<float>((i * step) % 7 - 3));
        Tensor halves = Tensor::zeros(dtype, sizes);
        ops::copy_elements(halves, floats(sizes, numbers));
        graph.fill(id, std::move(halves));
      };
      const ValueId x = graph.input({2, rows, 140}), weight = graph.weight({33, 140}),
                    bias = graph.weight({33});
      whole(x, {2, rows, 140}, 3);
      whole(weight, {33, 140}, 5);
      whole(bias, {33}, 2);
      std::vector<NamedArgument> arguments{named("input", Argument(x)),
                                           named("weight", Argument(weight))};
      if (rows != 5) arguments.push_back(named("bias", Argument(bias)));
      const ValueId product = graph.call("linear.default", std::move(arguments));
      graph.output(graph.call(
          "_to_copy.default",
          {self(product),
           named("dtype", Argument(ScalarType{dtype_info(Dtype::float32).schema_number}))}));
      EXPECT_EQ(graph.check(), (Names{"product", "reference"}));
      EXPECT_EQ(graph.was_recorded(), rows < 300);
    }
}

TEST(Plan, RowsArePickedByNumbers) {
  Case graph;
  const ValueId tokens = graph.input({2, 3});
  graph.fill(tokens, Tensor::of<int64_t>({2, 3}, {1, 0, 4, 4, 2, 3}));
  graph.output(graph.call("embedding.default", {named("weight", Argument(graph.weight({5, 7}))),
                                                named("indices", Argument(tokens))}));
  EXPECT_EQ(graph.check(), Names{"gather"});
  EXPECT_TRUE(graph.was_recorded());
}

TEST(Plan, RowsArePickedByAnIndex) {
  const auto check = [](std::vector<int64_t> numbers, const Sizes& table_sizes, bool has_none) {
    Case graph;
    const ValueId rows = graph.input({2, 3});
    graph.fill(rows,
               Tensor::from<int64_t>(Dtype::int64, {2, 3}, std::span<const int64_t>(numbers)));
    ArgumentList list{.kind = ListKind::optional_tensors, .items = {Argument(rows)}};
    if (has_none) list.items.emplace_back(None{});
    graph.output(graph.call("index.Tensor", {self(graph.input(table_sizes)),
                                             named("indices", Argument(std::move(list)))}));
    EXPECT_EQ(graph.check(), Names{"gather"});
    return graph.was_recorded() && graph.took_others();
  };
  EXPECT_TRUE(check({1, 0, 4, 4, 2, 3}, {5, 7}, false));
  EXPECT_TRUE(check({1, 0, 4, 4, 2, 3}, {5}, false));
  EXPECT_TRUE(check({1, 0, 4, 4, 2, 3}, {5, 2, 3}, true));
  // Indices that count from the end are left to the reference kernel.
  EXPECT_TRUE(check({1, -1, 4, 4, -2, 3}, {5, 7}, false));
}

// A recording copies inputs and results, which must not cost more than the computation.
TEST(Plan, CallsThatCopyMoreThanTheyComputeAreNotRecorded) {
  for (const int64_t rows : {40, 4000}) {
    Case graph;
    graph.output(graph.call("relu.default", {self(graph.input({rows, 64}))}));
    graph.check();
    EXPECT_EQ(graph.was_recorded(), rows == 40);
  }
}

// Adds the largest elements of two results that depend on a weight alone. They have 12 MB each; the
// plan folds one.
ValueId add_large_values(Case& graph, ValueId sum) {
  const ValueId many =
      graph.call("expand.default", {self(graph.weight({1})), named("size", ints({3000, 1000}))});
  for (const char* const target : {"sin.default", "exp.default"}) {
    const ValueId made = graph.call(target, {self(many)});
    const ValueId largest = graph.call("amax.default", {self(made)});
    sum = graph.call("add.Tensor", {self(sum), other(largest)});
  }
  return sum;
}

TEST(Plan, RecordingsRepeatNoStepOfWeightsAlone) {
  Case graph;
  graph.output(add_large_values(graph, graph.input({50})));
  graph.check();
  EXPECT_EQ(std::ranges::count(graph.kernels(), "reference"), 0);
  EXPECT_TRUE(graph.took_others());
  EXPECT_EQ(graph.launches(), 1u);
}

// The results of such a step would fit where a value lay that the call no longer needs.
TEST(Plan, RepeatedLaunchesWriteToNoResultOfWeightsAlone) {
  Case graph;
  const ValueId x = graph.input({4, 4});
  const ValueId released = graph.call("exp.default", {self(x)});
  graph.output(add_large_values(
      graph, graph.call("mm.default", {self(released), named("mat2", Argument(released))})));
  graph.check();
  EXPECT_EQ(std::ranges::count(graph.kernels(), "reference"), 0);
  EXPECT_TRUE(graph.took_others());
  EXPECT_EQ(graph.launches(), 3u);
}

// The values that a recording keeps are not released between calls, so they may not be many.
TEST(Plan, CallsThatMakeMuchFromNothingAreNotRecorded) {
  for (const int count : {1, 3}) {
    Case graph;
    ValueId sum = graph.input({4});
    for (int i = 0; i < count; ++i) {
      const ValueId ones = graph.call("ones.default", {named("size", ints({6'000'000}))});
      const ValueId all = graph.call("sum.default", {self(ones)});
      sum = graph.call("add.Tensor", {self(sum), other(all)});
    }
    graph.output(sum);
    graph.check();
    EXPECT_EQ(graph.was_recorded(), count == 1);
  }
}

// The write keeps the plan from folding the token.
TEST(Plan, NodesWithoutArgumentsAreLeftToTheReference) {
  Case graph;
  const ValueId token = graph.call("torch.ops.prims._make_token.default", {});
  graph.record(token, {0}, Dtype::float32);
  graph.output(graph.call("add_.Tensor", {self(token), named("other", Argument(1.0))}));
  EXPECT_EQ(graph.check(), (Names{"reference", "reference"}));
}

// A recording keeps values that depend only on sizes. It computes values that depend on elements
// again, even without a kernel. Calls that draw random numbers are not recorded.
TEST(Plan, CallsAreRecordedUnlessTheyDraw) {
  Case sizes;
  const ValueId x = sizes.input({3, 4});
  const ValueId ones = sizes.call("ones_like.default", {self(sizes.weight({12}))});
  const ValueId view = sizes.call("view.default", {self(x), named("size", ints({4, 3}))});
  const ValueId turned = sizes.call("permute.default", {self(view), named("dims", ints({1, 0}))});
  const ValueId copy = sizes.call("reshape.default", {self(turned), named("shape", ints({12}))});
  sizes.output(sizes.call("add.Tensor", {self(copy), other(ones)}));
  sizes.check();
  EXPECT_TRUE(sizes.was_recorded());

  Case elements;
  elements.output(elements.call("cumsum.default",
                                {self(elements.input({3})), named("dim", Argument(int64_t{0}))}));
  EXPECT_EQ(elements.check(), Names{"reference"});
  EXPECT_TRUE(elements.was_recorded() && elements.took_others());

  Case random;
  const ValueId noise = random.call("rand_like.default", {self(random.weight({3}))});
  random.output(random.call("mul.Tensor", {self(noise), named("other", Argument(0.0))}));
  random.check();
  EXPECT_FALSE(random.was_recorded());
}

// The view of another call may begin elsewhere.
TEST(Plan, CallsWithViewsThatElementsPlaceAreNotRecorded) {
  Case graph;
  const ValueId x = graph.input({6, 2}), place = graph.input({});
  graph.fill(place, floats({}, {4}));
  const ValueId start = graph.call(
      "to.dtype",
      {self(place), named("dtype", Argument(ScalarType{dtype_info(Dtype::int64).schema_number}))});
  const ValueId rows = graph.call(
      "narrow.Tensor", {self(x), named("dim", Argument(int64_t{0})),
                        named("start", Argument(start)), named("length", Argument(int64_t{2}))});
  graph.output(graph.call("exp.default", {self(rows)}));
  graph.check();
  EXPECT_FALSE(graph.was_recorded());
}

// A file may have the arguments in any order.
TEST(Plan, RecordedCopiesAreThoseOfTheNamedArgument) {
  Case graph;
  const ValueId x = graph.input({2, 3}), y = graph.input({6});
  const ValueId turned = graph.call("permute.default", {self(x), named("dims", ints({1, 0}))});
  const ValueId line = graph.call("reshape_as.default", {other(y), self(turned)});
  graph.output(graph.call("add.Tensor", {self(line), other(y)}));
  graph.check();
  EXPECT_TRUE(graph.was_recorded() && graph.took_others());
}

// The number is part of later steps: 0 in the recorded call, -0 in the other one.
TEST(Plan, RecordingsRefuseZerosOfTheOtherSign) {
  Case graph;
  const ValueId x = graph.input({}), y = graph.input({3});
  graph.fill(x, floats({}, {1}));
  const ValueId less = graph.call("sub.Tensor", {self(x), named("other", Argument(0.75))});
  const ValueId zero = graph.call("trunc.default", {self(less)});
  const ValueId number = graph.call("item.default", {self(zero)});
  graph.record_number(number);
  graph.output(graph.call("copysign.Scalar", {self(y), other(number)}));
  graph.check();
  EXPECT_TRUE(graph.was_recorded());
  EXPECT_FALSE(graph.took_others());
}

TEST(Plan, VolumesAreConvolvedSliceBySlice) {
  struct Shape {
    Sizes stride, padding, dilation;
    int64_t groups = 1;
    bool has_bias = true;
  };
  for (const Shape& shape :
       {Shape{{1, 1, 1}, {0, 0, 0}, {1, 1, 1}}, Shape{{2, 1, 2}, {1, 1, 2}, {1, 1, 1}, 1, false},
        Shape{{1, 2, 1}, {3, 0, 1}, {2, 1, 1}},
        // Some windows contain only padding.
        Shape{{1, 1, 1}, {6, 1, 1}, {1, 1, 1}, 2}}) {
    Case graph;
    const ValueId x = graph.input({2, 4, 5, 6, 7});
    std::vector<NamedArgument> arguments{
        named("input", Argument(x)),
        named("weight", Argument(graph.weight({6, 4 / shape.groups, 3, 2, 3})))};
    if (shape.has_bias) arguments.push_back(named("bias", Argument(graph.weight({6}))));
    arguments.push_back(named("stride", ints(shape.stride)));
    arguments.push_back(named("padding", ints(shape.padding)));
    arguments.push_back(named("dilation", ints(shape.dilation)));
    arguments.push_back(named("groups", Argument(shape.groups)));
    const ValueId volume = graph.call("conv3d.default", std::move(arguments));
    graph.output(graph.call("relu.default", {self(volume)}));
    EXPECT_EQ(graph.check(), Names{"convolution"});
    EXPECT_TRUE(graph.was_recorded() && graph.took_others());
  }
}

// Concatenates channels-last images with other ones, and slices of tensors.
TEST(Plan, WhateverLiesIsConcatenated) {
  Case graph;
  const ValueId x = graph.input({2, 3, 5, 6});
  const ValueId image = graph.call(
      "conv2d.default",
      {named("input", Argument(x)), named("weight", Argument(graph.weight({4, 3, 1, 1})))});
  const auto join = [&](std::vector<ValueId> ids, int64_t dim,
                        const std::string& target = "cat.default") {
    ArgumentList list{.kind = ListKind::tensors, .items = {}};
    for (const ValueId id : ids) list.items.emplace_back(id);
    graph.output(graph.call(
        target, {named("tensors", Argument(std::move(list))), named("dim", Argument(dim))}));
  };
  join({image, x}, 1);
  const auto half = [&](int64_t start) {
    return graph.call("slice.Tensor",
                      {self(x), named("dim", Argument(int64_t{3})), named("start", Argument(start)),
                       named("end", Argument(start + 3))});
  };
  join({half(3), half(0)}, -1);
  join({half(1), x, half(2)}, 3);
  const auto stack = [&](std::vector<ValueId> ids, int64_t dim) {
    join(std::move(ids), dim, "stack.default");
  };
  stack({image, image}, 0);
  stack({half(1), half(2), half(0)}, 2);
  stack({half(0), half(3)}, -1);
  const Names names = graph.check();
  EXPECT_EQ(std::ranges::count(names, "concatenation"), 6);
  EXPECT_TRUE(graph.was_recorded() && graph.took_others());
}

// A time embedding has a number for each channel of each image, which convolutions cannot add.
TEST(Plan, NumbersOfChannelsAreAddedToImages) {
  Case graph;
  const ValueId x = graph.input({2, 3, 5, 6});
  const ValueId image = graph.call(
      "conv2d.default",
      {named("input", Argument(x)), named("weight", Argument(graph.weight({4, 3, 3, 3})))});
  const ValueId time =
      graph.call("linear.default", {named("input", Argument(graph.input({2, 7}))),
                                    named("weight", Argument(graph.weight({4, 7})))});
  const ValueId row =
      graph.call("unsqueeze.default", {self(time), named("dim", Argument(int64_t{2}))});
  const ValueId plane =
      graph.call("unsqueeze.default", {self(row), named("dim", Argument(int64_t{3}))});
  graph.record(image, {2, 4, 3, 4});
  graph.record(plane, {2, 4, 1, 1});
  const ValueId sum = graph.call("add.Tensor", {self(image), other(plane)});
  graph.record(sum, {2, 4, 3, 4});
  graph.output(sum);
  EXPECT_EQ(graph.check(),
            (Names{"convolution", "product", "reference", "reference", "pointwise"}));
}

// A recording holds for the sizes and scalars of the recorded call only.
TEST(Plan, RecordingsRefuseElementsThatChangeSizesOrNumbers) {
  const auto at_least = [](float least) {
    Case graph;
    const ValueId x = graph.input({6});
    graph.fill(x, Tensor::of({0.1f, 0.9f, 0.2f, 0.8f, 0.3f, 0.7f}));
    const ValueId large =
        graph.call("gt.Scalar", {self(x), named("other", Argument(static_cast<double>(least)))});
    graph.output(graph.call("masked_select.default", {self(x), named("mask", Argument(large))}));
    graph.check();
    EXPECT_TRUE(graph.was_recorded());
    return graph.took_others();
  };
  EXPECT_TRUE(at_least(0.01f));
  EXPECT_FALSE(at_least(0.5f));
}

// Group normalization of images in either layout, with the activation after it.
TEST(Plan, GroupsOfChannelsAreNormalizedByAKernel) {
  Case graph;
  const ValueId x = graph.input({2, 4, 5, 5});
  const ValueId planes = graph.call(
      "group_norm.default",
      {named("input", Argument(x)), named("num_groups", Argument(int64_t{2})),
       named("weight", Argument(graph.weight({4}))), named("bias", Argument(graph.weight({4})))});
  const ValueId convolved = graph.call(
      "conv2d.default",
      {named("input", Argument(planes)), named("weight", Argument(graph.weight({6, 4, 1, 1})))});
  const ValueId pixels =
      graph.call("instance_norm.default",
                 {named("input", Argument(convolved)), named("weight", Argument(graph.weight({6}))),
                  named("bias", Argument(graph.weight({6}))), named("running_mean", Argument()),
                  named("running_var", Argument()), named("use_input_stats", Argument(true)),
                  named("momentum", Argument(0.1)), named("eps", Argument(1e-5)),
                  named("cudnn_enabled", Argument(true))});
  graph.output(graph.call("relu.default", {self(pixels)}));
  EXPECT_EQ(graph.check(), (Names{"group_norm", "convolution", "group_norm"}));
  EXPECT_TRUE(graph.took_others());
}

// Values computed from large weights, such as standardized convolution weights, are computed once.
TEST(Plan, WhatIsMadeOfLargeWeightsIsComputedOnce) {
  Case graph;
  const ValueId turned = graph.call("neg.default", {self(graph.weight({20, 1 << 18}))});
  const ValueId rows = graph.call(
      "slice.Tensor", {self(turned), named("dim", Argument(int64_t{1})),
                       named("start", Argument(int64_t{0})), named("end", Argument(int64_t{3}))});
  graph.output(graph.call("add.Tensor", {self(graph.input({20, 3})), other(rows)}));
  EXPECT_EQ(graph.check(), Names{"pointwise"});
}

}  // namespace
}  // namespace pt2::run
