// Repeated calls of equal sizes: they allocate nothing and give the same results, and the session
// detects when a recorded call may be replayed.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "pt2/ir/builder.h"
#include "pt2/model.h"
#include "pt2/save.h"
#include "run/allocations.h"
#include "run/corpus_model.h"
#include "run/graph_maker.h"
#include "temporary_folder.h"

namespace pt2::run {
namespace {

// Returns the result of the first call of a new session.
std::vector<float> expected(const Model& model, float start) {
  std::vector<Value> inputs = inputs_of(model, start);
  return elements(Session(model).run(inputs).value()[0]);
}

TEST(SteadyCalls, AllocateNothing) {
  for (const std::string name :
       {"mlp", "mlp_decomposed", "conv_bn_relu", "conv_bn_decomposed", "transformer"})
    for (const unsigned threads : {1u, 2u}) {
      const testing::ScopedTrace trace(__FILE__, __LINE__, name);
      const Model model = corpus_model(name);
      Session session(model, {.threads = threads});
      std::vector<Value> outputs;
      for (int call = 0; call < 5; ++call) {
        const auto start = static_cast<float>(call);
        std::vector<Value> inputs = inputs_of(model, start);
        if (call == 0) {
          outputs = session.run(inputs).value();
          for (Value& output : outputs) {
            const Tensor& result = *output.get_if<Tensor>();
            output = Value(Tensor::zeros(result.dtype(), result.sizes()));
          }
          continue;
        }
        const size_t before = test::allocations();
        const Result<void> done = session.run_into(inputs, outputs);
        const size_t count = test::allocations() - before;
        ASSERT_TRUE(done);
        // The second call is recorded, and later calls replay it.
        EXPECT_TRUE(call < 2 || count == 0) << "call " << call << ": " << count << " allocations";
        EXPECT_EQ(elements(outputs[0]), expected(model, start));
      }
    }
}

TEST(SteadyCalls, SizesMayChangeBetweenThem) {
  const Model model = corpus_model("dynamic_batch");
  Session session(model);
  for (const int64_t rows : {2, 3, 2, 3, 5, 6, 7, 2, 8, 3, 2, 2, 8, 8, 8}) {
    const Tensor first = *numbers_for(model.inputs()[0], 1).get_if<Tensor>();
    Sizes sizes = first.sizes();
    sizes[0] = rows;
    std::vector<float> values(static_cast<size_t>(checked_numel(sizes).value()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = 0.1f * static_cast<float>(i % 13);
    std::vector<Value> inputs{Value(floats(sizes, values))};
    const auto found = session.run(inputs);
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ(elements((*found)[0]), elements(Session(model).run(inputs).value()[0])) << rows;
  }
}

TEST(SteadyCalls, ResultsAreTheCallersOwn) {
  const Model model = corpus_model("mlp");
  Session session(model);
  std::vector<Value> inputs = inputs_of(model, 1);
  const std::vector<float> first = elements(session.run(inputs).value()[0]);
  std::vector<Value> kept;
  for (int call = 0; call < 4; ++call) {
    kept.push_back(session.run(inputs).value()[0]);
    for (const Value& result : kept) EXPECT_EQ(elements(result), first);
    kept.back().get_if<Tensor>()->data<float>()[0] += 1;
    kept.pop_back();
  }
}

TEST(SteadyCalls, OtherWeightsAreSeen) {
  const Model model = corpus_model("mlp");
  Session session(model);
  std::vector<Value> inputs = inputs_of(model, 1);
  std::vector<Value> outputs = session.run(inputs).value();
  for (int call = 0; call < 3; ++call) ASSERT_TRUE(session.run_into(inputs, outputs));
  const std::vector<float> before = elements(outputs[0]);
  std::string weight;
  for (const InputSpec& spec : model.program().signature.input_specs)
    if (spec.kind == InputKind::parameter) weight = *spec.target;
  session.mutable_state(weight).value().data<float>()[0] += 1;
  Session copy = session.fork();
  for (Session* each : {&session, &copy})
    for (int call = 0; call < 3; ++call) {
      ASSERT_TRUE(each->run_into(inputs, outputs));
      EXPECT_NE(elements(outputs[0]), before);
    }
  // Other sessions of the model have the original weights.
  Session other(model);
  for (int call = 0; call < 3; ++call) {
    ASSERT_TRUE(other.run_into(inputs, outputs));
    EXPECT_EQ(elements(outputs[0]), before);
  }
}

TEST(SteadyCalls, AreGivenUpLikeOthers) {
  const Model model = corpus_model("mlp");
  Session session(model);
  std::vector<Value> inputs = inputs_of(model, 1);
  std::vector<Value> outputs = session.run(inputs).value();
  for (int call = 0; call < 3; ++call) ASSERT_TRUE(session.run_into(inputs, outputs));
  CallOptions late;
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const Result<void> done = session.run_into(inputs, outputs, late);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::cancelled);
}

// Calls that may be interrupted (Ctrl-C in Python) are replayed as well.
TEST(SteadyCalls, AskWhetherToStop) {
  const Model model = corpus_model("transformer");
  Session session(model);
  std::vector<Value> inputs = inputs_of(model, 1);
  std::vector<Value> outputs = session.run(inputs).value();
  size_t asked = 0, most = SIZE_MAX;
  const CallOptions options{.should_stop = [&] { return ++asked > most; }};
  for (int call = 0; call < 3; ++call) ASSERT_TRUE(session.run_into(inputs, outputs, options));
  asked = 0;
  const size_t before = test::allocations();
  ASSERT_TRUE(session.run_into(inputs, outputs, options));
  EXPECT_EQ(test::allocations(), before);
  EXPECT_GT(asked, 5u);
  most = asked + 2;
  const Result<void> stopped = session.run_into(inputs, outputs, options);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::cancelled);
  EXPECT_EQ(asked, most + 1);
}

TEST(SteadyCalls, AllocateResultsAlone) {
  const Model model = corpus_model("mlp");
  Session session(model);
  for (int call = 0; call < 5; ++call) {
    const auto start = static_cast<float>(call);
    std::vector<Value> inputs = inputs_of(model, start);
    const size_t before = test::allocations();
    const Result<std::vector<Value>> results = session.run(inputs);
    const size_t count = test::allocations() - before;
    ASSERT_TRUE(results);
    EXPECT_EQ(elements((*results)[0]), expected(model, start));
    EXPECT_TRUE(call < 2 || count <= 8) << "call " << call << ": " << count << " allocations";
  }
}

// Eight times the results take about eight times as long, not 64 times: the memory of no result is
// compared with that of each other one. Views are computed by full calls, sums by recorded ones.
TEST(SteadyCalls, ManyOutputsTakeTimeInProportion) {
  for (const bool views : {true, false}) {
    const auto seconds = [&](int64_t count) {
      ProgramBuilder builder;
      const TensorMeta row = builder.tensor(Dtype::float32, {4});
      const ValueId x = builder.input("x", builder.tensor(Dtype::float32, {count, 4}));
      for (int64_t i = 0; i < count; ++i) {
        TensorMeta meta = row;
        meta.storage_offset = SymInt(4 * i);
        const ValueId view = builder.call(
            "torch.ops.aten.select.int",
            {arg("self", x), arg("dim", int64_t{0}), arg("index", Argument(i))}, std::move(meta));
        builder.output(views ? view
                             : builder.call("torch.ops.aten.add.Tensor",
                                            {arg("self", view), arg("other", view)}, row));
      }
      const test::TemporaryFolder folder;
      const std::string path = folder.file("many_outputs.pt2");
      PackageContents contents;
      contents.programs.resize(1);
      contents.programs[0].json = program_json(std::move(builder).finish().value());
      EXPECT_TRUE(save_package(contents, path));
      const Model model = Model::load(path).value();
      Session session(model);
      std::vector<Value> inputs = inputs_of(model, 1);
      std::vector<Value> outputs;
      for (int64_t i = 0; i < count; ++i) outputs.emplace_back(Tensor::zeros(Dtype::float32, {4}));
      double least = 1e9;
      for (int call = 0; call < 6; ++call) {
        const std::clock_t start = std::clock();
        const Result<void> done = session.run_into(inputs, outputs);
        EXPECT_TRUE(done) << done.error().text();
        least = std::min(least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
      }
      return least;
    };
    EXPECT_LT(seconds(8000), 24 * seconds(1000) + 0.002) << views;
  }
}

}  // namespace
}  // namespace pt2::run
