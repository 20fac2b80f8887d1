// Images read at arbitrary positions: grid_sample and the grids of affine maps.
#include <algorithm>
#include <cmath>

#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/memory_format.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

enum Interpolation : int64_t { kLinear = 0, kNearest = 1, kCubic = 2 };
enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

// ATen/native/GridSampler.h. Positions are computed in T, the input's own precision.
template <class T>
struct Sampler {
  int64_t interpolation;
  int64_t padding;
  bool align_corners;

  // From [-1, 1] to indices.
  T unnormalize(T coordinate, int64_t size) const {
    if (align_corners) return (coordinate + 1) / 2 * static_cast<T>(size - 1);
    return ((coordinate + 1) * static_cast<T>(size) - 1) / 2;
  }

  static T clip(T coordinate, int64_t size) {
    return std::min(static_cast<T>(size - 1), std::max(coordinate, T(0)));
  }

  // Mirrored at the borders, whose positions are given times two.
  static T reflect(T coordinate, int64_t twice_low, int64_t twice_high) {
    if (twice_low == twice_high) return T(0);
    const T low = static_cast<T>(twice_low) / 2;
    const T span = static_cast<T>(twice_high - twice_low) / 2;
    const T distance = std::fabs(coordinate - low);
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

  // An index that no image has for what is not finite or far outside.
  static int64_t index(T position) {
    return std::fabs(position) < T(1e9) ? static_cast<int64_t>(position) : -1;
  }
};

// One tap per dimension: where and how much.
struct Tap {
  int64_t index;
  double weight;
};

double cubic_weight(double distance) {
  constexpr double kA = -0.75;
  const double x = std::fabs(distance);
  if (x <= 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA;
}

template <class T>
std::vector<Tap> taps_along(const Sampler<T>& sampler, T coordinate, int64_t size) {
  const T position = sampler.unnormalize(coordinate, size);
  if (sampler.interpolation == kNearest)
    return {{Sampler<T>::index(std::nearbyint(sampler.pad(position, size))), 1.0}};
  if (sampler.interpolation == kLinear) {
    const T padded = sampler.pad(position, size);
    const T floor = std::floor(padded);
    const auto fraction = static_cast<double>(padded - floor);
    return {{Sampler<T>::index(floor), 1 - fraction}, {Sampler<T>::index(floor + 1), fraction}};
  }
  const T floor = std::floor(position);
  const auto fraction = static_cast<double>(position - floor);
  std::vector<Tap> taps;
  for (int i = -1; i <= 2; ++i)
    taps.push_back({Sampler<T>::index(sampler.pad(floor + static_cast<T>(i), size)),
                    cubic_weight(fraction - i)});
  return taps;
}

// The weighted sum over the taps of every dimension, elements outside counting as zero.
template <class C>
double sample(const C* plane, const std::vector<std::vector<Tap>>& taps, const Sizes& sizes,
              size_t dim, int64_t offset) {
  if (dim == sizes.size()) return static_cast<double>(plane[offset]);
  double sum = 0;
  for (const Tap& tap : taps[dim]) {
    if (tap.index < 0 || tap.index >= sizes[dim]) continue;
    sum += tap.weight * sample(plane, taps, sizes, dim + 1, offset * sizes[dim] + tap.index);
  }
  return sum;
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
  if (interpolation < kLinear || interpolation > kCubic ||
      (interpolation == kCubic && spatial == 3))
    return operator_error("interpolation_mode: found " + std::to_string(interpolation));
  if (padding < kZeros || padding > kReflection)
    return operator_error("padding_mode: found " + std::to_string(padding));
  return {};
}

template <int64_t Spatial>
Result<Meta> grid_sampler_meta(const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                               int64_t padding_mode, bool) {
  PT2_TRY_VOID(check_grid(input, grid, interpolation_mode, padding_mode, Spatial));
  Sizes sizes{input.size(0), input.size(1)};
  sizes.insert(sizes.end(), grid.sizes().begin() + 1, grid.sizes().end() - 1);
  Sizes strides =
      checked_numel(sizes) ? format_strides(sizes, suggest_memory_format(input)) : Sizes{};
  return Meta(input.dtype(), std::move(sizes), std::move(strides));
}

template <int64_t Spatial>
void grid_sampler(Tensor& out, const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                  int64_t padding_mode, bool align_corners) {
  if (out.numel() == 0) return;
  with_float_compute_type(input.dtype(), [&]<class C>() {
    const Input<C> x(input);
    const Input<C> positions(grid);
    Output<C> y(out);
    const Sampler<C> sampler{interpolation_mode, padding_mode, align_corners};
    const Sizes sizes(input.sizes().begin() + 2, input.sizes().end());
    int64_t plane_size = 1;
    for (int64_t size : sizes) plane_size *= size;
    const int64_t channels = input.size(1);
    const int64_t points = out.numel() / (out.size(0) * channels);
    std::vector<std::vector<Tap>> taps(Spatial);
    for (int64_t n = 0; n < out.size(0); ++n)
      for (int64_t p = 0; p < points; ++p) {
        // Coordinates come in the order x, y, z.
        const C* point = positions.data() + (n * points + p) * Spatial;
        for (int64_t dim = 0; dim < Spatial; ++dim)
          taps[static_cast<size_t>(dim)] =
              taps_along(sampler, point[Spatial - 1 - dim], sizes[static_cast<size_t>(dim)]);
        for (int64_t c = 0; c < channels; ++c)
          y[(n * channels + c) * points + p] =
              static_cast<C>(sample(x.data() + (n * channels + c) * plane_size, taps, sizes, 0, 0));
      }
  });
}

Result<Tensor> grid_sampler_any(const Tensor& input, const Tensor& grid, int64_t interpolation_mode,
                                int64_t padding_mode, bool align_corners) {
  if (input.dim() == 5)
    return compute<grid_sampler_meta<3>, grid_sampler<3>>(input, grid, interpolation_mode,
                                                          padding_mode, align_corners);
  return compute<grid_sampler_meta<2>, grid_sampler<2>>(input, grid, interpolation_mode,
                                                        padding_mode, align_corners);
}

Result<Meta> affine_grid_meta(const Tensor& theta, const Sizes& size, bool) {
  PT2_TRY_VOID(check_floating(theta, "theta"));
  const auto spatial = static_cast<int64_t>(size.size()) - 2;
  if (spatial != 2 && spatial != 3)
    return operator_error("size: found " + sizes_text(size) + ", expected 4 or 5 numbers");
  for (int64_t s : size)
    if (s < 0) return operator_error("size: found " + sizes_text(size));
  PT2_TRY_VOID(check_sizes(theta, {size[0], spatial, spatial + 1}, "theta"));
  Sizes sizes{size[0]};
  sizes.insert(sizes.end(), size.begin() + 2, size.end());
  sizes.push_back(spatial);
  return Meta(theta.dtype(), std::move(sizes));
}

// The position of point `index` of `steps` in [-1, 1].
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
      std::vector<double> point;  // x, y, z, 1
      int64_t rest = p;
      for (size_t dim = spatial; dim-- > 0;) {
        point.push_back(grid_position(rest % size[2 + dim], size[2 + dim], align_corners));
        rest /= size[2 + dim];
      }
      point.push_back(1);
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

// clang-format off
constexpr OpDef kOps[] = {
    op<"aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
       grid_sampler_meta<2>, grid_sampler<2>>,
    op<"aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
       grid_sampler_meta<3>, grid_sampler<3>>,
    op<"aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor", grid_sampler_any>,
    op<"aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor", affine_grid_meta, affine_grid>,
};
// clang-format on

}  // namespace

std::span<const OpDef> grid_sampling_ops() { return kOps; }

}  // namespace pt2::ops
