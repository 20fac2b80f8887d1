#include "pt2/format/archive.h"

#include "archive/test_files.h"

namespace pt2 {
namespace {

using test::corpus_file;
using test::corpus_files;
using test::negative_file;

Era era_of(const std::string& path) {
  const std::string release = std::filesystem::path(path).parent_path().filename().string();
  const int minor = std::atoi(release.c_str() + 2);
  return minor <= 7 ? Era::flat : minor == 8 ? Era::pickled_payloads : Era::raw_payloads;
}

TEST(Archive, OpensEveryReleaseWithoutWarning) {
  size_t count = 0;
  for (const std::string& path : corpus_files()) {
    SCOPED_TRACE(path);
    const Result<Archive> archive = Archive::open(path);
    ASSERT_TRUE(archive) << archive.error().text();
    EXPECT_EQ(archive->era(), era_of(path));
    EXPECT_TRUE(archive->warnings().empty()) << test::messages(archive->warnings());
    EXPECT_EQ(archive->root().empty(), archive->era() == Era::flat);
    ASSERT_FALSE(archive->models().empty());
    for (const std::string& model : archive->models()) {
      const Result<Record> program = archive->read(archive->program_record(model));
      ASSERT_TRUE(program) << program.error().text();
      EXPECT_EQ(program->text().front(), '{');
    }
    Diagnostics crcs;
    check_all_crcs(archive->zip(), crcs, 2);
    EXPECT_TRUE(crcs.empty()) << test::messages(crcs);
    ++count;
  }
  EXPECT_GT(count, 500u);
}

TEST(Archive, NamesEveryRecord) {
  const Archive archive = Archive::open(corpus_file("2.15.0", "package_two")).value();
  EXPECT_EQ(std::vector<std::string>(archive.models().begin(), archive.models().end()),
            (std::vector<std::string>{"model", "second"}));
  std::string text;
  for (const Entry& entry : archive.zip().entries()) {
    const RecordRole found = archive.role(entry);
    text += std::string(archive.relative_name(entry)) + " " + std::string(role_name(found.role));
    if (!found.name.empty()) text += " " + std::string(found.name);
    text += "\n";
  }
  EXPECT_EQ(text,
            "data/weights/weight_0 raw_weight weight_0\n"
            "data/weights/weight_1 raw_weight weight_1\n"
            "data/weights/weight_2 raw_weight weight_2\n"
            "data/weights/weight_3 raw_weight weight_3\n"
            "data/weights/model_weights_config.json weights_config model\n"
            "data/constants/model_constants_config.json constants_config model\n"
            "models/model.json program model\n"
            "data/sample_inputs/model.pt sample_inputs model\n"
            "data/weights/weight_4 raw_weight weight_4\n"
            "data/weights/weight_5 raw_weight weight_5\n"
            "data/weights/weight_6 raw_weight weight_6\n"
            "data/weights/weight_7 raw_weight weight_7\n"
            "data/weights/second_weights_config.json weights_config second\n"
            "data/constants/second_constants_config.json constants_config second\n"
            "models/second.json program second\n"
            "data/sample_inputs/second.pt sample_inputs second\n"
            "archive_format metadata\n"
            "archive_version metadata\n"
            ".data/version metadata\n"
            "byteorder metadata\n"
            ".data/serialization_id metadata\n");
}

TEST(Archive, GivesExtraFiles) {
  for (const char* release : {"2.1.2", "2.7.1", "2.8.0", "2.15.0"}) {
    const Archive archive = Archive::open(corpus_file(release, "save_extra_files")).value();
    std::string names;
    for (const Archive::ExtraFile& extra : archive.extra_files())
      names +=
          extra.name + "=" + std::string(archive.zip().read(*extra.entry).value().text()) + "\n";
    EXPECT_EQ(names, "note.txt=héllo 世界\n\nsub/config.json={\"a\": 1}\nempty=\n") << release;
  }
}

Result<Archive> open_text(const std::string& bytes) {
  const Record record = make_record(bytes);
  return Archive::open_bytes(record.bytes, record.owner, "x.pt2");
}

TEST(Archive, SaysWhatOtherFilesAre) {
  struct Foreign {
    std::string bytes;
    const char* text;
  };
  const Foreign kForeign[] = {
      {"", "x.pt2: not a .pt2 file: it is empty"},
      {"<!DOCTYPE html><html>", "x.pt2: not a .pt2 file: it is an HTML page, not a download"},
      {std::string("\x40\0\0\0\0\0\0\0{\"a\":", 13),
       "x.pt2: not a .pt2 file: it is a safetensors file: weights without a program"},
      {"\x80\x02}q\x01.",
       "x.pt2: not a .pt2 file: it is a plain pickle, such as torch.save wrote before 1.6"},
      {"version https://git-lfs.github.com/spec/v1",
       "x.pt2: not a .pt2 file: it is a Git LFS pointer; git lfs pull downloads the file"},
      {"\x08\x07\x12\x07pytorch",
       "x.pt2: not a .pt2 file: it is probably an ONNX model or another protocol buffer"},
      {"\xef\xbb\xbf{\"schema_version\"",
       "x.pt2: not a .pt2 file: it is text with a byte order mark; save it as UTF-8 without one"},
      {std::string("{\0\"\0", 4), "x.pt2: not a .pt2 file: it is text in UTF-16; save it as UTF-8"},
      {"something else\n", "x.pt2: not a .pt2 file: it is text"},
      {"something\x01", "x.pt2!byte 0: found no zip end record: not a zip file"},
  };
  for (const Foreign& foreign : kForeign) {
    const Result<Archive> archive = open_text(foreign.bytes);
    ASSERT_FALSE(archive);
    EXPECT_EQ(archive.error().code, ErrorCode::malformed);
    EXPECT_EQ(archive.error().text(), foreign.text);
  }
}

std::string zip_of(std::initializer_list<std::pair<const char*, const char*>> records) {
  StringSink sink;
  ZipWriter writer(sink, ZipStyle::torch);
  for (const auto& [name, text] : records) EXPECT_TRUE(writer.add(name, std::string_view(text)));
  EXPECT_TRUE(writer.finish());
  return sink.take();
}

TEST(Archive, SaysWhatOtherZipsAre) {
  EXPECT_EQ(
      open_text(zip_of({{"archive/data.pkl", "N."}, {"archive/version", "3"}})).error().text(),
      "x.pt2: not a .pt2 file: it is a torch.save checkpoint: objects without a program; "
      "torch.export.save writes programs");
  EXPECT_EQ(open_text(zip_of({{"m/data.pkl", "N."}, {"m/constants.pkl", ""}, {"m/code/x.py", ""}}))
                .error()
                .text(),
            "x.pt2: not a .pt2 file: it is a TorchScript file; export its module with "
            "torch.export.export");
  EXPECT_EQ(
      open_text(zip_of({{"readme.txt", "hello"}})).error().text(),
      "x.pt2: not a .pt2 file: it is a zip file without archive_format and without a program");
  EXPECT_EQ(open_text(zip_of({})).error().code, ErrorCode::malformed);
}

TEST(Archive, ListsPackagesOfCompiledCode) {
  const std::string bytes = zip_of({{"m/data/aotinductor/model/x.wrapper.so", "ELF"},
                                    {"m/data/weights/weight_0", ""},
                                    {"m/archive_format", "pt2"},
                                    {"m/archive_version", "0"},
                                    {"m/.data/version", "6\n"},
                                    {"m/byteorder", "little"}});
  const Result<Archive> archive = open_text(bytes);
  ASSERT_FALSE(archive);
  EXPECT_EQ(archive.error().code, ErrorCode::unsupported);
  EXPECT_EQ(archive.error().message,
            "the package holds only code that AOTInductor compiled (data/aotinductor), and no "
            "exported program");
  const Record record = make_record(bytes);
  const Archive container =
      Archive::open_container_bytes(record.bytes, record.owner, "x.pt2").value();
  EXPECT_TRUE(container.models().empty());
  EXPECT_EQ(container.role(container.zip().entries()[0]).role, Role::aotinductor);
}

// As 2.5 to 2.7 write them: with Python's zipfile, and without a root folder.
TEST(Archive, ListsOldPackagesOfCompiledCode) {
  const Result<Archive> archive = open_text(zip_of(
      {{"version", "0"}, {"archive_format", "pt2"}, {"data/aotinductor/model/x.so", "ELF"}}));
  ASSERT_FALSE(archive);
  EXPECT_EQ(archive.error().code, ErrorCode::unsupported);
  EXPECT_EQ(archive.error().message,
            "the package holds only code that AOTInductor compiled (data/aotinductor), and no "
            "exported program");
}

TEST(Archive, NamesCompiledCodeInABrokenPackageToo) {
  const Result<Archive> archive = open_text(zip_of({{"m/archive_format", "pt2"},
                                                    {"m/archive_version", "0"},
                                                    {"m/data/aotinductor/m/x.wrapper.so", "ELF"}}));
  ASSERT_FALSE(archive);
  EXPECT_EQ(archive.error().code, ErrorCode::invalid);
  EXPECT_EQ(archive.error().message,
            "the archive has no record .data/version; the package holds only code that AOTInductor "
            "compiled (data/aotinductor), and no exported program");
}

struct WarningCase {
  const char* file;
  const char* text;
};

TEST(Archive, WarnsOfWhatIsOdd) {
  const WarningCase kCases[] = {
      {"zip_trailing_bytes", "!byte 11169: found 100 bytes after the zip file's end"},
      {"zip_deflated_program", "!mlp/models/model.json: the entry is deflated"},
      {"archive_no_sample_inputs", ": the archive has no record data/sample_inputs/model.pt"},
  };
  for (const WarningCase& one : kCases) {
    const std::string path = negative_file(one.file);
    const Archive archive = Archive::open(path).value();
    ASSERT_EQ(archive.warnings().all().size(), 1u) << test::messages(archive.warnings());
    const Diagnostic& warning = archive.warnings().all()[0];
    EXPECT_EQ(warning.where + ": " + warning.text, path + one.text);
  }
}

struct NegativeCase {
  const char* file;
  ErrorCode code;
  const char* text;
};

class ArchiveNegative : public testing::TestWithParam<NegativeCase> {};

TEST_P(ArchiveNegative, IsRefused) {
  const std::string path = negative_file(GetParam().file);
  const Result<Archive> archive = Archive::open(path);
  ASSERT_FALSE(archive);
  EXPECT_EQ(archive.error().code, GetParam().code) << archive.error().text();
  ASSERT_TRUE(archive.error().where.starts_with(path));
  EXPECT_EQ(archive.error().text().substr(path.size()), GetParam().text);
}

constexpr NegativeCase kNegativeCases[] = {
    {"zip_empty", ErrorCode::malformed, ": not a .pt2 file: it is empty"},
    {"zip_text", ErrorCode::malformed, ": not a .pt2 file: it is text"},
    {"zip_truncated_half", ErrorCode::corrupt,
     "!byte 5584: found no zip end record: the file is cut off"},
    {"zip_truncated_end", ErrorCode::corrupt, "!byte 11147: the zip end record is cut off"},
    {"zip_leading_bytes", ErrorCode::corrupt,
     "!byte 0: found 64 bytes in front of the zip file, which moved its offsets"},
    {"zip_local_name", ErrorCode::corrupt,
     "!mlp/data/weights/weight_0: its local header has the name mlp/data/weights/weight_1"},
    {"zip_duplicate_entry", ErrorCode::malformed,
     "!mlp/models/model.json: two entries have this name"},
    {"zip_path_traversal", ErrorCode::malformed,
     "!mlp/../../evil.txt: the entry's name has a component '..'"},
    {"zip_path_absolute", ErrorCode::malformed, "!/evil.txt: the entry's name is absolute"},
    {"zip_path_backslash", ErrorCode::malformed,
     "!mlp/extra\\..\\C:\\evil.txt: the entry's name has a backslash"},
    {"zip_name_nul", ErrorCode::malformed, "!mlp/extra/a\\x00b: the entry's name has a zero byte"},
    {"zip_bomb", ErrorCode::limit,
     "!mlp/data/weights/weight_0: 65232 bytes inflate to 67108864, more than max_inflate_ratio 200 "
     "allows"},
    {"zip_lying_size", ErrorCode::corrupt,
     "!mlp/data/weights/weight_0: the entry has 4294967280 bytes, but 10152 are left before the "
     "directory"},
    {"zip_encrypted", ErrorCode::unsupported, "!mlp/models/model.json: the entry is encrypted"},
    {"zip_method", ErrorCode::unsupported,
     "!mlp/models/model.json: found compression method 12, expected 0 (stored) or 8 (deflated)"},
    {"archive_no_root", ErrorCode::invalid,
     ": found the records at the top level, expected them in one root folder"},
    {"archive_two_roots", ErrorCode::invalid,
     "!other/data/weights/weight_0: the record lies outside the root folder mlp"},
    {"archive_no_program", ErrorCode::invalid,
     ": found no program in the archive, expected models/<name>.json"},
    {"archive_no_format", ErrorCode::invalid, ": the archive has no record archive_format"},
    {"archive_bad_format", ErrorCode::unsupported, "!archive_format: found 'pt3', expected 'pt2'"},
    {"archive_bad_version", ErrorCode::unsupported, "!archive_version: found '-1', expected '0'"},
    {"archive_big_endian", ErrorCode::unsupported, "!byteorder: found 'big', expected 'little'"},
    {"archive_data_version", ErrorCode::unsupported,
     "!.data/version: found '99\\x0a', expected 1 to 10"},
    {"archive_no_weights_config", ErrorCode::invalid,
     ": the archive has no record data/weights/model_weights_config.json"},
    {"legacy_version", ErrorCode::unsupported,
     "!version: found schema version 9.0, expected 1 to 8"},
    {"legacy_no_state", ErrorCode::invalid, ": the archive has no record serialized_state_dict.pt"},
};
INSTANTIATE_TEST_SUITE_P(Files, ArchiveNegative, testing::ValuesIn(kNegativeCases),
                         [](const auto& one) { return std::string(one.param.file); });

}  // namespace
}  // namespace pt2
