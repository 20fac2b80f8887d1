// Plans in float16 and bfloat16: steps compute in float32 and round where each node rounds.
#include <ctime>

#include "run/plan/plan_case.h"

namespace pt2::run {
namespace {

// A graph in float16 or bfloat16. Its results are converted to float32.
class HalfCase {
 public:
  explicit HalfCase(Dtype dtype) : dtype_(dtype) {
    // Sums in another order may round to neighbouring numbers.
    graph.tolerance = dtype == Dtype::float16 ? 2e-3 : 1.6e-2;
  }

  ValueId value(const Sizes& sizes) { return halves(graph.input(sizes)); }
  ValueId weight(const Sizes& sizes, float least = -1) {
    return halves(graph.weight(sizes, least));
  }
  ValueId filled(const Sizes& sizes, double number) {
    const ValueId id = value(sizes);
    Tensor numbers = Tensor::zeros(dtype_, sizes);
    ops::fill_elements(numbers, Scalar(number));
    graph.fill(id, std::move(numbers));
    return id;
  }
  ValueId call(const std::string& target, std::vector<NamedArgument> arguments,
               const Sizes& sizes) {
    const ValueId id = graph.call(target, std::move(arguments));
    graph.record(id, sizes, dtype_);
    return id;
  }
  void output(ValueId id) {
    graph.output(graph.call(
        "_to_copy.default",
        {self(id),
         named("dtype", Argument(ScalarType{dtype_info(Dtype::float32).schema_number}))}));
  }
  // Returns the names of the steps without the final conversions of results.
  Names check() {
    Names names = graph.check();
    std::erase(names, "reference");
    return names;
  }

  Case graph;

 private:
  ValueId halves(ValueId id) {
    graph.make_halves(id, dtype_);
    return id;
  }
  Dtype dtype_;
};

class PlanHalf : public testing::TestWithParam<Dtype> {};
INSTANTIATE_TEST_SUITE_P(Dtypes, PlanHalf, testing::Values(Dtype::float16, Dtype::bfloat16),
                         [](const auto& dtype) { return std::string(dtype_name(dtype.param)); });

TEST_P(PlanHalf, ImagesAreConvolvedNormalizedAndPooled) {
  HalfCase halves(GetParam());
  const Sizes sizes{2, 6, 8, 9};
  const ValueId x = halves.value({2, 3, 8, 9}), weight = halves.weight({6, 3, 3, 3}),
                bias = halves.weight({6}), gamma = halves.weight({6}), beta = halves.weight({6}),
                mean = halves.weight({6}), variance = halves.weight({6}, 0.1f),
                back = halves.weight({6, 2, 2, 2});
  const ValueId sum = halves.call("conv2d.default",
                                  {input(x), named("weight", Argument(weight)),
                                   named("bias", Argument(bias)), named("padding", ints({1, 1}))},
                                  sizes);
  const ValueId normal =
      halves.call("batch_norm.default",
                  {input(sum), named("weight", Argument(gamma)), named("bias", Argument(beta)),
                   named("running_mean", Argument(mean)), named("running_var", Argument(variance)),
                   named("training", Argument(false)), named("momentum", Argument(0.1)),
                   named("eps", Argument(1e-5)), named("cudnn_enabled", Argument(false))},
                  sizes);
  const ValueId bent = halves.call("relu.default", {self(normal)}, sizes);
  const ValueId pooled = halves.call(
      "max_pool2d.default", {self(bent), named("kernel_size", ints({2, 2}))}, {2, 6, 4, 4});
  halves.output(halves.call("conv_transpose2d.input",
                            {input(pooled), named("weight", Argument(back)),
                             named("bias", Argument(None{})), named("stride", ints({2, 2}))},
                            {2, 2, 8, 8}));
  halves.output(sum);
  EXPECT_EQ(halves.check(), (Names{"convolution", "batch_norm", "pointwise_chain", "pooling",
                                   "transposed_convolution"}));
}

// PyTorch stores the statistics of each channel in the dtype of the weights, or in that of the
// images if there are no weights.
TEST_P(PlanHalf, ChannelsAreNormalizedByRoundedStatistics) {
  const auto check = [&](bool has_wide_weights) {
    HalfCase halves(GetParam());
    if (!has_wide_weights) halves.graph.tolerance = 1e-5;
    const Sizes sizes{2, 6, 8, 9};
    const ValueId x = halves.value(sizes);
    const auto weights = [&] {
      return has_wide_weights ? Argument(halves.graph.weight({6})) : Argument(None{});
    };
    halves.output(halves.call(
        "instance_norm.default",
        {input(x), named("weight", weights()), named("bias", weights()),
         named("running_mean", Argument(None{})), named("running_var", Argument(None{})),
         named("use_input_stats", Argument(true)), named("momentum", Argument(0.1)),
         named("eps", Argument(1e-5)), named("cudnn_enabled", Argument(true))},
        sizes));
    return halves.check();
  };
  EXPECT_EQ(check(false), Names());
  EXPECT_EQ(check(true), Names{"group_norm"});
}

// PyTorch keeps the sums of log_softmax in the dtype of the rows.
TEST_P(PlanHalf, LogarithmsOfSoftmaxAreTheReferenceExecutors) {
  HalfCase halves(GetParam());
  halves.graph.tolerance = 1e-5;
  const ValueId x = halves.value({9, 33});
  halves.output(
      halves.call("log_softmax.int", {self(x), named("dim", Argument(int64_t{1}))}, {9, 33}));
  EXPECT_EQ(halves.check(), Names());
}

TEST_P(PlanHalf, RowsAreNormalizedAndAttended) {
  HalfCase halves(GetParam());
  const Sizes sizes{2, 3, 5, 8};
  const ValueId q = halves.value(sizes), k = halves.value(sizes), v = halves.value(sizes),
                gamma = halves.weight({8}), beta = halves.weight({8});
  const ValueId attended = halves.call(
      "scaled_dot_product_attention.default",
      {named("query", Argument(q)), named("key", Argument(k)), named("value", Argument(v))}, sizes);
  const ValueId normal =
      halves.call("layer_norm.default",
                  {input(attended), named("normalized_shape", ints({8})),
                   named("weight", Argument(gamma)), named("bias", Argument(beta))},
                  sizes);
  halves.output(
      halves.call("softmax.int", {self(normal), named("dim", Argument(int64_t{-1}))}, sizes));
  const ValueId across = halves.call(
      "transpose.int",
      {self(k), named("dim0", Argument(int64_t{2})), named("dim1", Argument(int64_t{3}))},
      {2, 3, 8, 5});
  halves.output(halves.call("matmul.default", {self(q), other(across)}, {2, 3, 5, 5}));
  EXPECT_EQ(halves.check(), (Names{"attention", "layer_norm", "softmax", "batch_product"}));
}

TEST_P(PlanHalf, ChainsRoundAsEachNodeDoes) {
  HalfCase halves(GetParam());
  halves.graph.tolerance = 1e-5;
  const Sizes sizes{6, 40};
  const ValueId x = halves.value(sizes), y = halves.value({40}), slope = halves.weight({40});
  const ValueId a = halves.call("mul.Tensor", {self(x), other(y)}, sizes);
  const ValueId b = halves.call("add.Tensor", {self(a), other(x)}, sizes);
  const ValueId c = halves.call(
      "clamp.default", {self(b), named("min", Argument(-0.7)), named("max", Argument(0.9))}, sizes);
  halves.output(halves.call("div.Tensor", {self(c), other(y)}, sizes));
  halves.output(halves.call("prelu.default", {self(x), named("weight", Argument(slope))}, sizes));
  halves.output(halves.call("neg.default", {self(x)}, sizes));
  EXPECT_EQ(halves.check(), (Names{"pointwise_chain", "pointwise_chain", "pointwise_chain"}));
}

TEST_P(PlanHalf, QuotientsOfNumbersAreCutAsFloats) {
  HalfCase halves(GetParam());
  halves.graph.tolerance = 1e-5;
  const Sizes sizes{20, 40};
  const ValueId x = halves.value(sizes), y = halves.value(sizes);
  const auto cut = [&](const char* target, NamedArgument divisor) {
    halves.output(halves.call(
        target, {self(x), divisor, named("rounding_mode", Argument(std::string("trunc")))}, sizes));
  };
  cut("div.Tensor_mode", other(y));
  cut("div.Scalar_mode", named("other", Argument(0.01)));
  EXPECT_EQ(halves.check(), (Names{"pointwise_chain", "pointwise_chain"}));
}

// Rounded to halves, this quotient is a whole number, and a larger one.
TEST_P(PlanHalf, QuotientsByOneElementAreCutAsFloats) {
  HalfCase halves(GetParam());
  halves.graph.tolerance = 1e-5;
  const Sizes sizes{3, 7};
  const ValueId x = halves.filled(sizes, 144), y = halves.filled({1}, 1.1);
  halves.output(halves.call(
      "div.Tensor_mode",
      {self(x), other(y), named("rounding_mode", Argument(std::string("trunc")))}, sizes));
  EXPECT_EQ(halves.check(), (Names{"pointwise_chain"}));
}

TEST_P(PlanHalf, PowersOfInfinitiesAndBoundsAreThoseOfTheReference) {
  HalfCase halves(GetParam());
  const Sizes sizes{3, 7};
  const ValueId infinite = halves.filled(sizes, -INFINITY), x = halves.filled(sizes, 0.1);
  const auto add = [&](const std::string& target, ValueId of, const char* name, double number) {
    halves.output(halves.call(target, {self(of), named(name, Argument(number))}, sizes));
  };
  add("pow.Tensor_Scalar", infinite, "exponent", 0.5);
  add("pow.Tensor_Scalar", infinite, "exponent", -0.5);
  add("hardshrink.default", x, "lambd", 0.1);
  add("softshrink.default", x, "lambd", 0.1);
  EXPECT_FALSE(halves.check().empty());
}

// As in PyTorch, scalar operands of sums are rounded to the dtype first. Then each difference is 0.
TEST_P(PlanHalf, SumsTakeRoundedNumbers) {
  HalfCase halves(GetParam());
  const Sizes sizes{3, 7};
  const ValueId x = halves.filled(sizes, 0.1), one = halves.filled(sizes, 1);
  const auto number = [](double value) { return named("other", Argument(value)); };
  const auto add_rest = [&](const std::string& target, std::vector<NamedArgument> arguments) {
    const ValueId rest = halves.call(target, std::move(arguments), sizes);
    halves.output(halves.call("mul.Tensor", {self(rest), number(1000)}, sizes));
  };
  add_rest("sub.Tensor", {self(x), number(0.1)});
  add_rest("rsub.Scalar", {self(x), number(0.1)});
  add_rest("add.Tensor", {self(x), other(one), named("alpha", Argument(-0.1))});
  EXPECT_EQ(halves.check(), Names(3, "pointwise_chain"));
}

TEST_P(PlanHalf, PixelsAreMultipliedAsTheyLie) {
  for (const bool has_bias : {false, true}) {
    HalfCase halves(GetParam());
    const ValueId x = halves.value({2, 35, 6, 7}), weight = halves.weight({20, 35, 1, 1}),
                  bias = halves.weight({20}), line = halves.value({2, 35, 9}),
                  line_weight = halves.weight({20, 35, 1});
    const auto convolve = [&](const std::string& target, ValueId image, ValueId kernels,
                              const Sizes& sizes) {
      return halves.call(target,
                         {input(image), named("weight", Argument(kernels)),
                          named("bias", has_bias ? Argument(bias) : Argument(None{}))},
                         sizes);
    };
    const ValueId y = convolve("conv2d.default", x, weight, {2, 20, 6, 7});
    halves.output(halves.call("relu.default", {self(y)}, {2, 20, 6, 7}));
    halves.output(convolve("conv1d.default", line, line_weight, {2, 20, 9}));
    EXPECT_EQ(halves.check(), (Names{"convolution", "pointwise_chain", "convolution"}));
  }
}

// Products of float16 matrices that are not weights. Few rows and single columns are converted to
// float32.
TEST_P(PlanHalf, MatricesThatChangeAreMultipliedAsTheyLie) {
  for (const int64_t rows : {1, 3, 5, 300}) {
    HalfCase halves(GetParam());
    const ValueId x = halves.value({2, rows, 33}), y = halves.value({2, 33, 20}),
                  single = halves.value({33, 7}), weight = halves.value({9, 33}),
                  bias = halves.value({9}), vector = halves.value({33});
    halves.output(halves.call("bmm.default", {self(x), named("mat2", Argument(y))}, {2, rows, 20}));
    halves.output(halves.call("matmul.default", {self(x), other(single)}, {2, rows, 7}));
    halves.output(halves.call("matmul.default", {self(x), other(vector)}, {2, rows}));
    halves.output(
        halves.call("linear.default",
                    {input(x), named("weight", Argument(weight)), named("bias", Argument(bias))},
                    {2, rows, 9}));
    const ValueId turned = halves.call(
        "transpose.int",
        {self(y), named("dim0", Argument(int64_t{1})), named("dim1", Argument(int64_t{2}))},
        {2, 20, 33});
    halves.output(halves.call("matmul.default", {self(turned), other(single)}, {2, 20, 7}));
    EXPECT_EQ(halves.check(), Names(5, "batch_product"));
  }
}

TEST_P(PlanHalf, PartsAreConcatenatedAsTheyLie) {
  HalfCase halves(GetParam());
  const ValueId x = halves.value({2, 3}), y = halves.value({2, 3});
  const auto parts =
      named("tensors", Argument(ArgumentList{.kind = ListKind::tensors,
                                             .items = {Argument(x), Argument(y), Argument(x)}}));
  for (const int64_t dim : {0, 1})
    halves.output(halves.call("cat.default", {parts, named("dim", Argument(dim))},
                              dim == 0 ? Sizes{6, 3} : Sizes{2, 9}));
  for (const int64_t dim : {0, 1, 2})
    halves.output(halves.call("stack.default", {parts, named("dim", Argument(dim))},
                              dim == 0   ? Sizes{3, 2, 3}
                              : dim == 1 ? Sizes{2, 3, 3}
                                         : Sizes{2, 3, 3}));
  EXPECT_EQ(halves.check(), Names(5, "concatenation"));
}

TEST_P(PlanHalf, MeansDivideUnroundedSums) {
  HalfCase halves(GetParam());
  halves.graph.tolerance = 1e-5;
  const ValueId x = halves.value({3, 5, 7});
  for (const int64_t dim : {0, 1, 2}) {
    Sizes sizes{3, 5, 7};
    sizes.erase(sizes.begin() + dim);
    halves.output(halves.call("mean.dim", {self(x), named("dim", ints({dim}))}, sizes));
  }
  EXPECT_EQ(halves.check(), (Names{"mean", "mean", "mean"}));
}

// The nodes of a norm that is written out and computes in float32.
TEST_P(PlanHalf, CastsArePartsOfChains) {
  HalfCase halves(GetParam());
  halves.graph.tolerance = 1e-5;
  const Sizes sizes{6, 40};
  const ValueId x = halves.value(sizes), y = halves.value({40}), weight = halves.graph.weight({40});
  halves.graph.record(weight, {40}, Dtype::float32);
  const auto make = [&](const std::string& target, std::vector<NamedArgument> arguments,
                        Dtype dtype) {
    if (target == "_to_copy.default")
      arguments.push_back(named("dtype", Argument(ScalarType{dtype_info(dtype).schema_number})));
    const ValueId id = halves.graph.call(target, std::move(arguments));
    halves.graph.record(id, sizes, dtype);
    return id;
  };
  const ValueId wide = make("_to_copy.default", {self(x)}, Dtype::float32);
  const ValueId scaled = make("mul.Tensor", {self(wide), other(weight)}, Dtype::float32);
  // The sum of a float32 and a float16 tensor is float32.
  const ValueId mixed = make("add.Tensor", {self(scaled), other(y)}, Dtype::float32);
  const ValueId back = make("_to_copy.default", {self(mixed)}, GetParam());
  halves.output(make("mul.Tensor", {self(back), other(x)}, GetParam()));
  halves.graph.output(make("exp.default",
                           {self(make("mul.Tensor", {self(x), other(weight)}, Dtype::float32))},
                           Dtype::float32));
  EXPECT_EQ(halves.check(), (Names{"pointwise_chain", "pointwise_chain"}));
}

TEST_P(PlanHalf, ProductsTakeWeightsAsTheyLieOrPacked) {
  for (const int64_t rows : {1, 4, 5, 300}) {
    HalfCase halves(GetParam());
    const ValueId x = halves.value({rows, 33}), weight = halves.weight({20, 33}),
                  bias = halves.weight({20}), across = halves.weight({20, 7});
    const ValueId y = halves.call(
        "linear.default",
        {input(x), named("weight", Argument(weight)), named("bias", Argument(bias))}, {rows, 20});
    halves.output(halves.call("mm.default", {self(y), named("mat2", Argument(across))}, {rows, 7}));
    const ValueId turned = halves.call("t.default", {self(weight)}, {33, 20});
    halves.output(halves.call(
        "addmm.default", {self(bias), named("mat1", Argument(x)), named("mat2", Argument(turned))},
        {rows, 20}));
    halves.output(halves.call("matmul.default", {self(x), other(turned)}, {rows, 20}));
    EXPECT_EQ(halves.check(), (Names{"product", "product", "product", "product"}));
  }
}

TEST_P(PlanHalf, OtherDtypesThanTheProgramSaysAreTheReferenceExecutors) {
  HalfCase halves(GetParam());
  const ValueId x = halves.value({2, 4, 6});
  const ValueId y = halves.graph.input({2, 4, 6});
  halves.graph.record(y, {2, 4, 6}, GetParam());
  for (const ValueId value : {x, y}) {
    halves.output(
        halves.call("softmax.int", {self(value), named("dim", Argument(int64_t{1}))}, {2, 4, 6}));
    halves.output(halves.call("mul.Tensor", {self(value), other(y)}, {2, 4, 6}));
  }
  halves.check();
}

TEST(PlanHalves, WeightsAreWidenedInLinearTime) {
  const auto seconds = [](int count) {
    GraphMaker maker;
    const auto record = [&](ValueId id, const Sizes& sizes) {
      TensorMeta meta;
      meta.dtype = ScalarType{dtype_info(Dtype::float16).schema_number};
      for (const int64_t size : sizes) meta.sizes.emplace_back(size);
      maker.graph.set_value_meta(id, std::move(meta));
      return id;
    };
    const ValueId x = record(maker.input("x"), {2, 2});
    std::vector<Value> weights(1);
    for (int i = 0; i < count; ++i) {
      const ValueId weight = record(maker.input("w" + std::to_string(i)), {2});
      weights.emplace_back(Tensor::zeros(Dtype::float16, {2}));
      record(maker.call("torch.ops.aten.layer_norm.default",
                        {named("input", x), named("normalized_shape", ints({2})),
                         named("weight", weight)}),
             {2, 2});
    }
    maker.graph.set_outputs({Argument(x)});
    const auto bound = bind_graph(maker.graph).value();
    const std::vector<bool> known(weights.size(), true);
    double least = 1e9;
    for (int i = 0; i < 3; ++i) {
      const std::clock_t start = std::clock();
      const auto plan = make_plan(*bound, weights, known);
      least = std::min(least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
      EXPECT_EQ(plan->steps[0]->name(), "layer_norm");
    }
    return least;
  };
  EXPECT_LT(seconds(16'000), 24 * seconds(2'000) + 0.05);
}

}  // namespace
}  // namespace pt2::run
