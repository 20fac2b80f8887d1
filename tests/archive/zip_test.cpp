#include "pt2/format/zip.h"

#include <libdeflate.h>

#include <atomic>

#include "archive/test_files.h"
#include "archive/zip_builder.h"

namespace pt2 {
namespace {

using test::BuiltEntry;
using test::BuiltZip;

BuiltEntry stored(std::string name, std::string data) {
  const uint32_t crc = libdeflate_crc32(0, data.data(), data.size());
  const auto size = static_cast<uint32_t>(data.size());
  return {.name = std::move(name), .data = std::move(data), .crc = crc, .size = size};
}

BuiltEntry deflated(std::string name, const std::string& content) {
  std::string data(content.size() + 64, '\0');
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(9);
  data.resize(libdeflate_deflate_compress(compressor, content.data(), content.size(), data.data(),
                                          data.size()));
  libdeflate_free_compressor(compressor);
  BuiltEntry entry = stored(std::move(name), content);
  entry.data = std::move(data);
  entry.method = zip::kDeflated;
  return entry;
}

Result<ZipReader> open(const std::string& bytes, const Limits& limits = {},
                       Diagnostics* findings = nullptr) {
  const Record record = make_record(bytes);
  Diagnostics local;
  return ZipReader::open(record.bytes, record.owner, limits, findings ? *findings : local);
}

TEST(Zip, ReadsStoredAndDeflatedEntries) {
  BuiltZip built{.entries = {stored("a", "hello"), deflated("b/c", std::string(5000, 'x')),
                             stored("empty", "")},
                 .comment = "a comment"};
  built.entries[1].flags = zip::kFlagDescriptor;
  Diagnostics findings;
  const ZipReader reader = open(built.bytes(), {}, &findings).value();
  ASSERT_EQ(reader.entries().size(), 3u);
  EXPECT_EQ(reader.read(*reader.find("a")).value().text(), "hello");
  EXPECT_EQ(reader.read(*reader.find("b/c")).value().text(), std::string(5000, 'x'));
  EXPECT_EQ(reader.read(*reader.find("empty")).value().text(), "");
  EXPECT_EQ(reader.find("b"), nullptr);
  EXPECT_EQ(test::messages(findings), "V102 warning: b/c: the entry is deflated\n");
}

TEST(Zip, ReadsNumbersOfTheZip64Extra) {
  BuiltZip built{.entries = {stored("a", "hello")}};
  BuiltEntry& entry = built.entries[0];
  entry.stated_size = entry.stated_compressed_size = entry.stated_offset = UINT32_MAX;
  test::put(entry.extra, uint32_t{0x0004CAFE});
  entry.extra += "skip";
  test::put(entry.extra, uint32_t{24u << 16 | zip::kExtra64});
  test::put(entry.extra, uint64_t{5});
  test::put(entry.extra, uint64_t{5});
  test::put(entry.extra, uint64_t{0});
  const ZipReader reader = open(built.bytes()).value();
  EXPECT_EQ(reader.read(reader.entries()[0]).value().text(), "hello");
}

struct Fault {
  const char* name;
  ErrorCode code;
  const char* text;
  BuiltZip (*make)();
};

BuiltZip with(void (*change)(BuiltZip&)) {
  BuiltZip built{.entries = {stored("a", "hello"), stored("b", "world!")}};
  change(built);
  return built;
}

// clang-format off
const Fault kFaults[] = {
    {"same_name", ErrorCode::malformed, "a: two entries have this name",
     [] { return with([](BuiltZip& zip) { zip.entries[1].name = "a"; }); }},
    {"nested_entry", ErrorCode::corrupt, "inner: overlaps entry a",
     [] { return with([](BuiltZip& zip) {
       BuiltZip inner{.entries = {stored("inner", "x")}};
       zip.entries[0] = stored("a", inner.bytes());
       zip.entries[1] = stored("inner", "x");
       zip.entries[1].stated_offset = 31; }); }},
    {"size_beyond_file", ErrorCode::corrupt, "b: its local header differs in sizes or CRC-32",
     [] { return with([](BuiltZip& zip) { zip.entries[1].stated_size = zip.entries[1].stated_compressed_size = 7000; }); }},
    {"offset_beyond_file", ErrorCode::corrupt, "b: found no local header at byte 1073741824",
     [] { return with([](BuiltZip& zip) { zip.entries[1].stated_offset = 1u << 30; }); }},
    {"stored_sizes_differ", ErrorCode::corrupt, "b: a stored entry of 5 bytes takes 6",
     [] { return with([](BuiltZip& zip) { zip.entries[1].stated_size = 5; }); }},
    {"too_many_entries", ErrorCode::corrupt, "byte 73: found 60000 entries in a directory of 94 bytes",
     [] { return with([](BuiltZip& zip) { zip.stated_entries = 60000; }); }},
    {"too_few_entries", ErrorCode::corrupt, "byte 120: found 47 bytes after the directory's last entry",
     [] { return with([](BuiltZip& zip) { zip.stated_entries = 1; }); }},
    {"directory_elsewhere", ErrorCode::corrupt, "byte 167: the directory of 94 bytes at byte 4 should end here: the file is cut off or was joined with another",
     [] { return with([](BuiltZip& zip) { zip.stated_directory_offset = 4; }); }},
    {"local_name", ErrorCode::corrupt, "a: its local header has the name z",
     [] { return with([](BuiltZip& zip) { zip.entries[0].local_name = "z"; }); }},
    {"short_zip64_extra", ErrorCode::corrupt, "a: the ZIP64 extra field is too short",
     [] { return with([](BuiltZip& zip) { zip.entries[0].stated_size = UINT32_MAX; zip.entries[0].extra = std::string("\x01\x00\x04\x00" "abcd", 8); }); }},
    {"zip64_overflow", ErrorCode::corrupt, "a: found no local header at byte 18446744073709551615",
     [] { return with([](BuiltZip& zip) { zip.entries[0].stated_offset = UINT32_MAX; zip.entries[0].extra = std::string("\x01\x00\x08\x00\xff\xff\xff\xff\xff\xff\xff\xff", 12); }); }},
    {"parent_folder", ErrorCode::malformed, "x/../y: the entry's name has a component '..'",
     [] { return with([](BuiltZip& zip) { zip.entries[0].name = "x/../y"; }); }},
    {"empty_component", ErrorCode::malformed, "x//y: the entry's name has an empty component",
     [] { return with([](BuiltZip& zip) { zip.entries[0].name = "x//y"; }); }},
    {"two_slashes_at_the_end", ErrorCode::malformed, "x//: the entry's name has an empty component",
     [] { return with([](BuiltZip& zip) { zip.entries[0].name = "x//"; }); }},
    {"same_folder", ErrorCode::malformed, "./x: the entry's name has a component '.'",
     [] { return with([](BuiltZip& zip) { zip.entries[0].name = "./x"; }); }},
    {"drive", ErrorCode::malformed, "C:evil: the entry's name has a drive letter",
     [] { return with([](BuiltZip& zip) { zip.entries[0].name = "C:evil"; }); }},
    {"empty_name", ErrorCode::malformed, "the entry's name is empty",
     [] { return with([](BuiltZip& zip) { zip.entries[0].name = ""; }); }},
    {"long_name", ErrorCode::limit, "...: the name has 5000 bytes, more than max_name_bytes 4096",
     [] { return with([](BuiltZip& zip) { zip.entries[0].name = std::string(5000, 'n'); }); }},
    {"encrypted", ErrorCode::unsupported, "a: the entry is encrypted",
     [] { return with([](BuiltZip& zip) { zip.entries[0].flags = 1; }); }},
    {"lzma", ErrorCode::unsupported, "a: found compression method 14, expected 0 (stored) or 8 (deflated)",
     [] { return with([](BuiltZip& zip) { zip.entries[0].method = 14; }); }},
};
// clang-format on

class ZipFault : public testing::TestWithParam<Fault> {};

TEST_P(ZipFault, IsRefused) {
  const Result<ZipReader> reader = open(GetParam().make().bytes());
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, GetParam().code);
  EXPECT_TRUE(reader.error().text().ends_with(GetParam().text)) << reader.error().text();
}

INSTANTIATE_TEST_SUITE_P(Made, ZipFault, testing::ValuesIn(kFaults),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(Zip, KeepsTheLimits) {
  const std::string bytes =
      BuiltZip{.entries = {deflated("zeros", std::string(4 << 20, '\0'))}}.bytes();
  EXPECT_EQ(open(bytes).error().code, ErrorCode::limit);
  EXPECT_TRUE(open(bytes, {.max_inflate_ratio = 2000}));
  EXPECT_EQ(open(bytes, {.max_inflated_bytes = 1 << 20, .max_inflate_ratio = 2000}).error().code,
            ErrorCode::limit);
  const std::string two = BuiltZip{.entries = {stored("a", ""), stored("b", "")}}.bytes();
  EXPECT_EQ(open(two, {.max_entries = 1}).error().code, ErrorCode::limit);
}

TEST(Zip, FindsDamagedContents) {
  BuiltZip built{.entries = {stored("a", "hello"), stored("b", "world"),
                             deflated("c", std::string(900, 'c'))}};
  built.entries[1].data = "World";
  built.entries[2].crc ^= 1;
  const ZipReader reader = open(built.bytes()).value();
  EXPECT_EQ(reader.read(*reader.find("b")).error().text(),
            "b: the content has CRC-32 fbb63e47, the directory says 3a771143");
  EXPECT_TRUE(reader.read(*reader.find("b"), false));
  EXPECT_EQ(reader.read(*reader.find("c"), false).error().code, ErrorCode::corrupt);
  for (unsigned threads : {1u, 3u}) {
    Diagnostics findings;
    std::atomic<uint64_t> last = 0;
    check_all_crcs(reader, findings, threads, [&](uint64_t done, uint64_t total) {
      EXPECT_EQ(total, 910u);
      last = done;
    });
    EXPECT_EQ(last, 910u);
    ASSERT_EQ(findings.all().size(), 2u);
    EXPECT_EQ(findings.all()[0].where, "b");
    EXPECT_EQ(findings.all()[1].where, "c");
    EXPECT_EQ(findings.all()[0].rule, Rule::entry_checksum);
  }
}

TEST(Zip, ChecksumsOfTheNegativeFiles) {
  for (const char* name : {"zip_crc_weight", "zip_crc_program"}) {
    const Archive archive = Archive::open(test::negative_file(name)).value();
    Diagnostics findings;
    check_all_crcs(archive.zip(), findings, 2);
    EXPECT_EQ(findings.all().size(), 1u) << name;
  }
  const Archive archive = Archive::open(test::negative_file("zip_crc_program")).value();
  EXPECT_EQ(archive.read("models/model.json").error().code, ErrorCode::corrupt);
}

TEST(MapFile, SaysWhyNot) {
  EXPECT_EQ(map_file("/nonexistent/file.pt2").error().text(),
            "/nonexistent/file.pt2: No such file or directory");
  EXPECT_EQ(map_file("/").error().text(), "/: found a folder, expected a file");
}

}  // namespace
}  // namespace pt2
