// docs/operators.md is made of the table and of tests/data/ops/conformance.txt, which says how many
// recorded calls of each overload pass; `op_conformance --counts DIR…` prints such a file.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "ops/table.h"

namespace pt2::ops {
namespace {

struct Counts {
  int passed = 0;
  int recorded = 0;
};

// "aten.add.Tensor 118 120" in each line.
std::map<std::string, Counts> read_counts() {
  std::ifstream file(std::string(PT2_TEST_DATA) + "/ops/conformance.txt");
  std::map<std::string, Counts> out;
  std::string overload;
  Counts counts;
  while (file >> overload >> counts.passed >> counts.recorded) out[overload] = counts;
  return out;
}

// "aten.add.Tensor"
std::string short_name(const std::string& target) {
  constexpr std::string_view kPrefix = "torch.ops.";
  return target.starts_with(kPrefix) ? target.substr(kPrefix.size()) : target;
}

std::string document_family(std::string_view name, std::span<const OpDef> family,
                            const std::map<std::string, Counts>& counts) {
  std::string out = "\n## " + std::string(name) +
                    "\n\n| operator | shape rule | recorded calls |\n|---|---|---|\n";
  for (const OpDef& def : family) {
    const std::string overload = short_name(target_of(*def.signature));
    const auto found = counts.find(overload);
    out += "| `" + overload + "` | " + (def.has_rule() ? "yes" : "") + " | ";
    if (found != counts.end())
      out += std::to_string(found->second.passed) + " of " + std::to_string(found->second.recorded);
    out += " |\n";
  }
  return out;
}

std::string document_operators() {
  const std::map<std::string, Counts> counts = read_counts();
  size_t rows = 0;
  for (const auto& family : families()) rows += family.rows.size();
  int passed = 0;
  int recorded = 0;
  for (const auto& [overload, each] : counts) {
    passed += each.passed;
    recorded += each.recorded;
  }
  std::ostringstream out;
  out << "# The operators of this build\n\nMade from the tables of `src/ops` and from "
         "`tests/data/ops/conformance.txt`; `PT2_REBASE=1 build/dev/tests/ops_tests` writes it "
         "anew.\n\n"
      << rows
      << " rows. In-place forms (`add_`), copies of views (`permute_copy`) and forms with outs "
         "(`add.out`) follow from them; other names of the same operators are in "
         "`src/ops/forms/aliases.def`.\nWith a "
         "shape "
         "rule the sizes and dtypes of results are known, and verified, before anything runs; "
         "other results tell by themselves.\n"
      << "\"Recorded calls\" are calls of torch 2.15 on a CPU: " << passed << " of " << recorded
      << " give its values, dtype, sizes and strides (or fail as it does).\n"
      << "What differs on purpose, and why, is in `tests/data/ops/known_differences.txt`.\n";
  for (const Family& family : families()) out << document_family(family.name, family.rows, counts);
  return out.str();
}

TEST(OperatorsDocument, IsMadeFromTheTable) {
  const std::string path = std::string(PT2_TEST_DATA) + "/../../docs/operators.md";
  const std::string expected = document_operators();
  if (std::getenv("PT2_REBASE") != nullptr) std::ofstream(path, std::ios::binary) << expected;
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  EXPECT_TRUE(text.str() == expected)
      << "run the test with PT2_REBASE=1 to write docs/operators.md anew";
}

}  // namespace
}  // namespace pt2::ops
