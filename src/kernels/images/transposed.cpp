#include "kernels/images/transposed.h"

#include <algorithm>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/images/transposed.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/vectors-inl.h"

// What gather_row reads; defined once for all targets.
#ifndef PT2_KERNELS_TRANSPOSED_BAND
#define PT2_KERNELS_TRANSPOSED_BAND
namespace pt2::kernels {
namespace {

// The windows of some rows of an image for one group; or the image itself and its kernels, if each
// channel has a kernel of its own.
struct Band {
  const TransposedConvolution& shape;
  int64_t first_row, end_row;  // rows of the image; depth and height are merged
  int64_t channels;            // of the group's result
  int64_t columns;             // floats per pixel of `windows`
  const float* windows;
  const float* kernels;  // of the image's channels, tap by tap; null if there are windows
  float* out;            // of the image, from the group's first channel on
  const float* bias;     // from the group's first channel on
  bool is_first, is_last;
  Activation activation;
};

// The distance of two taps along the height that lie over pixels, or 1 if that depends on more.
inline int64_t tap_step(const TransposedConvolution& shape) {
  return shape.dilation[1] == 1 ? shape.stride[1] : 1;
}

}  // namespace
}  // namespace pt2::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

HWY_INLINE void add_span(const float* from, float* to, int64_t count) {
  if (count < 4) {
    for (int64_t i = 0; i < count; ++i) to[i] += from[i];
    return;
  }
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(hn::Add(load(to + i), load(from + i)), to + i);
  if (i < count)
    store_first(hn::Add(load_first(to + i, count - i), load_first(from + i, count - i)), to + i,
                count - i);
}

HWY_INLINE void add_products(const float* from, const float* kernel, float* to, int64_t count) {
  if (count < 4) {
    for (int64_t i = 0; i < count; ++i) to[i] += from[i] * kernel[i];
    return;
  }
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    store(hn::MulAdd(load(from + i), load(kernel + i), load(to + i)), to + i);
  if (i < count)
    store_first(hn::MulAdd(load_first(from + i, count - i), load_first(kernel + i, count - i),
                           load_first(to + i, count - i)),
                to + i, count - i);
}

// Adds the contributions of one row of the image to a row of the result, by the kernel row whose
// first tap is `tap`.
void add_row(const Band& band, const float* windows, int64_t tap, float* to) {
  const TransposedConvolution& shape = band.shape;
  const int64_t in = shape.in[2], out = shape.out[2], stride = shape.stride[2];
  for (int64_t k = 0; k < shape.kernel[2]; ++k) {
    const int64_t offset = k * shape.dilation[2] - shape.pad[2];
    const int64_t begin = offset >= 0 ? 0 : (-offset - 1) / stride + 1;
    const int64_t end = offset >= out ? 0 : std::min(in, (out - 1 - offset) / stride + 1);
    const int64_t first = (tap + k) * band.channels;
    for (int64_t x = begin; x < end; ++x) {
      const float* from = windows + x * band.columns;
      float* pixel = to + (x * stride + offset) * shape.out_channels;
      if (band.kernels != nullptr)
        add_products(from, band.kernels + first, pixel, band.channels);
      else
        add_span(from + first, pixel, band.channels);
    }
  }
}

void gather_row(const Band& band, int64_t row) {
  const TransposedConvolution& shape = band.shape;
  const int64_t width = shape.out[2];
  float* to = band.out + row * width * shape.out_channels;
  if (band.is_first)
    for (int64_t x = 0; x < width; ++x)
      for (int64_t c = 0; c < band.channels; ++c)
        to[x * shape.out_channels + c] = band.bias == nullptr ? 0.0f : band.bias[c];
  const int64_t place[2] = {row / shape.out[1], row % shape.out[1]};
  // The row of the image that tap `k` of the kernel adds to this row along dimension `dim`, or -1.
  const auto source = [&](size_t dim, int64_t k) {
    const int64_t at = place[dim] + shape.pad[dim] - k * shape.dilation[dim];
    return at < 0 || at % shape.stride[dim] != 0 || at / shape.stride[dim] >= shape.in[dim]
               ? -1
               : at / shape.stride[dim];
  };
  // A long kernel of signals has few taps over each row: without dilation, every stride-th one.
  const int64_t behind = place[1] + shape.pad[1], step = tap_step(shape);
  const int64_t last_row = behind - (shape.in[1] - 1) * shape.stride[1];
  const int64_t first_tap = std::max((last_row + shape.dilation[1] - 1) / shape.dilation[1],
                                     step == 1 ? 0 : behind % step);
  const int64_t end_tap = std::min(shape.kernel[1], behind / shape.dilation[1] + 1);
  for (int64_t kz = 0; kz < shape.kernel[0]; ++kz) {
    const int64_t z = source(0, kz);
    if (z < 0) continue;
    for (int64_t ky = first_tap; ky < end_tap; ky += step) {
      const int64_t y = source(1, ky), from = z * shape.in[1] + y;
      if (y < 0 || from < band.first_row || from >= band.end_row) continue;
      add_row(band, band.windows + (from - band.first_row) * shape.in[2] * band.columns,
              (kz * shape.kernel[1] + ky) * shape.kernel[2], to);
    }
  }
  if (!band.is_last || band.activation == Activation::none) return;
  if (band.channels == shape.out_channels)
    return activate_span(band.activation, to, to, width * band.channels);
  for (int64_t x = 0; x < width; ++x)
    activate_span(band.activation, to + x * shape.out_channels, to + x * shape.out_channels,
                  band.channels);
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(gather_row);

namespace {

int64_t volume(const TransposedConvolution::Extents& extents) {
  return extents[0] * extents[1] * extents[2];
}
int64_t columns_of(const TransposedConvolution& shape) {
  return volume(shape.kernel) * (shape.out_channels / shape.groups);
}
int64_t image_rows(const TransposedConvolution& shape) { return shape.in[0] * shape.in[1]; }
bool is_channelwise(const TransposedConvolution& shape) {
  return shape.groups == shape.in_channels && shape.groups == shape.out_channels;
}

// Number of rows whose windows are computed at a time: the windows should stay in the L2 cache.
int64_t rows_at_once(const TransposedConvolution& shape) {
  constexpr int64_t kMost = int64_t{1} << 17;
  return std::clamp<int64_t>(kMost / (shape.in[2] * columns_of(shape)), 1, image_rows(shape));
}

// The rows of the result that rows first .. end - 1 of the image contribute to: all rows for
// volumes.
struct RowRange {
  int64_t first, end;
};
RowRange rows_met(const TransposedConvolution& shape, int64_t first, int64_t end) {
  const int64_t all = shape.out[0] * shape.out[1];
  if (shape.in[0] != 1 || shape.out[0] != 1) return {0, all};
  const int64_t reach = (shape.kernel[1] - 1) * shape.dilation[1] + 1;
  return {std::clamp<int64_t>(first * shape.stride[1] - shape.pad[1], 0, all),
          std::clamp<int64_t>((end - 1) * shape.stride[1] - shape.pad[1] + reach, 0, all)};
}

void add_band(const Band& band, ThreadPool* pool) {
  const TransposedConvolution& shape = band.shape;
  const RowRange range = band.is_first || band.is_last
                             ? RowRange{0, shape.out[0] * shape.out[1]}
                             : rows_met(shape, band.first_row, band.end_row);
  const auto gather = PT2_DISPATCH(gather_row);
  constexpr int64_t kTaskFloats = int64_t{1} << 13;
  const int64_t rows = range.end - range.first;
  const int64_t tasks = std::clamp<int64_t>(rows * shape.out[2] * band.channels / kTaskFloats, 1,
                                            std::max<int64_t>(rows, 1));
  run_tasks(pool, tasks, [&](int64_t task, int) {
    for (int64_t i = part_begin(rows, tasks, task); i < part_begin(rows, tasks, task + 1); ++i)
      gather(band, range.first + i);
  });
}

}  // namespace

int64_t gather_work(const TransposedConvolution& shape) {
  // The product is that of the result's size, which was checked; one more stride may overflow.
  const int64_t reach = (shape.in[1] - 1) * shape.stride[1] / shape.dilation[1] + 1;
  const int64_t taps = std::min(shape.kernel[1], reach) / tap_step(shape) + 1;
  const bool is_volume = shape.in[0] != 1 || shape.out[0] != 1;
  const bool channelwise = is_channelwise(shape);
  const int64_t bands = is_volume && !channelwise ? image_rows(shape) / rows_at_once(shape) + 1 : 1;
  double nanoseconds = 16;
  for (const int64_t extent : {shape.batch, channelwise ? 1 : shape.groups, bands, shape.out[0],
                               shape.out[1], shape.kernel[0], taps, shape.kernel[2], shape.in[2]})
    nanoseconds *= static_cast<double>(extent);
  return static_cast<int64_t>(std::min(nanoseconds, 0x1p62));
}

int64_t packed_transposed_size(const TransposedConvolution& shape) {
  if (is_channelwise(shape)) return volume(shape.kernel) * shape.groups;
  return shape.groups * packed_size(shape.in_channels / shape.groups, columns_of(shape));
}

int64_t transposed_scratch_size(const TransposedConvolution& shape) {
  if (is_channelwise(shape)) return 0;
  return rows_at_once(shape) * shape.in[2] * columns_of(shape);
}

void pack_transposed(const TransposedConvolution& shape, const float* kernels, float* packed,
                     ThreadPool* pool) {
  const int64_t area = volume(shape.kernel), channels = shape.out_channels / shape.groups;
  if (is_channelwise(shape)) {
    for (int64_t tap = 0; tap < area; ++tap)
      for (int64_t c = 0; c < shape.groups; ++c) *packed++ = kernels[c * area + tap];
    return;
  }
  Packing packing;
  packing.depth = shape.in_channels / shape.groups;
  packing.columns = columns_of(shape);
  packing.depth_stride = packing.columns;
  packing.column_stride = 1;
  // The channels of a pixel of the window become contiguous.
  std::vector<float> turned(static_cast<size_t>(packing.depth * packing.columns));
  for (int64_t group = 0; group < shape.groups; ++group) {
    const float* from = kernels + group * packing.depth * packing.columns;
    for (int64_t in = 0; in < packing.depth; ++in)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t tap = 0; tap < area; ++tap)
          turned[static_cast<size_t>((in * area + tap) * channels + c)] =
              from[(in * channels + c) * area + tap];
    pack_right(turned.data(), packing, packed + group * packed_size(packing.depth, packing.columns),
               pool);
  }
}

void convolve_transposed(const TransposedConvolution& shape, const float* images,
                         const float* packed, const float* bias, Activation activation, float* out,
                         float* scratch, ThreadPool* pool) {
  const int64_t rows = image_rows(shape), width = shape.in[2];
  if (is_channelwise(shape)) {
    const int64_t channels = shape.groups;
    for (int64_t image = 0; image < shape.batch; ++image)
      add_band({.shape = shape,
                .first_row = 0,
                .end_row = rows,
                .channels = channels,
                .columns = channels,
                .windows = images + image * rows * width * channels,
                .kernels = packed,
                .out = out + image * volume(shape.out) * channels,
                .bias = bias,
                .is_first = true,
                .is_last = true,
                .activation = activation},
               pool);
    return;
  }
  const int64_t step = rows_at_once(shape);
  Product product;
  product.columns = columns_of(shape);
  product.depth = shape.in_channels / shape.groups;
  product.left_stride = shape.in_channels;
  product.out = scratch;
  product.out_stride = product.columns;
  const int64_t channels = shape.out_channels / shape.groups;
  for (int64_t image = 0; image < shape.batch; ++image)
    for (int64_t group = 0; group < shape.groups; ++group)
      for (int64_t row = 0; row < rows; row += step) {
        const int64_t end = std::min(rows, row + step);
        product.rows = (end - row) * width;
        product.left =
            images + (image * rows + row) * width * shape.in_channels + group * product.depth;
        product.packed = packed + group * packed_size(product.depth, product.columns);
        multiply_packed(product, pool);
        add_band({.shape = shape,
                  .first_row = row,
                  .end_row = end,
                  .channels = channels,
                  .columns = product.columns,
                  .windows = scratch,
                  .kernels = nullptr,
                  .out = out + image * volume(shape.out) * shape.out_channels + group * channels,
                  .bias = bias == nullptr ? nullptr : bias + group * channels,
                  .is_first = row == 0,
                  .is_last = end == rows,
                  .activation = activation},
                 pool);
      }
}

}  // namespace pt2::kernels
#endif
