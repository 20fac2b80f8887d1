#include "pt2/format/origin.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <random>

#include "archive/crc32.h"
#include "read_file.h"
#include "temporary_folder.h"

namespace pt2 {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

std::string random_text(size_t size) {
  std::string text(size, '\0');
  std::mt19937 random(0);
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

// Returns a zip of three entries. The first has data, three megabytes of zeros, and data again; the
// last one is empty.
std::string zip_text() {
  StringSink sink;
  ZipWriter writer(sink, ZipStyle::torch);
  const std::string content =
      random_text(kMegabyte) + std::string(3 * kMegabyte, '\0') + random_text(5000);
  EXPECT_TRUE(writer.add("root/large", std::as_bytes(std::span(content))));
  EXPECT_TRUE(writer.add("root/small", "small"));
  EXPECT_TRUE(writer.add("root/empty", ""));
  EXPECT_TRUE(writer.finish());
  return sink.take();
}

// Writes a sparse file, in which blocks of zeros are holes.
void write_sparse(const std::string& path, const std::string& text) {
  constexpr size_t kBlock = 1 << 16;
  std::ofstream file(path, std::ios::binary);
  for (size_t at = 0; at < text.size(); at += kBlock) {
    const std::string block = text.substr(at, kBlock);
    if (block.find_first_not_of('\0') == block.npos)
      file.seekp(static_cast<std::streamoff>(block.size()), std::ios::cur);
    else
      file << block;
  }
}

uint64_t bytes_on_disk(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return static_cast<uint64_t>(status.st_blocks) * 512;
}

std::span<const std::byte> content(const Archive& archive, const Entry& entry) {
  return archive.zip().bytes().subspan(entry.data_offset, entry.size);
}

// Copies every entry from its place in the archive into another file.
Result<void> copy_entries(const Archive& archive, Sink& sink, ZipStyle style) {
  const Origin origin(archive);
  ZipWriter writer(sink, style, &origin);
  for (const Entry& entry : archive.zip().entries())
    PT2_TRY_VOID(writer.add(entry.name, content(archive, entry)));
  return writer.finish();
}

TEST(Origin, KnowsItsEntriesAndTheirExtents) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("sparse.pt2");
  write_sparse(path, zip_text());
  const Archive archive = Archive::open_container(path).value();
  const Origin origin(archive);
  for (const Entry& entry : archive.zip().entries()) {
    SCOPED_TRACE(entry.name);
    const auto bytes = content(archive, entry);
    EXPECT_EQ(origin.entry_of(bytes) != nullptr, entry.size > 0);
    if (entry.size == 0) continue;
    EXPECT_EQ(origin.entry_of(bytes)->name, entry.name);
    EXPECT_EQ(origin.entry_of(bytes.subspan(1)), nullptr);
    EXPECT_EQ(origin.entry_of(bytes.first(bytes.size() - 1)), nullptr);
    EXPECT_TRUE(origin.holds(bytes));
    EXPECT_EQ(origin.crc(bytes).value(), entry.crc);
    EXPECT_TRUE(origin.check_crc(bytes, entry.crc));
    EXPECT_EQ(origin.check_crc(bytes, entry.crc ^ 1).error().code, ErrorCode::corrupt);
    for (auto rest = bytes; !rest.empty();) {
      const Origin::Extent extent = origin.first_extent(rest);
      ASSERT_GT(extent.size, 0u);
      ASSERT_LE(extent.size, rest.size());
      if (extent.is_hole) {
        EXPECT_EQ(crc32(0, rest.first(extent.size)), crc32_of_zeros(0, extent.size));
      }
      rest = rest.subspan(extent.size);
    }
  }
  const std::string elsewhere = "elsewhere";
  EXPECT_FALSE(origin.holds(std::as_bytes(std::span(elsewhere))));
  EXPECT_EQ(origin.entry_of(std::as_bytes(std::span(elsewhere))), nullptr);
  EXPECT_TRUE(origin.check_crc(std::as_bytes(std::span(elsewhere)), 1));
}

TEST(Origin, CopiesAreTheSameBytesAndHolesStayHoles) {
  const test::TemporaryFolder folder;
  const std::string text = zip_text(), path = folder.file("sparse.pt2");
  write_sparse(path, text);
  const Archive archive = Archive::open_container(path).value();
  for (const ZipStyle style : {ZipStyle::torch, ZipStyle::python}) {
    StringSink expected;
    ASSERT_TRUE(copy_entries(archive, expected, style));
    const std::string copy = folder.file("copy.pt2");
    ASSERT_TRUE(copy_entries(archive, *FileSink::create(copy).value(), style));
    EXPECT_TRUE(test::read_file(copy) == expected.bytes());
    if (style == ZipStyle::torch) {
      EXPECT_TRUE(expected.bytes() == text);
    }
    if (bytes_on_disk(path) < 2 * kMegabyte) {
      EXPECT_LT(bytes_on_disk(copy), 2 * kMegabyte);
    }
    PartsSink parts;
    ASSERT_TRUE(copy_entries(archive, parts, style));
    std::string joined;
    for (const Record& part : parts.take()) joined += part.text();
    EXPECT_TRUE(joined == expected.bytes());
  }
}

TEST(Origin, OfAnotherFileByNowHoldsNothingAndKnowsTheEntries) {
  const test::TemporaryFolder folder;
  const std::string text = zip_text(), path = folder.file("x.pt2");
  write_sparse(path, text);
  const Archive archive = Archive::open_container(path).value();
  write_sparse(folder.file("y.pt2"), text);
  std::filesystem::rename(folder.file("y.pt2"), path);
  const Origin origin(archive);
  const Entry& entry = archive.zip().entries().front();
  EXPECT_FALSE(origin.holds(content(archive, entry)));
  EXPECT_NE(origin.entry_of(content(archive, entry)), nullptr);
  const std::string copy = folder.file("copy.pt2");
  ASSERT_TRUE(copy_entries(archive, *FileSink::create(copy).value(), ZipStyle::torch));
  EXPECT_TRUE(test::read_file(copy) == text);
}

TEST(Origin, DamagedRecordsAreNotWritten) {
  const std::string text = zip_text();
  // The places are in the data of the large record, in its zeros, and in the small record.
  for (const size_t place :
       {size_t{12345}, 2 * kMegabyte, text.rfind("small", text.size() - 300)}) {
    SCOPED_TRACE(place);
    const test::TemporaryFolder folder;
    std::string damaged = text;
    damaged[place] ^= 0x10;
    write_sparse(folder.file("x.pt2"), damaged);
    std::ofstream(folder.file("copy.pt2")) << "old";
    const Archive archive = Archive::open_container(folder.file("x.pt2")).value();
    for (const ZipStyle style : {ZipStyle::torch, ZipStyle::python}) {
      const Result<void> copied =
          copy_entries(archive, *FileSink::create(folder.file("copy.pt2")).value(), style);
      ASSERT_FALSE(copied);
      EXPECT_EQ(copied.error().code, ErrorCode::corrupt);
      EXPECT_EQ(copied.error().where,
                folder.file("x.pt2") + (place > 4 * kMegabyte ? "!root/small" : "!root/large"));
      EXPECT_EQ(test::read_file(folder.file("copy.pt2")), "old");
    }
  }
}

// The archive's directory states the checksum of a torch.save file. The directory of that file
// states the checksums of its storages, here right or wrong ones.
TEST(Origin, KnowsStoragesWithinTorchSaveFiles) {
  for (const bool is_inner_wrong : {false, true})
    for (const bool is_damaged : {false, true}) {
      SCOPED_TRACE(testing::Message() << is_inner_wrong << is_damaged);
      StringSink inner;
      ZipWriter saved(inner, ZipStyle::torch);
      const std::string content = random_text(5000);
      ASSERT_TRUE(saved.add("archive/data/0", std::as_bytes(std::span(content))));
      ASSERT_TRUE(saved.finish());
      std::string file = inner.take();
      const uint32_t crc = crc32(0, std::as_bytes(std::span(content)));
      if (is_inner_wrong) file[file.rfind("PK\x01\x02") + 16] ^= 0x55;
      StringSink outer;
      ZipWriter writer(outer, ZipStyle::python);
      ASSERT_TRUE(writer.add("serialized_state_dict.pt", file));
      ASSERT_TRUE(writer.finish());
      std::string text = outer.take();
      const size_t place = text.find(content);
      if (is_damaged) text[place + 17] ^= 0x10;

      const test::TemporaryFolder folder;
      write_sparse(folder.file("x.pt2"), text);
      const Archive archive = Archive::open_container(folder.file("x.pt2")).value();
      const Origin origin(archive);
      const auto bytes = archive.zip().bytes().subspan(place, content.size());
      EXPECT_EQ(origin.entry_of(bytes), nullptr);
      const uint32_t found = origin.crc(bytes).value();
      EXPECT_EQ(found == crc, !is_damaged);
      const Result<void> checked = origin.check_crc(bytes, found);
      EXPECT_EQ(checked.has_value(), !is_damaged);
      if (is_damaged) {
        EXPECT_EQ(checked.error().where, folder.file("x.pt2") + "!serialized_state_dict.pt");
      }
    }
}

}  // namespace
}  // namespace pt2
