#include <algorithm>
#include <cstring>

#include "archive/test_files.h"
#include "archive/zip_format.h"

namespace pt2 {
namespace {

std::string rewrite(const ZipReader& reader, ZipStyle style) {
  StringSink sink;
  ZipWriter writer(sink, style);
  for (const Entry& entry : reader.entries())
    EXPECT_TRUE(writer.add(entry.name, reader.read(entry).value().bytes)) << entry.name;
  EXPECT_TRUE(writer.finish());
  return sink.take();
}

ZipReader open(std::span<const std::byte> bytes) {
  Diagnostics findings;
  return ZipReader::open(bytes, nullptr, {}, findings).value();
}

// Returns the zip with the times of all headers set to 0: Python's zipfile writes the current time.
std::string without_times(std::string_view bytes, const ZipReader& reader) {
  std::string out(bytes);
  size_t record = out.rfind("PK\x05\x06");
  uint32_t directory = 0;
  std::memcpy(&directory, out.data() + record + 16, sizeof(directory));
  record = directory;
  for (const Entry& entry : reader.entries()) {
    std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(entry.header_offset) + 10, 4, '\0');
    std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(record) + 12, 4, '\0');
    record += zip::kDirectoryRecordBytes + entry.name.size();
  }
  return out;
}

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(ZipWriter, WritesTheBytesOfPyTorch) {
  size_t nested = 0;
  for (const std::string& path : test::corpus_files()) {
    const Archive archive = Archive::open(path).value();
    const ZipReader& reader = archive.zip();
    if (archive.era() == Era::flat) {
      const std::string made = rewrite(reader, ZipStyle::python);
      EXPECT_EQ(without_times(made, open(std::as_bytes(std::span(made)))),
                without_times(text(reader.bytes()), reader))
          << path;
    } else {
      EXPECT_TRUE(rewrite(reader, ZipStyle::torch) == text(reader.bytes())) << path;
    }
    for (const Entry& entry : reader.entries()) {
      const std::string_view content = text(reader.read(entry).value().bytes);
      if (!content.starts_with("PK\x03\x04")) continue;
      EXPECT_TRUE(rewrite(open(reader.read(entry).value().bytes), ZipStyle::torch) == content)
          << path << entry.name;
      ++nested;
    }
  }
  EXPECT_GT(nested, 100u);
}

// Returns the serialization id that this library computes for the other records of the archive.
std::string made_id(const ZipReader& reader) {
  StringSink sink;
  ZipWriter writer(sink, ZipStyle::torch);
  for (const Entry& entry : reader.entries()) {
    if (entry.name.ends_with(".data/serialization_id")) continue;
    EXPECT_TRUE(writer.add(entry.name, reader.read(entry).value().bytes)) << entry.name;
  }
  return writer.serialization_id();
}

TEST(ZipWriter, ComputesTheSerializationIdOfPyTorch) {
  size_t ids = 0;
  const auto check = [&](const ZipReader& reader, const std::string& place) {
    for (const Entry& entry : reader.entries()) {
      if (!entry.name.ends_with(".data/serialization_id")) continue;
      EXPECT_EQ(made_id(reader), text(reader.read(entry).value().bytes)) << place;
      ++ids;
    }
  };
  for (const std::string& path : test::corpus_files()) {
    const Archive archive = Archive::open(path).value();
    check(archive.zip(), path);
    for (const Entry& entry : archive.zip().entries()) {
      const Record record = archive.zip().read(entry).value();
      if (record.text().starts_with("PK\x03\x04")) check(open(record.bytes), path + entry.name);
    }
  }
  EXPECT_GT(ids, 500u);
}

// Expected: ids of torch 2.15 for archives so large that its hash table grows.
TEST(ZipWriter, ComputesTheSerializationIdOfManyRecords) {
  struct Case {
    size_t storages;
    std::string_view id;
  };
  for (const Case& each :
       {Case{20, "06053964841146262084"}, Case{60, "00137648793660415785"},
        Case{130, "10899235613604673089"}, Case{300, "13402011482046020200"},
        Case{1200, "07006458023395743877"}, Case{6000, "18078252886748964491"}}) {
    StringSink sink;
    ZipWriter writer(sink, ZipStyle::torch);
    for (const char* name : {"data.pkl", ".format_version", ".storage_alignment", "byteorder"})
      ASSERT_TRUE(writer.add(std::string("archive/") + name, ""));
    for (size_t i = 0; i < each.storages; ++i)
      ASSERT_TRUE(writer.add("archive/data/" + std::to_string(i), ""));
    ASSERT_TRUE(writer.add("archive/version", ""));
    EXPECT_EQ(writer.serialization_id().substr(0, 20), each.id) << each.storages;
  }
}

TEST(ZipWriter, WritesSizesAndOffsetsOf64Bits) {
  const std::string large(1000, 'x');
  for (ZipStyle style : {ZipStyle::torch, ZipStyle::python}) {
    StringSink sink;
    ZipWriter writer(sink, style, 500);
    ASSERT_TRUE(writer.add("r/small", "1"));
    ASSERT_TRUE(writer.add("r/large", large));
    ASSERT_TRUE(writer.add("r/behind", "2"));
    ASSERT_TRUE(writer.add("r/empty", ""));
    ASSERT_TRUE(writer.finish());
    const std::string bytes = sink.take();
    const ZipReader reader = open(std::as_bytes(std::span(bytes)));
    ASSERT_EQ(reader.entries().size(), 4u);
    for (const Entry& entry : reader.entries()) EXPECT_TRUE(reader.check_crc(entry)) << entry.name;
    EXPECT_EQ(text(reader.read(*reader.find("r/large")).value().bytes), large);
    EXPECT_EQ(text(reader.read(*reader.find("r/behind")).value().bytes), "2");
    // Counts entries whose 32-bit fields are all ones, which refer to ZIP64 fields.
    size_t records64 = 0;
    for (size_t at = bytes.find("PK\x01\x02"); at != bytes.npos;
         at = bytes.find("PK\x01\x02", at + 4))
      records64 += bytes.substr(at + 20, 8) == std::string(8, '\xff') ||
                   bytes.substr(at + 42, 4) == std::string(4, '\xff');
    EXPECT_EQ(records64, 3u);
  }
}

TEST(ZipWriter, WritesContentOfSeveralParts) {
  const std::string first(10'000, 'a');
  PartsSink inner;
  ZipWriter nested(inner, ZipStyle::torch);
  ASSERT_TRUE(nested.add("archive/first", std::as_bytes(std::span(first))));
  ASSERT_TRUE(nested.add("archive/second", std::string("b")));
  ASSERT_TRUE(nested.finish());
  const std::vector<Record> parts = inner.take();
  const auto lies_in_first = [&](const Record& part) {
    return static_cast<const void*>(part.bytes.data()) == first.data();
  };
  EXPECT_EQ(std::ranges::count_if(parts, lies_in_first), 1);
  StringSink sink;
  ZipWriter outer(sink, ZipStyle::python);
  ASSERT_TRUE(outer.add("inner.pt", parts));
  ASSERT_TRUE(outer.finish());
  const ZipReader reader = open(std::as_bytes(std::span(sink.bytes())));
  const Record record = reader.read(*reader.find("inner.pt")).value();
  const ZipReader content = open(record.bytes);
  EXPECT_EQ(text(content.read(*content.find("archive/first")).value().bytes), first);
  EXPECT_EQ(text(content.read(*content.find("archive/second")).value().bytes), "b");
}

TEST(ZipWriter, RefusesNamesThatTheReaderRefuses) {
  StringSink sink;
  ZipWriter writer(sink, ZipStyle::torch);
  EXPECT_TRUE(writer.add("root/a", "1"));
  EXPECT_EQ(writer.add("root/a", "2").error().text(), "root/a: the entry's name was added before");
  EXPECT_EQ(writer.add("/root/b", "").error().code, ErrorCode::argument);
  EXPECT_EQ(writer.add("root/../b", "").error().code, ErrorCode::argument);
}

}  // namespace
}  // namespace pt2
