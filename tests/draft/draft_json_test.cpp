// The early draft's JSON has exactly the fields of its dataclasses.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pt2/format/draft.h"
#include "pt2/format/schema_json.h"
#include "schema/type.h"

namespace pt2 {
namespace {

constexpr std::string_view kMeta =
    R"("meta": {"dtype": 7, "sizes": [{"as_sym": "s0"}, {"as_int": 2}], "requires_grad": false, )"
    R"("device": {"type": "cpu", "index": -1}, "strides": [{"as_int": 2}, {"as_int": 1}], )"
    R"("storage_offset": {"as_int": 0}, "layout": 1})";

std::string small_draft() {
  const std::string meta(kMeta);
  return R"({"name": "m", "graph": {"inputs": [{"name": "x"}], "outputs": [{"name": "y"}], "nodes": )"
         R"([{"target": "torch.ops.aten.add.Tensor", "args": [{"as_tensor": {"name": "x"}}, )"
         R"({"as_tensor": {"name": "x"}}], "kwargs": {"alpha": {"as_float": 2.0}}, "outputs": )"
         R"([{"as_tensor": {"name": "y"}}], "metadata": {"stack_trace": "here", "nn_module_stack": )"
         R"("", "extra": {"k": "v"}}}], "tensor_values": [{"name": "x", )" +
         meta + R"(}, {"name": "y", )" + meta +
         R"(}], "symint_values": []}, "metadata": {}, "parameters": {}, "buffers": {}})";
}

Result<draft::GraphModule> read(std::string_view json) {
  Diagnostics warnings;
  auto module = read_draft(json, {}, warnings);
  EXPECT_TRUE(warnings.empty());
  return module;
}

TEST(DraftJson, ComesBackByteForByte) {
  const auto module = read(small_draft());
  ASSERT_TRUE(module) << module.error().text();
  EXPECT_EQ(write_draft(*module), small_draft());
  EXPECT_EQ(module->graph.nodes[0].kwargs[0].second.get<draft::ArgumentCase::as_float>(), 2.0);
}

// All dataclasses of the draft with their fields and types, in the draft's order.
constexpr std::string_view kDataclasses =
    "Device: type str, index int\n"
    "SymInt: as_int int, as_sym str\n"
    "TensorArgument: name str\n"
    "SymIntArgument: name str\n"
    "ReturnArgument: as_tensor TensorArgument, as_symint SymIntArgument\n"
    "Argument: as_none None, as_tensor TensorArgument, as_tensors List[TensorArgument], "
    "as_symint SymIntArgument, as_symints List[SymIntArgument], as_bool bool, as_bools List[bool], "
    "as_int int, as_ints List[int], as_float float, as_floats List[float], as_str str, "
    "as_gm GraphModule, as_scalar_type ScalarType, as_memory_format MemoryFormat, "
    "as_layout Layout, as_device Device\n"
    "TensorMeta: dtype ScalarType, sizes List[SymInt], requires_grad bool, device Device, "
    "strides List[SymInt], storage_offset SymInt, layout Layout\n"
    "Buffer: buffer str\n"
    "ExternalBuffer: location str, offset str, length str, checksum str\n"
    "StorageData: Buffer Buffer, ExternalBuffer ExternalBuffer\n"
    "Storage: data_location DataLocation, data StorageData\n"
    "Tensor: storage Storage, meta TensorMeta\n"
    "TensorValue: name str, meta TensorMeta\n"
    "SymIntValue: name str, value SymInt\n"
    "NodeMetadata: stack_trace str, nn_module_stack str, extra Dict[str]\n"
    "Node: target str, args List[Argument], kwargs Dict[Argument], outputs List[ReturnArgument], "
    "metadata NodeMetadata\n"
    "Graph: inputs List[TensorArgument], outputs List[TensorArgument], nodes List[Node], "
    "tensor_values List[TensorValue], symint_values List[SymIntValue]\n"
    "GraphModule: name str, graph Graph, metadata Dict[str], parameters Dict[Tensor], "
    "buffers Dict[Tensor]\n";

TEST(DraftJson, TypesAreThoseOfTheDraft) {
  std::string text;
  for (const schema::Type* type : schema::all_types().subspan(schema::types().size())) {
    std::string_view separator = ": ";
    text += type->name;
    for (const schema::Member& member : type->members) {
      text += fmt::format("{}{} {}", separator, member.key, schema::type_text(*member.type));
      separator = ", ";
    }
    text += "\n";
  }
  EXPECT_EQ(text, kDataclasses);
}

struct Wrong {
  const char* from;
  const char* to;
  const char* error;
};

TEST(DraftJson, SaysWhatIsWrongAndWhere) {
  const Wrong kWrong[] = {
      {"\"dtype\": 7", "\"dtype\": 14",
       ".graph.tensor_values[0].meta.dtype: found 14, expected a number of ScalarType"},
      {"\"as_float\": 2.0", "\"as_sym_float\": 2.0",
       ".graph.nodes[0].kwargs.alpha: found \"as_sym_float\", expected an alternative of Argument"},
      {"\"index\": -1", "\"index\": null",
       ".graph.tensor_values[0].meta.device.index: found null, expected an int"},
      {", \"buffers\": {}", "", "GraphModule has no field \"buffers\""},
  };
  for (const Wrong& wrong : kWrong) {
    std::string json = small_draft();
    json.replace(json.find(wrong.from), std::string_view(wrong.from).size(), wrong.to);
    const auto module = read(json);
    ASSERT_FALSE(module) << wrong.to;
    EXPECT_EQ(module.error().text(), wrong.error);
  }
}

TEST(DraftJson, BecomesAProgramOfTheNewestSchema) {
  const Program program = from_draft(read(small_draft()).value()).value();
  EXPECT_EQ(program.schema_version, (SchemaVersion{8, 20}));
  const Node& node = program.graph.node(program.graph.nodes().front());
  EXPECT_EQ(node.inputs[0].name, "");
  EXPECT_EQ(node.inputs[2].name, "alpha");
  EXPECT_EQ(stack_trace(node), "here");
  EXPECT_EQ(user_input_names(program).size(), 1u);
}

TEST(DraftJson, UndefinedNamesAreRefused) {
  std::string json = small_draft();
  const std::string_view from = R"("outputs": [{"name": "y"}])";
  json.replace(json.find(from), from.size(), R"("outputs": [{"name": "z"}])");
  EXPECT_EQ(from_draft(read(json).value()).error().code, ErrorCode::invalid);
}

}  // namespace
}  // namespace pt2
