// Steps that copy elements; transposed convolutions, pooling and products of many layouts.
#include <random>

#include "run/plan/plan_case.h"

namespace pt2::run {
namespace {

Argument floats_list(const std::vector<double>& numbers) {
  ArgumentList list{.kind = ListKind::floats, .items = {}};
  for (const double number : numbers) list.items.emplace_back(number);
  return Argument(std::move(list));
}

// Returns an image that the plan keeps channels last: the result of a convolution.
ValueId rearranged(Case& graph, const Sizes& sizes) {
  const ValueId weight = graph.weight({sizes[1], sizes[1], 1, 1});
  return graph.call("conv2d.default",
                    {input(graph.input(sizes)), named("weight", Argument(weight))});
}
ValueId turned(Case& graph, ValueId value) {
  return graph.call("transpose.int", {self(value), named("dim0", Argument(int64_t{2})),
                                      named("dim1", Argument(int64_t{3}))});
}

// Adds nodes that take the image x of 8 channels, 6 rows and 4 columns, and counts them.
void call_all(Case& graph, ValueId x, int& count) {
  const auto apply = [&](const std::string& target, std::vector<NamedArgument> rest) {
    rest.insert(rest.begin(), self(x));
    graph.output(graph.call(target, std::move(rest)));
    ++count;
  };
  const auto pad = [&](const char* mode, const Sizes& pads) {
    apply("pad.default", {named("pad", ints(pads)), named("mode", Argument(std::string(mode)))});
  };
  pad("constant", {1, 2, 0, 3});
  pad("constant", {-1, 2, -2, -1, 1, 0});
  pad("reflect", {1, 2, 3, 0});
  pad("reflect", {-1, 2, 0, -1});
  pad("replicate", {1, 7, 3, 0});
  pad("circular", {2, 1, 0, 3});
  apply("constant_pad_nd.default", {named("pad", ints({2, 0})), named("value", Argument(1.5))});
  apply("reflection_pad2d.default", {named("padding", ints({1, 2, 3, 0}))});
  apply("replication_pad2d.default", {named("padding", ints({1, 0, 3, 2}))});
  apply("roll.default", {named("shifts", ints({1, -9})), named("dims", ints({-1, 1}))});
  apply("roll.default", {named("shifts", ints({1, 1})), named("dims", ints({2, 2}))});
  apply("flip.default", {named("dims", ints({0, -1, 1}))});
  apply("repeat.default", {named("repeats", ints({1, 2, 1, 3}))});
  for (const int64_t dim : {0, 1, -1})
    apply("repeat_interleave.self_int",
          {named("repeats", Argument(int64_t{3})), named("dim", Argument(dim))});
  apply("repeat.default", {named("repeats", ints({2, 1, 1, 2, 1}))});
  apply("pixel_shuffle.default", {named("upscale_factor", Argument(int64_t{2}))});
  apply("pixel_unshuffle.default", {named("downscale_factor", Argument(int64_t{2}))});
  apply("channel_shuffle.default", {named("groups", Argument(int64_t{4}))});
  apply("upsample_nearest2d.default", {named("output_size", ints({12, 8}))});
  apply("upsample_nearest2d.default", {named("output_size", ints({5, 9}))});
  apply("_upsample_nearest_exact2d.default", {named("output_size", ints({5, 9}))});
}

// Winograd's differences within a window would make more elements infinite or NaN.
TEST(PlanLayout, ConvolutionsOfInfiniteNumbers) {
  for (const bool is_volume : {false, true}) {
    Case graph;
    const Sizes sizes = is_volume ? Sizes{2, 16, 4, 12, 14} : Sizes{1, 16, 12, 14};
    const ValueId x = graph.input(sizes);
    Tensor numbers = Tensor::zeros(Dtype::float32, sizes);
    for (int64_t i = 0; i < numbers.numel(); ++i)
      numbers.data<float>()[i] = static_cast<float>(i % 7) - 3;
    numbers.data<float>()[500] = INFINITY;
    numbers.data<float>()[1100] = 3e38f;
    numbers.data<float>()[1102] = NAN;
    graph.fill(x, std::move(numbers));
    const ValueId weight = graph.weight(is_volume ? Sizes{20, 16, 3, 3, 3} : Sizes{20, 16, 3, 3});
    const ValueId y = graph.call(is_volume ? "conv3d.default" : "conv2d.default",
                                 {input(x), named("weight", Argument(weight))});
    graph.output(graph.call("nan_to_num.default", {self(y)}));
    EXPECT_EQ(graph.check().front(), "convolution");
    EXPECT_TRUE(graph.took_others());
  }
}

TEST(PlanLayout, ElementsThatMove) {
  for (const bool lies_otherwise : {false, true}) {
    Case graph;
    int count = 0;
    call_all(graph,
             lies_otherwise ? turned(graph, graph.input({2, 8, 4, 6})) : graph.input({2, 8, 6, 4}),
             count);
    Names names = graph.check();
    EXPECT_EQ(std::ranges::count(names, "mapped_copy"), count);
    EXPECT_TRUE(graph.was_recorded());
    EXPECT_TRUE(graph.took_others());
  }
}

// The padding value has the dtype of the tensor: -0.0 is 0 in an integer tensor, and only a float64
// tensor can hold 1e-50.
TEST(PlanLayout, FillersHaveTheDtypeOfTheResult) {
  for (const Dtype dtype : {Dtype::int32, Dtype::int64, Dtype::float64, Dtype::float32})
    for (const double filler : {-0.0, 1e-50}) {
      Case graph;
      const ValueId x = graph.input({2, 3});
      graph.fill(x, Tensor::zeros(dtype, {2, 3}));
      graph.record(x, {2, 3}, dtype);
      const ValueId padded =
          graph.call("constant_pad_nd.default",
                     {self(x), named("pad", ints({1, 2})), named("value", Argument(filler))});
      // The product makes a padding value that was rounded to float32 visible.
      graph.output(dtype == Dtype::float64
                       ? graph.call("mul.Tensor", {self(padded), named("other", Argument(1e50))})
                       : padded);
      graph.check();
    }
}

TEST(PlanLayout, ImagesThatMoveStayChannelsLast) {
  Case graph;
  int count = 0;
  call_all(graph, rearranged(graph, {2, 8, 6, 4}), count);
  Names names = graph.check();
  EXPECT_EQ(std::ranges::count(names, "mapped_copy"), count);
}

TEST(PlanLayout, ScalesThatFitTheSizes) {
  Case graph;
  const ValueId x = graph.input({1, 2, 3, 5});
  for (const double scale : {2.0, 0.5, 1.7})
    graph.output(
        graph.call("upsample_nearest2d.vec", {input(x), named("output_size", Argument(None{})),
                                              named("scale_factors", floats_list({scale, 2.0}))}));
  // For a scale of 1.7 the sizes, 3 and 5 rows, have another ratio. PyTorch then has two kernels.
  graph.check();
  EXPECT_TRUE(graph.was_recorded());
}

TEST(PlanLayout, WhatIsRefusedIsTheReferenceExecutors) {
  const auto fails = [](const std::string& target, std::vector<NamedArgument> rest) {
    Case graph;
    rest.insert(rest.begin(), self(graph.input({2, 8, 6, 4})));
    graph.output(graph.call(target, std::move(rest)));
    EXPECT_TRUE(graph.fails_alike()) << target;
  };
  fails("reflection_pad2d.default", {named("padding", ints({4, 0, 0, 0}))});
  fails("roll.default", {named("shifts", ints({1})), named("dims", ints({4}))});
  fails("flip.default", {named("dims", ints({1, -3}))});
  fails("repeat.default", {named("repeats", ints({1, 2}))});
  fails("pixel_shuffle.default", {named("upscale_factor", Argument(int64_t{3}))});
  fails("constant_pad_nd.default", {named("pad", ints({-5, 0}))});
}

ValueId numbers(Case& graph, const Sizes& sizes, const std::vector<int64_t>& values) {
  const ValueId id = graph.weight(sizes);
  graph.fill(id, Tensor::from<int64_t>(Dtype::int64, sizes, std::span<const int64_t>(values)));
  return id;
}

TEST(PlanLayout, ElementsPickedByConstantNumbers) {
  const auto pick = [](Case& graph, ValueId x, std::vector<std::optional<ValueId>> indices) {
    ArgumentList list{.kind = ListKind::optional_tensors, .items = {}};
    for (const auto& index : indices)
      list.items.push_back(index ? Argument(*index) : Argument(None{}));
    graph.output(
        graph.call("index.Tensor", {self(x), named("indices", Argument(std::move(list)))}));
  };
  Case graph;
  const ValueId x = graph.input({2, 8, 6, 4});
  const ValueId rows = numbers(graph, {3, 1}, {5, 0, -1}), columns = numbers(graph, {2}, {3, -4}),
                channels = numbers(graph, {2, 1}, {7, 1}),
                square = numbers(graph, {2, 2}, {1, 0, 3, 2});
  pick(graph, x, {std::nullopt, std::nullopt, rows, columns});
  pick(graph, x, {std::nullopt, columns});
  pick(graph, x, {std::nullopt, channels, columns});
  // `square` and `columns` vary together, so they do not map each dimension separately.
  pick(graph, x, {std::nullopt, std::nullopt, square, columns});
  EXPECT_EQ(graph.check(), (Names{"mapped_copy", "mapped_copy", "mapped_copy", "mapped_copy"}));
}

TEST(PlanLayout, TransposedConvolutions) {
  std::mt19937 random(1);
  const auto whole = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int i = 0; i < 18; ++i) {
    Case graph;
    const auto rank = static_cast<size_t>(1 + i % 3);
    const int64_t groups = whole(1, 2), in = groups * whole(1, 5), out = whole(1, 5);
    Sizes sizes{whole(1, 2), in}, kernel{in, out}, stride, padding, behind, dilation;
    for (size_t dim = 0; dim < rank; ++dim) {
      sizes.push_back(whole(3, 5));
      kernel.push_back(whole(1, 3));
      stride.push_back(whole(1, 3));
      dilation.push_back(whole(1, 2));
      padding.push_back(whole(0, 1));
      behind.push_back(whole(0, std::max(stride.back(), dilation.back()) - 1));
    }
    constexpr const char* kTargets[] = {"conv_transpose1d.default", "conv_transpose2d.input",
                                        "conv_transpose3d.input"};
    const ValueId x = graph.input(sizes), weight = graph.weight(kernel),
                  bias = graph.weight({out * groups});
    const ValueId y = graph.call(
        kTargets[rank - 1], {input(x), named("weight", Argument(weight)),
                             named("bias", Argument(bias)), named("stride", ints(stride)),
                             named("padding", ints(padding)), named("output_padding", ints(behind)),
                             named("groups", Argument(groups)), named("dilation", ints(dilation))});
    graph.output(y);
    const ValueId normal = graph.call(
        "convolution.default",
        {input(y), named("weight", Argument(graph.weight([&] {
                           Sizes all{out * groups, 3};
                           all.resize(rank + 2, 2);
                           return all;
                         }()))),
         named("bias", Argument(None{})), named("stride", ints(stride)),
         named("padding", ints(Sizes(rank, 0))), named("dilation", ints(dilation)),
         named("transposed", Argument(true)), named("output_padding", ints(Sizes(rank, 0))),
         named("groups", Argument(int64_t{1}))});
    const ValueId scaled =
        graph.call("batch_norm.default",
                   {input(normal), named("weight", Argument(graph.weight({3}))),
                    named("bias", Argument(graph.weight({3}))),
                    named("running_mean", Argument(graph.weight({3}))),
                    named("running_var", Argument(graph.weight({3}, 0.1f))),
                    named("training", Argument(false)), named("momentum", Argument(0.1)),
                    named("eps", Argument(1e-5)), named("cudnn_enabled", Argument(false))});
    graph.output(graph.call("relu.default", {self(scaled)}));
    EXPECT_EQ(graph.check(), (Names{"transposed_convolution", "transposed_convolution"}));
  }
}

TEST(PlanLayout, BatchNormalizationBehindVolumes) {
  Case graph;
  const ValueId y =
      graph.call("conv3d.default", {input(graph.input({1, 3, 4, 5, 6})),
                                    named("weight", Argument(graph.weight({4, 3, 2, 3, 1})))});
  graph.output(graph.call("batch_norm.default",
                          {input(y), named("weight", Argument(graph.weight({4}))),
                           named("bias", Argument(graph.weight({4}))),
                           named("running_mean", Argument(graph.weight({4}))),
                           named("running_var", Argument(graph.weight({4}, 0.1f))),
                           named("training", Argument(false)), named("momentum", Argument(0.1)),
                           named("eps", Argument(1e-5)), named("cudnn_enabled", Argument(false))}));
  EXPECT_EQ(graph.check(), Names{"convolution"});
}

TEST(PlanLayout, SignalsArePooled) {
  Case graph;
  const ValueId x = graph.input({2, 5, 17});
  graph.output(
      graph.call("max_pool1d.default", {self(x), named("kernel_size", ints({3})),
                                        named("stride", ints({2})), named("padding", ints({1}))}));
  graph.output(graph.call("avg_pool1d.default",
                          {self(x), named("kernel_size", ints({4})), named("stride", ints({1}))}));
  graph.output(graph.call("avg_pool1d.default",
                          {self(x), named("kernel_size", ints({4})), named("padding", ints({2})),
                           named("count_include_pad", Argument(false))}));
  graph.output(
      graph.call("adaptive_avg_pool1d.default", {self(x), named("output_size", ints({4}))}));
  EXPECT_EQ(graph.check(), Names(4, "pooling"));
}

TEST(PlanLayout, VolumesArePooled) {
  Case graph;
  const ValueId x = graph.input({2, 3, 7, 8, 9});
  const auto pool = [&](const char* target, std::vector<NamedArgument> more) {
    more.insert(more.begin(), self(x));
    graph.output(graph.call(target, more));
  };
  pool("max_pool3d.default", {named("kernel_size", ints({2, 3, 3})),
                              named("stride", ints({1, 2, 2})), named("padding", ints({1, 1, 0}))});
  pool("max_pool3d.default", {named("kernel_size", ints({3})), named("stride", ints({2})),
                              named("ceil_mode", Argument(true))});
  pool("max_pool3d.default",
       {named("kernel_size", ints({2, 2, 3})), named("dilation", ints({2, 1, 3})),
        named("stride", ints({1, 1, 1}))});
  for (const bool counts : {false, true})
    pool("avg_pool3d.default",
         {named("kernel_size", ints({3, 2, 3})), named("stride", ints({2, 3, 2})),
          named("padding", ints({1, 1, 1})), named("ceil_mode", Argument(true)),
          named("count_include_pad", Argument(counts))});
  pool("adaptive_avg_pool3d.default", {named("output_size", ints({3, 5, 4}))});
  pool("adaptive_avg_pool3d.default", {named("output_size", ints({1, 1, 1}))});
  EXPECT_EQ(graph.check(), Names(7, "pooling"));
}

TEST(PlanLayout, SlopesForEachChannel) {
  Case graph;
  const ValueId image = rearranged(graph, {2, 5, 4, 3}), rows = graph.input({6, 5});
  const ValueId slopes = graph.weight({5}), slope = graph.weight({1});
  for (const ValueId x : {image, rows, graph.input({2, 5, 7})})
    for (const ValueId weight : {slopes, slope})
      graph.output(graph.call("prelu.default", {self(x), named("weight", Argument(weight))}));
  const Names names = graph.check();
  EXPECT_EQ(std::ranges::count(names, "pointwise_chain"), 6);
}

TEST(PlanLayout, ProductsOfAnyRanks) {
  const std::pair<Sizes, Sizes> cases[] = {
      {{4, 7}, {3, 7, 2}},
      {{4, 7}, {2, 3, 7, 40}},
      {{3, 1, 4, 7}, {2, 7, 5}},
      {{5, 9}, {9}},
      {{9}, {9, 5}},
      {{9}, {9}},
      {{2, 3, 9}, {9}},
      {{9}, {2, 9, 5}},
      {{2, 30, 8, 16}, {1, 30, 16, 1}},
      {{2, 3, 20, 6}, {6, 100}},
      {{6, 1, 3}, {6, 3, 50}},
      {{2, 2, 2, 2, 2, 2}, {2, 1, 2, 2, 2, 2}},
  };
  for (const auto& [left, right] : cases) {
    Case graph;
    const ValueId a = graph.input(left), b = graph.input(right);
    graph.output(graph.call("matmul.default", {self(a), other(b)}));
    EXPECT_EQ(graph.check(), Names{"batch_product"});
    EXPECT_TRUE(graph.took_others());
  }
  Case graph;
  const ValueId x = graph.input({2, 3, 6}), weight = graph.input({5, 6}), bias = graph.input({5}),
                matrix = graph.input({6, 5});
  graph.output(graph.call("linear.default", {input(x), named("weight", Argument(weight)),
                                             named("bias", Argument(bias))}));
  graph.output(graph.call("linear.default", {input(x), named("weight", Argument(weight))}));
  // Transposed rows; and one matrix expanded to a whole batch.
  const ValueId across = graph.call("transpose.int", {self(x), named("dim0", Argument(int64_t{0})),
                                                      named("dim1", Argument(int64_t{1}))});
  graph.output(graph.call("linear.default", {input(across), named("weight", Argument(weight)),
                                             named("bias", Argument(bias))}));
  const ValueId same = graph.call(
      "expand.default",
      {self(graph.call("unsqueeze.default", {self(matrix), named("dim", Argument(int64_t{0}))})),
       named("size", ints({3, 6, 5}))});
  graph.output(graph.call("bmm.default", {self(across), named("mat2", Argument(same))}));
  graph.output(graph.call("mv.default", {self(weight), named("vec", Argument(graph.input({6})))}));
  graph.output(graph.call(
      "addmm.default",
      {self(bias), named("mat1", Argument(graph.input({4, 6}))), named("mat2", Argument(matrix))}));
  graph.check();
  EXPECT_EQ(std::ranges::count(graph.kernels(), "batch_product"), 6);
}

// ShuffleNet's channel shuffle, on channels-last images.
TEST(PlanLayout, ChannelsAreShuffledByViews) {
  const auto shuffle = [](Case& graph, ValueId x, const Sizes& split, const Sizes& joined) {
    const ValueId apart = graph.call("view.default", {self(x), named("size", ints(split))});
    const ValueId turned = graph.call(
        "transpose.int",
        {self(apart), named("dim0", Argument(int64_t{1})), named("dim1", Argument(int64_t{2}))});
    const ValueId lying = graph.call("contiguous.default", {self(turned)});
    return graph.call("view.default", {self(lying), named("size", ints(joined))});
  };
  Case graph;
  const ValueId x = rearranged(graph, {2, 6, 4, 5});
  graph.output(shuffle(graph, x, {2, 3, 2, 4, 5}, {2, 6, 4, 5}));
  EXPECT_EQ(graph.check(), (Names{"convolution", "mapped_copy"}));
  Case other_sizes;
  const ValueId y = rearranged(other_sizes, {2, 6, 4, 5});
  other_sizes.output(shuffle(other_sizes, y, {2, 3, 2, 20, 1}, {2, 6, 20, 1}));
  EXPECT_EQ(other_sizes.check(), (Names{"convolution", "mapped_copy"}));
  Case no_shuffle;
  const ValueId z = rearranged(no_shuffle, {2, 6, 4, 5});
  no_shuffle.output(shuffle(no_shuffle, z, {2, 3, 2, 4, 5}, {2, 6, 5, 4}));
  EXPECT_EQ(std::ranges::count(no_shuffle.check(), "mapped_copy"), 0);
}

TEST(PlanLayout, SomeChannelsAreConvolvedWhereTheyLie) {
  for (const int64_t groups : {1, 4}) {
    Case graph;
    const ValueId x = rearranged(graph, {2, 12, 6, 5});
    for (const int64_t begin : {0, 3}) {
      const ValueId some = graph.call(
          "slice.Tensor", {self(x), named("dim", Argument(int64_t{1})),
                           named("start", Argument(begin)), named("end", Argument(begin + 8))});
      for (const int64_t size : {1, 3})
        graph.output(graph.call(
            "conv2d.default",
            {input(some), named("weight", Argument(graph.weight({8, 8 / groups, size, size}))),
             named("bias", Argument(None{})), named("stride", ints({1, 1})),
             named("padding", ints({size / 2, size / 2})), named("dilation", ints({1, 1})),
             named("groups", Argument(groups))}));
    }
    graph.check();
  }
}

TEST(PlanLayout, ReductionsOfAnyDimensions) {
  Case graph;
  const ValueId image = rearranged(graph, {2, 5, 4, 3}), plain = graph.input({2, 5, 4, 3}),
                across = turned(graph, plain);
  int count = 0;
  for (const ValueId x : {image, plain, across})
    for (const Sizes& dims : {Sizes{1}, Sizes{-1}, Sizes{2, 3}, Sizes{0, 2, 3}, Sizes{3, 0},
                              Sizes{0, 1, 2, 3}, Sizes{}})
      for (const bool keeps : {false, true})
        for (const char* target :
             {"sum.dim_IntList", "mean.dim", "amax.default", "amin.default", "logsumexp.default"}) {
          if (dims.empty() && std::string_view(target) == "logsumexp.default") continue;
          graph.output(graph.call(
              target, {self(x), named("dim", ints(dims)), named("keepdim", Argument(keeps))}));
          ++count;
        }
  for (const ValueId x : {image, across})
    for (const char* target : {"max.dim", "min.dim"}) {
      graph.output(graph.calls(target, {self(x), named("dim", Argument(int64_t{2}))}, 2)[0]);
      ++count;
    }
  for (const ValueId x : {image, plain, across})
    for (const char* target : {"sum.default", "mean.default"}) {
      graph.output(graph.call(target, {self(x)}));
      ++count;
    }
  const Names names = graph.check();
  EXPECT_EQ(std::ranges::count(names, "mean") + std::ranges::count(names, "reduction"), count);
  EXPECT_TRUE(graph.took_others());
}

TEST(PlanLayout, ReductionsOfComplexNumbers) {
  Case graph;
  const ValueId plain =
      graph.call("view_as_complex.default", {self(graph.input({2, 5, 4, 30, 2}))});
  const ValueId across = turned(graph, plain);
  const ValueId every = graph.call("slice.Tensor", {self(plain), named("dim", Argument(int64_t{3})),
                                                    named("step", Argument(int64_t{2}))});
  int count = 0;
  const auto add = [&](const char* target, std::vector<NamedArgument> arguments) {
    const ValueId result = graph.call(target, std::move(arguments));
    graph.output(graph.call("view_as_real.default", {self(result)}));
    ++count;
  };
  for (const ValueId x : {plain, across, every}) {
    for (const Sizes& dims : {Sizes{1}, Sizes{-1}, Sizes{2, 3}, Sizes{3, 0}, Sizes{}})
      for (const bool keeps : {false, true})
        for (const char* target : {"sum.dim_IntList", "mean.dim"})
          add(target, {self(x), named("dim", ints(dims)), named("keepdim", Argument(keeps))});
    for (const char* target : {"sum.default", "mean.default"}) add(target, {self(x)});
  }
  const Names names = graph.check();
  EXPECT_EQ(std::ranges::count(names, "mean") + std::ranges::count(names, "reduction"), count);
  EXPECT_TRUE(graph.took_others());
}

}  // namespace
}  // namespace pt2::run
