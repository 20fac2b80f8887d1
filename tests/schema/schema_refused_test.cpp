// The error message for every kind of fault in a program's JSON.
#include <gtest/gtest.h>

#include "pt2/format/schema_json.h"
#include "schema/small_programs.h"

namespace pt2::schema {
namespace {

void expect_refused(const std::string& text, ErrorCode code, std::string_view message) {
  Diagnostics warnings;
  const auto program = decode_program(text, Limits{}, warnings);
  ASSERT_FALSE(program) << message;
  EXPECT_EQ(program.error().text(), message);
  EXPECT_EQ(program.error().code, code) << message;
}

struct Damage {
  const char* from;
  const char* to;
  ErrorCode code;
  const char* message;

  friend void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.to; }
};

class RefusedTest : public testing::TestWithParam<Damage> {};

TEST_P(RefusedTest, WithItsPlace) {
  expect_refused(replaced(kProgram, GetParam().from, GetParam().to), GetParam().code,
                 GetParam().message);
}

constexpr const char* kFloat = R"({"as_float": 0.5})";

INSTANTIATE_TEST_SUITE_P(
    Json, RefusedTest,
    testing::Values(
        Damage{R"("nodes": [)", R"("nodes": [], "nodes": [)", ErrorCode::malformed,
               R"(.graph_module.graph: the key "nodes" occurs twice)"},
        Damage{R"({"aten": 10})", R"({"aten": 10, "prim": 1, "aten": 11})", ErrorCode::malformed,
               R"(.opset_version: the key "aten" occurs twice)"},
        Damage{R"("target")", R"("a": 1, "a": 2, "target")", ErrorCode::malformed,
               R"(.graph_module.graph.nodes[0]: the key "a" occurs twice)"},
        Damage{R"("target")", R"("a": {"b": 1, "b": 2}, "target")", ErrorCode::malformed,
               R"(.graph_module.graph.nodes[0].a: the key "b" occurs twice)"},
        Damage{R"("target")", R"("a": [1, }, "target")", ErrorCode::malformed,
               ".graph_module.graph.nodes[0].a: found } at byte 133, expected ] for a list that "
               "begins at byte 129"},
        Damage{
            "0.5", "0.5.5", ErrorCode::malformed,
            ".graph_module.graph.nodes[0].inputs[1].arg.as_float: found 0.5.5, expected a float"},
        Damage{"0.5", "nan", ErrorCode::malformed,
               ".graph_module.graph.nodes[0].inputs[1].arg.as_float: found nan, expected a float"},
        Damage{
            "0.5", "1e999", ErrorCode::malformed,
            ".graph_module.graph.nodes[0].inputs[1].arg.as_float: found 1e999, expected a float"},
        Damage{
            "0.5", R"("0.5")", ErrorCode::malformed,
            R"(.graph_module.graph.nodes[0].inputs[1].arg.as_float: found "0.5", expected a float)"},
        Damage{
            "line", R"(\x)", ErrorCode::malformed,
            R"(.graph_module.graph.nodes[0].metadata.stack_trace: found "\x\n", expected a string with JSON's escapes)"},
        Damage{"line", "\n", ErrorCode::malformed,
               "a JSON string has a control character that is not escaped, at byte 424"},
        Damage{"line", "\xc3\x28", ErrorCode::malformed,
               "the JSON text is not valid UTF-8 at byte 424"}));

INSTANTIATE_TEST_SUITE_P(
    Types, RefusedTest,
    testing::Values(
        Damage{R"({"as_int": 2})", R"({"as_int": 2.5})", ErrorCode::malformed,
               ".graph_module.graph.tensor_values.x.sizes[0].as_int: found 2.5, expected an int"},
        Damage{R"({"as_int": 2})", R"({"as_int": 9223372036854775808})", ErrorCode::malformed,
               ".graph_module.graph.tensor_values.x.sizes[0].as_int: found 9223372036854775808, "
               "expected an int of 64 bits"},
        Damage{
            R"({"as_int": 2})", R"({"as_int": Infinity})", ErrorCode::malformed,
            ".graph_module.graph.tensor_values.x.sizes[0].as_int: found Infinity, expected an int"},
        Damage{R"({"as_int": 2})", R"({"as_int": true})", ErrorCode::malformed,
               ".graph_module.graph.tensor_values.x.sizes[0].as_int: found true, expected an int"},
        Damage{R"({"as_int": 2})", R"({"as_int": null})", ErrorCode::malformed,
               ".graph_module.graph.tensor_values.x.sizes[0].as_int: found null, expected an int"},
        Damage{R"("min_val": 2)", R"("min_val": -Infinity)", ErrorCode::malformed,
               ".range_constraints.s0.min_val: found -Infinity, expected an int"},
        Damage{R"("requires_grad": false)", R"("requires_grad": 0)", ErrorCode::malformed,
               ".graph_module.graph.tensor_values.x.requires_grad: found 0, expected a bool"},
        Damage{R"("torch_version": "2.15.0+cpu")", R"("torch_version": 2)", ErrorCode::malformed,
               ".torch_version: found 2, expected a string"},
        Damage{R"("guards_code": [])", R"("guards_code": null)", ErrorCode::malformed,
               ".guards_code: found null, expected List[str]"},
        Damage{R"("guards_code": [])", R"("guards_code": {})", ErrorCode::malformed,
               ".guards_code: found an object, expected List[str]"},
        Damage{R"({"aten": 10})", "[]", ErrorCode::malformed,
               ".opset_version: found a list, expected Dict[int]"},
        Damage{R"({"as_none": true})", R"({"as_none": [1]})", ErrorCode::malformed,
               ".graph_module.graph.nodes[0].inputs[2].arg.as_none: found a list with elements, "
               "expected []"},
        Damage{R"({"as_none": true})", R"({"as_none": false})", ErrorCode::malformed,
               ".graph_module.graph.nodes[0].inputs[2].arg.as_none: found false, expected true"}));

INSTANTIATE_TEST_SUITE_P(
    Schema, RefusedTest,
    testing::Values(
        Damage{R"("dtype": 7, )", "", ErrorCode::malformed,
               R"(.graph_module.graph.tensor_values.x: TensorMeta has no field "dtype")"},
        Damage{
            R"("dtype": 7)", R"("dtype": 14)", ErrorCode::invalid,
            ".graph_module.graph.tensor_values.x.dtype: found 14, expected a number of ScalarType"},
        Damage{
            kFloat, R"({"as_quux": 1})", ErrorCode::invalid,
            R"(.graph_module.graph.nodes[0].inputs[1].arg: found "as_quux", expected an alternative of Argument)"},
        Damage{
            kFloat, R"({"as_float": 0.5, "as_int": 1})", ErrorCode::malformed,
            R"(.graph_module.graph.nodes[0].inputs[1].arg: found "as_int" beside "as_float", expected one alternative of Argument)"},
        Damage{kFloat, "{}", ErrorCode::malformed,
               ".graph_module.graph.nodes[0].inputs[1].arg: found no alternative, expected one of "
               "Argument"},
        Damage{kFloat, "null", ErrorCode::malformed,
               ".graph_module.graph.nodes[0].inputs[1].arg: found null, expected Argument"},
        Damage{R"({"major": 8, "minor": 20})", R"({"major": 9, "minor": 0})",
               ErrorCode::unsupported,
               ".schema_version: found schema version 9.0, expected 1 to 8.20"},
        Damage{R"({"major": 8, "minor": 20})", R"({"major": 0, "minor": 2})",
               ErrorCode::unsupported,
               ".schema_version: found schema version 0.2, expected 1 to 8.20"},
        Damage{R"({"major": 8, "minor": 20})", R"({"major": "8", "minor": 20})",
               ErrorCode::malformed, R"(.schema_version.major: found "8", expected an int)"},
        Damage{R"("schema_version": {"major": 8, "minor": 20}, )", "", ErrorCode::malformed,
               R"(ExportedProgram has no field "schema_version")"}));

TEST(RefusedTest, WholeTexts) {
  expect_refused("", ErrorCode::malformed, "the JSON text is empty");
  expect_refused("[]", ErrorCode::malformed, "found a list, expected ExportedProgram");
  expect_refused("12", ErrorCode::malformed, "found 12, expected ExportedProgram");
  expect_refused("{}", ErrorCode::malformed, R"(ExportedProgram has no field "graph_module")");
  expect_refused(
      kProgram + "{}", ErrorCode::malformed,
      "found an object after the end of the JSON text, at byte " + std::to_string(kProgram.size()));
  expect_refused(kProgram.substr(0, kProgram.size() - 1), ErrorCode::malformed,
                 "the JSON text ends inside an object that begins at byte 0");
}

TEST(RefusedTest, EveryPrefixIsRefused) {
  for (size_t size = 0; size < kProgram.size(); ++size) {
    Diagnostics warnings;
    EXPECT_FALSE(decode_program(kProgram.substr(0, size), Limits{}, warnings)) << size;
  }
}

TEST(RefusedTest, DepthAndSizeAreLimited) {
  const std::string deep(100000, '[');
  expect_refused(replaced(kProgram, "\"target\"",
                          "\"deep\": " + deep + std::string(deep.size(), ']') + ", \"target\""),
                 ErrorCode::limit,
                 ".graph_module.graph.nodes[0].deep: nested deeper than 512 (max_json_depth)");
  std::string nested = R"({"as_int": 1})";
  for (int i = 0; i < 1000; ++i) nested = R"({"as_string_to_argument": {"a": )" + nested + "}}";
  Diagnostics warnings;
  const auto program = decode_program(replaced(kProgram, kFloat, nested), Limits{}, warnings);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, ErrorCode::limit);
  Limits limits;
  limits.max_json_bytes = 100;
  const auto big = decode_program(kProgram, limits, warnings);
  ASSERT_FALSE(big);
  EXPECT_EQ(big.error().code, ErrorCode::limit);
}

TEST(RefusedTest, UnionsAloneAreNoTexts) {
  Diagnostics warnings;
  const auto argument = decode<Argument>(R"({"as_int": 1})", Limits{}, warnings);
  ASSERT_FALSE(argument);
  EXPECT_EQ(argument.error().code, ErrorCode::argument);
  EXPECT_EQ(argument.error().text(), "found the type Argument, expected one with fields");
}

}  // namespace
}  // namespace pt2::schema
