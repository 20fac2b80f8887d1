// Image sampling at arbitrary positions: grid_sample and affine grids.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/memory_account.h"
#include "kernels/lines.h"
#include "kernels/points.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/memory_format.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

enum Interpolation : int64_t { kLinear = 0, kNearest = 1, kCubic = 2 };
enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

// ATen/native/GridSampler.h. Positions are computed in the input's own precision: in T, rounded to
// `dtype` after each step.
template <class T>
struct Sampler {
  Dtype dtype;
  int64_t interpolation;
  int64_t padding;
  bool align_corners;
  // True for images, false for volumes. PyTorch's kernel for images treats elements outside as 0
  // and multiplies them by their weight, which may be NaN; it clips NaN to the first element. The
  // kernel for volumes skips elements outside and clips NaN to the last element
  // (ATen/native/cpu/GridSamplerKernel.cpp, GridSampler.h).
  bool planar;

  T rounded(T value) const {
    if (dtype_size(dtype) == 2) round_elements<T>(dtype, 1, &value);
    return value;
  }

  // Maps a coordinate in [-1, 1] to an index.
  T unnormalize(T coordinate, int64_t size) const {
    if (align_corners)
      return rounded(rounded(rounded(coordinate + 1) / 2) * static_cast<T>(size - 1));
    return rounded(rounded(rounded(coordinate + 1) * static_cast<T>(size)) - 1) / 2;
  }

  // The derivative of an index with respect to its coordinate.
  double unnormalize_slope(int64_t size) const {
    return static_cast<double>(align_corners ? size - 1 : size) / 2;
  }

  T clipped_nan(int64_t size) const { return planar ? T(0) : static_cast<T>(size - 1); }
  T clip(T coordinate, int64_t size) const {
    if (coordinate != coordinate) return clipped_nan(size);
    return std::min(static_cast<T>(size - 1), std::max(coordinate, T(0)));
  }

  // Reflects at the borders, which are passed as twice their value. The two kernels differ for
  // coordinates so far away that neither is exact.
  T reflect(T coordinate, int64_t twice_low, int64_t twice_high) const {
    if (twice_low == twice_high) return T(0);
    const T low = static_cast<T>(twice_low) / 2;
    const T span = static_cast<T>(twice_high - twice_low) / 2;
    const T distance = std::fabs(coordinate - low);
    if (planar && dtype_size(dtype) > 2) {
      const T extra = distance - std::trunc(distance / (2 * span)) * (2 * span);
      return std::min(extra, 2 * span - extra) + low;
    }
    const T extra = std::fmod(distance, span);
    const bool even = std::fmod(std::floor(distance / span), T(2)) == 0;
    return even ? extra + low : span - extra + low;
  }

  T pad(T coordinate, int64_t size) const {
    if (padding == kBorder) return clip(coordinate, size);
    if (padding == kReflection) {
      const T reflected = align_corners ? reflect(coordinate, 0, 2 * (size - 1))
                                        : reflect(coordinate, -1, 2 * size - 1);
      return clip(reflected, size);
    }
    return coordinate;
  }

  // The derivative of a padded index with respect to the index: 1, -1 if it is reflected, 0 if it
  // is clipped.
  double pad_slope(T coordinate, int64_t size) const {
    if (padding == kZeros) return 1;
    double slope = 1;
    T inside = coordinate;
    if (padding == kReflection) {
      const T low = align_corners ? T(0) : T(-0.5);
      const T span = static_cast<T>(align_corners ? size - 1 : size);
      if (span == 0) return 0;
      inside = align_corners ? reflect(coordinate, 0, 2 * (size - 1))
                             : reflect(coordinate, -1, 2 * size - 1);
      const T distance = coordinate - low;
      slope = distance < 0 ? -1 : 1;
      if (std::fmod(std::floor(std::fabs(distance) / span), T(2)) != 0) slope = -slope;
    }
    return inside <= 0 || inside >= static_cast<T>(size - 1) ? 0 : slope;
  }

  // The index of a position; -1, which is outside of every image, if the position is not finite or
  // far away.
  static int64_t index(T position) {
    return std::fabs(position) < T(1e9) ? static_cast<int64_t>(position) : -1;
  }
};

// One tap of a dimension: its index, its weight, and the derivative of the weight with respect to
// the coordinate.
struct Tap {
  int64_t index;
  double weight;
  double slope = 0;
};

double cubic_weight(double distance) {
  constexpr double kA = -0.75;
  const double x = std::fabs(distance);
  if (x <= 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA;
}

double cubic_slope(double distance) {
  constexpr double kA = -0.75;
  const double x = std::fabs(distance);
  const double slope =
      x <= 1 ? (3 * (kA + 2) * x - 2 * (kA + 3)) * x : (3 * kA * x - 10 * kA) * x + 8 * kA;
  return distance < 0 ? -slope : slope;
}

template <class T>
std::vector<Tap> taps_along(const Sampler<T>& sampler, T coordinate, int64_t size) {
  const T position = sampler.unnormalize(coordinate, size);
  if (sampler.interpolation == kNearest)
    return {{Sampler<T>::index(std::nearbyint(sampler.pad(position, size))), 1.0, 0.0}};
  if (sampler.interpolation == kLinear) {
    const T padded = sampler.pad(position, size);
    const T floor = std::floor(padded);
    const auto fraction = static_cast<double>(padded - floor);
    const double slope = sampler.unnormalize_slope(size) * sampler.pad_slope(position, size);
    return {{Sampler<T>::index(floor), 1 - fraction, -slope},
            {Sampler<T>::index(floor + 1), fraction, slope}};
  }
  const T floor = std::floor(position);
  const auto fraction = static_cast<double>(position - floor);
  std::vector<Tap> taps;
  for (int i = -1; i <= 2; ++i)
    taps.push_back({Sampler<T>::index(sampler.pad(floor + static_cast<T>(i), size)),
                    cubic_weight(fraction - i),
                    cubic_slope(fraction - i) * sampler.unnormalize_slope(size)});
  return taps;
}

// An element of a plane that contributes to a point: its weight, and the weight's derivative along
// each dimension. A negative offset means an element outside of the plane.
template <int64_t Spatial>
struct Touched {
  int64_t offset;
  double weight;
  std::array<double, Spatial> slopes;
};

// Coordinates are in the order x, y, z.
template <int64_t Spatial, class T>
void find_taps(const Sampler<T>& sampler, const T* point, const Sizes& sizes,
               std::vector<std::vector<Tap>>& taps) {
  for (size_t dim = 0; dim < Spatial; ++dim)
    taps[dim] = taps_along(sampler, point[Spatial - 1 - dim], sizes[dim]);
}

// Finds every combination of taps; only those inside the image unless `with_outside`.
template <int64_t Spatial>
void find_touched(const std::vector<std::vector<Tap>>& taps, const Sizes& sizes, bool with_outside,
                  std::vector<Touched<Spatial>>& out) {
  out.clear();
  std::array<size_t, Spatial> chosen{};
  for (;;) {
    Touched<Spatial> touched{.offset = 0, .weight = 1, .slopes = {}};
    bool inside = true;
    touched.slopes.fill(1.0);
    for (size_t dim = 0; dim < Spatial; ++dim) {
      const Tap& tap = taps[dim][chosen[dim]];
      inside = inside && tap.index >= 0 && tap.index < sizes[dim];
      touched.offset = touched.offset * sizes[dim] + tap.index;
      touched.weight *= tap.weight;
      for (size_t other = 0; other < Spatial; ++other)
        touched.slopes[other] *= other == dim ? tap.slope : tap.weight;
    }
    if (!inside) touched.offset = -1;
    if (inside || with_outside) out.push_back(touched);
    size_t dim = Spatial;
    while (dim > 0 && ++chosen[dim - 1] == taps[dim - 1].size()) chosen[--dim] = 0;
    if (dim == 0) return;
  }
}

using kernels::kPoints;
using kernels::PointTaps;

void fill_cubic(const Sampler<float>& sampler, const float* positions, int64_t count, int64_t size,
                PointTaps& taps) {
  for (int64_t p = 0; p < count; ++p) {
    const float floor = std::floor(positions[p]);
    const auto fraction = static_cast<double>(positions[p] - floor);
    for (int i = 0; i < 4; ++i) {
      const int64_t index =
          Sampler<float>::index(sampler.pad(floor + static_cast<float>(i - 1), size));
      taps.index[i][p] = index < size ? static_cast<int32_t>(index) : -1;
      taps.weight[i][p] = static_cast<float>(cubic_weight(fraction - (i - 1)));
    }
  }
}

int64_t taps_of(int64_t interpolation) {
  return interpolation == kNearest ? 1 : interpolation == kLinear ? 2 : 4;
}

// Computes the taps of `count` points, whose coordinates are `step` elements apart.
void fill_taps(const Sampler<float>& sampler, const float* coordinates, int64_t step, int64_t count,
               int64_t size, PointTaps& taps) {
  float positions[kPoints];
  const bool rounds = sampler.dtype != Dtype::float32;
  for (int64_t p = 0; p < count; ++p) {
    const float coordinate = coordinates[p * step];
    positions[p] = rounds ? sampler.unnormalize(coordinate, size) : coordinate;
  }
  if (!rounds) kernels::place_points(positions, count, size, sampler.align_corners);
  if (sampler.interpolation == kCubic) return fill_cubic(sampler, positions, count, size, taps);
  if (sampler.padding == kBorder)
    kernels::clip_points(positions, count, size, sampler.clipped_nan(size));
  if (sampler.padding == kReflection)
    for (int64_t p = 0; p < count; ++p) positions[p] = sampler.pad(positions[p], size);
  if (sampler.interpolation == kNearest) return kernels::nearest_taps(positions, count, size, taps);
  kernels::linear_taps(positions, count, size, taps);
}

// The combinations of the taps of `Spatial` dimensions: offsets in a plane and weights, stored one
// combination after another.
struct Combinations {
  int64_t count = 1;
  Scratch<int32_t> offsets;
  Scratch<float> weights;

  Combinations(int64_t taps, int64_t spatial) {
    for (int64_t dim = 0; dim < spatial; ++dim) count *= taps;
    offsets.resize(static_cast<size_t>(count * kPoints));
    weights.resize(static_cast<size_t>(count * kPoints));
  }

  void fill(std::span<const PointTaps> dims, const Sizes& sizes, int64_t taps, int64_t points,
            bool planar) {
    for (int64_t k = 0; k < count; ++k) {
      int32_t* offset = offsets.data() + k * kPoints;
      float* weight = weights.data() + k * kPoints;
      int64_t choices = count;
      for (size_t dim = 0; dim < dims.size(); ++dim) {
        choices /= taps;
        const auto chosen = static_cast<size_t>(k / choices % taps);
        const int32_t* index = dims[dim].index[chosen];
        const float* factor = dims[dim].weight[chosen];
        if (dim == 0) {
          std::copy_n(index, points, offset);
          std::copy_n(factor, points, weight);
        } else {
          kernels::combine_taps(index, factor, points, sizes[dim], offset, weight);
        }
      }
      if (planar) continue;
      for (int64_t p = 0; p < points; ++p)
        if (offset[p] < 0) weight[p] = 0;
    }
  }
};

// For float images whose planes have 32-bit offsets.
template <int64_t Spatial>
void sample_planes(const Sampler<float>& sampler, const Sizes& sizes, const Tensor& input,
                   const Tensor& grid, Tensor& out) {
  const Input<float> positions(grid);
  Output<float> y(out);
  const int64_t channels = input.size(1);
  const int64_t plane_size = input.numel() / (input.size(0) * channels);
  const int64_t points = out.numel() / (out.size(0) * channels);
  const int64_t taps = taps_of(sampler.interpolation);
  Combinations combinations(taps, Spatial);
  Scratch<PointTaps> dims(Spatial);
  const Sizes image_sizes(input.sizes().begin() + 1, input.sizes().end()),
      image_strides(input.strides().begin() + 1, input.strides().end());
  // If the whole batch shares one image, as when regions are cut out, the image is converted once.
  std::optional<Input<float>> x;
  for (int64_t n = 0; n < out.size(0); ++n) {
    if (n == 0 || input.stride(0) != 0)
      x.emplace(input.with_view(image_sizes, image_strides,
                                input.storage_offset() + n * input.stride(0)));
    for (int64_t first = 0; first < points; first += kPoints) {
      const int64_t count = std::min(kPoints, points - first);
      // Coordinates are in the order x, y, z.
      const float* coordinates = positions.data() + (n * points + first) * Spatial;
      for (size_t dim = 0; dim < Spatial; ++dim)
        fill_taps(sampler, coordinates + (Spatial - 1 - dim), Spatial, count, sizes[dim],
                  dims[dim]);
      combinations.fill(dims, sizes, taps, count, sampler.planar);
      for (int64_t c = 0; c < channels; ++c)
        kernels::sum_taps(
            {combinations.offsets.data(), combinations.weights.data(), combinations.count, kPoints},
            x->data() + c * plane_size, count, y.data() + (n * channels + c) * points + first);
    }
  }
}

Result<void> check_grid(const Tensor& input, const Tensor& grid, int64_t interpolation,
                        int64_t padding, int64_t spatial) {
  PT2_TRY_VOID(check_floating(input, "input"));
  PT2_TRY_VOID(check_rank(input, spatial + 2, "input"));
  PT2_TRY_VOID(check_rank(grid, spatial + 2, "grid"));
  PT2_TRY_VOID(check_same_dtype(grid, input, "grid"));
  if (grid.size(0) != input.size(0) || grid.size(spatial + 1) != spatial)
    return operator_error("grid: found " + grid.type_text() + ", expected a batch of " +
                          std::to_string(input.size(0)) + " and a last size of " +
                          std::to_string(spatial));
  for (int64_t dim = 2; dim < input.dim(); ++dim)
    if (input.size(dim) == 0)
      return operator_error("input: found " + input.type_text() +
                            ", expected no spatial size of 0");
  if (interpolation < kLinear || interpolation > kCubic)
    return operator_error("interpolation_mode: found " + std::to_string(interpolation) +
                          ", expected 0 to 2");
  if (padding < kZeros || padding > kReflection)
    return operator_error("padding_mode: found " + std::to_string(padding) + ", expected 0 to 2");
  return {};
}

template <int64_t Spatial>
Result<Meta> grid_sampler_meta(const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                               int64_t padding_mode, bool) {
  PT2_TRY_VOID(check_grid(input, grid, interpolation_mode, padding_mode, Spatial));
  Sizes sizes{input.size(0), input.size(1)};
  sizes.insert(sizes.end(), grid.sizes().begin() + 1, grid.sizes().end() - 1);
  return Meta(input.dtype(), std::move(sizes));
}

template <int64_t Spatial>
void grid_sampler(Tensor& out, const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                  int64_t padding_mode, bool align_corners) {
  if (out.numel() == 0) return;
  const Sizes sizes(input.sizes().begin() + 2, input.sizes().end());
  if (input.dtype() != Dtype::float64 && kernels::has_short_offsets(sizes))
    return sample_planes<Spatial>(
        {input.dtype(), interpolation_mode, padding_mode, align_corners, Spatial == 2}, sizes,
        input, grid, out);
  with_float_compute_type(input.dtype(), [&]<class C>() {
    const Input<C> x(input);
    const Input<C> positions(grid);
    Output<C> y(out);
    const Sampler<C> sampler{input.dtype(), interpolation_mode, padding_mode, align_corners,
                             Spatial == 2};
    int64_t plane_size = 1;
    for (int64_t size : sizes) plane_size *= size;
    const int64_t channels = input.size(1);
    const int64_t points = out.numel() / (out.size(0) * channels);
    std::vector<std::vector<Tap>> taps(Spatial);
    std::vector<Touched<Spatial>> touched;
    for (int64_t n = 0; n < out.size(0); ++n)
      for (int64_t p = 0; p < points; ++p) {
        find_taps<Spatial>(sampler, positions.data() + (n * points + p) * Spatial, sizes, taps);
        find_touched<Spatial>(taps, sizes, sampler.planar, touched);
        for (int64_t c = n * channels; c < (n + 1) * channels; ++c) {
          double sum = 0;
          for (const Touched<Spatial>& each : touched)
            sum += each.weight *
                   (each.offset < 0 ? 0 : static_cast<double>(x[c * plane_size + each.offset]));
          y[c * points + p] = static_cast<C>(sum);
        }
      }
  });
}

using GridGradients = std::tuple<OptionalTensor, Tensor>;

template <int64_t Spatial>
Result<void> check_grid_gradient(const Tensor& grad_output, const Tensor& input, const Tensor& grid,
                                 int64_t interpolation_mode, int64_t padding_mode,
                                 const std::vector<bool>& output_mask) {
  PT2_TRY(const Meta forward,
          grid_sampler_meta<Spatial>(input, grid, interpolation_mode, padding_mode, false));
  PT2_TRY_VOID(check_sizes(grad_output, forward.sizes, "grad_output"));
  if (output_mask.size() != 2) return operator_error("output_mask: expected 2 bools");
  return {};
}
// No Meta describes the gradient that is None because the mask excludes it.
template <int64_t Spatial>
Result<std::array<Meta, 2>> grid_sampler_backward_meta(const Tensor& grad_output,
                                                       const Tensor& input, const Tensor& grid,
                                                       int64_t interpolation_mode,
                                                       int64_t padding_mode, bool,
                                                       const std::vector<bool>& output_mask) {
  PT2_TRY_VOID(check_grid_gradient<Spatial>(grad_output, input, grid, interpolation_mode,
                                            padding_mode, output_mask));
  if (!output_mask[0]) return Error{ErrorCode::unsupported, "a result is None", ""};
  return std::array{Meta::like(input), Meta::like(grid)};
}

template <int64_t Spatial>
Result<GridGradients> grid_sampler_backward(const Tensor& grad_output, const Tensor& input,
                                            const Tensor& grid, int64_t interpolation_mode,
                                            int64_t padding_mode, bool align_corners,
                                            const std::vector<bool>& output_mask) {
  PT2_TRY_VOID(check_grid_gradient<Spatial>(grad_output, input, grid, interpolation_mode,
                                            padding_mode, output_mask));
  PT2_TRY(Tensor grad_input, allocate(Meta::like(input)));
  PT2_TRY(Tensor grad_grid, allocate(Meta::like(grid)));
  const Sizes sizes(input.sizes().begin() + 2, input.sizes().end());
  int64_t plane = 1;
  for (int64_t size : sizes) plane *= size;
  const int64_t channels = input.size(1);
  const int64_t points = grid.size(0) == 0 ? 0 : grid.numel() / (grid.size(0) * Spatial);
  with_float_compute_type(input.dtype(), [&]<class C>() {
    const Input<C> x(input);
    const Input<C> positions(grid);
    const Input<C> gradient(grad_output);
    Output<C> to_input(grad_input);
    Output<C> to_grid(grad_grid);
    const Sampler<C> sampler{input.dtype(), interpolation_mode, padding_mode, align_corners,
                             Spatial == 2};
    std::vector<std::vector<Tap>> taps(Spatial);
    std::vector<Touched<Spatial>> touched;
    std::vector<double> sums;
    for (int64_t point = 0; point < grid.size(0) * points; ++point) {
      find_taps<Spatial>(sampler, positions.data() + point * Spatial, sizes, taps);
      find_touched<Spatial>(taps, sizes, false, touched);
      const int64_t first = point / points * channels;
      // For each element, the sum over channels of the gradient times the element's value.
      sums.assign(touched.size(), 0.0);
      for (int64_t c = first; c < first + channels; ++c) {
        const C g = gradient[c * points + point % points];
        for (size_t k = 0; k < touched.size(); ++k) {
          const int64_t at = c * plane + touched[k].offset;
          to_input[at] += g * static_cast<C>(touched[k].weight);
          sums[k] += static_cast<double>(g) * static_cast<double>(x[at]);
        }
      }
      for (size_t k = 0; k < touched.size(); ++k)
        for (size_t dim = 0; dim < Spatial; ++dim)
          to_grid[(point + 1) * Spatial - 1 - static_cast<int64_t>(dim)] +=
              static_cast<C>(sums[k] * touched[k].slopes[dim]);
    }
  });
  if (!output_mask[0]) return GridGradients{std::nullopt, std::move(grad_grid)};
  return GridGradients{std::move(grad_input), std::move(grad_grid)};
}

// The sizes of the grid of a batch of images: one point for each pixel.
Result<Sizes> grid_sizes(const Sizes& size) {
  const auto spatial = static_cast<int64_t>(size.size()) - 2;
  if (spatial != 2 && spatial != 3)
    return operator_error("size: found " + sizes_text(size) + ", expected 4 or 5 numbers");
  for (int64_t s : size)
    if (s < 0) return operator_error("size: found " + sizes_text(size));
  Sizes sizes{size[0]};
  sizes.insert(sizes.end(), size.begin() + 2, size.end());
  sizes.push_back(spatial);
  return sizes;
}
Result<Meta> affine_grid_meta(const Tensor& theta, const Sizes& size, bool) {
  PT2_TRY_VOID(check_floating(theta, "theta"));
  PT2_TRY(Sizes sizes, grid_sizes(size));
  PT2_TRY_VOID(check_sizes(theta, {size[0], sizes.back(), sizes.back() + 1}, "theta"));
  return Meta(theta.dtype(), std::move(sizes));
}

// The position of point `index` of `steps` points in [-1, 1].
double grid_position(int64_t index, int64_t steps, bool align_corners) {
  if (steps <= 1) return 0;
  const double at = -1 + 2 * static_cast<double>(index) / static_cast<double>(steps - 1);
  return align_corners ? at : at * static_cast<double>(steps - 1) / static_cast<double>(steps);
}

void affine_grid(Tensor& out, const Tensor& theta, const Sizes& size, bool align_corners) {
  const Input<double> map(theta);
  Output<double> grid(out);
  const size_t spatial = size.size() - 2;
  const int64_t points =
      out.numel() == 0 ? 0 : out.numel() / (size[0] * static_cast<int64_t>(spatial));
  for (int64_t n = 0; n < size[0]; ++n)
    for (int64_t p = 0; p < points; ++p) {
      std::array<double, 4> point{};  // (x, y, z, 1)
      int64_t rest = p;
      for (size_t i = 0; i < spatial; ++i) {
        const int64_t steps = size[1 + spatial - i];
        point[i] = grid_position(rest % steps, steps, align_corners);
        rest /= steps;
      }
      point[spatial] = 1;
      for (size_t row = 0; row < spatial; ++row) {
        double sum = 0;
        for (size_t k = 0; k <= spatial; ++k)
          sum += map[(n * static_cast<int64_t>(spatial) + static_cast<int64_t>(row)) *
                         static_cast<int64_t>(spatial + 1) +
                     static_cast<int64_t>(k)] *
                 point[k];
        grid[(n * points + p) * static_cast<int64_t>(spatial) + static_cast<int64_t>(row)] = sum;
      }
    }
}

Result<Tensor> grid_sampler_any(Emitter& e, const Tensor& input, const Tensor& grid,
                                int64_t interpolation_mode, int64_t padding_mode,
                                bool align_corners) {
  return e(
      input.dim() == 4 ? Handle(aten<"grid_sampler_2d.default">) : aten<"grid_sampler_3d.default">,
      {input, grid, interpolation_mode, padding_mode, align_corners});
}

Result<std::tuple<Tensor, Tensor>> fallback_backward(Emitter& e, const Tensor& grad_output,
                                                     const Tensor& input, const Tensor& grid,
                                                     int64_t interpolation_mode,
                                                     int64_t padding_mode, bool align_corners) {
  return e.several<Tensor, Tensor>(aten<"grid_sampler_2d_backward.default">,
                                   {grad_output, input, grid, interpolation_mode, padding_mode,
                                    align_corners, std::vector<bool>{true, true}});
}

// ATen/native/AffineGridGenerator.cpp affine_grid_generator_backward. The points that theta
// transforms are computed as the grid of the identity.
Result<Tensor> affine_grid_backward(Emitter& e, const Tensor& grad, const Sizes& size,
                                    bool align_corners) {
  PT2_TRY_VOID(check_floating(grad, "grad"));
  PT2_TRY(const Sizes sizes, grid_sizes(size));
  PT2_TRY_VOID(check_sizes(grad, sizes, "grad"));
  const int64_t spatial = sizes.back();
  Sizes one = size;
  one[0] = 1;
  PT2_TRY(const Tensor identity, e(aten<"eye.m">, {spatial, spatial + 1, grad.dtype()}));
  const auto grid = e(aten<"affine_grid_generator.default">,
                      {e(aten<"unsqueeze.default">, {identity, int64_t{0}}), one, align_corners});
  PT2_TRY(const Tensor points, e(aten<"reshape.default">, {grid, Sizes{1, -1, spatial}}));
  PT2_TRY(const Tensor ones,
          e(aten<"new_ones.default">, {points, Sizes{1, points.size(1), int64_t{1}}}));
  const auto base = e(aten<"cat.default">, {Tensors{points, ones}, int64_t{-1}});
  const auto rows = e(aten<"expand.default">, {base, Sizes{size[0], points.size(1), spatial + 1}});
  const auto sums =
      e(aten<"bmm.default">,
        {e(aten<"transpose.int">, {rows, int64_t{1}, int64_t{2}}),
         e(aten<"reshape.default">, {grad, Sizes{size[0], points.size(1), spatial}})});
  return e(aten<"transpose.int">, {sums, int64_t{1}, int64_t{2}});
}

// clang-format off
constexpr OpDef kGridSamplingOps[] = {
    op<"aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
       grid_sampler_meta<2>, grid_sampler<2>>.with({.autocast = AutocastRule::float32}),
    op<"aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
       grid_sampler_meta<3>, grid_sampler<3>>.with({.autocast = AutocastRule::float32}),
    op<"aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor", grid_sampler_any>.with({.autocast = AutocastRule::float32}),
    composed<"aten::grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)",
       grid_sampler_backward_meta<2>, grid_sampler_backward<2>>.with({.work = 24}),
    composed<"aten::grid_sampler_3d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)",
       grid_sampler_backward_meta<3>, grid_sampler_backward<3>>.with({.work = 24}),
    op<"aten::_grid_sampler_2d_cpu_fallback_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> (Tensor, Tensor)", fallback_backward>,
    op<"aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor", affine_grid_meta, affine_grid>.with({.autocast = AutocastRule::lower_precision, .slope = Slope::linear, .linear_in = "theta"}),
    op<"aten::affine_grid_generator_backward(Tensor grad, SymInt[] size, bool align_corners) -> Tensor", affine_grid_backward>.with({.slope = Slope::linear, .linear_in = "grad"}),
};
// clang-format on

}  // namespace

std::span<const OpDef> grid_sampling_ops() { return kGridSamplingOps; }

}  // namespace pt2::ops
