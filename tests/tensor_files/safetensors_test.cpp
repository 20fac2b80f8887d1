#include "pt2/format/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "pt2/tensor_file.h"

namespace pt2 {
namespace {

Record record_of(std::string_view name) {
  return map_file(std::string(PT2_TEST_DATA "/").append(name)).value();
}

Record with_header(std::string_view header, std::string_view data = "") {
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  return make_record(bytes + std::string(header) + std::string(data));
}

TEST(Safetensors, TensorsAreViewsOfTheFile) {
  const Record record = record_of("tensor_files/two.safetensors");
  const Safetensors file = read_safetensors(record).value();
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_EQ(*file.find_metadata("made_by"), "numpy");
  EXPECT_EQ(file.find_metadata("absent"), nullptr);
  for (const auto& [name, tensor] : file.tensors) {
    EXPECT_GE(tensor.raw_data(), record.bytes.data());
    EXPECT_LT(tensor.raw_data(), record.bytes.data() + record.bytes.size());
    EXPECT_TRUE(tensor.storage()->is_read_only());
  }
}

TEST(Safetensors, UnalignedElementsAreCopied) {
  const Record record = record_of("tensor_files/unaligned.safetensors");
  const Safetensors file = read_safetensors(record).value();
  const Tensor& tensor = file.tensors.at(1).second;
  EXPECT_EQ(tensor.as<float>()[1], 1.0f);
  EXPECT_FALSE(tensor.storage()->is_read_only());
}

// The length of the header is written as the letters PK, with which zip files begin.
TEST(Safetensors, LengthLikeTheMarkOfZipFiles) {
  std::string header = R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  header.resize(0x4b50, ' ');
  const Result<NamedTensors> tensors = read_tensors(with_header(header, "a"));
  ASSERT_TRUE(tensors) << tensors.error().text();
  EXPECT_EQ(tensors->at(0).first, "x");
}

TEST(Safetensors, WhatIsWrittenIsReadAgain) {
  const Safetensors file = read_safetensors(record_of("corpus/2.15.0/mlp.safetensors")).value();
  StringSink sink;
  ASSERT_TRUE(write_safetensors(file, sink));
  const Safetensors again = read_safetensors(make_record(sink.take())).value();
  EXPECT_EQ(again.metadata, file.metadata);
  ASSERT_EQ(again.tensors.size(), file.tensors.size());
  for (size_t i = 0; i < again.tensors.size(); ++i) {
    const Tensor& found = again.tensors[i].second;
    const Tensor& expected = file.tensors[i].second;
    EXPECT_EQ(again.tensors[i].first, file.tensors[i].first);
    EXPECT_EQ(found.type_text(), expected.type_text());
    EXPECT_EQ(
        std::memcmp(found.raw_data(), expected.raw_data(), static_cast<size_t>(expected.nbytes())),
        0);
  }
}

TEST(Safetensors, WritesStridedTensorsRowByRow) {
  const float values[] = {0, 1, 2, 3, 4, 5};
  const Tensor transposed =
      Tensor::from<float>(Dtype::float32, {2, 3}, values).with_view({3, 2}, {1, 3}, 0);
  StringSink sink;
  ASSERT_TRUE(write_safetensors({.tensors = {{"t", transposed}}, .metadata = {}}, sink));
  const Safetensors again = read_safetensors(make_record(sink.take())).value();
  EXPECT_EQ(again.tensors[0].second.as<float>()[1], 3.0f);
}

TEST(Safetensors, RefusesToWriteWhatCannotBeRead) {
  StringSink sink;
  const Tensor byte = Tensor::zeros(Dtype::uint8, {1});
  EXPECT_EQ(
      write_safetensors({.tensors = {{"a", byte}, {"a", byte}}, .metadata = {}}, sink).error().code,
      ErrorCode::argument);
  const Tensor complex = Tensor::zeros(Dtype::complex32, {1});
  EXPECT_EQ(write_safetensors({.tensors = {{"c", complex}}, .metadata = {}}, sink).error().text(),
            "c: the safetensors format has no dtype complex32");
}

struct Refused {
  std::string_view header;
  std::string_view data;
  ErrorCode code;
  std::string_view text;
};

const Refused kRefused[] = {
    {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "x", ErrorCode::invalid,
     "a: data_offsets [0, 2] reach outside the 1 bytes of data"},
    {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[2,1]}})", "xx", ErrorCode::invalid,
     "a: data_offsets [2, 1] reach outside the 2 bytes of data"},
    {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,2]}})", "xx", ErrorCode::invalid,
     "a: data_offsets span 2 bytes, dtype and shape need 4"},
    {R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", "",
     ErrorCode::invalid, "a: the number of elements exceeds 64 bits"},
    {R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,0]}})", "", ErrorCode::malformed,
     "a: found -1 in 'shape', expected at least 0"},
    {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
     R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
     "xxx", ErrorCode::invalid, "two tensors share byte 1 of the data"},
    {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "xx", ErrorCode::invalid,
     "no tensor has byte 0 of the data"},
    {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "xxx", ErrorCode::invalid,
     "2 bytes follow the last tensor"},
    {R"({"a":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}})", "x", ErrorCode::unsupported,
     "a: dtype 'F4' is not supported"},
    {R"({"a":{"shape":[2],"data_offsets":[0,1]}})", "x", ErrorCode::malformed,
     "a: found no 'dtype'"},
    {R"({"a":{"dtype":"U8","shape":2,"data_offsets":[0,1]}})", "x", ErrorCode::malformed,
     "a: found a number for 'shape', expected a list"},
    {R"({"a":[]})", "", ErrorCode::malformed, "a: found a list, expected an object"},
    {R"({"__metadata__":{"a":1}})", "", ErrorCode::malformed,
     "__metadata__: found 1, expected a string"},
    {"[]", "", ErrorCode::malformed, "not a safetensors file: found no JSON header"},
};

TEST(Safetensors, MetadataMayBeNull) {
  const Result<Safetensors> file = read_safetensors(with_header(
      R"({"__metadata__":null,"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x"));
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_TRUE(file->metadata.empty());
  EXPECT_EQ(file->tensors.size(), 1u);
}

TEST(Safetensors, DamagedHeadersAreRefused) {
  for (const Refused& each : kRefused) {
    const Result<Safetensors> file = read_safetensors(with_header(each.header, each.data));
    ASSERT_FALSE(file) << each.header;
    EXPECT_EQ(file.error().text(), each.text) << each.header;
    EXPECT_EQ(file.error().code, each.code) << each.header;
  }
  EXPECT_EQ(read_safetensors(make_record("{")).error().code, ErrorCode::malformed);
  EXPECT_EQ(read_safetensors(make_record(std::string("\x10\0\0\0\0\0\0\0{", 9))).error().code,
            ErrorCode::corrupt);
  EXPECT_EQ(read_safetensors(make_record(std::string(8, '\x7f') + "{")).error().code,
            ErrorCode::limit);
}

TEST(Safetensors, NestedHeadersAreRefused) {
  const std::string deep = "{\"a\":" + std::string(100000, '[');
  EXPECT_FALSE(read_safetensors(with_header(deep)));
}

}  // namespace
}  // namespace pt2
