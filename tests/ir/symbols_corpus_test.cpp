// Every expression of real programs is parsed, and printed as in its file.
#include <gtest/gtest.h>

#include "ir/program_texts.h"

namespace pt2 {
namespace {

TEST(SymbolsCorpus, ExpressionsPrintAsTheirFilesSpellThem) {
  size_t expressions = 0, keys = 0;
  for (const test::ProgramTexts& texts : test::corpus_texts()) {
    ExprPool pool;
    for (const std::string& text : texts.expressions) {
      const auto parsed = pool.parse(text);
      ASSERT_TRUE(parsed) << text << ": " << parsed.error().text();
      EXPECT_EQ(print_expr((*parsed)->expr, texts.spelling), text);
      ++expressions;
    }
    // Every release spells range keys as str. Their symbols get assumptions from the expressions.
    for (const std::string& text : texts.range_keys) {
      const auto parsed = pool.parse(text);
      ASSERT_TRUE(parsed) << text << ": " << parsed.error().text();
      EXPECT_EQ(print_expr((*parsed)->expr), text);
      ++keys;
    }
  }
  EXPECT_GT(expressions, 100u);
  EXPECT_GT(keys, 20u);
}

}  // namespace
}  // namespace pt2
