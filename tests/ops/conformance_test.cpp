// Operators against recorded calls of PyTorch: the selection in tests/data/ops, and the folder that
// PT2_OP_SAMPLES names.
#include "ops/conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

namespace pt2::ops {
namespace {

// "overload text": the failures of an overload that begin with the text are known; the reason
// stands behind a '#'.
std::set<std::string> known_differences() {
  std::ifstream file(std::string(PT2_TEST_DATA) + "/ops/known_differences.txt");
  std::set<std::string> out;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') out.insert(line.substr(0, line.find(' ')));
  return out;
}

TEST(Conformance, ResultsAreThoseOfPyTorch) {
  const char* folder = std::getenv("PT2_OP_SAMPLES");
  const std::set<std::string> known = known_differences();
  int passed = 0;
  int missing = 0;
  const std::filesystem::path root = folder != nullptr
                                         ? std::filesystem::path(folder)
                                         : std::filesystem::path(PT2_TEST_DATA) / "ops";
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (entry.path().extension() != ".safetensors") continue;
    const auto report = check_conformance(entry.path().string());
    ASSERT_TRUE(report) << entry.path() << ": " << report.error().text();
    passed += report->passed;
    missing += report->known ? 0 : 1;
    if (known.contains(report->overload)) continue;
    for (const auto& failure : report->failures)
      ADD_FAILURE() << report->overload << " sample " << failure.sample << ": " << failure.text;
  }
  EXPECT_GT(passed, 1000);
  std::printf("%d samples passed; %d overloads without an operator\n", passed, missing);
}

}  // namespace
}  // namespace pt2::ops
