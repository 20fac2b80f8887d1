// Forms of old schema versions that are rare or absent in the corpus (schema_corpus_test).
#include <gtest/gtest.h>

#include "pt2/format/schema_json.h"
#include "schema/small_programs.h"

namespace pt2::schema {
namespace {

template <class T>
T decode_clean(const std::string& text) {
  Diagnostics warnings;
  auto value = decode<T>(text, Limits{}, warnings);
  EXPECT_TRUE(value.has_value()) << value.error().text();
  for (const Diagnostic& warning : warnings.all()) ADD_FAILURE() << warning.line();
  return value ? *std::move(value) : T();
}

// Returns a program of `version` ("5, \"minor\": 1") without nodes. The caller's texts are added to
// the graph and to the program.
std::string program_of(std::string_view version, std::string_view graph_tail,
                       std::string_view tail) {
  return R"({"graph_module": {"graph": {"inputs": [], "outputs": [], "nodes": [], "tensor_values": {}, )"
         R"("sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": false)" +
         std::string(graph_tail) +
         R"(}, "signature": {"input_specs": [], "output_specs": []}, "module_call_graph": []}, )"
         R"("opset_version": {}, "range_constraints": {}, "schema_version": )" +
         std::string(version) + std::string(tail) + "}";
}

TEST(SchemaVersionsTest, Version1) {
  const std::string text =
      R"({"graph_module": {"graph": {"inputs": [], "outputs": [], "nodes": [], )"
      R"("tensor_values": {"x": {"meta": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "s0", "hint": 4}, )"
      R"("as_int": null}], "requires_grad": false, "device": {"type": "cpu", "index": null}, "strides": [], )"
      R"("storage_offset": 0, "layout": 7}}}, "sym_int_values": {}, )"
      R"("sym_bool_values": {"b": {"as_expr": "s0 > 2", "as_bool": null}}, "is_single_tensor_return": false, )"
      R"("constants": {"c": "UEs="}}, "signature": {"inputs_to_parameters": {"p": "w"}, "inputs_to_buffers": {}, )"
      R"("user_inputs": ["x"], "user_outputs": [], "buffers_to_mutate": {}, "backward_signature": )"
      R"({"gradients_to_parameters": {}, "gradients_to_user_inputs": {}, "loss_output": "l"}}, )"
      R"("call_spec": {"in_spec": "[1]", "out_spec": "[1]"}, "module_call_graph": []}, "opset_version": {}, )"
      R"("range_constraints": {"s0": {"min_val": 2, "max_val": Infinity}}, )"
      R"("equality_constraints": [[["x", 0], ["y", 1]]], "schema_version": 1, "example_inputs": null})";
  const auto program = decode_clean<ExportedProgram>(text);
  EXPECT_EQ(encode(program), text);
  EXPECT_EQ(program.schema_version.major, 1);
  const TensorMeta& meta = program.graph_module.graph.tensor_values_v1.find("x")->meta;
  EXPECT_EQ(meta.sizes[0].get<SymIntCase::as_expr>().hint_int, 4);
  EXPECT_EQ(program.graph_module.graph.sym_bool_values[0].second.get<SymBoolCase::as_expr_str>(),
            "s0 > 2");
  EXPECT_EQ(program.graph_module.signature_v1.backward_signature->loss_output, "l");
  EXPECT_GT(program.range_constraints[0].second.max_val_float, 1e308);
}

TEST(SchemaVersionsTest, Version4WritesTypeAndValue) {
  const std::string text =
      replaced(program_of(R"({"major": 4, "minor": 2})", R"(, "custom_obj_values": {})",
                          R"(, "dialect": "ATEN")"),
               R"("inputs": [])", R"("inputs": [{"$type": "as_int", "$value": 3}])");
  const auto program = decode_clean<ExportedProgram>(text);
  EXPECT_EQ(program.graph_module.graph.inputs[0].get<ArgumentCase::as_int>(), 3);
  EXPECT_EQ(encode(program), text);
  const std::string swapped =
      replaced(text, R"({"$type": "as_int", "$value": 3})", R"({"as_int": 3})");
  EXPECT_EQ(encode(decode_clean<ExportedProgram>(swapped)), swapped);
  const std::string list = replaced(text, R"({"major": 4, "minor": 2})", "[4, 2]");
  const auto listed = decode_clean<ExportedProgram>(list);
  EXPECT_EQ(listed.schema_version.minor, 2);
  EXPECT_EQ(encode(listed), list);
}

TEST(SchemaVersionsTest, CompactStackTracesOf53) {
  const std::string text = program_of(
      R"({"major": 5, "minor": 3})",
      R"(, "custom_obj_values": {}, "co_fileinfo_ordered_list": [{"file_name": "a.py", "line_info_map": )"
      R"({"12": {"name": "forward", "line": "return x"}}}])",
      R"(, "dialect": "ATEN")");
  const auto program = decode_clean<ExportedProgram>(text);
  EXPECT_EQ(program.graph_module.graph.co_fileinfo_ordered_list[0].line_info_map.find("12")->line,
            "return x");
  EXPECT_EQ(encode(program), text);
}

TEST(SchemaVersionsTest, BothFormsOfAConstantBool) {
  const std::string spec =
      R"("input_specs": [{"constant_input": {"name": "b", "value": {"as_int": true}}}])";
  const std::string text =
      replaced(program_of(R"({"major": 5, "minor": 3})", R"(, "custom_obj_values": {})",
                          R"(, "dialect": "ATEN")"),
               R"("input_specs": [])", spec);
  const auto program = decode_clean<ExportedProgram>(text);
  const ConstantValue& value =
      program.graph_module.signature.input_specs[0].get<InputSpecCase::constant_input>().value;
  EXPECT_EQ(value.get<ConstantValueCase::as_int_bool>(), true);
  EXPECT_EQ(encode(program), text);
  Diagnostics warnings;
  const auto newer = decode_program(
      replaced(kProgram,
               R"("input_specs": [{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}])", spec),
      Limits{}, warnings);
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().text(),
            ".graph_module.signature.input_specs[0].constant_input.value.as_int: found true, "
            "expected an int");
}

TEST(SchemaVersionsTest, ContainersOf86AndOf811) {
  const std::string program =
      replaced(replaced(kProgram, "\"minor\": 20", "\"minor\": 6"), ", \"guards_code\": []", "");
  const std::string inner = replaced(program, ", \"name\": \"add\"", "");
  const std::string model86 =
      R"({"name": "m", "tensorPaths": {"w": "/data/w"}, "program": {"methods": {"forward": )" +
      inner + R"(}}, "delegates": {}, "deviceAllocationMap": {}, "constantPaths": {}})";
  const auto old = decode_clean<Model>(model86);
  EXPECT_EQ(old.program_methods.methods[0].second.schema_version.minor, 6);
  EXPECT_EQ(encode(old), model86);
  const std::string newer = replaced(
      replaced(replaced(kProgram, "\"minor\": 20", "\"minor\": 11"), ", \"name\": \"add\"", ""),
      "\"guards_code\"", R"("tensor_paths": {}, "constant_paths": {}, "guards_code")");
  const std::string model811 = R"({"name": "m", "program": )" + newer + R"(, "variants": {}})";
  const auto model = decode_clean<Model>(model811);
  EXPECT_EQ(model.program.schema_version.minor, 11);
  EXPECT_EQ(encode(model), model811);
  EXPECT_EQ(encode(model.program), newer);
}

TEST(SchemaVersionsTest, AProgramMadeFromNothingIsWrittenAsItsVersionWrites) {
  ExportedProgram program;
  program.schema_version = {.major = 8, .minor = 2};
  program.graph_module.graph.nodes.push_back({.target = "t"});
  const std::string text = encode(program);
  EXPECT_NE(text.find(R"("nodes": [{"target": "t", "inputs": [], "outputs": [], "metadata": {}}])"),
            std::string::npos);
  EXPECT_NE(text.find(R"("verifiers": [], "torch_version": "<=2.4"})"), std::string::npos);
  EXPECT_TRUE(equal(decode_clean<ExportedProgram>(text), program));
  program.schema_version = {.major = 8, .minor = 20};
  EXPECT_NE(encode(program).find(R"("is_hop_single_tensor_return": null, "name": null}])"),
            std::string::npos);
}

// A search in quadratic time would take minutes.
TEST(SchemaVersionsTest, TheSearchForAVersionIsShort) {
  std::string text = R"({"config": {"a": )";
  for (int i = 0; i < 300'000; ++i) text += R"("schema_version":[,)";
  Diagnostics warnings;
  EXPECT_FALSE(decode<PayloadConfig>(text, Limits{}, warnings));
}

TEST(SchemaVersionsTest, PayloadsAndKernels) {
  const std::string payload =
      R"({"config": {"w": {"path_name": "weight_0", "is_param": true, "use_pickle": false, "tensor_meta": null}}})";
  EXPECT_EQ(encode(decode_clean<PayloadConfig>(payload)), payload);
  const std::string kernels =
      R"({"nodes": [{"name": "n", "node": {"target": "t", "inputs": [], "outputs": [], "metadata": {}, )"
      R"("is_hop_single_tensor_return": null, "name": null}}]})";
  EXPECT_EQ(encode(decode_clean<ExternKernelNodes>(kernels)), kernels);
}

TEST(SchemaCompareTest, DifferencesHaveTheirPlace) {
  const auto left = decode_clean<ExportedProgram>(kProgram);
  auto right = left;
  EXPECT_TRUE(diff(left, right).empty());
  EXPECT_EQ(hash(left), hash(right));
  right.graph_module.graph.nodes[0].inputs[1].arg.set<ArgumentCase::as_int>(1);
  right.graph_module.graph.nodes[0].inputs.pop_back();
  right.range_constraints[0].second.max_val = 9;
  right.opset_version.emplace_back("prim", 1);
  EXPECT_FALSE(equal(left, right));
  EXPECT_NE(hash(left), hash(right));
  std::string text;
  for (const Difference& each : diff(left, right))
    text += each.path + ": " + each.left + " -> " + each.right + "\n";
  EXPECT_EQ(text,
            ".graph_module.graph.nodes[0].inputs[1].arg: {\"as_float\": 0.5} -> {\"as_int\": 1}\n"
            ".graph_module.graph.nodes[0].inputs[2]: {\"name\": \"none\", \"arg\": {\"as_none\": "
            "true}, \"kind\": 2} -> \n"
            ".opset_version.prim:  -> 1\n"
            ".range_constraints.s0.max_val: null -> 9\n");
}

}  // namespace
}  // namespace pt2::schema
