#include <limits>

#include "run/plan_case.h"

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

TEST(PlanQuantization, WhatDiffersIsLeftToTheOperators) {
  const Parameters usual{0.1, 0, -128, 127, Dtype::int8};
  for (const Parameters& there : {Parameters{0.1, 1 << 20, -128, 127, Dtype::int8},
                                  Parameters{0.1, 0, -128, 127, Dtype::int32}})
    EXPECT_EQ(steps_of({7, 5}, there, there), (Names{"reference", "reference"}));
  Case graph;
  const ValueId x = graph.input({4, 4});
  const ValueId levels = call(graph, "quantize", x, usual);
  graph.output(call(graph, "dequantize", levels, usual));
  graph.output(call(graph, "dequantize", levels, {0.2, 1, -128, 127, Dtype::int8}));
  EXPECT_EQ(graph.check(), (Names{"reference", "reference", "reference"}));
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
  EXPECT_EQ(steps(Dtype::float64).front(), "reference");
}

}  // namespace
}  // namespace pt2::run
