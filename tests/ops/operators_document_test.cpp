// docs/operators.md is generated from the table and tests/data/ops/conformance.txt. That file
// counts the recorded calls of each overload that pass; `op_conformance --counts DIR…` prints such
// a file.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "ops/table.h"
#include "read_file.h"

namespace pt2::ops {
namespace {

struct Counts {
  int passed = 0;
  int recorded = 0;
};

// Reads lines such as "aten.add.Tensor 118 120": overload, passed, recorded.
std::map<std::string, Counts> read_counts() {
  std::ifstream file(std::string(PT2_TEST_DATA) + "/ops/conformance.txt");
  std::map<std::string, Counts> out;
  std::string overload;
  Counts counts;
  while (file >> overload >> counts.passed >> counts.recorded) out[overload] = counts;
  return out;
}

// Removes the prefix "torch.ops.": "aten.add.Tensor".
std::string short_name(const std::string& target) {
  constexpr std::string_view kPrefix = "torch.ops.";
  return target.starts_with(kPrefix) ? target.substr(kPrefix.size()) : target;
}

// Returns the row's facts (ops/facts.h) as text: "autocast float32, linear in self". Other tests
// measure whether a fact is true; the document makes an accidental change of a fact visible.
std::string facts_text(const OpDef& def) {
  constexpr std::string_view kAutocast[] = {"", "lower_precision", "float32", "widest"};
  constexpr std::string_view kSharing[] = {"",
                                           "always",
                                           "possibly",
                                           "where_strides_allow",
                                           "unless_cast",
                                           "unless_complex",
                                           "unless_contiguous",
                                           "unless_dropping"};
  constexpr std::string_view kInverse[] = {"",       "same",    "expand", "reshape",
                                           "repeat", "permute", "move",   "scatter",
                                           "narrow", "pieces",  "unbind"};
  constexpr std::string_view kUndecomposed[] = {"", "gives_numbers", "reads_elements",
                                                "lacks_steps"};
  constexpr std::string_view kDraws[] = {"", "by_sizes", "by_elements"};
  const Facts& facts = def.facts;
  std::string out;
  const auto add = [&](std::string_view name, std::string_view what) {
    if (what.empty()) return;
    if (!out.empty()) out += ", ";
    out += std::string(name) + " " + std::string(what);
  };
  const auto add_flag = [&](bool flag, std::string_view name) {
    if (flag) out += (out.empty() ? "" : ", ") + std::string(name);
  };
  const auto add_named = [&](std::string_view name, std::span<const std::string_view> names,
                             auto value) { add(name, names[static_cast<size_t>(value)]); };
  add_named("autocast", kAutocast, facts.autocast);
  add_named("shares memory", kSharing, facts.sharing);
  add_named("inverse", kInverse, facts.inverse);
  add("with", facts.scatter);
  add_flag(facts.slope == Slope::constant, "constant");
  if (facts.slope == Slope::linear) add("linear in", facts.linear_in);
  add_flag(facts.overwrites, "overwrites");
  add_flag(facts.looks_at_sizes_alone, "looks at sizes alone");
  add_flag(facts.looks_at_strides, "looks at strides");
  add_flag(facts.takes_dtype_of_out, "takes dtype of out");
  add("updates statistics if", facts.updates_statistics_if);
  add("computes as", facts.functional_form);
  add("same as", facts.same_as);
  add_named("undecomposed:", kUndecomposed, facts.undecomposed);
  add_named("draws", kDraws, facts.draws);
  return out;
}

std::string document_family(std::string_view name, std::span<const OpDef> family,
                            const std::map<std::string, Counts>& counts) {
  std::string out = "\n## " + std::string(name) +
                    "\n\n| operator | shape rule | facts | recorded calls |\n|---|---|---|---|\n";
  for (const OpDef& def : family) {
    const std::string overload = short_name(target_of(*def.signature));
    const auto found = counts.find(overload);
    out += "| `" + overload + "` | " + (def.is_predictable() ? "yes" : "") + " | " +
           facts_text(def) + " | ";
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
         "Facts are what a row says of the operator besides, in the words of `src/ops/facts.h`.\n"
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
  EXPECT_TRUE(test::read_file(path) == expected)
      << "run the test with PT2_REBASE=1 to write docs/operators.md anew";
}

}  // namespace
}  // namespace pt2::ops
