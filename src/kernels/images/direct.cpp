// The result is cut into rectangles of pixels whose windows have the same elements of the kernel
// inside the image. A rectangle is computed a few pixels at a time, along its longer side, with the
// sums in registers.
#include "kernels/images/direct.h"

#include <algorithm>
#include <array>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/images/direct.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/products/panels-inl.h"

// Shared by all targets.
#ifndef PT2_KERNELS_DIRECT_SPANS
#define PT2_KERNELS_DIRECT_SPANS
namespace pt2::kernels {
namespace {

// Along one dimension: pixels of the result for which the same elements of the kernel are inside
// the image, and these elements.
struct Span {
  int64_t begin, end;
  int64_t first_tap, taps_end;
};

struct Axis {
  int64_t in, kernel, stride, dilation, pad;

  Span span_of(int64_t pixel) const {
    const int64_t start = pixel * stride - pad;
    const int64_t first = first_inside(start, dilation, kernel);
    return {pixel, pixel + 1, first, std::max(first, end_inside(start, dilation, kernel, in))};
  }
  // Calls visit(span) for the spans from `begin` to `end`, in order.
  template <class Visit>
  void for_each_span(int64_t begin, int64_t end, const Visit& visit) const {
    while (begin < end) {
      Span span = span_of(begin);
      while (span.end < end) {
        const Span next = span_of(span.end);
        if (next.first_tap != span.first_tap || next.taps_end != span.taps_end) break;
        ++span.end;
      }
      visit(span);
      begin = span.end;
    }
  }
};

struct DirectWork : ConvolutionOperands {
  Convolution shape;
  Axis y, x;
};

// The elements of a window in the order in which kernels are packed: channels, rows and columns if
// planar, else rows, columns and channels.
struct KernelTaps {
  int64_t outer, middle, inner;                 // numbers of elements inside the image
  int64_t left_outer, left_middle, left_inner;  // strides in the image
  int64_t right_outer, right_middle;            // strides in the panel, in rows
};

}  // namespace
}  // namespace pt2::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// As many sums as keep the multiply-add units busy; a narrow panel takes more pixels.
constexpr int kWidePixels = HWY_TARGET == HWY_AVX3 ? 12 : 6;
constexpr int kNarrowPixels = 12;

namespace {

// Evenly spaced pixels, and one panel.
struct Tile {
  const float* left;   // first element of the first pixel's window that is inside the image
  int64_t left_step;   // stride from pixel to pixel
  const float* right;  // the panel, from the row of that element on
  const KernelTaps* taps;
  Results results;
};

// A line of `pixels` results, for all columns of a group.
struct Line {
  Tile first;
  int64_t pixels;
};

}  // namespace

template <int kPixels, int kVectors>
void multiply_tile(const Tile& tile) {
  V sums[kPixels][kVectors];
#pragma GCC unroll 12
  for (int p = 0; p < kPixels; ++p)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[p][v] = hn::Zero(Floats());
  const KernelTaps taps = *tile.taps;
  const int64_t step = tile.left_step;
  const float* HWY_RESTRICT right_outer = tile.right;
  const float* HWY_RESTRICT left_outer = tile.left;
  for (int64_t i = 0; i < taps.outer; ++i) {
    const float* HWY_RESTRICT right_middle = right_outer;
    const float* HWY_RESTRICT left_middle = left_outer;
    for (int64_t j = 0; j < taps.middle; ++j) {
      const float* HWY_RESTRICT right = right_middle;
      const float* HWY_RESTRICT left = left_middle;
      for (int64_t k = 0; k < taps.inner; ++k) {
        V row[kVectors];
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) row[v] = load(right + v * kLanes);
#pragma GCC unroll 12
        for (int p = 0; p < kPixels; ++p) {
          const V element = set(left[p * step]);
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v) sums[p][v] = hn::MulAdd(element, row[v], sums[p][v]);
        }
        left += taps.left_inner;
        right += kVectors * kLanes;
      }
      left_middle += taps.left_middle;
      right_middle += taps.right_middle * kVectors * kLanes;
    }
    left_outer += taps.left_outer;
    right_outer += taps.right_outer * kVectors * kLanes;
  }
  finish_sums<kPixels, kVectors>(tile.results, sums);
}

using TileFunction = void (*)(const Tile&);
template <int kVectors, size_t... kIndex>
constexpr std::array<TileFunction, sizeof...(kIndex)> tile_functions(
    std::index_sequence<kIndex...>) {
  return {&multiply_tile<static_cast<int>(kIndex) + 1, kVectors>...};
}
constexpr auto kNarrowTiles = tile_functions<1>(std::make_index_sequence<kNarrowPixels>());
constexpr auto kWideTiles = tile_functions<2>(std::make_index_sequence<kWidePixels>());

void multiply_line(const Line& line, int64_t columns, int64_t depth, const float* packed,
                   int64_t first_row) {
  for (int64_t column = 0; column < columns; column += kPanelWidth) {
    const bool narrow = is_narrow_panel(columns, column);
    const int64_t most = narrow ? kNarrowPixels : kWidePixels;
    const int64_t tiles = (line.pixels + most - 1) / most;
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t begin = part_begin(line.pixels, tiles, t);
      const int64_t pixels = part_begin(line.pixels, tiles, t + 1) - begin;
      Tile tile = line.first;
      tile.left += begin * tile.left_step;
      tile.right =
          packed + panel_offset(depth, column) + first_row * (narrow ? kLanes : kPanelWidth);
      Results& results = tile.results;
      results.columns = std::min(kPanelWidth, columns - column);
      if (results.start != nullptr) results.start += column;
      if (results.addend != nullptr) results.addend += begin * results.addend_stride + column;
      results.out += begin * results.out_stride + column;
      const auto index = static_cast<size_t>(pixels - 1);
      (narrow ? kNarrowTiles[index] : kWideTiles[index])(tile);
    }
  }
}

// Returns the elements of windows that are inside the image. Sets first_row to the packed row of
// the first of them.
KernelTaps taps_of(const DirectWork& work, int64_t channels, const Span& y, const Span& x,
                   int64_t& first_row) {
  const Convolution& shape = work.shape;
  const int64_t row = shape.dilation_y * work.images.row_stride;
  const int64_t column = shape.dilation_x * work.images.pixel_stride;
  const int64_t rows = y.taps_end - y.first_tap, columns = x.taps_end - x.first_tap;
  if (shape.planar) {
    first_row = y.first_tap * shape.kernel_width + x.first_tap;
    return {.outer = channels,
            .middle = rows,
            .inner = columns,
            .left_outer = work.images.channel_stride,
            .left_middle = row,
            .left_inner = column,
            .right_outer = shape.kernel_height * shape.kernel_width,
            .right_middle = shape.kernel_width};
  }
  first_row = (y.first_tap * shape.kernel_width + x.first_tap) * channels;
  return {.outer = rows,
          .middle = columns,
          .inner = channels,
          .left_outer = row,
          .left_middle = column,
          .left_inner = 1,
          .right_outer = shape.kernel_width * channels,
          .right_middle = channels};
}

void convolve_rectangle(const DirectWork& work, int64_t image, int64_t group, const Span& y,
                        const Span& x) {
  const Convolution& shape = work.shape;
  const int64_t channels = shape.in_channels / shape.groups;
  const int64_t columns = shape.out_channels / shape.groups;
  const int64_t depth = group_depth(shape);
  const float* packed = work.packed + group * packed_size(depth, columns);
  int64_t first_row = 0;
  const KernelTaps taps = taps_of(work, channels, y, x, first_row);
  const bool along_row = x.end - x.begin >= y.end - y.begin;
  const int64_t step = along_row ? 1 : shape.out_width;  // in pixels of the result
  const int64_t lines = along_row ? y.end - y.begin : x.end - x.begin;
  for (int64_t i = 0; i < lines; ++i) {
    const int64_t line_y = y.begin + (along_row ? i : 0), line_x = x.begin + (along_row ? 0 : i);
    const int64_t in_y = line_y * shape.stride_y - shape.pad_top + y.first_tap * shape.dilation_y;
    const int64_t in_x = line_x * shape.stride_x - shape.pad_left + x.first_tap * shape.dilation_x;
    const int64_t pixel = (image * shape.out_height + line_y) * shape.out_width + line_x;
    Line line{.first = {.left = work.images.data + image * work.images.image_stride +
                                group * channels * work.images.channel_stride +
                                in_y * work.images.row_stride + in_x * work.images.pixel_stride,
                        .left_step = along_row ? shape.stride_x * work.images.pixel_stride
                                               : shape.stride_y * work.images.row_stride,
                        .right = nullptr,
                        .taps = &taps,
                        .results = {.columns = 0,
                                    .out = work.out + pixel * work.out_stride + group * columns,
                                    .out_stride = step * work.out_stride,
                                    .start = work.epilogue.bias,
                                    .start_stride = 0,
                                    .addend = work.epilogue.addend,
                                    .addend_stride = step * work.epilogue.addend_stride,
                                    .activation = work.epilogue.activation}},
              .pixels = along_row ? x.end - x.begin : y.end - y.begin};
    Results& results = line.first.results;
    if (results.start != nullptr) results.start += group * columns;
    if (results.addend != nullptr)
      results.addend += pixel * work.epilogue.addend_stride + group * columns;
    multiply_line(line, columns, depth, packed, first_row);
  }
}

// Convolves rows begin .. end - 1 of the results; rows are numbered through all images.
void convolve_rows(const DirectWork& work, int64_t begin, int64_t end) {
  const Convolution& shape = work.shape;
  for (int64_t row = begin; row < end;) {
    const int64_t image = row / shape.out_height, first = row % shape.out_height;
    const int64_t last = std::min(shape.out_height, first + end - row);
    work.y.for_each_span(first, last, [&](const Span& y) {
      work.x.for_each_span(0, shape.out_width, [&](const Span& x) {
        for (int64_t group = 0; group < shape.groups; ++group)
          convolve_rectangle(work, image, group, y, x);
      });
    });
    row += last - first;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(convolve_rows);

bool is_direct(const Convolution& shape) {
  // With more columns, copying a window once for all of them is worthwhile. A product adds sums in
  // blocks of kTileDepth; one block keeps the result equal to the product's.
  constexpr int64_t kFewColumns = 64;
  const int64_t depth = group_depth(shape);
  return shape.kernel_height * shape.kernel_width > 1 && depth <= kTileDepth &&
         shape.out_channels / shape.groups <= kFewColumns;
}

void convolve_direct(const Convolution& convolution, const ConvolutionOperands& operands,
                     ThreadPool* pool) {
  const DirectWork work{operands,
                        convolution,
                        {convolution.in_height, convolution.kernel_height, convolution.stride_y,
                         convolution.dilation_y, convolution.pad_top},
                        {convolution.in_width, convolution.kernel_width, convolution.stride_x,
                         convolution.dilation_x, convolution.pad_left}};
  // Less work than this does not justify waking a thread.
  constexpr int64_t kParallelWork = int64_t{1} << 18;
  const int64_t rows = convolution.batch * convolution.out_height;
  const int64_t row_work = convolution.out_width * convolution.out_channels *
                           (convolution.in_channels / convolution.groups) *
                           convolution.kernel_height * convolution.kernel_width;
  const bool parallel = thread_count(pool) > 1 && rows * row_work >= kParallelWork;
  const int64_t parts = parallel ? std::min<int64_t>(rows, 4 * thread_count(pool)) : 1;
  run_tasks(pool, parts, [&](int64_t part, int) {
    PT2_DISPATCH(convolve_rows)
    (work, part_begin(rows, parts, part), part_begin(rows, parts, part + 1));
  });
}

}  // namespace pt2::kernels
#endif
