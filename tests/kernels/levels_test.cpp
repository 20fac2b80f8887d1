#include "kernels/dtypes/levels.h"

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

// Quantizes and dequantizes x exactly as the operators of quantized_decomposed do.
float referee(float x, const Levels& levels) {
  const float scaled = x * levels.inverse;
  if (std::isnan(scaled)) return (0.0f - levels.back_zero) * levels.scale;
  const float level = std::nearbyint(scaled) + levels.zero;
  const float bounded = std::clamp(level, levels.low + levels.zero, levels.high + levels.zero);
  return (bounded - levels.back_zero) * levels.scale;
}

TEST(Levels, AreThoseOfQuantizedNumbers) {
  test::Random random(1);
  for (const float scale : {0.05f, 1.0f, 3.7f, 1e-30f, -0.5f, 0.0f})
    for (const float zero : {0.0f, 10.0f, -3.0f, 128.0f}) {
      const Levels levels{1 / scale, zero, -128 - zero, 127 - zero, scale, zero};
      std::vector<float> in{NAN,   INFINITY, -INFINITY, -0.0f, 0.0f,  1e-40f,
                            3e38f, -3e38f,   0.025f,    0.5f,  -1.5f, 2.5f};
      for (int i = 0; i < 400; ++i)
        in.push_back(static_cast<float>(random.whole(-300, 300)) * 0.5f * scale);
      std::vector<float> out(in.size());
      round_to_levels(in.data(), static_cast<int64_t>(in.size()), levels, out.data());
      for (size_t i = 0; i < in.size(); ++i) {
        const float expected = referee(in[i], levels);
        EXPECT_EQ(std::memcmp(&out[i], &expected, sizeof expected), 0)
            << in[i] << " by " << scale << ", zero " << zero << ": found " << out[i]
            << ", expected " << expected;
      }
    }
}

template <class Level>
void check_stored() {
  test::Random random(2);
  constexpr float kLeast = std::numeric_limits<Level>::min();
  for (const int64_t count : {1, 7, 16, 33, 1000})
    for (const float zero : {0.0f, 100.0f, kLeast}) {
      const Levels levels{1 / 0.3f, zero, kLeast - zero, kLeast + 255 - zero, 0.3f, zero};
      std::vector<float> in = random.numbers(count), out(in.size());
      for (float& number : in) number *= 40;
      in[0] = NAN;
      std::vector<Level> stored(in.size() + 1, Level{77});
      to_levels(in.data(), count, levels, stored.data());
      EXPECT_EQ(stored.back(), Level{77});
      from_levels(stored.data(), count, levels, out.data());
      for (size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], referee(in[i], levels)) << in[i];
    }
}

TEST(Levels, AreStoredAndReadBack) {
  test::on_every_target([] {
    check_stored<uint8_t>();
    check_stored<int8_t>();
  });
}

}  // namespace
}  // namespace pt2::kernels
