#include "serde/from_schema.h"

#include <gtest/gtest.h>

#include "pt2/format/schema_json.h"
#include "serde/to_schema.h"

namespace pt2 {
namespace {

constexpr std::string_view kMeta =
    R"json({"dtype":7,"sizes":[{"as_expr":{"expr_str":"Symbol('s0', integer=True)",)json"
    R"json("hint":{"as_int":4}}},{"as_int":2}],"requires_grad":false,)json"
    R"json("device":{"type":"cpu","index":null},"strides":[{"as_int":2},{"as_int":1}],)json"
    R"json("storage_offset":{"as_int":0},"layout":7})json";

std::string tensor(std::string_view name) {
  return R"({"as_tensor":{"name":")" + std::string(name) + "\"}}";
}

// The parts of a minimal program of version 8.20 that tests change.
struct Source {
  std::string inputs = tensor("x");
  std::string outputs = tensor("y");
  std::string nodes = node("torch.ops.aten.relu.default", named("self", tensor("x")), tensor("y"));
  std::string tensor_values = entry("x") + "," + entry("y");
  std::string sym_int_values;
  std::string ranges;
  std::string input_specs = R"({"user_input":{"arg":)" + tensor("x") + "}}";
  std::string output_specs = R"({"user_output":{"arg":)" + tensor("y") + "}}";

  static std::string named(std::string_view name, std::string_view argument) {
    return R"({"name":")" + std::string(name) + R"(","arg":)" + std::string(argument) +
           R"(,"kind":1})";
  }
  static std::string node(std::string_view target, std::string_view inputs,
                          std::string_view outputs) {
    return R"({"target":")" + std::string(target) + R"(","inputs":[)" + std::string(inputs) +
           R"(],"outputs":[)" + std::string(outputs) +
           R"(],"metadata":{},"is_hop_single_tensor_return":null,"name":"n"})";
  }
  static std::string entry(std::string_view name) {
    return "\"" + std::string(name) + "\":" + std::string(kMeta);
  }

  std::string graph() const {
    return R"({"inputs":[)" + inputs + R"(],"outputs":[)" + outputs + R"(],"nodes":[)" + nodes +
           R"(],"tensor_values":{)" + tensor_values + R"(},"sym_int_values":{)" + sym_int_values +
           R"(},"sym_bool_values":{},"is_single_tensor_return":false,"custom_obj_values":{},"sym_float_values":{}})";
  }
  Result<Program> read() const {
    const std::string json =
        R"({"graph_module":{"graph":)" + graph() + R"(,"signature":{"input_specs":[)" +
        input_specs + R"(],"output_specs":[)" + output_specs +
        R"(]},"module_call_graph":[],"metadata":{},"treespec_namedtuple_fields":{}},"opset_version":{"aten":10},)" +
        R"("range_constraints":{)" + ranges +
        R"(},"schema_version":{"major":8,"minor":20},"verifiers":["TRAINING"],"torch_version":"2.15.0","guards_code":[]})";
    Diagnostics warnings;
    PT2_TRY(schema::ExportedProgram source, schema::decode_program(json, {}, warnings));
    EXPECT_TRUE(warnings.empty());
    return from_schema(std::move(source));
  }
};

void expect_error(const Source& source, ErrorCode code, std::string_view where,
                  std::string_view message) {
  const auto program = source.read();
  ASSERT_FALSE(program) << message;
  EXPECT_EQ(program.error().code, code);
  EXPECT_EQ(program.error().where, ".graph_module.graph" + std::string(where));
  EXPECT_EQ(program.error().message, message);
}

TEST(FromSchema, ResolvesNamesAndSymbols) {
  Source source;
  source.ranges = R"("s0":{"min_val":2,"max_val":null})";
  const auto program = source.read();
  ASSERT_TRUE(program) << program.error().text();
  const Graph& graph = program->graph;
  ASSERT_EQ(graph.nodes().size(), 1u);
  const Node& node = graph.node(graph.nodes().front());
  EXPECT_EQ(node.target, "torch.ops.aten.relu.default");
  const ValueId x = *graph.find_value("x"), y = *graph.find_value("y");
  EXPECT_EQ(*node.find_input("self")->get_if<ValueId>(), x);
  EXPECT_EQ(graph.value(y).definition.by, Definition::By::node);
  EXPECT_EQ(graph.value(x).definition.by, Definition::By::graph_input);
  const TensorMeta& meta = *graph.value(x).tensor();
  EXPECT_EQ(meta.dtype.dtype(), Dtype::float32);
  EXPECT_EQ(meta.sizes[0].hint(), 4);
  EXPECT_EQ(meta.sizes[1].literal(), 2);
  ASSERT_EQ(program->range_constraints.size(), 1u);
  EXPECT_EQ(program->range_constraints[0].key->expr, meta.sizes[0].expr());
  EXPECT_EQ(program->range_constraints[0].range, (SymRange{2, std::nullopt}));
  ASSERT_EQ(graph.uses(x).size(), 1u);
  EXPECT_EQ((*graph.uses(x).begin()).node, graph.nodes().front());
  ASSERT_EQ(graph.uses(y).size(), 1u);
  EXPECT_FALSE((*graph.uses(y).begin()).node);
}

TEST(FromSchema, RefusesBrokenGraphs) {
  Source undefined;
  undefined.nodes = Source::node("t", Source::named("self", tensor("ghost")), tensor("y"));
  expect_error(undefined, ErrorCode::invalid, ".nodes[0].inputs[0].arg",
               "nothing defines a value called 'ghost'");

  Source early;
  early.nodes = Source::node("t", Source::named("self", tensor("y")), tensor("y"));
  expect_error(early, ErrorCode::invalid, ".nodes[0].inputs[0].arg",
               "'y' is used before it is defined");

  Source twice;
  twice.nodes += "," + twice.nodes;
  expect_error(twice, ErrorCode::invalid, ".nodes[1].outputs[0]", "'y' is defined twice");

  Source without_meta;
  without_meta.tensor_values = Source::entry("x");
  expect_error(without_meta, ErrorCode::invalid, ".nodes[0].outputs[0]",
               "the tensor 'y' has no entry in the value tables");

  Source other_kind;
  other_kind.tensor_values = Source::entry("x");
  other_kind.sym_int_values = R"("y":{"as_int":3})";
  expect_error(other_kind, ErrorCode::invalid, ".nodes[0].outputs[0]",
               "'y' is a sym_int, expected a tensor");

  Source two_tables;
  two_tables.sym_int_values = R"("y":{"as_int":3})";
  expect_error(two_tables, ErrorCode::invalid, ".sym_int_values.y",
               "the graph already has a value called 'y'");

  Source output;
  output.outputs = tensor("ghost");
  expect_error(output, ErrorCode::invalid, ".outputs[0]", "nothing defines a value called 'ghost'");
}

TEST(FromSchema, NestedGraphsHaveNamesOfTheirOwn) {
  Source inner;
  const auto call = [](const std::string& graph) {
    return Source::node("torch.ops.higher_order.map",
                        Source::named("", R"({"as_graph":{"name":"body","graph":)" + graph + "}}") +
                            "," + Source::named("", tensor("x")),
                        tensor("y"));
  };
  Source outer;
  outer.nodes = call(inner.graph());
  const auto program = outer.read();
  ASSERT_TRUE(program) << program.error().text();
  ASSERT_EQ(program->graph.subgraphs().size(), 1u);
  EXPECT_EQ(program->graph.subgraphs()[0].name, "body");

  inner.nodes = Source::node("t", Source::named("self", tensor("outside")), tensor("y"));
  outer.tensor_values += "," + Source::entry("outside");
  outer.inputs += "," + tensor("outside");
  outer.nodes = call(inner.graph());
  expect_error(outer, ErrorCode::invalid,
               ".nodes[0].inputs[0].arg.as_graph.graph.nodes[0].inputs[0].arg",
               "nothing defines a value called 'outside'");

  Source deep;
  std::string graph = Source().graph();
  for (int i = 0; i < 35; ++i) {
    Source level;
    level.nodes = call(graph);
    graph = level.graph();
  }
  deep.nodes = call(graph);
  const auto nested = deep.read();
  if (!nested) {
    EXPECT_EQ(nested.error().code, ErrorCode::limit);
  }
}

TEST(FromSchema, RefusesImpossibleSizesAndRanges) {
  Source negative;
  negative.tensor_values.replace(negative.tensor_values.find(R"({"as_int":2})"), 12,
                                 R"({"as_int":-5})");
  expect_error(negative, ErrorCode::invalid, ".tensor_values.x.sizes[1]",
               "the size is -5, expected 0 or more");

  // Each finding names the key. Findings with the whole key would take minutes.
  Source many;
  std::string sizes = R"({"as_int":-5})";
  for (int i = 0; i < 50'000; ++i) sizes += R"(,{"as_int":-5})";
  std::string entry = Source::entry(std::string(300'000, 'k'));
  entry.replace(entry.find(R"({"as_int":2})"), 12, sizes);
  many.tensor_values += "," + entry;
  const auto refused = many.read();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the size is -5, expected 0 or more");

  Source code;
  const std::string symbol = "Symbol('s0', integer=True)";
  code.tensor_values.replace(code.tensor_values.find(symbol), symbol.size(),
                             "__import__('os').system('true')");
  const auto program = code.read();
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, ErrorCode::malformed);
  EXPECT_EQ(program.error().where, ".graph_module.graph.tensor_values.x.sizes[0]");

  Source empty;
  empty.ranges = R"("s0":{"min_val":9,"max_val":3})";
  const auto range = empty.read();
  ASSERT_FALSE(range);
  EXPECT_EQ(range.error().text(), ".range_constraints.s0: the range [9, 3] is empty");
}

TEST(FromSchema, ReadsEveryKindOfArgument) {
  const std::pair<const char*, Argument::Variant> kScalars[] = {
      {R"({"as_none":true})", None{}},
      {R"({"as_int":-3})", int64_t{-3}},
      {R"({"as_float":"-Infinity"})", -std::numeric_limits<double>::infinity()},
      {R"({"as_bool":true})", true},
      {R"({"as_string":"abc"})", std::string("abc")},
      {R"({"as_complex":{"real":1.5,"imag":-2.0}})", std::complex<double>(1.5, -2.0)},
      {R"({"as_scalar_type":13})", ScalarType{13}},
      {R"({"as_memory_format":2})", MemoryFormat::channels_last},
      {R"({"as_layout":7})", Layout::strided},
      {R"({"as_device":{"type":"cuda","index":1}})", Device{"cuda", 1}},
      {R"({"as_sym_int":{"as_int":5}})", int64_t{5}},
  };
  for (const auto& [json, expected] : kScalars) {
    Source source;
    source.nodes = Source::node("t", Source::named("a", json), tensor("y"));
    const auto program = source.read();
    ASSERT_TRUE(program) << program.error().text();
    const Argument* found = program->graph.node(program->graph.nodes().front()).find_input("a");
    EXPECT_EQ(found->variant.index(), expected.index()) << json;
    EXPECT_EQ(found->wrapper == Argument::Wrapper::symbolic,
              std::string_view(json).starts_with(R"({"as_sym)"));
  }
  const std::pair<const char*, std::pair<ListKind, size_t>> kLists[] = {
      {R"({"as_ints":[1,2]})", {ListKind::ints, 2}},
      {R"({"as_tensors":[{"name":"x"},{"name":"x"}]})", {ListKind::tensors, 2}},
      {R"({"as_optional_tensors":[{"as_none":true},{"as_tensor":{"name":"x"}}]})",
       {ListKind::optional_tensors, 2}},
      {R"({"as_bools":[true,false,true]})", {ListKind::bools, 3}},
      {R"({"as_sym_ints":[{"as_int":1}]})", {ListKind::sym_ints, 1}},
      {R"({"as_nested_tensors":[[{"name":"x"}],[]]})", {ListKind::nested_tensors, 2}},
      {R"({"as_int_lists":[[1],[2,3]]})", {ListKind::int_lists, 2}},
      {R"({"as_float_lists":[[1.0]]})", {ListKind::float_lists, 1}},
      {R"({"as_strings":[]})", {ListKind::strings, 0}},
  };
  for (const auto& [json, expected] : kLists) {
    Source source;
    source.nodes = Source::node("t", Source::named("a", json), tensor("y"));
    const auto program = source.read();
    ASSERT_TRUE(program) << program.error().text();
    const auto* list =
        program->graph.node(program->graph.nodes().front()).find_input("a")->get_if<ArgumentList>();
    ASSERT_NE(list, nullptr) << json;
    EXPECT_EQ(list->kind, expected.first) << json;
    EXPECT_EQ(list->items.size(), expected.second) << json;
  }
}

TEST(FromSchema, SignatureConstantsStandByValue) {
  Source source;
  source.inputs += R"(,{"as_int":3})";
  source.input_specs += R"(,{"constant_input":{"name":"n","value":{"as_int":3}}})";
  const auto program = source.read();
  ASSERT_TRUE(program) << program.error().text();
  const auto inputs = program->signature.user_inputs();
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_TRUE(inputs[1].is_constant());
  EXPECT_EQ(inputs[1].name, "n");
  EXPECT_EQ(*inputs[1].value.get_if<int64_t>(), 3);
}

// A constant input in a file is None, a bool, a number or a str. A constant of another kind is
// written as a user input.
TEST(ToSchema, KeepsConstantsOfOtherKinds) {
  Program program;
  program.schema_version = {.major = 8, .minor = 20};
  program.signature.input_specs.push_back(
      {.arg = {.kind = ArgumentSpec::Kind::constant, .name = "a", .value = ScalarType{7}}});
  const schema::ExportedProgram written = to_schema(program);
  const auto* spec =
      written.graph_module.signature.input_specs.at(0).get_if<schema::InputSpecCase::user_input>();
  ASSERT_NE(spec, nullptr);
  EXPECT_NE(spec->arg.get_if<schema::ArgumentCase::as_scalar_type>(), nullptr);
}

// Schema 1 has hints that are whole numbers alone: a hint that is none of 64 bits is left out.
TEST(ToSchema, Version1HasHintsOf64Bits) {
  for (const auto& [hint, written] :
       {std::pair<double, std::optional<int64_t>>{3.0, 3}, {0x1p63, std::nullopt}}) {
    Program program;
    program.schema_version = {.major = 1, .minor = 0};
    const SymFloat size(program.expressions->parse("s0").value(), hint);
    ASSERT_TRUE(program.graph.add_value({.name = "x", .meta = size}));
    const schema::ExportedProgram out = to_schema(program);
    const auto& values = out.graph_module.graph.sym_float_values;
    ASSERT_EQ(values.size(), 1u);
    const auto* expr = values[0].second.get_if<schema::SymFloatCase::as_expr>();
    ASSERT_NE(expr, nullptr);
    EXPECT_EQ(expr->hint_int, written);
  }
}

}  // namespace
}  // namespace pt2
