#include "kernels/dtypes/levels.h"

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

// As the operators of quantized_decomposed compute it, to the bit.
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

}  // namespace
}  // namespace pt2::kernels
