#include "pt2/tools/scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "pt2/format/zip.h"
#include "read_file.h"
#include "temporary_folder.h"

namespace pt2 {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& each : fs::recursive_directory_iterator(folder))
    if (each.path().extension() == ".pt2") files.push_back(each.path());
  std::ranges::sort(files);
  return files;
}

bool has_finding(const ScanReport& report, std::string_view code) {
  return std::ranges::any_of(report.findings, [&](const ScanFinding& finding) {
    return finding.hazard->code() == code || finding.hazard->name() == code;
  });
}

TEST(Scan, RealFilesAreNoAlarm) {
  for (const fs::path& file : files_below(fs::path(PT2_TEST_DATA) / "corpus")) {
    const ScanReport report = scan(file.string());
    EXPECT_FALSE(report.unread) << file;
    EXPECT_TRUE(!report.worst() || *report.worst() < HazardLevel::warning)
        << file << ": " << report.findings.front().text;
    for (const ScanFinding& hazard : verify_with_hazards(file.string()).hazards)
      EXPECT_EQ(hazard.hazard->level, HazardLevel::note) << file << ": " << hazard.text;
  }
}

TEST(Scan, FilesThatRunCodeAre) {
  size_t count = 0;
  for (const fs::path& file : files_below(fs::path(PT2_TEST_DATA) / "negative")) {
    const std::string name = file.filename().string();
    const bool hostile = name.starts_with("code_") || name.starts_with("pickle_") ||
                         name.starts_with("zip_path_") || name == "zip_bomb.pt2" ||
                         name == "legacy_pickle.pt2" || name == "graph_expression_code.pt2" ||
                         name == "graph_target_python.pt2" || name == "zip_crc_weight.pt2" ||
                         name == "zip_duplicate_entry.pt2" || name == "zip_lying_size.pt2";
    if (!hostile) continue;
    ++count;
    EXPECT_EQ(scan(file.string()).worst(), HazardLevel::alarm) << name;
  }
  EXPECT_GE(count, 40u);
}

// Each of these files has run code in PyTorch 2.15 (tests/scripts/proven_code.py).
TEST(Scan, FilesThatRanCodeInPyTorchAreAlarmsByTheirRule) {
  const fs::path folder = fs::path(PT2_TEST_DATA) / "proven";
  const Record text = map_file((folder / "index.json").string()).value();
  const JsonValue index = parse_json(text.text()).value();
  size_t count = 0;
  for (const JsonValue& item : index.find("cases")->items) {
    const std::string file = (folder / item.find("file")->text).string();
    const ScanReport report = scan(file);
    const std::string& rule = item.find("rule")->text;
    const std::string& says = item.find("says")->text;
    EXPECT_EQ(report.worst(), HazardLevel::alarm) << file;
    EXPECT_TRUE(std::ranges::any_of(report.findings,
                                    [&](const ScanFinding& finding) {
                                      return finding.hazard->code() == rule &&
                                             finding.text.find(says) != std::string::npos;
                                    }))
        << file << ": no " << rule << " that says " << says;
    ++count;
  }
  EXPECT_GE(count, 20u);
}

// Only scan reports files that contain compiled code by design (S004, S010) and files that are no
// exported programs.
TEST(Scan, VerifySaysWhichProgramsRunCodeToo) {
  const fs::path folder = fs::path(PT2_TEST_DATA) / "proven";
  size_t count = 0;
  for (const fs::path& file : files_below(folder)) {
    const std::string name = file.stem().string();
    if (name == "library" || name == "compiled_at_load") continue;
    const VerifiedFile verified = verify_with_hazards(file.string());
    EXPECT_TRUE(verified.findings.has_errors() ||
                std::ranges::any_of(verified.hazards,
                                    [](const ScanFinding& finding) {
                                      return finding.hazard->level == HazardLevel::alarm;
                                    }))
        << file;
    ++count;
  }
  EXPECT_GE(count, 50u);
}

// Writes a zip of the given entries, and returns its path.
std::string write_zip(const test::TemporaryFolder& folder,
                      std::initializer_list<std::pair<const char*, std::string_view>> entries) {
  const std::string path = folder.path() + "/file.pt2";
  auto sink = FileSink::create(path).value();
  ZipWriter writer(*sink, ZipStyle::torch);
  for (const auto& [name, content] : entries) writer.add(name, content).value();
  writer.finish().value();
  return path;
}

TEST(Scan, LooksIntoOtherArchives) {
  const test::TemporaryFolder folder;
  EXPECT_TRUE(has_finding(scan(write_zip(folder, {{"m/data/aotinductor/model/a.wrapper.so", "x"}})),
                          "native_code"));
  EXPECT_TRUE(has_finding(scan(write_zip(folder, {{"m/weights",
                                                   "\x7f"
                                                   "ELF and more"}})),
                          "native_code"));
  std::string windows("MZ" + std::string(62, '\0') + std::string("PE\0\0", 4));
  EXPECT_FALSE(has_finding(scan(write_zip(folder, {{"m/weights", windows}})), "native_code"));
  windows[0x3c] = 64;
  EXPECT_TRUE(has_finding(scan(write_zip(folder, {{"m/weights", windows}})), "native_code"));
  EXPECT_TRUE(has_finding(scan(write_zip(folder, {{"m/code/__torch__.py", "def f(): pass"}})),
                          "torchscript_code"));
  EXPECT_TRUE(has_finding(scan(write_zip(folder, {{"m/mine.py", "import os"}})), "python_code"));
  EXPECT_TRUE(has_finding(scan(write_zip(folder, {{"m/data.pkl", "cos\nsystem\n(S'true'\ntR."}})),
                          "code_in_pickle"));
  // Python follows what stops this library, and would run the call behind it.
  EXPECT_TRUE(has_finding(scan(write_zip(folder, {{"m/data.pkl",
                                                   "Nr\xff\xff\xff\x7f"
                                                   "0cos\nsystem\n)R."}})),
                          "unread_pickle"));
}

TEST(Scan, SaysWhatItCouldNotRead) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/file.pt2";
  std::ofstream(path) << "no archive";
  const ScanReport report = scan(path);
  ASSERT_TRUE(report.unread);
  EXPECT_EQ(exit_code(report.unread->code), 3);
  EXPECT_TRUE(has_finding(report, "not_scanned"));
  const std::string odd = folder.path() + "/odd!name.pt2";
  std::ofstream(odd) << "no archive";
  EXPECT_TRUE(scan(odd).unread);
}

// Python's zipfile opens files with bytes before the zip, even with ZIP64 end records.
TEST(Scan, LooksBehindBytesInFront) {
  const test::TemporaryFolder folder;
  std::ifstream zip(write_zip(folder, {{"m/mine.py", "import os"}}), std::ios::binary);
  const std::string path = folder.path() + "/prefixed.pt2";
  std::ofstream(path, std::ios::binary) << "some bytes" << zip.rdbuf();
  const ScanReport report = scan(path);
  EXPECT_TRUE(has_finding(report, "hidden_bytes"));
  EXPECT_TRUE(has_finding(report, "python_code"));
}

// Archives above 4 GB have their directory's place in the ZIP64 end record alone, and any may.
TEST(Scan, LooksBehindBytesInFrontOfZip64) {
  const test::TemporaryFolder folder;
  std::string zip = test::read_file(write_zip(folder, {{"m/mine.py", "import os"}}));
  const size_t end = zip.rfind("PK\x05\x06");
  ASSERT_NE(zip.rfind("PK\x06\x06", end), zip.npos);
  zip.replace(end + 12, 8, "\xff\xff\xff\xff\xff\xff\xff\xff");
  const std::string path = folder.path() + "/prefixed.pt2";
  std::ofstream(path, std::ios::binary) << zip;
  EXPECT_FALSE(has_finding(scan(path), "hidden_bytes"));
  std::ofstream(path, std::ios::binary) << "some bytes" << zip;
  const ScanReport report = scan(path);
  EXPECT_TRUE(has_finding(report, "hidden_bytes"));
  EXPECT_TRUE(has_finding(report, "python_code"));
}

TEST(Scan, HazardsHaveOneNumberEach) {
  for (const HazardInfo& hazard : hazards()) {
    EXPECT_EQ(find_hazard(hazard.code()), &hazard);
    EXPECT_EQ(find_hazard(hazard.name()), &hazard);
    EXPECT_FALSE(hazard.title().empty() || hazard.why().empty() || hazard.remedy.empty());
  }
}

TEST(Scan, ReportsAreSarif) {
  const std::string text = scan_sarif(
      std::vector{scan((fs::path(PT2_TEST_DATA) / "negative/code_samples_eval.pt2").string())});
  EXPECT_NE(text.find("\"version\": \"2.1.0\""), text.npos);
  EXPECT_NE(text.find("\"ruleId\": \"V108\""), text.npos);
}

}  // namespace
}  // namespace pt2
