// Compares operators with recorded calls of PyTorch: the selection in tests/data/ops, and the
// folder that PT2_OP_SAMPLES names.
#include "ops/conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "ops/table.h"
#include "read_file.h"

namespace pt2::ops {
namespace {

// Reads the overloads with known differences. Each line is "overload text # reason": failures of
// the overload whose message begins with `text` are expected.
std::set<std::string> known_differences() {
  std::ifstream file(std::string(PT2_TEST_DATA) + "/ops/known_differences.txt");
  std::set<std::string> out;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') out.insert(line.substr(0, line.find(' ')));
  return out;
}

std::filesystem::path samples_folder() {
  const char* folder = std::getenv("PT2_OP_SAMPLES");
  return folder != nullptr ? std::filesystem::path(folder)
                           : std::filesystem::path(PT2_TEST_DATA) / "ops";
}

TEST(Conformance, ResultsAreThoseOfPyTorch) {
  const std::set<std::string> known = known_differences();
  int passed = 0;
  int missing = 0;
  const std::filesystem::path root = samples_folder();
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

// Formulas that behave differently from their operator.
constexpr std::pair<std::string_view, std::string_view> kOtherwise[] = {
    {"aten.to.device", "it does not know where a tensor is, and copies"},
    {"aten.to.dtype_layout", "it does not know where a tensor is, and copies"},
    {"aten.resolve_conj.default", "it does not know which tensors are marked, and copies"},
    {"aten.one_hot.default", "it does not look at the classes"},
    {"aten.log_sigmoid.default", "the order of dims is that of the operand"},
};

// Formulas are tested even if the operator also has a kernel.
TEST(Conformance, FormulasGiveWhatPyTorchDoes) {
  const std::set<std::string> known = known_differences();
  int passed = 0, refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(samples_folder())) {
    if (entry.path().extension() != ".safetensors") continue;
    const auto report = check_conformance(entry.path().string(), Computed::by_formula);
    ASSERT_TRUE(report) << entry.path() << ": " << report.error().text();
    if (!report->known) continue;
    passed += report->passed;
    if (known.contains(report->overload)) continue;
    if (std::ranges::count(kOtherwise, report->overload,
                           [](const auto& each) { return std::string(each.first); }) > 0)
      continue;
    for (const auto& failure : report->failures) {
      if (failure.text.starts_with("unsupported: ")) {
        ++refused;
      } else {
        ADD_FAILURE() << report->overload << " sample " << failure.sample << ": " << failure.text;
      }
    }
  }
  EXPECT_GT(passed, 250);
  std::printf("%d samples passed by formulas; %d are not written out\n", passed, refused);
}

// Every operator named in aten<"…"> exists. Code looks these names up on first use only.
TEST(Conformance, NamedOperatorsAreKnown) {
  const std::regex handle("aten<\"([A-Za-z0-9_.]+)\">");
  size_t count = 0;
  const std::filesystem::path sources = std::filesystem::path(PT2_TEST_DATA) / "../../src";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(sources)) {
    if (!entry.is_regular_file()) continue;
    const std::string text = test::read_file(entry.path());
    for (std::sregex_iterator it(text.begin(), text.end(), handle), end; it != end; ++it, ++count)
      EXPECT_TRUE(find_operator("torch.ops.aten." + (*it)[1].str()))
          << entry.path() << ": " << (*it)[1];
  }
  EXPECT_GT(count, 300u);
}

}  // namespace
}  // namespace pt2::ops
