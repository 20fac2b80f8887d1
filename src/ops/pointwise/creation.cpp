// Creates tensors from sizes or from numbers.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/loops.h"
#include "ops/pointwise/copying.h"
#include "ops/pointwise/pointwise.h"

namespace pt2::ops {
namespace {

void fill_ones(Tensor& out) { fill_elements(out, 1); }

Result<Meta> new_meta(const Sizes& sizes, Dtype dtype, const OptionalLayout& layout,
                      const OptionalFormat& format = {}) {
  PT2_TRY_VOID(check_layout(layout));
  for (int64_t size : sizes)
    if (size < 0)
      return operator_error("found a negative size in " + sizes_text(sizes) +
                            ", expected 0 or more");
  if (!format) return Meta(dtype, sizes);
  PT2_TRY_VOID(check_format(sizes, *format));
  return Meta(dtype, sizes, format_strides(sizes, *format));
}
Result<Meta> overwritten(Result<Meta> meta) {
  if (meta) meta->is_overwritten = true;
  return meta;
}

// --- From sizes

Result<Meta> sized_meta(const Sizes& size, OptionalDtype dtype, const OptionalLayout& layout) {
  return new_meta(size, dtype.value_or(Dtype::float32), layout);
}
Result<Meta> empty_meta(const Sizes& size, OptionalDtype dtype, const OptionalLayout& layout,
                        const OptionalDevice&, PinMemory, OptionalFormat format) {
  return new_meta(size, dtype.value_or(Dtype::float32), layout, format);
}
Result<Meta> full_meta(const Sizes& size, const Scalar& fill_value, OptionalDtype dtype,
                       const OptionalLayout& layout) {
  const Dtype made = dtype.value_or(default_dtype(fill_value.category()));
  PT2_TRY_VOID(expect_representable(fill_value, made));
  return overwritten(new_meta(size, made, layout));
}
Result<Meta> scalar_tensor_meta(const Scalar& s, OptionalDtype dtype,
                                const OptionalLayout& layout) {
  // Floats of at most two bytes turn numbers that are too large into infinity or the largest finite
  // number (c10/util/TypeCast.h convert). Filling such tensors refuses these numbers.
  const Dtype made = dtype.value_or(Dtype::float32);
  const bool narrows = dtype_category(made) == DtypeCategory::floating && dtype_size(made) < 4;
  PT2_TRY_VOID(expect_representable(s, narrows ? Dtype::float64 : made));
  return new_meta({}, made, layout);
}

// --- Like another tensor

Result<Meta> like_meta(const Tensor& self, OptionalDtype dtype, const OptionalLayout& layout,
                       const OptionalDevice&, PinMemory, OptionalFormat format) {
  PT2_TRY_VOID(check_layout(layout));
  return meta_like(self, dtype.value_or(self.dtype()), format);
}
Result<Meta> full_like_meta(const Tensor& self, const Scalar& fill_value, OptionalDtype dtype,
                            const OptionalLayout& layout, const OptionalDevice& device,
                            PinMemory pin_memory, OptionalFormat format) {
  PT2_TRY_VOID(expect_representable(fill_value, dtype.value_or(self.dtype())));
  return overwritten(like_meta(self, dtype, layout, device, pin_memory, format));
}
Result<Meta> new_sized_meta(const Tensor& self, const Sizes& size, OptionalDtype dtype,
                            const OptionalLayout& layout) {
  return new_meta(size, dtype.value_or(self.dtype()), layout);
}
Result<Meta> new_full_meta(const Tensor& self, const Sizes& size, const Scalar& fill_value,
                           OptionalDtype dtype, const OptionalLayout& layout) {
  PT2_TRY_VOID(expect_representable(fill_value, dtype.value_or(self.dtype())));
  return overwritten(new_sized_meta(self, size, dtype, layout));
}

// --- With given strides: a view of a storage that is just large enough

Result<int64_t> reach_of(const Sizes& size, const Sizes& stride) {
  if (size.size() != stride.size())
    return operator_error("stride: found " + std::to_string(stride.size()) + " numbers for " +
                          std::to_string(size.size()) + " sizes, expected as many");
  const auto is_negative = [](int64_t number) { return number < 0; };
  if (std::ranges::any_of(size, is_negative) || std::ranges::any_of(stride, is_negative))
    return operator_error("size and stride: found a negative number, expected 0 or more");
  if (std::ranges::count(size, 0) > 0) return 0;
  int64_t reach = 1;
  for (size_t i = 0; i < size.size(); ++i) {
    int64_t extent = 0;
    if (__builtin_mul_overflow(size[i] - 1, stride[i], &extent) ||
        __builtin_add_overflow(reach, extent, &reach))
      return operator_error("sizes " + sizes_text(size) + " and strides " + sizes_text(stride) +
                            " exceed 64 bits");
  }
  return reach;
}
Result<Meta> strided_meta(const Sizes& size, const Sizes& stride, Dtype dtype,
                          const OptionalLayout& layout) {
  PT2_TRY_VOID(check_layout(layout));
  PT2_TRY_VOID(reach_of(size, stride));
  return Meta(dtype, size, stride);
}
Result<Meta> empty_strided_meta(const Sizes& size, const Sizes& stride, OptionalDtype dtype,
                                const OptionalLayout& layout) {
  return strided_meta(size, stride, dtype.value_or(Dtype::float32), layout);
}
Result<Meta> new_empty_strided_meta(const Tensor& self, const Sizes& size, const Sizes& stride,
                                    OptionalDtype dtype, const OptionalLayout& layout) {
  return strided_meta(size, stride, dtype.value_or(self.dtype()), layout);
}
Result<Tensor> strided(const Meta& meta) {
  PT2_TRY(const int64_t reach, reach_of(meta.sizes, meta.strides));
  PT2_TRY(const Tensor block, allocate({meta.dtype, {reach}}));
  return Tensor::view_of(block.storage(), meta.dtype, meta.sizes, meta.strides, 0);
}
Result<Tensor> empty_strided(const Sizes& size, const Sizes& stride, OptionalDtype dtype,
                             const OptionalLayout& layout) {
  PT2_TRY(const Meta meta, empty_strided_meta(size, stride, dtype, layout));
  return strided(meta);
}
Result<Tensor> new_empty_strided(const Tensor& self, const Sizes& size, const Sizes& stride,
                                 OptionalDtype dtype, const OptionalLayout& layout) {
  PT2_TRY(const Meta meta, new_empty_strided_meta(self, size, stride, dtype, layout));
  return strided(meta);
}

// --- Sequences

// Sets out[i] = at(i) in a new contiguous tensor.
template <class C, class F>
void fill_sequence(Tensor& out, F&& at) {
  C buffer[kChunk];
  const int64_t size = dtype_size(out.dtype());
  for (int64_t begin = 0; begin < out.numel(); begin += kChunk) {
    const int64_t count = std::min(kChunk, out.numel() - begin);
    for (int64_t i = 0; i < count; ++i) buffer[i] = at(begin + i);
    store_elements<C>(buffer, count, out.dtype(), 1, out.raw_data() + begin * size);
  }
}

Result<int64_t> arange_length(const Scalar& start, const Scalar& end, const Scalar& step) {
  const double from = start.to_double();
  const double to = end.to_double();
  const double by = step.to_double();
  if (by == 0 || !std::isfinite(by))
    return operator_error("step: found " + std::to_string(by) +
                          ", expected a finite number other than 0");
  if (!std::isfinite(from) || !std::isfinite(to))
    return operator_error("start and end: found a number that is not finite, expected finite ones");
  if ((by > 0 && to < from) || (by < 0 && to > from))
    return operator_error("step: found " + std::to_string(by) +
                          ", expected one that leads from start to end");
  double length = std::ceil((to - from) / by);
  if (start.is_integral() && end.is_integral() && step.is_integral()) {
    // The distance of two int64 fits uint64, so the count is exact beyond 2^53, too.
    auto distance = [](int64_t low, int64_t high) {
      return static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    };
    const uint64_t span =
        by > 0 ? distance(start.to_int(), end.to_int()) : distance(end.to_int(), start.to_int());
    const uint64_t stride = by > 0 ? distance(0, step.to_int()) : distance(step.to_int(), 0);
    const uint64_t exact = span / stride + (span % stride != 0 ? 1 : 0);
    if (exact < INT64_MAX / 16) return static_cast<int64_t>(exact);
    length = static_cast<double>(exact);
  }
  if (!(length < 0x1p59))
    return operator_error("found a range of more elements than memory can hold");
  return static_cast<int64_t>(length);
}
Result<Meta> arange_meta(const Scalar& start, const Scalar& end, const Scalar& step,
                         OptionalDtype dtype, const OptionalLayout& layout) {
  PT2_TRY(const int64_t length, arange_length(start, end, step));
  const bool integral = start.is_integral() && end.is_integral() && step.is_integral();
  if (dtype) PT2_TRY_VOID(expect_not_bool(*dtype));
  return new_meta({length}, dtype.value_or(integral ? Dtype::int64 : Dtype::float32), layout);
}
// Returns from + count * step. Programs compare such numbers or truncate them to indices, so each
// bit matters: PyTorch's compiler fuses product and sum of real numbers.
template <class C>
C after_steps(C from, C step, int64_t count) {
  if constexpr (std::is_same_v<C, Complex>)
    return from + step * static_cast<double>(count);
  else
    return std::fma(step, static_cast<C>(count), from);
}
// PyTorch rounds the first number of each vector of 32 bytes and counts the others from it. It
// counts the numbers behind the last pair of vectors from the start
// (ATen/native/cpu/RangeFactoriesKernel.cpp arange_kernel).
template <class C>
void fill_steps(Tensor& out, C start, C step) {
  const int64_t lanes = 32 / dtype_size(out.dtype());
  const int64_t in_vectors = out.numel() / (2 * lanes) * (2 * lanes);
  // The numbers are asked for in order.
  fill_sequence<C>(out, [=, dtype = out.dtype(), first = C()](int64_t i) mutable {
    const int64_t lane = i < in_vectors ? i & (lanes - 1) : 0;
    if (lane != 0) return after_steps(first, step, lane);
    first = after_steps(start, step, i);
    const C number = first;
    round_elements<C>(dtype, 1, &first);
    return number;
  });
}
void arange(Tensor& out, const Scalar& start, const Scalar&, const Scalar& step) {
  if (dtype_category(out.dtype()) <= DtypeCategory::integer) {
    // The bounds are truncated before counting: arange(0.5, 3, 1.5, dtype=int64) steps by 1.
    const auto first = static_cast<uint64_t>(start.to_int());
    const auto by = static_cast<uint64_t>(step.to_int());
    return fill_sequence<int64_t>(out, [=](int64_t i) {
      return static_cast<int64_t>(first + static_cast<uint64_t>(i) * by);
    });
  }
  const double first = start.to_double(), by = step.to_double();
  if (is_half(out.dtype()))
    fill_steps(out, static_cast<float>(first), static_cast<float>(by));
  else
    fill_steps(out, first, by);
}
Result<Meta> arange_start_meta(const Scalar& start, const Scalar& end, OptionalDtype dtype,
                               const OptionalLayout& layout) {
  return arange_meta(start, end, 1, dtype, layout);
}
void arange_start(Tensor& out, const Scalar& start, const Scalar& end) {
  arange(out, start, end, 1);
}
Result<Meta> arange_end_meta(const Scalar& end, OptionalDtype dtype, const OptionalLayout& layout) {
  return arange_meta(0, end, 1, dtype, layout);
}
void arange_end(Tensor& out, const Scalar& end) { arange(out, 0, end, 1); }

Result<Meta> linspace_meta(const Scalar& start, const Scalar& end, int64_t steps,
                           OptionalDtype dtype, const OptionalLayout& layout) {
  if (steps < 0)
    return operator_error("found " + std::to_string(steps) + " steps, expected 0 or more");
  if (dtype) PT2_TRY_VOID(expect_not_bool(*dtype));
  const bool is_complex =
      start.category() == DtypeCategory::complex || end.category() == DtypeCategory::complex;
  const Dtype made = dtype.value_or(is_complex ? Dtype::complex64 : Dtype::float32);
  if (steps > 0) PT2_TRY_VOID(expect_representable(start, made));
  if (steps > 1) PT2_TRY_VOID(expect_representable(end, made));
  return new_meta({steps}, made, layout);
}
// Computes from both ends toward the middle, so that both ends are exact
// (ATen/native/cpu/RangeFactoriesKernel.cpp linspace_kernel).
template <class C>
void fill_linspace(Tensor& out, C start, C end, int64_t steps) {
  const C step = steps > 1 ? (end - start) / static_cast<C>(static_cast<double>(steps - 1)) : C(0);
  fill_sequence<C>(out, [=](int64_t i) {
    return i < steps / 2 || steps == 1 ? after_steps(start, step, i)
                                       : after_steps(end, -step, steps - i - 1);
  });
}
void linspace(Tensor& out, const Scalar& start, const Scalar& end, int64_t steps) {
  const Dtype dtype = out.dtype();
  if (dtype_category(dtype) == DtypeCategory::complex)
    return fill_linspace<Complex>(out, start.to_complex(), end.to_complex(), steps);
  // Integer ends are truncated and wrap around: -5 is 251 for uint8.
  double ends[] = {start.to_double(), end.to_double()};
  round_elements<double>(dtype, 2, ends);
  // PyTorch computes in the precision of the result, halves in float.
  if (dtype == Dtype::float32 || is_half(dtype))
    fill_linspace(out, static_cast<float>(ends[0]), static_cast<float>(ends[1]), steps);
  else
    fill_linspace(out, ends[0], ends[1], steps);
}

// --- Matrices

Result<Meta> eye_rectangle_meta(int64_t n, int64_t m, OptionalDtype dtype,
                                const OptionalLayout& layout) {
  return new_meta({n, m}, dtype.value_or(Dtype::float32), layout);
}
void eye_rectangle(Tensor& out, int64_t n, int64_t m) {
  if (out.numel() == 0) return;
  Tensor diagonal = out.with_view({std::min(n, m)}, {m + 1}, 0);
  fill_elements(diagonal, 1);
}
Result<Meta> eye_meta(int64_t n, OptionalDtype dtype, const OptionalLayout& layout) {
  return eye_rectangle_meta(n, n, dtype, layout);
}
void eye(Tensor& out, int64_t n) { eye_rectangle(out, n, n); }

Result<Meta> triangle_meta(const Tensor& self) {
  if (self.dim() < 2)
    return operator_error("found rank " + std::to_string(self.dim()) + ", expected 2 or more");
  return Meta::like(self);
}
// Copies the elements whose column minus row is within [low, high].
void copy_band(Tensor& out, const Tensor& self, int64_t low, int64_t high) {
  const int64_t rows = self.size(self.dim() - 2);
  const int64_t columns = self.size(self.dim() - 1);
  if (self.numel() == 0) return;
  Sizes batch(self.sizes().begin(), self.sizes().end() - 2);
  for (int64_t row = 0; row < rows; ++row) {
    // Clamps before adding, because the diagonal may be any int64.
    const int64_t begin = std::clamp<int64_t>(
        std::clamp<int64_t>(low, -rows - columns, rows + columns) + row, 0, columns);
    const int64_t end = std::clamp<int64_t>(
        std::clamp<int64_t>(high, -rows - columns - 1, rows + columns) + row + 1, begin, columns);
    auto band = [&](const Tensor& tensor) {
      Sizes sizes = batch;
      sizes.push_back(end - begin);
      Sizes strides = tensor.strides();
      const int64_t row_stride = strides[batch.size()];
      strides.erase(strides.end() - 2);
      return tensor.with_view(std::move(sizes), strides,
                              tensor.storage_offset() + row * row_stride + begin * strides.back());
    };
    Tensor target = band(out);
    copy_elements(target, band(self));
  }
}
void tril(Tensor& out, const Tensor& self, int64_t diagonal) {
  copy_band(out, self, INT64_MIN, diagonal);
}
void triu(Tensor& out, const Tensor& self, int64_t diagonal) {
  copy_band(out, self, diagonal, INT64_MAX);
}

// The number of positions whose column minus row is at most `offset`. The numbers of rows and
// columns must be so small that no sum overflows.
int64_t count_below(int64_t rows, int64_t columns, int64_t offset) {
  const int64_t first = std::clamp<int64_t>(-offset, 0, rows);  // the rows before it are empty
  const int64_t full = std::clamp<int64_t>(columns - offset - 1, first, rows);
  // The rows from `first` to `full` have first + offset + 1, …, full + offset positions.
  const int64_t growing = (full - first) * (first + full + 2 * offset + 1) / 2;
  return growing + (rows - full) * columns;
}
template <bool Lower>
Result<Meta> triangle_indices_meta(int64_t row, int64_t col, int64_t offset, OptionalDtype dtype,
                                   const OptionalLayout& layout) {
  PT2_TRY(const Meta whole, new_meta({row, col}, Dtype::bool_, layout));
  constexpr int64_t kMost = INT64_MAX / 16;
  if (checked_numel(whole.sizes).value_or(INT64_MAX) > kMost)
    return operator_error("found a matrix of sizes " + sizes_text(whole.sizes) +
                          ", expected one that memory can hold");
  int64_t count = 0;
  if (row > 0 && col > 0) {
    const int64_t shift = std::clamp<int64_t>(offset, -row - 1, col + 1);
    count = Lower ? count_below(row, col, shift) : row * col - count_below(row, col, shift - 1);
  }
  return Meta(dtype.value_or(Dtype::int64), {2, count});
}
// Returns the positions in a triangle as two rows: row numbers and column numbers.
template <bool Lower>
Result<Tensor> triangle_indices(int64_t row, int64_t col, int64_t offset, OptionalDtype dtype,
                                const OptionalLayout& layout) {
  PT2_TRY(const Meta whole, new_meta({row, col}, Dtype::bool_, layout));
  PT2_TRY_VOID(allocate(whole));
  PT2_TRY(const Meta meta, triangle_indices_meta<Lower>(row, col, offset, dtype, layout));
  // Without elements the allocation does not bound both numbers: one may be huge.
  if (row == 0 || col == 0) row = col = 0;
  const int64_t shift = std::clamp<int64_t>(offset, -row - 1, col + 1);
  auto first = [&](int64_t r) { return Lower ? 0 : std::clamp<int64_t>(r + shift, 0, col); };
  auto last = [&](int64_t r) { return Lower ? std::clamp<int64_t>(r + shift + 1, 0, col) : col; };
  PT2_TRY(Tensor indices, allocate({Dtype::int64, meta.sizes}));
  auto* rows = indices.data<int64_t>();
  auto* columns = rows + meta.sizes[1];
  for (int64_t r = 0; r < row; ++r)
    for (int64_t c = first(r); c < last(r); ++c) {
      *rows++ = r;
      *columns++ = c;
    }
  return copy_as(indices, meta.dtype, std::nullopt);
}

Result<Tensor> one_hot(const Tensor& self, int64_t num_classes) {
  PT2_TRY_VOID(check_dtype(self, Dtype::int64, "self"));
  PT2_TRY(const Tensor indices, contiguous_tensor(self));
  const auto values = indices.as<int64_t>();
  int64_t largest = -1;
  for (int64_t value : values) {
    if (value < 0)
      return operator_error("found class " + std::to_string(value) + ", expected 0 or more");
    largest = std::max(largest, value);
  }
  if (num_classes == -1 && values.empty())
    return operator_error(
        "num_classes: found -1 for a tensor without elements, expected a number of classes");
  if (num_classes == -1) num_classes = largest + (largest < INT64_MAX ? 1 : 0);
  if (num_classes < 1 && !values.empty())
    return operator_error("found " + std::to_string(num_classes) + " classes, expected 1 or more");
  if (largest >= num_classes)
    return operator_error("found class " + std::to_string(largest) + ", expected less than " +
                          std::to_string(num_classes));
  Sizes sizes = self.sizes();
  sizes.push_back(num_classes);
  for (int64_t size : sizes)
    if (size < 0) return operator_error("num_classes: found a negative number, expected 1 or more");
  PT2_TRY(Tensor out, allocate({Dtype::int64, std::move(sizes)}));
  auto* row = out.data<int64_t>();
  for (size_t i = 0; i < values.size(); ++i, row += num_classes) row[values[i]] = 1;
  return out;
}

Result<Tensor> one_hot_formula(Emitter& e, const Tensor& self, int64_t num_classes) {
  if (num_classes < 0) return Error{ErrorCode::unsupported, "it counts the classes", ""};
  const auto classes = e(aten<"arange.start_step">, {0, num_classes, 1, Dtype::int64});
  const auto is_class =
      e(aten<"eq.Tensor">, {e(aten<"unsqueeze.default">, {self, int64_t{-1}}), classes});
  return e(aten<"_to_copy.default">, {is_class, Dtype::int64});
}

// clang-format off
constexpr OpDef kCreationOps[] = {
    op<"aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", empty_meta, leave_zero>,
    op<"aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", sized_meta, leave_zero>,
    op<"aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", sized_meta, fill_ones>,
    op<"aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", full_meta, fill_with<Sizes>>,
    op<"aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", scalar_tensor_meta, fill_with<>>,
    op<"aten::empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", like_meta, leave_zero>.with({.slope = Slope::constant}),
    op<"aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", like_meta, leave_zero>.with({.slope = Slope::constant}),
    op<"aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", like_meta, fill_ones>.with({.slope = Slope::constant}),
    op<"aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", full_like_meta, fill_with<Tensor>>.with({.slope = Slope::constant}),
    op<"aten::new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", new_sized_meta, leave_zero>.with({.slope = Slope::constant}),
    op<"aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", new_sized_meta, leave_zero>.with({.slope = Slope::constant}),
    op<"aten::new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", new_sized_meta, fill_ones>.with({.slope = Slope::constant}),
    op<"aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", new_full_meta, fill_with<Tensor, Sizes>>.with({.slope = Slope::constant}),
    composed<"aten::empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", empty_strided_meta, empty_strided>,
    composed<"aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", new_empty_strided_meta, new_empty_strided>.with({.slope = Slope::constant}),
    op<"aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", arange_end_meta, arange_end>,
    op<"aten::arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", arange_start_meta, arange_start>,
    op<"aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", arange_meta, arange>,
    op<"aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", linspace_meta, linspace>,
    op<"aten::eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", eye_meta, eye>,
    op<"aten::eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", eye_rectangle_meta, eye_rectangle>,
    op<"aten::tril(Tensor self, SymInt diagonal=0) -> Tensor", triangle_meta, tril>.with({.slope = Slope::linear}),
    op<"aten::triu(Tensor self, SymInt diagonal=0) -> Tensor", triangle_meta, triu>.with({.slope = Slope::linear}),
    composed<"aten::tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", triangle_indices_meta<true>, triangle_indices<true>>,
    composed<"aten::triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", triangle_indices_meta<false>, triangle_indices<false>>,
    op<"aten::one_hot(Tensor self, int num_classes=-1) -> Tensor", one_hot, one_hot_formula>,
};
// clang-format on

}  // namespace

std::span<const OpDef> creation_ops() { return kCreationOps; }

}  // namespace pt2::ops
