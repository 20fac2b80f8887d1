#include "inspect/json_texts.h"

#include <gtest/gtest.h>

#include "inspect/program_texts.h"

namespace pt2 {
namespace {

std::string texts_of(std::string_view json) {
  std::string out;
  for_each_json_text(json, [&](const JsonText& text) {
    out += path_text(text.path) + (text.is_key ? " has " : " is ") + std::string(text.text) + "\n";
  });
  return out;
}

TEST(JsonTexts, HaveThePlaceWhereTheyStand) {
  EXPECT_EQ(texts_of(R"({"a": ["x", {"b": "y\n\u0041"}], "c": 1, "a": "z"})"),
            " has a\n.a[0] is x\n.a[1] has b\n.a[1].b is y\nA\n has c\n has a\n.a is z\n");
}

TEST(JsonTexts, AreFoundInWhatIsNoJson) {
  EXPECT_EQ(texts_of(R"({"a": NaN, "b": "x")"), " has a\n has b\n.b is x\n");
  EXPECT_EQ(texts_of(R"(}]"x)"), " is x\n");
  EXPECT_EQ(texts_of("\"\\"), " is \n");
  EXPECT_EQ(texts_of(""), "");
  texts_of(std::string(100'000, '['));
}

std::vector<TextFinding> findings(std::string_view json) { return find_hostile_texts(json, false); }

TEST(ProgramTexts, NamesAreNoCode) {
  EXPECT_TRUE(findings(R"({"graph": {"inputs": [{"as_tensor": {"name": "x"}}]}})").empty());
  const auto found = findings(R"({"graph": {"inputs": [{"as_tensor": {"name": "x=1/0"}}]}})");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].where, ".graph.inputs[0].as_tensor.name");
  EXPECT_EQ(findings(R"({"parameter": {"parameter_name": "a\"b"}})").size(), 1u);
  EXPECT_TRUE(findings(R"({"parameter": {"parameter_name": "odd name's"}})").empty());
}

// Programs hold tree specs as JSON inside of strings, and tree specs hold contexts the same way.
TEST(ProgramTexts, TreesAreLookedInto) {
  const auto tree = [](std::string_view context) {
    return R"({"in_spec": "[1, {\"children_spec\": [{}, {\"context\": \")" + std::string(context) +
           R"(\"}]}]"})";
  };
  EXPECT_TRUE(findings(tree(R"([\\\"x\\\"])")).empty());
  EXPECT_EQ(findings(tree(R"([\\\"x=1/0\\\"])")).size(), 1u);
  const auto found = findings(tree(R"([{\\\"fqn\\\": \\\"mine.colours:Colour\\\"}])"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].text, "PyTorch imports the module mine.colours");
}

// With the whole path for each of these contexts, this would take minutes and gigabytes.
TEST(ProgramTexts, LongPathsAreCut) {
  std::string json = R"({"in_spec": "{\")" + std::string(1'000'000, 'k') + R"(\": [)";
  for (int i = 0; i < 100'000; ++i) json += R"({\"context\": \"{}\"}, )";
  for (int i = 0; i < 1'000; ++i) json += R"({\"fqn\": \"m)" + std::to_string(i) + R"(:C\"}, )";
  const auto found = findings(json + "]}\"}");
  ASSERT_EQ(found.size(), 1'000u);
  EXPECT_LT(found[0].where.size(), 10'000u);

  std::string arrays = R"({"graph": {"inputs": )" + std::string(1'900, '[');
  for (int i = 0; i < 300'000; ++i) arrays += R"("x", )";
  EXPECT_TRUE(findings(arrays).empty());
}

TEST(ProgramTexts, WhatWasVerifiedIsNotToldTwice) {
  constexpr std::string_view kText = R"({"as_expr": {"expr_str": "a.b"}, "guards_code": ["a.b"],
      "nodes": [{"target": "torch.hub.load"}], "range_constraints": {"a.b": {}}})";
  EXPECT_EQ(find_hostile_texts(kText, false).size(), 4u);
  EXPECT_TRUE(find_hostile_texts(kText, true).empty());
}

}  // namespace
}  // namespace pt2
