// Loops, autocast and vmap regions in small graphs made by hand; real ones are in the corpus.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <functional>

#include "base/memory_account.h"
#include "pt2/ir/builder.h"
#include "run/graph_maker.h"

namespace pt2::run {
namespace {

// carried -> carried < bound.
Graph less_than(double bound) {
  GraphMaker maker;
  const ValueId x = maker.input("x");
  maker.graph.set_outputs({Argument(
      maker.call("torch.ops.aten.lt.Scalar", {named("self", x), named("other", bound)}))});
  return std::move(maker.graph);
}

// carried -> carried * 2.
Graph doubled() {
  GraphMaker maker;
  const ValueId x = maker.input("x");
  maker.graph.set_outputs(
      {Argument(maker.call("torch.ops.aten.mul.Tensor", {named("self", x), named("other", 2.0)}))});
  return std::move(maker.graph);
}

Graph identity() {
  GraphMaker maker;
  maker.graph.set_outputs({Argument(maker.input("x"))});
  return std::move(maker.graph);
}

Graph first_of_two() {
  GraphMaker maker;
  const ValueId x = maker.input("x");
  maker.input("y");
  maker.graph.set_outputs({Argument(x)});
  return std::move(maker.graph);
}

Graph loop_of(const std::string& target, double bound) {
  GraphMaker maker;
  const ValueId x = maker.input("x");
  const SubgraphId condition = maker.graph.add_subgraph(less_than(bound));
  const SubgraphId body = maker.graph.add_subgraph(doubled());
  maker.graph.set_outputs(
      {Argument(maker.call(target, {named("", condition), named("", body), named("", tensors({x})),
                                    named("", tensors({}))}))});
  return std::move(maker.graph);
}

TEST(Regions, WhileLoopRunsUntilItsConditionFails) {
  const Graph graph = loop_of("torch.ops.higher_order.while_loop", 20);
  const auto outputs = execute(graph, {Value(floats({}, {3}))});
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ(elements((*outputs)[0]), (std::vector<float>{24}));
  // With zero rounds the result is still a copy of the input.
  const Tensor large = floats({}, {30});
  const auto same = execute(graph, {Value(large)});
  ASSERT_TRUE(same) << same.error().text();
  EXPECT_EQ(elements((*same)[0]), (std::vector<float>{30}));
  EXPECT_NE((*same)[0].get_if<Tensor>()->storage(), large.storage());
}

TEST(Regions, WhileLoopStacksWhatItCarried) {
  const Graph graph = loop_of("torch.ops.higher_order.while_loop_stack_output", 20);
  const auto outputs = execute(graph, {Value(floats({}, {3}))});
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ(elements((*outputs)[0]), (std::vector<float>{6, 12, 24}));
}

TEST(Regions, EndlessLoopsAreStopped) {
  const Graph graph = loop_of("torch.ops.higher_order.while_loop", 20);
  const auto bound = bind_graph(graph);
  ASSERT_TRUE(bound) << bound.error().text();
  ops::Context context;
  // 0 doubled stays 0, so the loop never ends.
  const auto outputs =
      Executor(context, {.max_loop_rounds = 100}).run(**bound, {Value(floats({}, {0}))});
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().code, ErrorCode::limit);
  EXPECT_NE(outputs.error().text().find("100 rounds"), std::string::npos);
}

// A quantile sorts, gathers and interpolates. Each part counts as work, however few elements there
// are.
TEST(Regions, WorkInsideOfOperatorsCounts) {
  const auto work_of = [](const char* target, std::vector<NamedArgument> inputs) {
    GraphMaker maker;
    const ValueId x = maker.input("x");
    inputs.insert(inputs.begin(), named("self", x));
    maker.graph.set_outputs({Argument(maker.call(target, std::move(inputs)))});
    const auto bound = bind_graph(maker.graph);
    EXPECT_TRUE(bound) << bound.error().text();
    const MemoryAccount::Scope scope(std::make_shared<MemoryAccount>(1 << 20));
    ops::Context context;
    Executor executor(context, {});
    const auto outputs = executor.run(**bound, {Value(floats({1, 2}, {2, 0}))});
    EXPECT_TRUE(outputs) << outputs.error().text();
    return executor.work();
  };
  EXPECT_GT(work_of("torch.ops.aten.quantile.scalar", {named("q", 0.5)}),
            4 * work_of("torch.ops.aten.sin.default", {}));
}

// A scan backwards along dimension 1 that adds up its elements. Release 2.6 passes the dimension
// and the direction as arguments.
Graph backward_sums() {
  GraphMaker step;
  const ValueId carried = step.input("carried");
  const ValueId x = step.input("x");
  const ValueId sum =
      step.call("torch.ops.aten.add.Tensor", {named("self", carried), named("other", x)});
  const ValueId copy = step.call("torch.ops.aten.clone.default", {named("self", sum)});
  step.graph.set_outputs({Argument(sum), Argument(copy)});

  GraphMaker maker;
  const ValueId init = maker.input("init");
  const ValueId xs = maker.input("xs");
  const SubgraphId body = maker.graph.add_subgraph(std::move(step.graph));
  const ValueId last = maker.tensor("last");
  const ValueId all = maker.tensor("all");
  maker.graph.add_node(
      {.target = "torch.ops.higher_order.scan",
       .inputs = {named("", body), named("", tensors({init})), named("", tensors({xs})),
                  named("", int64_t{1}), named("", true), named("", tensors({}))},
       .outputs = {Argument(last), Argument(all)}});
  maker.graph.set_outputs({Argument(last), Argument(all)});
  return std::move(maker.graph);
}

TEST(Regions, ScanGoesBackwardsAlongADimension) {
  const auto outputs = execute(
      backward_sums(), {Value(floats({2}, {0, 10})), Value(floats({2, 3}, {1, 2, 3, 4, 5, 6}))});
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ(elements((*outputs)[0]), (std::vector<float>{6, 25}));
  EXPECT_EQ(elements((*outputs)[1]), (std::vector<float>{6, 25, 5, 21, 3, 16}));
}

TEST(Regions, ScanOfNoElementsReturnsWhatItCarries) {
  const Tensor init = floats({2}, {0, 10});
  const auto outputs = execute(backward_sums(), {Value(init), Value(floats({2, 0}, {}))});
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ(elements((*outputs)[0]), (std::vector<float>{0, 10}));
  EXPECT_NE((*outputs)[0].get_if<Tensor>()->storage(), init.storage());
  EXPECT_EQ((*outputs)[1].get_if<Tensor>()->sizes(), (Sizes{0, 2}));
}

TEST(Regions, ScanCountsANegativeDimensionFromTheEndOfEachTensor) {
  GraphMaker step;
  const ValueId carried = step.input("carried"), x = step.input("x"), y = step.input("y");
  const auto sum_with_x = [&](ValueId a) {
    return Argument(step.call("torch.ops.aten.add.Tensor", {named("self", a), named("other", x)}));
  };
  step.graph.set_outputs({sum_with_x(carried), sum_with_x(y)});
  GraphMaker maker;
  const ValueId init = maker.input("init"), xs = maker.input("xs"), ys = maker.input("ys");
  const SubgraphId body = maker.graph.add_subgraph(std::move(step.graph));
  const auto results =
      maker.calls("torch.ops.higher_order.scan",
                  {named("", body), named("", tensors({init})), named("", tensors({xs, ys})),
                   named("", int64_t{-1}), named("", false), named("", tensors({}))},
                  2);
  maker.graph.set_outputs({Argument(results[0]), Argument(results[1])});
  const auto outputs =
      execute(maker.graph, {Value(floats({2}, {0, 10})), Value(floats({2, 3}, {1, 2, 3, 4, 5, 6})),
                            Value(floats({1, 2, 3}, {10, 20, 30, 40, 50, 60}))});
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ(elements((*outputs)[0]), (std::vector<float>{6, 25}));
  EXPECT_EQ((*outputs)[1].get_if<Tensor>()->sizes(), (Sizes{3, 1, 2}));
  EXPECT_EQ(elements((*outputs)[1]), (std::vector<float>{11, 44, 22, 55, 33, 66}));
}

// Stacked results of loops take memory even if bodies make no tensor, but return their operand.
TEST(Regions, WhatLoopsGatherIsCounted) {
  constexpr int64_t kRounds = 10'000;
  const Value many(Tensor::zeros(Dtype::float32, {1}).with_view({kRounds}, {0}, 0));
  const auto error_of = [&](const std::string& name, Graph body, bool over_elements) {
    GraphMaker maker;
    const ValueId x = maker.input("x");
    const SubgraphId graph = maker.graph.add_subgraph(std::move(body));
    std::vector<NamedArgument> inputs{named("", graph)};
    if (!over_elements) inputs.push_back(named("", maker.graph.add_subgraph(identity())));
    if (name == "scan") inputs.push_back(named("", tensors({})));
    inputs.push_back(named("", tensors({x})));
    inputs.push_back(named("", tensors({})));
    const ValueId result = maker.call("torch.ops.higher_order." + name, std::move(inputs));
    maker.graph.set_outputs({Argument(result)});
    const MemoryAccount::Scope scope(std::make_shared<MemoryAccount>(1 << 20));
    const auto outputs = within_memory(
        [&] { return execute(maker.graph, {over_elements ? many : Value(floats({}, {0}))}); });
    return outputs ? std::optional<ErrorCode>() : outputs.error().code;
  };
  EXPECT_EQ(error_of("map_impl", identity(), true), ErrorCode::limit);
  EXPECT_EQ(error_of("scan", identity(), true), ErrorCode::limit);
  EXPECT_EQ(error_of("associative_scan", first_of_two(), true), ErrorCode::limit);
  EXPECT_EQ(error_of("while_loop_stack_output", less_than(20), false), ErrorCode::limit);
}

// Returns a vmap region over the input "x" with the nodes that `body` adds. The batch dimension of
// its result is 0.
Graph vmap_graph(GraphMaker& maker, int64_t dim,
                 const std::function<ValueId(GraphMaker&, ValueId)>& body) {
  const ValueId x = maker.input("x");
  maker.open_vmap();
  const ValueId inside = maker.call("torch._functorch.predispatch._add_batch_dim",
                                    {named("", x), named("", dim), named("", int64_t{1})});
  const ValueId result = body(maker, inside);
  const ValueId outside = maker.call(
      "torch._functorch.predispatch._remove_batch_dim",
      {named("", result), named("", int64_t{1}), named("", int64_t{2}), named("", int64_t{0})});
  maker.close_vmap();
  maker.graph.set_outputs({Argument(outside), Argument(x)});
  return std::move(maker.graph);
}

TEST(Regions, StorageOffsetsInsideVmapAreRefused) {
  GraphMaker maker;
  const Graph graph = vmap_graph(maker, 0, [](GraphMaker& inner, ValueId row) {
    return inner.call(
        "torch.ops.aten.as_strided.default",
        {named("self", row), named("size", Argument(ArgumentList{ListKind::ints, {int64_t{2}}})),
         named("stride", Argument(ArgumentList{ListKind::ints, {int64_t{1}}})),
         named("storage_offset", int64_t{1})});
  });
  const auto outputs = execute(graph, {Value(floats({2, 3}, {1, 2, 3, 4, 5, 6}))});
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().code, ErrorCode::unsupported) << outputs.error().text();
}

TEST(Regions, BatchDimensionsAreChangedInsideVmapOnly) {
  for (const std::string function : {"_add_batch_dim", "_remove_batch_dim"}) {
    GraphMaker maker;
    std::vector<NamedArgument> arguments = {named("", maker.input("x")), named("", int64_t{1}),
                                            named("", int64_t{1})};
    if (function == "_remove_batch_dim") arguments.push_back(named("", int64_t{0}));
    const ValueId y = maker.call("torch._functorch.predispatch." + function, arguments);
    maker.graph.set_outputs({Argument(y)});
    const auto outputs = execute(maker.graph, {Value(floats({3, 2}, {1, 2, 3, 4, 5, 6}))});
    ASSERT_FALSE(outputs);
    EXPECT_TRUE(outputs.error().message.ends_with("no region of torch.vmap is open here"))
        << outputs.error().text();
  }
}

TEST(Regions, VmapRunsOperatorsOncePerElement) {
  GraphMaker maker;
  // The batch dimension is dim 1 of [3, 2], so each element is a column of three numbers.
  const Graph graph = vmap_graph(maker, 1, [](GraphMaker& inner, ValueId column) {
    return inner.call("torch.ops.aten.dot.default",
                      {named("self", column), named("tensor", column)});
  });
  const auto outputs = execute(graph, {Value(floats({3, 2}, {1, 2, 3, 4, 5, 6}))});
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ(elements((*outputs)[0]), (std::vector<float>{1 + 9 + 25, 4 + 16 + 36}));
  // An empty batch has no elements, but its result has sizes.
  const auto empty = execute(graph, {Value(Tensor::zeros(Dtype::float32, {3, 0}))});
  ASSERT_TRUE(empty) << empty.error().text();
  EXPECT_EQ((*empty)[0].get_if<Tensor>()->sizes(), (Sizes{0}));
}

// Each of many values would have a list of all levels.
TEST(Regions, VmapHasNoMoreLevelsThanTensorsHaveDimensions) {
  GraphMaker maker;
  ValueId x = maker.input("x");
  maker.open_vmap();
  for (int64_t level = 1; level <= 200; ++level)
    x = maker.call("torch._functorch.predispatch._add_batch_dim",
                   {named("", x), named("", int64_t{0}), named("", level)});
  maker.graph.set_outputs({Argument(x)});
  const auto bound = bind_graph(maker.graph);
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, ErrorCode::limit) << bound.error().text();
}

// The least processor time of three runs.
double seconds_of(const Graph& graph, const std::vector<Value>& inputs) {
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t start = std::clock();
    const auto outputs = execute(graph, inputs);
    EXPECT_TRUE(outputs) << outputs.error().text();
    least = std::min(least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return least;
}

TEST(Regions, CallsTakeTimeInProportionToTheirArguments) {
  const auto seconds = [](int64_t count) {
    GraphMaker maker;
    const ValueId x = maker.input("x");
    std::vector<NamedArgument> arguments{
        named("", OperatorName{"torch.ops.aten._foreach_neg_.default"})};
    for (int64_t i = 0; i < count; ++i)
      arguments.push_back(named("_self_" + std::to_string(i) + "_base_index", int64_t{0}));
    arguments.push_back(named("_self_length", count));
    arguments.push_back(named("_all_bases", tensors({x})));
    const auto results =
        maker.calls("torch.ops.higher_order.auto_functionalized_v2", std::move(arguments), 2);
    maker.graph.set_outputs({Argument(results[1])});
    return seconds_of(maker.graph, {Value(floats({2}, {1, 2}))});
  };
  EXPECT_LT(seconds(16'000), 24 * seconds(2'000) + 0.05);
}

// Eight times the nodes take about eight times as long, not 64 times: a node of a region must not
// visit the values of the other nodes.
TEST(Regions, VmapTakesTimeInProportionToItsNodes) {
  const auto seconds = [](int nodes) {
    GraphMaker maker;
    const Graph graph = vmap_graph(maker, 0, [&](GraphMaker& inner, ValueId row) {
      for (int i = 0; i < nodes; ++i)
        row = inner.call("torch.ops.aten.neg.default", {named("self", row)});
      return row;
    });
    return seconds_of(graph, {Value(floats({4, 1}, {1, 2, 3, 4}))});
  };
  EXPECT_LT(seconds(4000), 24 * seconds(500));
}

TEST(Regions, WritesInsideVmapReachTheWholeTensor) {
  GraphMaker maker;
  const Graph graph = vmap_graph(maker, 0, [](GraphMaker& inner, ValueId row) {
    const ValueId part =
        inner.call("torch.ops.aten.select.int",
                   {named("self", row), named("dim", int64_t{0}), named("index", int64_t{1})});
    inner.call("torch.ops.aten.add_.Tensor", {named("self", part), named("other", 10.0)});
    return part;
  });
  const auto outputs = execute(graph, {Value(floats({2, 2}, {1, 2, 3, 4}))});
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ(elements((*outputs)[0]), (std::vector<float>{12, 14}));
  EXPECT_EQ(elements((*outputs)[1]), (std::vector<float>{1, 12, 3, 14}));
}

TEST(Regions, VmapGivesWhatDoesNotDependOnItToEveryElement) {
  GraphMaker maker;
  const ValueId y = maker.input("y");
  const Graph graph = vmap_graph(maker, 0, [&](GraphMaker& inner, ValueId) {
    return inner.call("torch.ops.aten.neg.default", {named("self", y)});
  });
  const auto outputs =
      execute(graph, {Value(floats({1}, {7})), Value(floats({2, 2}, {1, 2, 3, 4}))});
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ((*outputs)[0].get_if<Tensor>()->sizes(), (Sizes{2, 1}));
  EXPECT_EQ(elements((*outputs)[0]), (std::vector<float>{-7, -7}));
}

TEST(Regions, VmapRefusesWritesToWhatAllElementsShare) {
  GraphMaker maker;
  const ValueId y = maker.input("y");
  const Graph graph = vmap_graph(maker, 0, [&](GraphMaker& inner, ValueId row) {
    return inner.call("torch.ops.aten.add_.Tensor", {named("self", y), named("other", row)});
  });
  const auto bound = bind_graph(graph);
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().message, "a tensor without batch dimension is written to inside vmap");
}

// randomness='same' means one draw for all elements of the batch, 'different' a draw for each.
TEST(Regions, VmapRefusesToDrawOtherRandomNumbersThanItsRandomnessAsksFor) {
  const auto refusal = [](const char* randomness, bool of_the_element, bool trains) {
    GraphMaker maker;
    const ValueId y = maker.input("y");
    maker.graph.add_node({.target = "torch._functorch.predispatch._vmap_increment_nesting",
                          .inputs = {named("", int64_t{2}), named("", std::string(randomness))}});
    const Graph graph = vmap_graph(maker, 0, [&](GraphMaker& inner, ValueId row) {
      return inner.call(
          "torch.ops.aten.dropout.default",
          {named("input", of_the_element ? row : y), named("p", 0.5), named("train", trains)});
    });
    const auto bound = bind_graph(graph);
    return bound ? std::string() : bound.error().message;
  };
  EXPECT_EQ(refusal("different", false, true),
            "random numbers in a vmap with randomness='different' of tensors without a batch "
            "dimension");
  EXPECT_EQ(refusal("same", true, true),
            "random numbers in a vmap with randomness='same' of tensors with a batch dimension");
  EXPECT_EQ(refusal("different", true, true), "");
  EXPECT_EQ(refusal("same", false, true), "");
  EXPECT_EQ(refusal("same", true, false), "");
}

// y = linear(x) under autocast, z = linear(x) in a region inside it that switches autocast off.
TEST(Regions, AutocastHoldsForItsRegionOnly) {
  auto linear = [](GraphMaker& maker, ValueId x, ValueId weight) {
    return maker.call("torch.ops.aten.linear.default",
                      {named("input", x), named("weight", weight)});
  };
  auto region = [](GraphMaker& maker, bool enabled, Graph body, ValueId x, ValueId weight,
                   std::vector<Argument> outputs) {
    const SubgraphId nested = maker.graph.add_subgraph(std::move(body));
    maker.graph.add_node(
        {.target = "torch.ops.higher_order.wrap_with_autocast",
         .inputs = {named("", std::string("cpu")), named("", None{}), named("", enabled),
                    named("", true), named("", nested), named("", x), named("", weight)},
         .outputs = std::move(outputs)});
  };
  GraphMaker off;
  const ValueId off_x = off.input("x");
  off.graph.set_outputs({Argument(linear(off, off_x, off.input("weight")))});
  GraphMaker on;
  const ValueId on_x = on.input("x");
  const ValueId on_weight = on.input("weight");
  const ValueId cast = linear(on, on_x, on_weight);
  const ValueId exact = on.tensor("exact");
  region(on, false, std::move(off.graph), on_x, on_weight, {Argument(exact)});
  on.graph.set_outputs({Argument(cast), Argument(exact)});

  GraphMaker maker;
  const ValueId x = maker.input("x");
  const ValueId weight = maker.input("weight");
  const ValueId y = maker.tensor("y");
  const ValueId z = maker.tensor("z");
  region(maker, true, std::move(on.graph), x, weight, {Argument(y), Argument(z)});
  maker.graph.set_outputs({Argument(y), Argument(z), Argument(linear(maker, x, weight))});
  const auto outputs =
      execute(maker.graph, {Value(floats({1, 1}, {1.001f})), Value(floats({1, 1}, {2}))});
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ((*outputs)[0].get_if<Tensor>()->dtype(), Dtype::bfloat16);
  EXPECT_EQ(elements((*outputs)[1]), (std::vector<float>{2.002f}));
  EXPECT_EQ(elements((*outputs)[2]), (std::vector<float>{2.002f}));
}

// PyTorch casts the operands of tensordot, of which inner consists; mul.Tensor, of which outer
// consists, is in no list.
TEST(Regions, AutocastCastsTheStepsOfComposedOperators) {
  const auto result_of = [](std::string target, std::string second) -> Result<Tensor> {
    GraphMaker body;
    const ValueId a = body.input("a");
    body.graph.set_outputs({Argument(
        body.call(std::move(target), {named("self", a), named(second, body.input("b"))}))});
    GraphMaker maker;
    const ValueId x = maker.input("x"), y = maker.input("y");
    const ValueId out = maker.tensor("out");
    const SubgraphId nested = maker.graph.add_subgraph(std::move(body.graph));
    maker.graph.add_node(
        {.target = "torch.ops.higher_order.wrap_with_autocast",
         .inputs = {named("", std::string("cpu")), named("", None{}), named("", true),
                    named("", true), named("", nested), named("", x), named("", y)},
         .outputs = {Argument(out)}});
    maker.graph.set_outputs({Argument(out)});
    PT2_TRY(const auto outputs,
            execute(maker.graph, {Value(floats({1}, {1.001f})), Value(floats({1}, {2}))}));
    return *outputs[0].get_if<Tensor>();
  };
  const auto inner = result_of("torch.ops.aten.inner.default", "other");
  ASSERT_TRUE(inner) << inner.error().text();
  EXPECT_EQ(inner->dtype(), Dtype::bfloat16);
  const auto outer = result_of("torch.ops.aten.outer.default", "vec2");
  ASSERT_TRUE(outer) << outer.error().text();
  EXPECT_EQ(outer->dtype(), Dtype::float32);
}

// The kernel of a pseudoinverse computes in one dtype; PyTorch casts the product at its end.
TEST(Regions, AutocastCastsTheProductOfAPseudoinverse) {
  GraphMaker body;
  body.graph.set_outputs({Argument(
      body.call("torch.ops.aten.linalg_pinv.atol_rtol_tensor", {named("self", body.input("a"))}))});
  GraphMaker maker;
  const ValueId x = maker.input("x"), out = maker.tensor("out");
  const SubgraphId nested = maker.graph.add_subgraph(std::move(body.graph));
  maker.graph.add_node(
      {.target = "torch.ops.higher_order.wrap_with_autocast",
       .inputs = {named("", std::string("cpu")), named("", None{}), named("", true),
                  named("", true), named("", nested), named("", x)},
       .outputs = {Argument(out)}});
  maker.graph.set_outputs({Argument(out)});
  const auto outputs = execute(maker.graph, {Value(floats({2, 2}, {2, 0, 0, 4}))});
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ((*outputs)[0].get_if<Tensor>()->dtype(), Dtype::bfloat16);
}

}  // namespace
}  // namespace pt2::run
