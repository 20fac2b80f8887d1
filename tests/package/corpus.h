// Real files for tests: those in tests/data and, if PT2_CORPUS names a larger collection of the
// same layout, all of its files.
#ifndef PT2_TESTS_PACKAGE_CORPUS_H
#define PT2_TESTS_PACKAGE_CORPUS_H

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace pt2::corpus {

struct File {
  std::string release;
  std::string name;  // "mlp.pt2"
  std::string path;
};

inline std::vector<std::filesystem::path> roots() {
  std::vector<std::filesystem::path> found = {std::filesystem::path(PT2_TEST_DATA) / "corpus"};
  if (const char* more = std::getenv("PT2_CORPUS")) found.emplace_back(more);
  return found;
}

inline std::vector<File> files() {
  std::vector<File> found;
  for (const auto& root : roots()) {
    for (const auto& folder : std::filesystem::directory_iterator(root)) {
      const std::string release = folder.path().filename().string();
      if (!folder.is_directory() || release.empty() || release[0] < '0' || release[0] > '9')
        continue;
      for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
        if (file.path().extension() != ".pt2") continue;
        found.push_back({release, file.path().filename().string(), file.path().string()});
      }
    }
  }
  std::sort(found.begin(), found.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  return found;
}

}  // namespace pt2::corpus

#endif  // PT2_TESTS_PACKAGE_CORPUS_H
