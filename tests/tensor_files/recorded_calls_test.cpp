#include "pt2/tools/recorded_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "mutate.h"
#include "pt2/tensor_file.h"
#include "tensor_files_fuzz.h"

namespace pt2 {
namespace {

Tensor ramp(Sizes sizes, int64_t count) {
  Tensor tensor = Tensor::zeros(Dtype::float32, std::move(sizes));
  for (int64_t i = 0; i < count; ++i) tensor.data<float>()[i] = static_cast<float>(i);
  return tensor;
}

// Reads a file with the tensors "t" f32[2, 2] and "u" u8[4] and the given list of calls.
Result<RecordedCalls> read_calls(const std::string& calls, const std::string& about = "") {
  Safetensors file;
  file.tensors = {{"t", ramp({2, 2}, 4)}, {"u", Tensor::zeros(Dtype::uint8, {4})}};
  file.metadata = {{"calls", calls}};
  if (!about.empty()) file.metadata.emplace_back("case", about);
  return read_recorded_calls(file);
}

TEST(RecordedCalls, ReadsEveryKindOfValue) {
  const RecordedCalls file =
      read_calls(R"([{"in": [{"tensor": "t"}, {"int": -3}, {"float": 0.5}, {"float": "nan"},
      {"float": "-inf"}, {"bool": true}, {"str": "plus"}, {"complex": [1.0, "inf"]}, {"none": true}],
      "out": [{"tensor": "t", "ref": "t"}], "mut": {"running.mean": {"tensor": "u"}},
      "mutin": {"1": {"tensor": "t"}}, "kwargs": ["a", "b"], "note": "odd"}])",
                 R"({"random": true, "source": "loaded"})")
          .value();
  ASSERT_EQ(file.calls.size(), 1u);
  EXPECT_EQ(file.source, "loaded");
  const RecordedCall& call = file.calls[0];
  EXPECT_TRUE(call.random);
  EXPECT_EQ(call.inputs[0].get_if<Tensor>()->type_text(), "f32[2, 2]");
  EXPECT_EQ(*call.inputs[1].get_if<int64_t>(), -3);
  EXPECT_EQ(*call.inputs[2].get_if<double>(), 0.5);
  EXPECT_TRUE(std::isnan(*call.inputs[3].get_if<double>()));
  EXPECT_EQ(*call.inputs[4].get_if<double>(), -INFINITY);
  EXPECT_EQ(*call.inputs[5].get_if<bool>(), true);
  EXPECT_EQ(*call.inputs[6].get_if<std::string>(), "plus");
  EXPECT_EQ(call.inputs[7].get_if<std::complex<double>>()->imag(), INFINITY);
  EXPECT_TRUE(call.inputs[8].is_none());
  EXPECT_TRUE(call.outputs[0].reference);
  EXPECT_EQ(call.buffers[0].first, "running.mean");
  EXPECT_EQ(call.mutated_inputs[0].first, 1u);
  EXPECT_EQ(call.keyword_names, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(call.error);
  EXPECT_EQ(call.note, "odd");
}

TEST(RecordedCalls, StridesAreTheProgramsAndValuesStay) {
  const RecordedCalls file =
      read_calls(R"([{"in": [{"tensor": "t", "strides": [1, 2]}, {"tensor": "t", "strides": [8, 3]},
                             {"tensor": "t", "view_as": "complex64"},
                             {"tensor": "u", "view_as": "float8_e4m3fnuz"}]}])")
          .value();
  for (size_t i : {size_t{0}, size_t{1}}) {
    const Tensor& tensor = *file.calls[0].inputs[i].get_if<Tensor>();
    const Tensor copy = tensor.contiguous();
    EXPECT_EQ(copy.as<float>()[1], 1.0f);
    EXPECT_EQ(copy.as<float>()[2], 2.0f);
  }
  EXPECT_EQ(file.calls[0].inputs[1].get_if<Tensor>()->strides(), (Sizes{8, 3}));
  EXPECT_EQ(file.calls[0].inputs[2].get_if<Tensor>()->type_text(), "c64[2]");
  EXPECT_EQ(file.calls[0].inputs[3].get_if<Tensor>()->type_text(), "f8e4m3fnuz[4]");
}

TEST(RecordedCalls, StridesOfAllCallsHaveOneLimit) {
  std::string values;
  for (int i = 0; i < 300; ++i)
    values += std::string(i > 0 ? ", " : "") + R"({"tensor": "t", "strides": [250000, 1]})";
  const Result<RecordedCalls> file = read_calls(R"([{"in": [)" + values + "]}]");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::limit);
  EXPECT_EQ(file.error().where, "calls[0].in[268]");
}

// Values of overlapping elements, and those of another alignment, are copies, too.
TEST(RecordedCalls, CopiesOfOneTensorHaveOneLimit) {
  constexpr size_t kBytes = 1 << 20, kOff = 4;
  const auto memory = std::make_shared<std::vector<std::byte>>(kBytes + kOff);
  const auto storage = Storage::borrow_read_only(std::span(*memory).subspan(kOff), memory);
  Safetensors file;
  file.tensors = {{"t", Tensor::view_of(storage, Dtype::complex64, {kBytes / 8}, {1}, 0).value()}};
  for (const char* form : {R"("strides": [0])", R"("view_as": "int64")"}) {
    std::string values;
    for (int i = 0; i < 300; ++i)
      values += std::string(i > 0 ? ", " : "") + R"({"tensor": "t", )" + form + "}";
    file.metadata = {{"calls", R"([{"in": [)" + values + "]}]"}};
    const Result<RecordedCalls> calls = read_recorded_calls(file);
    ASSERT_FALSE(calls) << form;
    EXPECT_EQ(calls.error().code, ErrorCode::limit);
    EXPECT_EQ(calls.error().where, "calls[0].in[256]");
  }
}

TEST(RecordedCalls, WhatHasNotTheLayoutIsRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"{}", "calls: expected a list"},
      {"[1]", "calls[0]: expected an object"},
      {R"([{"in": {}}])", "calls[0].in: expected a list"},
      {R"([{"on": []}])", "calls[0].on: unknown member"},
      {R"([{}, {"in": [{"int": 1}, {"tensor": "x"}]}])",
       "calls[1].in[1]: the file has no tensor 'x'"},
      {R"([{"out": [{"real": 1}]}])", "calls[0].out[0]: unknown kind of value 'real'"},
      {R"([{"out": [{"int": 1, "bool": true}]}])", "calls[0].out[0]: unknown member 'bool'"},
      {R"([{"out": [{"tensor": "t", "stride": []}]}])", "calls[0].out[0]: unknown member 'stride'"},
      {R"([{"out": [{"tensor": "t", "strides": [1]}]}])",
       "calls[0].out[0]: these strides do not fit f32[2, 2]"},
      {R"([{"out": [{"tensor": "t", "strides": [1, -1]}]}])",
       "calls[0].out[0]: these strides do not fit f32[2, 2]"},
      {R"([{"out": [{"tensor": "t", "strides": [1, 1000000000000]}]}])",
       "calls[0].out[0]: the strides spread f32[2, 2] over more than 256 times its bytes"},
      {R"([{"out": [{"tensor": "t", "strides": [9223372036854775807, 9223372036854775807]}]}])",
       "calls[0].out[0]: the strides spread f32[2, 2] over more than 256 times its bytes"},
      {R"([{"out": [{"tensor": "u", "view_as": "complex64"}]}])",
       "calls[0].out[0]: cannot view u8[4] as complex64"},
      {R"([{"out": [{"tensor": "u", "view_as": "float9"}]}])",
       "calls[0].out[0]: found dtype 'float9' in view_as"},
      {R"([{"mut": {"b": {"float": "big"}}}])", "calls[0].mut[b]: found 'big', expected a number"},
      {R"([{"mutin": {"x": {"int": 1}}}])",
       "calls[0].mutin: found 'x', expected the number of an input"},
      {R"([{"out": [{"complex": [1]}]}])", "calls[0].out[0]: expected [real, imaginary]"},
  };
  for (const auto& [calls, text] : cases) {
    const Result<RecordedCalls> file = read_calls(calls);
    ASSERT_FALSE(file) << calls;
    EXPECT_EQ(file.error().text(), text) << calls;
  }
  EXPECT_FALSE(read_recorded_calls({}));
  EXPECT_FALSE(read_calls("[]", "{"));
}

TEST(RecordedCalls, ReadsEveryRecordedFile) {
  std::vector<std::filesystem::path> folders{PT2_TEST_DATA "/corpus"};
  if (const char* larger = std::getenv("PT2_CORPUS")) folders.emplace_back(larger);
  size_t calls = 0;
  for (const auto& folder : folders)
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
      if (file.path().extension() != ".safetensors") continue;
      const Record record = map_file(file.path().string()).value();
      const Result<Safetensors> tensors = read_safetensors(record);
      ASSERT_TRUE(tensors) << file.path() << tensors.error().text();
      const Result<RecordedCalls> recorded = read_recorded_calls(*tensors);
      ASSERT_TRUE(recorded) << file.path() << recorded.error().text();
      for (const RecordedCall& call : recorded->calls)
        EXPECT_TRUE(call.error || !call.outputs.empty()) << file.path();
      calls += recorded->calls.size();
    }
  EXPECT_GT(calls, 100u);
}

TEST(TensorFiles, DamagedFilesDoNoHarm) {
  test::run_mutations("tensor_files", test::fuzz_tensor_files);
}

}  // namespace
}  // namespace pt2
