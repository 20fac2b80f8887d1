// Maxima and means of windows, computed on [planes, depth, height, width]. With fewer spatial
// dimensions, the leading ones are neutral.
#include <algorithm>
#include <limits>

#include "base/memory_account.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/memory_format.h"
#include "ops/op_def.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduction/sums.h"

namespace pt2::ops {
namespace {

using Window = std::array<int64_t, 3>;

struct Pool {
  int64_t spatial = 2;
  Window kernel{1, 1, 1};
  Window stride{1, 1, 1};
  Window padding{0, 0, 0};
  Window dilation{1, 1, 1};
  bool ceil_mode = false;
  Window in{1, 1, 1};
  Window out{1, 1, 1};
};

// A window of one number for all dimensions, or one per dimension. Returns `otherwise` if `values`
// is empty: an empty stride means the kernel size.
Result<Window> window(const Sizes& values, int64_t spatial, const Window& otherwise,
                      std::string_view what) {
  if (values.empty()) return otherwise;
  if (values.size() != 1 && values.size() != static_cast<size_t>(spatial))
    return operator_error(std::string(what) + ": found " + sizes_text(values) + ", expected " +
                          std::to_string(spatial) + " numbers");
  Window out = otherwise;
  for (int64_t i = 0; i < spatial; ++i)
    out[static_cast<size_t>(3 - spatial + i)] =
        values[values.size() == 1 ? 0 : static_cast<size_t>(i)];
  return out;
}

// The number of windows (ATen/native/Pool.h pooling_output_shape_pad_lr). With ceil_mode, the last
// window must begin inside the input or its left padding.
Result<int64_t> output_size(const Pool& pool, size_t dim) {
  PT2_TRY(const int64_t reach, multiply_add(pool.dilation[dim], pool.kernel[dim] - 1, 1));
  PT2_TRY(const int64_t padded, multiply_add(pool.padding[dim], 2, pool.in[dim]));
  int64_t span = padded - reach;
  if (pool.ceil_mode) {
    PT2_TRY(span, multiply_add(pool.stride[dim], 1, span - 1));
  }
  int64_t size = span < 0 ? 0 : span / pool.stride[dim] + 1;
  if (pool.ceil_mode && (size - 1) * pool.stride[dim] >= pool.in[dim] + pool.padding[dim]) --size;
  if (size < 1)
    return operator_error("the output size of a pool over " + std::to_string(pool.in[dim]) +
                          " elements is " + std::to_string(size) + ", expected at least 1");
  return size;
}

// Requires the right rank, and elements in the last `full` dims.
Result<void> check_pool_input(const Tensor& self, int64_t spatial, int64_t full) {
  if (self.dim() != spatial + 1 && self.dim() != spatial + 2)
    return operator_error("self: found " + self.type_text() + ", expected " +
                          std::to_string(spatial + 1) + " or " + std::to_string(spatial + 2) +
                          " dims");
  for (int64_t dim = self.dim() - full; dim < self.dim(); ++dim)
    if (self.size(dim) == 0)
      return operator_error("self: found " + self.type_text() +
                            ", expected no size of 0 in the last " + std::to_string(full) +
                            " dims");
  return {};
}

struct PoolArguments {
  const Sizes& kernel;
  const Sizes& stride;
  const Sizes& padding;
  Sizes dilation;
  bool ceil_mode;
};

Result<Pool> make_pool(const Tensor& self, int64_t spatial, const PoolArguments& arguments) {
  PT2_TRY_VOID(check_pool_input(self, spatial, spatial + 1));
  if (arguments.kernel.empty()) return operator_error("kernel_size: found [], expected numbers");
  Pool pool;
  pool.spatial = spatial;
  pool.ceil_mode = arguments.ceil_mode;
  PT2_TRY(pool.kernel, window(arguments.kernel, spatial, {1, 1, 1}, "kernel_size"));
  PT2_TRY(pool.stride, window(arguments.stride, spatial, pool.kernel, "stride"));
  PT2_TRY(pool.padding, window(arguments.padding, spatial, {0, 0, 0}, "padding"));
  PT2_TRY(pool.dilation, window(arguments.dilation, spatial, {1, 1, 1}, "dilation"));
  for (auto dim = static_cast<size_t>(3 - spatial); dim < 3; ++dim) {
    pool.in[dim] = self.size(self.dim() - 3 + static_cast<int64_t>(dim));
    if (pool.kernel[dim] < 1 || pool.stride[dim] < 1 || pool.dilation[dim] < 1)
      return operator_error(
          "kernel_size, stride and dilation: found a number below 1, expected 1 or more");
    if (pool.padding[dim] < 0 || pool.padding[dim] > pool.kernel[dim] / 2)
      return operator_error("padding: found " + std::to_string(pool.padding[dim]) +
                            ", expected at most half the kernel size " +
                            std::to_string(pool.kernel[dim]));
    PT2_TRY(pool.out[dim], output_size(pool, dim));
  }
  return pool;
}

Meta pooled_meta(const Tensor& self, const Window& out, int64_t spatial, Dtype dtype) {
  Sizes sizes = self.sizes();
  for (int64_t i = 0; i < spatial; ++i)
    sizes[sizes.size() - static_cast<size_t>(spatial - i)] =
        out[static_cast<size_t>(3 - spatial + i)];
  Sizes strides =
      checked_numel(sizes) ? format_strides(sizes, suggest_memory_format(self)) : Sizes{};
  return Meta(dtype, std::move(sizes), std::move(strides));
}

// The same, but volumes lose their memory format, as in all pools except max pools.
Meta plain_pooled_meta(const Tensor& self, const Window& out, int64_t spatial, Dtype dtype) {
  Meta meta = pooled_meta(self, out, spatial, dtype);
  return spatial == 3 ? Meta(dtype, std::move(meta.sizes)) : meta;
}

int64_t product(const Window& window) { return window[0] * window[1] * window[2]; }

// Counts the work of all windows; windows larger than their stride overlap.
void count_windows(const Tensor& out, const Pool& pool) {
  Window inside = pool.kernel;
  for (size_t dim = 0; dim < 3; ++dim) inside[dim] = std::min(inside[dim], pool.in[dim]);
  MemoryAccount::count_loops({out.numel(), inside[0], inside[1], inside[2]},
                             MemoryAccount::kScalarSteps);
}

// Calls visit(plane, position, index of the output element) for every output element.
template <class F>
void for_each_output(int64_t planes, const Window& out, F&& visit) {
  int64_t index = 0;
  for (int64_t plane = 0; plane < planes; ++plane)
    for (int64_t d = 0; d < out[0]; ++d)
      for (int64_t h = 0; h < out[1]; ++h)
        for (int64_t w = 0; w < out[2]; ++w) visit(plane, Window{d, h, w}, index++);
}

// A range of input positions in each dimension, `step` apart.
struct Range {
  Window begin;
  Window end;
  Window step;
  // The number of positions, where each step is 1.
  int64_t count() const { return (end[0] - begin[0]) * (end[1] - begin[1]) * (end[2] - begin[2]); }
  template <class F>
  void for_each(const Window& in, F&& visit) const {
    for (int64_t d = begin[0]; d < end[0]; d += step[0])
      for (int64_t h = begin[1]; h < end[1]; h += step[1])
        for (int64_t w = begin[2]; w < end[2]; w += step[2]) visit((d * in[1] + h) * in[2] + w);
  }
};

// The part of a window inside the input.
Range window_range(const Pool& pool, const Window& position) {
  Range range{{}, {}, pool.dilation};
  for (size_t dim = 0; dim < 3; ++dim) {
    int64_t begin = position[dim] * pool.stride[dim] - pool.padding[dim];
    range.end[dim] =
        std::min(begin + (pool.kernel[dim] - 1) * pool.dilation[dim] + 1, pool.in[dim]);
    if (begin < 0)
      begin += (-begin + pool.dilation[dim] - 1) / pool.dilation[dim] * pool.dilation[dim];
    range.begin[dim] = begin;
  }
  return range;
}

template <class C>
C lowest() {
  if constexpr (std::is_same_v<C, int64_t>) return std::numeric_limits<int64_t>::min();
  return -std::numeric_limits<C>::infinity();
}

// Finds the maximum and its index: the last NaN, or without a NaN the first of the largest numbers.
template <class C>
void maximum_of(const C* plane, const Range& range, const Window& in, C& value, int64_t& index) {
  value = lowest<C>();
  index = (range.begin[0] * in[1] + range.begin[1]) * in[2] + range.begin[2];
  range.for_each(in, [&](int64_t at) {
    if (plane[at] > value || plane[at] != plane[at]) {
      value = plane[at];
      index = at;
    }
  });
}

// Updates the maxima of a row of windows with one tap: elements `step` apart, the first at `at`.
template <class C>
void maximum_of_tap(const C* plane, int64_t at, int64_t step, int64_t count, C* values,
                    int64_t* indices) {
  for (int64_t i = 0; i < count; ++i) {
    const C x = plane[at + i * step];
    const bool is_larger = (x > values[i]) | (x != x);
    values[i] = is_larger ? x : values[i];
    indices[i] = is_larger ? at + i * step : indices[i];
  }
}

// The maxima of a row of windows that begins at `position`, with the results of maximum_of().
// Processes one tap of all windows at a time.
template <class C>
void maximum_of_row(const C* plane, const Pool& pool, const Window& position, C* values,
                    int64_t* indices) {
  const int64_t length = pool.in[2], count = pool.out[2], stride = pool.stride[2],
                dilation = pool.dilation[2], padding = pool.padding[2];
  const Range rows = window_range(pool, position);
  const int64_t first_row = (rows.begin[0] * pool.in[1] + rows.begin[1]) * length;
  const auto divided_up = [](int64_t a, int64_t b) { return a <= 0 ? 0 : (a - 1) / b + 1; };
  std::fill_n(values, count, lowest<C>());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = i * stride - padding;
    indices[i] = first_row + (begin >= 0 ? begin : begin + divided_up(-begin, dilation) * dilation);
  }
  // Skips taps that lie in the padding for every window: their number is not bounded by counted
  // work.
  const int64_t first_tap = divided_up(padding - (count - 1) * stride, dilation),
                last_tap = std::min(pool.kernel[2] - 1, (length - 1 + padding) / dilation);
  for (int64_t d = rows.begin[0]; d < rows.end[0]; d += rows.step[0])
    for (int64_t h = rows.begin[1]; h < rows.end[1]; h += rows.step[1])
      for (int64_t tap = first_tap; tap <= last_tap; ++tap) {
        const int64_t offset = tap * dilation - padding;
        const int64_t begin = divided_up(-offset, stride),
                      end = std::min(count, divided_up(length - offset, stride));
        if (begin >= end) continue;
        const int64_t at = (d * pool.in[1] + h) * length + offset + begin * stride;
        // Constant steps let the compiler vectorise the loop.
        if (stride == 1)
          maximum_of_tap(plane, at, 1, end - begin, values + begin, indices + begin);
        else if (stride == 2)
          maximum_of_tap(plane, at, 2, end - begin, values + begin, indices + begin);
        else
          maximum_of_tap(plane, at, stride, end - begin, values + begin, indices + begin);
      }
}

template <int64_t Spatial>
Result<std::array<Meta, 2>> max_pool_meta(const Tensor& self, const Sizes& kernel,
                                          const Sizes& stride, const Sizes& padding,
                                          const Sizes& dilation, bool ceil_mode) {
  PT2_TRY_VOID(check_not_complex(self, "self"));
  PT2_TRY_VOID(check_not_bool(self, "self"));
  PT2_TRY(const Pool pool,
          make_pool(self, Spatial, {kernel, stride, padding, dilation, ceil_mode}));
  return std::array{pooled_meta(self, pool.out, Spatial, self.dtype()),
                    pooled_meta(self, pool.out, Spatial, Dtype::int64)};
}

template <int64_t Spatial>
Result<void> max_pool_kernel(Tensor& values, Tensor& indices, const Tensor& self,
                             const Sizes& kernel, const Sizes& stride, const Sizes& padding,
                             const Sizes& dilation, bool ceil_mode) {
  PT2_TRY(const Pool pool,
          make_pool(self, Spatial, {kernel, stride, padding, dilation, ceil_mode}));
  count_windows(values, pool);
  with_real_compute_type(self.dtype(), [&]<class C>() {
    const Input<C> x(self);
    Output<C> y(values);
    Output<int64_t> where(indices);
    const Window rows{pool.out[0], pool.out[1], 1};
    for_each_output(values.numel() / product(pool.out), rows,
                    [&](int64_t plane, const Window& position, int64_t row) {
                      maximum_of_row(x.data() + plane * product(pool.in), pool, position,
                                     y.data() + row * pool.out[2],
                                     where.data() + row * pool.out[2]);
                    });
  });
  return {};
}

template <int64_t Spatial>
Result<Meta> avg_pool_meta(const Tensor& self, const Sizes& kernel, const Sizes& stride,
                           const Sizes& padding, bool ceil_mode, bool,
                           const std::optional<int64_t>& divisor) {
  PT2_TRY_VOID(check_not_complex(self, "self"));
  if (dtype_category(self.dtype()) != DtypeCategory::floating && self.dtype() != Dtype::int64)
    return operator_error("self: found " + std::string(dtype_name(self.dtype())) +
                          ", expected a floating dtype or int64");
  if (Spatial == 3 && dtype_size(self.dtype()) == 2)
    return operator_error("self: found " + std::string(dtype_name(self.dtype())) +
                          ", expected float32 or float64");
  if (divisor && *divisor == 0)
    return operator_error("divisor_override: found 0, expected another number");
  PT2_TRY(const Pool pool, make_pool(self, Spatial, {kernel, stride, padding, {}, ceil_mode}));
  // For volumes, padding does not count here (ATen/native/Pool.h pool3d_shape_check).
  for (size_t dim = 0; Spatial == 3 && dim < 3; ++dim)
    if (pool.in[dim] < pool.kernel[dim])
      return operator_error("self: found " + self.type_text() +
                            ", expected no size below that of the kernel, " + sizes_text(kernel));
  return plain_pooled_meta(self, pool.out, Spatial, self.dtype());
}

// The divisor of a window's mean. `count_padding` includes the padding, but never the part of a
// window that ceil_mode lets extend beyond the padding.
int64_t window_divisor(const Pool& pool, const Window& position, const Range& range,
                       bool count_padding) {
  if (!count_padding) return range.count();
  int64_t count = 1;
  for (size_t dim = 0; dim < 3; ++dim) {
    const int64_t begin = position[dim] * pool.stride[dim] - pool.padding[dim];
    count *= std::min(begin + pool.kernel[dim], pool.in[dim] + pool.padding[dim]) - begin;
  }
  return count;
}

// Quotients of integers are rounded towards 0.
template <class C>
C quotient(C dividend, int64_t divisor) {
  if constexpr (std::is_same_v<C, int64_t>)
    // The quotient of the smallest int64 and -1 is not an int64; the negation wraps around.
    return divisor == -1 ? minus(int64_t{0}, dividend) : dividend / divisor;
  else
    return dividend / static_cast<C>(divisor);
}

template <class C>
C mean_of(const C* plane, const Range& range, const Window& in, int64_t divisor) {
  Accumulator<C> sum{};
  range.for_each(in, [&](int64_t at) { sum += static_cast<Accumulator<C>>(plane[at]); });
  using Sum = std::conditional_t<std::is_same_v<C, int64_t>, C, Accumulator<C>>;
  return static_cast<C>(quotient(static_cast<Sum>(sum), divisor));
}

template <int64_t Spatial>
Result<void> avg_pool_kernel(Tensor& out, const Tensor& self, const Sizes& kernel,
                             const Sizes& stride, const Sizes& padding, bool ceil_mode,
                             bool count_include_pad, const std::optional<int64_t>& divisor) {
  PT2_TRY(const Pool pool, make_pool(self, Spatial, {kernel, stride, padding, {}, ceil_mode}));
  count_windows(out, pool);
  with_real_compute_type(self.dtype(), [&]<class C>() {
    const Input<C> x(self);
    Output<C> y(out);
    for_each_output(out.numel() / product(pool.out), pool.out,
                    [&](int64_t plane, const Window& position, int64_t i) {
                      const Range range = window_range(pool, position);
                      const int64_t count = divisor.value_or(
                          window_divisor(pool, position, range, count_include_pad));
                      y[i] = mean_of(x.data() + plane * product(pool.in), range, pool.in, count);
                    });
  });
  return {};
}

Result<Meta> avg_pool1d_meta(const Tensor& self, const Sizes& kernel, const Sizes& stride,
                             const Sizes& padding, bool ceil_mode, bool count_include_pad) {
  PT2_TRY(Meta meta, avg_pool_meta<1>(self, kernel, stride, padding, ceil_mode, count_include_pad,
                                      std::nullopt));
  if (self.dim() == 3) meta.strides = row_strides(meta.sizes, suggest_format_of_rows(self));
  return meta;
}

Result<void> avg_pool1d(Tensor& out, const Tensor& self, const Sizes& kernel, const Sizes& stride,
                        const Sizes& padding, bool ceil_mode, bool count_include_pad) {
  return avg_pool_kernel<1>(out, self, kernel, stride, padding, ceil_mode, count_include_pad,
                            std::nullopt);
}

// Adaptive windows: [floor(i * in / out), ceil((i + 1) * in / out)).
struct Adaptive {
  Window in{1, 1, 1};
  Window out{1, 1, 1};
  Range range(const Window& position) const {
    Range range{{}, {}, {1, 1, 1}};
    for (size_t dim = 0; dim < 3; ++dim) {
      range.begin[dim] = position[dim] * in[dim] / out[dim];
      range.end[dim] = ((position[dim] + 1) * in[dim] + out[dim] - 1) / out[dim];
    }
    return range;
  }
};

// Counts the work of all windows. Along one dim they overlap by an element at most, but a few long
// windows along one dim and many short ones along another cover the input often.
void count_windows(const Tensor& out, const Adaptive& pool) {
  MemoryAccount::count_loops({out.numel() / product(pool.out), pool.in[0] + pool.out[0],
                              pool.in[1] + pool.out[1], pool.in[2] + pool.out[2]},
                             1);
}

// `full` as in check_pool_input().
Result<Adaptive> make_adaptive(const Tensor& self, int64_t spatial, const Sizes& output_size,
                               int64_t full) {
  PT2_TRY_VOID(check_pool_input(self, spatial, full));
  if (output_size.empty()) return operator_error("output_size: found [], expected numbers");
  Adaptive pool;
  PT2_TRY(pool.out, window(output_size, spatial, {1, 1, 1}, "output_size"));
  for (auto dim = static_cast<size_t>(3 - spatial); dim < 3; ++dim) {
    pool.in[dim] = self.size(self.dim() - 3 + static_cast<int64_t>(dim));
    if (pool.out[dim] < 0)
      return operator_error("output_size: found " + sizes_text(output_size) +
                            ", expected no negative number");
    PT2_TRY(const int64_t ends, multiply_add(pool.out[dim], 1, 1));
    PT2_TRY_VOID(multiply_add(ends, pool.in[dim], pool.out[dim]));
  }
  if (!checked_numel(pool.out))
    return operator_error("output_size: found " + sizes_text(output_size) + ", which is too large");
  return pool;
}

// Average pools of rows and images may have no channels.
template <int64_t Spatial>
Result<Adaptive> make_adaptive_avg(const Tensor& self, const Sizes& output_size) {
  return make_adaptive(self, Spatial, output_size, Spatial == 3 ? 4 : Spatial);
}
template <int64_t Spatial>
Result<Meta> adaptive_avg_meta(const Tensor& self, const Sizes& output_size) {
  PT2_TRY(const Adaptive pool, make_adaptive_avg<Spatial>(self, output_size));
  if (Spatial == 3 || product(pool.out) != 0) PT2_TRY_VOID(check_floating(self, "self"));
  return plain_pooled_meta(self, pool.out, Spatial, self.dtype());
}

template <int64_t Spatial>
Result<void> adaptive_avg(Tensor& out, const Tensor& self, const Sizes& output_size) {
  PT2_TRY(const Adaptive pool, make_adaptive_avg<Spatial>(self, output_size));
  if (out.numel() == 0) return {};
  count_windows(out, pool);
  with_float_compute_type(self.dtype(), [&]<class C>() {
    const Input<C> x(self);
    Output<C> y(out);
    for_each_output(out.numel() / product(pool.out), pool.out,
                    [&](int64_t plane, const Window& position, int64_t i) {
                      const Range range = pool.range(position);
                      y[i] = mean_of(x.data() + plane * product(pool.in), range, pool.in,
                                     range.count());
                    });
  });
  return {};
}

// Adaptive max pools allow no elements only in the first dim, be it a batch or channels.
template <int64_t Spatial>
Result<Adaptive> make_adaptive_max(const Tensor& self, const Sizes& output_size) {
  return make_adaptive(self, Spatial, output_size, self.dim() - 1);
}
template <int64_t Spatial>
Result<std::array<Meta, 2>> adaptive_max_meta(const Tensor& self, const Sizes& output_size) {
  PT2_TRY_VOID(check_floating(self, "self"));
  PT2_TRY(const Adaptive pool, make_adaptive_max<Spatial>(self, output_size));
  return std::array{plain_pooled_meta(self, pool.out, Spatial, self.dtype()),
                    plain_pooled_meta(self, pool.out, Spatial, Dtype::int64)};
}

template <int64_t Spatial>
Result<void> adaptive_max(Tensor& values, Tensor& indices, const Tensor& self,
                          const Sizes& output_size) {
  PT2_TRY(const Adaptive pool, make_adaptive_max<Spatial>(self, output_size));
  if (values.numel() == 0) return {};
  count_windows(values, pool);
  with_float_compute_type(self.dtype(), [&]<class C>() {
    const Input<C> x(self);
    Output<C> y(values);
    Output<int64_t> where(indices);
    for_each_output(values.numel() / product(pool.out), pool.out,
                    [&](int64_t plane, const Window& position, int64_t i) {
                      maximum_of(x.data() + plane * product(pool.in), pool.range(position), pool.in,
                                 y[i], where[i]);
                    });
  });
  return {};
}

Result<void> check_gradient(const Tensor& grad_output, const Tensor& self, const Meta& forward) {
  PT2_TRY_VOID(check_sizes(grad_output, forward.sizes, "grad_output"));
  return check_same_dtype(grad_output, self, "grad_output");
}

template <int64_t Spatial>
Result<Meta> max_pool_backward_meta(const Tensor& grad_output, const Tensor& self,
                                    const Sizes& kernel, const Sizes& stride, const Sizes& padding,
                                    const Sizes& dilation, bool ceil_mode, const Tensor& indices) {
  PT2_TRY(const auto metas,
          max_pool_meta<Spatial>(self, kernel, stride, padding, dilation, ceil_mode));
  PT2_TRY_VOID(check_floating(self, "self"));
  PT2_TRY_VOID(check_gradient(grad_output, self, metas[0]));
  PT2_TRY_VOID(check_sizes(indices, metas[0].sizes, "indices"));
  return like_in_format(self);
}

template <int64_t Spatial>
Result<void> max_pool_backward(Tensor& out, const Tensor& grad_output, const Tensor& self,
                               const Sizes& kernel, const Sizes& stride, const Sizes& padding,
                               const Sizes& dilation, bool ceil_mode, const Tensor& indices) {
  PT2_TRY(const Pool pool,
          make_pool(self, Spatial, {kernel, stride, padding, dilation, ceil_mode}));
  const Input<int64_t> where(indices);
  for (int64_t i = 0; i < where.size(); ++i)
    if (where[i] < 0 || where[i] >= product(pool.in))
      return operator_error("indices: found " + std::to_string(where[i]) + ", expected 0 to " +
                            std::to_string(product(pool.in) - 1));
  with_float_compute_type(self.dtype(), [&]<class C>() {
    const Input<C> grads(grad_output);
    Output<C> result(out);
    for (int64_t i = 0; i < grads.size(); ++i)
      result[i / product(pool.out) * product(pool.in) + where[i]] += grads[i];
  });
  return {};
}

// Distributes the gradient of a window over the window's elements, divided by divisor(range,
// position).
template <class F, class D>
void spread_gradients(Tensor& out, const Tensor& grad_output, const Window& in, const Window& sizes,
                      F&& range_at, D&& divisor) {
  with_real_compute_type(out.dtype(), [&]<class C>() {
    const Input<C> grads(grad_output);
    Output<C> result(out);
    for_each_output(grads.size() / product(sizes), sizes,
                    [&](int64_t plane, const Window& position, int64_t i) {
                      const Range range = range_at(position);
                      const C share = quotient<C>(grads[i], divisor(range, position));
                      range.for_each(in, [&](int64_t at) {
                        C& sum = result[plane * product(in) + at];
                        sum = plus(sum, share);
                      });
                    });
  });
}

template <int64_t Spatial>
Result<Meta> avg_pool_backward_meta(const Tensor& grad_output, const Tensor& self,
                                    const Sizes& kernel, const Sizes& stride, const Sizes& padding,
                                    bool ceil_mode, bool count_include_pad,
                                    const std::optional<int64_t>& divisor) {
  PT2_TRY(const Meta meta, avg_pool_meta<Spatial>(self, kernel, stride, padding, ceil_mode,
                                                  count_include_pad, divisor));
  PT2_TRY_VOID(check_gradient(grad_output, self, meta));
  return Spatial == 3 ? Meta::like(self) : like_in_format(self);
}

template <int64_t Spatial>
Result<void> avg_pool_backward(Tensor& out, const Tensor& grad_output, const Tensor& self,
                               const Sizes& kernel, const Sizes& stride, const Sizes& padding,
                               bool ceil_mode, bool count_include_pad,
                               const std::optional<int64_t>& divisor) {
  PT2_TRY(const Pool pool, make_pool(self, Spatial, {kernel, stride, padding, {}, ceil_mode}));
  count_windows(grad_output, pool);
  spread_gradients(
      out, grad_output, pool.in, pool.out,
      [&](const Window& position) { return window_range(pool, position); },
      [&](const Range& range, const Window& position) {
        return divisor.value_or(window_divisor(pool, position, range, count_include_pad));
      });
  return {};
}

template <int64_t Spatial>
Sizes pooled_sizes(const Tensor& grad_output) {
  return Sizes(grad_output.sizes().end() - Spatial, grad_output.sizes().end());
}
template <int64_t Spatial>
Result<Meta> adaptive_avg_backward_meta(const Tensor& grad_output, const Tensor& self) {
  PT2_TRY_VOID(check_pool_input(grad_output, Spatial, Spatial + 1));
  PT2_TRY_VOID(check_floating(self, "self"));
  PT2_TRY(const Meta meta, adaptive_avg_meta<Spatial>(self, pooled_sizes<Spatial>(grad_output)));
  PT2_TRY_VOID(check_gradient(grad_output, self, meta));
  return Spatial == 3 ? Meta::like(self) : like_in_format(self);
}

template <int64_t Spatial>
Result<void> adaptive_avg_backward(Tensor& out, const Tensor& grad_output, const Tensor& self) {
  PT2_TRY(const Adaptive pool,
          make_adaptive_avg<Spatial>(self, pooled_sizes<Spatial>(grad_output)));
  if (grad_output.numel() > 0) count_windows(grad_output, pool);
  spread_gradients(
      out, grad_output, pool.in, pool.out,
      [&](const Window& position) { return pool.range(position); },
      [](const Range& range, const Window&) { return range.count(); });
  return {};
}

template <int64_t Spatial>
Result<Tensor> max_pool(Emitter& e, const Tensor& self, const Sizes& kernel, const Sizes& stride,
                        const Sizes& padding, const Sizes& dilation, bool ceil_mode) {
  if (Spatial > 1) {
    const Handle handle = Spatial == 2 ? Handle(aten<"max_pool2d_with_indices.default">)
                                       : aten<"max_pool3d_with_indices.default">;
    return e(handle, {self, kernel, stride, padding, dilation, ceil_mode});
  }
  PT2_TRY_VOID(check_floating(self, "self"));
  return e(aten<"max_pool1d_with_indices.default">,
           {self, kernel, stride, padding, dilation, ceil_mode});
}
template <int64_t Spatial>
Result<Tensor> adaptive_avg_formula(Emitter& e, const Tensor& self, const Sizes& output_size) {
  PT2_TRY_VOID(adaptive_avg_meta<Spatial>(self, output_size));
  Sizes dims;
  bool is_one = true;
  for (int64_t i = Spatial; i > 0; --i) dims.push_back(-i);
  for (const int64_t size : output_size) is_one = is_one && size == 1;
  if (is_one) return e(aten<"mean.dim">, {self, dims, true});
  return e(Spatial == 2 ? Handle(aten<"_adaptive_avg_pool2d.default">)
                        : aten<"_adaptive_avg_pool3d.default">,
           {self, output_size});
}

using TensorPair = std::tuple<Tensor, Tensor>;
// Removes the dimension of a row that is treated as an image of height 1.
Result<TensorPair> squeezed(Emitter& e, Result<TensorPair> both) {
  PT2_TRY(auto parts, std::move(both));
  auto& [values, indices] = parts;
  PT2_TRY(values, e(aten<"squeeze.dim">, {values, -2}));
  PT2_TRY(indices, e(aten<"squeeze.dim">, {indices, -2}));
  return parts;
}
Result<TensorPair> max_pool1d_with_indices(Emitter& e, const Tensor& self, const Sizes& kernel,
                                           const Sizes& stride, const Sizes& padding,
                                           const Sizes& dilation, bool ceil_mode) {
  PT2_TRY_VOID(max_pool_meta<1>(self, kernel, stride, padding, dilation, ceil_mode));
  const auto with = [](int64_t number, const Sizes& sizes) {
    return sizes.empty() ? Sizes{} : Sizes{number, sizes[0]};
  };
  return squeezed(e, e.several<Tensor, Tensor>(
                         aten<"max_pool2d_with_indices.default">,
                         {e(aten<"unsqueeze.default">, {self, -2}), with(1, kernel),
                          with(1, stride), with(0, padding), with(1, dilation), ceil_mode}));
}
Result<Tensor> adaptive_avg_pool1d(Emitter& e, const Tensor& self, const Sizes& output_size) {
  PT2_TRY_VOID(adaptive_avg_meta<1>(self, output_size));
  const auto rows = e(aten<"adaptive_avg_pool2d.default">,
                      {e(aten<"unsqueeze.default">, {self, -2}), Sizes{1, output_size[0]}});
  return e(aten<"squeeze.dim">, {rows, -2});
}
Result<TensorPair> adaptive_max_pool1d(Emitter& e, const Tensor& self, const Sizes& output_size) {
  if (output_size.size() != 1)
    return operator_error("output_size: found " + sizes_text(output_size) + ", expected one size");
  return squeezed(e, e.several<Tensor, Tensor>(
                         aten<"adaptive_max_pool2d.default">,
                         {e(aten<"unsqueeze.default">, {self, -2}), Sizes{1, output_size[0]}}));
}

// clang-format off
constexpr OpDef kPoolingOps[] = {
    op<"aten::max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor",
       max_pool_backward_meta<2>, max_pool_backward<2>>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    op<"aten::max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, int[3] dilation, bool ceil_mode, Tensor indices) -> Tensor",
       max_pool_backward_meta<3>, max_pool_backward<3>>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    op<"aten::avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor",
       avg_pool_backward_meta<2>, avg_pool_backward<2>>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    op<"aten::avg_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor",
       avg_pool_backward_meta<3>, avg_pool_backward<3>>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    op<"aten::_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor", adaptive_avg_backward_meta<2>, adaptive_avg_backward<2>>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    op<"aten::_adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor", adaptive_avg_backward_meta<3>, adaptive_avg_backward<3>>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    op<"aten::max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> Tensor", max_pool<1>>,
    op<"aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor", max_pool<2>>,
    op<"aten::max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> Tensor", max_pool<3>>.with({.autocast = AutocastRule::float32}),
    op<"aten::max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)",
       max_pool1d_with_indices>,
    op<"aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
       max_pool_meta<2>, max_pool_kernel<2>>,
    op<"aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
       max_pool_meta<3>, max_pool_kernel<3>>,
    op<"aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, bool count_include_pad=True) -> Tensor",
       avg_pool1d_meta, avg_pool1d>.with({.slope = Slope::linear}),
    op<"aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
       avg_pool_meta<2>, avg_pool_kernel<2>>.with({.slope = Slope::linear}),
    op<"aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
       avg_pool_meta<3>, avg_pool_kernel<3>>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor", adaptive_avg_pool1d>.with({.slope = Slope::linear}),
    op<"aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor", adaptive_avg_meta<2>, adaptive_avg<2>, adaptive_avg_formula<2>>.with({.slope = Slope::linear}),
    op<"aten::adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor", adaptive_avg_meta<3>, adaptive_avg<3>, adaptive_avg_formula<3>>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor", adaptive_avg_meta<2>, adaptive_avg<2>>.with({.slope = Slope::linear}),
    op<"aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor", adaptive_avg_meta<3>, adaptive_avg<3>>,
    op<"aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)", adaptive_max_pool1d>,
    op<"aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)", adaptive_max_meta<2>, adaptive_max<2>>,
    op<"aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)", adaptive_max_meta<3>, adaptive_max<3>>.with({.autocast = AutocastRule::float32}),
};
// clang-format on

}  // namespace

std::span<const OpDef> pooling_ops() { return kPoolingOps; }

}  // namespace pt2::ops
