// Bodies of loops and branches, which have plans of their own.
#include "run/plan/plan_case.h"

namespace pt2::run {
namespace {

// (count, x, weight, limit) -> count < limit
Graph is_below() {
  GraphMaker maker;
  const ValueId count = maker.input("count");
  maker.input("x");
  maker.input("weight");
  const ValueId limit = maker.input("limit");
  maker.graph.set_outputs({Argument(
      maker.call("torch.ops.aten.lt.Tensor", {named("self", count), named("other", limit)}))});
  return std::move(maker.graph);
}

// (count, x, weight, limit) -> (count + 1, tanh(x weight^T) + x)
Graph turned() {
  GraphMaker maker;
  const ValueId count = maker.input("count"), x = maker.input("x"), weight = maker.input("weight");
  maker.input("limit");
  const ValueId next =
      maker.call("torch.ops.aten.add.Tensor", {named("self", count), named("other", 1.0)});
  const ValueId product =
      maker.call("torch.ops.aten.linear.default", {named("input", x), named("weight", weight)});
  const ValueId bent = maker.call("torch.ops.aten.tanh.default", {named("self", product)});
  const ValueId sum =
      maker.call("torch.ops.aten.add.Tensor", {named("self", bent), named("other", x)});
  maker.graph.set_outputs({Argument(next), Argument(sum)});
  return std::move(maker.graph);
}

struct Loop {
  GraphMaker maker;
  std::vector<Value> weights;

  Loop() {
    const ValueId count = maker.input("count"), x = maker.input("x"),
                  weight = maker.input("weight"), limit = maker.input("limit");
    const SubgraphId condition = maker.graph.add_subgraph(is_below());
    const SubgraphId body = maker.graph.add_subgraph(turned());
    const auto results =
        maker.calls("torch.ops.higher_order.while_loop",
                    {named("", condition), named("", body), named("", tensors({count, x})),
                     named("", tensors({weight, limit}))},
                    2);
    maker.graph.set_outputs({Argument(results[0]), Argument(results[1])});
    weights = {Value(), Value(), Value(floats({3, 3}, {1, 2, 0, -1, 0.5f, 1, 0, 1, -2})), Value()};
  }
  std::vector<Value> inputs(float start, float limit, int64_t rows) const {
    std::vector<float> x;
    for (int64_t i = 0; i < rows * 3; ++i) x.push_back(start + 0.1f * static_cast<float>(i));
    return {Value(floats({}, {0})), Value(floats({rows, 3}, x)), weights[2],
            Value(floats({}, {limit}))};
  }
};

// Recordings of rounds are kept across calls, although trip counts and sizes differ between calls.
TEST(PlanNested, RoundsOfALoopAreThoseOfTheReference) {
  const Loop loop;
  const auto bound = bind_graph(loop.maker.graph).value();
  const auto plan = make_plan(*bound, loop.weights, {true, true, true, true});
  ASSERT_EQ(plan->nested.size(), 2U);
  Names names;
  const Plan& body = *plan->nested.at(bound->subgraphs[1].get());
  for (const StepPointer& step : body.steps) names.emplace_back(step->name());
  EXPECT_EQ(names, (Names{"pointwise", "product", "pointwise"}));
  Workspace workspace(2);
  for (const int64_t rows : {2, 5, 2, 1})
    for (const float limit : {0.0f, 1.0f, 7.0f, 3.0f}) {
      const std::vector<Value> inputs = loop.inputs(limit + static_cast<float>(rows), limit, rows);
      const std::vector<Value> expected = execute(loop.maker.graph, inputs).value();
      ops::Context context;
      Executor executor(context);
      const auto found = plan->run(inputs, {}, executor, workspace);
      ASSERT_TRUE(found) << found.error().text();
      for (size_t i = 0; i < 2; ++i) {
        const std::vector<float> x = elements((*found)[i]), y = elements(expected[i]);
        ASSERT_EQ(x.size(), y.size());
        for (size_t at = 0; at < x.size(); ++at)
          EXPECT_NEAR(x[at], y[at], 1e-5 * (1 + std::abs(y[at])));
      }
    }
}

// The work of rounds counts towards the limits, whether rounds are recorded or not.
TEST(PlanNested, RoundsAreLimited) {
  const Loop loop;
  const auto bound = bind_graph(loop.maker.graph).value();
  const auto plan = make_plan(*bound, loop.weights, {true, true, true, true});
  Workspace workspace(1);
  for (const bool by_work : {false, true}) {
    Limits limits;
    if (by_work)
      limits.max_work = 1 << 17;
    else
      limits.max_loop_rounds = 1000;
    ops::Context context;
    Executor executor(context, limits);
    const auto found = plan->run(loop.inputs(1, 1e6f, 2), {}, executor, workspace);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::limit);
  }
}

// In repeated calls, too, all loops together have the limit of one call.
TEST(PlanNested, RoundsOfRepeatedCallsAreLimited) {
  GraphMaker maker;
  const ValueId count = maker.input("count"), x = maker.input("x"), weight = maker.input("weight"),
                limit = maker.input("limit");
  ValueId last = x;
  for (int loop = 0; loop < 2; ++loop) {
    const SubgraphId condition = maker.graph.add_subgraph(is_below());
    const SubgraphId body = maker.graph.add_subgraph(turned());
    last = maker.calls("torch.ops.higher_order.while_loop",
                       {named("", condition), named("", body), named("", tensors({count, last})),
                        named("", tensors({weight, limit}))},
                       2)[1];
  }
  maker.graph.set_outputs({Argument(last)});
  const Loop loop;
  const auto bound = bind_graph(maker.graph).value();
  const auto plan = make_plan(*bound, loop.weights, {true, true, true, true});
  Limits limits;
  limits.max_loop_rounds = 10;
  ops::Context context;
  Executor executor(context, limits);
  Workspace workspace(1);
  Recording recording(maker.graph, 0, false);
  ASSERT_TRUE(plan->run(loop.inputs(1, 3, 2), {}, executor, workspace, &recording));
  ASSERT_TRUE(recording.is_usable());
  for (const float rounds : {4.0f, 8.0f, 5.0f}) {
    const std::vector<Value> inputs = loop.inputs(1, rounds, 2);
    const std::vector<const Value*> given{&inputs[0], &inputs[1], &inputs[3]};
    EXPECT_EQ(recording.run(given, {}).value(), rounds < 8) << rounds;
  }
}

// A repeated round computes where the recorded one did. That must not be memory that a caller gave
// for the results of one call.
TEST(PlanNested, RecordingsKeepNoMemoryOfTheCaller) {
  GraphMaker branch;
  const ValueId y = branch.input("y");
  branch.graph.set_outputs({Argument(
      branch.call("torch.ops.aten.cumsum.default", {named("self", y), named("dim", int64_t{0})}))});
  GraphMaker maker;
  const ValueId x = maker.input("x");
  const SubgraphId sums = maker.graph.add_subgraph(branch.graph),
                   unused = maker.graph.add_subgraph(std::move(branch.graph));
  const ValueId result =
      maker.call("torch.ops.higher_order.cond",
                 {named("", true), named("", sums), named("", unused), named("", tensors({x}))});
  TensorMeta record;
  record.dtype = ScalarType{dtype_info(Dtype::float32).schema_number};
  record.sizes.emplace_back(2);
  maker.graph.set_value_meta(result, std::move(record));
  maker.graph.set_outputs({Argument(result)});
  const auto bound = bind_graph(maker.graph).value();
  const auto plan = make_plan(*bound, std::vector<Value>(1), {true});
  Workspace workspace(1);
  const std::vector<ModelValue> outputs(1);
  std::vector<GraphOutput> graph_outputs(1);
  graph_outputs[0].role = GraphOutput::Role::result;
  std::vector<std::pair<Tensor, std::vector<float>>> given;  // and what a call left there
  for (const float number : {1.0f, 2.0f, 3.0f, 4.0f}) {
    const Tensor memory = Tensor::zeros(Dtype::float32, {2});
    const OutputAllocator allocate = [&](size_t, Dtype, const Sizes&) { return memory; };
    OutputMemory places(allocate, outputs, graph_outputs);
    ops::Context context;
    Executor executor(context);
    const auto results = plan->run({Value(floats({2}, {number, number}))}, {.outputs = &places},
                                   executor, workspace);
    ASSERT_TRUE(results) << results.error().text();
    EXPECT_EQ(elements((*results)[0]), (std::vector<float>{number, 2 * number}));
    for (const auto& [earlier, left] : given) EXPECT_EQ(elements(Value(earlier)), left);
    given.emplace_back(memory, elements(Value(memory)));
  }
}

// Elements of all rounds share a storage, of which as_strided sees any part.
TEST(PlanNested, RoundsThatSeeTheWholeStorageAreNotRecorded) {
  GraphMaker body;
  body.graph.set_outputs(
      {Argument(body.call("torch.ops.aten.as_strided.default",
                          {named("self", body.input("element")), named("size", ints({3})),
                           named("stride", ints({1})), named("storage_offset", int64_t{1})}))});
  GraphMaker maker;
  const ValueId xs = maker.input("xs");
  const SubgraphId nested = maker.graph.add_subgraph(std::move(body.graph));
  const auto results =
      maker.calls("torch.ops.higher_order.map_impl",
                  {named("", nested), named("", tensors({xs})), named("", tensors({}))}, 1);
  maker.graph.set_outputs({Argument(results[0])});
  const auto bound = bind_graph(maker.graph).value();
  const auto plan = make_plan(*bound, std::vector<Value>(1), {true});
  ASSERT_EQ(plan->nested.size(), 1U);
  const std::vector<Value> inputs{Value(floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}))};
  Workspace workspace(1);
  ops::Context context;
  Executor executor(context);
  const auto found = plan->run(inputs, {}, executor, workspace).value();
  EXPECT_EQ(elements(found[0]), (std::vector<float>{2, 3, 4, 2, 3, 4, 2, 3, 4, 2, 3, 4}));
}

// A step may copy a weight to another layout. The copy does not outlive its call, but recorded
// rounds do.
TEST(PlanNested, RecordedRoundsReadTheWeightItself) {
  GraphMaker body;
  const ValueId element = body.input("element"), factor = body.input("factor");
  body.graph.set_outputs({Argument(
      body.call("torch.ops.aten.mul.Tensor", {named("self", element), named("other", factor)}))});
  GraphMaker maker;
  const ValueId x = maker.input("x"), kernel = maker.input("kernel"), image = maker.input("image"),
                xs = maker.input("xs");
  const ValueId channels_last =
      maker.call("torch.ops.aten.conv2d.default", {named("input", x), named("weight", kernel)});
  const ValueId joined =
      maker.call("torch.ops.aten.cat.default",
                 {named("tensors", tensors({channels_last, image})), named("dim", int64_t{1})});
  const SubgraphId nested = maker.graph.add_subgraph(std::move(body.graph));
  const auto products =
      maker.calls("torch.ops.higher_order.map_impl",
                  {named("", nested), named("", tensors({xs})), named("", tensors({image}))}, 1);
  maker.graph.set_outputs({Argument(products[0]), Argument(joined)});
  std::vector<float> many(32);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i);
  const std::vector<Value> inputs{Value(floats({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})),
                                  Value(floats({2, 2, 1, 1}, {1, 2, 3, 4})),
                                  Value(floats({1, 2, 2, 2}, {8, 7, 6, 5, 4, 3, 2, 1})),
                                  Value(floats({4, 1, 2, 2, 2}, many))};
  const std::vector<Value> weights{Value(), inputs[1], inputs[2], Value()};
  const auto bound = bind_graph(maker.graph).value();
  const auto plan = make_plan(*bound, weights, {true, true, true, true});
  const auto expected = execute(maker.graph, inputs).value();
  Workspace workspace(1);
  std::vector<Tensor> taken;
  for (int call = 0; call < 2; ++call) {
    ops::Context context;
    Executor executor(context);
    const auto found = plan->run(inputs, {}, executor, workspace).value();
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(elements(found[i]), elements(expected[i]));
    // Takes the memory that the call no longer needs.
    for (int i = 0; i < 16; ++i) {
      taken.push_back(workspace.memory.tensor(Dtype::float32, {8}));
      std::fill_n(taken.back().data<float>(), 8, -1.0f);
    }
  }
}

// The memory that a program's recorded rounds hold is bounded, however many bodies it has.
TEST(PlanNested, RoundsThatAreKeptHoldLittle) {
  Workspace workspace(1);
  const auto program = std::make_shared<const int>(0), other = std::make_shared<const int>(0);
  const Plan nested;
  workspace.nested_recordings(program, nested);
  EXPECT_TRUE(workspace.may_hold_nested(uint64_t{200} << 20));
  EXPECT_FALSE(workspace.may_hold_nested(uint64_t{100} << 20));
  EXPECT_TRUE(workspace.may_hold_nested(uint64_t{50} << 20));
  workspace.nested_recordings(program, nested);
  EXPECT_FALSE(workspace.may_hold_nested(uint64_t{50} << 20));
  workspace.nested_recordings(other, nested);
  EXPECT_TRUE(workspace.may_hold_nested(uint64_t{50} << 20));
}

// A body that returns its operand, and one that writes to it.
TEST(PlanNested, BodiesThatOnlyHandOnOrWrite) {
  for (const bool writes : {false, true}) {
    GraphMaker body;
    const ValueId inner = body.input("x");
    const ValueId made = body.call(
        "torch.ops.aten.add.Tensor",
        {named("self",
               writes ? body.call("torch.ops.aten.clone.default", {named("self", inner)}) : inner),
         named("other", 1.0)});
    if (writes) body.call("torch.ops.aten.mul_.Tensor", {named("self", made), named("other", 2.0)});
    body.graph.set_outputs({Argument(inner), Argument(made)});
    GraphMaker maker;
    const ValueId xs = maker.input("xs");
    const SubgraphId nested = maker.graph.add_subgraph(std::move(body.graph));
    const auto results =
        maker.calls("torch.ops.higher_order.map_impl",
                    {named("", nested), named("", tensors({xs})), named("", tensors({}))}, 2);
    maker.graph.set_outputs({Argument(results[0]), Argument(results[1])});
    const auto bound = bind_graph(maker.graph).value();
    const auto plan = make_plan(*bound, std::vector<Value>(1), {true});
    EXPECT_EQ(plan->nested.size(), writes ? 0U : 1U);
    Workspace workspace(1);
    const std::vector<Value> inputs{Value(floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}))};
    for (int call = 0; call < 3; ++call) {
      ops::Context context;
      Executor executor(context);
      const auto found = plan->run(inputs, {}, executor, workspace).value();
      const auto expected = execute(maker.graph, inputs).value();
      for (size_t i = 0; i < 2; ++i) EXPECT_EQ(elements(found[i]), elements(expected[i]));
    }
  }
}

// The calls have two lists of operands instead of one. The plan must assume the same operands as
// the reference executor passes on.
TEST(PlanNested, OperandsAreThoseThatTheExecutorHandsOn) {
  for (const bool is_scan : {false, true}) {
    GraphMaker body;
    const ValueId x = body.input("x");
    if (is_scan) body.input("element");
    const ValueId weight = body.input("weight");
    const ValueId factor = body.call("torch.ops.aten.exp.default", {named("self", weight)});
    body.graph.set_outputs({Argument(
        body.call("torch.ops.aten.mul.Tensor", {named("self", x), named("other", factor)}))});
    GraphMaker maker;
    const ValueId given = maker.input("given"), first = maker.input("first"),
                  second = maker.input("second");
    const SubgraphId nested = maker.graph.add_subgraph(std::move(body.graph));
    const ValueId result = maker.call(
        is_scan ? "torch.ops.higher_order.scan" : "torch.ops.higher_order.cond",
        is_scan ? std::vector{named("", nested), named("", tensors({given})),
                              named("", tensors({first})), named("", tensors({first})),
                              named("", false), named("", tensors({second}))}
                : std::vector{named("", true), named("", nested), named("", nested),
                              named("", tensors({first})), named("", tensors({second}))});
    maker.graph.set_outputs({Argument(result)});
    const std::vector<Value> inputs{Value(floats({2}, {1, 2})), Value(floats({2}, {0.5f, 1})),
                                    Value(floats({2}, {2, 3}))};
    std::vector<Value> weights = inputs;
    weights[0] = Value();
    const auto bound = bind_graph(maker.graph).value();
    const auto plan = make_plan(*bound, weights, {true, true, true});
    Workspace workspace(1);
    ops::Context context;
    Executor executor(context);
    const auto found = plan->run(inputs, {}, executor, workspace);
    const auto expected = execute(maker.graph, inputs);
    ASSERT_EQ(bool(found), bool(expected));
    ASSERT_TRUE(expected) << expected.error().text();
    EXPECT_EQ(elements((*found)[0]), elements((*expected)[0]));
  }
}

}  // namespace
}  // namespace pt2::run
