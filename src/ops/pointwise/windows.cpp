// Signal windows, computed step by step as PyTorch does (ATen/native/TensorFactories.cpp), so that
// every rounding agrees.
#include <cmath>
#include <numbers>

#include "ops/compose.h"
#include "ops/pointwise/copying.h"
#include "ops/pointwise/pointwise.h"

namespace pt2::ops {
namespace {

// A window of `points` points. A periodic window omits the last point.
struct Window {
  int64_t length = 0;
  int64_t points = 0;
  Dtype dtype = Dtype::float32;

  double last() const { return static_cast<double>(points - 1); }
};

Window window_of(const Tensor& out, int64_t length, bool periodic) {
  return {length, length + (periodic && length > 1 ? 1 : 0), out.dtype()};
}

// `Shape` are the parameters that determine the elements.
template <class... Shape>
Result<Meta> window_meta(int64_t length, Shape..., OptionalDtype dtype,
                         const OptionalLayout& layout) {
  PT2_TRY_VOID(check_layout(layout));
  if (length < 0 || length == INT64_MAX)
    return operator_error("window_length: found " + std::to_string(length) +
                          ", expected 0 or more");
  if (dtype) {
    PT2_TRY_VOID(expect_real(*dtype));
    PT2_TRY_VOID(expect_fraction(*dtype));
  }
  return Meta(dtype.value_or(Dtype::float32), {length});
}

// PyTorch's in-place steps first round their scalar operands to the dtype.
double rounded(const Window& window, double number) { return as_stored(window.dtype, number); }

// Returns shape(0, 1, ..., points - 1), cut to the window's length. A window of one point is 1.
template <class Shape>
Result<Tensor> shaped(const Window& window, Shape&& shape) {
  if (window.length <= 1) {
    PT2_TRY(Tensor ones, allocate({window.dtype, {window.length}}));
    fill_elements(ones, 1);
    return ones;
  }
  PT2_TRY(const Tensor places, apply(aten<"arange.default">, {window.points, window.dtype}));
  PT2_TRY(const Tensor whole, shape(places));
  return apply(aten<"slice.Tensor">, {whole, int64_t{0}, int64_t{0}, window.length});
}

Result<Tensor> cosine_window(const Window& window, double alpha, double beta) {
  return shaped(window, [&](const Tensor& places) -> Result<Tensor> {
    PT2_TRY(
        const Tensor angle,
        apply(aten<"mul.Tensor">, {places, rounded(window, 2 * std::numbers::pi / window.last())}));
    PT2_TRY(const Tensor cosine, apply(aten<"cos.default">, {angle}));
    PT2_TRY(const Tensor scaled, apply(aten<"mul.Tensor">, {cosine, rounded(window, -beta)}));
    return apply(aten<"add.Tensor">, {scaled, rounded(window, alpha)});
  });
}
Result<Tensor> bartlett(const Window& window) {
  return shaped(window, [&](const Tensor& places) -> Result<Tensor> {
    PT2_TRY(Tensor rising, apply(aten<"mul.Tensor">, {places, rounded(window, 2 / window.last())}));
    const int64_t half = (window.points - 1) / 2 + 1;
    PT2_TRY(const Tensor rest,
            apply(aten<"slice.Tensor">, {rising, int64_t{0}, half, window.points}));
    PT2_TRY(const Tensor falling, apply(aten<"rsub.Scalar">, {rest, int64_t{2}}));
    return apply(aten<"slice_scatter.default">, {rising, falling, int64_t{0}, half, window.points});
  });
}
Result<Tensor> blackman(const Window& window) {
  return shaped(window, [&](const Tensor& places) -> Result<Tensor> {
    PT2_TRY(const Tensor angle,
            apply(aten<"mul.Tensor">, {places, rounded(window, std::numbers::pi / window.last())}));
    auto harmonic = [&](double factor, double weight) -> Result<Tensor> {
      PT2_TRY(const Tensor multiple, apply(aten<"mul.Tensor">, {angle, factor}));
      PT2_TRY(const Tensor cosine, apply(aten<"cos.default">, {multiple}));
      return apply(aten<"mul.Tensor">, {cosine, rounded(window, weight)});
    };
    PT2_TRY(const Tensor second, harmonic(4, 0.08));
    PT2_TRY(const Tensor first, harmonic(2, 0.5));
    PT2_TRY(const Tensor difference, apply(aten<"sub.Tensor">, {second, first}));
    return apply(aten<"add.Tensor">, {difference, rounded(window, 0.42)});
  });
}
// I0(beta sqrt(1 - x^2)) / I0(beta) for x from -1 to 1.
Result<Tensor> kaiser(const Window& window, double beta) {
  return shaped(window, [&](const Tensor& places) -> Result<Tensor> {
    PT2_TRY(const Tensor wide, apply(aten<"to.dtype">, {places, Dtype::float64}));
    PT2_TRY(const Tensor scaled, apply(aten<"mul.Tensor">, {wide, 2 / window.last()}));
    PT2_TRY(const Tensor x, apply(aten<"sub.Tensor">, {scaled, 1.0}));
    PT2_TRY(const Tensor square, apply(aten<"mul.Tensor">, {x, x}));
    PT2_TRY(const Tensor rest, apply(aten<"rsub.Scalar">, {square, 1.0}));
    PT2_TRY(const Tensor inside, apply(aten<"clamp_min.default">, {rest, 0.0}));
    PT2_TRY(const Tensor root, apply(aten<"sqrt.default">, {inside}));
    PT2_TRY(const Tensor argument, apply(aten<"mul.Tensor">, {root, beta}));
    PT2_TRY(const Tensor above, apply(aten<"i0.default">, {argument}));
    PT2_TRY(const Tensor below, apply(aten<"i0.default">, {scalar_tensor(beta, Dtype::float64)}));
    PT2_TRY(const Tensor ratio, apply(aten<"div.Tensor">, {above, below}));
    return apply(aten<"to.dtype">, {ratio, window.dtype});
  });
}

Result<void> fill(Tensor& out, Result<Tensor> values) {
  if (!values) return std::move(values).error();
  copy_elements(out, *values);
  return {};
}

// One kernel per set of arguments; the constants are PyTorch's defaults.
template <Result<Tensor> (*Make)(const Window&)>
Result<void> by_length(Tensor& out, int64_t length) {
  return fill(out, Make(window_of(out, length, true)));
}
template <Result<Tensor> (*Make)(const Window&)>
Result<void> by_periodicity(Tensor& out, int64_t length, bool periodic) {
  return fill(out, Make(window_of(out, length, periodic)));
}
Result<Tensor> hann(const Window& window) { return cosine_window(window, 0.5, 0.5); }
Result<Tensor> hamming(const Window& window) { return cosine_window(window, 0.54, 0.46); }
Result<Tensor> kaiser_of_12(const Window& window) { return kaiser(window, 12); }

Result<void> hamming_alpha_beta(Tensor& out, int64_t length, bool periodic, double alpha,
                                double beta) {
  return fill(out, cosine_window(window_of(out, length, periodic), alpha, beta));
}
Result<void> hamming_alpha(Tensor& out, int64_t length, bool periodic, double alpha) {
  return hamming_alpha_beta(out, length, periodic, alpha, 0.46);
}
Result<void> kaiser_beta(Tensor& out, int64_t length, bool periodic, double beta) {
  return fill(out, kaiser(window_of(out, length, periodic), beta));
}

// clang-format off
constexpr OpDef kWindowsOps[] = {
    op<"aten::hann_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", window_meta<>, by_length<hann>>,
    op<"aten::hann_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", window_meta<bool>, by_periodicity<hann>>,
    op<"aten::hamming_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", window_meta<>, by_length<hamming>>,
    op<"aten::hamming_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", window_meta<bool>, by_periodicity<hamming>>,
    op<"aten::hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", window_meta<bool, double>, hamming_alpha>,
    op<"aten::hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", window_meta<bool, double, double>, hamming_alpha_beta>,
    op<"aten::bartlett_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", window_meta<>, by_length<bartlett>>,
    op<"aten::bartlett_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", window_meta<bool>, by_periodicity<bartlett>>,
    op<"aten::blackman_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", window_meta<>, by_length<blackman>>,
    op<"aten::blackman_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", window_meta<bool>, by_periodicity<blackman>>,
    op<"aten::kaiser_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", window_meta<>, by_length<kaiser_of_12>>,
    op<"aten::kaiser_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", window_meta<bool>, by_periodicity<kaiser_of_12>>,
    op<"aten::kaiser_window.beta(int window_length, bool periodic, float beta, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", window_meta<bool, double>, kaiser_beta>,
};
// clang-format on

}  // namespace

std::span<const OpDef> windows_ops() { return kWindowsOps; }

}  // namespace pt2::ops
