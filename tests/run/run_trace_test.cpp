// The values that observers see, and the first value that differs from a trace recorded by PyTorch
// (examples/record_trace.py).
#include "pt2/tools/run_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "pt2/ir/builder.h"
#include "pt2/save.h"
#include "run/corpus_model.h"
#include "run/graph_maker.h"

namespace pt2::run {
namespace {

Result<TraceComparison> compare_file(const std::string& program, const std::string& trace,
                                     const CompareOptions& options = {}) {
  const Model model = corpus_model(program);
  PT2_TRY(const NamedTensors tensors, read_tensor_file(PT2_TEST_DATA "/traces/" + trace));
  PT2_TRY(std::vector<Value> inputs, inputs_of_trace(model, tensors));
  Session session(model);
  return compare_with_trace(session, std::move(inputs), tensors, options);
}

TEST(Trace, AgreesWithPyTorchs) {
  for (const auto& [name, count] : {std::pair("mlp", 3u), std::pair("cond", 2u)}) {
    const auto result = compare_file(name, std::string(name) + ".safetensors");
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_FALSE(result->first) << result->first->value << ": " << result->first->difference;
    EXPECT_EQ(result->agreeing, count);
    EXPECT_EQ(result->unknown, 0u);
  }
}

TEST(Trace, NamesTheFirstDifference) {
  const auto result = compare_file("mlp", "mlp_wrong.safetensors");
  ASSERT_TRUE(result) << result.error().text();
  ASSERT_TRUE(result->first);
  EXPECT_EQ(result->first->value, "relu");
  EXPECT_EQ(result->first->target, "torch.ops.aten.relu.default");
  EXPECT_NE(result->first->source_line, "");
  EXPECT_NE(result->first->difference.find("1 of "), std::string::npos);
  EXPECT_EQ(result->agreeing, 1u);
  EXPECT_NEAR(result->largest_error, 0.5, 1e-6);
  const auto tolerant = compare_file("mlp", "mlp_wrong.safetensors", {.absolute = 1});
  ASSERT_TRUE(tolerant);
  EXPECT_FALSE(tolerant->first);
}

// Every node has the largest accepted error. The errors of successive nodes must not add up.
TEST(Trace, ErrorsDoNotAddUp) {
  const Model model = corpus_model("mlp");
  auto trace = read_tensor_file(PT2_TEST_DATA "/traces/mlp.safetensors").value();
  constexpr float kError = 0.09f;
  std::map<std::string, Tensor> values;
  for (auto& [name, tensor] : trace) values[name] = tensor = tensor.clone();
  std::span<float> linear(values["linear"].data<float>(), values["linear"].as<float>().size());
  std::span<float> relu(values["relu"].data<float>(), linear.size());
  std::span<float> out(values["linear_1"].data<float>(), values["linear_1"].as<float>().size());
  for (size_t i = 0; i < linear.size(); ++i) {
    linear[i] += kError;
    relu[i] = std::max(linear[i], 0.f) + kError;
  }
  Session session(model);
  const Tensor weight = *session.state("fc2.weight");
  const Tensor bias = *session.state("fc2.bias");
  const int64_t depth = weight.size(1);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto column = static_cast<int64_t>(i) % weight.size(0);
    const int64_t row = static_cast<int64_t>(i) / weight.size(0);
    out[i] = bias.as<float>()[static_cast<size_t>(column)] + kError;
    for (int64_t k = 0; k < depth; ++k)
      out[i] +=
          weight.data<float>()[column * depth + k] * relu[static_cast<size_t>(row * depth + k)];
  }
  auto inputs = inputs_of_trace(model, trace).value();
  const auto result =
      compare_with_trace(session, std::move(inputs), trace, {.relative = 0, .absolute = 0.1});
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_FALSE(result->first) << result->first->value << ": " << result->first->difference;
  EXPECT_EQ(result->agreeing, 3u);
}

TEST(Trace, NeedsTheInputsAndSomeValue) {
  const auto missing = compare_file("cond", "mlp.safetensors", {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::argument);
  const Model model = corpus_model("mlp");
  auto trace = read_tensor_file(PT2_TEST_DATA "/traces/mlp.safetensors").value();
  std::erase_if(trace, [](const auto& tensor) { return tensor.first != "x"; });
  auto inputs = inputs_of_trace(model, trace).value();
  Session session(model);
  const auto result = compare_with_trace(session, std::move(inputs), trace);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "the trace has no value of this program");
}

TEST(Trace, NumbersNeedMemory) {
  ProgramBuilder builder;
  builder.output(builder.input("n", builder.dim("s0", {2, 9}, 3)));
  PackageContents contents;
  contents.programs.push_back({.json = program_json(std::move(builder).finish().value())});
  StringSink sink;
  ASSERT_TRUE(save_package(contents, sink));
  const Record file = make_record(sink.take());
  const Model model =
      Model::from_package(std::make_shared<const Package>(
                              Package::open_bytes(file.bytes, file.owner, "numbers.pt2").value()))
          .value();
  EXPECT_EQ(
      *inputs_of_trace(model, {{"n", Tensor::of<int64_t>({}, {4})}}).value()[0].get_if<int64_t>(),
      4);
  EXPECT_EQ(
      inputs_of_trace(model, {{"n", Tensor::without_elements(Dtype::int64, {})}}).error().code,
      ErrorCode::argument);
}

TEST(Observer, SeesNestedGraphsByPathAndRound) {
  GraphMaker body;
  const ValueId carried = body.input("carried");
  const ValueId x = body.input("x");
  const ValueId sum =
      body.call("torch.ops.aten.add.Tensor", {named("self", carried), named("other", x)});
  body.graph.set_outputs({Argument(sum), Argument(sum)});
  body.graph.name = "body";
  GraphMaker maker;
  const ValueId init = maker.input("init");
  const ValueId xs = maker.input("xs");
  const SubgraphId nested = maker.graph.add_subgraph(std::move(body.graph));
  const ValueId out =
      maker.call("torch.ops.higher_order.scan",
                 {named("", nested), named("", ArgumentList{ListKind::tensors, {Argument(init)}}),
                  named("", ArgumentList{ListKind::tensors, {Argument(xs)}}),
                  named("", ArgumentList{ListKind::tensors, {}})});
  maker.graph.set_outputs({Argument(out)});
  const auto bound = bind_graph(maker.graph);
  ASSERT_TRUE(bound) << bound.error().text();
  std::vector<std::pair<std::string, float>> seen;
  const Observer observer = [&](const ObservedValue& observed) -> Result<void> {
    seen.emplace_back(observed.name, elements(observed.value)[0]);
    return {};
  };
  ops::Context context;
  Executor executor(context);
  executor.observe(&observer);
  const auto outputs =
      executor.run(**bound, {Value(floats({}, {1})), Value(floats({3}, {10, 20, 30}))});
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ(seen,
            (std::vector<std::pair<std::string, float>>{
                {"v0.body.v0", 11}, {"v0.body[1].v0", 31}, {"v0.body[2].v0", 61}, {"v0", 61}}));
}

TEST(Observer, EndsTheRun) {
  GraphMaker maker;
  const ValueId x = maker.input("x");
  maker.graph.set_outputs(
      {Argument(maker.call("torch.ops.aten.relu.default", {named("self", x)}))});
  const auto bound = bind_graph(maker.graph);
  const Observer observer = [](const ObservedValue&) -> Result<void> {
    return Error{ErrorCode::io, "enough", ""};
  };
  ops::Context context;
  Executor executor(context);
  executor.observe(&observer);
  const auto outputs = executor.run(**bound, {Value(floats({1}, {1}))});
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().message, "enough");
}

TEST(Observer, CostsTheRunMoreThanItsNodesDo) {
  GraphMaker maker;
  ValueId x = maker.input("x");
  for (int i = 0; i < 3; ++i) x = maker.call("torch.ops.aten.relu.default", {named("self", x)});
  maker.graph.set_outputs({Argument(x)});
  const auto bound = bind_graph(maker.graph);
  ops::Context context;
  const std::vector<Value> inputs{Value(floats({1}, {1}))};
  const Limits limits{.max_work = 10'000};
  ASSERT_TRUE(Executor(context, limits).run(**bound, inputs));
  int seen = 0;
  const Observer observer = [&](const ObservedValue&) -> Result<void> {
    ++seen;
    return {};
  };
  Executor executor(context, limits);
  executor.observe(&observer);
  const auto outputs = executor.run(**bound, inputs);
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().code, ErrorCode::limit);
  EXPECT_EQ(seen, 2);
}

TEST(Session, StateMayBeWrittenTo) {
  const Model model = corpus_model("tied_weights");
  Session session(model);
  Session other(model);
  std::vector<std::string> names;
  for (const InputSpec& spec : model.program().signature.input_specs)
    if (spec.kind == InputKind::parameter) names.push_back(*spec.target);
  ASSERT_GE(names.size(), 2u);
  EXPECT_FALSE(session.mutable_state("nothing"));
  Tensor weight = session.mutable_state(names[0]).value();
  const float before = *other.state(names[0])->data<float>();
  *weight.data<float>() = before + 1;
  EXPECT_EQ(*session.state(names[0])->data<float>(), before + 1);
  EXPECT_EQ(*other.state(names[0])->data<float>(), before);
  EXPECT_EQ(session.mutable_state(names[0]).value().raw_data(), weight.raw_data());
  // Values that share storage in the file still share it.
  for (const std::string& name : names)
    EXPECT_EQ(other.state(name)->storage() == other.state(names[0])->storage(),
              session.state(name)->storage() == weight.storage())
        << name;
}

}  // namespace
}  // namespace pt2::run
