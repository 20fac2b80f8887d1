#include "kernels/images/convolution.h"

#include <algorithm>

#include "kernels/images/depthwise.h"
#include "kernels/images/direct.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/images/convolution.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/vectors-inl.h"

// What fill_windows reads; defined once for all targets.
#ifndef PT2_KERNELS_CONVOLUTION_WINDOWS
#define PT2_KERNELS_CONVOLUTION_WINDOWS
namespace pt2::kernels {
namespace {

struct Windows {
  Convolution shape;
  Images images;  // from the group's first channel on
  int64_t channels;
};

// Position of an element of a window. With channels last, the depth runs over the kernel's rows,
// columns, channels; planar, over channels, rows, columns.
struct Tap {
  int64_t row;
  int64_t column;
  int64_t channel;
};

}  // namespace
}  // namespace pt2::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// Both functions may write up to 15 floats beyond `count`.
HWY_INLINE void copy_run(const float* from, float* to, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(load(from + i), to + i);
  if (i < count) store(load_first(from + i, count - i), to + i);
}
HWY_INLINE void zero_run(float* to, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) store(hn::Zero(Floats()), to + i);
}

// Writes `depth` elements from `tap` on of the window whose first element is at (y, x) of `image`.
void fill_channels_last(const Windows& windows, const float* image, int64_t y, int64_t x, Tap tap,
                        int64_t depth, float* to) {
  const Convolution& shape = windows.shape;
  const int64_t channels = windows.channels;
  // Windows inside the image's columns are read row by row in one run.
  const bool side_by_side = shape.dilation_x == 1 && windows.images.pixel_stride == channels &&
                            x >= 0 && x + shape.kernel_width <= shape.in_width;
  while (depth > 0) {
    const int64_t in_y = y + tap.row * shape.dilation_y;
    const int64_t in_x = x + tap.column * shape.dilation_x;
    const bool row_outside = in_y < 0 || in_y >= shape.in_height;
    int64_t run = channels - tap.channel;
    const bool whole_row = row_outside || side_by_side;
    if (whole_row) run += (shape.kernel_width - 1 - tap.column) * channels;
    run = std::min(run, depth);
    if (row_outside || in_x < 0 || in_x >= shape.in_width)
      zero_run(to, run);
    else
      copy_run(image + in_y * windows.images.row_stride + in_x * windows.images.pixel_stride +
                   tap.channel,
               to, run);
    to += run;
    depth -= run;
    tap.channel = 0;
    if (whole_row || ++tap.column == shape.kernel_width) {
      tap.column = 0;
      ++tap.row;
    }
  }
}

// Copies `rows` whole kernel rows of a window that is inside the image's columns. A kernel row is
// at most a vector wide. `from` is the window's element in image row `y`. Small convolutions spend
// most of their time here.
HWY_INLINE void copy_kernel_rows(const Convolution& shape, const float* from, int64_t row_stride,
                                 int64_t y, int64_t rows, float* to) {
  const Floats d;
  const auto present = hn::FirstN(d, static_cast<size_t>(shape.kernel_width));
  for (int64_t i = 0; i < rows; ++i, to += shape.kernel_width) {
    const bool inside = y >= 0 && y < shape.in_height;
    store(inside ? hn::MaskedLoad(present, d, from) : hn::Zero(d), to);
    y += shape.dilation_y;
    from += shape.dilation_y * row_stride;
  }
}

void fill_planar(const Windows& windows, const float* image, int64_t y, int64_t x, Tap tap,
                 int64_t depth, float* to) {
  const Convolution& shape = windows.shape;
  const bool side_by_side =
      shape.dilation_x == 1 && x >= 0 && x + shape.kernel_width <= shape.in_width;
  while (depth > 0) {
    const int64_t in_y = y + tap.row * shape.dilation_y;
    const int64_t run = std::min(shape.kernel_width - tap.column, depth);
    const float* row =
        image + tap.channel * windows.images.channel_stride + in_y * windows.images.row_stride;
    if (kHasMaskedStores && side_by_side && run == shape.kernel_width && run <= kLanes) {
      const int64_t rows = std::min(shape.kernel_height - tap.row, depth / run);
      copy_kernel_rows(shape, row + x, windows.images.row_stride, in_y, rows, to);
      to += rows * run;
      depth -= rows * run;
      tap.row += rows;
      if (tap.row == shape.kernel_height) {
        tap.row = 0;
        ++tap.channel;
      }
      continue;
    }
    if (in_y < 0 || in_y >= shape.in_height) {
      zero_run(to, run);
    } else if (side_by_side) {
      copy_run(row + x + tap.column, to, run);
    } else {
      for (int64_t i = 0; i < run; ++i) {
        const int64_t in_x = x + (tap.column + i) * shape.dilation_x;
        to[i] = in_x < 0 || in_x >= shape.in_width ? 0.0f : row[in_x];
      }
    }
    to += run;
    depth -= run;
    tap.column = 0;
    if (++tap.row == shape.kernel_height) {
      tap.row = 0;
      ++tap.channel;
    }
  }
}

void fill_windows(const void* source, int64_t first_row, int64_t rows, int64_t first_depth,
                  int64_t depth, float* tile) {
  const Windows& windows = *static_cast<const Windows*>(source);
  const Convolution& shape = windows.shape;
  Tap tap;
  if (shape.planar) {
    const int64_t area = shape.kernel_height * shape.kernel_width;
    tap.channel = first_depth / area;
    tap.row = first_depth % area / shape.kernel_width;
    tap.column = first_depth % shape.kernel_width;
  } else {
    tap.channel = first_depth % windows.channels;
    tap.column = first_depth / windows.channels % shape.kernel_width;
    tap.row = first_depth / windows.channels / shape.kernel_width;
  }
  int64_t x = first_row % shape.out_width;
  int64_t y = first_row / shape.out_width % shape.out_height;
  int64_t image = first_row / shape.out_width / shape.out_height;
  for (int64_t r = 0; r < rows; ++r, tile += kTilePitch) {
    const float* data = windows.images.data + image * windows.images.image_stride;
    (shape.planar ? fill_planar : fill_channels_last)(
        windows, data, y * shape.stride_y - shape.pad_top, x * shape.stride_x - shape.pad_left, tap,
        depth, tile);
    if (++x < shape.out_width) continue;
    x = 0;
    if (++y < shape.out_height) continue;
    y = 0;
    ++image;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(fill_windows);

namespace {

// True if output pixels are the pixels of the images, one for one, and these are evenly spaced.
bool reads_rows_in_place(const Convolution& convolution, const Images& images) {
  return convolution.kernel_height == 1 && convolution.kernel_width == 1 &&
         convolution.stride_y == 1 && convolution.stride_x == 1 && convolution.pad_top == 0 &&
         convolution.pad_left == 0 && convolution.out_height == convolution.in_height &&
         convolution.out_width == convolution.in_width && !convolution.planar &&
         images.row_stride == convolution.in_width * images.pixel_stride &&
         (convolution.batch == 1 ||
          images.image_stride == convolution.in_height * images.row_stride);
}

// Output pixels of a rectangle; both ends are included.
struct Pixels {
  int64_t first_y, last_y;
  int64_t first_x, last_x;
};

// True if a kernel element (in the order of rows, columns) may be inside the image for some of the
// pixels.
bool is_inside(const Convolution& shape, int64_t tap, const Pixels& pixels) {
  const int64_t down = tap / shape.kernel_width * shape.dilation_y - shape.pad_top;
  const int64_t right = tap % shape.kernel_width * shape.dilation_x - shape.pad_left;
  return pixels.last_y * shape.stride_y + down >= 0 &&
         pixels.first_y * shape.stride_y + down < shape.in_height &&
         pixels.last_x * shape.stride_x + right >= 0 &&
         pixels.first_x * shape.stride_x + right < shape.in_width;
}

// Returns a rectangle with the pixels first .. last, counted over all images.
Pixels rectangle(const Convolution& shape, int64_t first, int64_t last) {
  const int64_t first_y = first / shape.out_width, last_y = last / shape.out_width;
  Pixels out{0, shape.out_height - 1, 0, shape.out_width - 1};
  if (first_y == last_y) {
    out.first_x = first % shape.out_width;
    out.last_x = last % shape.out_width;
  }
  if (first_y / shape.out_height == last_y / shape.out_height) {
    out.first_y = first_y % shape.out_height;
    out.last_y = last_y % shape.out_height;
  }
  return out;
}

// Implements LeftRows::Nonzero for windows with channels last.
LeftPart windows_inside(const void* source, const LeftPart& part) {
  const Windows& windows = *static_cast<const Windows*>(source);
  const Convolution& shape = windows.shape;
  const Pixels pixels = rectangle(shape, part.first_row, part.first_row + part.rows - 1);
  int64_t first = part.first_depth / windows.channels;
  int64_t end = (part.first_depth + part.depth - 1) / windows.channels + 1;
  while (first < end && !is_inside(shape, first, pixels)) ++first;
  while (first < end && !is_inside(shape, end - 1, pixels)) --end;
  if (first == end) return {part.first_row, 0, part.first_depth, 0};
  const auto is_row_inside = [&](int64_t row) {
    const Pixels pixel = rectangle(shape, row, row);
    int64_t tap = first;
    while (tap < end && !is_inside(shape, tap, pixel)) ++tap;
    return tap < end;
  };
  int64_t first_row = part.first_row, end_row = part.first_row + part.rows;
  while (first_row < end_row && !is_row_inside(first_row)) ++first_row;
  while (first_row < end_row && !is_row_inside(end_row - 1)) --end_row;
  const int64_t begin = std::max(part.first_depth, first * windows.channels);
  return {first_row, end_row - first_row, begin,
          std::min(part.first_depth + part.depth, end * windows.channels) - begin};
}

// Returns the number of elements, over all windows along one dimension, that are inside the image.
int64_t count_inside(int64_t size, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad,
                     int64_t out) {
  int64_t inside = 0;
  for (int64_t i = 0; i < kernel; ++i) {
    // Output element o reads image element o * stride - before.
    const int64_t before = pad - i * dilation;
    const int64_t first = before <= 0 ? 0 : (before + stride - 1) / stride;
    const int64_t end = size + before <= 0 ? 0 : (size + before - 1) / stride + 1;
    inside += std::max<int64_t>(0, std::min(end, out) - first);
  }
  return inside;
}

// True if so many elements of windows are outside their images that it pays to look for them.
bool has_wide_padding(const Convolution& shape) {
  const int64_t rows = count_inside(shape.in_height, shape.kernel_height, shape.stride_y,
                                    shape.dilation_y, shape.pad_top, shape.out_height);
  const int64_t columns = count_inside(shape.in_width, shape.kernel_width, shape.stride_x,
                                       shape.dilation_x, shape.pad_left, shape.out_width);
  return 16 * rows <= 15 * shape.kernel_height * shape.out_height ||
         16 * columns <= 15 * shape.kernel_width * shape.out_width;
}

void pack_depthwise(const Convolution& convolution, const float* kernels, float* packed) {
  const int64_t area = convolution.kernel_height * convolution.kernel_width,
                inputs = convolution.in_channels / convolution.groups;
  for (int64_t c = 0; c < convolution.out_channels; ++c)
    for (int64_t j = 0; j < inputs; ++j)
      for (int64_t i = 0; i < area; ++i)
        packed[(i * inputs + j) * convolution.out_channels + c] =
            kernels[(c * inputs + j) * area + i];
}

}  // namespace

int64_t packed_kernels_size(const Convolution& convolution) {
  const int64_t depth = group_depth(convolution);
  if (is_depthwise(convolution)) return depth * convolution.out_channels;
  return convolution.groups * packed_size(depth, convolution.out_channels / convolution.groups);
}

void pack_kernels(const Convolution& convolution, const float* kernels, float* packed,
                  ThreadPool* pool) {
  if (is_depthwise(convolution)) return pack_depthwise(convolution, kernels, packed);
  const int64_t channels = convolution.in_channels / convolution.groups;
  const int64_t area = convolution.kernel_height * convolution.kernel_width;
  Packing packing;
  packing.depth = group_depth(convolution);
  packing.columns = convolution.out_channels / convolution.groups;
  packing.column_stride = packing.depth;
  for (int64_t group = 0; group < convolution.groups; ++group) {
    const float* from = kernels + group * packing.columns * packing.depth;
    float* to = packed + group * packed_size(packing.depth, packing.columns);
    packing.depth_stride = 1;
    packing.first_depth = 0;
    packing.count = packing.depth;
    if (convolution.planar || area == 1) {
      pack_right(from, packing, to, pool);
      continue;
    }
    packing.depth_stride = area;
    packing.count = channels;
    for (int64_t i = 0; i < area; ++i) {
      packing.first_depth = i * channels;
      pack_right(from + i, packing, to, pool);
    }
  }
}

void convolve(const Convolution& convolution, const ConvolutionOperands& operands,
              ThreadPool* pool) {
  if (is_depthwise(convolution)) return convolve_depthwise(convolution, operands, pool);
  if (is_direct(convolution)) return convolve_direct(convolution, operands, pool);
  const Images& images = operands.images;
  Windows windows{convolution, images, convolution.in_channels / convolution.groups};
  Product product;
  product.rows = convolution.batch * convolution.out_height * convolution.out_width;
  product.columns = convolution.out_channels / convolution.groups;
  product.depth = group_depth(convolution);
  product.out_stride = operands.out_stride;
  product.left_stride = images.pixel_stride;
  product.left_rows = {.fill = PT2_DISPATCH(fill_windows), .source = &windows, .nonzero = nullptr};
  if (!convolution.planar && has_wide_padding(convolution))
    product.left_rows.nonzero = &windows_inside;
  const bool in_place = reads_rows_in_place(convolution, images);
  for (int64_t group = 0; group < convolution.groups; ++group) {
    windows.images.data = images.data + group * windows.channels * images.channel_stride;
    product.left = in_place ? windows.images.data : nullptr;
    product.packed = operands.packed + group * packed_size(product.depth, product.columns);
    product.out = operands.out + group * product.columns;
    product.epilogue = operands.epilogue;
    if (product.epilogue.bias != nullptr) product.epilogue.bias += group * product.columns;
    if (product.epilogue.addend != nullptr) product.epilogue.addend += group * product.columns;
    multiply_packed(product, pool);
  }
}

int64_t kernel_gradient_scratch() {
  constexpr int64_t kSlack = 16;
  return kTileDepth * kTilePitch + kSlack + packed_size(kTileDepth, kTileDepth);
}

void add_kernel_gradient(const Convolution& convolution, const Images& image,
                         const float* gradients, int64_t rows, float* out, float* scratch) {
  const Windows windows{convolution, image, convolution.in_channels};
  const int64_t pixels = convolution.out_height * convolution.out_width;
  const int64_t depth = group_depth(convolution);
  float* packed = scratch;
  float* tile = scratch + packed_size(kTileDepth, kTileDepth);
  const auto fill = PT2_DISPATCH(fill_windows);
  for (int64_t pixel = 0; pixel < pixels; pixel += kTileDepth)
    for (int64_t k = 0; k < depth; k += kTileDepth) {
      Product product;
      product.rows = rows;
      product.depth = std::min(kTileDepth, pixels - pixel);
      product.columns = std::min(kTileDepth, depth - k);
      fill(&windows, pixel, product.depth, k, product.columns, tile);
      pack_right(tile,
                 {.depth = product.depth,
                  .columns = product.columns,
                  .depth_stride = kTilePitch,
                  .column_stride = 1},
                 packed);
      product.left = gradients + pixel;
      product.left_stride = pixels;
      product.packed = packed;
      product.out = out + k;
      product.out_stride = depth;
      product.epilogue.addend = product.out;
      product.epilogue.addend_stride = depth;
      multiply_packed(product);
    }
}

}  // namespace pt2::kernels
#endif
