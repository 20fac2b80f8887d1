#include "pt2/format/pickle.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace pt2 {
namespace {

using namespace std::string_literals;

// Prints a value roughly as Python's repr. Values that contain themselves end in "...".
std::string print(const PickleValue& value, int depth = 8);

std::string print_items(const PickleValue& value, int depth) {
  std::string out;
  for (size_t i = 0; i < value.size(); ++i) out += (i ? ", " : "") + print(value[i], depth);
  for (size_t i = 0; i < value.dict_size(); ++i)
    out += fmt::format("{}{}: {}", i ? ", " : "", print(value.key(i), depth),
                       print(value.value(i), depth));
  return out;
}

std::string print_tensor(const PickleTensor& value) {
  std::string out =
      value.tensor.defined() ? value.tensor.type_text() : fmt::format("<{}>", value.missing);
  if (value.is_parameter) out += " parameter";
  if (value.requires_grad) out += " requires_grad";
  return out + (value.class_name.empty() ? "" : " " + value.class_name);
}

std::string print(const PickleValue& value, int depth) {
  if (depth == 0) return "...";
  switch (value.kind()) {
    case PickleKind::none:
      return "None";
    case PickleKind::boolean:
      return value.as_bool() ? "True" : "False";
    case PickleKind::integer:
      return std::to_string(value.as_int());
    case PickleKind::floating:
      return fmt::format("{}", value.as_float());
    case PickleKind::complex:
      return fmt::format("{}+{}j", value.as_float(), value.imaginary());
    case PickleKind::string:
      return fmt::format("'{}'", value.text());
    case PickleKind::bytes:
      return fmt::format("{} bytes", value.text().size());
    case PickleKind::tensor:
      return print_tensor(value.tensor()) +
             (value.size() ? "(" + print_items(value, depth - 1) + ")" : "");
    case PickleKind::big_integer:
    case PickleKind::dtype:
    case PickleKind::device:
    case PickleKind::constant:
    case PickleKind::global:
      return std::string(value.text());
    case PickleKind::object:
      return fmt::format("{}{}({})", value.is_called() ? "called " : "", value.text(),
                         print_items(value, depth - 1));
    default:
      return fmt::format("{}[{}]", pickle_kind_name(value.kind()), print_items(value, depth - 1));
  }
}

Result<std::shared_ptr<Storage>> load_storage(std::string_view key, size_t, uint64_t) {
  if (key != "0") return Error{ErrorCode::corrupt, "found no record", ""};
  return Storage::allocate(16);
}

Result<Pickle> read(const std::string& bytes, PickleMode mode = PickleMode::listing,
                    const Limits& limits = {}) {
  return read_pickle(std::as_bytes(std::span(bytes)), mode, load_storage, limits);
}

std::string text_of(const Result<Pickle>& pickle) {
  return pickle ? print(pickle->root())
                : std::string(error_code_name(pickle.error().code)) + " " + pickle.error().text();
}

// Pieces of pickles as torch.save writes them.
std::string text(const std::string& value) {
  return "X" + std::string(1, static_cast<char>(value.size())) + "\0\0\0"s + value;
}
std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
std::string storage(const std::string& type, int elements, const std::string& key = "0") {
  return "(" + text("storage") + global("torch", type) + text(key) + text("cpu") + "K" +
         static_cast<char>(elements) + "tQ";
}
const std::string kHooks = "\x89" + global("collections", "OrderedDict") + ")R";
// A tensor of sizes {2} with the given offset and stride.
std::string tensor(const std::string& type, int elements, int offset = 0, int stride = 1) {
  return global("torch._utils", "_rebuild_tensor_v2") + "(" + storage(type, elements) + "K" +
         static_cast<char>(offset) + "K\x02\x85K" + static_cast<char>(stride) + "\x85" + kHooks +
         "tR";
}

struct MadePickle {
  const char* name;
  std::string bytes;
  const char* expected;
};

// clang-format off
const MadePickle kMadePickles[] = {
    {"numbers", "(NK\x07M\x02\x01J\xff\xff\xff\xff\x8a\x01\xfe\x8a\x00\x88\x89G\x3f\xf8\0\0\0\0\0\0t."s, "tuple[None, 7, 258, -1, -2, 0, True, False, 1.5]"},
    {"big_integers", "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\xff\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\xff\x87."s, "tuple[18446744073709551615, -9223372036854775808, -1]"},
    {"protocol_0", "(I01\nI-5\nL123456789012345678901L\nF2.5\nVtext\nS'old'\nt.", "tuple[True, -5, 123456789012345678901, 2.5, 'text', 'old']"},
    {"containers", "(](K\x01K\x02" "e}(" + text("a") + "K\x01" + text("b") + "K\x02" + text("a") + "K\x03u\x8f(K\x04\x90(K\x05\x91)t.", "tuple[list[1, 2], dict['a': 3, 'b': 2], set[4], set[5], tuple[]]"},
    {"memo", "]q\x00K\x01" "ah\x00\x86."s, "tuple[list[1], list[1]]"},
    {"contains_itself", "]q\x00h\x00" "a."s, "list[list[list[list[list[list[list[list[...]]]]]]]]"},
    {"known_containers", "(" + global("collections", "OrderedDict") + "]" + text("k") + "K\x01\x86" "a\x85R" + global("collections", "defaultdict") + global("__builtin__", "list") + "\x85R" + text("d") + "K\x02s" + global("collections", "deque") + ")R(K\x01K\x02" "e" + global("__builtin__", "set") + "](K\x03" "e\x85R" + global("torch", "Size") + "K\x02K\x03\x86\x85Rt.", "tuple[ordered_dict['k': 1], default_dict['d': 2], deque[1, 2], set[3], size[2, 3]]"},
    {"known_values", "(" + global("torch", "device") + text("cuda") + "K\x01\x86R" + global("torch", "bfloat16") + global("torch.serialization", "_get_layout") + text("torch.sparse_coo") + "\x85R" + global("torch", "channels_last") + global("__builtin__", "complex") + "G\x3f\xf0\0\0\0\0\0\0G\xc0\0\0\0\0\0\0\0\x86Rt."s, "tuple[cuda:1, bfloat16, torch.sparse_coo, torch.channels_last, 1+-2j]"},
    {"bytes_of_protocol_2", global("_codecs", "encode") + text("a\xc3\xbf") + text("latin1") + "\x86R.", "2 bytes"},
    {"empty_bytes_of_protocol_2", global("__builtin__", "bytes") + ")R.", "0 bytes"},
    {"tensor", tensor("FloatStorage", 4) + ".", "f32[2]"},
    {"parameter", global("torch._utils", "_rebuild_parameter") + tensor("HalfStorage", 8) + "\x88" + global("collections", "OrderedDict") + ")R\x87R.", "f16[2] parameter requires_grad"},
    {"stack_global", "\x80\x04\x95\x13\0\0\0\0\0\0\0\x8c\x05torch\x8c\x07"s "float64\x93\x94."s, "float64"},
    {"subclass", global("torch._tensor", "_rebuild_from_type_v2") + "(" + global("torch._utils", "_rebuild_tensor_v2") + global("my", "Tensor") + "(" + storage("LongStorage", 2) + "K\0K\x02\x85K\x01\x85"s + kHooks + "t}tR.", "i64[2] my.Tensor"},
    {"fake", global("torch._export.serde.serialize", "_reconstruct_fake_tensor") + text("{}") + "\x89\x86R.", "<fake tensor: only its metadata was saved>('{}', False)"},
    {"quantized", global("torch._utils", "_rebuild_qtensor") + "(" + storage("QInt8Storage", 6) + "K\0K\x02K\x03\x86K\x03K\x01\x86)\x89)tR."s, "<quantized tensor>(i8[2, 3], tuple[])"},
    {"conjugate_view", global("torch._utils", "_rebuild_tensor_v2") + "(" + storage("ComplexFloatStorage", 2) + "K\0K\x02\x85K\x01\x85"s + kHooks + "}" + text("conj") + "\x88stR.", "<conjugated or negated view>"},
    {"refused_call", global("os", "system") + text("true") + "\x85R.", "called os.system('true')"},
    {"user_class", global("__main__", "Box") + ")\x81}" + text("low") + "K\x01sb.", "__main__.Box(dict['low': 1])"},
    {"module_class_before_zip", "(" + text("module") + global("__main__", "Net") + text("net.py") + text("class Net") + "tQ)\x81}" + text("low") + "K\x01sb.", "__main__.Net(dict['low': 1])"},
    {"user_class_of_protocol_1", global("copy_reg", "_reconstructor") + "(" + global("__main__", "Box") + global("__builtin__", "object") + "NtR.", "__main__.Box(None)"},

    {"empty", "", "corrupt byte 0: the pickle ends without STOP"},
    {"no_stop", "N", "corrupt byte 1: the pickle ends without STOP"},
    {"nothing_to_return", ".", "malformed byte 0: the stack is empty"},
    {"bytes_after_stop", "N.N", "malformed byte 1: found 1 bytes after the pickle's end"},
    {"unknown_opcode", "\xf0.", "malformed byte 0: found 0xf0, expected an opcode"},
    {"newer_protocol", "\x80\x09N.", "unsupported byte 0: found pickle protocol 9, expected at most 5"},
    {"frame_beyond_end", "\x80\x04\x95\xff\0\0\0\0\0\0\0N."s, "corrupt byte 2: the frame is cut off"},
    {"text_beyond_end", "X\xff\xff\xff\xff" "abc.", "corrupt byte 0: BINUNICODE is cut off"},
    {"line_without_end", "cos", "corrupt byte 0: the line is cut off"},
    {"extension", "\x82\x01.", "unsupported byte 0: the opcode names something outside of the pickle"},
    {"text_as_persistent_id", "Pname\n.", "unsupported byte 0: the opcode names something outside of the pickle"},
    {"no_mark", "t.", "malformed byte 0: the stack has no mark"},
    {"stack_below_mark", "N(R.", "malformed byte 2: the stack is empty"},
    {"odd_dict", "(Nd.", "malformed byte 2: a dict has a key without a value"},
    {"item_into_number", "K\x01K\x02" "a.", "malformed byte 4: found integer, expected a container for items"},
    {"memo_slot_far_ahead", "Nr\xff\xff\xff\x7f.", "malformed byte 1: memo slot 2147483647 is out of sequence"},
    {"memo_slot_empty", "h\x03.", "malformed byte 0: memo slot 3 is empty"},
    {"call_of_number", "K\x01)R.", "malformed byte 3: found integer, expected a global to call"},
    {"wrong_arguments", global("torch._utils", "_rebuild_tensor_v2") + ")R.", "invalid byte 34: torch._utils._rebuild_tensor_v2 is called with other arguments than torch.save writes"},
    {"no_storage", "(" + text("module") + "tQ.", "malformed byte 13: the persistent id names no storage"},
    {"missing_storage", storage("FloatStorage", 4, "7") + ".", "corrupt byte 50: storage 7: found no record"},
    {"storage_too_small", storage("FloatStorage", 5) + ".", "invalid byte 50: storage 0 has 16 bytes, the pickle expects 20"},
    {"tensor_beyond_storage", tensor("FloatStorage", 4, 3) + ".", "invalid byte 122: the tensor reaches element 5 of a storage of 4"},
    {"stride_beyond_storage", tensor("FloatStorage", 4, 0, 4) + ".", "invalid byte 122: the tensor reaches element 5 of a storage of 4"},
    {"nested_rebuild_from_type", global("torch._tensor", "_rebuild_from_type_v2") + "q\x00(h\x00"s + global("torch", "Tensor") + ")}tR.", "invalid byte 59: torch._tensor._rebuild_from_type_v2 is called with other arguments than torch.save writes"},
};
// clang-format on

class PickleCase : public testing::TestWithParam<MadePickle> {};

TEST_P(PickleCase, ReadsAs) { EXPECT_EQ(text_of(read(GetParam().bytes)), GetParam().expected); }

INSTANTIATE_TEST_SUITE_P(Made, PickleCase, testing::ValuesIn(kMadePickles),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(Pickle, StrictModeRefusesEveryUnknownName) {
  for (const char* module : {"os", "posix", "builtins", "subprocess", "torch.hub"}) {
    const Result<Pickle> pickle = read(global(module, "eval") + ")R.", PickleMode::strict);
    ASSERT_FALSE(pickle);
    EXPECT_EQ(pickle.error().code, ErrorCode::unsupported);
    EXPECT_EQ(pickle.error().where, "byte 0");
  }
}

// A tensor subclass with the attributes `state`, as torch.save writes it.
std::string subclass(const std::string& type, const std::string& state) {
  return global("torch._tensor", "_rebuild_from_type_v2") + "(" +
         global("torch._utils", "_rebuild_wrapper_subclass") + type + "(" + type +
         global("torch", "float32") + "K\x02\x85K\x01\x85K\0NN\x89t"s + state + "tR";
}

TEST(Pickle, SubclassesAreData) {
  const std::string type = global("my.tensors", "Pair");
  const auto strict = [](const std::string& bytes) {
    return text_of(read(bytes + ".", PickleMode::strict));
  };
  const std::string state = "}(" + text("a") + tensor("FloatStorage", 4) + text("scale") + "K\x03" +
                            text("b") + tensor("CharStorage", 4);
  EXPECT_EQ(strict(subclass(type, state + "u")),
            "<tensor subclass without data of its own> my.tensors.Pair('a', f32[2], 'b', i8[2])");
  EXPECT_EQ(strict(subclass(type, state + text("_is_param") + "\x88u")),
            "<tensor subclass without data of its own> parameter my.tensors.Pair('a', f32[2], 'b', "
            "i8[2])");
  // torchao keeps quantization parameters in objects of its own classes. Objects of other classes
  // and all calls are refused.
  const auto with = [&](const std::string& field) {
    return strict(subclass(type, state + text("field") + field + "u"));
  };
  const std::string box = global("torchao.quantization", "Box") + ")\x81";
  EXPECT_EQ(with(box), strict(subclass(type, state + "u")));
  for (const std::string dtype : {"int4", "uint3", "quint8", "float16"})
    EXPECT_EQ(with(global("torch", dtype)), strict(subclass(type, state + "u"))) << dtype;
  EXPECT_NE(with(global("torch", "int9")).find("refused the global torch.int9"), std::string::npos);
  EXPECT_NE(with(global("my.tensors", "Box") + ")\x81").find("refused the global my.tensors.Box"),
            std::string::npos);
  EXPECT_NE(with(type + ")R").find("refused the global my.tensors.Pair"), std::string::npos);
  EXPECT_NE(with(global("os", "system")).find("refused the global os.system"), std::string::npos);
  EXPECT_NE(strict(box).find("refused the global torchao.quantization.Box"), std::string::npos);
  EXPECT_NE(strict("}" + text("k") + box + "s").find("refused the global"), std::string::npos);
  EXPECT_NE(strict(type).find("refused the global my.tensors.Pair"), std::string::npos);
}

TEST(Pickle, ListsRefusedNamesOnce) {
  const Pickle pickle = read("(" + global("os", "system") + "0" + global("os", "system") + ")R" +
                             global("my", "Class") + ")\x81t.")
                            .value();
  ASSERT_EQ(pickle.refused().size(), 2u);
  EXPECT_EQ(pickle.refused()[0].name, "os.system");
  EXPECT_EQ(pickle.refused()[0].offset, 1u);
  EXPECT_TRUE(pickle.refused()[0].called);
  EXPECT_FALSE(pickle.refused()[1].called);
}

TEST(Pickle, SharesStorages) {
  const Pickle pickle =
      read(tensor("FloatStorage", 4) + tensor("FloatStorage", 4, 2) + "\x86.").value();
  EXPECT_EQ(pickle.root()[0].tensor().tensor.storage(), pickle.root()[1].tensor().tensor.storage());
}

TEST(Pickle, KeepsTheLimits) {
  EXPECT_EQ(read(std::string(1000, 'N') + ".", PickleMode::strict, {.max_pickle_opcodes = 100})
                .error()
                .code,
            ErrorCode::limit);
  const std::string lists = "(" + std::string(100000, ']') + "t.";
  EXPECT_EQ(text_of(read(lists, PickleMode::strict, {.max_pickle_memory = 1 << 20})),
            "limit byte 21846: the values take more than 1048576 bytes (max_pickle_memory)");
  EXPECT_EQ(text_of(read(lists, PickleMode::strict, {.max_pickle_ratio = 20})),
            "limit byte 41668: the values take more than 2000060 bytes (max_pickle_ratio)");
  EXPECT_TRUE(read(lists));
  EXPECT_EQ(text_of(read("\x8b\x00\x08\x00\x00"s + std::string(2048, 'x') + ".")),
            "limit byte 0: found an integer of 2048 bytes, expected at most 1024");
  EXPECT_EQ(text_of(read("L" + std::string(3000, '1') + "L\n.")),
            "limit byte 0: found an integer of 3000 digits, expected at most 2466");
}

// A list of thousands of items is copied by many calls of six bytes each.
TEST(Pickle, CopiesAreCharged) {
  std::string bytes =
      global("__builtin__", "set") + "q\x00("s + std::string(50000, 'N') + "lq\x01\x85q\x02" + "00";
  for (int i = 0; i < 20000; ++i) bytes += "h\x00h\x02R0"s;
  EXPECT_EQ(read(bytes + "N.").error().code, ErrorCode::limit);
}

std::string long_text(size_t size) {
  return "X" +
         std::string{static_cast<char>(size), static_cast<char>(size >> 8),
                     static_cast<char>(size >> 16), '\0'} +
         std::string(size, 'x');
}

TEST(Pickle, TextsOfTensorsAreCharged) {
  std::string bytes = "(" + text("storage") + global("torch", "FloatStorage") + text("0") +
                      long_text(10000) + "K\x04tQq\x00"s + "0" +
                      global("torch._utils", "_rebuild_tensor_v2") + "q\x01" +
                      "0(h\x00K\0))\x89}tq\x02"s + "0";
  for (int i = 0; i < 300; ++i) bytes += "h\x01h\x02R0"s;
  const Limits limits{.max_pickle_memory = 1 << 20};
  EXPECT_EQ(read(bytes + "N.", PickleMode::listing, limits).error().code, ErrorCode::limit);
}

TEST(Pickle, MetadataThatIsParsedAgainIsCharged) {
  std::string bytes = global("torch._export.serde.serialize", "_reconstruct_fake_tensor") +
                      "q\x00"s + "0B\xd0\x07\0\0["s + std::string(1998, ' ') + "]\x85q\x01" + "0";
  const std::string call = "h\x00h\x01R0"s;
  const Limits limits{.max_pickle_memory = 1 << 20};
  EXPECT_TRUE(read(bytes + call + "N.", PickleMode::listing, limits));
  for (int i = 0; i < 500; ++i) bytes += call;
  EXPECT_EQ(read(bytes + "N.", PickleMode::listing, limits).error().code, ErrorCode::limit);
}

// The state of a script object names its class, and thousands of objects may have one state.
TEST(Pickle, ClassNamesOfScriptObjectsAreCharged) {
  std::string bytes =
      global("torch", "ScriptObject") + "q\x00"s + "0N" + long_text(10000) + "\x86q\x01" + "0";
  for (int i = 0; i < 300; ++i) bytes += "h\x00)\x81h\x01"s + "b0";
  const Limits limits{.max_pickle_memory = 1 << 20};
  EXPECT_EQ(read(bytes + "N.", PickleMode::listing, limits).error().code, ErrorCode::limit);
}

TEST(Pickle, LookingThroughMetadataCounts) {
  std::string bytes = "}(" + std::string(2000, 'N') + "uq\x00"s + "0" + storage("FloatStorage", 4) +
                      "q\x01" + "0" + global("torch._utils", "_rebuild_tensor_v2") + "q\x02" + "0" +
                      "(h\x01K\0K\x02\x85K\x01\x85"s + kHooks + "h\x00tq\x03"s + "0";
  const std::string call = "h\x02h\x03R0";
  const Limits limits{.max_pickle_opcodes = 20'000};
  EXPECT_TRUE(read(bytes + call + "N.", PickleMode::listing, limits));
  for (int i = 0; i < 100; ++i) bytes += call;
  EXPECT_EQ(read(bytes + "N.", PickleMode::listing, limits).error().code, ErrorCode::limit);
}

TEST(Pickle, MergesEqualKeys) {
  const std::string texts = text("k") + "q\x00K\x01"s + text("k") + "K\x02h\x00K\x03"s;
  EXPECT_EQ(text_of(read("}(K\x01K\x00"s + texts + "NK\x04NK\x05K\x01K\x06u.")),
            "dict[1: 6, 'k': 3, None: 5]");
}

// Comparing the text with itself for each place would take minutes.
TEST(Pickle, LongKeysOfManyPlacesAreComparedOnce) {
  std::string bytes = long_text(1 << 20) + "q\x00"s + "0}(";
  for (int i = 0; i < 100'000; ++i) bytes += "h\x00N"s;
  EXPECT_EQ(read(bytes + "u.").value().root().dict_size(), 1u);
}

std::string flattened(const std::string& bytes, const Limits& limits = {}) {
  const Pickle pickle = read(bytes).value();
  const Result<std::vector<SampleInput>> inputs = flatten_sample_inputs(pickle, limits);
  if (!inputs) return inputs.error().text();
  std::string out;
  for (const SampleInput& input : *inputs)
    out += fmt::format("{}={}\n", input.path, print(input.value));
  return out;
}

TEST(SampleInputs, FollowPytree) {
  const std::string args =
      "(K\x01](NK\x02"
      "e}(" +
      text("x") +
      "K\x03K\x07K\x04"
      "ut";
  EXPECT_EQ(flattened(args + "}" + text("n") + tensor("FloatStorage", 4) + "s\x86."),
            "args[0]=1\nargs[1][0]=None\nargs[1][1]=2\nargs[2]['x']=3\nargs[2][7]=4\nkwargs['n']="
            "f32[2]\n");
  EXPECT_EQ(flattened(global("__main__", "Box") + ")\x81}" + text("low") + "K\x01s" +
                      text("label") + "Nsb\x85}\x86."),
            "args[0].low=1\n");
  EXPECT_EQ(flattened(global("os", "system") + text("true") + "\x85R\x85}\x86."),
            "args[0]=called os.system('true')\n");
  EXPECT_EQ(flattened("K\x01."), "found integer, expected the tuple (args, kwargs)");
}

TEST(SampleInputs, EndOnSharedAndNestedValues) {
  std::string doubling = "]q\x00"s;
  for (int i = 0; i < 60; ++i) doubling += "q\x00(h\x00h\x00lq\x00"s;
  EXPECT_EQ(flattened(doubling + "\x85}\x86."),
            "args: the inputs take more than 607000 bytes (max_pickle_ratio)");
  EXPECT_EQ(flattened(doubling + "\x85}\x86.", {.max_pickle_memory = 10'000}),
            "args: the inputs take more than 10000 bytes (max_pickle_memory)");
  EXPECT_EQ(flattened("]q\x00h\x00"
                      "a\x85}\x86."s),
            "args: the inputs take more than 65536 bytes (max_pickle_ratio)");
  EXPECT_EQ(flattened(std::string(5000, ']') + std::string(4999, 'a') + "\x85}\x86."),
            "args: nested deeper than max_pickle_depth 1000");
  // Fields that are None are no leaves, but many objects may have one state with many of them.
  std::string objects = "}(";
  for (int i = 0; i < 200; ++i) objects += text("f" + std::to_string(i)) + "N";
  objects += "uq\x00"s + "0" + global("__main__", "Box") + "q\x01" + "0(";
  for (int i = 0; i < 500; ++i) objects += "h\x01)\x81h\x00"s + "b";
  EXPECT_EQ(flattened(objects + "t}\x86.", {.max_pickle_memory = 1 << 20}),
            "args: the inputs take more than 1048576 bytes (max_pickle_memory)");
}

}  // namespace
}  // namespace pt2
