// Converts small programs to the early draft and back. tests/run/draft_test.cpp converts real ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "draft/storage.h"
#include "pt2/format/draft.h"
#include "temporary_folder.h"

namespace pt2 {
namespace {

namespace fs = std::filesystem;

void write(const test::TemporaryFolder& folder, const std::string& name, std::string_view bytes) {
  std::ofstream(folder.file(name), std::ios::binary) << bytes;
}

draft::SymInt number(int64_t value) {
  return draft::SymInt::make<draft::SymIntCase::as_int>(value);
}

draft::Tensor external_tensor(const std::string& checksum) {
  draft::Tensor tensor;
  tensor.meta.dtype = draft::ScalarType::i16;
  tensor.meta.layout = draft::Layout::strided;
  tensor.meta.sizes.push_back(number(2));
  tensor.meta.strides.push_back(number(1));
  tensor.meta.storage_offset = number(0);
  tensor.storage.data_location = draft::DataLocation::External;
  tensor.storage.data.set<draft::StorageDataCase::ExternalBuffer>(draft::ExternalBuffer{
      .location = "w.bin", .offset = "1", .length = "4", .checksum = checksum});
  return tensor;
}

draft::ExternalBuffer& external(draft::Tensor& tensor) {
  return tensor.storage.data.get<draft::StorageDataCase::ExternalBuffer>();
}

constexpr std::string_view kBytes("?\x01\x02\xff\xfe", 5);  // "?", then 258 and -2 as big-endian

std::string right_checksum() { return print_checksum(std::as_bytes(std::span(kBytes.substr(1)))); }

TEST(DraftStorage, ElementsAreBigEndian) {
  const test::TemporaryFolder folder;
  write(folder, "w.bin", kBytes);
  const Tensor tensor =
      DraftTensorReader(folder.path()).read(external_tensor(right_checksum())).value();
  EXPECT_EQ(tensor.as<int16_t>()[0], 258);
  EXPECT_EQ(tensor.as<int16_t>()[1], -2);

  draft::Tensor internal = external_tensor("");
  internal.storage.data_location = draft::DataLocation::Internal;
  internal.storage.data.set<draft::StorageDataCase::Buffer>(draft::Buffer{.buffer = "AQL//g=="});
  EXPECT_EQ(DraftTensorReader("").read(internal).value().as<int16_t>()[0], 258);
}

// The byte order of the real and of the imaginary part is swapped separately.
TEST(DraftStorage, ComplexElementsSwapByParts) {
  std::byte bytes[8] = {};
  for (int i = 0; i < 8; ++i) bytes[i] = std::byte(i);
  swap_byte_order(bytes, Dtype::complex64);
  const std::byte expected[8] = {std::byte(3), std::byte(2), std::byte(1), std::byte(0),
                                 std::byte(7), std::byte(6), std::byte(5), std::byte(4)};
  EXPECT_TRUE(std::ranges::equal(bytes, expected));
}

std::string error_of(const draft::Tensor& tensor, const std::string& folder) {
  const auto read = DraftTensorReader(folder).read(tensor);
  return read ? "" : read.error().text();
}

TEST(DraftStorage, RefusesWhatIsNotBesideTheDraft) {
  const test::TemporaryFolder folder;
  write(folder, "w.bin", kBytes);
  fs::create_directory(fs::path(folder.path()) / "sub");
  fs::create_symlink("w.bin", fs::path(folder.path()) / "link.bin");
  const std::string_view kLocations[] = {"../w.bin",
                                         "/etc/passwd",
                                         "sub/../w.bin",
                                         "..",
                                         ".",
                                         "",
                                         "sub",
                                         "link.bin",
                                         "a\\b",
                                         "c:w.bin",
                                         std::string_view("w.bin\0", 6)};
  for (const std::string_view location : kLocations) {
    draft::Tensor tensor = external_tensor(right_checksum());
    external(tensor).location = location;
    EXPECT_EQ(DraftTensorReader(folder.path()).read(tensor).error().code, ErrorCode::invalid)
        << location;
  }
  draft::Tensor missing = external_tensor(right_checksum());
  external(missing).location = "other.bin";
  EXPECT_EQ(error_of(missing, folder.path()),
            ".storage.data.ExternalBuffer.location: there is no file 'other.bin'");
  EXPECT_EQ(DraftTensorReader("").read(external_tensor("")).error().code, ErrorCode::argument);
}

TEST(DraftStorage, ChecksChecksumAndSizes) {
  const test::TemporaryFolder folder;
  write(folder, "w.bin", kBytes);
  const std::string place = ".storage.data.ExternalBuffer";
  EXPECT_EQ(error_of(external_tensor("crc32:00000000"), folder.path()),
            place + ".checksum: the data has " + right_checksum() + ", expected crc32:00000000");
  EXPECT_EQ(error_of(external_tensor("sha256:00"), folder.path()),
            place + ".checksum: found 'sha256:00', expected crc32: and eight digits");
  draft::Tensor longer = external_tensor(right_checksum());
  external(longer).length = "5";
  EXPECT_EQ(error_of(longer, folder.path()),
            place + ".length: found 5 bytes in 'w.bin', expected 5 from byte 1 on");
  external(longer).length = "9223372036854775807";
  EXPECT_EQ(DraftTensorReader(folder.path()).read(longer).error().code, ErrorCode::corrupt);
  external(longer).length = "-1";
  EXPECT_EQ(error_of(longer, folder.path()),
            place + ".length: found '-1', expected a number of bytes");
  draft::Tensor larger = external_tensor(right_checksum());
  larger.meta.sizes[0] = number(3);
  EXPECT_EQ(DraftTensorReader(folder.path()).read(larger).error().code, ErrorCode::invalid);
  larger.meta.sizes[0] = number(INT64_MAX);
  EXPECT_FALSE(DraftTensorReader(folder.path()).read(larger));
  draft::Tensor symbolic = external_tensor(right_checksum());
  symbolic.meta.sizes[0] = draft::SymInt::make<draft::SymIntCase::as_sym>("s0");
  EXPECT_EQ(error_of(symbolic, folder.path()), ".meta.sizes: found a symbol, expected numbers");
}

// Equal storages of the file become one storage in memory. Overlapping ones may not take more
// memory than the file has bytes.
TEST(DraftStorage, OverlapsCostNoMoreThanTheFile) {
  const test::TemporaryFolder folder;
  write(folder, "w.bin", kBytes);
  DraftTensorReader reader(folder.path());
  const Tensor first = reader.read(external_tensor(right_checksum())).value();
  const Tensor second = reader.read(external_tensor(right_checksum())).value();
  EXPECT_EQ(first.storage(), second.storage());
  draft::Tensor overlapping =
      external_tensor(print_checksum(std::as_bytes(std::span(kBytes.substr(0, 4)))));
  external(overlapping).offset = "0";
  EXPECT_EQ(reader.read(overlapping).error().text(),
            ".storage.data.ExternalBuffer.length: the storages overlap: they have more bytes than "
            "their files");
  EXPECT_TRUE(DraftTensorReader(folder.path()).read(overlapping));
}

draft::GraphModule module_of(std::string_view parameters) {
  Diagnostics warnings;
  const std::string json = R"({"name": "m", "graph": {"inputs": [], "outputs": [], "nodes": [], )"
                           R"("tensor_values": [], "symint_values": []}, "metadata": {}, )"
                           R"("parameters": {)" +
                           std::string(parameters) + R"(}, "buffers": {}})";
  return read_draft(json, {}, warnings).value();
}

constexpr std::string_view kScalar =
    R"({"storage": {"data_location": 1, "data": {"Buffer": {"buffer": "AA=="}}}, "meta": )"
    R"({"dtype": 1, "sizes": [], "requires_grad": false, "device": {"type": "cpu", "index": -1}, )"
    R"("strides": [], "storage_offset": {"as_int": 0}, "layout": 1}})";

// Names of graph inputs consist of word characters, so different parameters could get equal names.
TEST(DraftNames, ParametersGetNamesOfTheirOwn) {
  std::string parameters;
  for (const char* name : {"a.b", "a-b", "x", "p_x"})
    parameters += fmt::format("{}\"{}\": {}", parameters.empty() ? "" : ", ", name, kScalar);
  const Program program = from_draft(module_of(parameters)).value();
  std::vector<std::string> names;
  for (const InputSpec& spec : program.signature.input_specs) names.push_back(spec.arg.name);
  EXPECT_EQ(names, (std::vector<std::string>{"p_a_b", "p_a_b_1", "p_x", "p_p_x"}));
}

// Many parameters whose names become equal must not take quadratic time.
TEST(DraftNames, ManyEqualNamesAreLinear) {
  constexpr int kCount = 10'000;
  std::string parameters;
  for (int i = 0; i < kCount; ++i) {
    std::string name(15, '.');
    for (int bit = 0; bit < 15; ++bit)
      if ((i >> bit & 1) != 0) name[static_cast<size_t>(bit)] = '-';
    parameters += fmt::format("{}\"{}\": {}", i == 0 ? "" : ", ", name, kScalar);
  }
  const Program program = from_draft(module_of(parameters)).value();
  EXPECT_EQ(program.signature.input_specs.back().arg.name,
            fmt::format("p_{}_{}", std::string(15, '_'), kCount - 1));
}

TEST(DraftNames, SharedStoragesAreNotCopiedWithoutBound) {
  std::string parameters;
  for (int i = 0; i < 17; ++i)
    parameters += fmt::format("{}\"w{}\": {}", i == 0 ? "" : ", ", i, kScalar);
  const draft::GraphModule module = module_of(parameters);
  const Program program = from_draft(module).value();
  const Tensor shared = DraftTensorReader("").read(module.parameters[0].second).value();
  DraftReport report;
  const auto find = [&](const InputSpec&) { return std::optional(DraftState{shared, false}); };
  EXPECT_FALSE(to_draft(program, find, {}, report));
  EXPECT_EQ(report.inexpressible,
            std::vector<std::string>{
                "signature.input_specs[16]: more than 16 copies of a shared storage"});
}

}  // namespace
}  // namespace pt2
