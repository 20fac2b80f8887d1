#include "pt2/verify.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/json.h"
#include "package/corpus.h"
#include "pt2/package.h"

namespace pt2 {
namespace {

std::string negative(const std::string& file) {
  return std::string(PT2_TEST_DATA) + "/negative/" + file;
}

struct NegativeCase {
  std::string file;
  std::string stage;
  bool is_rejected = false;
};

std::vector<NegativeCase> negative_cases() {
  std::ifstream in(negative("index.json"));
  std::stringstream text;
  text << in.rdbuf();
  const JsonValue index = parse_json(text.str()).value();
  std::vector<NegativeCase> cases;
  for (const JsonValue& item : index.find("cases")->items) {
    cases.push_back(
        {item.find("file")->text, item.find("stage")->text, item.find("expect")->text == "reject"});
  }
  return cases;
}

std::string lines(const Diagnostics& findings) {
  std::string text;
  for (const Diagnostic& finding : findings.all()) text += finding.line() + "\n";
  return text;
}

// These need the signatures of operators.
const std::set<std::string> kNeedOperators = {
    "graph_unknown_op.pt2", "graph_target_python.pt2", "graph_missing_argument.pt2",
    "graph_unknown_argument.pt2", "graph_argument_type.pt2"};

TEST(Verify, RealFilesHaveNoFinding) {
  size_t files = 0;
  for (const corpus::File& file : corpus::files()) {
    const Diagnostics findings = verify(file.path);
    EXPECT_TRUE(findings.empty()) << lines(findings);
    ++files;
  }
  EXPECT_GT(files, 100u);
}

TEST(Verify, MalformedFilesGetTheirVerdict) {
  size_t cases = 0;
  for (const NegativeCase& c : negative_cases()) {
    SCOPED_TRACE(c.file);
    const Diagnostics findings = verify(negative(c.file));
    ++cases;
    if (kNeedOperators.contains(c.file)) continue;
    EXPECT_EQ(findings.has_errors(), c.is_rejected) << lines(findings);
    EXPECT_FALSE(findings.empty());
    for (const Diagnostic& finding : findings.all()) EXPECT_NE(finding.where, "") << finding.line();
  }
  EXPECT_GE(cases, 85u);
}

TEST(Verify, WhatIsAcceptedWithAWarningOpens) {
  for (const NegativeCase& c : negative_cases()) {
    if (c.is_rejected) continue;
    const auto package = Package::open(negative(c.file));
    ASSERT_TRUE(package) << package.error().text();
    EXPECT_TRUE(package->program()) << c.file;
    EXPECT_TRUE(package->payloads()) << c.file;
  }
}

TEST(Verify, LevelsIncludeTheOnesBefore) {
  for (const NegativeCase& c : negative_cases()) {
    size_t previous = 0;
    for (Level level : {Level::container, Level::schema, Level::payload, Level::signature}) {
      const Diagnostics findings = verify(negative(c.file), level);
      EXPECT_GE(findings.all().size(), previous) << c.file << " " << level_name(level);
      for (const Diagnostic& finding : findings.all()) {
        EXPECT_LE(rule_info(finding.rule).level, level) << finding.line();
      }
      previous = findings.all().size();
    }
  }
}

}  // namespace
}  // namespace pt2
