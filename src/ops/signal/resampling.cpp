// Image resizing. In every mode, a result along one dimension is a weighted sum of a few input
// elements. Dimensions are resized one after another.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/memory_account.h"
#include "base/text.h"
#include "kernels/images/byte_resizing.h"
#include "kernels/lines.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/memory_format.h"
#include "ops/op_def.h"
#include "ops/shape/positions.h"
#include "ops/signal/nearest.h"

namespace pt2::ops {
namespace {

using OptionalScale = std::optional<double>;

// nearest_small is the mode nearest as PyTorch's kernel for small results computes it: equal and
// doubled sizes use no scale (ATen/native/UpSample.h nearest_idx).
enum class Mode {
  nearest,
  nearest_small,
  nearest_exact,
  linear,
  cubic,
  linear_antialias,
  cubic_antialias,
  lanczos_antialias
};

// The taps of one output element: weights for the input elements from `first` on. Taps outside of
// the input use the border element. Taps of weight 0 count, as in PyTorch: infinity times 0 is NaN.
struct Taps {
  int64_t first = 0;
  std::vector<double> weights;
  int64_t step = 1;  // 0 if all weights apply to the first element

  int64_t index(size_t tap, int64_t in) const {
    return std::clamp<int64_t>(first + static_cast<int64_t>(tap) * step, 0, in - 1);
  }
};

// Keys' cubic convolution kernel. `a` is -0.75, or -0.5 with antialiasing (ATen/native/UpSample.h).
double cubic_weight(double distance, double a) {
  const double x = std::fabs(distance);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

// The Lanczos kernel: a sinc times a window, which is a sinc three times as wide.
double lanczos_weight(double distance) {
  const double x = std::numbers::pi * std::fabs(distance);
  if (x == 0) return 1;
  if (std::fabs(distance) >= 3) return 0;
  return std::sin(x) / x * std::sin(x / 3) / (x / 3);
}

double triangle_weight(double distance) { return std::max(0.0, 1 - std::fabs(distance)); }

// Index arithmetic in T, as in PyTorch: float except for double tensors. Its rounding decides which
// element is nearest.
template <class T>
class Axis {
 public:
  Axis(Mode mode, int64_t in, int64_t out, bool align_corners, const OptionalScale& scale)
      : mode_(mode), in_(in), out_(out), align_corners_(align_corners) {
    if (align_corners)
      scale_ = out > 1 ? static_cast<T>(in - 1) / static_cast<T>(out - 1) : T(0);
    else
      scale_ = resize_step<T>(in, out, scale);
  }

  int64_t nearest_index(int64_t index) const {
    if (mode_ == Mode::nearest_small && out_ == in_) return index;
    if (mode_ == Mode::nearest_small && out_ == 2 * in_) return index / 2;
    return nearest_element(index, scale_, in_, mode_ == Mode::nearest_exact);
  }

  Taps taps(int64_t index) const {
    switch (mode_) {
      case Mode::nearest:
      case Mode::nearest_small:
      case Mode::nearest_exact:
        return {nearest_index(index), {1.0}};
      case Mode::linear:
        return linear(index);
      case Mode::cubic:
        return cubic(index);
      case Mode::linear_antialias:
        return antialias(index, 2, triangle_weight);
      case Mode::cubic_antialias:
        return antialias(index, 4, [](double x) { return cubic_weight(x, -0.5); });
      case Mode::lanczos_antialias:
        return antialias(index, 6, lanczos_weight);
    }
    return {};
  }

 private:
  T source(int64_t index) const {
    if (align_corners_) return scale_ * static_cast<T>(index);
    return scale_ * (static_cast<T>(index) + T(0.5)) - T(0.5);
  }

  Taps linear(int64_t index) const {
    if (out_ == in_) return {index, {1.0, 0.0}, 0};
    const T position = std::max(source(index), T(0));
    const int64_t first = std::min<int64_t>(whole_place(position), in_ - 1);
    const T fraction = std::clamp(position - static_cast<T>(first), T(0), T(1));
    return {first, {static_cast<double>(T(1) - fraction), static_cast<double>(fraction)}};
  }

  Taps cubic(int64_t index) const {
    const T position = source(index);
    const T floor = std::floor(position);
    const auto fraction = static_cast<double>(position - floor);
    constexpr double kA = -0.75;
    return {whole_place(floor) - 1,
            {cubic_weight(fraction + 1, kA), cubic_weight(fraction, kA),
             cubic_weight(1 - fraction, kA), cubic_weight(2 - fraction, kA)}};
  }

  // Downsampling widens the filter, so that every input element contributes.
  template <class F>
  Taps antialias(int64_t index, int width, F&& filter) const {
    const T support =
        scale_ >= T(1) ? static_cast<T>(width) / 2 * scale_ : static_cast<T>(width) / 2;
    const T center = scale_ * (static_cast<T>(index) + T(0.5));
    const double inverse = scale_ >= T(1) ? 1.0 / static_cast<double>(scale_) : 1.0;
    Taps taps;
    taps.first = std::max<int64_t>(whole_place(center - support + T(0.5)), 0);
    const int64_t end = std::min<int64_t>(whole_place(center + support + T(0.5)), in_);
    constexpr int64_t kWorkOfWeight = 24;
    MemoryAccount::count_loops({end - taps.first, kWorkOfWeight}, 1);
    double total = 0;
    for (int64_t i = taps.first; i < end; ++i) {
      const double weight =
          filter((static_cast<double>(i) - static_cast<double>(center) + 0.5) * inverse);
      taps.weights.push_back(weight);
      total += weight;
    }
    if (total != 0)
      for (double& weight : taps.weights) weight /= total;
    return taps;
  }

  Mode mode_;
  int64_t in_;
  int64_t out_;
  bool align_corners_;
  T scale_;
};

struct Resize {
  Mode mode;
  bool align_corners = false;
  Sizes output{};
  std::vector<OptionalScale> scales{};
  // For a gradient: the sizes of the image that was resized.
  std::optional<Sizes> input{};
};

bool is_nearest(Mode mode) {
  return mode == Mode::nearest || mode == Mode::nearest_small || mode == Mode::nearest_exact;
}

bool is_antialiased(Mode mode) {
  return mode == Mode::linear_antialias || mode == Mode::cubic_antialias ||
         mode == Mode::lanczos_antialias;
}

bool changes_sizes(const Tensor& self, const Resize& resize) {
  return !std::equal(resize.output.begin(), resize.output.end(), self.sizes().begin() + 2);
}

Result<void> check_resized_dtype(const Tensor& self, const Resize& resize) {
  // PyTorch copies an image that keeps its sizes, whatever its dtype is
  // (ATen/native/cpu/UpSampleKernel.cpp separable_upsample_generic_Nd_kernel_impl).
  if (is_antialiased(resize.mode) && !changes_sizes(self, resize)) return {};
  PT2_TRY_VOID(check_not_complex(self, "self"));
  if (self.dtype() != Dtype::uint8 || (!is_nearest(resize.mode) && resize.output.size() != 2))
    PT2_TRY_VOID(check_floating(self, "self"));
  if (is_antialiased(resize.mode) && dtype_size(self.dtype()) == 2)
    return operator_error("self: found " + std::string(dtype_name(self.dtype())) +
                          ", expected uint8, float32 or float64");
  return {};
}

Result<Meta> resize_meta(const Tensor& self, const Resize& resize) {
  const auto spatial = static_cast<int64_t>(resize.output.size());
  PT2_TRY_VOID(check_rank(self, spatial + 2, "self"));
  PT2_TRY_VOID(check_resized_dtype(self, resize));
  Sizes sizes = self.sizes();
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t& size = sizes[static_cast<size_t>(2 + i)];
    const int64_t wanted = resize.output[static_cast<size_t>(i)];
    if (size < 1 || wanted < 1)
      return operator_error("found input " + self.type_text() + " and output size " +
                            sizes_text(resize.output) + ", expected no spatial size below 1");
    size = wanted;
  }
  if (self.size(1) == 0 && self.size(0) != 0)
    return operator_error("self: found " + self.type_text() + ", expected channels");
  if (!checked_numel(sizes))
    return operator_error("output_size: found " + sizes_text(resize.output) +
                          ", which is too large");
  Sizes strides = format_strides(sizes, suggest_memory_format(self));
  return Meta(self.dtype(), std::move(sizes), std::move(strides));
}

// Converts the taps to PyTorch's integer taps of uint8 images: weights times 2^precision, in 16
// bits, with the largest precision for which the largest weight fits
// (ATen/native/cpu/UpSampleKernel.cpp _compute_index_ranges_int16_weights). Returns the precision.
int quantize_weights(std::vector<Taps>& taps, int64_t in) {
  double largest = 0;
  for (Taps& tap : taps) {
    // Taps beyond the border use the border element: add their weights to its weight.
    const int64_t first = tap.index(0, in);
    const int64_t last = tap.index(tap.weights.size() - 1, in);
    std::vector<double> inside(static_cast<size_t>(last - first + 1), 0.0);
    for (size_t k = 0; k < tap.weights.size(); ++k)
      inside[static_cast<size_t>(tap.index(k, in) - first)] += tap.weights[k];
    for (double weight : inside) largest = std::max(largest, weight);
    tap = {first, std::move(inside)};
  }
  int precision = 0;
  while (precision < 22 && std::floor(0.5 + std::ldexp(largest, precision + 1)) < 1 << 15)
    ++precision;
  for (Taps& tap : taps)
    for (double& weight : tap.weights)
      weight = std::trunc(std::ldexp(weight, precision) + (weight < 0 ? -0.5 : 0.5));
  return precision;
}

// Integer taps along one dimension. Each result has the same number of taps, a multiple of
// kernels::kByteTaps, padded with taps of weight 0. All taps lie within the row, extended to
// `least` elements if it is shorter.
struct WholeTaps {
  int64_t taps = 0;
  int64_t least = 0;
  int precision = 0;
  Scratch<int64_t> first;
  Scratch<int16_t> weights;

  WholeTaps(const Axis<double>& axis, int64_t in, int64_t out) {
    std::vector<Taps> all;
    for (int64_t o = 0; o < out; ++o) all.push_back(axis.taps(o));
    precision = quantize_weights(all, in);
    for (const Taps& tap : all) taps = std::max<int64_t>(taps, std::ssize(tap.weights));
    taps = (taps + kernels::kByteTaps - 1) / kernels::kByteTaps * kernels::kByteTaps;
    least = std::max(in, taps);
    weights.assign(static_cast<size_t>(out * taps), 0);
    for (const Taps& tap : all) {
      const int64_t begin = std::min(tap.first, least - taps);
      for (size_t k = 0; k < tap.weights.size(); ++k)
        weights[first.size() * static_cast<size_t>(taps) + static_cast<size_t>(tap.first - begin) +
                k] = static_cast<int16_t>(tap.weights[k]);
      first.push_back(begin);
    }
  }
};

// Resizes x[rows, in] to y[rows, out].
void resize_byte_rows(const uint8_t* x, int64_t rows, int64_t in, const WholeTaps& taps,
                      uint8_t* y) {
  const auto out = static_cast<int64_t>(taps.first.size());
  MemoryAccount::count_loops({rows, out, taps.taps}, kernels::kByteTaps / 2);
  Scratch<uint8_t> padded(static_cast<size_t>(taps.least > in ? taps.least : 0));
  for (int64_t row = 0; row < rows; ++row) {
    const uint8_t* from = x + row * in;
    if (!padded.empty()) from = std::copy_n(from, in, padded.data()) - in;
    kernels::sum_byte_taps({taps.first.data(), taps.weights.data(), taps.taps, taps.precision},
                           from, out, y + row * out);
  }
}

// Resizes x[in, length] to y[out, length].
void resize_byte_lines(const uint8_t* x, int64_t in, int64_t length, const WholeTaps& taps,
                       uint8_t* y) {
  MemoryAccount::count_loops({std::ssize(taps.first), taps.taps, length},
                             MemoryAccount::kScalarSteps);
  std::vector<const uint8_t*> lines(static_cast<size_t>(taps.taps));
  for (size_t o = 0; o < taps.first.size(); ++o) {
    for (int64_t k = 0; k < taps.taps; ++k)
      lines[static_cast<size_t>(k)] = x + std::min(taps.first[o] + k, in - 1) * length;
    const int16_t* weights = taps.weights.data() + o * lines.size();
    // Skips the taps of weight 0 at the end.
    int64_t count = taps.taps;
    while (count > 1 && weights[count - 1] == 0) --count;
    kernels::sum_byte_lines({lines.data(), weights, count, length, taps.precision},
                            y + static_cast<int64_t>(o) * length);
  }
}

// Resizes in integer arithmetic: width, then height, with rounding between them as in PyTorch.
// Skips a dimension whose size does not change.
void resize_bytes(Tensor& out, const Tensor& self, const Resize& resize) {
  const Tensor images = to_dense(self, Dtype::uint8, Dtype::uint8);
  Tensor resized = dense_result(out, Dtype::uint8);
  const Sizes &from = self.sizes(), &to = resize.output;
  std::optional<WholeTaps> taps[2];
  for (size_t i = 0; i < 2; ++i)
    if (from[2 + i] != to[i])
      taps[i].emplace(
          Axis<double>(resize.mode, from[2 + i], to[i], resize.align_corners, resize.scales[i]),
          from[2 + i], to[i]);
  const int64_t plane_in = from[2] * from[3], plane_out = to[0] * to[1];
  Scratch<uint8_t> between(static_cast<size_t>(from[2] * to[1]));
  for (int64_t plane = 0; plane < from[0] * from[1]; ++plane) {
    const uint8_t* values = images.data<uint8_t>() + plane * plane_in;
    uint8_t* result = resized.data<uint8_t>() + plane * plane_out;
    if (taps[1]) {
      uint8_t* rows = taps[0] ? between.data() : result;
      resize_byte_rows(values, from[2], from[3], *taps[1], rows);
      values = rows;
    }
    if (taps[0])
      resize_byte_lines(values, from[2], to[1], *taps[0], result);
    else if (!taps[1])
      std::copy_n(values, plane_out, result);
  }
  finish_dense(out, resized);
}

// Reproduces a fault of PyTorch: if the result has width 1, every row repeats the first row, unless
// the channels are innermost. PyTorch's loop over rows steps by the stride of a dimension that was
// merged away (ATen/native/cpu/UpSampleKernel.cpp separable_upsample_generic_Nd_kernel_impl).
bool rows_repeat(const Tensor& self, const Resize& resize) {
  return is_antialiased(resize.mode) && resize.output.back() == 1 &&
         suggest_memory_format(self) == MemoryFormat::contiguous;
}

// Taps with weights T along one dimension, stored tap by tap. If an output element has fewer taps
// than others, the missing taps have a negative index. The kernels for floats have short indices.
template <class T>
struct FlatTaps {
  using Index = std::conditional_t<std::is_same_v<T, float>, int32_t, int64_t>;
  int64_t taps = 1;
  int64_t length;
  Scratch<Index> index;
  Scratch<T> weight;

  FlatTaps(const Axis<T>& axis, int64_t in, int64_t out) : length(out) {
    Scratch<Taps> all(static_cast<size_t>(out));
    for (int64_t o = 0; o < out; ++o) {
      all[static_cast<size_t>(o)] = axis.taps(o);
      taps = std::max(taps, static_cast<int64_t>(all[static_cast<size_t>(o)].weights.size()));
    }
    index.assign(static_cast<size_t>(taps * out), -1);
    weight.assign(static_cast<size_t>(taps * out), T(0));
    for (int64_t o = 0; o < out; ++o) {
      const Taps& tap = all[static_cast<size_t>(o)];
      for (size_t k = 0; k < tap.weights.size(); ++k) {
        const size_t place = k * static_cast<size_t>(out) + static_cast<size_t>(o);
        index[place] = static_cast<Index>(tap.index(k, in));
        weight[place] = static_cast<T>(tap.weights[k]);
      }
    }
  }
};

// Resize x[before, in, after] to y[before, out, after].
void resize_axis(const double* x, int64_t before, int64_t in, int64_t after,
                 const FlatTaps<double>& taps, double* y) {
  MemoryAccount::count_loops({before, taps.length, taps.taps, after}, 1);
  std::fill_n(y, before * taps.length * after, 0.0);
  for (int64_t b = 0; b < before; ++b)
    for (int64_t o = 0; o < taps.length; ++o) {
      double* target = y + (b * taps.length + o) * after;
      for (int64_t k = 0; k < taps.taps; ++k) {
        const auto place = static_cast<size_t>(k * taps.length + o);
        if (taps.index[place] < 0) continue;
        const double* source = x + (b * in + taps.index[place]) * after;
        for (int64_t a = 0; a < after; ++a) target[a] += taps.weight[place] * source[a];
      }
    }
}
void resize_axis(const float* x, int64_t before, int64_t in, int64_t after,
                 const FlatTaps<float>& taps, float* y) {
  MemoryAccount::count_loops({before, taps.length, taps.taps, after}, MemoryAccount::kScalarSteps);
  if (after == 1) {
    for (int64_t b = 0; b < before; ++b)
      kernels::sum_taps({taps.index.data(), taps.weight.data(), taps.taps, taps.length}, x + b * in,
                        taps.length, y + b * taps.length);
    return;
  }
  Scratch<const float*> lines(static_cast<size_t>(taps.taps));
  Scratch<float> weights(static_cast<size_t>(taps.taps));
  for (int64_t b = 0; b < before; ++b)
    for (int64_t o = 0; o < taps.length; ++o) {
      size_t count = 0;
      for (int64_t k = 0; k < taps.taps; ++k) {
        const auto place = static_cast<size_t>(k * taps.length + o);
        if (taps.index[place] < 0) continue;
        lines[count] = x + (b * in + taps.index[place]) * after;
        weights[count++] = taps.weight[place];
      }
      kernels::sum_lines({lines.data(), weights.data(), static_cast<int64_t>(count), after},
                         y + (b * taps.length + o) * after);
    }
}

// Resizes plane by plane, so that the intermediate results between dimensions stay in the cache.
template <class T>
void resize_planes(Tensor& out, const Tensor& self, const Resize& resize) {
  const Input<T> input(self);
  Output<T> output(out);
  const size_t spatial = resize.output.size();
  std::vector<std::optional<FlatTaps<T>>> taps(spatial);
  const Sizes from(self.sizes().begin() + 2, self.sizes().end());
  for (size_t i = 0; i < spatial; ++i) {
    // A kernel that resizes one dim at a time skips a dim whose size does not change.
    if (is_antialiased(resize.mode) && from[i] == resize.output[i]) continue;
    const Axis<T> axis(resize.mode, from[i], resize.output[i], resize.align_corners,
                       resize.scales[i]);
    taps[i].emplace(axis, from[i], resize.output[i]);
  }
  const int64_t planes = out.size(0) * out.size(1);
  const int64_t plane_in = input.size() / planes, plane_out = out.numel() / planes;
  std::array<Scratch<T>, 2> between;
  for (int64_t plane = 0; plane < planes; ++plane) {
    const T* values = input.data() + plane * plane_in;
    T* result = output.data() + plane * plane_out;
    int64_t before = plane_in, after = 1;
    for (size_t i = spatial; i-- > 0;) {
      before /= from[i];
      if (taps[i]) {
        const bool last = std::none_of(taps.begin(), taps.begin() + static_cast<int64_t>(i),
                                       [](const auto& each) { return each.has_value(); });
        Scratch<T>& work = between[i % 2];
        if (!last) work.resize(static_cast<size_t>(before * resize.output[i] * after));
        resize_axis(values, before, from[i], after, *taps[i], last ? result : work.data());
        values = last ? result : work.data();
      }
      after *= resize.output[i];
    }
    if (values != result) std::copy_n(values, plane_out, result);
    if (taps[0] && rows_repeat(self, resize)) std::fill_n(result, plane_out, result[0]);
  }
}

template <class T>
void resize_nearest(Tensor& out, const Tensor& self, const Resize& resize) {
  std::vector<Positions> positions = identity_positions(self.sizes());
  for (size_t i = 0; i < resize.output.size(); ++i) {
    const size_t dim = 2 + i;
    const Axis<T> axis(resize.mode, self.sizes()[dim], resize.output[i], false, resize.scales[i]);
    positions[dim].clear();
    for (int64_t o = 0; o < resize.output[i]; ++o) positions[dim].push_back(axis.nearest_index(o));
  }
  take_positions(out, self, positions);
}

// ATen/native/cpu/UpSampleKernel.cpp _use_vectorized_kernel_cond_2d and _3d.
bool is_small(const Tensor& self, const Sizes& output) {
  if (output.size() == 1) return false;
  if (self.size(1) > 3 && suggest_memory_format(self) != MemoryFormat::contiguous) return true;
  constexpr int64_t kSmallSum = 128;
  return output.size() == 2 && output[0] <= kSmallSum && output[1] <= kSmallSum - output[0];
}

Result<Tensor> run_resize(const Tensor& self, const Resize& given) {
  Resize resize = given;
  PT2_TRY(const Meta meta, resize_meta(self, resize));
  PT2_TRY(Tensor out, allocate(meta));
  if (out.numel() == 0) return out;
  if (is_antialiased(resize.mode) && !changes_sizes(self, resize)) {
    copy_elements(out, self);
    return out;
  }
  const bool small = is_nearest(resize.mode) && is_small(self, resize.output);
  if (small && resize.mode == Mode::nearest) resize.mode = Mode::nearest_small;
  const bool wide = self.dtype() == Dtype::float64 && !small;
  const bool has_long_dims =
      std::ranges::any_of(self.sizes(), [](int64_t size) { return size > INT32_MAX; });
  if (is_nearest(resize.mode))
    wide ? resize_nearest<double>(out, self, resize) : resize_nearest<float>(out, self, resize);
  else if (self.dtype() == Dtype::uint8)
    resize_bytes(out, self, resize);
  else if (wide || has_long_dims)
    resize_planes<double>(out, self, resize);
  else
    resize_planes<float>(out, self, resize);
  return out;
}

Result<Sizes> exact_count(const Sizes& output_size, int64_t spatial) {
  if (static_cast<int64_t>(output_size.size()) != spatial)
    return operator_error("output_size: found " + sizes_text(output_size) + ", expected " +
                          std::to_string(spatial) + " numbers");
  return output_size;
}

// Either sizes or factors are given (ATen/native/UpSample.h compute_output_size).
Result<Resize> resize_from_vec(const Tensor& input, Mode mode, int64_t spatial,
                               const std::optional<Sizes>& output_size, bool align_corners,
                               const std::optional<std::vector<double>>& scale_factors) {
  Resize resize{mode, align_corners, {}, std::vector<OptionalScale>(static_cast<size_t>(spatial))};
  if (output_size.has_value() == scale_factors.has_value())
    return operator_error("expected exactly one of output_size and scale_factors");
  if (output_size) {
    PT2_TRY(resize.output, exact_count(*output_size, spatial));
    return resize;
  }
  if (static_cast<int64_t>(scale_factors->size()) != spatial)
    return operator_error("scale_factors: found " + std::to_string(scale_factors->size()) +
                          " numbers, expected " + std::to_string(spatial));
  PT2_TRY_VOID(check_rank(input, spatial + 2, "input"));
  for (size_t i = 0; i < scale_factors->size(); ++i) {
    const double factor = (*scale_factors)[i];
    const double size = static_cast<double>(input.size(2 + static_cast<int64_t>(i))) * factor;
    if (!(size >= 0 && size < 0x1p62))
      return operator_error("scale_factors: found " + print_float(factor) +
                            ", expected a factor of 0 or more whose size is below 2^62");
    resize.output.push_back(static_cast<int64_t>(size));
    resize.scales[i] = factor;
  }
  return resize;
}

// Adds the gradient of every output element, y[before, out, after], to the elements of its taps in
// x[before, in, after].
template <class T>
void resize_axis_backward(const T* y, int64_t before, int64_t in, int64_t after,
                          const FlatTaps<T>& taps, T* x) {
  MemoryAccount::count_loops({before, taps.length, taps.taps, after}, 1);
  for (int64_t b = 0; b < before; ++b)
    for (int64_t k = 0; k < taps.taps; ++k) {
      const auto* index = taps.index.data() + k * taps.length;
      const T* weight = taps.weight.data() + k * taps.length;
      const T* source = y + b * taps.length * after;
      T* target = x + b * in * after;
      for (int64_t o = 0; o < taps.length; ++o, source += after) {
        if (index[o] < 0) continue;
        if (after == 1) {
          target[index[o]] += weight[o] * *source;
          continue;
        }
        T* line = target + index[o] * after;
        for (int64_t a = 0; a < after; ++a) line[a] += weight[o] * source[a];
      }
    }
}

template <class T>
void resize_backward_into(Tensor& out, const Tensor& grad_output, const Resize& resize) {
  const Input<T> input(grad_output);
  Scratch<T> values, sums;
  const T* from = input.data();
  Sizes sizes = grad_output.sizes();
  for (size_t i = 0; i < resize.output.size(); ++i) {
    const size_t dim = 2 + i;
    const int64_t in = out.sizes()[dim];
    const Axis<T> axis(resize.mode, in, sizes[dim], resize.align_corners, resize.scales[i]);
    int64_t before = 1;
    int64_t after = 1;
    for (size_t d = 0; d < dim; ++d) before *= sizes[d];
    for (size_t d = dim + 1; d < sizes.size(); ++d) after *= sizes[d];
    sums.assign(static_cast<size_t>(before * in * after), T(0));
    resize_axis_backward<T>(from, before, in, after, FlatTaps<T>(axis, in, sizes[dim]),
                            sums.data());
    sums.swap(values);
    from = values.data();
    sizes[dim] = in;
  }
  Output<T> output(out);
  std::copy(values.begin(), values.end(), output.data());
}

Result<Meta> resize_backward_meta(const Tensor& grad_output, const Resize& resize) {
  const Sizes& input_size = *resize.input;
  PT2_TRY_VOID(check_floating(grad_output, "grad_output"));
  for (int64_t size : input_size)
    if (size < 0) return operator_error("input_size: found " + sizes_text(input_size));
  if (!checked_numel(input_size))
    return operator_error("input_size: found " + sizes_text(input_size) + ", which is too large");
  const bool keeps_format = resize.mode == Mode::linear || resize.mode == Mode::linear_antialias ||
                            (is_nearest(resize.mode) && resize.output.size() < 3);
  const MemoryFormat format =
      keeps_format ? suggest_memory_format(grad_output) : MemoryFormat::contiguous;
  const Dtype dtype = grad_output.dtype();
  PT2_TRY(const Meta forward, resize_meta(Tensor::without_elements(dtype, input_size), resize));
  PT2_TRY_VOID(check_sizes(grad_output, forward.sizes, "grad_output"));
  return Meta(dtype, input_size, format_strides(input_size, format));
}

Result<Tensor> run_resize_backward(const Tensor& grad_output, const Resize& resize) {
  PT2_TRY(const Meta meta, resize_backward_meta(grad_output, resize));
  PT2_TRY(Tensor out, allocate(meta));
  if (out.numel() == 0) return out;
  if (out.dtype() == Dtype::float64)
    resize_backward_into<double>(out, grad_output, resize);
  else
    resize_backward_into<float>(out, grad_output, resize);
  return out;
}

// The resize that a row describes, from the arguments with these names. All others are scales, one
// for each dimension.
Result<Resize> resize_of(const OpDef& def, Mode mode, int64_t spatial,
                         std::span<const Value> arguments) {
  Resize resize{mode};
  std::optional<Sizes> output;
  std::optional<std::vector<double>> factors;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view name = def.signature->parameter_array[i].name;
    if (name == "output_size")
      output = unbox<std::optional<Sizes>>(arguments[i]);
    else if (name == "input_size")
      resize.input = unbox<Sizes>(arguments[i]);
    else if (name == "align_corners")
      resize.align_corners = unbox<bool>(arguments[i]);
    else if (name == "scale_factors")
      factors = unbox<std::optional<std::vector<double>>>(arguments[i]);
    else
      resize.scales.push_back(unbox<OptionalScale>(arguments[i]));
  }
  if (resize.input && mode == Mode::nearest) resize.mode = Mode::nearest_small;
  if (resize.scales.empty())
    return resize_from_vec(*arguments[0].get_if<Tensor>(), mode, spatial, output,
                           resize.align_corners, factors);
  PT2_TRY(resize.output, exact_count(*output, spatial));
  return resize;
}
template <Mode M, int64_t Spatial>
Result<std::vector<Meta>> infer_resize(const OpDef& def, std::span<const Value> arguments) {
  PT2_TRY(const Resize resize, resize_of(def, M, Spatial, arguments));
  const auto rule = resize.input ? resize_backward_meta : resize_meta;
  PT2_TRY(Meta meta, rule(*arguments[0].get_if<Tensor>(), resize));
  return meta_list(std::move(meta));
}
template <Mode M, int64_t Spatial>
Result<std::vector<Value>> compute_resize(const OpDef& def, Context&,
                                          std::span<const Value> arguments) {
  PT2_TRY(Resize resize, resize_of(def, M, Spatial, arguments));
  const auto run = resize.input ? run_resize_backward : run_resize;
  PT2_TRY(Tensor out, run(*arguments[0].get_if<Tensor>(), resize));
  return std::vector<Value>{Value(std::move(out))};
}
template <SignatureText S, Mode M, int64_t Spatial, auto... Formula>
constexpr OpDef resizing_row() {
  const OpDef def{&kSignature<S>, &kAddress<&resize_meta>, &kAddress<&run_resize>,
                  &compute_resize<M, Spatial>, &infer_resize<M, Spatial>};
  if constexpr (sizeof...(Formula) == 0)
    return def;
  else
    return written<S, Formula..., true>(def);
}
template <SignatureText S, Mode M, int64_t Spatial, auto... Formula>
inline constexpr OpDef resizes = resizing_row<S, M, Spatial, Formula...>();

// Replaces factors by the sizes that they determine.
template <Handle Resizes, class... AlignCorners>
Result<Tensor> vec_formula(Emitter& e, const Tensor& input, const std::optional<Sizes>& output_size,
                           const AlignCorners&... align_corners,
                           const std::optional<std::vector<double>>& scale_factors) {
  const int64_t spatial = input.dim() - 2;
  PT2_TRY(const Resize resize,
          resize_from_vec(input, Mode::linear, spatial, output_size, false, scale_factors));
  std::vector<Value> arguments{Value(input), box(resize.output), Value(align_corners)...};
  for (const OptionalScale& scale : resize.scales) arguments.push_back(box(scale));
  const Operator& op = Resizes();
  if (arguments.size() != op.signature().parameter_count)
    return operator_error("input: found " + input.type_text() + " for " +
                          std::string(op.signature().name));
  PT2_TRY(std::vector<Value> results, e.call(op, arguments));
  return *std::move(results[0].get_if<Tensor>());
}

// clang-format off
constexpr OpDef kResamplingOps[] = {
    resizes<"aten::upsample_nearest1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, float? scales=None) -> Tensor", Mode::nearest, 1>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    resizes<"aten::upsample_nearest3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor", Mode::nearest, 3>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    resizes<"aten::_upsample_nearest_exact1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, float? scales=None) -> Tensor", Mode::nearest_exact, 1>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    resizes<"aten::_upsample_nearest_exact2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, float? scales_h=None, float? scales_w=None) -> Tensor", Mode::nearest_exact, 2>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    resizes<"aten::_upsample_nearest_exact3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor", Mode::nearest_exact, 3>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    resizes<"aten::upsample_linear1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, bool align_corners, float? scales=None) -> Tensor", Mode::linear, 1>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    resizes<"aten::upsample_trilinear3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor", Mode::linear, 3>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    resizes<"aten::_upsample_bilinear2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", Mode::linear_antialias, 2>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    resizes<"aten::_upsample_bicubic2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", Mode::cubic_antialias, 2>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    resizes<"aten::_upsample_lanczos2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", Mode::lanczos_antialias, 2>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    resizes<"aten::upsample_nearest2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, float? scales_h=None, float? scales_w=None) -> Tensor", Mode::nearest, 2>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    resizes<"aten::upsample_bilinear2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", Mode::linear, 2>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    resizes<"aten::upsample_bicubic2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", Mode::cubic, 2>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    resizes<"aten::upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor", Mode::nearest, 1>.with({.slope = Slope::linear}),
    resizes<"aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor", Mode::nearest, 2>.with({.slope = Slope::linear}),
    resizes<"aten::upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor", Mode::nearest, 3>.with({.slope = Slope::linear}),
    resizes<"aten::_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor", Mode::nearest_exact, 1>.with({.slope = Slope::linear}),
    resizes<"aten::_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor", Mode::nearest_exact, 2>.with({.slope = Slope::linear}),
    resizes<"aten::_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor", Mode::nearest_exact, 3>.with({.slope = Slope::linear}),
    resizes<"aten::upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None) -> Tensor", Mode::linear, 1>.with({.slope = Slope::linear}),
    resizes<"aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", Mode::linear, 2>.with({.slope = Slope::linear}),
    resizes<"aten::upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor", Mode::linear, 3>.with({.slope = Slope::linear}),
    resizes<"aten::upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", Mode::cubic, 2>.with({.slope = Slope::linear}),
    resizes<"aten::_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", Mode::linear_antialias, 2>.with({.slope = Slope::linear}),
    resizes<"aten::_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", Mode::cubic_antialias, 2>.with({.slope = Slope::linear}),
    resizes<"aten::_upsample_lanczos2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", Mode::lanczos_antialias, 2>.with({.slope = Slope::linear}),
    resizes<"aten::upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor", Mode::nearest, 1, vec_formula<aten<"upsample_nearest1d.default">>>.with({.slope = Slope::linear, .linear_in = "input"}),
    resizes<"aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor", Mode::nearest, 2>.with({.slope = Slope::linear, .linear_in = "input"}),
    resizes<"aten::upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor", Mode::nearest, 3, vec_formula<aten<"upsample_nearest3d.default">>>.with({.slope = Slope::linear, .linear_in = "input"}),
    resizes<"aten::_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor", Mode::nearest_exact, 1, vec_formula<aten<"_upsample_nearest_exact1d.default">>>.with({.slope = Slope::linear, .linear_in = "input"}),
    resizes<"aten::_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor", Mode::nearest_exact, 2, vec_formula<aten<"_upsample_nearest_exact2d.default">>>.with({.slope = Slope::linear, .linear_in = "input"}),
    resizes<"aten::_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor", Mode::nearest_exact, 3, vec_formula<aten<"_upsample_nearest_exact3d.default">>>.with({.slope = Slope::linear, .linear_in = "input"}),
    resizes<"aten::upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor", Mode::linear, 1, vec_formula<aten<"upsample_linear1d.default">, bool>>.with({.slope = Slope::linear, .linear_in = "input"}),
    resizes<"aten::upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor", Mode::linear, 2>.with({.slope = Slope::linear, .linear_in = "input"}),
    resizes<"aten::upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor", Mode::linear, 3, vec_formula<aten<"upsample_trilinear3d.default">, bool>>.with({.slope = Slope::linear, .linear_in = "input"}),
    resizes<"aten::upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor", Mode::cubic, 2, vec_formula<aten<"upsample_bicubic2d.default">, bool>>.with({.slope = Slope::linear, .linear_in = "input"}),
    resizes<"aten::_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor", Mode::linear_antialias, 2, vec_formula<aten<"_upsample_bilinear2d_aa.default">, bool>>.with({.slope = Slope::linear, .linear_in = "input"}),
    resizes<"aten::_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor", Mode::cubic_antialias, 2, vec_formula<aten<"_upsample_bicubic2d_aa.default">, bool>>.with({.slope = Slope::linear, .linear_in = "input"}),
    resizes<"aten::_upsample_lanczos2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor", Mode::lanczos_antialias, 2, vec_formula<aten<"_upsample_lanczos2d_aa.default">, bool>>.with({.slope = Slope::linear, .linear_in = "input"}),
};
// clang-format on

}  // namespace

std::span<const OpDef> resampling_ops() { return kResamplingOps; }

}  // namespace pt2::ops
