// Arithmetic and geometric progressions; the ends may be given as 0-dim tensors.
#include <cmath>

#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/pointwise/copying.h"
#include "ops/pointwise/pointwise.h"

namespace pt2::ops {
namespace {

Result<Scalar> end_of(const Scalar& number) { return number; }
Result<Scalar> end_of(const Tensor& tensor) {
  if (tensor.dim() != 0)
    return operator_error("found " + tensor.type_text() + ", expected a 0-dim tensor");
  if (dtype_category(tensor.dtype()) == DtypeCategory::complex)
    return Scalar(Input<Complex>(tensor)[0]);
  return Scalar(Input<double>(tensor)[0]);
}

template <class Start, class End>
Result<Meta> spaced_meta(const Start& start, const End& end, int64_t steps, OptionalDtype dtype,
                         const OptionalLayout& layout) {
  PT2_TRY_VOID(check_layout(layout));
  if (steps < 0)
    return operator_error("found " + std::to_string(steps) + " steps, expected 0 or more");
  if (dtype) PT2_TRY_VOID(expect_not_bool(*dtype));
  const Dtype made = gives_complex(start) || gives_complex(end) ? Dtype::complex64 : Dtype::float32;
  return Meta(dtype.value_or(made), {steps});
}

template <class Start, class End>
Result<Tensor> linspace_between(const Start& start, const End& end, int64_t steps,
                                OptionalDtype dtype, const OptionalLayout& layout) {
  PT2_TRY(const Scalar first, end_of(start));
  PT2_TRY(const Scalar last, end_of(end));
  return apply(aten<"linspace.default">, {first, last, steps, dtype, layout});
}

// Raises `base` to evenly spaced exponents. Floats are computed from both ends. Integers are
// computed from the start, with truncated ends unless there is one step
// (ATen/native/RangeFactories.cpp logspace_out).
template <class C>
void fill_powers(Tensor& out, double base, C start, C end) {
  const int64_t steps = out.numel();
  const C step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : C(0);
  const bool both_ends = dtype_category(out.dtype()) >= DtypeCategory::floating;
  Output<C> values(out);
  for (int64_t i = 0; i < steps; ++i) {
    const C exponent = !both_ends || i < steps / 2 || steps == 1
                           ? start + step * static_cast<double>(i)
                           : end - step * static_cast<double>(steps - i - 1);
    values[i] = std::pow(C(base), exponent);
  }
}
template <class Start, class End>
Result<Meta> logspace_meta(const Start& start, const End& end, int64_t steps, double,
                           OptionalDtype dtype, const OptionalLayout& layout) {
  return spaced_meta(start, end, steps, dtype, layout);
}
template <class Start, class End>
Result<Tensor> logspace_between(const Start& start, const End& end, int64_t steps, double base,
                                OptionalDtype dtype, const OptionalLayout& layout) {
  PT2_TRY(const Scalar first, end_of(start));
  PT2_TRY(const Scalar last, end_of(end));
  PT2_TRY(const Meta meta, spaced_meta(start, end, steps, dtype, layout));
  PT2_TRY(Tensor out, allocate(meta));
  if (dtype_category(out.dtype()) == DtypeCategory::complex)
    fill_powers<Complex>(out, base, first.to_complex(), last.to_complex());
  else if (dtype_category(out.dtype()) == DtypeCategory::integer && steps != 1)
    fill_powers<double>(out, base, std::trunc(first.to_double()), std::trunc(last.to_double()));
  else
    fill_powers<double>(out, base, first.to_double(), last.to_double());
  return out;
}

// For integer dtypes start, end and step of a range are truncated.
double range_number(const Scalar& scalar, Dtype dtype) {
  const double number = scalar.to_double();
  return dtype_category(dtype) == DtypeCategory::integer ? std::trunc(number) : number;
}
// The range includes its end (ATen/native/RangeFactories.cpp range_out).
Result<Meta> range_by_meta(const Scalar& start, const Scalar& end, const Scalar& step,
                           OptionalDtype dtype, const OptionalLayout& layout) {
  PT2_TRY_VOID(check_layout(layout));
  const Dtype type = dtype.value_or(Dtype::float32);
  PT2_TRY_VOID(expect_real(type));
  PT2_TRY_VOID(expect_not_bool(type));
  const double first = range_number(start, type), last = range_number(end, type),
               width = range_number(step, type);
  if (!(width != 0) || !std::isfinite(first) || !std::isfinite(last) ||
      (width > 0 ? start.to_double() > end.to_double() : start.to_double() < end.to_double()))
    return operator_error("found a range from " + std::to_string(first) + " to " +
                          std::to_string(last) + " by " + std::to_string(width) +
                          ", expected finite bounds and a step that leads from one to the other");
  const double count = std::floor((last - first) / width + 1);
  if (!(count >= 0 && count < 0x1p62)) return operator_error("found a range without bounds");
  return Meta(type, {static_cast<int64_t>(count)});
}
void range_by(Tensor& out, const Scalar& start, const Scalar&, const Scalar& step) {
  const double first = range_number(start, out.dtype()), width = range_number(step, out.dtype());
  Output<double> values(out);
  for (int64_t i = 0; i < out.numel(); ++i) values[i] = first + static_cast<double>(i) * width;
}
Result<Meta> range_to_meta(const Scalar& start, const Scalar& end, OptionalDtype dtype,
                           const OptionalLayout& layout) {
  return range_by_meta(start, end, Scalar(1), dtype, layout);
}
void range_to(Tensor& out, const Scalar& start, const Scalar& end) {
  range_by(out, start, end, Scalar(1));
}

template <bool Half>
Result<Meta> frequencies_meta(int64_t n, double, OptionalDtype dtype,
                              const OptionalLayout& layout) {
  PT2_TRY_VOID(check_layout(layout));
  const Dtype type = dtype.value_or(Dtype::float32);
  PT2_TRY_VOID(expect_fraction(type));
  if (n < 0) return operator_error("n: found " + std::to_string(n) + ", expected 0 or more");
  return Meta(type, {Half ? n / 2 + 1 : n});
}
// Returns the frequencies of a transform's bins (ATen/native/SpectralOps.cpp fft_fftfreq).
template <bool Half>
Result<Tensor> frequencies(int64_t n, double d, OptionalDtype dtype, const OptionalLayout& layout) {
  PT2_TRY(const Meta meta, frequencies_meta<Half>(n, d, dtype, layout));
  PT2_TRY(Tensor out, allocate(meta));
  {
    Output<double> values(out);
    for (int64_t i = 0; i < out.numel(); ++i)
      values[i] = static_cast<double>(Half || i < n - n / 2 ? i : i - n);
  }
  return apply(aten<"mul.Tensor">, {out, 1.0 / (static_cast<double>(n) * d)});
}

// clang-format off
constexpr OpDef kProgressionsOps[] = {
    composed<"aten::linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", spaced_meta<Tensor, Tensor>, linspace_between<Tensor, Tensor>>.with({.slope = Slope::linear, .linear_in = "start end"}),
    composed<"aten::linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", spaced_meta<Tensor, Scalar>, linspace_between<Tensor, Scalar>>,
    composed<"aten::linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", spaced_meta<Scalar, Tensor>, linspace_between<Scalar, Tensor>>,
    composed<"aten::logspace(Scalar start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", logspace_meta<Scalar, Scalar>, logspace_between<Scalar, Scalar>>,
    composed<"aten::logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", logspace_meta<Tensor, Tensor>, logspace_between<Tensor, Tensor>>,
    composed<"aten::logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", logspace_meta<Tensor, Scalar>, logspace_between<Tensor, Scalar>>,
    composed<"aten::logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", logspace_meta<Scalar, Tensor>, logspace_between<Scalar, Tensor>>,
    op<"aten::range(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", range_to_meta, range_to>,
    op<"aten::range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", range_by_meta, range_by>,
    composed<"aten::fft_fftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", frequencies_meta<false>, frequencies<false>>,
    composed<"aten::fft_rfftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", frequencies_meta<true>, frequencies<true>>,
};
// clang-format on

}  // namespace

std::span<const OpDef> progressions_ops() { return kProgressionsOps; }

}  // namespace pt2::ops
