#include "kernels/dtypes/halves.h"

#include <cstring>
#include <limits>

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

// Return the value of a float16 and of a bfloat16 number, in double.
double half_value(uint32_t bits) {
  const double sign = bits & 0x8000 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double mantissa = bits & 0x3ff;
  if (exponent == 31)
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

std::vector<uint16_t> all_bits() {
  std::vector<uint16_t> bits;
  for (uint32_t i = 0; i < 0x10000; ++i) bits.push_back(static_cast<uint16_t>(i));
  return bits;
}

TEST(HalvesTest, EveryHalfBecomesItsNumberAndComesBack) {
  test::on_every_target([] {
    const std::vector<uint16_t> bits = all_bits();
    std::vector<float> numbers(bits.size());
    half_to_float(bits.data(), 0x10000, numbers.data());
    std::vector<uint16_t> back(bits.size());
    float_to_half(numbers.data(), 0x10000, back.data());
    for (uint32_t i = 0; i < 0x10000; ++i) {
      const double expected = half_value(i);
      ASSERT_TRUE(test::close_to(numbers[i], expected, 0)) << i;
      if (std::isnan(expected))
        ASSERT_EQ(back[i] & 0x7fff, 0x7e00) << i;
      else
        ASSERT_EQ(back[i], i);
    }
  });
}

TEST(HalvesTest, EveryBfloat16ComesBack) {
  test::on_every_target([] {
    const std::vector<uint16_t> bits = all_bits();
    std::vector<float> numbers(bits.size());
    bfloat16_to_float(bits.data(), 0x10000, numbers.data());
    std::vector<uint16_t> back(bits.size());
    float_to_bfloat16(numbers.data(), 0x10000, back.data());
    for (uint32_t i = 0; i < 0x10000; ++i) ASSERT_EQ(back[i], std::isnan(numbers[i]) ? 0x7fc0 : i);
  });
}

// Checks rounding to nearest, and to even half-way between two neighbours.
template <class Widen, class Narrow>
void check_rounding(const Widen& widen, const Narrow& narrow, uint16_t largest) {
  for (uint16_t low = 0; low < largest; ++low) {
    const auto high = static_cast<uint16_t>(low + 1);
    float ends[2];
    const uint16_t both[] = {low, high};
    widen(both, 2, ends);
    const float middle = ends[0] + (ends[1] - ends[0]) / 2;
    const float between[] = {std::nextafter(middle, 0.0f), middle, -middle,
                             std::nextafter(middle, ends[1])};
    uint16_t rounded[4];
    narrow(between, 4, rounded);
    const uint16_t even = low % 2 == 0 ? low : high;
    ASSERT_EQ(rounded[0], low);
    ASSERT_EQ(rounded[1], even);
    ASSERT_EQ(rounded[2], even | 0x8000);
    ASSERT_EQ(rounded[3], high);
  }
}

TEST(HalvesTest, RoundsToNearestEven) {
  test::on_every_target([] {
    check_rounding(half_to_float, float_to_half, 0x7bff);
    check_rounding(bfloat16_to_float, float_to_bfloat16, 0x7f00);
    const float beyond[] = {65519.0f, 65520.0f, 1e30f, -1e30f};
    uint16_t out[4];
    float_to_half(beyond, 4, out);
    EXPECT_EQ(out[0], 0x7bff);
    EXPECT_EQ(out[1], 0x7c00);
    EXPECT_EQ(out[2], 0x7c00);
    EXPECT_EQ(out[3], 0xfc00);
  });
}

}  // namespace
}  // namespace pt2::kernels
