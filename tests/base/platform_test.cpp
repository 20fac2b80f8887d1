#include "base/platform.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pt2 {
namespace {

TEST(Platform, DecimalNumbersAreWholeTexts) {
  EXPECT_EQ(decimal_value("-1.5e3"), -1500.0);
  EXPECT_EQ(decimal_value("1."), 1.0);
  EXPECT_EQ(decimal_value(".5"), 0.5);
  EXPECT_EQ(decimal_value("4.9e-324"), 4.9e-324);
  EXPECT_EQ(decimal_value("-inf"), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(decimal_value("nan").value()));
  for (const char* text : {"", "-", ".", "+1", " 1", "1 ", "0x10", "1e", "e5", "--1", "1,5",
                           "1e400", "1e-400", "1e5x"})
    EXPECT_EQ(decimal_value(text), std::nullopt) << text;
}

TEST(Platform, LogarithmsOfTheGammaFunction) {
  EXPECT_EQ(log_gamma(1), 0);
  EXPECT_NEAR(log_gamma(0.5), 0.57236494292470008, 1e-15);
  EXPECT_NEAR(log_gamma(-0.5), 1.2655121234846454, 1e-15);  // gamma(-0.5) is negative
  EXPECT_EQ(log_gamma(HUGE_VAL), HUGE_VAL);
  EXPECT_EQ(log_gamma(-HUGE_VAL), HUGE_VAL);
  EXPECT_TRUE(std::isnan(log_gamma(NAN)));
}

}  // namespace
}  // namespace pt2
