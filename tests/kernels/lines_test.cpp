#include "kernels/lines.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

TEST(LinesTest, SumsEqualPlainLoops) {
  test::on_every_target([] {
    Random random(1);
    for (int round = 0; round < 60; ++round) {
      const int64_t count = random.whole(0, 9);
      const int64_t length = random.whole(1, round % 8 == 0 ? 700 : 70);
      const std::vector<float> values = random.numbers(5 * length);
      const std::vector<float> weights = random.numbers(count);
      std::vector<const float*> lines;
      for (int64_t k = 0; k < count; ++k)
        lines.push_back(values.data() + random.whole(0, 4 * length));
      for (const bool weighted : {false, true}) {
        std::vector<float> out(static_cast<size_t>(length + 3), 9);
        sum_lines({lines.data(), weighted ? weights.data() : nullptr, count, length}, out.data());
        for (int64_t i = 0; i < length; ++i) {
          double expected = 0;
          for (size_t k = 0; k < lines.size(); ++k)
            expected += static_cast<double>(lines[k][i]) * (weighted ? weights[k] : 1.0f);
          ASSERT_TRUE(test::close_to(out[static_cast<size_t>(i)], expected, 3e-6)) << i;
        }
        EXPECT_EQ(out[static_cast<size_t>(length)], 9);
      }
    }
  });
}

TEST(LinesTest, TapsEqualPlainLoops) {
  test::on_every_target([] {
    Random random(2);
    for (int round = 0; round < 60; ++round) {
      const int64_t taps = random.whole(1, 8);
      const int64_t count = random.whole(1, 70);
      const int64_t pitch = count + random.whole(0, 5);
      const int64_t size = random.whole(1, 90);
      const std::vector<float> plane = random.numbers(size);
      std::vector<float> weights = random.numbers(taps * pitch);
      std::vector<int32_t> offsets;
      for (int64_t i = 0; i < taps * pitch; ++i)
        offsets.push_back(static_cast<int32_t>(random.whole(-size / 2, size - 1)));
      if (round % 3 == 0) weights[0] = std::numeric_limits<float>::quiet_NaN();
      std::vector<float> out(static_cast<size_t>(count + 3), 9);
      sum_taps({offsets.data(), weights.data(), taps, pitch}, plane.data(), count, out.data());
      for (int64_t i = 0; i < count; ++i) {
        double expected = 0;
        for (int64_t k = 0; k < taps; ++k) {
          const auto place = static_cast<size_t>(k * pitch + i);
          const float element = offsets[place] < 0 ? 0 : plane[static_cast<size_t>(offsets[place])];
          expected += static_cast<double>(weights[place]) * static_cast<double>(element);
        }
        const float found = out[static_cast<size_t>(i)];
        ASSERT_TRUE(std::isnan(expected) ? std::isnan(found)
                                         : test::close_to(found, expected, 3e-6))
            << i;
      }
      EXPECT_EQ(out[static_cast<size_t>(count)], 9);
    }
  });
}

TEST(LinesTest, ColumnsEqualPlainLoops) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  test::on_every_target([&] {
    Random random(3);
    for (int round = 0; round < 60; ++round) {
      RowShape shape{.rows = random.whole(1, 100), .columns = random.whole(1, 300)};
      shape.in_stride = shape.columns + random.whole(0, 4);
      // Rows shorter than a vector, without gaps.
      if (round % 3 == 0) {
        shape.rows = random.whole(1, 700);
        shape.in_stride = shape.columns = int64_t{1} << random.whole(0, 4);
      }
      shape.out_stride = random.whole(1, 3);
      std::vector<float> in = random.numbers(shape.rows * shape.in_stride);
      if (round % 2 == 0) in[static_cast<size_t>(random.whole(0, shape.columns - 1))] = kNan;
      std::vector<float> out(static_cast<size_t>(shape.columns * shape.out_stride));
      for (const Reduction reduction :
           {Reduction::sum, Reduction::mean, Reduction::maximum, Reduction::minimum}) {
        reduce_columns(reduction, shape, in.data(), out.data());
        for (int64_t i = 0; i < shape.columns; ++i) {
          double sum = 0, largest = -9, smallest = 9;
          for (int64_t r = 0; r < shape.rows; ++r) {
            const double value = in[static_cast<size_t>(r * shape.in_stride + i)];
            sum += value;
            largest = std::max(largest, value);
            smallest = std::min(smallest, value);
          }
          double expected = reduction == Reduction::sum    ? sum
                            : reduction == Reduction::mean ? sum / static_cast<double>(shape.rows)
                            : reduction == Reduction::maximum ? largest
                                                              : smallest;
          if (std::isnan(sum)) expected = sum;
          ASSERT_TRUE(
              test::close_to(out[static_cast<size_t>(i * shape.out_stride)], expected, 1e-5))
              << i;
        }
      }
    }
  });
}

}  // namespace
}  // namespace pt2::kernels
