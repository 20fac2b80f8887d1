#include "kernels/dtypes/levels.h"

namespace pt2::kernels {

void round_to_levels(const float* in, int64_t count, const Levels& levels, float* out) {
  // A float this large has no fraction: what is added to it is rounded. Every vector unit adds,
  // not every one rounds.
  constexpr float kWhole = 0x1.8p23f;
  const Levels l = levels;
  for (int64_t i = 0; i < count; ++i) {
    const float scaled = in[i] * l.inverse;
    float level = scaled > l.low ? scaled : l.low;
    level = level < l.high ? level : l.high;
    level = ((level + kWhole) - kWhole) + l.zero;
    level = scaled == scaled ? level : 0.0f;
    out[i] = (level - l.back_zero) * l.scale;
  }
}

}  // namespace pt2::kernels
