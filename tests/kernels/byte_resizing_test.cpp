#include "kernels/images/byte_resizing.h"

#include <vector>

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

std::vector<uint8_t> random_bytes(Random& random, int64_t count) {
  std::vector<uint8_t> out(static_cast<size_t>(count));
  for (uint8_t& byte : out) byte = static_cast<uint8_t>(random.whole(0, 255));
  return out;
}
// Returns weights whose sum is about 2^precision. Some are negative.
std::vector<int16_t> random_weights(Random& random, int64_t count, int precision) {
  std::vector<int16_t> out(static_cast<size_t>(count));
  const int64_t most = std::min<int64_t>(32767, (int64_t{2} << precision) / count);
  for (int16_t& weight : out) weight = static_cast<int16_t>(random.whole(-most / 4, most));
  return out;
}
int byte_of(int64_t sum, int precision) {
  const int64_t half = (int64_t{1} << precision) / 2;
  return static_cast<int>(std::clamp<int64_t>((sum + half) >> precision, 0, 255));
}

TEST(ByteResizing, LinesAreAddedUp) {
  test::on_every_target([] {
    Random random(5);
    for (int round = 0; round < 40; ++round) {
      const int64_t count = random.whole(1, 9), length = random.whole(1, 400);
      const int precision = static_cast<int>(random.whole(0, 14));
      std::vector<std::vector<uint8_t>> all;
      std::vector<const uint8_t*> lines;
      for (int64_t k = 0; k < count; ++k) all.push_back(random_bytes(random, length));
      for (const auto& line : all) lines.push_back(line.data());
      const std::vector<int16_t> weights = random_weights(random, count, precision);
      std::vector<uint8_t> out(static_cast<size_t>(length) + 1, 9);
      sum_byte_lines({lines.data(), weights.data(), count, length, precision}, out.data());
      for (size_t i = 0; i < static_cast<size_t>(length); ++i) {
        int64_t sum = 0;
        for (size_t k = 0; k < all.size(); ++k) sum += weights[k] * all[k][i];
        ASSERT_EQ(out[i], byte_of(sum, precision));
      }
      EXPECT_EQ(out.back(), 9);
    }
  });
}

TEST(ByteResizing, TapsAreAddedUp) {
  test::on_every_target([] {
    Random random(6);
    for (int round = 0; round < 40; ++round) {
      const int64_t taps = kByteTaps * random.whole(1, 3), in = taps + random.whole(0, 90),
                    count = random.whole(1, 60);
      const int precision = static_cast<int>(random.whole(0, 14));
      const std::vector<uint8_t> row = random_bytes(random, in);
      std::vector<int64_t> first;
      for (int64_t i = 0; i < count; ++i) first.push_back(random.whole(0, in - taps));
      std::vector<int16_t> weights;
      for (int64_t i = 0; i < count; ++i)
        for (const int16_t weight : random_weights(random, taps, precision))
          weights.push_back(weight);
      std::vector<uint8_t> out(static_cast<size_t>(count) + 1, 9);
      sum_byte_taps({first.data(), weights.data(), taps, precision}, row.data(), count, out.data());
      for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
        int64_t sum = 0;
        for (size_t k = 0; k < static_cast<size_t>(taps); ++k)
          sum +=
              weights[i * static_cast<size_t>(taps) + k] * row[static_cast<size_t>(first[i]) + k];
        ASSERT_EQ(out[i], byte_of(sum, precision));
      }
      EXPECT_EQ(out.back(), 9);
    }
  });
}

}  // namespace
}  // namespace pt2::kernels
