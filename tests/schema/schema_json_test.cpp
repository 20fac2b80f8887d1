#include "pt2/format/schema_json.h"

#include <gtest/gtest.h>

#include "schema/small_programs.h"

namespace pt2::schema {
namespace {

Result<ExportedProgram> decode_text(const std::string& text, Diagnostics& warnings) {
  return decode_program(text, Limits{}, warnings);
}

// Decodes a program. The test fails if there are findings.
ExportedProgram decode_clean(const std::string& text) {
  Diagnostics warnings;
  auto program = decode_text(text, warnings);
  EXPECT_TRUE(program.has_value()) << program.error().text();
  for (const Diagnostic& warning : warnings.all()) ADD_FAILURE() << warning.line();
  return program ? *std::move(program) : ExportedProgram();
}

void expect_same_bytes(const std::string& text) {
  EXPECT_EQ(encode_program(decode_clean(text)), text);
}

TEST(SchemaJsonTest, ReadsValuesByName) {
  const ExportedProgram program = decode_clean(kProgram);
  const Graph& graph = program.graph_module.graph;
  const Node& node = graph.nodes.at(0);
  EXPECT_EQ(node.target, "torch.ops.aten.add.Tensor");
  EXPECT_EQ(node.inputs.at(0).arg.get<ArgumentCase::as_tensor>().name, "x");
  EXPECT_EQ(node.inputs.at(1).arg.which(), ArgumentCase::as_float);
  EXPECT_EQ(*node.inputs.at(1).arg.get_if<ArgumentCase::as_float>(), 0.5);
  EXPECT_EQ(node.inputs.at(2).kind, ArgumentKind::KEYWORD);
  EXPECT_EQ(*node.metadata.find("stack_trace"), "line\n");
  EXPECT_EQ(node.is_hop_single_tensor_return, std::nullopt);
  EXPECT_EQ(graph.tensor_values.find("x")->dtype, ScalarType::FLOAT);
  EXPECT_EQ(program.range_constraints[0].second.min_val, 2);
  EXPECT_EQ(program.range_constraints[0].second.max_val, std::nullopt);
  EXPECT_EQ(program.schema_version.minor, 20);
  EXPECT_EQ(program.trace.get(), nullptr);
}

TEST(SchemaJsonTest, WritesTheSameBytes) {
  expect_same_bytes(kProgram);
  for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
           {"{\"as_float\": 0.5}", "{\"as_float\": \"Infinity\"}"},
           {"{\"as_float\": 0.5}", "{\"as_float\": \"NaN\"}"},
           {"{\"as_float\": 0.5}", "{\"as_ints\": [1, -2, 9223372036854775807]}"},
           {"{\"as_float\": 0.5}", "{\"as_bools\": [true, false]}"},
           {"{\"as_float\": 0.5}", "{\"as_complex\": {\"real\": 1.0, \"imag\": -0.0}}"},
           {"{\"as_float\": 0.5}", "{\"as_int_lists\": [[1], [], [2, 3]]}"},
           {"{\"as_float\": 0.5}",
            "{\"as_string_to_argument\": {\"a\": {\"as_int\": 1}, \"b\": {\"as_none\": true}}}"},
           {"{\"as_float\": 0.5}", "{\"as_sym_int\": {\"as_name\": \"n\"}}"},
           {"line\\n", "\\u00e4 \\ud83d\\ude00 \\\"\\\\/ \\u007f\\u0001"}}) {
    expect_same_bytes(replaced(kProgram, from, to));
  }
}

TEST(SchemaJsonTest, AnEditChangesOnlyItself) {
  ExportedProgram program = decode_clean(kProgram);
  program.graph_module.graph.nodes[0].inputs[1].arg.set<ArgumentCase::as_int>(7);
  EXPECT_EQ(encode_program(program),
            replaced(kProgram, R"({"as_float": 0.5})", R"({"as_int": 7})"));
  program = decode_clean(kProgram);
  program.torch_version = "2.16";
  EXPECT_EQ(encode_program(program), replaced(kProgram, "2.15.0+cpu", "2.16"));
}

TEST(SchemaJsonTest, UnusualSpellingsSurviveAndEditsWin) {
  const std::string text =
      replaced(replaced(replaced(kProgram, "0.5", "5e-1"), "\"dtype\": 7, \"sizes\"", "\"sizes\""),
               "\"requires_grad\": false", "\"requires_grad\": false, \"dtype\": 7");
  ExportedProgram program = decode_clean(text);
  EXPECT_EQ(encode_program(program), text);
  ExportedProgram copy = program;
  copy.graph_module.graph.nodes[0].inputs[1].arg.set<ArgumentCase::as_float>(0.25);
  EXPECT_EQ(encode_program(copy), replaced(text, "5e-1", "0.25"));
  EXPECT_TRUE(equal(program, decode_clean(kProgram))) << "spelling is no difference";
  EXPECT_EQ(hash(program), hash(decode_clean(kProgram)));
}

TEST(SchemaJsonTest, EverySpellingComesBack) {
  for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
           {"{\"as_float\": 0.5}", "{\"as_int\": -0}"},
           {"{\"as_float\": 0.5}", "{\"as_float\": 1}"},
           {"{\"as_float\": 0.5}", "{\"as_floats\": [1.0, 1.50, 2e0]}"},
           {"{\"as_float\": 0.5}", "{\"as_string\": \"a\\/b\\u0041\\u00E4\"}"},
           {"{\"as_none\": true}", "{\"as_none\": []}"},
           {"\"nodes\"", "\"n\\u006fdes\""},
           {"\"x\": {\"dtype\"", "\"\\u0078\": {\"dtype\""},
           {", \"index\": null", ""},
           {", \"guards_code\": []", ""},
           {", \"name\": \"add\"", ""}}) {
    expect_same_bytes(replaced(kProgram, from, to));
  }
}

TEST(SchemaJsonTest, CompactAndUtf8FilesComeBack) {
  std::string compact;
  for (size_t i = 0; i < kProgram.size(); ++i) {
    compact += kProgram[i];
    if ((kProgram[i] == ',' || kProgram[i] == ':') && kProgram[i + 1] == ' ') ++i;
  }
  expect_same_bytes(compact);
  expect_same_bytes(replaced(kProgram, "line\\n", "n\xc3\xa4h\\n"));
  expect_same_bytes(replaced(kProgram, "line\\n", "n\xc3\xa4h \\u00e4\\n"));
  EXPECT_NE(encode_program_pretty(decode_clean(kProgram))
                .find("\n  \"opset_version\": {\n    \"aten\": 10\n  },\n"),
            std::string::npos);
}

TEST(SchemaJsonTest, WhatNobodyKnowsIsKeptAndReported) {
  struct Case {
    const char* from;
    const char* to;
    const char* finding;
  };
  const std::string newer = replaced(kProgram, "\"minor\": 20", "\"minor\": 21");
  for (const Case& each : std::initializer_list<Case>{
           {"\"target\":", "\"colour\": [1, {\"a\": 1.50}], \"target\":",
            "V202 warning: .graph_module.graph.nodes[0].colour: Node has no such field"},
           {"{\"as_float\": 0.5}", "{\"as_quux\": {\"b\": [NaN]}}",
            "V203 warning: .graph_module.graph.nodes[0].inputs[1].arg: found \"as_quux\", expected "
            "an alternative of "
            "Argument"},
           {"\"dtype\": 7", "\"dtype\": 99",
            "V204 warning: .graph_module.graph.tensor_values.x.dtype: found 99, expected a number "
            "of ScalarType"}}) {
    Diagnostics warnings;
    const std::string text = replaced(newer, each.from, each.to);
    const auto program = decode_text(text, warnings);
    ASSERT_TRUE(program) << program.error().text();
    ASSERT_EQ(warnings.all().size(), 2u);
    EXPECT_EQ(warnings.all()[0].line(),
              "V201 warning: .schema_version: found version 8.21, expected at most 8.20");
    EXPECT_EQ(warnings.all()[1].line(), each.finding);
    EXPECT_EQ(encode_program(*program), text);
  }
}

TEST(SchemaJsonTest, NonFiniteFloatsAndSurrogatesAreReported) {
  for (const auto& [to, finding] : std::initializer_list<std::pair<const char*, const char*>>{
           {"NaN",
            "V205 warning: .graph_module.graph.nodes[0].inputs[1].arg.as_float: found NaN, which "
            "schema version "
            "8.20 does not write"},
           {"-Infinity",
            "V205 warning: .graph_module.graph.nodes[0].inputs[1].arg.as_float: found -Infinity, "
            "which "
            "schema version 8.20 does not write"}}) {
    Diagnostics warnings;
    const std::string text = replaced(kProgram, "0.5", to);
    const auto program = decode_text(text, warnings);
    ASSERT_TRUE(program) << program.error().text();
    ASSERT_EQ(warnings.all().size(), 1u);
    EXPECT_EQ(warnings.all()[0].line(), finding);
    EXPECT_EQ(encode_program(*program), text);
  }
  Diagnostics warnings;
  const std::string text = replaced(kProgram, "line", "\\ud800line");
  const auto program = decode_text(text, warnings);
  ASSERT_TRUE(program) << program.error().text();
  ASSERT_EQ(warnings.all().size(), 1u);
  EXPECT_EQ(
      warnings.all()[0].line(),
      R"(V206 warning: .graph_module.graph.nodes[0].metadata.stack_trace: found "\ud800line\n")");
  EXPECT_EQ(encode_program(*program), text);
}

}  // namespace
}  // namespace pt2::schema
