// Built programs break no rule and round-trip through JSON unchanged.
#include "pt2/ir/builder.h"

#include <gtest/gtest.h>

#include "analysis/program_checks.h"
#include "pt2/format/schema_json.h"
#include "serde/from_schema.h"
#include "serde/to_schema.h"

namespace pt2 {
namespace {

void expect_sound(const Program& program) {
  const std::string json = schema::encode_program(to_schema(program));
  Diagnostics warnings;
  auto source = schema::decode_program(json, {}, warnings);
  ASSERT_TRUE(source) << source.error().text() << "\n" << json;
  EXPECT_TRUE(warnings.empty());
  const auto again = from_schema(*std::move(source));
  ASSERT_TRUE(again) << again.error().text() << "\n" << json;
  EXPECT_EQ(schema::encode_program(to_schema(*again)), json);
  Diagnostics findings;
  check_signature(*again, {"built", "built:"}, findings);
  check_targets(*again, {"built", "built:"}, findings);
  for (const Diagnostic& finding : findings.all()) ADD_FAILURE() << finding.line();
}

TEST(Builder, MakesAPerceptronWithADynamicBatch) {
  ProgramBuilder builder;
  const SymInt batch = builder.dim("s0", {1, 64}, 8);
  const ValueId x = builder.input("x", builder.tensor(Dtype::float32, {batch, 8}));
  const ValueId weight = builder.parameter("fc.weight", builder.tensor(Dtype::float32, {4, 8}));
  const ValueId bias = builder.parameter("fc.bias", builder.tensor(Dtype::float32, {4}));
  const ValueId hidden = builder.call("torch.ops.aten.linear.default",
                                      {arg("input", x), arg("weight", weight), arg("bias", bias)},
                                      builder.tensor(Dtype::float32, {batch, 4}));
  builder.output(builder.call("torch.ops.aten.relu.default", {arg("self", hidden)},
                              builder.tensor(Dtype::float32, {batch, 4})));
  const auto program = std::move(builder).finish();
  ASSERT_TRUE(program) << program.error().text();
  expect_sound(*program);
  EXPECT_EQ(program->signature.parameters(), (std::vector<std::string>{"fc.weight", "fc.bias"}));
  EXPECT_EQ(user_input_names(*program), std::vector<std::string>{"x"});
  EXPECT_EQ(
      program->graph.value(*program->graph.find_value("x")).tensor()->sizes[0].spelled()->text,
      "Symbol('s0', positive=True, integer=True)");
}

TEST(Builder, ReturnsTheFirstMistake) {
  const auto error_of = [](auto&& build) {
    ProgramBuilder builder;
    const ValueId x = builder.input("x", builder.tensor(Dtype::float32, {2}));
    build(builder, x);
    builder.output(x);
    const auto program = std::move(builder).finish();
    return program ? "" : program.error().text();
  };
  const std::string unknown = "found value 77, expected one that this builder gave";
  EXPECT_EQ(error_of([](auto& builder, ValueId) { builder.output(ValueId{77}); }),
            "output 0: " + unknown);
  EXPECT_EQ(error_of([](auto& builder, ValueId) { builder.mutate_buffer("b", ValueId{77}); }),
            "the new value of 'b': " + unknown);
  const auto call = [](auto& builder, ValueId) {
    builder.output(builder.call("torch.ops.aten.relu.default", {arg("self", ValueId{77})},
                                builder.tensor(Dtype::float32, {2})));
  };
  EXPECT_EQ(error_of(call), "argument 0 of torch.ops.aten.relu.default: " + unknown);
  const auto nested = [](auto& builder, ValueId) {
    GraphBuilder graph = builder.nested();
    graph.output(ValueId{77});
    builder.subgraph("branch", std::move(graph));
  };
  EXPECT_EQ(error_of(nested), "graph 'branch': output 0: " + unknown);
  for (const char* name : {"", "s0 + 1", "9x y"})
    EXPECT_NE(error_of([&](auto& builder, ValueId) { builder.dim(name, {1, 9}, 3); }), "") << name;
  EXPECT_EQ(error_of([](auto& builder, ValueId) {
              builder.dim("s0", {9, 1}, 3);
            }),
            "dim 's0': the range [9, 1] is empty, expected the least size first");
  const auto dim_twice = [](auto& builder, ValueId) {
    builder.dim("s0", {1, 9}, 3);
    builder.dim("s0", {2, 5}, 3);
  };
  EXPECT_EQ(error_of(dim_twice), "dim 's0': the dimension has a range already");
  EXPECT_EQ(error_of([](auto& builder, ValueId x) { builder.output(tensors({x})); }),
            "output 0: expected a value, a number, a string or None for a result");
  // Only the functions of ProgramBuilder keep the signature.
  const std::string left_out =
      "found an input or output that a function of GraphBuilder added, expected those of "
      "ProgramBuilder";
  EXPECT_EQ(error_of([](GraphBuilder& builder, ValueId x) { builder.output(x); }), left_out);
  const auto input = [](GraphBuilder& builder, ValueId) {
    builder.input("y", builder.tensor(Dtype::float32, {2}));
  };
  EXPECT_EQ(error_of(input), left_out);
  EXPECT_EQ(error_of([](auto&, ValueId) {}), "");
}

// Their expressions would die with the other builder.
TEST(Builder, RefusesPartsOfAnotherBuilder) {
  const auto error_of = [](auto&& build) {
    ProgramBuilder builder, other;
    build(builder, other);
    const auto program = std::move(builder).finish();
    return program ? "" : program.error().text();
  };
  const auto size = [](ProgramBuilder& builder, ProgramBuilder& other) {
    const SymInt length = other.dim("s0", {2, 9}, 3);
    builder.output(builder.input("x", builder.tensor(Dtype::float32, {length})));
  };
  EXPECT_EQ(error_of(size), "x: found a size of another builder");
  const auto graph = [](ProgramBuilder& builder, ProgramBuilder& other) {
    builder.subgraph("body", other.nested());
  };
  EXPECT_EQ(error_of(graph),
            "graph 'body': found a graph of another builder, expected one that nested() gave");
  const auto argument = [](ProgramBuilder& builder, ProgramBuilder& other) {
    builder.call_many("torch.ops.higher_order.wrap", {arg(other.subgraph("body", other.nested()))},
                      {});
  };
  EXPECT_EQ(error_of(argument),
            "argument 0 of torch.ops.higher_order.wrap: found graph 0, expected one that "
            "subgraph() of this builder gave");
}

TEST(Builder, MakesAConditional) {
  ProgramBuilder builder;
  const TensorMeta vector = builder.tensor(Dtype::float32, {3});
  const ValueId predicate = builder.input("predicate", builder.tensor(Dtype::bool_, {}));
  const ValueId x = builder.input("x", vector);
  const auto branch = [&](const char* target) {
    GraphBuilder graph = builder.nested();
    const ValueId inner = graph.input("x", vector);
    graph.output(graph.call(target, {arg("self", inner)}, vector));
    return graph;
  };
  const auto results = builder.call_many(
      "torch.ops.higher_order.cond",
      {arg(predicate), arg(builder.subgraph("true_graph_0", branch("torch.ops.aten.sin.default"))),
       arg(builder.subgraph("false_graph_0", branch("torch.ops.aten.cos.default"))),
       arg(tensors({x}))},
      {vector});
  builder.output(results[0]);
  const auto program = std::move(builder).finish();
  ASSERT_TRUE(program) << program.error().text();
  expect_sound(*program);
  EXPECT_EQ(program->graph.subgraphs().size(), 2u);
}

TEST(Builder, MakesAMutatedBufferAndDerivedSizes) {
  ProgramBuilder builder;
  const SymInt length = builder.dim("s0", {2, std::nullopt}, 5);
  const auto doubled = builder.expr("2*s0 + 1", 11);
  ASSERT_TRUE(doubled) << doubled.error().text();
  const ValueId count = builder.buffer("count", builder.tensor(Dtype::int64, {}));
  const ValueId x = builder.input("x", builder.tensor(Dtype::float32, {2, length, *doubled, 3}));
  const TensorMeta& meta = builder.tensor(Dtype::float32, {2, length, *doubled, 3});
  EXPECT_EQ(print(meta.strides[1]), "3*(2*s0 + 1)");
  const ValueId next =
      builder.call("torch.ops.aten.add.Tensor", {arg("self", count), arg("other", int64_t{1})},
                   builder.tensor(Dtype::int64, {}));
  builder.mutate_buffer("count", next);
  builder.output(x);
  builder.output(Argument(None{}));
  EXPECT_FALSE(builder.expr("2*", 1));
  const auto program = std::move(builder).finish();
  ASSERT_TRUE(program) << program.error().text();
  expect_sound(*program);
  EXPECT_EQ(program->signature.buffers_to_mutate(), (NameMap{{"add", "count"}}));
  EXPECT_EQ(program->signature.input_specs[0].kind, InputKind::buffer);
}

}  // namespace
}  // namespace pt2
