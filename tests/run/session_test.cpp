// Sessions: their own state, the caller's memory for results, and cancelled calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <type_traits>
#include <utility>

#include "base/memory_account.h"
#include "pt2/ir/builder.h"
#include "pt2/model.h"
#include "pt2/save.h"
#include "run/corpus_model.h"
#include "run/graph_maker.h"
#include "run/model_shared.h"
#include "temporary_folder.h"

namespace pt2::run {
namespace {

// Returns 1, 2, 3, … in the input's sizes. Symbolic sizes become `dynamic`.
Value counted(const ModelValue& input, int64_t dynamic = 4) {
  Sizes sizes;
  for (const SymInt& size : input.tensor->sizes)
    sizes.push_back(size.is_symbolic() ? dynamic : size.literal());
  std::vector<float> values(static_cast<size_t>(checked_numel(sizes).value()));
  std::iota(values.begin(), values.end(), 1.0f);
  return Value(floats(sizes, values));
}

std::vector<Value> counted_inputs(const Model& model) {
  std::vector<Value> inputs;
  for (const ModelValue& input : model.inputs()) inputs.push_back(counted(input));
  return inputs;
}

Tensor zeros_like(const Value& value) {
  const Tensor& tensor = *value.get_if<Tensor>();
  return Tensor::zeros(tensor.dtype(), tensor.sizes());
}

// --- state

static_assert(!std::is_copy_constructible_v<Session> && !std::is_copy_assignable_v<Session>);

TEST(Session, ForksHaveStatesOfTheirOwn) {
  const Model model = corpus_model("buffer_mutation");
  Session session(model);
  session.seed(7);
  std::vector<Value> inputs = counted_inputs(model);
  ASSERT_TRUE(session.run(inputs));
  const std::vector<float> total = elements(Value(*session.state("total")));
  Session fork = session.fork();
  EXPECT_EQ(elements(Value(*fork.state("total"))), total);
  EXPECT_NE(fork.state("total")->storage(), session.state("total")->storage());

  const auto second = session.run(inputs);
  const auto fork_second = fork.run(inputs);
  ASSERT_TRUE(second && fork_second);
  EXPECT_EQ(elements((*second)[0]), elements((*fork_second)[0]));
  const std::vector<float> later = elements(Value(*session.state("total")));
  EXPECT_NE(later, total);
  ASSERT_TRUE(fork.run(inputs));
  EXPECT_EQ(elements(Value(*session.state("total"))), later);
  EXPECT_NE(elements(Value(*fork.state("total"))), later);
}

TEST(Session, GeneratorsMoveOnInTheSessionAlone) {
  const Model model = corpus_model("generators");
  std::vector<Value> inputs = counted_inputs(model);
  const auto drawn = [&](Session& session) {
    const auto outputs = session.run(inputs);
    std::vector<float> all;
    for (const Value& output : outputs.value())
      if (const Tensor& tensor = *output.get_if<Tensor>();
          tensor.dtype() == Dtype::float32 && tensor.is_contiguous())
        std::ranges::copy(elements(output), std::back_inserter(all));
    return all;
  };
  Session session(model);
  const std::vector<float> first = drawn(session);
  Session fork = session.fork();
  const std::vector<float> second = drawn(session);
  EXPECT_NE(second, first);
  EXPECT_EQ(drawn(fork), second);
  Session other(model);
  other.seed(5);  // does not affect operators that name a generator
  EXPECT_EQ(drawn(other), first);
}

TEST(Session, ForksKeepWhatSharesAStorage) {
  const Model model = corpus_model("tied_weights");
  std::vector<std::string> names;
  for (const InputSpec& spec : model.program().signature.input_specs)
    if (spec.kind == InputKind::parameter) names.push_back(*spec.target);
  Session session(model);
  ASSERT_TRUE(session.mutable_state(names[0]));
  const Session fork = session.fork();
  EXPECT_NE(fork.state(names[0])->storage(), session.state(names[0])->storage());
  size_t shared = 0;
  for (const std::string& name : names) {
    const bool is_shared = session.state(name)->storage() == session.state(names[0])->storage();
    EXPECT_EQ(fork.state(name)->storage() == fork.state(names[0])->storage(), is_shared) << name;
    shared += is_shared;
  }
  EXPECT_GE(shared, 2u);
}

TEST(Session, MovesIntoAnother) {
  const Model model = corpus_model("buffer_mutation");
  Session session(corpus_model("mlp"));
  Session counting(model);
  std::vector<Value> inputs = counted_inputs(model);
  ASSERT_TRUE(counting.run(inputs));
  const std::vector<float> total = elements(Value(*counting.state("total")));
  session = std::move(counting);
  EXPECT_EQ(elements(Value(*session.state("total"))), total);
  ASSERT_TRUE(session.run(inputs));
}

TEST(Session, TrimmedModelsRunOn) {
  const Model model = corpus_model("mlp");
  EXPECT_EQ(model.trim(), 0);
  Session session(model);
  std::vector<Value> inputs = counted_inputs(model);
  const auto before = session.run(inputs).value();
  for (int i = 0; i < 3; ++i) (void)session.run(inputs).value();
  EXPECT_GT(model.trim(), 0);
  EXPECT_EQ(model.trim(), 0);
  EXPECT_EQ(elements(session.run(inputs).value()[0]), elements(before[0]));
  const Model reference =
      Model::from_package(corpus_package("mlp"), {.engine = EngineKind::reference}).value();
  EXPECT_EQ(reference.trim(), 0);
}

TEST(Session, RefusesATensorWithoutMemory) {
  const Model model = corpus_model("input_mutation");
  std::vector<Value> inputs = counted_inputs(model);
  Session session(model);
  // Later calls of the planned engine are recorded ones, which skip most checks.
  for (int calls = 0; calls < 4; ++calls) {
    float* nothing = nullptr;
    for (const Tensor& tensor :
         {Tensor::without_elements(Dtype::float32, {3}), Tensor::view(nothing, {3})}) {
      const Value kept = std::exchange(inputs[1], Value(tensor));
      const auto outputs = session.run(inputs);
      ASSERT_FALSE(outputs);
      EXPECT_EQ(outputs.error().text(), "input 'y': found no memory for the elements of f32[3]");
      inputs[1] = kept;
    }
    ASSERT_TRUE(session.run(inputs));
  }
}

TEST(Model, OfNoPackageIsAnError) {
  const auto model = Model::from_package(nullptr);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::argument);
}

template <class T>
concept LendsItsInputs = requires(T model) {
  std::move(model).inputs();
};
template <class T>
concept LendsItsProgram = requires(T model) {
  std::move(model).program();
};
template <class T>
concept LendsItsWarnings = requires(T package) {
  std::move(package).warnings();
};
static_assert(!LendsItsInputs<Model> && !LendsItsProgram<Model> && !LendsItsWarnings<Package>);

// PyTorch loads such weights. The first would broadcast and the second would be converted, so the
// program would give other results than the exported one.
TEST(Model, NamesAWeightThatIsNotAsRecorded) {
  ProgramBuilder builder;
  const ValueId weight = builder.parameter("w", builder.tensor(Dtype::float32, {2}));
  const ValueId x = builder.input("x", builder.tensor(Dtype::float32, {2}));
  builder.output(builder.call("torch.ops.aten.add.Tensor", {arg("self", x), arg("other", weight)},
                              builder.tensor(Dtype::float32, {2})));
  PackageContents contents;
  contents.programs.resize(1);
  contents.programs[0].json = program_json(std::move(builder).finish().value());
  const test::TemporaryFolder folder;
  const std::string path = folder.file("other_weight.pt2");
  for (const auto& [other, text] : {std::pair(Tensor::zeros(Dtype::float32, {1}), "f32[1]"),
                                    std::pair(Tensor::zeros(Dtype::float16, {2}), "f16[2]")}) {
    contents.programs[0].state_dict =
        std::vector<SavedTensor>{{.name = "w", .tensor = other, .is_parameter = true}};
    ASSERT_TRUE(save_package(contents, path));
    const auto model = Model::load(path);
    ASSERT_FALSE(model) << text;
    EXPECT_EQ(model.error().code, ErrorCode::invalid);
    EXPECT_NE(model.error().message.find("the weight 'w' is " + std::string(text) +
                                         ", the program records f32[2]"),
              std::string::npos)
        << model.error().text();
  }
}

PackageContents built_contents(ProgramBuilder builder, std::vector<SavedTensor> weights) {
  PackageContents contents;
  contents.programs.resize(1);
  contents.programs[0].json = program_json(std::move(builder).finish().value());
  contents.programs[0].state_dict = std::move(weights);
  return contents;
}

Model built_model(ProgramBuilder builder, std::vector<SavedTensor> weights,
                  const LoadOptions& options = {}) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("built_model.pt2");
  EXPECT_TRUE(save_package(built_contents(std::move(builder), std::move(weights)), path));
  return Model::load(path, options).value();
}

// Loading copies weights that lie at odd addresses, as they do in files before 2.9. The copy
// belongs to the model and not to the caller whose result it is.
TEST(Model, ResultsThatAreWeightsCannotChangeIt) {
  ProgramBuilder builder;
  builder.output(builder.parameter("w", builder.tensor(Dtype::float32, {2})));
  StringSink sink;
  ASSERT_TRUE(save_package(
      built_contents(std::move(builder),
                     {{.name = "w", .tensor = floats({2}, {1, 2}), .is_parameter = true}}),
      sink));
  const auto file = std::make_shared<const std::string>("." + sink.take());
  const auto package = std::make_shared<const Package>(
      Package::open_bytes(std::as_bytes(std::span(*file)).subspan(1), file, "odd.pt2").value());
  const std::vector<float> unchanged{1, 2};
  for (const EngineKind engine : {EngineKind::planned, EngineKind::reference}) {
    const Model model = Model::from_package(package, {.engine = engine}).value();
    Tensor result = *model.run(std::vector<Value>()).value()[0].get_if<Tensor>();
    if (!result.storage()->is_read_only()) result.data<float>()[0] = 7;
    EXPECT_EQ(elements(model.run(std::vector<Value>()).value()[0]), unchanged);
    Session session(model);
    EXPECT_TRUE(session.state("w")->storage()->is_read_only());
    session.mutable_state("w").value().data<float>()[0] = 7;
    EXPECT_EQ(elements(session.run({}).value()[0]), (std::vector<float>{7, 2}));
    EXPECT_EQ(elements(model.run(std::vector<Value>()).value()[0]), unchanged);
  }
}

// run_decompositions() drops aten.copy: the new value of `b` is the input `a` itself, and that of
// `turned` a view of itself. The values are those of the eager module.
TEST(Session, NewValuesOfStateAreFromBeforeTheWrites) {
  for (const EngineKind engine : {EngineKind::planned, EngineKind::reference}) {
    ProgramBuilder builder;
    const TensorMeta meta = builder.tensor(Dtype::float32, {2});
    TensorMeta turned = builder.tensor(Dtype::float32, {3, 3});
    const ValueId a = builder.buffer("a", meta), b = builder.buffer("b", meta),
                  square = builder.buffer("square", turned);
    turned.strides = {1, 3};
    const ValueId x = builder.input("x", meta);
    builder.mutate_buffer("a",
                          builder.call("torch.ops.aten.clone.default", {arg("self", b)}, meta));
    builder.mutate_buffer("b", a);
    builder.mutate_buffer("square",
                          builder.call("torch.ops.aten.t.default", {arg("self", square)}, turned));
    builder.output(
        builder.call("torch.ops.aten.add.Tensor", {arg("self", x), arg("other", b)}, meta));
    const Model model =
        built_model(std::move(builder),
                    {{.name = "a", .tensor = floats({2}, {1, 2})},
                     {.name = "b", .tensor = floats({2}, {3, 4})},
                     {.name = "square", .tensor = floats({3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8})}},
                    {.engine = engine});
    Session session(model);
    for (int call = 0; call < 4; ++call) {
      const bool is_swapped = call % 2 == 0;
      std::vector<Value> inputs = {Value(floats({2}, {0, 0}))};
      const std::vector<float> first{1, 2}, second{3, 4};
      EXPECT_EQ(elements(session.run(inputs).value()[0]), is_swapped ? second : first);
      EXPECT_EQ(elements(Value(*session.state("a"))), is_swapped ? second : first);
      EXPECT_EQ(elements(Value(*session.state("b"))), is_swapped ? first : second);
      EXPECT_EQ(elements(Value(*session.state("square"))),
                is_swapped ? (std::vector<float>{0, 3, 6, 1, 4, 7, 2, 5, 8})
                           : (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
    }
  }
}

// After the bias changed, the plan that does not assume its value needs a row-major copy of the
// state's weights, which exceeds the limit.
TEST(Session, OtherWeightsWithoutAPlanAreAnErrorEachTime) {
  constexpr int64_t kUnits = 64;
  ProgramBuilder builder;
  TensorMeta turned = builder.tensor(Dtype::float32, {kUnits, kUnits});
  turned.strides = {1, kUnits};
  const TensorMeta units = builder.tensor(Dtype::float32, {kUnits});
  const TensorMeta state = builder.tensor(Dtype::float32, {1, 1, kUnits});
  const std::vector<ValueId> params = {
      builder.parameter("input", builder.tensor(Dtype::float32, {kUnits, 4})),
      builder.parameter("state", turned), builder.parameter("bias", units),
      builder.parameter("other_bias", units)};
  const ValueId x = builder.input("x", builder.tensor(Dtype::float32, {1, 1, 4}));
  const ValueId h = builder.input("h", state);
  const auto results = builder.call_many(
      "torch.ops.aten.rnn_tanh.input",
      {arg("input", x), arg("hx", h), arg("params", tensors(params)), arg("has_biases", true),
       arg("num_layers", int64_t{1}), arg("dropout", 0.0), arg("train", false),
       arg("bidirectional", false), arg("batch_first", false)},
      {state, state});
  builder.output(results[0]);
  const Tensor weights = Tensor::zeros(Dtype::float32, {kUnits, kUnits}),
               bias = Tensor::zeros(Dtype::float32, {kUnits});
  const Model model = built_model(std::move(builder),
                                  {{.name = "input",
                                    .tensor = Tensor::zeros(Dtype::float32, {kUnits, 4}),
                                    .is_parameter = true},
                                   {.name = "state",
                                    .tensor = weights.with_view({kUnits, kUnits}, {1, kUnits}, 0),
                                    .is_parameter = true},
                                   {.name = "bias", .tensor = bias, .is_parameter = true},
                                   {.name = "other_bias", .tensor = bias, .is_parameter = true}},
                                  {.limits = {.max_tensor_bytes = 12'000}});
  Session session(model);
  session.mutable_state("bias").value().data<float>()[0] = 1;
  for (int call = 0; call < 2; ++call) {
    std::vector<Value> inputs = counted_inputs(model);
    const auto refused = session.run(inputs);
    ASSERT_FALSE(refused) << "call " << call;
    EXPECT_EQ(refused.error().code, ErrorCode::limit);
  }
}

// Two storages may borrow the same memory. A value that the program reads before the write must not
// change.
TEST(Session, InputsMayBorrowTheSameMemory) {
  ProgramBuilder builder;
  const TensorMeta meta = builder.tensor(Dtype::float32, {3});
  const ValueId x = builder.input("x", meta), y = builder.input("y", meta);
  const ValueId negated = builder.call("torch.ops.aten.neg.default", {arg("self", y)}, meta);
  builder.call("torch.ops.aten.add_.Tensor", {arg("self", x), arg("other", x)}, meta);
  builder.output(builder.call("torch.ops.aten.relu.default", {arg("self", negated)}, meta));
  const Model model = built_model(std::move(builder), {});
  float memory[] = {-1, 2, -3};
  std::vector<Value> inputs{Value(Tensor::view(memory, {3})), Value(Tensor::view(memory, {3}))};
  EXPECT_EQ(elements(Session(model).run(inputs).value()[0]), (std::vector<float>{1, 0, 3}));
  EXPECT_EQ(memory[0], -2);
}

// A written input without elements needs no memory.
TEST(Session, TakesEmptyTensorsWithoutMemory) {
  const std::string path = std::string(PT2_TEST_DATA) + "/hostile/run-empty-written-input.pt2";
  for (const EngineKind engine : {EngineKind::planned, EngineKind::reference}) {
    const Model model = Model::load(path, {.engine = engine}).value();
    for (const Tensor& empty : {Tensor(), Tensor::without_elements(Dtype::float32, {0})}) {
      Session session(model);
      std::vector<Value> inputs{Value(empty)};
      const auto outputs = session.run(inputs);
      ASSERT_TRUE(outputs) << outputs.error().text();
      EXPECT_EQ((*outputs)[0].get_if<Tensor>()->sizes(), Sizes{0});
      EXPECT_EQ(inputs[0].get_if<Tensor>()->sizes(), Sizes{0});
      std::vector<Value> memory{Value(empty)};
      const auto filled = session.run_into(inputs, memory);
      ASSERT_TRUE(filled) << filled.error().text();
      EXPECT_EQ(memory[0].get_if<Tensor>()->sizes(), Sizes{0});
    }
  }
}

TEST(Session, InputsThatAreMadeUpRaiseNoLimits) {
  const LoadOptions options{.limits = {.max_work = 3'000'000}};
  const Model model = Model::from_package(corpus_package("dim_auto"), options).value();
  const int64_t rows = 200'000;  // x has 4 MB, and the work is of the same order
  std::vector<Value> inputs{Value(Tensor::zeros(Dtype::float32, {rows, 5})),
                            Value(Tensor::zeros(Dtype::float32, {5, 4}))};
  EXPECT_TRUE(Session(model).run(inputs));
  const auto refused = Session(model, {.inputs_raise_limits = false}).run(inputs);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::limit);
}

// --- the caller's memory

TEST(RunInto, FillsStridedMemory) {
  const Model model = corpus_model("mlp");
  Session session(model);
  std::vector<Value> inputs = counted_inputs(model);
  const Value expected = session.run(inputs).value()[0];
  const Sizes sizes = expected.get_if<Tensor>()->sizes();
  ASSERT_EQ(sizes.size(), 2u);
  // The result is column-major and lies inside a larger buffer.
  std::vector<float> buffer(static_cast<size_t>(2 + sizes[0] * sizes[1]), -1.0f);
  const auto storage = Storage::borrow(std::as_writable_bytes(std::span(buffer)), nullptr);
  const Tensor memory = Tensor::view_of(storage, Dtype::float32, sizes, {1, sizes[0]}, 1).value();
  std::vector<Value> outputs = {Value(memory)};
  const auto done = session.run_into(inputs, outputs);
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(outputs[0].get_if<Tensor>()->raw_data(), memory.raw_data());
  EXPECT_EQ(elements(Value(memory)), elements(expected));
  EXPECT_EQ(buffer.front(), -1.0f);
  EXPECT_EQ(buffer.back(), -1.0f);
}

TEST(RunInto, LeavesWhatHasNoMemoryWhereItWasComputed) {
  const Model model = corpus_model("inplace_ops");
  Session session(model);
  std::vector<Value> inputs = counted_inputs(model);
  const std::vector<Value> expected = session.run(inputs).value();
  std::vector<Value> outputs = {Value(), Value(zeros_like(expected[1]))};
  const Tensor memory = *outputs[1].get_if<Tensor>();
  ASSERT_TRUE(session.run_into(inputs, outputs));
  EXPECT_EQ(elements(outputs[0]), elements(expected[0]));
  EXPECT_EQ(elements(Value(memory)), elements(expected[1]));
}

TEST(RunInto, MayOverwriteInputs) {
  const Model model = corpus_model("inplace_ops");
  Session session(model);
  std::vector<Value> inputs = counted_inputs(model);
  const std::vector<Value> expected = session.run(inputs).value();
  // The second result is a view of the first.
  std::vector<Value> outputs = {inputs[0], Value(zeros_like(expected[1]))};
  ASSERT_TRUE(session.run_into(inputs, outputs));
  EXPECT_EQ(elements(inputs[0]), elements(expected[0]));
  EXPECT_EQ(elements(outputs[1]), elements(expected[1]));
}

TEST(RunInto, RefusesMemoryThatDoesNotFit) {
  const Model model = corpus_model("mlp");
  Session session(model);
  std::vector<Value> inputs = counted_inputs(model);
  const Tensor right = zeros_like(session.run(inputs).value()[0]);
  const std::string name = model.outputs()[0].name;
  const std::vector<float> constant(static_cast<size_t>(right.numel()), 3.0f);
  const auto read_only =
      Storage::borrow_read_only(std::as_bytes(std::span<const float>(constant)), nullptr);
  const Sizes zero_strides(right.sizes().size(), 0);
  const std::pair<Tensor, std::string> kCases[] = {
      {Tensor::zeros(Dtype::float64, right.sizes()), "the memory is f64["},
      {Tensor::zeros(Dtype::float32, {7}), "the memory is f32[7], the result is "},
      {right.with_view(right.sizes(), zero_strides, 0), "elements share a place in memory"},
      {Tensor::view_of(read_only, Dtype::float32, right.sizes(), right.strides(), 0).value(),
       "the memory is read-only"},
  };
  for (const auto& [memory, message] : kCases) {
    std::vector<Value> outputs = {Value(memory)};
    const auto done = session.run_into(inputs, outputs);
    ASSERT_FALSE(done) << message;
    EXPECT_EQ(done.error().code, ErrorCode::argument);
    EXPECT_TRUE(done.error().text().starts_with("output '" + name + "': " + message))
        << done.error().text();
  }
  std::vector<Value> none;
  EXPECT_FALSE(session.run_into(inputs, none));
}

// The caller repeats a refused call, which must not count twice.
TEST(RunInto, RefusedCallsLeaveTheState) {
  const Model model = corpus_model("buffer_mutation_functional");
  Session session(model);
  std::vector<Value> inputs = counted_inputs(model);
  const std::vector<float> before = elements(Value(*session.state("total")));
  std::vector<Value> outputs = {Value(Tensor::zeros(Dtype::float32, {4}))};
  for (int calls = 0; calls < 4; ++calls) ASSERT_FALSE(session.run_into(inputs, outputs));
  EXPECT_EQ(elements(Value(*session.state("total"))), before);
  outputs = {Value(Tensor::zeros(Dtype::float32, {3}))};
  ASSERT_TRUE(session.run_into(inputs, outputs));
  EXPECT_NE(elements(Value(*session.state("total"))), before);
}

// Output tensors without memory are refused, by recorded calls as well.
TEST(RunInto, RefusesWhatHasNoMemory) {
  const Model model = corpus_model("mlp");
  Session session(model);
  std::vector<Value> inputs = counted_inputs(model);
  const Value expected = session.run(inputs).value()[0];
  float* nothing = nullptr;
  for (int calls = 0; calls < 4; ++calls) {
    std::vector<Value> outputs = {Value(Tensor::view(nothing, expected.get_if<Tensor>()->sizes()))};
    const auto refused = session.run_into(inputs, outputs);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::argument);
    ASSERT_TRUE(session.run(inputs));
  }
  const auto refused = session.run_into(inputs, OutputAllocator());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::argument);
}

// The file records a result of 2 x 9223372036854775807 elements, which no tensor can have.
TEST(RunInto, SurvivesSizesThatCannotBe) {
  const std::string path = std::string(PT2_TEST_DATA) + "/hostile/run-into-more-than-counts.pt2";
  const Model model = Model::load(path).value();
  Session session(model);
  std::vector<Value> inputs = counted_inputs(model);
  const std::vector<Value> expected = session.run(inputs).value();
  std::vector<Value> outputs;
  for (const Value& result : expected) outputs.emplace_back(zeros_like(result));
  const auto done = session.run_into(inputs, outputs);
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(elements(outputs[6]), elements(expected[6]));
}

TEST(RunInto, AsksForMemoryWhereSizesAreNotKnown) {
  const Model model = corpus_model("dynamic_batch");
  Session session(model);
  for (const int64_t batch : {3, 5}) {
    std::vector<Value> inputs;
    for (const ModelValue& input : model.inputs()) inputs.push_back(counted(input, batch));
    const std::vector<Value> expected = session.run(inputs).value();
    std::vector<Tensor> given;
    const auto allocate = [&](size_t index, Dtype dtype, const Sizes& sizes) -> Result<Tensor> {
      EXPECT_EQ(index, given.size());
      given.push_back(Tensor::zeros(dtype, sizes));
      return given.back();
    };
    const auto outputs = session.run_into(inputs, allocate);
    ASSERT_TRUE(outputs) << outputs.error().text();
    ASSERT_EQ(given.size(), expected.size());
    for (size_t i = 0; i < given.size(); ++i) {
      EXPECT_EQ((*outputs)[i].get_if<Tensor>()->storage(), given[i].storage());
      EXPECT_EQ(elements(Value(given[i])), elements(expected[i]));
    }
  }
  std::vector<Value> inputs = counted_inputs(model);
  const auto refused = session.run_into(inputs, [](size_t, Dtype, const Sizes&) {
    return Result<Tensor>(Error{ErrorCode::limit, "no memory", ""});
  });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::limit);
}

TEST(OutputMemory, HoldsResultsThatAreViewsOfIt) {
  const std::vector<ModelValue> outputs(1);
  const Tensor memory = floats({2, 2}, {1, 2, 3, 4});
  const OutputAllocator allocate = [&](size_t, Dtype, const Sizes&) { return memory; };
  OutputMemory places(allocate, outputs);
  std::vector<Value> results = {Value(memory.with_view({2, 2}, {1, 2}, 0))};
  ASSERT_TRUE(places.fill(results));
  EXPECT_EQ(elements(Value(memory)), (std::vector<float>{1, 3, 2, 4}));
}

TEST(OutputMemory, IsNotLargerThanResultsMayBe) {
  GraphMaker maker;
  const ValueId y = maker.input("y");
  TensorMeta record;
  record.dtype = ScalarType{dtype_info(Dtype::float32).schema_number};
  record.sizes.emplace_back(int64_t{1} << 40);
  maker.graph.set_value_meta(y, std::move(record));
  maker.graph.set_outputs({Argument(y)});
  const std::vector<ModelValue> outputs(1);
  std::vector<GraphOutput> graph_outputs(1);
  graph_outputs[0].role = GraphOutput::Role::result;
  bool asked = false;
  const OutputAllocator allocate = [&](size_t, Dtype, const Sizes&) {
    asked = true;
    return Tensor();
  };
  OutputMemory places(allocate, outputs, graph_outputs);
  const MemoryAccount::Scope scope(std::make_shared<MemoryAccount>(1 << 20));
  EXPECT_TRUE(places.get_all(maker.graph, {}).empty());
  EXPECT_FALSE(asked);
}

TEST(OutputMemory, AsksNoMoreAfterAnError) {
  const std::vector<ModelValue> outputs(2);
  size_t asked = 0;
  const OutputAllocator allocate = [&](size_t, Dtype, const Sizes&) -> Result<Tensor> {
    ++asked;
    return Error{ErrorCode::limit, "no memory", ""};
  };
  OutputMemory places(allocate, outputs);
  for (const size_t output : {0u, 0u, 1u}) EXPECT_FALSE(places.get(output, Dtype::float32, {2, 2}));
  EXPECT_EQ(asked, 1u);
}

// --- calls that are given up

// A loop whose condition, x == x, always holds. Its body returns its operand.
Graph endless_loop(bool with_body) {
  GraphMaker condition;
  const ValueId x = condition.input("x");
  condition.graph.set_outputs({Argument(
      condition.call("torch.ops.aten.eq.Tensor", {named("self", x), named("other", x)}))});
  GraphMaker body;
  const ValueId carried = body.input("x");
  body.graph.set_outputs({Argument(
      with_body ? body.call("torch.ops.aten.relu.default", {named("self", carried)}) : carried)});
  GraphMaker maker;
  const ValueId start = maker.input("x");
  const SubgraphId while_true = maker.graph.add_subgraph(std::move(condition.graph));
  const SubgraphId repeat = maker.graph.add_subgraph(std::move(body.graph));
  maker.graph.set_outputs(
      {Argument(maker.call("torch.ops.higher_order.while_loop",
                           {named("", while_true), named("", repeat),
                            named("", ArgumentList{ListKind::tensors, {Argument(start)}}),
                            named("", ArgumentList{ListKind::tensors, {}})}))});
  return std::move(maker.graph);
}

TEST(Cancellation, EndsALoopBetweenRounds) {
  for (const bool with_body : {true, false}) {
    const Graph graph = endless_loop(with_body);
    const auto bound = bind_graph(graph).value();
    std::stop_source source;
    ops::Context context;
    Executor executor(context, {}, Cancellation({.stop = source.get_token()}));
    size_t values = 0;
    const Observer observer = [&](const ObservedValue&) -> Result<void> {
      if (++values == 100) source.request_stop();
      return {};
    };
    executor.observe(&observer);
    const auto outputs = executor.run(*bound, {Value(floats({1}, {3}))});
    ASSERT_FALSE(outputs);
    EXPECT_EQ(outputs.error().code, ErrorCode::cancelled);
    EXPECT_NE(outputs.error().where.find("%v0 (torch.ops.higher_order.while_loop)"),
              std::string::npos)
        << outputs.error().text();
    EXPECT_EQ(values, 100u);
  }
}

TEST(Cancellation, EndsARunThatIsLate) {
  const Model model = corpus_model("mlp");
  Session session(model);
  std::vector<Value> inputs = counted_inputs(model);
  const auto now = std::chrono::steady_clock::now();
  const auto late = session.run(inputs, {.deadline = now});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::cancelled);
  EXPECT_EQ(exit_code(late.error().code), 5);
  EXPECT_EQ(late.error().message, "the call did not end by its deadline");
  EXPECT_FALSE(model.run(inputs, {.deadline = now}));
  EXPECT_TRUE(session.run(inputs, {.deadline = now + std::chrono::hours(10000)}));
}

TEST(Cancellation, EndsARunThatTheCallerStops) {
  const Model model = corpus_model("mlp");
  Session session(model);
  std::vector<Value> inputs = counted_inputs(model);
  std::stop_source source;
  size_t values = 0;
  session.observe([&](const ObservedValue&) -> Result<void> {
    ++values;
    source.request_stop();
    return {};
  });
  const auto stopped = session.run(inputs, {.stop = source.get_token()});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::cancelled);
  EXPECT_EQ(values, 1u);
  EXPECT_TRUE(session.run(inputs));
}

// An observer may remove itself while it runs.
TEST(Observers, MayEndTheirOwnWork) {
  const Model model = corpus_model("mlp");
  Session session(model);
  std::vector<Value> inputs = counted_inputs(model);
  // Too large for std::function to store without an allocation.
  std::array<size_t, 8> told{};
  size_t calls = 0;
  session.observe([&session, &calls, told](const ObservedValue&) mutable -> Result<void> {
    session.observe({});
    calls = ++told[0];
    return {};
  });
  ASSERT_TRUE(session.run(inputs));
  EXPECT_GT(calls, 1u);
  const size_t before = calls;
  ASSERT_TRUE(session.run(inputs));
  EXPECT_EQ(calls, before);
}

TEST(Observers, EndARunWithTheirOwnErrors) {
  for (const std::string name : {"mlp", "map_op"}) {
    const Model model = corpus_model(name);
    Session session(model);
    std::vector<Value> inputs = counted_inputs(model);
    size_t nested = 0;
    session.observe([&](const ObservedValue& observed) -> Result<void> {
      const bool is_nested = observed.name.find('.') != std::string::npos;
      nested += is_nested;
      if (name == "map_op" && !is_nested) return {};
      return Error{ErrorCode::io, "the disk is full", "trace.npz"};
    });
    const auto ended = session.run(inputs);
    ASSERT_FALSE(ended) << name;
    EXPECT_EQ(ended.error().code, ErrorCode::io);
    EXPECT_EQ(ended.error().text(), "trace.npz: the disk is full");
    EXPECT_EQ(nested, name == "map_op" ? 1u : 0u);
  }
}

// --- engines

// Fills its result with 10 times the number of its calls plus the number of threads. Uses the
// caller's memory for the result if there is some.
struct CountingSession final : EngineSession {
  explicit CountingSession(unsigned thread_count) : threads(thread_count) {}
  Result<std::vector<Value>> run(std::vector<Value> inputs, const EngineCall& call) override {
    const Sizes sizes = {2, static_cast<int64_t>(inputs.size())};
    Tensor out;
    if (call.outputs != nullptr) {
      PT2_TRY(out, call.outputs->get(0, Dtype::float32, sizes));
    }
    if (!out.defined()) out = Tensor::zeros(Dtype::float32, sizes);
    ++calls;
    for (int64_t i = 0; i < out.numel(); ++i)
      out.data<float>()[i] = static_cast<float>(calls * 10 + threads);
    return std::vector<Value>{Value(std::move(out))};
  }
  unsigned threads;
  unsigned calls = 0;
};

struct CountingEngine final : Engine {
  explicit CountingEngine(size_t count) : input_count(count) {}
  std::vector<bool> written_inputs() const override { return std::vector<bool>(input_count); }
  std::unique_ptr<EngineSession> start_session(const SessionOptions& options) const override {
    return std::make_unique<CountingSession>(options.threads);
  }
  size_t input_count;
};

Result<std::unique_ptr<const Engine>> prepare_counting(const EngineSource& source) {
  EXPECT_EQ(source.weights.size(), source.program.signature.input_specs.size());
  for (size_t i = 0; i < source.weights.size(); ++i)
    EXPECT_EQ(source.weights[i].is_none(),
              source.program.signature.input_specs[i].kind == InputKind::user_input);
  return std::unique_ptr<const Engine>(std::make_unique<CountingEngine>(source.weights.size()));
}

TEST(Engine, StandsBesideTheReference) {
  const Model model = make_model(corpus_package("mlp"), {}, prepare_counting).value();
  Session session(model, {.threads = 3});
  std::vector<Value> inputs = counted_inputs(model);
  EXPECT_EQ(elements(session.run(inputs).value()[0]), std::vector<float>(10, 13));
  // An engine may keep state between the calls of one session.
  EXPECT_EQ(elements(session.run(inputs).value()[0]), std::vector<float>(10, 23));
  Session fork = session.fork();
  EXPECT_EQ(elements(fork.run(inputs).value()[0]), std::vector<float>(10, 13));
  const Tensor memory = Tensor::zeros(Dtype::float32, {2, 5});
  std::vector<Value> outputs = {Value(memory)};
  ASSERT_TRUE(fork.run_into(inputs, outputs));
  EXPECT_EQ(elements(Value(memory)), std::vector<float>(10, 23));
  EXPECT_FALSE(session.run(std::span<Value>()));
}

// Each node is in exactly one step, except dropout, which does nothing outside of training.
TEST(Plan, IsToldByTheModel) {
  const std::string path = std::string(PT2_TEST_DATA) + "/../../examples/digits.pt2";
  const Model model = Model::load(path).value();
  size_t nodes = 0;
  for (const PlannedStep& step : model.plan()) {
    nodes += step.operators.size();
    EXPECT_FALSE(step.kernel.empty() || step.result.empty());
    EXPECT_EQ(std::ranges::find(step.operators, "aten.dropout.default"), step.operators.end());
  }
  EXPECT_EQ(nodes, model.program().graph.nodes().size() - 1);
  EXPECT_TRUE(Model::load(path, {.engine = EngineKind::reference}).value().plan().empty());
}

// subtract() and clip() are other names of sub() and clamp(), for which there are steps.
TEST(Plan, OtherNamesOfOperatorsAreTheOperators) {
  ProgramBuilder builder;
  const TensorMeta meta = builder.tensor(Dtype::float32, {3});
  const ValueId x = builder.input("x", meta), y = builder.input("y", meta);
  const ValueId larger =
      builder.call("torch.ops.aten.max.other", {arg("self", x), arg("other", y)}, meta);
  const ValueId less =
      builder.call("torch.ops.aten.subtract.Tensor", {arg("self", larger), arg("other", y)}, meta);
  builder.output(
      builder.call("torch.ops.aten.clip.default", {arg("self", less), arg("max", 2.0)}, meta));
  PackageContents contents;
  contents.programs.resize(1);
  contents.programs[0].json = program_json(std::move(builder).finish().value());
  const test::TemporaryFolder folder;
  const std::string path = folder.file("other_names.pt2");
  ASSERT_TRUE(save_package(contents, path));
  const Model model = Model::load(path).value();
  const auto steps = model.plan();
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].kernel, "pointwise_chain");
  std::vector<Value> inputs{Value(floats({3}, {1, 2, 9})), Value(floats({3}, {4, 1, 5}))};
  EXPECT_EQ(elements(Session(model).run(inputs).value()[0]), (std::vector<float>{0, 1, 2}));
}

}  // namespace
}  // namespace pt2::run
