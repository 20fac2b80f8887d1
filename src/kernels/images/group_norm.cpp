#include "kernels/images/group_norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/lines.h"
#include "kernels/pointwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/images/group_norm.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// Writes the sums over pixels of (x - center)^2 for `lanes` channels. Blocks of 32 pixels are
// summed in float, the sums of blocks in double.
void squares_of_lanes(int64_t pixels, int64_t stride, const float* in, const float* center,
                      int64_t lanes, float* out) {
  constexpr int64_t kBlock = 32;
  HWY_ALIGN float part[kLanes];
  double totals[kLanes] = {};
  const V middle = load_first(center, lanes);
  for (int64_t first = 0; first < pixels; first += kBlock) {
    V sum = hn::Zero(Floats());
    for (int64_t p = first; p < std::min(pixels, first + kBlock); ++p) {
      const V off = hn::Sub(load_first(in + p * stride, lanes), middle);
      sum = hn::MulAdd(off, off, sum);
    }
    store(sum, part);
    for (int64_t i = 0; i < lanes; ++i) totals[i] += static_cast<double>(part[i]);
  }
  for (int64_t i = 0; i < lanes; ++i) out[i] = static_cast<float>(totals[i]);
}

void squares_of_channels(int64_t pixels, int64_t channels, const float* in, const float* center,
                         float* out) {
  for (int64_t c = 0; c < channels; c += kLanes)
    squares_of_lanes(pixels, channels, in + c, center + c, std::min(kLanes, channels - c), out + c);
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(squares_of_channels);

namespace {

// Floats of a chunk of pixels, whose statistics are computed together: the second pass finds the
// chunk in the L1 cache. Chunks do not depend on the number of threads, and neither do sums.
constexpr int64_t kChunkFloats = int64_t{1} << 12;
constexpr int64_t kParallelFloats = int64_t{1} << 15;

int64_t chunk_pixels(const GroupNorm& norm) {
  return std::max<int64_t>(1, kChunkFloats / norm.channels);
}
int64_t chunk_count(const GroupNorm& norm) {
  const int64_t pixels = chunk_pixels(norm);
  return (norm.area + pixels - 1) / pixels;
}

ThreadPool* pool_for(const GroupNorm& norm, ThreadPool* pool) {
  return norm.images * norm.channels * norm.area >= kParallelFloats ? pool : nullptr;
}

// Statistics of the channels of one image: [chunks, mean and squares, channels].
struct Statistics {
  const GroupNorm& norm;
  const float* data;

  double pixels(int64_t chunk) const {
    const int64_t each = chunk_pixels(norm);
    return static_cast<double>(std::min(each, norm.area - chunk * each));
  }
  double mean(int64_t chunk, int64_t channel) const {
    return static_cast<double>(data[2 * chunk * norm.channels + channel]);
  }
  double squares(int64_t chunk, int64_t channel) const {
    return static_cast<double>(data[(2 * chunk + 1) * norm.channels + channel]);
  }

  // Returns the joint moments of the channels begin .. end - 1.
  RowMoments moments(int64_t begin, int64_t end) const {
    RowMoments out;
    const int64_t chunks = chunk_count(norm);
    const double count = static_cast<double>(norm.area * (end - begin));
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      double sum = 0;
      for (int64_t c = begin; c < end; ++c) sum += mean(chunk, c);
      out.mean += sum * pixels(chunk) / count;
    }
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      for (int64_t c = begin; c < end; ++c) {
        const double off = mean(chunk, c) - out.mean;
        out.squares += squares(chunk, c) + pixels(chunk) * off * off;
      }
    return out;
  }
};

// A channel's x becomes x * scale + shift.
struct ScaleAndShift {
  float scale, shift;
};
ScaleAndShift scale_and_shift(const RowMoments& moments, double count, double epsilon,
                              const float* weight, const float* bias, int64_t channel) {
  // Rounded to float like the products with it (ATen/native/cpu/group_norm_kernel.cpp).
  auto scale = static_cast<float>(1 / std::sqrt(moments.squares / count + epsilon));
  if (weight != nullptr) scale *= weight[channel];
  const float moved = scale * static_cast<float>(moments.mean);
  return {scale, (bias == nullptr ? 0 : bias[channel]) - moved};
}

}  // namespace

int64_t group_norm_scratch(const GroupNorm& norm) {
  return norm.images * norm.channels * 2 * (chunk_count(norm) + 1);
}

void group_norm_channels_last(const GroupNorm& norm, const float* in, const float* weight,
                              const float* bias, float* scratch, float* out, ThreadPool* pool) {
  const int64_t chunks = chunk_count(norm), channels = norm.channels,
                width = channels / norm.groups;
  const int64_t image_floats = norm.area * channels, pixels = chunk_pixels(norm);
  float* const factors = scratch + norm.images * chunks * 2 * channels;
  run_tasks(pool_for(norm, pool), norm.images * chunks, [&](int64_t task, int) {
    const int64_t first = task % chunks * pixels, count = std::min(pixels, norm.area - first);
    const float* from = in + task / chunks * image_floats + first * channels;
    float* mean = scratch + task * 2 * channels;
    reduce_columns(Reduction::mean,
                   {.rows = count, .columns = channels, .in_stride = channels, .out_stride = 1},
                   from, mean);
    PT2_DISPATCH(squares_of_channels)(count, channels, from, mean, mean + channels);
  });
  for (int64_t image = 0; image < norm.images; ++image) {
    const Statistics statistics{norm, scratch + image * chunks * 2 * channels};
    float* const scale = factors + image * 2 * channels;
    float* const shift = scale + channels;
    for (int64_t begin = 0; begin < channels; begin += width) {
      const RowMoments moments = statistics.moments(begin, begin + width);
      if (norm.moments != nullptr) norm.moments[image * norm.groups + begin / width] = moments;
      for (int64_t c = begin; c < begin + width; ++c) {
        const auto found = scale_and_shift(moments, static_cast<double>(width * norm.area),
                                           norm.epsilon, weight, bias, c);
        scale[c] = found.scale;
        shift[c] = found.shift;
      }
    }
    scale_shift({norm.area, channels}, {in + image * image_floats, channels}, {scale, 0},
                {shift, 0}, norm.activation, {out + image * image_floats, channels}, pool);
  }
}

void group_norm_planes(const GroupNorm& norm, const float* in, const float* weight,
                       const float* bias, float* out, ThreadPool* pool) {
  const int64_t width = norm.channels / norm.groups, length = width * norm.area;
  run_tasks(pool_for(norm, pool), norm.images * norm.groups, [&](int64_t task, int) {
    const float* from = in + task * length;
    float* to = out + task * length;
    const RowMoments moments = row_moments(from, length);
    if (norm.moments != nullptr) norm.moments[task] = moments;
    for (int64_t c = 0; c < width; ++c) {
      const auto found = scale_and_shift(moments, static_cast<double>(length), norm.epsilon, weight,
                                         bias, task % norm.groups * width + c);
      scale_row(from + c * norm.area, norm.area, found.scale, found.shift, to + c * norm.area);
    }
    if (norm.activation != Activation::none) apply(norm.activation, to, to, length);
  });
}

}  // namespace pt2::kernels
#endif
