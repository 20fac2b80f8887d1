// Every recorded call of every real program gives PyTorch's results; operators of its authors come
// from corpus_operators.h.
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
  // torch.export 2.6 takes the defaultdict that the module returns for an empty dict: out_spec has
  // no entry, and the graph returns the deque's element alone. The record is of the module; 2.7
  // made the same program, and its record is of that.
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
    // Where no call changes the state, the planned engine makes the second one of some sizes in
    // another way than the first, and the third in yet another.
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

}  // namespace
}  // namespace pt2
