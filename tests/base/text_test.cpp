#include "base/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/printable.h"
#include "pt2/diagnostics.h"

namespace pt2 {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(TextTest, FloatsAreSpelledAsPythonSpellsThem) {
  const std::pair<double, const char*> cases[] = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {100000.0, "100000.0"},
      {0.1, "0.1"},
      {1e-4, "0.0001"},
      {9.999e-5, "9.999e-05"},
      {1e15, "1000000000000000.0"},
      {9007199254740993.0, "9007199254740992.0"},
      {9999999999999998.0, "9999999999999998.0"},
      {1e16, "1e+16"},
      {1.5e300, "1.5e+300"},
      {-1e-5, "-1e-05"},
      {5e-324, "5e-324"},
      {2.2250738585072014e-308, "2.2250738585072014e-308"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {1 / 3.0, "0.3333333333333333"},
      {kInfinity, "inf"},
      {-kInfinity, "-inf"},
      {kNan, "nan"},
  };
  for (const auto& [value, text] : cases) EXPECT_EQ(print_float(value), text);
  EXPECT_EQ(print_float(kInfinity, NonFinite::json), "Infinity");
  EXPECT_EQ(print_float(-kInfinity, NonFinite::json), "-Infinity");
  EXPECT_EQ(print_float(kNan, NonFinite::json), "NaN");
}

TEST(TextTest, NumbersAreJsonNumbersOnly) {
  for (const char* text :
       {"0", "-0", "1.5", "1e5", "1E+05", "-1.25e-3", "123456789012345678901234567890"}) {
    EXPECT_TRUE(is_json_number(text)) << text;
    EXPECT_TRUE(parse_float(text)) << text;
  }
  for (const char* text : {"", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "0x1", " 1", "1 ",
                           "inf", "NaN", "1_0"}) {
    EXPECT_FALSE(is_json_number(text)) << text;
    EXPECT_FALSE(parse_float(text)) << text;
    EXPECT_FALSE(parse_int(text)) << text;
  }
  EXPECT_FALSE(parse_float("1e999"));
  EXPECT_EQ(parse_int("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(parse_int("-9223372036854775808"), INT64_MIN);
  EXPECT_FALSE(parse_int("9223372036854775808"));
  EXPECT_FALSE(parse_int("1.0"));
  EXPECT_FALSE(parse_int("1e3"));
  EXPECT_EQ(parse_non_finite("-Infinity"), -kInfinity);
  EXPECT_EQ(parse_non_finite("inf"), kInfinity);
  EXPECT_TRUE(std::isnan(*parse_non_finite("NaN")));
  EXPECT_FALSE(parse_non_finite("1"));
}

TEST(TextTest, StringsAreEscapedAsJsonDumpsEscapesThem) {
  EXPECT_EQ(print_json_string("a\"b\\c/\n\r\t\b\f"), R"("a\"b\\c/\n\r\t\b\f")");
  EXPECT_EQ(print_json_string(std::string_view("\0\x1f\x7f", 3)), R"("\u0000\u001f\u007f")");
  EXPECT_EQ(print_json_string("\xe0\x81\x81"), R"("\u00e0\u0081\u0081")");  // an overlong A
  EXPECT_EQ(print_json_string("n\xc3\xa4h \xe2\x82\xac \xf0\x9f\x98\x80"),
            R"("n\u00e4h \u20ac \ud83d\ude00")");
  std::string raw;
  append_json_string(raw, "\xc3\xa4\x7f\xed\xa0\x80", false);
  EXPECT_EQ(raw, "\"\xc3\xa4\x7f\\ud800\"");
}

TEST(TextTest, EscapesAreReadBack) {
  const auto plain = unescape_json(R"(a\"\\\/\n\u00e4\u20ac\ud83d\ude00)");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->text, "a\"\\/\n\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_FALSE(plain->has_lone_surrogate);
  const auto lone = unescape_json(R"(x\ud800\ud800\udc00\udfffy)");
  ASSERT_TRUE(lone);
  EXPECT_TRUE(lone->has_lone_surrogate);
  EXPECT_EQ(print_json_string(lone->text), R"("x\ud800\ud800\udc00\udfffy")");
  for (const char* wrong : {"\\", "\\x", "\\u12", "\\u12g4", "\\u+123", "\\u"}) {
    EXPECT_FALSE(unescape_json(wrong)) << wrong;
  }
}

TEST(TextTest, Utf8IsStrict) {
  EXPECT_TRUE(is_utf8("n\xc3\xa4h"));
  EXPECT_FALSE(is_utf8("\xc3\x28"));
  EXPECT_FALSE(is_utf8("\xc0\x80"));
  EXPECT_FALSE(is_utf8("\xed\xa0\x80"));
  EXPECT_EQ(valid_utf8_prefix("n\xc3\xa4h\xf0\x9f\x98\x80"), 8u);
  for (const char* wrong : {"\xc3\x28", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
                            "\xf4\x90\x80\x80", "\x80", "\xc3"}) {
    EXPECT_EQ(valid_utf8_prefix(std::string("ab") + wrong), 2u);
  }
}

TEST(TextTest, WhatIsPrintableCannotWriteToATerminal) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"größe \xe2\x86\x92 \xf0\x9f\x94\xa5 \\x1b", "größe \xe2\x86\x92 \xf0\x9f\x94\xa5 \\x1b"},
      {"a\x1b[2K\r\n\t\x7f", "a\\x1b[2K\\x0d\\x0a\\x09\\x7f"},
      {"\xc2\x9b"
       "2K",
       "\\xc2\\x9b2K"},  // a control character beyond ASCII
      {"\x9b"
       "2K",
       "\\x9b2K"},  // the same as a single byte, which is not UTF-8
      {"a\xe2\x80\xae"
       "b",
       "a\\xe2\\x80\\xaeb"},  // right-to-left override
      {"\xe2\x81\xa6", "\\xe2\\x81\\xa6"},
      {"\xe2\x80\x8f", "\\xe2\\x80\\x8f"},
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},  // a surrogate
  };
  for (const auto& [text, shown] : cases) {
    EXPECT_EQ(printable(text), shown);
    EXPECT_EQ(printable_message(text), shown);
    EXPECT_EQ(printable(shown), shown);
  }
  EXPECT_EQ(printable("abcd", 4), "abcd");
  EXPECT_EQ(printable("abcde", 4), "abcd...");
  EXPECT_EQ(printable("abc\xc3\xa4", 4), "abc...");  // cuts only between characters
  EXPECT_EQ(printable_message("expected:\n  x: f32\n  y: \x1b\nok"),
            "expected:\n  x: f32\n  y: \\x1b\\x0aok");
}

TEST(TextTest, FindingsAreOneLineEach) {
  const Diagnostic finding{.rule = Rule::missing_payload,
                           .where = "a\n  b",
                           .text = "no '\x1b[31m'\na.pt2: ok",
                           .node = {.name = "n\r", .target = "t"}};
  EXPECT_EQ(finding.line(),
            "V301 error: a\\x0a  b: no '\\x1b[31m'\\x0aa.pt2: ok; node %n\\x0d (t)");
}

TEST(TextTest, FileNamesLeadNowhereElse) {
  for (const std::string_view name :
       {"model", "a.b", ".hidden", "größe", "console", "com", "comma", "com12", "lpt", "a b", "-"})
    EXPECT_TRUE(is_file_name(name)) << name;
  EXPECT_TRUE(is_file_name(std::string(240, 'n')));
  for (const std::string_view name : {"",
                                      ".",
                                      "..",
                                      "...",
                                      "a.",
                                      ".. ",
                                      "a/b",
                                      "/a",
                                      "a\\b",
                                      "c:a",
                                      "a:b",
                                      "con",
                                      "Con.txt",
                                      "NUL",
                                      "nul .pt2",
                                      "com1",
                                      "LPT9.x",
                                      "com\xc2\xb9",
                                      "conin$",
                                      "a\nb",
                                      "a\x1b",
                                      "a\xc2\x9b",
                                      "\xe2\x80\xae"
                                      "a",
                                      "\xff"})
    EXPECT_FALSE(is_file_name(name)) << name;
  EXPECT_FALSE(is_file_name(std::string_view("a\0b", 3)));
  EXPECT_FALSE(is_file_name(std::string(241, 'n')));
}

}  // namespace
}  // namespace pt2
