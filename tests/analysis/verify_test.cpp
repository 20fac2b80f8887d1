#include "pt2/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "analysis/document.h"
#include "base/json.h"
#include "ir/graph_place.h"
#include "package/broken_programs.h"
#include "package/corpus.h"
#include "pt2/ir/builder.h"
#include "pt2/package.h"
#include "pt2/save.h"
#include "read_file.h"

namespace pt2 {
namespace {

std::string negative(const std::string& file) {
  return std::string(PT2_TEST_DATA) + "/negative/" + file;
}

struct NegativeCase {
  std::string file;
  std::string stage;
  bool is_rejected = false;
  bool opens = false;  // the program opens although the rule is broken
  std::string says{};  // the finding's text about code
};

std::vector<NegativeCase> negative_cases() {
  const JsonValue index = parse_json(test::read_file(negative("index.json"))).value();
  std::vector<NegativeCase> cases;
  for (const JsonValue& item : index.find("cases")->items) {
    const bool rejected = item.find("expect")->text == "reject";
    NegativeCase c{item.find("file")->text, item.find("stage")->text, rejected, !rejected};
    if (const JsonValue* opens = item.find("opens")) c.opens = opens->get_bool().value();
    if (const JsonValue* says = item.find("says")) c.says = says->text;
    cases.push_back(std::move(c));
  }
  return cases;
}

std::string lines(const Diagnostics& findings) {
  std::string text;
  for (const Diagnostic& finding : findings.all()) text += finding.line() + "\n";
  return text;
}

// Files that break rules that need the signatures of operators.
const std::set<std::string> kNeedOperators = {
    "graph_unknown_op.pt2", "graph_target_python.pt2", "graph_missing_argument.pt2",
    "graph_unknown_argument.pt2", "graph_argument_type.pt2"};

TEST(Verify, RealFilesHaveNoFinding) {
  size_t files = 0;
  for (const corpus::File& file : corpus::files()) {
    const Diagnostics findings = verify(file.path);
    EXPECT_TRUE(findings.empty()) << lines(findings);
    ++files;
  }
  EXPECT_GT(files, 100u);
}

TEST(Verify, MalformedFilesGetTheirVerdict) {
  size_t cases = 0;
  for (const NegativeCase& c : negative_cases()) {
    SCOPED_TRACE(c.file);
    const Diagnostics findings = verify(negative(c.file));
    ++cases;
    if (kNeedOperators.contains(c.file)) continue;
    EXPECT_EQ(findings.has_errors(), c.is_rejected) << lines(findings);
    EXPECT_FALSE(findings.empty());
    for (const Diagnostic& finding : findings.all()) EXPECT_NE(finding.where, "") << finding.line();
    EXPECT_NE(lines(findings).find(c.says), std::string::npos) << lines(findings);
  }
  EXPECT_GE(cases, 85u);
}

TEST(Verify, WhatSpoilsNoProgramOpens) {
  for (const NegativeCase& c : negative_cases()) {
    if (!c.opens) continue;
    SCOPED_TRACE(c.file);
    const auto package = Package::open(negative(c.file));
    ASSERT_TRUE(package) << package.error().text();
    EXPECT_TRUE(package->program()) << c.file;
    EXPECT_TRUE(package->payloads()) << c.file;
  }
}

// An edit of one record of the 2.15 `mlp`: replaces `from`, which must occur, by `to`. Without
// `from` it adds the record.
struct Edit {
  Rule rule;
  const char* record;
  const char* from;
  const char* to;
};

constexpr const char* kProgram = "models/model.json";
constexpr const char* kConfig = "data/weights/model_weights_config.json";
constexpr Edit kEdits[] = {
    {Rule::unknown_record, "odd/record", "", "?"},
    {Rule::unsupported_content, "data/aotinductor/model/a.wrapper.so", "", "?"},
    {Rule::unknown_operator_namespace, kProgram, "torch.ops.aten.relu.default", "aten::relu"},
    {Rule::parameter_class, kConfig, "\"is_param\": true", "\"is_param\": false"},
    {Rule::signature_output_count, kProgram, "\"output_specs\": [{",
     "\"output_specs\": [{\"loss_output\": {\"arg\": {\"name\": \"linear_1\"}}}, {"},
    {Rule::signature_output_name, kProgram,
     "{\"user_output\": {\"arg\": {\"as_tensor\": {\"name\": \"linear_1\"}",
     "{\"user_output\": {\"arg\": {\"as_tensor\": {\"name\": \"linear\"}"},
    {Rule::signature_input_name, kProgram,
     "{\"user_input\": {\"arg\": {\"as_tensor\": {\"name\": \"x\"}",
     "{\"user_input\": {\"arg\": {\"as_tensor\": {\"name\": \"y\"}"},
    {Rule::unknown_alternative, kProgram, "{\"as_tensor\": {\"name\": \"x\"}}, \"kind\": 1}",
     "{\"as_tensor\": {\"name\": \"x\"}}, \"kind\": 1}, {\"name\": \"n\", \"arg\": {\"as_quux\": "
     "1}, \"kind\": 2}"},
    {Rule::unknown_enumerator, kProgram, "{\"as_tensor\": {\"name\": \"x\"}}, \"kind\": 1}",
     "{\"as_tensor\": {\"name\": \"x\"}}, \"kind\": 1}, {\"name\": \"n\", \"arg\": "
     "{\"as_scalar_type\": 99}, \"kind\": 2}"},
    {Rule::program_reads, kProgram, "\"sizes\": [{\"as_int\": 16}",
     "\"sizes\": [{\"as_quux\": 16}"},
    {Rule::value_kind, kProgram, "{\"as_tensor\": {\"name\": \"x\"}}, \"kind\": 1}",
     "{\"as_sym_int\": {\"as_name\": \"x\"}}, \"kind\": 1}"},
    {Rule::duplicate_value_name, kProgram, "\"sym_int_values\": {",
     "\"sym_int_values\": {\"x\": {\"as_int\": 3}"},
    {Rule::stack_trace_table, kProgram, "\"is_single_tensor_return\": false",
     "\"is_single_tensor_return\": false, \"co_fileinfo_ordered_list\": [{\"file_name\": \"f.py\", "
     "\"line_info_map\": {}}]"},
    {Rule::misplaced_argument, kProgram,
     "{\"user_input\": {\"arg\": {\"as_tensor\": {\"name\": \"x\"}}",
     "{\"user_input\": {\"arg\": {\"as_tensors\": [{\"name\": \"x\"}]}"},
};

// True for rules about unknown values, which break these rules only in files of newer writers.
bool needs_newer_minor(Rule rule) {
  return rule == Rule::unknown_alternative || rule == Rule::unknown_enumerator ||
         rule == Rule::program_reads;
}

void replace_once(std::string& text, std::string_view from, std::string_view to) {
  const size_t position = text.find(from);
  ASSERT_NE(position, std::string::npos) << from;
  text.replace(position, from.size(), to);
}

std::string edited_program(const std::string& name, const Edit& edit) {
  const Archive archive =
      Archive::open(std::string(PT2_TEST_DATA) + "/corpus/2.15.0/" + name + ".pt2").value();
  StringSink sink;
  ZipWriter writer(sink, ZipStyle::torch);
  for (const Entry& entry : archive.zip().entries()) {
    std::string content(archive.zip().read(entry).value().text());
    if (archive.relative_name(entry) == edit.record) replace_once(content, edit.from, edit.to);
    if (archive.relative_name(entry) == kProgram && needs_newer_minor(edit.rule)) {
      replace_once(content, "\"minor\": 20", "\"minor\": 21");
    }
    EXPECT_TRUE(writer.add(entry.name, content));
  }
  if (*edit.from == 0) {
    EXPECT_TRUE(writer.add(archive.root() + "/" + edit.record, edit.to));
  }
  EXPECT_TRUE(writer.finish());
  return sink.take();
}

std::string edited_mlp(const Edit& edit) { return edited_program("mlp", edit); }

Diagnostics verify_text(const std::string& bytes) {
  return verify_bytes(std::as_bytes(std::span(bytes)), nullptr, "edited.pt2");
}

bool has_rule(const Diagnostics& findings, Rule rule) {
  return std::any_of(findings.all().begin(), findings.all().end(),
                     [rule](const Diagnostic& finding) { return finding.rule == rule; });
}

TEST(Verify, EachEditBreaksItsRule) {
  for (const Edit& edit : kEdits) {
    const Diagnostics findings = verify_text(edited_mlp(edit));
    EXPECT_TRUE(has_rule(findings, edit.rule)) << rule_code(edit.rule) << "\n" << lines(findings);
  }
}

// For programs in memory the verifier reports empty ranges. For files the reader reports them.
TEST(Verify, EmptyRangesOfProgramsInMemory) {
  ProgramBuilder builder;
  const SymInt batch = builder.dim("s0", {1, 9}, 3);
  builder.output(builder.input("x", builder.tensor(Dtype::float32, {batch})));
  Program program = std::move(builder).finish().value();
  EXPECT_TRUE(verify_program(program).empty());
  program.range_constraints[0].range = {9, 1};
  const Diagnostics findings = verify_program(program);
  ASSERT_EQ(findings.all().size(), 1u);
  EXPECT_EQ(findings.all()[0].line(),
            "V507 error: program:.range_constraints.s0: the range [9, 1] is empty");
}

// The bytes of a generator's state are data. Other calls in its pickle are code.
TEST(Verify, GeneratorsHaveStates) {
  constexpr const char* kRecord = "data/constants/opaque_obj_0";
  const auto findings = [&](const char* from, const char* to) {
    return verify_text(edited_program("generators", {Rule::payload_reads, kRecord, from, to}));
  };
  const Diagnostics unchanged = findings("cpu", "cpu");
  EXPECT_TRUE(unchanged.all().empty()) << lines(unchanged);
  const Diagnostics other_size = findings("M\xC0\x13\x85q", "M\xBF\x13\x85q");
  EXPECT_TRUE(has_rule(other_size, Rule::payload_reads)) << lines(other_size);
  const Diagnostics other_class = findings("ctorch._C\nGenerator", "ctorch._C\nRuntimeEnv");
  EXPECT_TRUE(has_rule(other_class, Rule::code_in_pickle)) << lines(other_class);
  const Diagnostics other_file = findings("protocol_version", "protocol\nversion");
  EXPECT_TRUE(other_file.all().empty()) << lines(other_file);
  const Diagnostics other_storage = findings("ByteStorage", "ByteStorige");
  EXPECT_TRUE(has_rule(other_storage, Rule::code_in_pickle)) << lines(other_storage);
}

const size_t kOperatorRules = static_cast<size_t>(std::ranges::count_if(
    rules(), [](const RuleInfo& info) { return info.rule >= Rule::unknown_operator; }));

TEST(Verify, EachRuleIsBrokenBySomeFile) {
  std::set<Rule> seen;
  const auto collect = [&seen](const Diagnostics& findings) {
    for (const Diagnostic& finding : findings.all()) seen.insert(finding.rule);
  };
  for (const NegativeCase& c : negative_cases()) collect(verify(negative(c.file)));
  for (const Edit& edit : kEdits) collect(verify_text(edited_mlp(edit)));
  for (const test::BrokenProgram& program : test::broken_programs())
    collect(verify_text(test::broken_file(program)));
  // tests/check/verify_operators_test.cpp tests the rules of operators.
  for (const RuleInfo& rule : rules().first(rules().size() - kOperatorRules))
    EXPECT_TRUE(seen.contains(rule.rule)) << rule_code(rule.rule) << " " << rule.name;
}

TEST(Verify, FindingsNameTheirNode) {
  const Diagnostics findings = verify(negative("graph_undefined_value.pt2"));
  ASSERT_EQ(findings.all().size(), 1u);
  const NodePlace& node = findings.all()[0].node;
  EXPECT_EQ(node.name, "relu");
  EXPECT_EQ(node.target, "torch.ops.aten.relu.default");
  EXPECT_EQ(node.source_line, "make_corpus.py:178");
  EXPECT_TRUE(findings.all()[0].line().ends_with(
      "; node %relu (torch.ops.aten.relu.default) at make_corpus.py:178"));
}

// A ResNet that was exported strictly has more than fifty of them.
TEST(Verify, UnusedWeightsAreOneFinding) {
  const Package package =
      Package::open(std::string(PT2_TEST_DATA) + "/corpus/2.15.0/mlp.pt2").value();
  PackageContents contents = package_contents(package).value();
  auto& weights = std::get<std::vector<SavedTensor>>(contents.programs[0].state_dict);
  for (int i = 0; i < 5; ++i) {
    weights.push_back(weights[0]);
    weights.back().name = "bn" + std::to_string(i) + ".num_batches_tracked";
    weights.back().tensor = Tensor::zeros(Dtype::int64, {});
  }
  StringSink sink;
  ASSERT_TRUE(save_package(contents, sink, "model"));
  const auto bytes = std::make_shared<const std::string>(sink.take());
  const Diagnostics findings = verify_bytes(std::as_bytes(std::span(*bytes)), bytes, "unused.pt2");
  ASSERT_EQ(findings.all().size(), 1u) << lines(findings);
  EXPECT_EQ(findings.all()[0].rule, Rule::unused_payload);
  EXPECT_NE(findings.all()[0].line().find(
                "names 'bn0.num_batches_tracked', 'bn1.num_batches_tracked', "
                "'bn2.num_batches_tracked' and 2 more; 'pt2 strip' leaves them out"),
            std::string::npos)
      << lines(findings);
}

// There is a finding for each of n symbols about an expression of n terms, and for each edge of a
// node about its place in the source. With whole texts they would be n times as long as the file.
TEST(Verify, FindingsRepeatNoLongTexts) {
  constexpr size_t kSymbols = 2000;
  std::string sum = "Add(Symbol('s77', positive=True, integer=True)";
  for (size_t i = 1000; i < 1000 + kSymbols; ++i)
    sum += ", Symbol('s" + std::to_string(i) + "', integer=True)";
  sum += ")";
  const Edit edit{Rule::undefined_symbol, kProgram, "Symbol('s77', positive=True, integer=True)",
                  sum.c_str()};
  const Diagnostics findings = verify_text(edited_program("dynamic_batch", edit));
  EXPECT_EQ(std::ranges::count(findings.all(), Rule::undefined_symbol, &Diagnostic::rule),
            kSymbols);
  EXPECT_LT(lines(findings).size(), kSymbols * 500);
  const auto text_bytes = [](const Diagnostics& some) {
    size_t bytes = 0;
    for (const Diagnostic& finding : some.all()) bytes += finding.where.size();
    return bytes;
  };
  const std::string name = std::string(50'000, 'n');
  Program program;
  program.expressions = std::make_shared<ExprPool>();
  const SpelledExpr* spelled = program.expressions->parse(sum).value();
  ASSERT_TRUE(program.graph.add_value({.name = name, .meta = SymInt(spelled, std::nullopt)}));
  EXPECT_LT(text_bytes(verify_program(program)), kSymbols * 500);
  Diagnostics long_ones;
  long_ones.add(Rule::undefined_symbol, std::string(100'000, 'a'), std::string(100'000, 'b'));
  EXPECT_LT(lines(long_ones).size(), 10'000u);
}

// All findings about a node share one short description of its place.
TEST(Verify, ANodeIsDescribedOnceAndShortly) {
  Program program;
  const std::string trace =
      "  File \"" + std::string(100'000, 'x') + ".py\", line 1, in f\n    x\n";
  program.graph.add_node({.target = "cat", .metadata = {{"stack_trace", trace}}});
  NodePlaces places(program);
  const NodePlace& place = places.find("a.pt2!model.json:.graph_module.graph.nodes[0].inputs[0]");
  EXPECT_EQ(&place, &places.find("a.pt2!model.json:.graph_module.graph.nodes[0].inputs[1]"));
  EXPECT_FALSE(places.find("a.pt2!model.json:.graph_module.graph.nodes[1]"));
  EXPECT_EQ(place.target, "cat");
  EXPECT_TRUE(place.source_line.starts_with("xxx")) << place.source_line.substr(0, 100);
  EXPECT_LT(place.text().size(), 1000u);
}

TEST(Verify, TheReferencePageIsTheTable) {
  const std::string path = std::string(PT2_TEST_DATA) + "/../../docs/rules.md";
  if (std::getenv("PT2_REBASE")) std::ofstream(path, std::ios::binary) << document_rules();
  EXPECT_EQ(test::read_file(path), document_rules())
      << "run the test with PT2_REBASE=1 to write docs/rules.md anew";
}

TEST(Verify, LevelsIncludeTheOnesBefore) {
  for (const NegativeCase& c : negative_cases()) {
    size_t previous = 0;
    for (Level level : {Level::container, Level::schema, Level::graph, Level::full}) {
      const Diagnostics findings = verify(negative(c.file), level);
      EXPECT_GE(findings.all().size(), previous) << c.file << " " << level_name(level);
      for (const Diagnostic& finding : findings.all()) {
        EXPECT_LE(rule_info(finding.rule).level, level) << finding.line();
      }
      previous = findings.all().size();
    }
  }
}

}  // namespace
}  // namespace pt2
