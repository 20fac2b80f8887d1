// The executor on small graphs made by hand: aliasing, mutation, nested graphs, and errors for
// invalid graphs.
#include "run/reference/executor.h"

#include <gtest/gtest.h>

#include "base/memory_account.h"
#include "run/graph_maker.h"

namespace pt2::run {
namespace {

TEST(Executor, InPlaceWritesReachEveryView) {
  GraphMaker maker;
  const ValueId x = maker.input("x");
  const ValueId row =
      maker.call("torch.ops.aten.select.int",
                 {named("self", x), named("dim", int64_t{0}), named("index", int64_t{1})});
  maker.call("torch.ops.aten.add_.Tensor", {named("self", row), named("other", 10.0)});
  maker.graph.set_outputs({Argument(x), Argument(row)});
  const auto outputs = execute(maker.graph, {Value(floats({2, 2}, {1, 2, 3, 4}))});
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ(elements((*outputs)[0]), (std::vector<float>{1, 2, 13, 14}));
  EXPECT_EQ(elements((*outputs)[1]), (std::vector<float>{13, 14}));
}

TEST(Executor, KnowsWhichInputsMayBeWritten) {
  GraphMaker maker;
  const ValueId x = maker.input("x");
  const ValueId y = maker.input("y");
  const ValueId z = maker.input("z");
  const ValueId view = maker.call(
      "torch.ops.aten.view.default",
      {named("self", x), named("size", ArgumentList{ListKind::ints, {Argument(int64_t{4})}})});
  maker.call("torch.ops.aten.relu_.default", {named("self", view)});
  const ValueId fresh = maker.call("torch.ops.aten.relu.default", {named("self", y)});
  maker.call("torch.ops.aten.relu_.default", {named("self", fresh)});
  maker.graph.set_outputs({Argument(z)});
  const auto bound = bind_graph(maker.graph);
  ASSERT_TRUE(bound) << bound.error().text();
  EXPECT_EQ(inputs_possibly_written(**bound), (std::vector<bool>{true, false, false}));
}

TEST(Executor, KnowsWhatIsWrittenThroughResultsOfSeveralInputs) {
  GraphMaker maker;
  const ValueId x = maker.input("x"), y = maker.input("y"), z = maker.input("z"),
                w = maker.input("w");
  const auto broadcast = [&](const std::vector<ValueId>& values) {
    ArgumentList list{ListKind::tensors, {}};
    for (const ValueId value : values) list.items.emplace_back(value);
    return maker.calls("torch.ops.aten.broadcast_tensors.default",
                       {named("tensors", std::move(list))}, values.size());
  };
  const std::vector<ValueId> two = broadcast({x, y}), three = broadcast({two[0], two[1], z});
  maker.call("torch.ops.aten.relu_.default", {named("self", three[2])});
  maker.graph.set_outputs({Argument(w)});
  const auto bound = bind_graph(maker.graph);
  ASSERT_TRUE(bound) << bound.error().text();
  EXPECT_EQ(inputs_possibly_written(**bound), (std::vector<bool>{true, true, true, false}));
}

// A file may give arguments by position only. If the executor missed the write to an argument, a
// write to a mapped weight would crash the process.
TEST(Executor, KnowsWhatIsWrittenByPosition) {
  GraphMaker maker;
  const ValueId x = maker.input("x");
  const ValueId y = maker.input("y");
  const ValueId mean = maker.input("mean");
  const ValueId var = maker.input("var");
  maker.call("torch.ops.aten.native_batch_norm.default",
             {named("", x), named("", None{}), named("", None{}), named("", mean), named("", var),
              named("", true), named("", 0.1), named("", 1e-5)});
  maker.graph.set_outputs({Argument(y)});
  const auto bound = bind_graph(maker.graph);
  ASSERT_TRUE(bound) << bound.error().text();
  EXPECT_EQ(inputs_possibly_written(**bound), (std::vector<bool>{false, false, true, true}));
}

TEST(Executor, CountsWhatLoopsCompute) {
  GraphMaker maker;
  const ValueId x = maker.input("x");
  maker.graph.set_outputs(
      {Argument(maker.call("torch.ops.aten.relu.default", {named("self", x)}))});
  const auto bound = bind_graph(maker.graph);
  ASSERT_TRUE(bound) << bound.error().text();
  const MemoryAccount::Scope scope(std::make_shared<MemoryAccount>(1 << 20, 1000));
  ops::Context context;
  const auto outputs = Executor(context, {.max_work = 1000})
                           .run(**bound, {Value(floats({1000}, std::vector<float>(1000)))});
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().code, ErrorCode::limit);
  EXPECT_NE(outputs.error().message.find("max_work"), std::string::npos);
}

TEST(Executor, CondRunsTheChosenGraph) {
  auto branch = [](const std::string& target) {
    GraphMaker inner;
    const ValueId a = inner.input("a");
    inner.graph.set_outputs({Argument(inner.call(target, {named("self", a)}))});
    return std::move(inner.graph);
  };
  GraphMaker maker;
  const ValueId predicate = maker.input("predicate");
  const ValueId x = maker.input("x");
  const SubgraphId yes = maker.graph.add_subgraph(branch("torch.ops.aten.relu.default"));
  const SubgraphId no = maker.graph.add_subgraph(branch("torch.ops.aten.neg.default"));
  const ValueId out = maker.call("torch.ops.higher_order.cond",
                                 {named("", predicate), named("", yes), named("", no),
                                  named("", ArgumentList{ListKind::tensors, {Argument(x)}})});
  maker.graph.set_outputs({Argument(out)});
  for (const bool choice : {true, false}) {
    Tensor flag = Tensor::zeros(Dtype::bool_, {});
    *flag.data<bool>() = choice;
    const auto outputs = execute(maker.graph, {Value(flag), Value(floats({2}, {-1, 2}))});
    ASSERT_TRUE(outputs) << outputs.error().text();
    EXPECT_EQ(elements((*outputs)[0]),
              choice ? (std::vector<float>{0, 2}) : (std::vector<float>{1, -2}));
  }
}

TEST(Executor, NamesEveryOperatorWithoutKernel) {
  GraphMaker maker;
  const ValueId x = maker.input("x");
  maker.call("torch.ops.mine.first.default", {named("x", x)});
  maker.call("torch.ops.mine.second.default", {named("x", x)});
  maker.call("torch.ops.mine.first.default", {named("x", x)});
  const auto bound = bind_graph(maker.graph);
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, ErrorCode::unsupported);
  EXPECT_EQ(bound.error().message,
            "2 operators have no kernel; docs/custom-operators.md says how to add one:\n"
            "  torch.ops.mine.first.default (%v0 (torch.ops.mine.first.default) and 1 more)\n"
            "  torch.ops.mine.second.default (%v1 (torch.ops.mine.second.default))");
}

TEST(Executor, RefusesArgumentsThatDoNotFit) {
  struct Case {
    std::vector<NamedArgument> inputs;
    std::string message;
  };
  const Case cases[] = {
      {{}, "missing argument 'self'"},
      {{named("self", std::string("text"))}, "found string 'text', expected Tensor"},
      {{named("self", ValueId{0}), named("more", int64_t{1})}, "unknown argument 'more'"},
      {{named("self", ValueId{0}), named("self", ValueId{0})}, "given twice"},
  };
  for (const Case& test : cases) {
    GraphMaker maker;
    maker.input("x");
    maker.call("torch.ops.aten.relu.default", test.inputs);
    const auto bound = bind_graph(maker.graph);
    ASSERT_FALSE(bound) << test.message;
    EXPECT_EQ(bound.error().code, ErrorCode::invalid);
    EXPECT_NE(bound.error().text().find(test.message), std::string::npos) << bound.error().text();
    EXPECT_NE(bound.error().where.find("%v0"), std::string::npos) << bound.error().text();
  }
}

// A file may record the list that an operator returns as one tensor.
TEST(Executor, RefusesAListWhereTheProgramHasATensor) {
  GraphMaker maker;
  const ValueId x = maker.input("x");
  maker.call("torch.ops.aten._foreach_expm1.default",
             {named("self", ArgumentList{.kind = ListKind::tensors, .items = {Argument(x)}})});
  maker.graph.set_outputs({Argument(x)});
  const auto outputs = execute(maker.graph, {Value(floats({2}, {1, 2}))});
  ASSERT_FALSE(outputs);
  EXPECT_NE(outputs.error().text().find("found list of 1 as a result, expected a tensor"),
            std::string::npos)
      << outputs.error().text();
}

TEST(Executor, ErrorsNameTheNode) {
  GraphMaker maker;
  const ValueId x = maker.input("x");
  maker.call("torch.ops.aten.select.int",
             {named("self", x), named("dim", int64_t{0}), named("index", int64_t{7})});
  const auto outputs = execute(maker.graph, {Value(floats({2}, {1, 2}))});
  ASSERT_FALSE(outputs);
  EXPECT_NE(outputs.error().where.find("%v0 (torch.ops.aten.select.int)"), std::string::npos)
      << outputs.error().text();
}

}  // namespace
}  // namespace pt2::run
