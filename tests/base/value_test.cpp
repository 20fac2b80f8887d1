#include "pt2/value.h"

#include <gtest/gtest.h>

namespace pt2 {
namespace {

TEST(Value, IntegersOfEveryWidthAreIntegers) {
  EXPECT_EQ(*Value(std::vector<int>(3).size()).get_if<int64_t>(), 3);
  EXPECT_EQ(*Value(uint8_t{200}).get_if<int64_t>(), 200);
  EXPECT_EQ(*Value(3u).get_if<int64_t>(), 3);
  EXPECT_EQ(*Value(-3).get_if<int64_t>(), -3);
  EXPECT_EQ(*Value(1ull << 40).get_if<int64_t>(), int64_t{1} << 40);
}

TEST(Value, OtherNumbersStayWhatTheyAre) {
  EXPECT_EQ(*Value(true).get_if<bool>(), true);
  EXPECT_EQ(*Value(0.5f).get_if<double>(), 0.5);
  EXPECT_EQ(*Value(0.5L).get_if<double>(), 0.5);
  EXPECT_TRUE(Value(std::complex<double>(1, 2)).is<std::complex<double>>());
  EXPECT_TRUE(Value("text").is<std::string>());
  EXPECT_TRUE(Value(Dtype::int8).is<Dtype>());
}

TEST(Value, NullIsNone) {
  const Value value = nullptr;
  EXPECT_TRUE(value.is_none());
  EXPECT_TRUE(Value(0).is<int64_t>());
}

TEST(Value, NumbersInMessagesAreThoseThatWereFound) {
  EXPECT_EQ(Value(1e-9).type_text(), "float 1e-09");
  EXPECT_EQ(Value(1e300).type_text(), "float 1e+300");
  EXPECT_EQ(Value(0.1).type_text(), "float 0.1");
  EXPECT_EQ(Value(-2.0).type_text(), "float -2.0");
  EXPECT_EQ(Value(std::complex<double>(1, -2.5)).type_text(), "complex (1-2.5j)");
  EXPECT_EQ(Value(std::complex<double>(0, 1e-9)).type_text(), "complex (0+1e-09j)");
  EXPECT_EQ(Value(Object()).type_text(), "object");
}

}  // namespace
}  // namespace pt2
