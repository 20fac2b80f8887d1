// Helpers of kernel tests: random operands, a loop over all targets, and comparisons with a
// reference computed in double.
#ifndef PT2_TESTS_KERNELS_KERNEL_TEST_H
#define PT2_TESTS_KERNELS_KERNEL_TEST_H

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/targets.h"

namespace pt2::kernels::test {

// Calls `body` for each instruction set that this processor has.
inline void on_every_target(const std::function<void()>& body) {
  for (const std::string_view name : target_names()) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, std::string(name));
    ASSERT_TRUE(use_target(name));
    body();
  }
  use_target("");
}

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int64_t whole(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(engine_);
  }
  float number(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(engine_);
  }
  std::vector<float> numbers(int64_t count, float low = -1, float high = 1) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = number(low, high);
    return values;
  }

 private:
  std::mt19937 engine_;
};

inline bool equal_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// True if |found - expected| is at most `tolerance`, or both are the same infinity, or both are
// NaN.
inline bool close_to(double found, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(found);
  if (std::isinf(expected)) return found == expected;
  return std::abs(found - expected) <= tolerance;
}

// Returns the softmax (or its logarithm) of one row or column, in double.
inline std::vector<double> softmax(std::vector<double> row, bool logarithm) {
  const double largest = *std::max_element(row.begin(), row.end());
  double total = 0;
  for (const double value : row) total += std::exp(value - largest);
  for (double& value : row)
    value = logarithm ? value - largest - std::log(total) : std::exp(value - largest) / total;
  return row;
}

}  // namespace pt2::kernels::test

#endif  // PT2_TESTS_KERNELS_KERNEL_TEST_H
