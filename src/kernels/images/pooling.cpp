#include "kernels/images/pooling.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/images/pooling.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/vectors-inl.h"

// Defined once for all targets.
#ifndef PT2_KERNELS_POOLING_WINDOW
#define PT2_KERNELS_POOLING_WINDOW
namespace pt2::kernels {
namespace {

// Largest number of elements of a window that are summed sequentially.
constexpr int64_t kMostSummed = 128;

// The elements of a window that are inside the image, and their strides.
struct PoolingWindow {
  const float* first;
  int64_t rows, columns;
  int64_t row_step, column_step;
  float divisor;
};

}  // namespace
}  // namespace pt2::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

template <class Take>
HWY_INLINE void over_window(const PoolingWindow& window, int64_t channel, const Take& take) {
  for (int64_t y = 0; y < window.rows; ++y) {
    const float* from = window.first + y * window.row_step + channel;
    for (int64_t x = 0; x < window.columns; ++x, from += window.column_step) take(from);
  }
}

// Sums blocks of 16 elements, then blocks of 16 such sums, then these: a sequential sum of a whole
// image would accumulate too many rounding errors.
V sum_in_blocks(const PoolingWindow& window, int64_t channel, int64_t lanes) {
  V first = hn::Zero(Floats()), second = first, third = first;
  int64_t taken = 0;
  over_window(window, channel, [&](const float* from) HWY_ATTR {
    first = hn::Add(first, load_first(from, lanes));
    if (++taken % 16 != 0) return;
    second = hn::Add(second, first);
    first = hn::Zero(Floats());
    if (taken % 256 != 0) return;
    third = hn::Add(third, second);
    second = hn::Zero(Floats());
  });
  return hn::Add(hn::Add(first, second), third);
}

void pool_window(Pooling::Kind kind, const PoolingWindow& window, int64_t channels, float* out) {
  for (int64_t c = 0; c < channels; c += kLanes) {
    const int64_t lanes = std::min(kLanes, channels - c);
    if (kind == Pooling::Kind::maximum) {
      V largest = set(-std::numeric_limits<float>::infinity());
      over_window(window, c, [&](const float* from) HWY_ATTR {
        const V value = load_first(from, lanes);
        largest = hn::IfThenElse(hn::Or(hn::Gt(value, largest), hn::IsNaN(value)), value, largest);
      });
      store_first(largest, out + c, lanes);
    } else {
      V sum = hn::Zero(Floats());
      if (window.rows * window.columns > kMostSummed)
        sum = sum_in_blocks(window, c, lanes);
      else
        over_window(window, c, [&](const float* from) HWY_ATTR {
          sum = hn::Add(sum, load_first(from, lanes));
        });
      store_first(hn::Div(sum, set(window.divisor)), out + c, lanes);
    }
  }
}

// Pools `count` adjacent windows of one channel, `step` apart, that have the same rows and columns
// inside the image.
void pool_line(Pooling::Kind kind, const PoolingWindow& window, int64_t step, int64_t count,
               float* out, int64_t out_stride) {
  constexpr int64_t kAtOnce = 64;
  const bool is_maximum = kind == Pooling::Kind::maximum;
  for (int64_t begin = 0; begin < count; begin += kAtOnce) {
    const int64_t pixels = std::min(kAtOnce, count - begin);
    float taken[kAtOnce];
    std::fill_n(taken, kAtOnce, is_maximum ? -std::numeric_limits<float>::infinity() : 0.0f);
    over_window(window, begin * step, [&](const float* HWY_RESTRICT from) {
      for (int64_t i = 0; i < pixels; ++i) {
        const float value = from[i * step];
        if (is_maximum)
          taken[i] = value > taken[i] || value != value ? value : taken[i];
        else
          taken[i] += value;
      }
    });
    for (int64_t i = 0; i < pixels; ++i)
      out[(begin + i) * out_stride] = is_maximum ? taken[i] : taken[i] / window.divisor;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(pool_window);
PT2_EXPORT(pool_line);

namespace {

// A window along one axis: `count` elements from `first` inside the image, and the size with
// padding.
struct PoolingAxis {
  int64_t first;
  int64_t count;
  int64_t padded;
};
PoolingAxis find_axis(bool adaptive, int64_t index, int64_t in, int64_t out, int64_t kernel,
                      int64_t stride, int64_t dilation, int64_t pad) {
  if (adaptive) {
    const int64_t first = index * in / out;
    const int64_t end = ((index + 1) * in + out - 1) / out;
    return {first, end - first, end - first};
  }
  const int64_t start = index * stride - pad;
  const int64_t skipped = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
  const int64_t first = start + skipped * dilation;
  const int64_t inside = first >= in ? 0 : (in - first + dilation - 1) / dilation;
  return {first, std::max<int64_t>(0, std::min(kernel - skipped, inside)),
          std::min(start + kernel, in + pad) - start};
}

PoolingWindow find_window(const Pooling& pooling, const Images& images, int64_t pixel) {
  const int64_t x = pixel % pooling.out_width;
  const int64_t y = pixel / pooling.out_width % pooling.out_height;
  const int64_t image = pixel / pooling.out_width / pooling.out_height;
  const PoolingAxis rows =
      find_axis(pooling.adaptive, y, pooling.in_height, pooling.out_height, pooling.kernel_height,
                pooling.stride_y, pooling.dilation_y, pooling.pad_y);
  const PoolingAxis columns =
      find_axis(pooling.adaptive, x, pooling.in_width, pooling.out_width, pooling.kernel_width,
                pooling.stride_x, pooling.dilation_x, pooling.pad_x);
  int64_t divisor = pooling.divisor;
  if (divisor == 0)
    divisor = pooling.count_padding ? rows.padded * columns.padded : rows.count * columns.count;
  const int64_t dilation_y = pooling.adaptive ? 1 : pooling.dilation_y;
  const int64_t dilation_x = pooling.adaptive ? 1 : pooling.dilation_x;
  return {images.data + image * images.image_stride + rows.first * images.row_stride +
              columns.first * images.pixel_stride,
          rows.count,
          columns.count,
          dilation_y * images.row_stride,
          dilation_x * images.pixel_stride,
          static_cast<float>(divisor)};
}

// The pixels begin .. end - 1 of a row whose windows are inside the image's columns; pool_line
// computes them together. Empty for several channels, which fill vectors, and for averages of large
// windows, which pool_line would sum with too many roundings.
struct PoolingLine {
  int64_t begin = 0, end = 0;
};
PoolingLine find_line(const Pooling& pooling) {
  const bool is_large = pooling.kind == Pooling::Kind::average &&
                        pooling.kernel_height * pooling.kernel_width > kMostSummed;
  if (pooling.channels != 1 || pooling.adaptive || is_large) return {};
  const int64_t reach = (pooling.kernel_width - 1) * pooling.dilation_x;
  const int64_t last = pooling.in_width - 1 - reach + pooling.pad_x;
  if (last < 0) return {};
  return {(pooling.pad_x + pooling.stride_x - 1) / pooling.stride_x,
          std::min(pooling.out_width, last / pooling.stride_x + 1)};
}

}  // namespace

void pool_images(const Pooling& pooling, const Images& images, float* out, int64_t out_stride,
                 ThreadPool* pool) {
  // Few pixels with many channels (a global average) are split by channels, others by rows of
  // pixels.
  constexpr int64_t kChannels = 256;
  const int64_t pixels = pooling.batch * pooling.out_height * pooling.out_width;
  const int64_t parts = (pooling.channels + kChannels - 1) / kChannels;
  const int64_t at_once = std::max<int64_t>(1, pixels / 64);
  const PoolingLine line = find_line(pooling);
  run_tasks(pool, (pixels + at_once - 1) / at_once * parts, [&](int64_t task, int) {
    const int64_t channel = task % parts * kChannels;
    const int64_t channels = std::min(kChannels, pooling.channels - channel);
    const int64_t begin = task / parts * at_once;
    const int64_t end = std::min(pixels, begin + at_once);
    for (int64_t pixel = begin; pixel < end; ++pixel) {
      PoolingWindow window = find_window(pooling, images, pixel);
      const int64_t x = pixel % pooling.out_width;
      if (x >= line.begin && x < line.end) {
        const int64_t count = std::min(line.end - x, end - pixel);
        PT2_DISPATCH(pool_line)
        (pooling.kind, window, pooling.stride_x * images.pixel_stride, count,
         out + pixel * out_stride, out_stride);
        pixel += count - 1;
        continue;
      }
      window.first += channel;
      PT2_DISPATCH(pool_window)
      (pooling.kind, window, channels, out + pixel * out_stride + channel);
    }
  });
}

}  // namespace pt2::kernels
#endif
