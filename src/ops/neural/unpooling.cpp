// Fractional max pools, max unpooling, and gradients of adaptive pools.
#include <algorithm>
#include <cmath>

#include "base/memory_account.h"
#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/memory_format.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

// The planes of [N, C, spatial...] or [C, spatial...]: their number and the size of each.
struct Planes {
  int64_t count = 1;
  int64_t size = 1;
};
Planes planes_of(const Tensor& tensor, int64_t spatial) {
  Planes planes;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim)
    (dim < tensor.dim() - spatial ? planes.count : planes.size) *= tensor.size(dim);
  return planes;
}

Result<void> check_planes(const Tensor& self, int64_t spatial, std::string_view what) {
  if (self.dim() != spatial + 1 && self.dim() != spatial + 2)
    return operator_error(std::string(what) + ": found " + self.type_text() + ", expected " +
                          std::to_string(spatial + 1) + " or " + std::to_string(spatial + 2) +
                          " dims");
  for (int64_t dim = self.dim() - spatial - 1; dim < self.dim(); ++dim)
    if (self.size(dim) == 0)
      return operator_error(std::string(what) + ": found " + self.type_text() +
                            ", expected no size of 0 apart from the batch");
  return {};
}

// Two-dimensional pools keep channels-last layouts, three-dimensional pools do not.
Meta scattered_meta(const Tensor& source, Sizes sizes, int64_t spatial) {
  Sizes strides = spatial == 2 ? format_strides(sizes, suggest_memory_format(source)) : Sizes{};
  return Meta(source.dtype(), std::move(sizes), std::move(strides));
}

// Scatters the elements of `source` to the positions `indices` in the planes of `out`. With
// `accumulate`, elements at the same position add up; otherwise the last one wins.
Result<void> scatter_planes(Tensor& out, const Tensor& source, const Tensor& indices,
                            int64_t spatial, bool accumulate) {
  const int64_t plane = planes_of(out, spatial).size;
  const int64_t own = planes_of(source, spatial).size;
  const Input<int64_t> places(indices);
  for (int64_t i = 0; i < places.size(); ++i)
    if (places[i] < 0 || places[i] >= plane)
      return operator_error("indices: found " + std::to_string(places[i]) + ", expected 0 to " +
                            std::to_string(plane - 1));
  with_real_compute_type(source.dtype(), [&]<class C>() {
    const Input<C> values(source);
    Output<C> result(out);
    for (int64_t i = 0; i < values.size(); ++i) {
      C& target = result[i / own * plane + places[i]];
      target = accumulate ? target + values[i] : values[i];
    }
  });
  return {};
}

Result<Sizes> with_spatial(const Tensor& self, const Sizes& output_size, int64_t spatial) {
  if (static_cast<int64_t>(output_size.size()) != spatial)
    return operator_error("output_size: found " + sizes_text(output_size) + ", expected " +
                          std::to_string(spatial) + " numbers");
  Sizes sizes(self.sizes().begin(), self.sizes().end() - spatial);
  for (int64_t size : output_size) {
    if (size < 1)
      return operator_error("output_size: found " + sizes_text(output_size) +
                            ", expected numbers from 1 on");
    sizes.push_back(size);
  }
  return sizes;
}

Result<void> check_indices(const Tensor& indices, const Tensor& self) {
  PT2_TRY_VOID(check_dtype(indices, Dtype::int64, "indices"));
  return check_sizes(indices, self.sizes(), "indices");
}

Result<Meta> max_unpool2d_meta(const Tensor& self, const Tensor& indices,
                               const Sizes& output_size) {
  PT2_TRY_VOID(check_planes(self, 2, "self"));
  PT2_TRY_VOID(check_not_complex(self, "self"));
  PT2_TRY_VOID(check_indices(indices, self));
  PT2_TRY(Sizes sizes, with_spatial(self, output_size, 2));
  return scattered_meta(self, std::move(sizes), 2);
}
Result<void> max_unpool2d(Tensor& out, const Tensor& self, const Tensor& indices, const Sizes&) {
  return scatter_planes(out, self, indices, 2, false);
}
Result<Meta> max_unpool3d_meta(const Tensor& self, const Tensor& indices, const Sizes& output_size,
                               const Sizes& stride, const Sizes& padding) {
  PT2_TRY_VOID(check_planes(self, 3, "self"));
  PT2_TRY_VOID(check_not_complex(self, "self"));
  PT2_TRY_VOID(check_indices(indices, self));
  if (stride.size() != 3 || padding.size() != 3 ||
      std::ranges::any_of(stride, [](int64_t s) { return s < 1; }))
    return operator_error("stride: found " + sizes_text(stride) + ", expected 3 numbers above 0");
  PT2_TRY(Sizes sizes, with_spatial(self, output_size, 3));
  return scattered_meta(self, std::move(sizes), 3);
}
Result<void> max_unpool3d(Tensor& out, const Tensor& self, const Tensor& indices, const Sizes&,
                          const Sizes&, const Sizes&) {
  return scatter_planes(out, self, indices, 3, false);
}

template <int64_t Spatial>
Result<Meta> adaptive_max_backward_meta(const Tensor& grad_output, const Tensor& self,
                                        const Tensor& indices) {
  PT2_TRY_VOID(check_planes(self, Spatial, "self"));
  PT2_TRY_VOID(check_planes(grad_output, Spatial, "grad_output"));
  PT2_TRY_VOID(check_floating(self, "self"));
  PT2_TRY_VOID(check_same_dtype(grad_output, self, "grad_output"));
  PT2_TRY_VOID(check_indices(indices, grad_output));
  const Sizes lead(self.sizes().begin(), self.sizes().end() - Spatial);
  if (grad_output.dim() != self.dim() ||
      !std::equal(lead.begin(), lead.end(), grad_output.sizes().begin()))
    return operator_error("grad_output: found " + grad_output.type_text() + " for self " +
                          self.type_text() + ", expected its first sizes");
  return scattered_meta(grad_output, self.sizes(), Spatial);
}
template <int64_t Spatial>
Result<void> adaptive_max_backward(Tensor& out, const Tensor& grad_output, const Tensor&,
                                   const Tensor& indices) {
  return scatter_planes(out, grad_output, indices, Spatial, true);
}

// --- Fractional pools: the windows begin at pseudorandom, evenly spread positions

// The begins of the windows along one dimension, computed from a sample in [0, 1)
// (ATen/native/FractionalMaxPool2d.cpp fractional_max_pool2d_generate_intervals). Every step is
// rounded to the dtype of the samples.
template <class T>
std::vector<int64_t> intervals(T sample, Dtype dtype, int64_t in, int64_t out, int64_t pool) {
  std::vector<int64_t> begins(static_cast<size_t>(out));
  auto rounded = [&](T number) {
    round_elements(dtype, 1, &number);
    return number;
  };
  if (out > 1) {
    const T alpha = rounded(rounded(static_cast<T>(in - pool)) / rounded(static_cast<T>(out - 1)));
    const auto first = static_cast<int64_t>(rounded(sample * alpha));
    for (int64_t i = 0; i < out - 1; ++i) {
      const T place = rounded(rounded(static_cast<T>(i)) + sample);
      begins[static_cast<size_t>(i)] = static_cast<int64_t>(rounded(place * alpha)) - first;
    }
  }
  if (out > 0) begins.back() = in - pool;
  return begins;
}

template <class C, size_t Spatial>
void pool_planes(Tensor& out, Tensor& places, const Tensor& self, const Tensor& samples,
                 const Sizes& kernel) {
  const Input<C> x(self);
  const Input<C> random(samples);
  Output<C> y(out);
  auto* place = places.data<int64_t>();
  const Planes planes = planes_of(self, Spatial);
  const int64_t own = planes_of(out, Spatial).size;
  const Sizes in(self.sizes().end() - Spatial, self.sizes().end());
  const Sizes result(out.sizes().end() - Spatial, out.sizes().end());
  int64_t window = 1;
  for (int64_t size : kernel) window *= size;
  constexpr int64_t kWorkOfPlace = 8;  // two divisions for each dim
  MemoryAccount::count_loops({out.numel(), window, kWorkOfPlace}, 1);
  for (int64_t p = 0; p < planes.count; ++p) {
    std::vector<std::vector<int64_t>> begins;
    // The samples are in the order width, height for two dimensions, and depth, height, width for
    // three.
    for (size_t dim = 0; dim < Spatial; ++dim)
      begins.push_back(intervals(random[p * static_cast<int64_t>(Spatial) +
                                        static_cast<int64_t>(Spatial == 2 ? 1 - dim : dim)],
                                 samples.dtype(), in[dim], result[dim], kernel[dim]));
    for (int64_t i = 0; i < own; ++i) {
      C best = -std::numeric_limits<C>::infinity();
      int64_t best_place = -1;
      for (int64_t w = 0; w < window; ++w) {
        int64_t rest_out = i;
        int64_t rest_window = w;
        int64_t offset = 0;
        int64_t step = 1;
        for (size_t dim = Spatial; dim-- > 0;) {
          const int64_t begin = begins[dim][static_cast<size_t>(rest_out % result[dim])];
          offset += std::clamp<int64_t>(begin + rest_window % kernel[dim], 0, in[dim] - 1) * step;
          rest_out /= result[dim];
          rest_window /= kernel[dim];
          step *= in[dim];
        }
        const C value = x[p * planes.size + offset];
        if (best_place < 0 || value > best || value != value) {
          best = value;
          best_place = offset;
        }
      }
      y[p * own + i] = best;
      place[p * own + i] = best_place;
    }
  }
}

template <size_t Spatial>
Result<std::array<Meta, 2>> fractional_max_meta(const Tensor& self, const Sizes& kernel_size,
                                                const Sizes& output_size,
                                                const Tensor& random_samples) {
  PT2_TRY_VOID(check_planes(self, Spatial, "self"));
  PT2_TRY_VOID(check_floating(self, "self"));
  PT2_TRY_VOID(check_same_dtype(random_samples, self, "random_samples"));
  PT2_TRY(Sizes sizes, with_spatial(self, output_size, Spatial));
  if (kernel_size.size() != Spatial)
    return operator_error("kernel_size: found " + sizes_text(kernel_size) + ", expected " +
                          std::to_string(Spatial) + " numbers");
  for (size_t dim = 0; dim < Spatial; ++dim) {
    const int64_t in = self.size(self.dim() - static_cast<int64_t>(Spatial - dim));
    if (kernel_size[dim] < 1 || kernel_size[dim] > in ||
        output_size[dim] > in - kernel_size[dim] + 1)
      return operator_error("kernel_size: found " + sizes_text(kernel_size) + " and output_size " +
                            sizes_text(output_size) + " for " + self.type_text() +
                            ", expected windows that fit");
  }
  const int64_t batch = self.dim() == static_cast<int64_t>(Spatial) + 2 ? self.size(0) : 1;
  const int64_t channels = self.size(self.dim() - static_cast<int64_t>(Spatial) - 1);
  PT2_TRY_VOID(check_rank(random_samples, 3, "random_samples"));
  PT2_TRY_VOID(check_sizes(
      random_samples,
      {std::max(batch, random_samples.size(0)), channels, static_cast<int64_t>(Spatial)},
      "random_samples"));
  return std::array{Meta(self.dtype(), sizes), Meta(Dtype::int64, sizes)};
}

template <size_t Spatial>
Result<void> fractional_max_pool(Tensor& out, Tensor& places, const Tensor& self,
                                 const Sizes& kernel_size, const Sizes&,
                                 const Tensor& random_samples) {
  const Input<double> samples(random_samples);
  for (int64_t i = 0; i < samples.size(); ++i)
    if (!(samples[i] >= 0 && samples[i] <= 1))
      return operator_error("random_samples: found " + std::to_string(samples[i]) +
                            ", expected 0 to 1");
  with_float_compute_type(self.dtype(), [&]<class C>() {
    pool_planes<C, Spatial>(out, places, self, random_samples, kernel_size);
  });
  return {};
}

// Each window passes its gradient to the position of its maximum, as adaptive max pools do.
template <int64_t Spatial>
Result<Meta> fractional_max_backward_meta(const Tensor& grad_output, const Tensor& self,
                                          const Sizes&, const Sizes& output_size,
                                          const Tensor& indices) {
  PT2_TRY_VOID(check_planes(grad_output, Spatial, "grad_output"));
  if (!std::equal(output_size.begin(), output_size.end(), grad_output.sizes().end() - Spatial,
                  grad_output.sizes().end()))
    return operator_error("grad_output: found " + grad_output.type_text() + ", expected windows " +
                          sizes_text(output_size));
  return adaptive_max_backward_meta<Spatial>(grad_output, self, indices);
}
template <int64_t Spatial>
Result<void> fractional_max_backward(Tensor& out, const Tensor& grad_output, const Tensor&,
                                     const Sizes&, const Sizes&, const Tensor& indices) {
  return scatter_planes(out, grad_output, indices, Spatial, true);
}

// clang-format off
constexpr OpDef kUnpoolingOps[] = {
    op<"aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor", max_unpool2d_meta, max_unpool2d>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor", max_unpool3d_meta, max_unpool3d>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor", adaptive_max_backward_meta<2>, adaptive_max_backward<2>>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    op<"aten::adaptive_max_pool3d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor", adaptive_max_backward_meta<3>, adaptive_max_backward<3>>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    op<"aten::fractional_max_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] output_size, Tensor indices) -> Tensor", fractional_max_backward_meta<2>, fractional_max_backward<2>>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    op<"aten::fractional_max_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] output_size, Tensor indices) -> Tensor", fractional_max_backward_meta<3>, fractional_max_backward<3>>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    op<"aten::fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> (Tensor, Tensor)", fractional_max_meta<2>, fractional_max_pool<2>>.with({.autocast = AutocastRule::float32}),
    op<"aten::fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples) -> (Tensor, Tensor)", fractional_max_meta<3>, fractional_max_pool<3>>.with({.autocast = AutocastRule::float32}),
};
// clang-format on

}  // namespace

std::span<const OpDef> unpooling_ops() { return kUnpoolingOps; }

}  // namespace pt2::ops
