#include <limits>

#include "run/plan/plan_case.h"
#include "run/plan/steps/quantized/dequantization.h"

namespace pt2::run {
namespace {

struct Parameters {
  double scale;
  int64_t zero, low, high;
  Dtype dtype;
};

ScalarType scalar_type(Dtype dtype) { return ScalarType{dtype_info(dtype).schema_number}; }

ValueId call(Case& graph, const std::string& name, ValueId operand, const Parameters& p,
             std::optional<Dtype> out_dtype = {}) {
  std::vector<NamedArgument> arguments{
      named("input", operand),   named("scale", p.scale),    named("zero_point", p.zero),
      named("quant_min", p.low), named("quant_max", p.high), named("dtype", scalar_type(p.dtype))};
  if (out_dtype) arguments.push_back(named("out_dtype", scalar_type(*out_dtype)));
  return graph.call("torch.ops.quantized_decomposed." + name + "_per_tensor.default",
                    std::move(arguments));
}

Names steps_of(const Sizes& sizes, const Parameters& there, const Parameters& back,
               bool is_turned = false) {
  Case graph;
  const ValueId x = graph.input(sizes);
  if (checked_numel(sizes).value() > 4) {
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    Tensor numbers = Tensor::zeros(Dtype::float32, sizes);
    for (int64_t i = 0; i < numbers.numel(); ++i)
      numbers.data<float>()[i] = 0.025f * static_cast<float>(i * i % 997 - 400);
    numbers.data<float>()[0] = 1 / 0.0f;
    numbers.data<float>()[1] = -1 / 0.0f;
    numbers.data<float>()[2] = kNone;
    numbers.data<float>()[3] = -0.0f;
    graph.fill(x, numbers);
  }
  const ValueId operand = is_turned ? graph.call("t.default", {named("self", x)}) : x;
  graph.output(call(graph, "dequantize", call(graph, "quantize", operand, there), back));
  graph.tolerance = 0;
  return graph.check();
}

TEST(PlanQuantization, NumbersThereAndBackAreOneStep) {
  const Parameters cases[] = {{0.05, 10, 0, 255, Dtype::uint8},
                              {0.1, 0, -128, 127, Dtype::int8},
                              {0.0173, -3, -127, 127, Dtype::int8},
                              {0.05, 0, 3, 9, Dtype::int8},
                              {-0.5, 4, -128, 127, Dtype::int8}};
  for (const Parameters& each : cases) {
    EXPECT_EQ(steps_of({7, 33}, each, each), Names{"quantization"}) << each.scale;
    EXPECT_EQ(steps_of({0, 3}, each, each), Names{"quantization"});
    EXPECT_EQ(steps_of({3, 7}, each, each, true).back(), "quantization");
  }
  EXPECT_EQ(steps_of({5, 5}, cases[0], {0.2, 3, 0, 255, Dtype::uint8}), Names{"quantization"});
}

TEST(PlanQuantization, OtherLevelsAreLeftToTheOperators) {
  for (const Parameters& there : {Parameters{0.1, 1 << 20, -128, 127, Dtype::int8},
                                  Parameters{0.1, 0, -128, 127, Dtype::int32}})
    EXPECT_EQ(steps_of({7, 5}, there, there).front(), "reference");
}

TEST(PlanQuantization, LevelsMayHaveSeveralUsers) {
  const Parameters usual{0.1, 0, -128, 127, Dtype::int8};
  Case graph;
  const ValueId x = graph.input({4, 4});
  const ValueId levels = call(graph, "quantize", x, usual);
  graph.output(call(graph, "dequantize", levels, usual));
  graph.output(call(graph, "dequantize", levels, {0.2, 1, -128, 127, Dtype::int8}));
  graph.tolerance = 0;
  EXPECT_EQ(graph.check(), (Names{"quantization", "dequantization", "dequantization"}));
}

TEST(PlanQuantization, OtherDtypesOfResultsAreLeftToTheOperators) {
  const Parameters usual{0.1, 0, -128, 127, Dtype::int8};
  const auto steps = [&](Dtype out) {
    Case graph;
    const ValueId levels = call(graph, "quantize", graph.input({4, 4}), usual);
    const ValueId numbers = call(graph, "dequantize", levels, usual, out);
    graph.output(graph.call("to.dtype",
                            {named("self", numbers), named("dtype", scalar_type(Dtype::float32))}));
    return graph.check();
  };
  EXPECT_EQ(steps(Dtype::float32).front(), "quantization");
  EXPECT_EQ(steps(Dtype::float64), (Names{"quantization", "reference", "reference"}));
}

// A product with a bias and int8 weights, which the graph dequantizes.
struct LevelProduct {
  Case graph;
  ValueId x, levels, scales, zeros, bias;
  int64_t depth = 160, columns = 130;

  explicit LevelProduct(int64_t rows, bool turned = false) {
    x = graph.input({rows, depth});
    const Sizes sizes = turned ? Sizes{depth, columns} : Sizes{columns, depth};
    levels = graph.weight(sizes);
    Tensor numbers = Tensor::zeros(Dtype::int8, sizes);
    for (int64_t i = 0; i < numbers.numel(); ++i)
      numbers.data<int8_t>()[i] = static_cast<int8_t>(i * 37 % 17 - 8);
    graph.fill(levels, numbers);
    scales = graph.weight({columns}, 0.01f);
    zeros = graph.weight({columns});
    graph.fill(zeros, Tensor::zeros(Dtype::int64, {columns}));
    bias = graph.weight({columns});
  }
  ValueId per_channel(int64_t axis) {
    return graph.call("torch.ops.quantized_decomposed.dequantize_per_channel.default",
                      {named("input", levels), named("scales", scales), named("zero_points", zeros),
                       named("axis", axis), named("quant_min", int64_t{-128}),
                       named("quant_max", int64_t{127}), named("dtype", scalar_type(Dtype::int8))});
  }
  ValueId linear(ValueId weight) {
    return recorded(graph.call("linear.default",
                               {named("input", x), named("weight", weight), named("bias", bias)}));
  }
  ValueId recorded(ValueId product, Dtype dtype = Dtype::float32) {
    graph.record(product, {2, columns}, dtype);
    return product;
  }
  Names steps(ValueId out) {
    graph.output(out);
    return graph.check();
  }
};

TEST(PlanQuantization, ProductsTakeLevelsOfWeights) {
  for (const int64_t rows : {1, 3, 40}) {
    LevelProduct channels(rows);
    const ValueId sums = channels.linear(channels.per_channel(0));
    EXPECT_EQ(channels.steps(channels.graph.call("relu.default", {named("self", sums)})),
              Names{"product"});

    LevelProduct tensor(rows);
    const Parameters whole{0.02, 0, -128, 127, Dtype::int8};
    EXPECT_EQ(tensor.steps(tensor.linear(call(tensor.graph, "dequantize", tensor.levels, whole))),
              Names{"product"});

    // The weights are converted as in torchao's programs and in decompositions.
    LevelProduct converted(rows);
    const ValueId turned = converted.graph.call("t.default", {named("self", converted.levels)});
    const ValueId floats = converted.graph.call(
        "to.dtype", {named("self", turned), named("dtype", scalar_type(Dtype::float32))});
    EXPECT_EQ(converted.steps(converted.recorded(converted.graph.call(
                  "mm.default", {named("self", converted.x), named("mat2", floats)}))),
              Names{"product"});

    LevelProduct permuted(rows);
    const ValueId weight = permuted.per_channel(0);
    permuted.graph.record(weight, {permuted.columns, permuted.depth});
    const ValueId other = permuted.graph.call("permute.default",
                                              {named("self", weight), named("dims", ints({1, 0}))});
    EXPECT_EQ(permuted.steps(permuted.recorded(permuted.graph.call(
                  "addmm.default", {named("self", permuted.bias), named("mat1", permuted.x),
                                    named("mat2", other)}))),
              Names{"product"});

    LevelProduct straight(rows, true);
    EXPECT_EQ(
        straight.steps(straight.recorded(straight.graph.call(
            "mm.default", {named("self", straight.x), named("mat2", straight.per_channel(1))}))),
        Names{"product"});
  }
}

TEST(PlanQuantization, ProductsOfHalvesTakeLevels) {
  for (const Dtype dtype : {Dtype::bfloat16, Dtype::float16}) {
    LevelProduct each(3);
    each.graph.make_halves(each.x, dtype);
    const ValueId turned = each.graph.call("t.default", {named("self", each.levels)});
    const ValueId halves =
        each.graph.call("to.dtype", {named("self", turned), named("dtype", scalar_type(dtype))});
    const ValueId sums = each.recorded(
        each.graph.call("mm.default", {named("self", each.x), named("mat2", halves)}), dtype);
    each.graph.tolerance = 1e-2;
    EXPECT_EQ(each.steps(each.graph.call("to.dtype", {named("self", sums),
                                                      named("dtype", scalar_type(Dtype::float32))}))
                  .front(),
              "product");
  }
}

// If the rows are quantized as well, the product takes the quantized levels.
TEST(PlanQuantization, ProductsTakeLevelsOfRows) {
  for (const Dtype dtype : {Dtype::uint8, Dtype::int8})
    for (const int64_t rows : {1, 40}) {
      const Parameters p{0.01, dtype == Dtype::int8 ? -7 : 130, dtype == Dtype::int8 ? -128 : 0,
                         dtype == Dtype::int8 ? 127 : 255, dtype};
      LevelProduct each(rows);
      const ValueId levels = call(each.graph, "quantize", each.x, p);
      each.x = call(each.graph, "dequantize", levels, p);
      const ValueId sums = each.linear(each.per_channel(0));
      EXPECT_EQ(each.steps(each.graph.call("relu.default", {named("self", sums)})),
                (Names{"quantization", "product"}));
    }
  // Here another user needs the dequantized rows.
  const Parameters p{0.01, 3, 0, 255, Dtype::uint8};
  LevelProduct shared(3);
  shared.x = call(shared.graph, "dequantize", call(shared.graph, "quantize", shared.x, p), p);
  shared.graph.output(shared.x);
  EXPECT_EQ(shared.steps(shared.linear(shared.per_channel(0))), (Names{"quantization", "product"}));
}

// Constants are dequantized once, for all users. No step may rely on the removed dequantize node.
TEST(PlanQuantization, RowsMayBeConstant) {
  const Parameters p{0.01, 3, 0, 255, Dtype::uint8};
  LevelProduct each(3);
  const ValueId rows = each.graph.weight({3, each.depth});
  const ValueId x = each.x;
  each.x = call(each.graph, "dequantize", call(each.graph, "quantize", rows, p), p);
  const ValueId sums = each.linear(each.per_channel(0));
  each.graph.output(each.graph.call(
      "add.Tensor",
      {named("self", sums), named("other", each.graph.call("sum.default", {named("self", x)}))}));
  EXPECT_EQ(each.graph.check().back(), "product");
}

// torchao's integer product; for processors whose instructions take uint8, the levels are shifted.
TEST(PlanQuantization, WholeNumbersAreMultipliedAsTheyAre) {
  for (const bool is_turned : {true, false}) {
    LevelProduct each(40, !is_turned);
    const ValueId weight =
        is_turned ? each.graph.call("t.default", {named("self", each.levels)}) : each.levels;
    const auto to = [&](ValueId x, Dtype dtype) {
      return each.graph.call("to.dtype", {named("self", x), named("dtype", scalar_type(dtype))});
    };
    const ValueId rows = to(each.graph.call("relu.default", {named("self", each.x)}), Dtype::uint8);
    each.graph.output(
        to(each.graph.call("_int_mm.default", {named("self", rows), named("mat2", weight)}),
           Dtype::float32));
    each.graph.tolerance = 0;
    const Names steps = each.graph.check();
    EXPECT_EQ(std::ranges::count(steps, "product"), 1);
  }
}

// Scales that each call computes from its input.
TEST(PlanQuantization, ScalesMayBeOfTheCall) {
  LevelProduct each(9);
  const std::vector<ValueId> found = each.graph.calls(
      "torch.ops.quantized_decomposed.choose_qparams.tensor",
      {named("input", each.x), named("quant_min", int64_t{0}), named("quant_max", int64_t{255}),
       named("eps", 1e-4), named("dtype", scalar_type(Dtype::uint8))},
      2);
  const auto call_with = [&](const std::string& name, ValueId operand) {
    return each.graph.call(
        "torch.ops.quantized_decomposed." + name + "_per_tensor.tensor",
        {named("input", operand), named("scale", found[0]), named("zero_point", found[1]),
         named("quant_min", int64_t{0}), named("quant_max", int64_t{255}),
         named("dtype", scalar_type(Dtype::uint8))});
  };
  const ValueId levels = call_with("quantize", each.x);
  each.graph.output(call_with("dequantize", levels));
  each.x = call_with("dequantize", levels);
  EXPECT_EQ(each.steps(each.linear(each.per_channel(0))),
            (Names{"reference", "quantization", "dequantization", "product"}));
  EXPECT_TRUE(each.graph.took_others());
}

struct LevelConvolution {
  Case graph;
  ValueId x, kernels, scales;
  Parameters p{0.01, 77, 0, 255, Dtype::uint8};

  explicit LevelConvolution(const Sizes& sizes, int64_t in_channels = 18) {
    x = graph.input({2, in_channels, 7, 6});
    kernels = graph.weight(sizes);
    Tensor numbers = Tensor::zeros(Dtype::int8, sizes);
    for (int64_t i = 0; i < numbers.numel(); ++i)
      numbers.data<int8_t>()[i] = static_cast<int8_t>(i * 37 % 17 - 8);
    graph.fill(kernels, numbers);
    scales = graph.weight({sizes[0]}, 0.01f);
  }
  ValueId convolution(ValueId images, int64_t groups = 1) {
    const ValueId weight = graph.call(
        "torch.ops.quantized_decomposed.dequantize_per_channel.default",
        {named("input", kernels), named("scales", scales), named("zero_points", Argument()),
         named("axis", int64_t{0}), named("quant_min", int64_t{-128}),
         named("quant_max", int64_t{127}), named("dtype", scalar_type(Dtype::int8))});
    return graph.call("conv2d.default", {named("input", images), named("weight", weight),
                                         named("padding", ints({1})), named("groups", groups)});
  }
  ValueId images() { return call(graph, "dequantize", call(graph, "quantize", x, p), p); }
};

TEST(PlanQuantization, ConvolutionsTakeLevels) {
  LevelConvolution each({20, 18, 3, 3});
  const ValueId relu =
      each.graph.call("relu.default", {named("self", each.convolution(each.images()))});
  each.graph.output(relu);
  EXPECT_EQ(each.graph.check(), (Names{"quantization", "convolution"}));

  // A quantized addend, as in residual networks.
  LevelConvolution residual({18, 18, 3, 3});
  const ValueId levels = call(residual.graph, "quantize", residual.x, residual.p);
  const ValueId own = call(residual.graph, "dequantize", levels, residual.p);
  const ValueId other = call(residual.graph, "dequantize", levels, residual.p);
  const ValueId sums = residual.graph.call(
      "add.Tensor", {named("self", residual.convolution(own)), named("other", other)});
  residual.graph.output(call(residual.graph, "dequantize",
                             call(residual.graph, "quantize", sums, residual.p), residual.p));
  // Sums in another order may round to a neighbouring level.
  residual.graph.tolerance = 0.011;
  EXPECT_EQ(residual.graph.check(),
            (Names{"quantization", "dequantization", "convolution", "dequantization"}));

  LevelConvolution grouped({8, 16, 3, 3}, 32);
  grouped.graph.output(grouped.convolution(grouped.images(), 2));
  EXPECT_EQ(grouped.graph.check(), (Names{"quantization", "convolution"}));
}

// Integer convolutions need finite scales, because padding is 0 whatever the scale, and a zero
// point within the range of levels, because padding must be a level.
TEST(PlanQuantization, NumbersThatAreNotFiniteAreLeftToTheOperators) {
  const Tensor scales = floats({2}, {0.1f, -3.0f});
  EXPECT_TRUE(may_multiply({0.1, 3}, Dtype::uint8, scales));
  EXPECT_TRUE(may_multiply({0.0, -128}, Dtype::int8, scales));
  EXPECT_FALSE(may_multiply({0.1, -1}, Dtype::uint8, scales));
  EXPECT_FALSE(may_multiply({0.1, 128}, Dtype::int8, scales));
  for (const double scale : {std::numeric_limits<double>::infinity(), 1e38, -1e38,
                             std::numeric_limits<double>::quiet_NaN()})
    EXPECT_FALSE(may_multiply({scale, 3}, Dtype::uint8, scales)) << scale;
  EXPECT_FALSE(may_multiply({0.1, 3}, Dtype::uint8, floats({1}, {3e36f})));
}

// The value of this bias is known only after all constants are computed. The choice of the step
// must be made once.
TEST(PlanQuantization, BiasesMayBeQuantized) {
  LevelConvolution each({16, 18, 3, 3});
  const ValueId levels = each.graph.weight({1, 16});
  Tensor numbers = Tensor::zeros(Dtype::int8, {1, 16});
  for (int64_t i = 0; i < 16; ++i) numbers.data<int8_t>()[i] = static_cast<int8_t>(i - 8);
  each.graph.fill(levels, numbers);
  const ValueId floats = call(each.graph, "dequantize", levels, {0.5, 0, -128, 127, Dtype::int8});
  const ValueId bias =
      each.graph.call("reshape.default", {named("self", floats), named("shape", ints({16}))});
  const ValueId weight = each.graph.call(
      "torch.ops.quantized_decomposed.dequantize_per_channel.default",
      {named("input", each.kernels), named("scales", each.scales), named("zero_points", Argument()),
       named("axis", int64_t{0}), named("quant_min", int64_t{-128}),
       named("quant_max", int64_t{127}), named("dtype", scalar_type(Dtype::int8))});
  each.graph.output(each.graph.call(
      "conv2d.default",
      {named("input", each.images()), named("weight", weight), named("bias", bias)}));
  EXPECT_EQ(each.graph.check().back(), "convolution");
}

// A depthwise convolution is faster in float32, so it dequantizes a few rows at a time.
TEST(PlanQuantization, DepthwiseConvolutionsTakeLevels) {
  LevelConvolution each({18, 1, 3, 3});
  each.graph.output(each.convolution(each.images(), 18));
  EXPECT_EQ(each.graph.check(), (Names{"quantization", "convolution"}));
}

// The nodes between two quantized operators, in the order of X86InductorQuantizer and of
// XNNPACKQuantizer.
TEST(PlanQuantization, OneOperatorsLevelsAreTheNextOnes) {
  const auto relu6 = [](Case& graph, ValueId x) {
    return graph.call("hardtanh.default",
                      {named("self", x), named("min_val", 0.0), named("max_val", 6.0)});
  };
  const auto there_and_back = [](Case& graph, ValueId x, const Parameters& p) {
    return call(graph, "dequantize", call(graph, "quantize", x, p), p);
  };
  for (const Parameters& p :
       {Parameters{0.01, 77, 0, 255, Dtype::uint8}, Parameters{0.02, -3, -128, 127, Dtype::int8}})
    for (const bool rounds_sums : {false, true}) {
      LevelConvolution each({18, 18, 3, 3});
      each.p = p;
      ValueId x = each.convolution(each.images());
      if (rounds_sums) x = there_and_back(each.graph, x, p);
      x = there_and_back(each.graph, relu6(each.graph, x), p);
      const ValueId kernels = each.graph.weight({18, 1, 3, 3});
      x = each.graph.call("conv2d.default",
                          {named("input", x), named("weight", kernels), named("padding", ints({1})),
                           named("groups", int64_t{18})});
      x = there_and_back(each.graph, x, p);
      each.graph.output(
          each.graph.call("mean.dim", {named("self", x), named("dim", ints({2, 3}))}));
      each.graph.tolerance = 0.05;  // one level
      EXPECT_EQ(each.graph.check(),
                (Names{"quantization", "convolution", "convolution", "dequantization", "mean"}));
    }

  const Parameters p{0.01, 3, 0, 255, Dtype::uint8};
  for (const int64_t rows : {3, 40}) {
    LevelProduct product(rows);
    product.x = there_and_back(product.graph, product.x, p);
    const ValueId sums = product.linear(product.per_channel(0));
    const ValueId relu = product.graph.call("relu.default", {named("self", sums)});
    product.graph.tolerance = 0.011;
    EXPECT_EQ(product.steps(there_and_back(product.graph, relu, p)),
              (Names{"quantization", "product", "dequantization"}));
  }
}

// Quantized results, of images and of one-dimensional signals.
TEST(PlanQuantization, LevelsMayBeResults) {
  LevelConvolution images({20, 18, 3, 3});
  images.graph.output(
      call(images.graph, "quantize", images.convolution(images.images()), images.p));
  images.graph.tolerance = 1;
  EXPECT_EQ(images.graph.check(), (Names{"quantization", "convolution"}));

  const Parameters p{0.05, -9, -128, 127, Dtype::int8};
  Case signals;
  const ValueId x = signals.input({2, 12, 40}), kernels = signals.weight({12, 1, 3});
  const ValueId numbers = call(signals, "dequantize", call(signals, "quantize", x, p), p);
  const ValueId sums = signals.call(
      "conv1d.default",
      {named("input", numbers), named("weight", kernels), named("groups", int64_t{12})});
  signals.output(call(signals, "quantize", sums, p));
  signals.tolerance = 1;
  EXPECT_EQ(signals.check(), (Names{"quantization", "convolution"}));
}

// Weights are dequantized once if a product cannot take levels or another user needs the floats.
TEST(PlanQuantization, OtherLevelsOfWeightsBecomeFloatsOnce) {
  LevelProduct shifted(3);
  Tensor zeros = Tensor::zeros(Dtype::int64, {shifted.columns});
  zeros.data<int64_t>()[7] = 1;
  shifted.graph.fill(shifted.zeros, zeros);
  EXPECT_EQ(shifted.steps(shifted.linear(shifted.per_channel(0))), Names{"product"});

  LevelProduct along(3);
  along.depth = along.columns;
  const ValueId weight = along.per_channel(0);
  const ValueId sums = along.linear(weight);
  along.graph.output(along.graph.call("neg.default", {named("self", weight)}));
  EXPECT_EQ(along.steps(sums), Names{"product"});

  Case graph;
  const Sizes sizes{4200, 1100};  // more floats than the bound for other computed constants
  const ValueId levels = graph.weight({1});
  graph.fill(levels, Tensor::zeros(Dtype::int8, sizes));
  const ValueId floats =
      graph.call("to.dtype", {named("self", levels), named("dtype", scalar_type(Dtype::float32))});
  const ValueId x = graph.input({1100});
  graph.output(graph.call("add.Tensor", {named("self", floats), named("other", x)}));
  EXPECT_EQ(graph.check(), Names{"pointwise"});
}

TEST(PlanQuantization, WeightsMayBeOfAList) {
  Case graph;
  const ValueId x = graph.input({2, 6}), both = graph.input({1, 5, 6});
  const ValueId weight = graph.call("unbind.int", {named("self", both)});
  graph.set_results(weight, {Argument(ArgumentList{ListKind::tensors, {Argument(weight)}})});
  graph.output(graph.call("linear.default", {named("input", x), named("weight", weight)}));
  EXPECT_EQ(graph.check().size(), 2);
}

}  // namespace
}  // namespace pt2::run
