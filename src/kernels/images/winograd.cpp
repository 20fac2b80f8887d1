// A tile is 2 x 2 pixels of the result, computed from a window of 4 x 4 pixels of an image. For a
// block of tiles, each of the 16 elements of all transformed windows is the left operand of a
// product, whose right operand is the same element of all transformed kernels. The results are
// transformed back.
#include "kernels/images/winograd.h"

#include <algorithm>
#include <atomic>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/images/winograd.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/vectors-inl.h"

// Shared by all targets.
#ifndef PT2_KERNELS_WINOGRAD_BLOCKS
#define PT2_KERNELS_WINOGRAD_BLOCKS
namespace pt2::kernels {
namespace {

constexpr int64_t kWindow = 4;
constexpr int64_t kElements = kWindow * kWindow;
// Tiles of a block: enough that the transformed kernels, which a block reads once, may come from a
// farther cache than its windows and results. A multiple of the rows that products keep in
// registers.
constexpr int64_t kBlockTiles = 42;
// Less work than this does not justify waking a thread.
constexpr int64_t kParallelWork = int64_t{1} << 18;

struct Tiles {
  explicit Tiles(const Convolution& shape)
      : rows((shape.out_height + 1) / 2), columns((shape.out_width + 1) / 2) {
    count = shape.batch * rows * columns;
  }
  int64_t blocks(const Convolution& shape, int threads) const {
    const int64_t filled = std::max<int64_t>(1, (count + kBlockTiles / 2) / kBlockTiles);
    if (threads == 1 || count * shape.in_channels * shape.out_channels < kParallelWork)
      return filled;
    // A number of blocks that is no multiple of the threads leaves threads idle at the end.
    return std::max(filled, std::min((filled + threads - 1) / threads * threads, count / 12));
  }
  int64_t block_tiles(int64_t blocks) const { return (count + blocks - 1) / blocks; }

  int64_t rows;
  int64_t columns;
  int64_t count;
};

// The memory of one thread.
struct Scratch {
  Scratch(const Convolution& shape, int64_t block_tiles, float* memory)
      : zeros(memory),
        windows(zeros + shape.in_channels),
        window_step(block_tiles * shape.in_channels),
        results(windows + kElements * window_step),
        result_step(block_tiles * shape.out_channels) {}
  static int64_t size(const Convolution& shape, int64_t block_tiles) {
    return shape.in_channels + kElements * block_tiles * (shape.in_channels + shape.out_channels);
  }

  float* zeros;  // stands for a pixel outside the image
  float* windows;
  int64_t window_step;  // from element to element
  float* results;
  int64_t result_step;
};

struct WinogradWork : ConvolutionOperands {
  Convolution shape;
  Tiles tiles;
};

}  // namespace
}  // namespace pt2::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// Computes B^T d B for all channels of the window at (y, x).
void transform_window(const WinogradWork& work, const float* image, int64_t y, int64_t x,
                      const Scratch& scratch, float* to) {
  const Convolution& shape = work.shape;
  const float* pixels[kElements];
  for (int64_t i = 0; i < kElements; ++i) {
    const int64_t in_y = y + i / kWindow, in_x = x + i % kWindow;
    const bool inside = in_y >= 0 && in_y < shape.in_height && in_x >= 0 && in_x < shape.in_width;
    pixels[i] = inside ? image + in_y * work.images.row_stride + in_x * work.images.pixel_stride
                       : scratch.zeros;
  }
  for (int64_t c = 0; c < shape.in_channels; c += kLanes) {
    const int64_t count = std::min(kLanes, shape.in_channels - c);
    V rows[kWindow][kWindow];
#pragma GCC unroll 4
    for (int64_t j = 0; j < kWindow; ++j) {
      const V d0 = load_first(pixels[j] + c, count);
      const V d1 = load_first(pixels[kWindow + j] + c, count);
      const V d2 = load_first(pixels[2 * kWindow + j] + c, count);
      const V d3 = load_first(pixels[3 * kWindow + j] + c, count);
      rows[0][j] = hn::Sub(d0, d2);
      rows[1][j] = hn::Add(d1, d2);
      rows[2][j] = hn::Sub(d2, d1);
      rows[3][j] = hn::Sub(d1, d3);
    }
    float* element = to + c;
    const int64_t step = scratch.window_step;
#pragma GCC unroll 4
    for (int64_t i = 0; i < kWindow; ++i, element += kWindow * step) {
      const V* row = rows[i];
      store_first(hn::Sub(row[0], row[2]), element, count);
      store_first(hn::Add(row[1], row[2]), element + step, count);
      store_first(hn::Sub(row[2], row[1]), element + 2 * step, count);
      store_first(hn::Sub(row[1], row[3]), element + 3 * step, count);
    }
  }
}

// Computes A^T m A and the epilogue, for all channels of the tile whose first result pixel is at
// (y, x). Adds zero to `finite` for each finite sum, NaN for any other.
void transform_result(const WinogradWork& work, int64_t image, int64_t y, int64_t x,
                      const float* from, int64_t step, V& finite) {
  const Convolution& shape = work.shape;
  const Epilogue& epilogue = work.epilogue;
  const int64_t height = std::min<int64_t>(2, shape.out_height - y);
  const int64_t width = std::min<int64_t>(2, shape.out_width - x);
  const int64_t first_pixel = (image * shape.out_height + y) * shape.out_width + x;
  const auto for_each_pixel = [&](const auto& visit) HWY_ATTR {
    for (int64_t i = 0; i < height; ++i)
      for (int64_t j = 0; j < width; ++j) visit(2 * i + j, first_pixel + i * shape.out_width + j);
  };
  for (int64_t c = 0; c < shape.out_channels; c += kLanes) {
    const int64_t count = std::min(kLanes, shape.out_channels - c);
    V sums[2][kWindow];
#pragma GCC unroll 4
    for (int64_t j = 0; j < kWindow; ++j) {
      const float* element = from + j * step + c;
      const V m0 = load_first(element, count);
      const V m1 = load_first(element + kWindow * step, count);
      const V m2 = load_first(element + 2 * kWindow * step, count);
      const V m3 = load_first(element + 3 * kWindow * step, count);
      sums[0][j] = hn::Add(hn::Add(m0, m1), m2);
      sums[1][j] = hn::Sub(hn::Sub(m1, m2), m3);
    }
    const V bias =
        epilogue.bias != nullptr ? load_first(epilogue.bias + c, count) : hn::Zero(Floats());
    V values[4];
#pragma GCC unroll 2
    for (int64_t i = 0; i < 2; ++i) {
      const V* row = sums[i];
      values[2 * i] = hn::Add(hn::Add(row[0], row[1]), row[2]);
      values[2 * i + 1] = hn::Sub(hn::Sub(row[1], row[2]), row[3]);
    }
    // Includes the row and column beyond an odd size: they are computed from the same numbers.
#pragma GCC unroll 4
    for (V& value : values) {
      finite = hn::MulAdd(value, hn::Zero(Floats()), finite);
      value = hn::Add(value, bias);
    }
    if (epilogue.addend != nullptr)
      for_each_pixel([&](int64_t index, int64_t pixel) HWY_ATTR {
        values[index] = hn::Add(
            values[index], load_first(epilogue.addend + pixel * epilogue.addend_stride + c, count));
      });
    activate_all(epilogue.activation, values);
    for_each_pixel([&](int64_t index, int64_t pixel) HWY_ATTR {
      store_first(values[index], work.out + pixel * work.out_stride + c, count);
    });
  }
}

// Calls visit(index in the block, image, row and column of the tile).
template <class Visit>
void for_each_tile(const Tiles& tiles, int64_t begin, int64_t end, const Visit& visit) {
  int64_t column = begin % tiles.columns;
  int64_t row = begin / tiles.columns % tiles.rows;
  int64_t image = begin / tiles.columns / tiles.rows;
  for (int64_t tile = begin; tile < end; ++tile) {
    visit(tile - begin, image, row, column);
    if (++column < tiles.columns) continue;
    column = 0;
    if (++row < tiles.rows) continue;
    row = 0;
    ++image;
  }
}

// Computes tiles begin .. end - 1. True if all sums are finite.
bool convolve_tiles(const WinogradWork& work, int64_t begin, int64_t end, const Scratch& scratch) {
  const Convolution& shape = work.shape;
  std::fill(scratch.zeros, scratch.zeros + shape.in_channels, 0.0f);
  for_each_tile(work.tiles, begin, end,
                [&](int64_t index, int64_t image, int64_t row, int64_t column) {
                  transform_window(work, work.images.data + image * work.images.image_stride,
                                   2 * row - shape.pad_top, 2 * column - shape.pad_left, scratch,
                                   scratch.windows + index * shape.in_channels);
                });
  Product product{.rows = end - begin,
                  .columns = shape.out_channels,
                  .depth = shape.in_channels,
                  .left_stride = shape.in_channels,
                  .left_rows = {},
                  .out_stride = shape.out_channels,
                  .epilogue = {}};
  const int64_t kernels_step = packed_size(shape.in_channels, shape.out_channels);
  for (int64_t element = 0; element < kElements; ++element) {
    product.left = scratch.windows + element * scratch.window_step;
    product.packed = work.packed + element * kernels_step;
    product.out = scratch.results + element * scratch.result_step;
    multiply_packed(product);
  }
  V finite = hn::Zero(Floats());
  for_each_tile(work.tiles, begin, end,
                [&](int64_t index, int64_t image, int64_t row, int64_t column) HWY_ATTR {
                  transform_result(work, image, 2 * row, 2 * column,
                                   scratch.results + index * shape.out_channels,
                                   scratch.result_step, finite);
                });
  return hn::AllTrue(Floats(), hn::Eq(finite, finite));
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(convolve_tiles);

bool suits_winograd(const Convolution& shape) {
  // With fewer channels or tiles, the cost of the transforms and of the larger kernels exceeds the
  // gain.
  constexpr int64_t kFewChannels = 16;
  constexpr int64_t kFewTiles = 32;
  return shape.kernel_height == 3 && shape.kernel_width == 3 && shape.stride_y == 1 &&
         shape.stride_x == 1 && shape.dilation_y == 1 && shape.dilation_x == 1 &&
         shape.groups == 1 && !shape.planar && shape.in_channels >= kFewChannels &&
         shape.out_channels >= kFewChannels && shape.out_height > 1 && shape.out_width > 1 &&
         Tiles(shape).count >= kFewTiles;
}

int64_t winograd_kernels_size(const Convolution& shape) {
  return kElements * packed_size(shape.in_channels, shape.out_channels);
}

void pack_winograd_kernels(const Convolution& shape, const float* kernels, float* packed,
                           ThreadPool* pool) {
  // G of F(2x2, 3x3).
  constexpr double kRows[kWindow][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
  const int64_t pairs = shape.in_channels * shape.out_channels;
  std::vector<float> transformed(static_cast<size_t>(pairs));
  for (int64_t element = 0; element < kElements; ++element) {
    const double* left = kRows[element / kWindow];
    const double* right = kRows[element % kWindow];
    for (int64_t pair = 0; pair < pairs; ++pair) {
      const float* kernel = kernels + pair * 9;
      double sum = 0;
      for (int64_t i = 0; i < 9; ++i) sum += left[i / 3] * right[i % 3] * double{kernel[i]};
      transformed[static_cast<size_t>(pair)] = static_cast<float>(sum);
    }
    pack_right(transformed.data(),
               {.depth = shape.in_channels,
                .columns = shape.out_channels,
                .depth_stride = 1,
                .column_stride = shape.in_channels},
               packed + element * packed_size(shape.in_channels, shape.out_channels), pool);
  }
}

int64_t winograd_scratch_size(const Convolution& shape, int threads) {
  const Tiles tiles(shape);
  const int64_t blocks = tiles.blocks(shape, threads);
  return (blocks == 1 ? 1 : threads) * Scratch::size(shape, tiles.block_tiles(blocks));
}

bool convolve_winograd(const Convolution& convolution, const ConvolutionOperands& operands,
                       float* scratch, ThreadPool* pool) {
  const WinogradWork work{operands, convolution, Tiles(convolution)};
  const Tiles& tiles = work.tiles;
  const int64_t blocks = tiles.blocks(convolution, thread_count(pool));
  const int64_t block_tiles = tiles.block_tiles(blocks);
  std::atomic<bool> finite{true};
  run_tasks(pool, blocks, [&](int64_t block, int thread) {
    const Scratch own(convolution, block_tiles,
                      scratch + thread * Scratch::size(convolution, block_tiles));
    if (!PT2_DISPATCH(convolve_tiles)(work, part_begin(tiles.count, blocks, block),
                                      part_begin(tiles.count, blocks, block + 1), own))
      finite.store(false, std::memory_order_relaxed);
  });
  return finite.load(std::memory_order_relaxed);
}

}  // namespace pt2::kernels
#endif
