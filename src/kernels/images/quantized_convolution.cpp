#include "kernels/images/quantized_convolution.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace pt2::kernels {
namespace {

int64_t group_channels(const Convolution& shape) { return shape.in_channels / shape.groups; }
int64_t group_columns(const Convolution& shape) { return shape.out_channels / shape.groups; }
// The panels of every group are aligned to 64 bytes.
int64_t group_size(const Convolution& shape) {
  return (packed_quantized_size(group_depth(shape), group_columns(shape)) + 63) / 64 * 64;
}

struct LevelWindows {
  Convolution shape;
  const uint8_t* images = nullptr;  // from the group's first channel on
  uint8_t outside = 0;
};

// Copies `depth` elements, from element `first` on, of the window that begins at (y, x) of `image`.
// The elements are ordered by row, column, channel.
void copy_window(const LevelWindows& windows, const uint8_t* image, int64_t y, int64_t x,
                 int64_t first, int64_t depth, uint8_t* to) {
  const Convolution& shape = windows.shape;
  const int64_t channels = group_channels(shape), pitch = shape.in_channels;
  int64_t channel = first % channels, column = first / channels % shape.kernel_width,
          row = first / channels / shape.kernel_width;
  // Windows inside the image's columns are copied row by row in one run.
  const bool side_by_side = shape.dilation_x == 1 && channels == pitch && x >= 0 &&
                            x + shape.kernel_width <= shape.in_width;
  while (depth > 0) {
    const int64_t in_y = y + row * shape.dilation_y, in_x = x + column * shape.dilation_x;
    const bool row_outside = in_y < 0 || in_y >= shape.in_height;
    const bool whole_row = row_outside || side_by_side;
    int64_t run = channels - channel;
    if (whole_row) run += (shape.kernel_width - 1 - column) * channels;
    run = std::min(run, depth);
    if (row_outside || in_x < 0 || in_x >= shape.in_width)
      std::memset(to, windows.outside, static_cast<size_t>(run));
    else
      std::memcpy(to, image + (in_y * shape.in_width + in_x) * pitch + channel,
                  static_cast<size_t>(run));
    to += run;
    depth -= run;
    channel = 0;
    if (whole_row || ++column == shape.kernel_width) {
      column = 0;
      ++row;
    }
  }
}

void copy_windows(const void* source, int64_t first_row, int64_t rows, int64_t first_depth,
                  int64_t depth, uint8_t* to, int64_t pitch) {
  const auto& windows = *static_cast<const LevelWindows*>(source);
  const Convolution& shape = windows.shape;
  const int64_t image_size = shape.in_height * shape.in_width * shape.in_channels;
  int64_t x = first_row % shape.out_width, y = first_row / shape.out_width % shape.out_height,
          image = first_row / shape.out_width / shape.out_height;
  for (int64_t r = 0; r < rows; ++r, to += pitch) {
    copy_window(windows, windows.images + image * image_size, y * shape.stride_y - shape.pad_top,
                x * shape.stride_x - shape.pad_left, first_depth, depth, to);
    if (++x < shape.out_width) continue;
    x = 0;
    if (++y < shape.out_height) continue;
    y = 0;
    ++image;
  }
}

// The output rows of one image that are computed at a time, and the image rows that they read.
struct RowParts {
  int64_t reach;                 // image rows that one output row reads
  int64_t rows, in_rows, count;  // `count` is per image
  int64_t in_row, out_row;       // floats per row
  RowParts(const Convolution& shape, int threads)
      : reach((shape.kernel_height - 1) * shape.dilation_y + 1),
        in_row(shape.in_width * shape.in_channels),
        out_row(shape.out_width * shape.out_channels) {
    constexpr int64_t kFloats = int64_t{1} << 17;  // half of an L2 cache of 1 MB
    const int64_t fitting = (kFloats - reach * in_row) / (shape.stride_y * in_row + out_row);
    const int64_t shares = shape.batch * shape.out_height / (2 * threads);
    rows = std::clamp<int64_t>(std::min(fitting, shares), 1, shape.out_height);
    in_rows = std::min(shape.in_height, (rows - 1) * shape.stride_y + reach);
    count = (shape.out_height + rows - 1) / rows;
  }
  int64_t floats() const { return in_rows * in_row + rows * out_row; }
};

void convolve_part(const Convolution& shape, const LevelConvolution& operands,
                   const RowParts& parts, int64_t task, float* scratch, ThreadPool* pool) {
  const int64_t image = task / parts.count, first = task % parts.count * parts.rows;
  Convolution part = shape;
  part.batch = 1;
  part.out_height = std::min(parts.rows, shape.out_height - first);
  // The image rows from `top` on that exist.
  const int64_t top = first * shape.stride_y - shape.pad_top;
  const int64_t end = std::clamp<int64_t>(
      top + (part.out_height - 1) * shape.stride_y + parts.reach, 0, shape.in_height);
  const int64_t begin = std::clamp<int64_t>(top, 0, end);
  part.pad_top = begin - top;
  part.in_height = end - begin;
  const uint8_t* levels = operands.images + (image * shape.in_height + begin) * parts.in_row;
  from_levels(levels, operands.is_signed, part.in_height * parts.in_row, operands.numbers, scratch,
              pool);
  const int64_t out = (image * shape.out_height + first) * parts.out_row;
  ConvolutionOperands floats;
  floats.images = {.data = scratch,
                   .image_stride = part.in_height * parts.in_row,
                   .row_stride = parts.in_row,
                   .pixel_stride = shape.in_channels};
  floats.packed = operands.packed;
  floats.out = operands.requantization == nullptr ? operands.out + out
                                                  : scratch + parts.in_rows * parts.in_row;
  floats.out_stride = shape.out_channels;
  floats.epilogue = operands.epilogue;
  if (floats.epilogue.addend != nullptr)
    floats.epilogue.addend += out / shape.out_channels * floats.epilogue.addend_stride;
  convolve(part, floats, pool);
  if (operands.requantization != nullptr)
    requantize(*operands.requantization, floats.out, part.out_height * parts.out_row,
               operands.out_levels + out, pool);
}

}  // namespace

int64_t packed_level_kernels_size(const Convolution& convolution) {
  return convolution.groups * group_size(convolution);
}

int64_t quantized_convolution_scratch_size(const Convolution& convolution, int threads) {
  return quantized_scratch_size(convolution.batch * convolution.out_height * convolution.out_width,
                                group_depth(convolution), group_columns(convolution), threads);
}

void pack_level_kernels(const Convolution& convolution, const int8_t* kernels, int8_t* packed,
                        ThreadPool* pool) {
  const int64_t channels = group_channels(convolution), columns = group_columns(convolution),
                area = convolution.kernel_height * convolution.kernel_width,
                depth = group_depth(convolution);
  std::vector<int8_t> turned(area == 1 ? 0 : static_cast<size_t>(columns * depth));
  for (int64_t group = 0; group < convolution.groups; ++group) {
    const int8_t* from = kernels + group * columns * depth;
    if (area != 1) {
      for (int64_t n = 0; n < columns; ++n)
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t i = 0; i < area; ++i)
            turned[static_cast<size_t>(n * depth + i * channels + c)] =
                from[n * depth + c * area + i];
      from = turned.data();
    }
    pack_quantized({.depth = depth, .columns = columns, .right = from, .column_stride = depth},
                   packed + group * group_size(convolution), pool);
  }
}

void convolve_quantized(const Convolution& convolution, const QuantizedConvolution& operands,
                        ThreadPool* pool) {
  const int64_t columns = group_columns(convolution);
  // True if windows are single pixels, and all pixels of the image.
  const bool is_pixelwise = convolution.kernel_height == 1 && convolution.kernel_width == 1 &&
                            convolution.stride_y == 1 && convolution.stride_x == 1 &&
                            convolution.out_height == convolution.in_height &&
                            convolution.out_width == convolution.in_width &&
                            convolution.pad_top == 0 && convolution.pad_left == 0;
  LevelWindows windows{convolution, operands.images, static_cast<uint8_t>(operands.zero)};
  LevelMatrix pixels{operands.images, convolution.in_channels};
  QuantizedProduct product;
  product.rows = convolution.batch * convolution.out_height * convolution.out_width;
  product.left = is_pixelwise ? pixels.rows() : LevelRows{&copy_windows, &windows};
  product.is_signed = operands.is_signed;
  product.scale = operands.scale;
  product.zero = operands.zero;
  product.out_stride = convolution.out_channels;
  product.requantization = operands.requantization;
  product.scratch = operands.scratch;
  for (int64_t group = 0; group < convolution.groups; ++group) {
    windows.images = pixels.data = operands.images + group * group_channels(convolution);
    if (product.requantization == nullptr)
      product.out = operands.out + group * columns;
    else
      product.out_levels = operands.out_levels + group * columns;
    product.epilogue = operands.epilogue;
    if (product.epilogue.bias != nullptr) product.epilogue.bias += group * columns;
    if (product.epilogue.addend != nullptr) product.epilogue.addend += group * columns;
    multiply_quantized(product,
                       {.depth = group_depth(convolution),
                        .columns = columns,
                        .factors = operands.factors + group * columns},
                       operands.packed + group * group_size(convolution), pool);
  }
}

int64_t level_convolution_scratch_size(const Convolution& convolution, int threads) {
  const RowParts parts(convolution, threads);
  return room_count(convolution.batch * parts.count, threads) * parts.floats();
}

void convolve_levels(const Convolution& convolution, const LevelConvolution& operands,
                     ThreadPool* pool) {
  const RowParts parts(convolution, thread_count(pool));
  run_parts(pool, convolution.batch * parts.count,
            [&](int64_t task, int64_t room, ThreadPool* threads) {
              convolve_part(convolution, operands, parts, task,
                            operands.scratch + room * parts.floats(), threads);
            });
}

}  // namespace pt2::kernels
