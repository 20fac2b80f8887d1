// Decomposition preserves results: replays every recorded call of real programs after the pass.
#include "pt2/ir/decompose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "base/mapped_file.h"
#include "corpus_operators.h"
#include "lower/broken_rules.h"
#include "lower/functional/functionalize.h"
#include "lower/pass.h"
#include "package/corpus.h"
#include "package/saved.h"
#include "package/shared_memory.h"
#include "pt2/ir/program_text.h"
#include "pt2/model.h"
#include "pt2/tools/replay.h"

namespace pt2 {
namespace {

namespace fs = std::filesystem;

class CorpusDecomposition : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(test::add_corpus_operators(operators_)); }

  // Checks one file and counts the operators that decomposition leaves.
  void check_file(const fs::path& path) {
    auto package = Package::open(path.string());
    if (!package) return;
    auto contents = package_contents(*package);
    if (!contents) return;
    bool changed = false;
    for (SavedProgram& saved_program : contents->programs) {
      const auto program = package->program(saved_program.name);
      if (!program) return;
      auto payloads = package->payloads(saved_program.name);
      ASSERT_TRUE(payloads) << payloads.error().text();
      auto done = decompose(**program, {.storage_of = storage_numbers(*std::move(payloads))});
      ASSERT_TRUE(done) << done.error().text();
      for (const LeftOperator& each : done->left) ++left_[each.node.target + ": " + each.text];
      if (done->left.empty()) {
        EXPECT_TRUE(has_form(done->program.graph, Form::core_aten));
        if (!is_functional(done->program.graph)) ++writing_[path.stem().string()];
      }
      if (!done->changed) continue;
      changed = true;
      saved_program.json = program_json(done->program);
      // Tangents get the metadata of their primals, which is only roughly right.
      if (!has_form((*program)->graph, Form::without_dual_numbers)) continue;
      // Only completely decomposed programs are checked for broken rules.
      if (!done->left.empty()) continue;
      const std::set<Rule> known = broken_rules(**program);
      for (const Rule rule : broken_rules(done->program))
        EXPECT_TRUE(known.contains(rule)) << rule_code(rule);
    }
    if (changed) replay_file(path, *contents);
  }

  void replay_file(fs::path path, const PackageContents& contents) {
    ++changed_;
    const auto file = MappedFile::open(path.replace_extension(".safetensors").string());
    if (!file) return;
    const auto safetensors = read_safetensors({(*file)->bytes(), *file});
    ASSERT_TRUE(safetensors) << safetensors.error().text();
    const auto calls = read_recorded_calls(*safetensors);
    ASSERT_TRUE(calls) << calls.error().text();
    auto model = Model::from_package(std::make_shared<const Package>(test::saved(contents)),
                                     {.operators = operators_});
    ASSERT_TRUE(model) << model.error().text();
    Session session(*model);
    for (size_t i = 0; i < calls->calls.size(); ++i) {
      const CallReport report = replay(session, calls->calls[i]);
      if (report.passed()) ++passed_;
      for (const std::string& difference : report.differences)
        ADD_FAILURE() << "call " << i << ": " << difference;
    }
  }

  CustomOperators operators_;
  std::map<std::string, int> left_;
  std::map<std::string, int> writing_;  // programs that still write
  size_t changed_ = 0, passed_ = 0;
};

TEST_F(CorpusDecomposition, GivesWhatWasRecorded) {
  for (const corpus::File& file : corpus::files()) {
    SCOPED_TRACE(file.release + "/" + file.name);
    check_file(file.path);
  }
  std::printf("%zu programs changed, %zu calls passed\n", changed_, passed_);
  for (const auto& [what, count] : left_) std::printf("%4d left: %s\n", count, what.c_str());
  for (const auto& [what, count] : writing_) std::printf("%4d write: %s\n", count, what.c_str());
  EXPECT_GT(passed_, 0u);
}

Result<Program> parsed(const std::string& graph) {
  std::vector<Error> errors;
  return parse_program(R"(program schema 8.20 {
  torch "2.15.0"
  dialect "TRAINING"
  opset aten 10
)" + graph + "}\n",
                       "graph", errors);
}

// Returns what decomposition leaves of a graph, one operator per line.
std::string left_of(const std::string& graph) {
  const auto program = parsed(R"(symbol s0 = 5 (positive, integer)
  symbol s1 = 6 (positive, integer)
  symbol s2 = 7 (positive, integer)
  symbol s3 = 8 (positive, integer)
  range s0 [4, 64]
  range s1 [2, 64]
  range s2 [2, 64]
  range s3 [2, 64]
)" + graph);
  if (!program) return program.error().text();
  const auto done = decompose(*program);
  if (!done) return done.error().text();
  std::string lines;
  for (const LeftOperator& left : done->left) lines += left.text + "\n";
  return lines;
}

// The condition is true for every sample, but a call's tensor may have any size.
TEST(Decompose, KnowsNoSizeThatIsACondition) {
  EXPECT_NE(left_of(R"(graph(%x: f32[s0 >= 0, 3]) {
    %d: f32[s1, 3] = aten.diff.default(self=%x, n=1, dim=0)
    return %d
  }
)"),
            "");
}

// One row of %t can be viewed, several cannot.
TEST(Decompose, CopiesWhereSizesDecideWhetherAViewIsPossible) {
  const std::string rows = R"(graph(%x: f32[(s0//4), 3, 4], %y: f32[s0]) {
    %t: f32[(s0//4), 4, 3] strides=[12, 1, 4] = aten.transpose.int(self=%x, dim0=1, dim1=2)
    %r: f32[4*((s0//4)), 3] = aten.reshape.default(self=%t, shape=[-1, 3])
)";
  EXPECT_EQ(left_of(rows + "return %r, %y\n}\n"), "");
  const std::string written =
      rows + "%w: f32[4*((s0//4)), 3] = aten.relu_.default(self=%r)\nreturn %x, %w, %y\n}\n";
  EXPECT_TRUE(
      left_of(written).starts_with("which operators it is made of depends on sizes that change\n"))
      << left_of(written);
}

TEST(Decompose, ComputesTheRowsOfABatchOfVolumes) {
  EXPECT_EQ(
      left_of(
          R"(graph(%x: f32[s0, s1, s2, s3, 8] strides=[8*s1*s2*s3, 8*s2*s3, 8*s3, 8, 1], %w: f32[4, 8]) {
    %l: f32[s0, s1, s2, s3, 4] strides=[4*s1*s2*s3, 4*s2*s3, 4*s3, 4, 1] = aten.linear.default(input=%x, weight=%w, bias=none)
    return %l
  }
)"),
      "");
}

// The strides of what is padded are products of sums: 3*s2*(s1 + 1).
TEST(Decompose, PadsOneSideOfImages) {
  EXPECT_EQ(
      left_of(
          R"(graph(%x: f32[s0, 3, s1, s2] strides=[3*s1*s2, s1*s2, s2, 1], %w: f32[4, 3, 2, 3]) {
    %y: f32[s0, 4, s1, s2] strides=[4*s1*s2, s1*s2, s2, 1] = aten.conv2d.padding(input=%x, weight=%w, bias=none, stride=[1, 1], padding="same")
    return %y
  }
)"),
      "");
}

// The file records a wrong size, so no expression of the inputs' sizes is it.
TEST(Decompose, CombinesFewOfThousandsOfSizes) {
  constexpr int kInputs = 3000;
  std::string symbols, inputs, tensors;
  for (int i = 0; i < kInputs; ++i) {
    const std::string number = std::to_string(i), separator = i == 0 ? "" : ", ";
    symbols += "symbol s" + number + " = " + std::to_string(5 + i) +
               " (positive, integer)\nrange s" + number + " [2, 10000]\n";
    inputs += separator + "%x" + number + ": f32[s" + number + "]";
    tensors += separator + "%x" + number;
  }
  const auto program =
      parsed(symbols + "graph(" + inputs + ") {\n%y: f32[5] = aten.hstack.default(tensors=[" +
             tensors + "])\nreturn %y\n}\n");
  ASSERT_TRUE(program) << program.error().text();
  const auto done = decompose(*program);
  ASSERT_TRUE(done) << done.error().text();
  ASSERT_EQ(done->left.size(), 1u);
  EXPECT_TRUE(done->left[0].text.ends_with("not a simple expression of its inputs' sizes"));
}

TEST(Decompose, LeavesNoValuesOfAnOperatorThatStays) {
  const auto program = parsed(R"(graph(%x: f32[2, 3, 8], %w: f32[4, 8]) {
    %l: f32[2, 3, 4] = aten.linear.default(input=%x, weight=%w, bias=none)
    return %l
  }
)");
  ASSERT_TRUE(program) << program.error().text();
  for (const uint64_t most : {0u, 1u, 2u}) {
    DecomposeOptions options;
    options.limits.max_new_nodes = most;
    const auto done = decompose(*program, options);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->left.size(), 1u);
    for (const ValueId id : done->program.graph.values())
      EXPECT_NE(done->program.graph.value(id).definition.by, Definition::By::nothing);
  }
}

// PyTorch makes a node of each input, constants included, and two nodes cannot have one name.
TEST(Decompose, LeavesConstantsAmongTheInputsTheirNames) {
  const auto program =
      parsed(R"(graph(%x: f32[2, 6], %w: f32[4, 6], 3 as "permute", none as "permute_1") {
    %c: f32[2, 4] = aten.linear.default(input=%x, weight=%w, bias=none)
    return %c
  }
)");
  ASSERT_TRUE(program) << program.error().text();
  const auto done = decompose(*program);
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_TRUE(done->changed);
  EXPECT_FALSE(done->program.graph.find_value("permute"));
  EXPECT_FALSE(done->program.graph.find_value("permute_1"));
  EXPECT_TRUE(done->program.graph.find_value("permute_2"));
}

// As run_decompositions. Two buffers over one memory would get two new values.
TEST(Decompose, WritesBecomeResultsUnlessBuffersShareMemory) {
  const auto program =
      parsed(R"(graph(%b_a: f32[4] = buffer "a", %b_b: f32[4] = buffer "b", %x: f32[4]) {
    %w: f32[4] = aten.add_.Tensor(self=%b_a, other=%x)
    %h: f32[4] = aten.hardswish_.default(self=%w)
    %y: f32[4] = aten.relu6.default(self=%b_b)
    return %y
  }
)");
  ASSERT_TRUE(program) << program.error().text();
  auto done = decompose(*program);
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_TRUE(is_functional(done->program.graph));
  EXPECT_EQ(done->program.dialect(), "ATEN");
  ASSERT_EQ(done->program.signature.output_specs.size(), 2u);
  EXPECT_EQ(done->program.signature.output_specs[0].kind, OutputKind::buffer_mutation);
  EXPECT_EQ(done->program.signature.output_specs[0].target, "a");

  done = decompose(*program, {.storage_of = [](const InputSpec& spec) -> std::optional<size_t> {
    return spec.kind == InputKind::buffer ? std::optional<size_t>(0) : std::nullopt;
  }});
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_TRUE(done->left.empty());
  EXPECT_FALSE(is_functional(done->program.graph));
  EXPECT_EQ(done->program.dialect(), "TRAINING");
  EXPECT_EQ(done->program.signature.output_specs.size(), 1u);
}

// Files have a result for the new value of a parameter since schema 8.10.
TEST(Decompose, WritesToParametersStayInOldFiles) {
  auto program = parsed(R"(graph(%p_w: f32[4] = parameter "w", %x: f32[4]) {
    %z: f32[4] = aten.zero_.default(self=%p_w)
    %y: f32[4] = aten.relu6.default(self=%x)
    return %y
  }
)");
  ASSERT_TRUE(program) << program.error().text();
  for (const int64_t minor : {2, 9, 10}) {
    program->schema_version.minor = minor;
    const auto done = decompose(*program);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(is_functional(done->program.graph), minor >= 10) << minor;
  }
}

// A node with several results cannot have the name of one of them.
TEST(Decompose, NamesNodesThatGiveNewStatistics) {
  const auto program =
      parsed(R"(graph(%b_m: f32[4] = buffer "m", %b_v: f32[4] = buffer "v", %x: f32[2, 4]) {
    %y: f32[2, 4] = aten.batch_norm.default(input=%x, weight=none, bias=none, running_mean=%b_m, running_var=%b_v, training=true, momentum=0.1, eps=1e-05, cudnn_enabled=true)
    return %y
  }
)");
  ASSERT_TRUE(program) << program.error().text();
  const Decomposition done = decompose(*program).value();
  EXPECT_TRUE(is_functional(done.program.graph));
  EXPECT_FALSE(broken_rules(done.program).contains(Rule::node_name_is_value));
}

TEST(Decompose, UpdatesTheStatisticsOfInstanceNorm) {
  EXPECT_EQ(left_of(R"(graph(%x: f32[2, 4, 3], %m: f32[4], %v: f32[4]) {
    %i: f32[2, 4, 3] = aten.instance_norm.default(input=%x, weight=none, bias=none, running_mean=%m, running_var=%v, use_input_stats=true, momentum=0.1, eps=1e-05, cudnn_enabled=true)
    return %i
  }
)"),
            "");
}

}  // namespace
}  // namespace pt2
