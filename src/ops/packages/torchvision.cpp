// Operators of torchvision: boxes, pooled regions of interest, deformable convolution.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/memory_account.h"
#include "kernels/lines.h"
#include "kernels/points.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/linear/gemm.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/reduction/order.h"

namespace pt2::ops {
namespace {

// --- Boxes: x1, y1, x2, y2

template <class C>
C box_area(const C* box) {
  return (box[2] - box[0]) * (box[3] - box[1]);
}

// The intersection over union of two boxes, in the precision of the boxes: its rounding matters at
// the threshold.
template <class C>
C overlap(const C* a, const C* b) {
  const C width = std::max(std::min(a[2], b[2]) - std::max(a[0], b[0]), C(0));
  const C height = std::max(std::min(a[3], b[3]) - std::max(a[1], b[1]), C(0));
  const C common = width * height;
  return common / (box_area(a) + box_area(b) - common);
}

template <class C>
std::vector<int64_t> keep_best(const Input<C>& boxes, std::span<const int64_t> order,
                               double threshold) {
  std::vector<bool> dropped(order.size(), false);
  std::vector<int64_t> kept;
  for (size_t i = 0; i < order.size(); ++i) {
    if (dropped[i]) continue;
    kept.push_back(order[i]);
    constexpr int64_t kOverlap = 8;  // the cost of one overlap, in elements
    MemoryAccount::count_loops({std::ssize(order) - static_cast<int64_t>(i), kOverlap}, 1);
    const C* best = boxes.data() + order[i] * 4;
    for (size_t j = i + 1; j < order.size(); ++j)
      if (!dropped[j] &&
          static_cast<double>(overlap(best, boxes.data() + order[j] * 4)) > threshold)
        dropped[j] = true;
  }
  return kept;
}

// The indices of the boxes to keep, best score first. Each kept box removes the boxes that overlap
// it too much.
Result<Tensor> nms(const Tensor& dets, const Tensor& scores, double iou_threshold) {
  PT2_TRY_VOID(check_floating(dets, "dets"));
  PT2_TRY_VOID(check_rank(dets, 2, "dets"));
  PT2_TRY_VOID(check_sizes(dets, {dets.size(0), 4}, "dets"));
  PT2_TRY_VOID(check_sizes(scores, {dets.size(0)}, "scores"));
  PT2_TRY_VOID(check_same_dtype(scores, dets, "scores"));
  const Input<double> score(scores);
  std::vector<int64_t> order;
  order.reserve(static_cast<size_t>(score.size()));
  StableOrder<double>(score.size()).for_each(score.data(), true, [&](int64_t, int64_t place) {
    order.push_back(place);
  });
  std::vector<int64_t> kept;
  with_float_compute_type(
      dets.dtype(), [&]<class C>() { kept = keep_best<C>(Input<C>(dets), order, iou_threshold); });
  return Tensor::from(Dtype::int64, {static_cast<int64_t>(kept.size())},
                      std::span<const int64_t>(kept));
}

// --- Regions of interest: image, x1, y1, x2, y2

struct Images {
  int64_t count, channels, height, width;
};
// Checks dtypes and sizes, but no elements.
Result<Images> images_of(const Tensor& input, const Tensor& rois, int64_t pooled_height,
                         int64_t pooled_width) {
  PT2_TRY_VOID(check_floating(input, "input"));
  PT2_TRY_VOID(check_rank(input, 4, "input"));
  PT2_TRY_VOID(check_rank(rois, 2, "rois"));
  PT2_TRY_VOID(check_sizes(rois, {rois.size(0), 5}, "rois"));
  PT2_TRY_VOID(check_same_dtype(rois, input, "rois"));
  if (pooled_height < 1 || pooled_width < 1)
    return operator_error("found a pooled size below 1, expected at least 1");
  return Images{input.size(0), input.size(1), input.size(2), input.size(3)};
}
Result<Images> check_regions(const Tensor& input, const Tensor& rois, int64_t pooled_height,
                             int64_t pooled_width) {
  PT2_TRY(const Images images, images_of(input, rois, pooled_height, pooled_width));
  const Input<double> regions(rois);
  for (int64_t i = 0; i < rois.size(0); ++i)
    if (!(regions[i * 5] >= 0 && regions[i * 5] < static_cast<double>(input.size(0))))
      return operator_error("rois: found image " + std::to_string(regions[i * 5]) +
                            ", expected 0 to " + std::to_string(input.size(0) - 1));
  return images;
}

// Bilinear interpolation: four elements of a plane and their weights. corners_of() returns nothing
// (nullopt) for positions more than one element outside of the image.
struct Corners {
  std::array<int64_t, 4> offsets;
  std::array<double, 4> weights;
};
std::optional<Corners> corners_of(const Images& images, double y, double x) {
  const int64_t height = images.height, width = images.width;
  if (!(y >= -1 && y <= static_cast<double>(height) && x >= -1 && x <= static_cast<double>(width)))
    return std::nullopt;
  y = std::max(y, 0.0);
  x = std::max(x, 0.0);
  auto split = [](double& at, int64_t size, int64_t& low, int64_t& high) {
    low = static_cast<int64_t>(at);
    if (low >= size - 1) {
      low = high = size - 1;
      at = static_cast<double>(low);
    } else {
      high = low + 1;
    }
  };
  int64_t y_low = 0, y_high = 0, x_low = 0, x_high = 0;
  split(y, height, y_low, y_high);
  split(x, width, x_low, x_high);
  const double ly = y - static_cast<double>(y_low);
  const double lx = x - static_cast<double>(x_low);
  return Corners{{y_low * width + x_low, y_low * width + x_high, y_high * width + x_low,
                  y_high * width + x_high},
                 {(1 - ly) * (1 - lx), (1 - ly) * lx, ly * (1 - lx), ly * lx}};
}

// The division of a region into bins, and of each bin into samples.
struct Grid {
  double x, y, bin_width, bin_height;
  int64_t samples_x, samples_y;
};
// The number of samples per bin is bounded only by the region's size.
constexpr double kMaxSamples = 1 << 20;

Result<Grid> region_grid(const double* region, double scale, int64_t pooled_height,
                         int64_t pooled_width, int64_t sampling_ratio, double offset,
                         double least) {
  const double x = region[1] * scale - offset;
  const double y = region[2] * scale - offset;
  const double width = std::max(region[3] * scale - offset - x, least);
  const double height = std::max(region[4] * scale - offset - y, least);
  Grid grid{x,
            y,
            width / static_cast<double>(pooled_width),
            height / static_cast<double>(pooled_height),
            sampling_ratio,
            sampling_ratio};
  if (sampling_ratio <= 0) {
    const double samples_x = std::ceil(grid.bin_width);
    const double samples_y = std::ceil(grid.bin_height);
    if (!(samples_x < kMaxSamples && samples_y < kMaxSamples))
      return Error{ErrorCode::limit,
                   "rois: a region of " + std::to_string(width) + " by " + std::to_string(height) +
                       " pixels",
                   ""};
    grid.samples_x = static_cast<int64_t>(samples_x);
    grid.samples_y = static_cast<int64_t>(samples_y);
  }
  return grid;
}

// Calls visit(y, x) for each sample of a bin.
template <class Visit>
void for_each_sample(const Grid& grid, int64_t row, int64_t column, const Visit& visit) {
  for (int64_t i = 0; i < grid.samples_y; ++i)
    for (int64_t j = 0; j < grid.samples_x; ++j) {
      const double y =
          grid.y + (static_cast<double>(row) +
                    (static_cast<double>(i) + 0.5) / static_cast<double>(grid.samples_y)) *
                       grid.bin_height;
      const double x =
          grid.x + (static_cast<double>(column) +
                    (static_cast<double>(j) + 0.5) / static_cast<double>(grid.samples_x)) *
                       grid.bin_width;
      visit(y, x);
    }
}
int64_t sample_count(const Grid& grid) {
  return std::max<int64_t>(grid.samples_x * grid.samples_y, 1);
}

double bin_mean(const double* plane, const Images& images, const Grid& grid, int64_t row,
                int64_t column) {
  MemoryAccount::count_loops({grid.samples_y, grid.samples_x}, 1);
  double sum = 0;
  for_each_sample(grid, row, column, [&](double y, double x) {
    if (const auto corners = corners_of(images, y, x))
      for (size_t k = 0; k < 4; ++k) sum += corners->weights[k] * plane[corners->offsets[k]];
  });
  return sum / static_cast<double>(sample_count(grid));
}

// The taps of a region's bins in each channel's plane: for each bin, the four corners of each
// sample.
struct BinTaps {
  int64_t bins, taps;
  Scratch<int32_t> offsets;
  Scratch<float> weights;

  BinTaps(const Images& images, const Grid& grid, int64_t rows, int64_t columns)
      : bins(rows * columns),
        // A region of negative width or height has no samples.
        taps(4 * std::max<int64_t>(grid.samples_x, 0) * std::max<int64_t>(grid.samples_y, 0)),
        offsets(static_cast<size_t>(bins * taps), -1),
        weights(static_cast<size_t>(bins * taps), 0.0f) {
    const double share = 1 / static_cast<double>(sample_count(grid));
    for (int64_t bin = 0; bin < bins; ++bin) {
      auto place = static_cast<size_t>(bin);
      for_each_sample(grid, bin / columns, bin % columns, [&](double y, double x) {
        const auto corners = corners_of(images, y, x);
        for (size_t k = 0; k < 4; ++k, place += static_cast<size_t>(bins)) {
          if (!corners) continue;
          offsets[place] = static_cast<int32_t>(corners->offsets[k]);
          weights[place] = static_cast<float>(corners->weights[k] * share);
        }
      });
    }
  }
};

Result<void> check_sampling_ratio(int64_t sampling_ratio) {
  if (sampling_ratio >= static_cast<int64_t>(kMaxSamples))
    return operator_error("sampling_ratio: found " + std::to_string(sampling_ratio) +
                          ", expected a smaller number");
  return {};
}

Result<Meta> roi_align_meta(const Tensor& input, const Tensor& rois, double, int64_t pooled_height,
                            int64_t pooled_width, int64_t sampling_ratio) {
  PT2_TRY(const Images images, images_of(input, rois, pooled_height, pooled_width));
  PT2_TRY_VOID(check_sampling_ratio(sampling_ratio));
  return Meta(input.dtype(), {rois.size(0), images.channels, pooled_height, pooled_width});
}
Result<Tensor> roi_align(const Tensor& input, const Tensor& rois, double spatial_scale,
                         int64_t pooled_height, int64_t pooled_width, int64_t sampling_ratio,
                         bool aligned) {
  PT2_TRY(const Meta meta,
          roi_align_meta(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio));
  PT2_TRY(const Images images, check_regions(input, rois, pooled_height, pooled_width));
  PT2_TRY(Tensor out, allocate(meta));
  if (images.height == 0 || images.width == 0 || out.numel() == 0) return out;
  const Input<double> regions(rois);
  const int64_t bins = pooled_height * pooled_width, plane = images.height * images.width;
  std::vector<Grid> grids;
  int64_t most_samples = 0;
  for (int64_t r = 0; r < rois.size(0); ++r) {
    PT2_TRY(const Grid grid,
            region_grid(regions.data() + r * 5, spatial_scale, pooled_height, pooled_width,
                        sampling_ratio, aligned ? 0.5 : 0, aligned ? -HUGE_VAL : 1));
    most_samples = std::max(most_samples, sample_count(grid));
    grids.push_back(grid);
  }
  const auto first_channel = [&](size_t r) {
    return static_cast<int64_t>(regions[static_cast<int64_t>(r) * 5]) * images.channels;
  };
  constexpr int64_t kMostSamples = 1 << 16;  // per region, because its corners are stored in a list
  if (input.dtype() != Dtype::float64 && most_samples <= kMostSamples / bins &&
      kernels::has_short_offsets(std::array{images.height, images.width})) {
    const Input<float> x(input);
    Output<float> y(out);
    float* to = y.data();
    for (size_t r = 0; r < grids.size(); ++r) {
      MemoryAccount::count_loops({bins, sample_count(grids[r])}, 1);
      const BinTaps taps(images, grids[r], pooled_height, pooled_width);
      for (int64_t c = 0; c < images.channels; ++c, to += bins)
        kernels::sum_taps({taps.offsets.data(), taps.weights.data(), taps.taps, bins},
                          x.data() + (first_channel(r) + c) * plane, bins, to);
    }
    return out;
  }
  const Input<double> x(input);
  Output<double> y(out);
  double* to = y.data();
  for (size_t r = 0; r < grids.size(); ++r)
    for (int64_t c = 0; c < images.channels; ++c)
      for (int64_t bin = 0; bin < bins; ++bin)
        *to++ = bin_mean(x.data() + (first_channel(r) + c) * plane, images, grids[r],
                         bin / pooled_width, bin % pooled_width);
  return out;
}

using Pooled = std::tuple<Tensor, Tensor>;

// A row or column of the image, clamped to 0 to `limit`; 0 for NaN.
int64_t border(double at, int64_t limit) {
  return at > 0 ? static_cast<int64_t>(std::min(at, static_cast<double>(limit))) : 0;
}

// Values, and the positions or channels that they come from.
std::array<Meta, 2> pooled_metas(const Tensor& input, const Tensor& rois, int64_t channels,
                                 int64_t pooled_height, int64_t pooled_width) {
  const Sizes sizes{rois.size(0), channels, pooled_height, pooled_width};
  return {Meta(input.dtype(), sizes), Meta(Dtype::int32, sizes)};
}
Result<std::array<Meta, 2>> roi_pool_meta(const Tensor& input, const Tensor& rois, double,
                                          int64_t pooled_height, int64_t pooled_width) {
  PT2_TRY(const Images images, images_of(input, rois, pooled_height, pooled_width));
  return pooled_metas(input, rois, images.channels, pooled_height, pooled_width);
}
// RoI max pooling with rounded borders: the largest element of every bin and its position.
Result<Pooled> roi_pool(const Tensor& input, const Tensor& rois, double spatial_scale,
                        int64_t pooled_height, int64_t pooled_width) {
  PT2_TRY(const Images images, check_regions(input, rois, pooled_height, pooled_width));
  const auto metas = pooled_metas(input, rois, images.channels, pooled_height, pooled_width);
  PT2_TRY(Tensor out, allocate(metas[0]));
  PT2_TRY(Tensor places, allocate(metas[1]));
  auto* place = places.data<int32_t>();
  // The window of a bin, the same in all channels.
  struct Window {
    int64_t y0, y1, x0, x1;
  };
  with_float_compute_type(input.dtype(), [&]<class C>() {
    const Input<C> x(input);
    const Input<C> regions(rois);
    Output<C> y(out);
    // Computed in the precision of the regions, whose rounding decides where bins end.
    const C scale = static_cast<C>(spatial_scale);
    const auto window_of = [&](const C* region, int64_t bin) {
      const C row = static_cast<C>(bin / pooled_width), column = static_cast<C>(bin % pooled_width);
      const C left = std::round(region[1] * scale), top = std::round(region[2] * scale);
      const C bin_width =
          std::max(std::round(region[3] * scale) - left + 1, C(1)) / static_cast<C>(pooled_width);
      const C bin_height =
          std::max(std::round(region[4] * scale) - top + 1, C(1)) / static_cast<C>(pooled_height);
      const auto within = [](C at, int64_t limit) {
        return border(static_cast<double>(at), limit);
      };
      return Window{within(std::floor(row * bin_height) + top, images.height),
                    within(std::ceil((row + 1) * bin_height) + top, images.height),
                    within(std::floor(column * bin_width) + left, images.width),
                    within(std::ceil((column + 1) * bin_width) + left, images.width)};
    };
    const int64_t bins = pooled_height * pooled_width;
    Scratch<Window> windows(static_cast<size_t>(out.numel() == 0 ? 0 : bins));
    for (int64_t i = 0; i < out.numel(); ++i) {
      const C* region = regions.data() + i / (images.channels * bins) * 5;
      if (i % (images.channels * bins) == 0)
        for (int64_t bin = 0; bin < bins; ++bin)
          windows[static_cast<size_t>(bin)] = window_of(region, bin);
      const auto [y0, y1, x0, x1] = windows[static_cast<size_t>(i % bins)];
      MemoryAccount::count_loops({y1 - y0, x1 - x0}, MemoryAccount::kScalarSteps);
      const bool empty = y1 <= y0 || x1 <= x0;
      C best = empty ? C(0) : -std::numeric_limits<C>::infinity();
      int64_t best_place = -1;
      const C* plane = x.data() + (static_cast<int64_t>(region[0]) * images.channels +
                                   i / bins % images.channels) *
                                      images.height * images.width;
      for (int64_t h = y0; h < y1; ++h)
        for (int64_t w = x0; w < x1; ++w)
          if (plane[h * images.width + w] > best) {
            best = plane[h * images.width + w];
            best_place = h * images.width + w;
          }
      y[i] = best;
      place[i] = static_cast<int32_t>(best_place);
    }
  });
  return Pooled{out, places};
}

// The begin and end of the rows or columns of bin `index`, within the image, for a region from
// `start` to `end`. Excludes the image's last row and column (torchvision ps_roi_pool_kernel.cpp).
std::pair<int64_t, int64_t> bin_borders(double start, double end, int64_t bins, int64_t index,
                                        int64_t limit) {
  const double size = std::max(end - start, 1.0) / static_cast<double>(bins);
  return {border(std::floor(static_cast<double>(index) * size) + start, limit - 1),
          border(std::ceil(static_cast<double>(index + 1) * size) + start, limit - 1)};
}

Result<std::array<Meta, 2>> ps_roi_pool_meta(const Tensor& input, const Tensor& rois, double,
                                             int64_t pooled_height, int64_t pooled_width) {
  PT2_TRY(const Images images, images_of(input, rois, pooled_height, pooled_width));
  PT2_TRY(const int64_t bins, multiply_add(pooled_height, pooled_width));
  if (images.channels % bins != 0)
    return operator_error("input: found " + input.type_text() + ", expected a multiple of " +
                          std::to_string(bins) + " channels");
  return pooled_metas(input, rois, images.channels / bins, pooled_height, pooled_width);
}
Result<std::array<Meta, 2>> ps_roi_align_meta(const Tensor& input, const Tensor& rois,
                                              double spatial_scale, int64_t pooled_height,
                                              int64_t pooled_width, int64_t sampling_ratio) {
  PT2_TRY_VOID(check_sampling_ratio(sampling_ratio));
  return ps_roi_pool_meta(input, rois, spatial_scale, pooled_height, pooled_width);
}
// Position-sensitive pooling: every bin has its own channels. `bin(plane, images, region, row,
// column)` computes the value of a bin.
template <class F>
Result<Pooled> pool_position_sensitive(const Tensor& input, const Tensor& rois,
                                       const std::array<Meta, 2>& metas, F&& bin) {
  const int64_t pooled_height = metas[0].sizes[2], pooled_width = metas[0].sizes[3];
  PT2_TRY(const Images images, check_regions(input, rois, pooled_height, pooled_width));
  PT2_TRY(Tensor out, allocate(metas[0]));
  PT2_TRY(Tensor mapping, allocate(metas[1]));
  if (images.height == 0 || images.width == 0) return Pooled{out, mapping};
  const Input<double> x(input);
  const Input<double> regions(rois);
  Output<double> y(out);
  for (int64_t i = 0; i < out.numel(); ++i) {
    const double* region = regions.data() + i / images.channels * 5;
    const int64_t channel = i % images.channels;
    mapping.data<int32_t>()[i] = static_cast<int32_t>(channel);
    const double* plane = x.data() + (static_cast<int64_t>(region[0]) * images.channels + channel) *
                                         images.height * images.width;
    PT2_TRY(y[i], bin(plane, images, region, i / pooled_width % pooled_height, i % pooled_width));
  }
  return Pooled{out, mapping};
}

// The mean of every bin, with rounded borders.
Result<Pooled> ps_roi_pool(const Tensor& input, const Tensor& rois, double spatial_scale,
                           int64_t pooled_height, int64_t pooled_width) {
  PT2_TRY(const auto metas,
          ps_roi_pool_meta(input, rois, spatial_scale, pooled_height, pooled_width));
  const auto mean = [&](const double* plane, const Images& images, const double* region,
                        int64_t row, int64_t column) -> Result<double> {
    const auto edge = [&](int side) { return std::round(region[side] * spatial_scale); };
    const auto [top, bottom] = bin_borders(edge(2), edge(4), pooled_height, row, images.height);
    const auto [left, right] = bin_borders(edge(1), edge(3), pooled_width, column, images.width);
    if (bottom <= top || right <= left) return 0.0;
    MemoryAccount::count_loops({bottom - top, right - left}, MemoryAccount::kScalarSteps);
    double sum = 0;
    for (int64_t h = top; h < bottom; ++h)
      for (int64_t w = left; w < right; ++w) sum += plane[h * images.width + w];
    return sum / static_cast<double>((bottom - top) * (right - left));
  };
  return pool_position_sensitive(input, rois, metas, mean);
}

Result<Pooled> ps_roi_align(const Tensor& input, const Tensor& rois, double spatial_scale,
                            int64_t pooled_height, int64_t pooled_width, int64_t sampling_ratio) {
  PT2_TRY(const auto metas, ps_roi_align_meta(input, rois, spatial_scale, pooled_height,
                                              pooled_width, sampling_ratio));
  const auto mean = [&](const double* plane, const Images& images, const double* region,
                        int64_t row, int64_t column) -> Result<double> {
    PT2_TRY(const Grid grid, region_grid(region, spatial_scale, pooled_height, pooled_width,
                                         sampling_ratio, 0.5, -HUGE_VAL));
    return bin_mean(plane, images, grid, row, column);
  };
  return pool_position_sensitive(input, rois, metas, mean);
}

// --- Deformable convolution

struct Deform {
  int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups;
  bool use_mask;
};

Result<Meta> deform_conv2d_meta(const Tensor& input, const Tensor& weight, const Tensor& offset,
                                const Tensor& mask, const Tensor& bias, int64_t stride_h,
                                int64_t stride_w, int64_t pad_h, int64_t pad_w, int64_t dilation_h,
                                int64_t dilation_w, int64_t groups, int64_t offset_groups,
                                bool use_mask) {
  PT2_TRY_VOID(check_floating(input, "input"));
  for (const Tensor* tensor : {&input, &weight, &offset}) {
    PT2_TRY_VOID(check_rank(*tensor, 4, "input, weight and offset"));
    PT2_TRY_VOID(check_same_dtype(*tensor, input, "weight and offset"));
  }
  PT2_TRY_VOID(check_same_dtype(bias, input, "bias"));
  if (stride_h < 1 || stride_w < 1 || pad_h < 0 || pad_w < 0 || dilation_h < 1 || dilation_w < 1 ||
      groups < 1 || offset_groups < 1)
    return operator_error(
        "found a stride, dilation or number of groups below 1, or padding below 0, expected none");
  auto extent = [](int64_t in, int64_t pad, int64_t dilation, int64_t kernel,
                   int64_t stride) -> Result<int64_t> {
    PT2_TRY(const int64_t reach, multiply_add(dilation, kernel - 1, 1));
    PT2_TRY(const int64_t padded, multiply_add(pad, 2, in));
    if (kernel < 1 || padded < reach)
      return operator_error(
          "weight: found a kernel larger than the padded input, expected at most its sizes");
    return (padded - reach) / stride + 1;
  };
  PT2_TRY(const int64_t height, extent(input.size(2), pad_h, dilation_h, weight.size(2), stride_h));
  PT2_TRY(const int64_t width, extent(input.size(3), pad_w, dilation_w, weight.size(3), stride_w));
  const int64_t taps = weight.size(2) * weight.size(3);
  PT2_TRY(const int64_t in_channels, multiply_add(weight.size(1), groups));
  if (in_channels != input.size(1) || weight.size(0) % groups != 0 ||
      input.size(1) % offset_groups != 0)
    return operator_error("input: found " + input.type_text() + " for weight " +
                          weight.type_text() + ", expected channels that fit it and the groups");
  PT2_TRY(const int64_t offsets, multiply_add(offset_groups, 2 * taps));
  PT2_TRY_VOID(check_sizes(offset, {input.size(0), offsets, height, width}, "offset"));
  if (use_mask) {
    PT2_TRY_VOID(check_same_dtype(mask, input, "mask"));
    PT2_TRY_VOID(check_sizes(mask, {input.size(0), offsets / 2, height, width}, "mask"));
  }
  PT2_TRY_VOID(check_sizes(bias, {weight.size(0)}, "bias"));
  return Meta(input.dtype(), {input.size(0), weight.size(0), height, width});
}

// Interpolates towards 0 within one pixel around the image, and returns 0 beyond it, unlike the
// pools of regions above.
double deform_sample(const double* plane, int64_t height, int64_t width, double y, double x) {
  if (y <= -1 || y >= static_cast<double>(height) || x <= -1 || x >= static_cast<double>(width))
    return 0;
  if (std::isnan(y) || std::isnan(x)) return std::numeric_limits<double>::quiet_NaN();
  const auto y_low = static_cast<int64_t>(std::floor(y));
  const auto x_low = static_cast<int64_t>(std::floor(x));
  const double ly = y - static_cast<double>(y_low);
  const double lx = x - static_cast<double>(x_low);
  auto at = [&](int64_t row, int64_t column) {
    return row < 0 || row >= height || column < 0 || column >= width ? 0.0
                                                                     : plane[row * width + column];
  };
  return (1 - ly) * (1 - lx) * at(y_low, x_low) + (1 - ly) * lx * at(y_low, x_low + 1) +
         ly * (1 - lx) * at(y_low + 1, x_low) + ly * lx * at(y_low + 1, x_low + 1);
}

// A call whose sizes are checked.
struct DeformCall {
  const Tensor &input, &weight, &offset, &mask, &bias;
  Deform d;
  int64_t channels = input.size(1);
  int64_t height = input.size(2);
  int64_t width = input.size(3);
  int64_t kernel_w = weight.size(3);
  int64_t taps = weight.size(2) * kernel_w;
  int64_t group_in = weight.size(1);
  int64_t group_out = weight.size(0) / d.groups;
  int64_t offset_channels = channels / d.offset_groups;

  // The mask's elements; no elements without a mask.
  Tensor scales() const { return d.use_mask ? mask : Tensor::zeros(Dtype::float32, {0}); }
  // The position of a tap for point p of a result that is `out_width` wide, before the offset is
  // added.
  int64_t row(int64_t p, int64_t tap, int64_t out_width) const {
    return p / out_width * d.stride_h - d.pad_h + tap / kernel_w * d.dilation_h;
  }
  int64_t column(int64_t p, int64_t tap, int64_t out_width) const {
    return p % out_width * d.stride_w - d.pad_w + tap % kernel_w * d.dilation_w;
  }
};

void deform_doubles(Tensor& out, const DeformCall& call) {
  const Input<double> x(call.input), w(call.weight), shift(call.offset), scale(call.scales()),
      plus(call.bias);
  Output<double> y(out);
  const int64_t taps = call.taps;
  const int64_t area = out.size(2) * out.size(3);
  std::vector<double> columns(static_cast<size_t>(call.channels * taps));
  for (int64_t place = 0; place < out.size(0) * area; ++place) {
    const int64_t n = place / area;
    const int64_t p = place % area;
    for (int64_t c = 0; c < call.channels; ++c)
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t group = (n * call.d.offset_groups + c / call.offset_channels) * taps + tap;
        const double row =
            static_cast<double>(call.row(p, tap, out.size(3))) + shift[2 * group * area + p];
        const double column = static_cast<double>(call.column(p, tap, out.size(3))) +
                              shift[(2 * group + 1) * area + p];
        const double* plane = x.data() + (n * call.channels + c) * call.height * call.width;
        const double value = deform_sample(plane, call.height, call.width, row, column);
        columns[static_cast<size_t>(c * taps + tap)] =
            call.d.use_mask ? value * scale[group * area + p] : value;
      }
    for (int64_t o = 0; o < out.size(1); ++o) {
      const double* values = columns.data() + o / call.group_out * call.group_in * taps;
      const double* factors = w.data() + o * call.group_in * taps;
      y[(n * out.size(1) + o) * area + p] =
          std::inner_product(values, values + call.group_in * taps, factors, plus[o]);
    }
  }
}

// The samples of all taps of a kernel: a row for each channel and tap, with one element for each of
// a range of result points.
class DeformColumns {
 public:
  DeformColumns(const DeformCall& call, const Tensor& out)
      : call_(call),
        x_(call.input),
        shift_(call.offset),
        scale_(call.scales()),
        out_width_(out.size(3)),
        area_(out.size(2) * out.size(3)) {
    constexpr int64_t kFloats = 1 << 18;  // fits in the cache
    const int64_t rows = std::max<int64_t>(call.channels * call.taps, 1);
    points_ = std::min(std::max(kFloats / rows / kPoints, int64_t{1}) * kPoints, area_);
    columns_.resize(static_cast<size_t>(rows * points_));
  }

  // The number of points per fill, which is also the distance between rows.
  int64_t points() const { return points_; }
  const float* row(int64_t row) const { return columns_.data() + row * points_; }

  void fill(int64_t image, int64_t first, int64_t count) {
    for (int64_t group = 0; group < call_.d.offset_groups; ++group)
      for (int64_t tap = 0; tap < call_.taps; ++tap)
        for (int64_t begin = 0; begin < count; begin += kPoints)
          sample(image, group, tap, first, begin, std::min(kPoints, count - begin));
  }

 private:
  static constexpr int64_t kPoints = kernels::kPoints;
  static constexpr int64_t kCorners = 4;

  void sample(int64_t image, int64_t group, int64_t tap, int64_t first, int64_t begin,
              int64_t count) {
    const int64_t shifted = (image * call_.d.offset_groups + group) * call_.taps + tap;
    const float* rows = shift_.data() + 2 * shifted * area_ + first + begin;
    for (int64_t p = 0; p < count; ++p) {
      const int64_t point = first + begin + p;
      rows_[p] = static_cast<float>(call_.row(point, tap, out_width_)) + rows[p];
      columns_of_[p] = static_cast<float>(call_.column(point, tap, out_width_)) + rows[area_ + p];
      if (is_outside(rows_[p], call_.height) || is_outside(columns_of_[p], call_.width))
        rows_[p] = columns_of_[p] = -2;
    }
    find_corners(count);
    for (int64_t i = 0; i < call_.offset_channels; ++i) {
      const int64_t channel = group * call_.offset_channels + i;
      float* to = columns_.data() + (channel * call_.taps + tap) * points_ + begin;
      kernels::sum_taps({offsets_, weights_, kCorners, kPoints},
                        x_.data() + (image * call_.channels + channel) * call_.height * call_.width,
                        count, to);
      if (!call_.d.use_mask) continue;
      const float* scales = scale_.data() + shifted * area_ + first + begin;
      for (int64_t p = 0; p < count; ++p) to[p] *= scales[p];
    }
  }

  // True for positions whose sample is 0, whatever the border pixel holds. NaN is not outside: its
  // sample is NaN.
  static bool is_outside(float position, int64_t size) {
    return position <= -1 || position >= static_cast<float>(size);
  }

  void find_corners(int64_t count) {
    kernels::linear_taps(rows_, count, call_.height, along_rows_);
    kernels::linear_taps(columns_of_, count, call_.width, along_columns_);
    for (int64_t corner = 0; corner < kCorners; ++corner) {
      int32_t* offset = offsets_ + corner * kPoints;
      float* weight = weights_ + corner * kPoints;
      std::copy_n(along_rows_.index[corner / 2], count, offset);
      std::copy_n(along_rows_.weight[corner / 2], count, weight);
      kernels::combine_taps(along_columns_.index[corner % 2], along_columns_.weight[corner % 2],
                            count, call_.width, offset, weight);
    }
  }

  const DeformCall& call_;
  Input<float> x_, shift_, scale_;
  int64_t out_width_;
  int64_t area_;
  int64_t points_;
  Scratch<float> columns_;
  float rows_[kPoints], columns_of_[kPoints];
  kernels::PointTaps along_rows_, along_columns_;
  int32_t offsets_[kCorners * kPoints];
  float weights_[kCorners * kPoints];
};

void deform_floats(Tensor& out, const DeformCall& call) {
  const Input<float> w(call.weight), plus(call.bias);
  Output<float> y(out);
  DeformColumns columns(call, out);
  const int64_t area = out.size(2) * out.size(3);
  const int64_t depth = call.group_in * call.taps;
  for (int64_t n = 0; n < out.size(0); ++n)
    for (int64_t first = 0; first < area; first += columns.points()) {
      const int64_t count = std::min(columns.points(), area - first);
      columns.fill(n, first, count);
      for (int64_t group = 0; group < call.d.groups; ++group) {
        const int64_t o = group * call.group_out;
        const MatrixOperand<float> left(w.data() + o * depth, depth, 1);
        const MatrixOperand<float> right(columns.row(group * depth), 1, columns.points());
        gemm<float>(call.group_out, count, depth, left, right,
                    y.data() + (n * out.size(1) + o) * area + first, area, 1);
      }
      for (int64_t o = 0; o < out.size(1); ++o) {
        float* row = y.data() + (n * out.size(1) + o) * area + first;
        for (int64_t p = 0; p < count; ++p) row[p] += plus[o];
      }
    }
}

Result<Tensor> deform_conv2d(const Tensor& input, const Tensor& weight, const Tensor& offset,
                             const Tensor& mask, const Tensor& bias, int64_t stride_h,
                             int64_t stride_w, int64_t pad_h, int64_t pad_w, int64_t dilation_h,
                             int64_t dilation_w, int64_t groups, int64_t offset_groups,
                             bool use_mask) {
  const Deform d{stride_h,   stride_w, pad_h,         pad_w,   dilation_h,
                 dilation_w, groups,   offset_groups, use_mask};
  PT2_TRY(const Meta meta,
          deform_conv2d_meta(input, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w,
                             dilation_h, dilation_w, groups, offset_groups, use_mask));
  PT2_TRY(Tensor out, allocate(meta));
  if (out.numel() == 0) return out;
  const DeformCall call{input, weight, offset, mask, bias, d};
  MemoryAccount::count_loops({input.size(0), out.size(2), out.size(3), call.channels, call.taps},
                             1);
  MemoryAccount::count_loops({out.numel(), call.group_in, call.taps}, MemoryAccount::kScalarSteps);
  if (input.dtype() != Dtype::float64 &&
      kernels::has_short_offsets(std::array{call.height, call.width}))
    deform_floats(out, call);
  else
    deform_doubles(out, call);
  return out;
}

// clang-format off
constexpr OpDef kTorchvisionOps[] = {
    composed<"torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor", depends_on_data, nms>,
    composed<"torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor", roi_align_meta, roi_align>,
    composed<"torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)", roi_pool_meta, roi_pool>,
    composed<"torchvision::ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)", ps_roi_pool_meta, ps_roi_pool>,
    composed<"torchvision::ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio) -> (Tensor, Tensor)", ps_roi_align_meta, ps_roi_align>,
    composed<"torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor", deform_conv2d_meta, deform_conv2d>,
};
// clang-format on

}  // namespace

std::span<const OpDef> torchvision_ops() { return kTorchvisionOps; }

}  // namespace pt2::ops
