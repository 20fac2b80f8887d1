#include "kernels/points.h"

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

// Returns positions inside, at the edges, outside and far away.
std::vector<float> positions_around(Random& random, int64_t size, int64_t count) {
  const auto last = static_cast<float>(size - 1);
  std::vector<float> out = {0,    -0.5f, -1,    last,   last + 0.5f, last + 1,  0.5f,
                            1.5f, NAN,   1e30f, -1e30f, INFINITY,    -INFINITY, -1e-7f};
  while (static_cast<int64_t>(out.size()) < count)
    out.push_back(random.number(-2, static_cast<float>(size + 1)));
  out.resize(static_cast<size_t>(count));
  return out;
}

int32_t inside(double index, int64_t size) {
  return index >= 0 && index < static_cast<double>(size) ? static_cast<int32_t>(index) : -1;
}

TEST(PointsTest, PlacesAreThoseAroundPositions) {
  test::on_every_target([&] {
    Random random(1);
    for (int i = 0; i < 60; ++i) {
      const int64_t count = random.whole(1, kPoints), size = random.whole(1, 40);
      const std::vector<float> positions = positions_around(random, size, count);
      PointTaps linear, nearest;
      linear_taps(positions.data(), count, size, linear);
      nearest_taps(positions.data(), count, size, nearest);
      for (int64_t p = 0; p < count; ++p) {
        const double position = positions[static_cast<size_t>(p)];
        const double floor = std::floor(position);
        const bool is_near = position > -2 && position < static_cast<double>(size + 1);
        ASSERT_EQ(std::max(linear.index[0][p], -1), is_near ? inside(floor, size) : -1) << position;
        ASSERT_EQ(std::max(linear.index[1][p], -1), is_near ? inside(floor + 1, size) : -1)
            << position;
        ASSERT_EQ(std::max(nearest.index[0][p], -1),
                  is_near ? inside(std::nearbyint(position), size) : -1)
            << position;
        ASSERT_EQ(std::isnan(linear.weight[1][p]), !std::isfinite(position));
        if (!is_near) continue;
        ASSERT_NEAR(linear.weight[1][p], position - floor, 1e-6);
        ASSERT_NEAR(linear.weight[0][p], 1 - (position - floor), 1e-6);
        ASSERT_EQ(nearest.weight[0][p], 1);
      }
    }
  });
}

TEST(PointsTest, CoordinatesBecomePositions) {
  test::on_every_target([&] {
    Random random(2);
    for (int i = 0; i < 30; ++i) {
      const int64_t count = random.whole(1, kPoints), size = random.whole(1, 40);
      for (const bool align_corners : {false, true}) {
        const std::vector<float> from = random.numbers(count, -1.5f, 1.5f);
        std::vector<float> to = from;
        place_points(to.data(), count, size, align_corners);
        for (size_t p = 0; p < to.size(); ++p) {
          const double x = from[p], extent = static_cast<double>(size);
          ASSERT_NEAR(to[p],
                      align_corners ? (x + 1) / 2 * (extent - 1) : ((x + 1) * extent - 1) / 2,
                      1e-5 * extent);
        }
        const std::vector<float> before = positions_around(random, size, count);
        std::vector<float> clipped = before;
        clip_points(clipped.data(), count, size, 0.5f);
        const auto last = static_cast<float>(size - 1);
        for (size_t p = 0; p < clipped.size(); ++p)
          ASSERT_EQ(clipped[p], std::isnan(before[p]) ? 0.5f : std::clamp(before[p], 0.0f, last));
      }
    }
  });
}

TEST(PointsTest, DimensionsAreCombined) {
  test::on_every_target([&] {
    Random random(3);
    for (int i = 0; i < 30; ++i) {
      const int64_t count = random.whole(1, kPoints), size = random.whole(1, 40);
      std::vector<int32_t> index, offset, expected;
      for (int64_t p = 0; p < count; ++p) {
        index.push_back(static_cast<int32_t>(random.whole(-1, size - 1)));
        offset.push_back(static_cast<int32_t>(random.whole(-1, 30)));
        expected.push_back(index.back() < 0 || offset.back() < 0
                               ? -1
                               : offset.back() * static_cast<int32_t>(size) + index.back());
      }
      const std::vector<float> factor = random.numbers(count);
      std::vector<float> weight = random.numbers(count), product = weight;
      for (size_t p = 0; p < product.size(); ++p) product[p] *= factor[p];
      combine_taps(index.data(), factor.data(), count, size, offset.data(), weight.data());
      ASSERT_EQ(offset, expected);
      ASSERT_TRUE(test::equal_bits(weight, product));
    }
  });
}

}  // namespace
}  // namespace pt2::kernels
