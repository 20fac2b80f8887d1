// Script objects: the content of their pickles, and operators on packed parameters compared with
// calls that PyTorch recorded.
#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "base/mapped_file.h"
#include "ops/table.h"
#include "package/script_object.h"
#include "pt2/format/safetensors.h"
#include "pt2/tools/compare.h"

namespace pt2 {
namespace {

constexpr uint64_t kEnough = 1 << 20;  // bytes for the values of a state

constexpr const char* kClass = "__torch__.torch.classes.quantized.LinearPackedParamsBase";

std::string data_file(const std::string& name) {
  return std::string(PT2_TEST_DATA) + "/script_objects/" + name;
}

Record mapped(const std::string& path) {
  auto file = MappedFile::open(path).value();
  return {file->bytes(), file};
}

class RecordedLinear {
 public:
  RecordedLinear()
      : file_(read_safetensors(mapped(data_file("quantized_linear.safetensors"))).value()),
        cases_(parse_json(*file_.find_metadata("cases")).value()) {}

  const std::vector<JsonValue>& cases() const { return cases_.items; }

  Tensor tensor(const JsonValue& call, std::string_view key) const {
    const std::string& name = call.find(key)->text;
    for (const auto& [each, tensor] : file_.tensors)
      if (each == name) return tensor;
    ADD_FAILURE() << "no tensor " << name;
    return {};
  }

  Object packed(const JsonValue& call) const {
    Value::List weight{Value(tensor(call, "weight"))};
    if (call.find("scale") != nullptr) {
      weight.emplace_back(std::stod(call.find("scale")->text));
      weight.emplace_back(int64_t{std::stol(call.find("zero_point")->text)});
    } else if (call.find("scales") != nullptr) {
      weight.emplace_back(tensor(call, "scales"));
      weight.emplace_back(tensor(call, "zero_points"));
      weight.emplace_back(int64_t{0});
    }
    const Value bias = call.find("bias") == nullptr ? Value() : Value(tensor(call, "bias"));
    Value first = weight.size() == 1 ? weight[0] : Value(std::move(weight));
    return std::make_shared<const ScriptObject>(
        ScriptObject{kClass, Value(Value::List{std::move(first), bias})});
  }

 private:
  Safetensors file_;
  JsonValue cases_;
};

Result<std::vector<Value>> call(const std::string& name, std::vector<Value> arguments) {
  const ops::Operator op = ops::find_operator("torch.ops.quantized." + name + ".default");
  EXPECT_TRUE(op) << name;
  ops::Context context;
  return ops::call(op, context, arguments);
}

TEST(ScriptObjects, PackedLinearLayersGivePyTorchsResults) {
  const RecordedLinear recorded;
  size_t calls = 0;
  for (const JsonValue& each : recorded.cases()) {
    const std::string name = each.find("op")->text;
    std::vector<Value> arguments{Value(recorded.tensor(each, "x")), Value(recorded.packed(each))};
    if (!name.ends_with("fp16")) arguments.emplace_back(each.find("reduce_range")->boolean);
    const auto results = call(name, std::move(arguments));
    ASSERT_TRUE(results) << results.error().text();
    const Comparison comparison = compare((*results)[0], Value(recorded.tensor(each, "y")));
    EXPECT_TRUE(comparison.equal()) << name << " call " << calls << ": " << comparison.difference;
    ++calls;
  }
  EXPECT_EQ(calls, 77u);
}

TEST(ScriptObjects, OtherObjectsAreRefused) {
  const Tensor x = Tensor::zeros(Dtype::float32, {2, 3});
  const auto refusal = [&](const std::string& class_name, Value state) {
    const auto object = std::make_shared<const ScriptObject>(ScriptObject{class_name, state});
    const auto results = call("linear_dynamic", {Value(x), Value(Object(object)), Value(false)});
    return results ? std::string() : results.error().message;
  };
  const auto quantized = [](const Tensor& integers) {
    return Value(Value::List{Value(integers), Value(0.1), Value(int64_t{0})});
  };
  const Tensor weight = Tensor::zeros(Dtype::int8, {4, 3});
  EXPECT_EQ(refusal(kClass, Value(Value::List{quantized(weight), Value()})), "");
  const Value no_bias = Value(Value::List{quantized(weight), Value(int64_t{1})});
  for (const Value& state :
       {Value(), Value(Value::List{}), Value(Value::List{Value(weight), Value()}), no_bias,
        Value(Value::List{quantized(Tensor::zeros(Dtype::int8, {3})), Value()}),
        Value(Value::List{quantized(Tensor::zeros(Dtype::uint8, {4, 3})), Value()}),
        Value(Value::List{quantized(weight), Value(Tensor::zeros(Dtype::float32, {5}))})})
    EXPECT_NE(refusal(kClass, state), "");
  EXPECT_NE(refusal("__torch__.Mine", Value(Value::List{quantized(weight), Value()})), "");
  EXPECT_NE(refusal(kClass, Value(Value::List{quantized(Tensor::zeros(Dtype::int8, {4, 2})), {}})),
            "");
}

// torch._C._pickle_save wrote this file, as it writes the records of single objects since 2.8.
TEST(ScriptObjects, AreReadFromRecordsOfTheirOwn) {
  const auto pickle = read_torch_save(mapped(data_file("packed_linear.pt")), PickleMode::listing);
  ASSERT_TRUE(pickle) << pickle.error().text();
  uint64_t bytes_left = kEnough;
  const auto object = script_object(pickle->root(), bytes_left);
  ASSERT_TRUE(object) << object.error().text();
  EXPECT_EQ((*object)->class_name, kClass);
  const auto* state = (*object)->state.get_if<Value::List>();
  ASSERT_NE(state, nullptr);
  ASSERT_EQ(state->size(), 2u);
  const auto* weight = (*state)[0].get_if<Value::List>();
  ASSERT_NE(weight, nullptr);
  ASSERT_EQ(weight->size(), 3u);
  EXPECT_EQ((*weight)[0].type_text(), "i8[2, 3]");
  EXPECT_EQ(*(*weight)[2].get_if<int64_t>(), 0);
  EXPECT_EQ((*state)[1].type_text(), "f32[2]");
}

TEST(ScriptObjects, AStateThatNestsInItselfIsRefused) {
  // The object's state is l, after l = []; l.append(l).
  using namespace std::string_literals;
  const std::string bytes = "c__torch__\nMine\n)\x81]q\0h\0ab."s;
  const auto pickle = read_pickle(std::as_bytes(std::span(bytes)), PickleMode::listing, {});
  ASSERT_TRUE(pickle) << pickle.error().text();
  uint64_t bytes_left = kEnough;
  const auto object = script_object(pickle->root(), bytes_left);
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code, ErrorCode::limit);
}

// Objects of one file share the bytes for their states, since they may share values.
TEST(ScriptObjects, StatesOfManyValuesAreRefused) {
  using namespace std::string_literals;
  const std::string bytes = "c__torch__\nMine\n)\x81(" + std::string(100, 'N') + "lb.";
  const auto pickle = read_pickle(std::as_bytes(std::span(bytes)), PickleMode::listing, {});
  ASSERT_TRUE(pickle) << pickle.error().text();
  uint64_t bytes_left = 20'000;
  EXPECT_TRUE(script_object(pickle->root(), bytes_left));
  const auto second = script_object(pickle->root(), bytes_left);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::limit);
}

}  // namespace
}  // namespace pt2
