// Every recorded call of every real program gives PyTorch's results. The programs' custom operators
// come from corpus_operators.h.
#include "package/corpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/mapped_file.h"
#include "corpus_operators.h"
#include "pt2/model.h"
#include "pt2/tools/replay.h"
#include "run/model_shared.h"

namespace pt2 {
namespace {

namespace fs = std::filesystem;

bool is_left_out(const std::string& place) {
  // The module returns a defaultdict, which torch.export 2.6 treats as an empty dict: out_spec has
  // no entry for it, and the graph returns only the deque's element. The record is of the module's
  // results. 2.7 wrote the same program, but its record is of the program's results.
  return place == "2.6.0/pytree_containers.pt2";
}

class Corpus : public testing::TestWithParam<EngineKind> {};
INSTANTIATE_TEST_SUITE_P(Engines, Corpus,
                         testing::Values(EngineKind::planned, EngineKind::reference),
                         [](const auto& engine) {
                           return engine.param == EngineKind::planned ? "planned" : "reference";
                         });

TEST_P(Corpus, RecordedCallsGivePyTorchsResults) {
  size_t passed = 0;
  CustomOperators operators;
  ASSERT_TRUE(test::add_corpus_operators(operators));
  for (const corpus::File& file : corpus::files()) {
    const std::string place = file.release + "/" + file.name;
    fs::path recorded_path = file.path;
    recorded_path.replace_extension(".safetensors");
    if (!fs::exists(recorded_path) || is_left_out(place)) continue;
    auto model = Model::load(file.path, {.operators = operators, .engine = GetParam()});
    if (!model) {
      ADD_FAILURE() << place << ": " << model.error().text();
      continue;
    }
    auto recorded = MappedFile::open(recorded_path.string());
    ASSERT_TRUE(recorded);
    auto safetensors = read_safetensors({(*recorded)->bytes(), *recorded});
    ASSERT_TRUE(safetensors) << place << safetensors.error().text();
    auto calls = read_recorded_calls(*safetensors);
    ASSERT_TRUE(calls) << place << calls.error().text();
    Session session(*model);
    // If no call changes the state, the planned engine runs the first, second and third call of the
    // same sizes in three different ways.
    const bool is_stateful =
        std::ranges::find(session.shared().written, true) != session.shared().written.end();
    const size_t rounds = GetParam() == EngineKind::planned && !is_stateful ? 3 : 1;
    for (size_t round = 0; round < rounds * calls->calls.size(); ++round) {
      const size_t i = round / rounds;
      const CallReport report = replay(session, calls->calls[i]);
      if (report.passed()) ++passed;
      for (const std::string& difference : report.differences)
        ADD_FAILURE() << place << " call " << i << ": " << difference;
    }
  }
  std::printf("%zu calls passed\n", passed);
  EXPECT_GT(passed, 0u);
}

// The program sets y[0] to 7.
TEST(RecordAnswers, HoldInputsThatChangeALittle) {
  const std::string path = std::string(PT2_TEST_DATA) + "/corpus/2.15.0/input_mutation.pt2";
  const Model model = Model::load(path).value();
  Session session(model);
  RecordedCall call;
  call.inputs = {Value(Tensor::of({0.0f, 0.0f, 0.0f})), Value(Tensor::of({7.000005f, 1.0f, 2.0f}))};
  const RecordedCall answers = record_answers(session, call).value();
  ASSERT_EQ(answers.mutated_inputs.size(), 1u);
  EXPECT_EQ(answers.mutated_inputs[0].first, 1u);
}

}  // namespace
}  // namespace pt2
