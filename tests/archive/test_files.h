// The real files that the tests read: those kept beside them, and a larger collection when
// PT2_CORPUS names one.
#ifndef PT2_TESTS_ARCHIVE_TEST_FILES_H
#define PT2_TESTS_ARCHIVE_TEST_FILES_H

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "pt2/format/archive.h"

namespace pt2::test {

inline std::vector<std::string> corpus_files() {
  std::vector<std::filesystem::path> folders{std::filesystem::path(PT2_TEST_DATA) / "corpus"};
  if (const char* larger = std::getenv("PT2_CORPUS")) folders.emplace_back(larger);
  std::vector<std::string> files;
  for (const auto& folder : folders)
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
      const bool negative = file.path().parent_path().filename() == "negative";
      if (file.path().extension() == ".pt2" && !negative) files.push_back(file.path().string());
    }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::string corpus_file(std::string_view release, std::string_view program) {
  return std::string(PT2_TEST_DATA "/corpus/")
      .append(release)
      .append("/")
      .append(program)
      .append(".pt2");
}

inline std::string negative_file(std::string_view name) {
  return std::string(PT2_TEST_DATA "/negative/").append(name).append(".pt2");
}

inline std::string messages(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& one : diagnostics.all()) text += one.line() + "\n";
  return text;
}

}  // namespace pt2::test

#endif  // PT2_TESTS_ARCHIVE_TEST_FILES_H
