#include "base/json.h"

#include <gtest/gtest.h>

namespace pt2 {
namespace {

TEST(JsonTest, AValueKeepsOrderAndNumberSpelling) {
  const std::string text =
      R"({"b": [1, 1.50, -0, 1e5, 123456789012345678901234567890], "a": {"x": null, "y": "\u00e4"}, "c": true})";
  const auto value = parse_json(text);
  ASSERT_TRUE(value) << value.error().text();
  EXPECT_EQ(print_json(*value), text);
  EXPECT_EQ(
      print_json(*value, JsonStyle::compact),
      R"({"b":[1,1.50,-0,1e5,123456789012345678901234567890],"a":{"x":null,"y":"\u00e4"},"c":true})");
  EXPECT_EQ(*value->find("b")->items[0].get_int(), 1);
  EXPECT_EQ(*value->find("b")->items[1].get_float(), 1.5);
  EXPECT_EQ(value->find("b")->items[1].get_int().error().text(), "found 1.50, expected an int");
  EXPECT_EQ(*value->find("a")->find("y")->get_string(), "\xc3\xa4");
  EXPECT_EQ(value->find("d"), nullptr);
  EXPECT_EQ(*parse_json(" \"s\" ")->get_string(), "s");
  EXPECT_EQ(*parse_json("12")->get_int(), 12);
}

TEST(JsonTest, PrettyTextIsPythonsWithIndentTwo) {
  const auto value = parse_json(R"({"a": [1, {"b": []}], "c": {}})");
  ASSERT_TRUE(value);
  EXPECT_EQ(print_json(*value, JsonStyle::pretty), R"({
  "a": [
    1,
    {
      "b": []
    }
  ],
  "c": {}
})");
}

TEST(JsonTest, WrongTextIsRefusedWithItsPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "the JSON text is empty"},
      {"   ", "the JSON text is empty"},
      {R"({"a": 1, "b": {"a": 1, "a": 2}})", R"(.b: the key "a" occurs twice)"},
      {R"({"a": [1, 2x]})", ".a[1]: found 2x, expected a JSON value"},
      {R"({"a": [1, 01]})", ".a[1]: found 01, expected a JSON value"},
      {R"({"a": NaN})", ".a: found NaN, expected a JSON value"},
      {R"({"a": tru})", ".a: found tru, expected a JSON value"},
      {R"({"a": "\x"})", R"(.a: found "\x", expected a string with JSON's escapes)"},
      {R"({"a": 1} x)", "found x after the end of the JSON text, at byte 9"},
      {R"({"a": 1} {})", "found an object after the end of the JSON text, at byte 9"},
      {R"("a", "b")", R"(found "a", "b", expected a JSON value)"},
      {"nul", "found nul, expected a JSON value"},
      {"\"\xc3\x28\"", "the JSON text is not valid UTF-8 at byte 1"},
      {"\xef\xbb\xbf{}",
       "the JSON text begins with a byte order mark, expected UTF-8 without a mark"},
      {"\xff\xfe{", "the JSON text is UTF-16, expected UTF-8 without a mark"},
      {"\"abc", "the JSON text ends inside a string, which begins at byte 0"},
      {R"(  {"a\"": "b)", "the JSON text ends inside a string, which begins at byte 10"},
      {"[\"a\", \"b\n\"]", "a JSON string has a control character that is not escaped, at byte 8"},
      {"[1, 2", "the JSON text ends inside a list that begins at byte 0"},
      {R"({"a": "}", "b": [{"c": "\"]"}, 2)",
       "the JSON text ends inside a list that begins at byte 16"},
      {R"({"a": [1, 2})", ".a: found } at byte 11, expected ] for a list that begins at byte 6"},
      {"[{]", "[0]: found ] at byte 2, expected } for an object that begins at byte 1"},
  };
  for (const auto& [text, message] : cases) {
    const auto value = parse_json(text);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().text(), message) << text;
    EXPECT_EQ(value.error().code, ErrorCode::malformed);
  }
  for (const char* text : {"{", "[", "{]", "[}", "[1 2]", "[1,]", "{\"a\" 1}", "{\"a\":}", "{a: 1}",
                           "{\"a\": 1,}", "[,]", R"({"x": {"a": "b": 1}}})", R"({"x": "b": 1})",
                           "[\"a\": 1]", R"([[1], [2})", "}", "]", ",", ":"}) {
    EXPECT_FALSE(parse_json(text)) << text;
  }
}

TEST(JsonTest, OpenBracketsWithoutEndTakeNoMemoryOfTheirOwn) {
  const auto value = parse_json(std::string(100000, '['));
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().text(), "the JSON text does not end where its object or list ends");
}

TEST(JsonTest, DepthIsLimited) {
  auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(parse_json(nested(512)));
  const auto deep = parse_json(nested(100000));
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code, ErrorCode::limit);
  EXPECT_FALSE(parse_json(nested(4), {.max_depth = 3}));
}

TEST(JsonTest, PythonsNonFiniteNumbersAreReadOnDemand) {
  const auto value = parse_json("[NaN, Infinity, -Infinity]", {.allow_non_finite = true});
  ASSERT_TRUE(value);
  EXPECT_EQ(print_json(*value), "[NaN, Infinity, -Infinity]");
  EXPECT_LT(*value->items[2].get_float(), 0);
}

}  // namespace
}  // namespace pt2
