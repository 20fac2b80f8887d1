// Every expression of the real programs is printed from its nodes as its file spells it.
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
    // Range keys are str in every release; assumptions come from the symbols of the expressions.
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
