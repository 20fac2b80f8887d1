#include <cstring>
#include <fstream>

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

// Zeros the times of every header: Python's zipfile writes the clock.
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

TEST(ZipWriter, RefusesNamesThatTheReaderRefuses) {
  StringSink sink;
  ZipWriter writer(sink, ZipStyle::torch);
  EXPECT_TRUE(writer.add("root/a", "1"));
  EXPECT_EQ(writer.add("root/a", "2").error().text(), "root/a: the entry's name was added before");
  EXPECT_EQ(writer.add("/root/b", "").error().code, ErrorCode::argument);
  EXPECT_EQ(writer.add("root/../b", "").error().code, ErrorCode::argument);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(FileSink, ReplacesTheFileAtTheEndOrNotAtAll) {
  const std::string folder = testing::TempDir() + "pt2_sink";
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/x.pt2";
  std::ofstream(path) << "old";
  const std::string content = "new";
  {
    const std::unique_ptr<FileSink> sink = FileSink::create(path).value();
    EXPECT_TRUE(sink->write(std::as_bytes(std::span(content))));
  }
  EXPECT_EQ(read_file(path), "old");
  {
    const std::unique_ptr<FileSink> sink = FileSink::create(path).value();
    EXPECT_TRUE(sink->write(std::as_bytes(std::span(content))));
    EXPECT_TRUE(sink->finish());
  }
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(FileSink::create(folder + "/x.pt2").error().code, ErrorCode::io);
}

TEST(FileSink, WritesIntoADeviceInsteadOfReplacingIt) {
  const std::unique_ptr<FileSink> sink = FileSink::create("/dev/null").value();
  EXPECT_TRUE(sink->write(std::as_bytes(std::span("x", 1))));
  EXPECT_TRUE(sink->finish());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace pt2
