#include "kernels/images/depthwise.h"

#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/images/depthwise.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

struct Depthwise : ConvolutionOperands {
  Convolution shape;
};

// One row of results, and the kernel rows that are inside the image.
struct Row {
  const float* image;
  int64_t first_out;  // pixel
  int64_t top;        // image row under the first kernel row
  int64_t first_kernel_row;
  int64_t kernel_rows_end;
  // The image rows that the next row of results reads and this row does not.
  const float* ahead;
  int64_t rows_ahead;
};

// Prefetches the part of the rows at row.ahead that lies beneath kPixels results into the L2 cache,
// while these results are computed. Images of networks are larger than the L2 cache, and rows of
// channels are too long for hardware prefetching.
template <int kPixels, int kStride>
HWY_INLINE void read_ahead(const Depthwise& work, const Row& row, int64_t x, int64_t channel) {
  constexpr int64_t kLine = 16;
  if (channel % kLine != 0) return;
  const int64_t pixel = work.images.pixel_stride;
  const float* ahead = row.ahead + x * kStride * pixel + channel;
  for (int64_t y = 0; y < row.rows_ahead; ++y, ahead += work.images.row_stride)
#pragma GCC unroll 16
    for (int p = 0; p < kPixels * kStride; ++p) __builtin_prefetch(ahead + p * pixel, 0, 2);
}

// Applies the epilogue to the sums of `count` channels of adjacent pixels; with kWhole, all lanes
// are channels. The code is larger than that of the summing functions and is compiled once for all
// of them. The sums are separate parameters so that they are passed in registers.
template <bool kWhole, class... Sums>
HWY_NOINLINE void finish_pixels(const Depthwise& work, int64_t first_pixel, int64_t channel,
                                int64_t count, Sums... each) {
  constexpr int kPixels = sizeof...(Sums);
  V sums[kPixels] = {each...};
  const Epilogue& epilogue = work.epilogue;
  if (epilogue.addend != nullptr) {
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) {
      const float* from = epilogue.addend + (first_pixel + p) * epilogue.addend_stride + channel;
      sums[p] = hn::Add(sums[p], kWhole ? load(from) : load_first(from, count));
    }
  }
  activate_all(epilogue.activation, sums);
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) {
    float* to = work.out + (first_pixel + p) * work.out_stride + channel;
    if (kWhole)
      store(sums[p], to);
    else
      store_first(sums[p], to, count);
  }
}

template <bool kWhole, int kPixels>
HWY_INLINE void finish_all(const Depthwise& work, int64_t first_pixel, int64_t channel,
                           int64_t count, const V (&sums)[kPixels]) {
  [&]<size_t... kPixel>(std::index_sequence<kPixel...>) HWY_ATTR {
    finish_pixels<kWhole>(work, first_pixel, channel, count, sums[kPixel]...);
  }
  (std::make_index_sequence<kPixels>());
}

// Returns input channel kInput of each lane's group. `pixel` points to channel c of the pixel. With
// kInputs == 1, lane i reads channel c + i, which is in `own`; otherwise it reads channel kInput of
// the four channels of its group.
template <int kInputs, int kInput>
HWY_INLINE V input_of(const float* pixel, [[maybe_unused]] int64_t c, V own) {
  if constexpr (kInputs == 1)
    return own;
  else if constexpr (kLanes < kInputs)
    return set(pixel[kInput - c % kInputs]);
  else
    return hn::Broadcast<kInput>(own);
}

// Sums kPixels adjacent pixels of a row, from channel first_channel on. For all of them, exactly
// the kernel columns from `first` to `end` are inside the image. Groups have kInputs channels.
template <int kPixels, int kInputs = 1>
void sum_pixels(const Depthwise& work, const Row& row, int64_t x, int64_t first, int64_t end,
                int64_t first_channel = 0) {
  const Convolution& shape = work.shape;
  const int64_t channels = shape.out_channels;
  const int64_t step = shape.stride_x * work.images.pixel_stride;
  const int64_t left = x * shape.stride_x - shape.pad_left;
  for (int64_t c = first_channel; c < channels; c += kLanes) {
    const int64_t count = std::min(kLanes, channels - c);
    V sums[kPixels];
    const V start = work.epilogue.bias != nullptr ? load_first(work.epilogue.bias + c, count)
                                                  : hn::Zero(Floats());
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) sums[p] = start;
    for (int64_t ky = row.first_kernel_row; ky < row.kernel_rows_end; ++ky) {
      const float* in = row.image + (row.top + ky * shape.dilation_y) * work.images.row_stride +
                        (left + first * shape.dilation_x) * work.images.pixel_stride + c;
      const float* kernel =
          work.packed + (ky * shape.kernel_width + first) * kInputs * channels + c;
      for (int64_t kx = first; kx < end; ++kx) {
        V pixels[kPixels];
#pragma GCC unroll 8
        for (int p = 0; p < kPixels; ++p) pixels[p] = load_first(in + p * step, count);
        const auto add = [&](auto input) HWY_ATTR {
          const V weight = load_first(kernel + input.value * channels, count);
#pragma GCC unroll 8
          for (int p = 0; p < kPixels; ++p)
            sums[p] = hn::MulAdd(input_of<kInputs, input.value>(in + p * step, c, pixels[p]),
                                 weight, sums[p]);
        };
        add(std::integral_constant<int, 0>());
        if constexpr (kInputs == 4) {
          add(std::integral_constant<int, 1>());
          add(std::integral_constant<int, 2>());
          add(std::integral_constant<int, 3>());
        }
        in += shape.dilation_x * work.images.pixel_stride;
        kernel += kInputs * channels;
      }
    }
    finish_all<false>(work, row.first_out + x, c, count, sums);
  }
}

// As sum_pixels, for kernels of common widths and strides: an image pixel is read once for all the
// results it contributes to. With kInside, all image pixels are inside the image; otherwise pixels
// outside are skipped. With kWhole, all lanes are channels.
template <int kPixels, int kWidth, int kStride, bool kInside, bool kWhole>
HWY_INLINE void sum_channels(const Depthwise& work, const Row& row, int64_t x, int64_t c) {
  const Convolution& shape = work.shape;
  const int64_t channels = shape.out_channels;
  const int64_t count = kWhole ? kLanes : channels - c;
  const auto take = [=](const float* from)
                        HWY_ATTR { return kWhole ? load(from) : load_first(from, count); };
  const int64_t left = x * kStride - shape.pad_left;
  read_ahead<kPixels, kStride>(work, row, x, c);
  V sums[kPixels];
  const V start = work.epilogue.bias != nullptr ? take(work.epilogue.bias + c) : hn::Zero(Floats());
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) sums[p] = start;
  for (int64_t ky = row.first_kernel_row; ky < row.kernel_rows_end; ++ky) {
    const float* in = row.image + (row.top + ky * shape.dilation_y) * work.images.row_stride +
                      left * work.images.pixel_stride + c;
    const float* kernel = work.packed + ky * kWidth * channels + c;
    V weights[kWidth];
#pragma GCC unroll 8
    for (int kx = 0; kx < kWidth; ++kx) weights[kx] = take(kernel + kx * channels);
    constexpr int kColumns = (kPixels - 1) * kStride + kWidth;
#pragma GCC unroll 32
    for (int column = 0; column < kColumns; ++column, in += work.images.pixel_stride) {
      if (!kInside && (left + column < 0 || left + column >= shape.in_width)) continue;
      V pixel = take(in);
      keep_in_register(pixel);
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; ++p) {
        const int kx = column - p * kStride;
        if (kx >= 0 && kx < kWidth) sums[p] = hn::MulAdd(pixel, weights[kx], sums[p]);
      }
    }
  }
  finish_all<kWhole>(work, row.first_out + x, c, count, sums);
}

// Sums any one pixel, skipping the kernel columns outside the image.
template <int kInputs = 1>
void sum_pixel(const Depthwise& work, const Row& row, int64_t x, int64_t first_channel) {
  const Convolution& shape = work.shape;
  const int64_t left = x * shape.stride_x - shape.pad_left;
  sum_pixels<1, kInputs>(work, row, x, first_inside(left, shape.dilation_x, shape.kernel_width),
                         end_inside(left, shape.dilation_x, shape.kernel_width, shape.in_width),
                         first_channel);
}

template <int kPixels, int kWidth, int kStride, bool kInside>
void sum_some(const Depthwise& work, const Row& row, int64_t x) {
  int64_t c = 0;
  for (; c + kLanes <= work.shape.out_channels; c += kLanes)
    sum_channels<kPixels, kWidth, kStride, kInside, true>(work, row, x, c);
  if (c == work.shape.out_channels) return;
  if constexpr (kInside)
    sum_channels<kPixels, kWidth, kStride, kInside, false>(work, row, x, c);
  else  // these are too few to justify the code size
    for (int p = 0; p < kPixels; ++p) sum_pixel(work, row, x + p, c);
}

template <int kWidth, int kStride>
void sum_usual(const Depthwise& work, const Row& row) {
  const Convolution& shape = work.shape;
  // The last pixels may overlap the previous ones: computing results twice is faster than computing
  // a few at a time. Not with an addend, which `out` may overwrite.
  const bool again = work.epilogue.addend == nullptr;
  for (int64_t x = 0; x < shape.out_width;) {
    const int64_t rest = shape.out_width - x;
    if (rest >= 8 || (again && rest > 4 && shape.out_width >= 8)) {
      x = std::min(x, shape.out_width - 8);
      const int64_t left = x * kStride - shape.pad_left;
      const bool inside = left >= 0 && left + 7 * kStride + kWidth <= shape.in_width;
      (inside ? sum_some<8, kWidth, kStride, true> : sum_some<8, kWidth, kStride, false>)(work, row,
                                                                                          x);
      x += 8;
    } else if (rest >= 4 || (again && shape.out_width >= 4)) {
      x = std::min(x, shape.out_width - 4);
      sum_some<4, kWidth, kStride, false>(work, row, x);
      x += 4;
    } else {
      sum_pixel(work, row, x++, 0);
    }
  }
}

template <int kInputs>
void sum_any(const Depthwise& work, const Row& row) {
  const Convolution& shape = work.shape;
  const int64_t reach = (shape.kernel_width - 1) * shape.dilation_x;
  for (int64_t x = 0; x < shape.out_width;) {
    const int64_t left = x * shape.stride_x - shape.pad_left;
    if (left >= 0 && x + 4 <= shape.out_width &&
        left + 3 * shape.stride_x + reach < shape.in_width) {
      sum_pixels<4, kInputs>(work, row, x, 0, shape.kernel_width);
      x += 4;
      continue;
    }
    sum_pixel<kInputs>(work, row, x, 0);
    ++x;
  }
}

using RowFunction = void (*)(const Depthwise&, const Row&);
RowFunction row_function(const Convolution& shape) {
  if (shape.groups < shape.in_channels) return sum_any<4>;
  if (shape.dilation_x != 1 || shape.stride_x < 1 || shape.stride_x > 2) return sum_any<1>;
  const bool steps = shape.stride_x == 2;
  switch (shape.kernel_width) {
    case 3:
      return steps ? sum_usual<3, 2> : sum_usual<3, 1>;
    case 5:
      return steps ? sum_usual<5, 2> : sum_usual<5, 1>;
    case 7:
      return steps ? sum_usual<7, 2> : sum_usual<7, 1>;
    default:
      return sum_any<1>;
  }
}

void sum_row(const Depthwise& work, RowFunction sum, int64_t index) {
  const Convolution& shape = work.shape;
  const int64_t y = index % shape.out_height;
  Row row;
  row.image = work.images.data + index / shape.out_height * work.images.image_stride;
  row.first_out = index * shape.out_width;
  row.top = y * shape.stride_y - shape.pad_top;
  row.first_kernel_row = first_inside(row.top, shape.dilation_y, shape.kernel_height);
  row.kernel_rows_end = end_inside(row.top, shape.dilation_y, shape.kernel_height, shape.in_height);
  const int64_t reach = row.top + (shape.kernel_height - 1) * shape.dilation_y + 1;
  row.ahead = row.image + reach * work.images.row_stride;
  row.rows_ahead = std::clamp<int64_t>(shape.in_height - reach, 0, shape.stride_y);
  sum(work, row);
}

void sum_rows(const Convolution& convolution, const ConvolutionOperands& operands,
              ThreadPool* pool) {
  const Depthwise work{operands, convolution};
  const RowFunction sum = row_function(convolution);
  const int64_t rows = convolution.batch * convolution.out_height;
  // Less work than this does not justify waking a thread.
  const int64_t row_work = convolution.out_width * convolution.out_channels *
                           convolution.kernel_height * convolution.kernel_width;
  const bool parallel = rows * row_work >= int64_t{1} << 16;
  const int64_t parts = parallel ? std::min<int64_t>(rows, 4 * thread_count(pool)) : 1;
  run_tasks(pool, parts, [&](int64_t part, int) {
    for (int64_t row = part_begin(rows, parts, part); row < part_begin(rows, parts, part + 1);
         ++row)
      sum_row(work, sum, row);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(sum_rows);

void convolve_depthwise(const Convolution& convolution, const ConvolutionOperands& operands,
                        ThreadPool* pool) {
  PT2_DISPATCH(sum_rows)(convolution, operands, pool);
}

}  // namespace pt2::kernels
#endif
