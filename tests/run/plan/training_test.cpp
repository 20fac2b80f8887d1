// Plans of training programs: batch statistics, and state that the program writes.
#include <functional>

#include "package/saved.h"
#include "pt2/ir/program.h"
#include "pt2/model.h"
#include "run/corpus_model.h"
#include "run/plan/plan_case.h"

namespace pt2::run {
namespace {

struct Norm {
  std::string target;
  size_t results = 1;
  bool has_running = true;
  bool relu = false;
};

// Returns the steps of a batch normalization in training. Images first go through a convolution.
Names check(const Norm& norm, const Sizes& sizes) {
  Case graph;
  ValueId x = graph.input(sizes);
  if (sizes.size() == 4)
    x = graph.call("conv2d.default",
                   {named("input", Argument(x)),
                    named("weight", Argument(graph.weight({sizes[1], sizes[1], 1, 1})))});
  std::vector<NamedArgument> arguments{
      named("input", Argument(x)), named("weight", Argument(graph.weight({sizes[1]}))),
      named("bias", norm.has_running ? Argument(graph.weight({sizes[1]})) : Argument())};
  std::vector<ValueId> running;
  for (const char* name : {"running_mean", "running_var"})
    if (norm.has_running) {
      running.push_back(graph.input({sizes[1]}));
      arguments.push_back(named(name, Argument(running.back())));
    }
  arguments.push_back(named("training", Argument(true)));
  arguments.push_back(named("momentum", Argument(0.2)));
  arguments.push_back(named("eps", Argument(1e-5)));
  if (norm.target == "batch_norm.default")
    arguments.push_back(named("cudnn_enabled", Argument(false)));
  const auto results = graph.calls(norm.target, std::move(arguments), norm.results);
  graph.output(norm.relu ? graph.call("relu.default", {self(results[0])}) : results[0]);
  for (size_t i = 1; i < results.size(); ++i) graph.output(results[i]);
  // The statistics that were updated in place become results as well.
  if (norm.results < 5)
    for (const ValueId id : running)
      graph.output(graph.call("mul.Tensor", {self(id), named("other", Argument(1.0))}));
  return graph.check();
}

TEST(PlanTraining, BatchesAreNormalizedByAKernel) {
  const Norm functional{.target = "_native_batch_norm_legit_functional.default", .results = 5};
  EXPECT_EQ(check(functional, {3, 4, 5, 6}), (Names{"convolution", "batch_norm"}));
  EXPECT_EQ(check(functional, {7, 4}), Names{"batch_norm"});
  EXPECT_EQ(check(functional, {3, 4, 5}), Names{"batch_norm"});
  Norm activated = functional;
  activated.relu = true;
  EXPECT_EQ(check(activated, {3, 4, 5, 6}), (Names{"convolution", "batch_norm"}));
  const Names in_place{"convolution", "batch_norm", "pointwise", "pointwise"};
  EXPECT_EQ(check({.target = "batch_norm.default"}, {3, 4, 5, 6}), in_place);
  EXPECT_EQ(check({.target = "native_batch_norm.default", .results = 3}, {3, 4, 5, 6}), in_place);
  EXPECT_EQ(
      check({.target = "_native_batch_norm_legit.no_stats", .results = 3, .has_running = false},
            {3, 4, 5, 6}),
      (Names{"convolution", "batch_norm"}));
}

// With one element per channel the step gives the results of the reference kernel.
TEST(PlanTraining, OneNumberHasNoVariance) {
  Case graph;
  const ValueId x = graph.input({1, 3});
  const auto results = graph.calls("_native_batch_norm_legit.no_stats",
                                   {named("input", Argument(x)), named("weight", Argument()),
                                    named("bias", Argument()), named("training", Argument(true)),
                                    named("momentum", Argument(0.1)), named("eps", Argument(1e-5))},
                                   3);
  graph.output(results[0]);
  EXPECT_EQ(graph.check(), Names{"batch_norm"});
}

// Returns the program of the buffer `total`, which is written after the last node, with other
// outputs: `change` adds nodes.
std::shared_ptr<const Package> package_with(
    const std::function<void(Graph&, std::vector<Argument>&)>& change) {
  const auto package = corpus_package("buffer_mutation_functional");
  PackageContents contents = package_contents(*package).value();
  Program program = *package->program("model").value();
  std::vector<Argument> outputs(program.graph.outputs().begin(), program.graph.outputs().end());
  change(program.graph, outputs);
  program.graph.set_outputs(outputs);
  for (size_t i = 0; i < outputs.size(); ++i)
    program.signature.output_specs[i].arg.name =
        program.graph.value(*outputs[i].get_if<ValueId>()).name;
  contents.programs[0].json = program_json(program);
  return std::make_shared<const Package>(test::saved(contents));
}

// Adds a node whose result has the recorded type of `like`.
ValueId add_node(Graph& graph, const std::string& name, const std::string& target,
                 std::vector<NamedArgument> arguments, const std::string& like) {
  const ValueId made =
      *graph.add_value({.name = name, .meta = graph.value(*graph.find_value(like)).meta});
  graph.add_node({.target = "torch.ops.aten." + target,
                  .inputs = std::move(arguments),
                  .outputs = {Argument(made)}});
  return made;
}

// A program with a view of its state as a result.
std::shared_ptr<const Package> package_with_view_of_state(const std::string& view,
                                                          std::vector<NamedArgument> arguments) {
  return package_with([&](Graph& graph, std::vector<Argument>& outputs) {
    arguments.insert(arguments.begin(), named("self", Argument(*graph.find_value("b_total"))));
    outputs[2] = Argument(add_node(graph, "seen", view, arguments, "mul"));
  });
}

// A program that writes two numbers of its state, and returns the new state if `returns_state`.
std::shared_ptr<const Package> package_with_updated_part(bool returns_state) {
  const auto range = [](int64_t start) {
    return std::vector<NamedArgument>{
        named("dim", Argument(int64_t{0})), named("start", Argument(start)),
        named("end", Argument(start + 2)), named("step", Argument(int64_t{1}))};
  };
  return package_with([&](Graph& graph, std::vector<Argument>& outputs) {
    std::vector<NamedArgument> part = range(1), whole = range(0);
    part.insert(part.begin(), named("self", Argument(*graph.find_value("x"))));
    const ValueId two = add_node(graph, "two", "slice.Tensor", part, "x");
    TensorMeta meta = *graph.value(two).tensor();
    meta.sizes = {SymInt(2)};
    graph.set_value_meta(two, std::move(meta));
    whole.insert(whole.begin(), {named("self", Argument(*graph.find_value("b_total"))),
                                 named("src", Argument(two))});
    const ValueId updated = add_node(graph, "updated", "slice_scatter.default", whole, "b_total");
    outputs[1] = Argument(updated);
    outputs[2] = Argument(
        returns_state
            ? updated
            : add_node(graph, "scaled", "mul.Tensor",
                       {named("self", Argument(updated)), named("other", Argument(2.0))}, "x"));
  });
}

// Recorded calls write the same state as full calls, and each session has its own state.
void check_calls_with_state(const std::shared_ptr<const Package>& package) {
  const Model planned = Model::from_package(package, {.engine = EngineKind::planned}).value(),
              reference = Model::from_package(package, {.engine = EngineKind::reference}).value();
  Session fast(planned), other(planned), slow(reference);
  for (int call = 0; call < 8; ++call) {
    const auto start = static_cast<float>(call);
    std::vector<Value> given = inputs_of(planned, start, 0.1f),
                       same = inputs_of(planned, start, 0.1f);
    const auto found = fast.run(given), expected = slow.run(same);
    ASSERT_TRUE(found && expected);
    for (size_t i = 0; i < expected->size(); ++i)
      EXPECT_EQ(elements((*found)[i]), elements((*expected)[i])) << "call " << call;
    for (size_t i = 0; i < given.size(); ++i)
      EXPECT_EQ(elements(given[i]), elements(same[i])) << "input of call " << call;
    for (const InputSpec& spec : planned.program().signature.input_specs)
      if (spec.kind == InputKind::buffer && fast.state(*spec.target)->dtype() == Dtype::float32) {
        EXPECT_EQ(elements(Value(*fast.state(*spec.target))),
                  elements(Value(*slow.state(*spec.target))));
      }
    if (call % 3 == 0) {
      std::vector<Value> others = inputs_of(planned, 100, 0.1f);
      ASSERT_TRUE(other.run(others));
    }
  }
}

TEST(PlanTraining, StateIsWrittenByCallsThatAreDoneAgain) {
  for (const std::string name :
       {"buffer_mutation", "buffer_mutation_functional", "inplace_ops", "input_mutation"}) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, name);
    check_calls_with_state(corpus_package(name));
  }
}

// As in PyTorch, the view shows the value that is written after the last node.
TEST(PlanTraining, ResultsMayBeViewsOfState) {
  check_calls_with_state(package_with_view_of_state("alias.default", {}));
  check_calls_with_state(package_with_view_of_state(
      "slice.Tensor", {named("dim", Argument(int64_t{0})), named("start", Argument(int64_t{1})),
                       named("end", Argument(int64_t{3})), named("step", Argument(int64_t{1}))}));
  check_calls_with_state(package_with_view_of_state(
      "expand.default",
      {named("size", ArgumentList{ListKind::ints, {Argument(int64_t{2}), Argument(int64_t{3})}})}));
}

TEST(PlanTraining, PartsOfStateAreWrittenInPlace) {
  for (const bool returns_state : {false, true})
    check_calls_with_state(package_with_updated_part(returns_state));
}

}  // namespace
}  // namespace pt2::run
