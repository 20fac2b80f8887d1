// Gradients of pointwise operators and of views. Joint graphs call them.
#include <numbers>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/pointwise/copying.h"
#include "ops/pointwise/pointwise.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

// In PyTorch's graphs the dtypes of the gradients agree; promotion covers all other calls.

template <class C>
C conjugate_of(C x) {
  if constexpr (kIsComplex<C>)
    return std::conj(x);
  else
    return x;
}
constexpr auto kSigmoidGradient = []<class C>(C grad, C y) {
  if constexpr (!kIsComplex<C>) return grad * (C(1) - y) * y;
  return times(grad, conjugate_of(times(C(1) - y, y)));
};
constexpr auto kTanhGradient = []<class C>(C grad, C y) {
  return times(grad, conjugate_of(C(1) - times(y, y)));
};
constexpr auto kSiluGradient = []<class C>(C grad, C x) {
  const C sigmoid = C(1) / (C(1) + std::exp(-x));
  return grad * sigmoid * (C(1) + x * (C(1) - sigmoid));
};
constexpr auto kHardsigmoidGradient = []<class C>(C grad, C x) {
  return x > C(-3) && x < C(3) ? grad / C(6) : C(0);
};
constexpr auto kHardswishGradient = []<class C>(C grad, C x) {
  if (x <= C(-3)) return C(0);
  return x >= C(3) ? grad : grad * (x / C(3) + C(0.5));
};
// PyTorch's half-float kernel passes the gradient where the input is NaN.
constexpr auto kHalfHardswishGradient = []<class C>(C grad, C x) {
  return is_nan(x) ? grad : kHardswishGradient(grad, x);
};
constexpr auto kMishGradient = []<class C>(C grad, C x) {
  const C sigmoid = C(1) / (C(1) + std::exp(-x));
  const C tanh = std::tanh(std::log1p(std::exp(x)));
  return grad * (tanh + x * sigmoid * (C(1) - tanh * tanh));
};
constexpr auto kGeluGradient = []<class C>(C grad, C x) {
  const C cdf = C(0.5) * (C(1) + std::erf(x * C(std::numbers::sqrt2 / 2)));
  const C pdf = std::exp(C(-0.5) * x * x) * C(std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2);
  return grad * (cdf + x * pdf);
};
constexpr auto kGeluTanhGradient = []<class C>(C grad, C x) {
  constexpr double kBeta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const C tanh = std::tanh(C(kBeta) * (x + C(0.044715) * x * x * x));
  const C slope = (C(1) - tanh * tanh) * C(kBeta) * (C(1) + C(3 * 0.044715) * x * x);
  return grad * (C(0.5) * (C(1) + tanh) + C(0.5) * x * slope);
};
template <const auto& F>
void fraction_gradient(Tensor& out, const Tensor& grad, const Tensor& other) {
  with_fraction_compute_type(out.dtype(),
                             [&]<class C>() { elementwise<C>(out, out.dtype(), F, grad, other); });
}

void hardswish_backward(Tensor& out, const Tensor& grad, const Tensor& self) {
  if (dtype_size(out.dtype()) == 2)
    float_function<kHalfHardswishGradient>(out, grad, self);
  else
    float_function<kHardswishGradient>(out, grad, self);
}

Result<Meta> gelu_backward_meta(const Tensor& grad, const Tensor& self,
                                const std::string& approximate) {
  if (approximate != "none" && approximate != "tanh")
    return operator_error("found approximate '" + approximate + "', expected 'none' or 'tanh'");
  return strict_float_promoted(grad, self);
}
void gelu_backward(Tensor& out, const Tensor& grad, const Tensor& self,
                   const std::string& approximate) {
  if (approximate == "tanh")
    float_function<kGeluTanhGradient>(out, grad, self);
  else
    float_function<kGeluGradient>(out, grad, self);
}

Result<Meta> elu_backward_meta(const Tensor& grad, const Scalar& alpha, const Scalar& scale,
                               const Scalar& input_scale, bool is_result,
                               const Tensor& self_or_result) {
  if (is_result && alpha.to_double() < 0)
    return operator_error(
        "alpha: found a negative number, expected 0 or more: the input cannot be told from the "
        "result");
  return with_numbers(strict_float_promoted(grad, self_or_result), {alpha, scale, input_scale});
}
void elu_backward(Tensor& out, const Tensor& grad, const Scalar& alpha, const Scalar& scale,
                  const Scalar& input_scale, bool is_result, const Tensor& self_or_result) {
  const double positive = scale.to_double(), negative = alpha.to_double() * positive;
  map_floats(
      out,
      [=, input = input_scale.to_double()]<class C>(C g, C x) {
        if (x > C(0)) return g * C(positive);
        return is_result ? g * C(input) * (x + C(negative))
                         : g * C(input) * C(negative) * std::exp(x * C(input));
      },
      grad, self_or_result);
}

void hardtanh_backward(Tensor& out, const Tensor& grad, const Tensor& self, const Scalar& min_val,
                       const Scalar& max_val) {
  const double low = min_val.to_double();
  const double high = max_val.to_double();
  map_floats(
      out,
      [=]<class C>(C g, C x) {
        return x <= static_cast<C>(low) || x >= static_cast<C>(high) ? C(0) : g;
      },
      grad, self);
}

Result<Meta> leaky_relu_backward_meta(const Tensor& grad, const Tensor& self, const Scalar& slope,
                                      bool self_is_result) {
  if (self_is_result && slope.to_double() < 0)
    return operator_error(
        "negative_slope: found a negative number, expected 0 or more: the input cannot be told "
        "from the result");
  return with_numbers(strict_float_promoted(self, grad),
                      {slope});  // self's strides take precedence
}
void leaky_relu_backward(Tensor& out, const Tensor& grad, const Tensor& self, const Scalar& slope) {
  const double factor = slope.to_double();
  map_floats(
      out, [=]<class C>(C g, C x) { return x > C(0) ? g : g * static_cast<C>(factor); }, grad,
      self);
}

Result<Meta> threshold_backward_meta(const Tensor& grad, const Tensor& self,
                                     const Scalar& threshold) {
  return with_numbers(real_number_promoted(self, grad), {threshold});
}
void threshold_backward(Tensor& out, const Tensor& grad, const Tensor& self,
                        const Scalar& threshold) {
  with_real_compute_type(out.dtype(), [&]<class C>() {
    const C limit = scalar_as<C>(threshold);
    elementwise<C>(
        out, out.dtype(), [=](C g, C x) { return x <= limit ? C(0) : g; }, grad, self);
  });
}

void softplus_backward(Tensor& out, const Tensor& grad, const Tensor& self, const Scalar& beta,
                       const Scalar& threshold) {
  map_floats(
      out,
      [slope = beta.to_double(), limit = threshold.to_double()]<class C>(C g, C x) {
        const C scaled = x * C(slope), z = std::exp(scaled);
        return scaled > C(limit) ? g : g * z / (z + C(1));
      },
      grad, self);
}

void log_sigmoid_backward(Tensor& out, const Tensor& grad, const Tensor& self) {
  map_floats(
      out, []<class C>(C g, C x) { return g / (C(1) + std::exp(x)); }, grad, self);
}

Result<Meta> shrink_backward_meta(const Tensor& grad, const Tensor& self, const Scalar& lambd) {
  PT2_TRY(Meta meta, strict_float_promoted(grad, self));
  PT2_TRY_VOID(expect_representable(lambd, meta.dtype));
  return meta;
}
void shrink_backward(Tensor& out, const Tensor& grad, const Tensor& self, const Scalar& lambd) {
  map_floats(
      out,
      [limit = as_stored(out.dtype(), lambd.to_double())]<class C>(C g, C x) {
        return x >= C(-limit) && x <= C(limit) ? C(0) : g;
      },
      grad, self);
}

// Without eps, the gradient outside [0, 1] is NaN. With eps, it is zero where the input was
// clamped.
void logit_backward(Tensor& out, const Tensor& grad, const Tensor& self,
                    const std::optional<double>& eps) {
  with_float_compute_type(out.dtype(), [&]<class C>() {
    const C low = static_cast<C>(eps.value_or(0));
    const C high = C(1) - low;
    const C outside = eps ? C(0) : std::numeric_limits<C>::quiet_NaN();
    elementwise<C>(
        out, out.dtype(),
        [=](C g, C x) {
          if (x < low || x > high) return outside;
          return x == C(0) || x == C(1) ? g * std::numeric_limits<C>::infinity()
                                        : g / (x * (C(1) - x));
        },
        grad, self);
  });
}

using TwoGradients = std::tuple<Tensor, Tensor>;

// Returns the gradients of self and of the weight. The latter is not yet summed over broadcast
// dims.
Result<TwoGradients> prelu_backward(Emitter& e, const Tensor& grad, const Tensor& self,
                                    const Tensor& weight) {
  PT2_TRY(const Tensor positive, e(aten<"gt.Scalar">, {self, 0}));
  const auto sloped = e(aten<"mul.Tensor">, {weight, grad});
  PT2_TRY(Tensor of_self, e(aten<"where.self">, {positive, grad, sloped}));
  const auto product = e(aten<"mul.Tensor">, {self, grad});
  PT2_TRY(Tensor of_weight, e(aten<"where.ScalarSelf">, {positive, 0, product}));
  return TwoGradients{std::move(of_self), std::move(of_weight)};
}

Result<Tensor> glu_backward(Emitter& e, const Tensor& grad, const Tensor& self, int64_t dim) {
  PT2_TRY_VOID(check_rank_at_least(self, 1, "self"));
  PT2_TRY(const int64_t axis, wrap_dim(dim, self.dim()));
  if (self.size(axis) % 2 != 0)
    return operator_error("self: found " + self.type_text() + ", expected an even size of dim " +
                          std::to_string(axis));
  const int64_t half = self.size(axis) / 2;
  PT2_TRY(const Tensor first, e(aten<"narrow.default">, {self, axis, 0, half}));
  PT2_TRY(const Tensor second, e(aten<"narrow.default">, {self, axis, half, half}));
  PT2_TRY_VOID(check_sizes(grad, first.sizes(), "grad_output"));
  PT2_TRY(const Tensor gate, e(aten<"sigmoid.default">, {second}));
  PT2_TRY(const Tensor of_first, e(aten<"mul.Tensor">, {gate, grad}));
  const auto slope = e(aten<"sigmoid_backward.default">, {grad, gate});
  PT2_TRY(const Tensor of_second, e(aten<"mul.Tensor">, {slope, first}));
  const auto out = e(aten<"cat.default">, {Value::List{of_first, of_second}, axis});
  return e(aten<"contiguous.default">, {out});  // row-major for any memory format of self
}

// --- Views: zeros, with the gradient, which may broadcast, in the elements of the view

Result<Meta> of_input_sizes(const Tensor& grad, const Sizes& input_sizes) {
  return Meta(grad.dtype(), input_sizes);
}
template <class View>
Result<Tensor> scattered(const Tensor& grad, const Sizes& input_sizes, View&& view) {
  PT2_TRY(Tensor out, allocate({grad.dtype(), input_sizes}));
  PT2_TRY(Tensor target, view(out));
  PT2_TRY_VOID(check_broadcasts(grad.sizes(), target.sizes(), "grad_output"));
  copy_elements(target, grad);
  return out;
}
Result<Tensor> select_backward(const Tensor& grad, const Sizes& input_sizes, int64_t dim,
                               int64_t index) {
  return scattered(grad, input_sizes, [&](const Tensor& out) { return select(out, dim, index); });
}
Result<Tensor> slice_backward(const Tensor& grad, const Sizes& input_sizes, int64_t dim,
                              int64_t start, int64_t end, int64_t step) {
  return scattered(grad, input_sizes,
                   [&](const Tensor& out) { return slice(out, dim, start, end, step); });
}
Result<Tensor> diagonal_backward(const Tensor& grad, const Sizes& input_sizes, int64_t offset,
                                 int64_t dim1, int64_t dim2) {
  return scattered(grad, input_sizes,
                   [&](const Tensor& out) { return diagonal(out, offset, dim1, dim2); });
}
void add_elements(Tensor& out, const Tensor& a, const Tensor& b) {
  with_compute_type(out.dtype(),
                    [&]<class C>() { elementwise<C>(out, out.dtype(), plus<C>, a, b); });
}
// Gradients of overlapping windows are added.
Result<Tensor> unfold_backward(const Tensor& grad, const Sizes& input_sizes, int64_t dim,
                               int64_t size, int64_t step) {
  PT2_TRY(Tensor out, allocate({grad.dtype(), input_sizes}));
  PT2_TRY(const Tensor windows, unfold(out, dim, size, step));
  PT2_TRY(const Tensor whole, expand(grad, windows.sizes()));
  // Iterates over windows if there are fewer windows than elements per window, else over the
  // elements of a window. The elements with one index in all windows are `step` apart. No element
  // is thus written twice in one pass.
  PT2_TRY(const int64_t along, wrap_dim(dim, out.dim()));
  const bool by_window = out.dim() > 0 && windows.size(along) < size;
  for (int64_t i = 0; i < (by_window ? windows.size(along) : size); ++i) {
    PT2_TRY(Tensor target, select(windows, by_window ? along : -1, i));
    PT2_TRY(const Tensor part, select(whole, by_window ? along : -1, i));
    PT2_TRY(const Tensor sum, (compute<promoted, add_elements>(target, part)));
    copy_elements(target, sum);
  }
  return out;
}

// For max, median and similar reductions: the gradient goes to the element that was selected.
Result<Tensor> value_selecting_reduction_backward(Emitter& e, const Tensor& grad, int64_t dim,
                                                  const Tensor& indices, const Sizes& sizes,
                                                  bool keepdim) {
  const bool grows = !keepdim && !sizes.empty();
  const auto like_self = [&](const Tensor& tensor) {
    return grows ? e(aten<"unsqueeze.default">, {tensor, dim}) : Result<Tensor>(tensor);
  };
  const auto values = like_self(grad);
  const auto places = like_self(indices);
  return e(aten<"scatter.src">, {e(aten<"new_zeros.default">, {grad, sizes}), dim, places, values});
}

// ATen/native/Activation.cpp math_silu_backward, math_mish_backward.
Result<Tensor> silu_backward_formula(Emitter& e, const Tensor& grad_output, const Tensor& self) {
  PT2_TRY_VOID(strict_fraction_promoted(grad_output, self));
  const auto sigmoid = e(aten<"sigmoid.default">, {self});
  const auto rest = e(aten<"rsub.Scalar">, {sigmoid, 1});
  const auto slope = e(aten<"add.Scalar">, {e(aten<"mul.Tensor">, {self, rest}), 1});
  return e(aten<"mul.Tensor">, {grad_output, e(aten<"mul.Tensor">, {sigmoid, slope})});
}
Result<Tensor> mish_backward_formula(Emitter& e, const Tensor& grad_output, const Tensor& self) {
  PT2_TRY_VOID(strict_float_promoted(grad_output, self));
  const auto tanh = e(aten<"tanh.default">, {e(aten<"softplus.default">, {self})});
  const auto sigmoid = e(aten<"sigmoid.default">, {self});
  const auto rest = e(aten<"rsub.Scalar">, {e(aten<"mul.Tensor">, {tanh, tanh}), 1});
  const auto slope = e(aten<"mul.Tensor">, {e(aten<"mul.Tensor">, {self, sigmoid}), rest});
  const auto out = e(aten<"mul.Tensor">, {grad_output, e(aten<"add.Tensor">, {tanh, slope})});
  return converted(e, out, self.dtype());
}
// The result has the dtype of self (ATen/native/Activation.cpp mish_backward).
Result<Meta> mish_backward_meta(const Tensor& grad, const Tensor& self) {
  PT2_TRY_VOID(check_floating(self, "self"));
  PT2_TRY(Meta meta, strict_float_promoted(grad, self));
  meta.dtype = self.dtype();
  return meta;
}
void mish_backward(Tensor& out, const Tensor& grad, const Tensor& self) {
  const Dtype common = Promotion().add(grad).add(self).result();
  with_float_compute_type(
      common, [&]<class C>() { elementwise<C>(out, common, kMishGradient, grad, self); });
}

// The gradient of gelu for graphs that differentiate it again (ATen/native/Activation.cpp).
Result<Tensor> differentiable_gelu_backward(Emitter& e, const Tensor& grad, const Tensor& self) {
  PT2_TRY_VOID(strict_float_promoted(grad, self));
  constexpr double kHalfRoot = std::numbers::sqrt2 / 2;
  const auto scaled = e(aten<"mul.Scalar">, {self, kHalfRoot});
  const auto sum = e(aten<"add.Scalar">, {e(aten<"erf.default">, {scaled}), 1});
  const auto cdf = e(aten<"mul.Scalar">, {sum, 0.5});
  const auto square = e(aten<"mul.Tensor">, {e(aten<"mul.Scalar">, {self, -0.5}), self});
  const auto pdf = e(aten<"exp.default">, {square});
  const auto slope =
      e(aten<"addcmul.default">, {cdf, self, pdf, std::numbers::inv_sqrtpi * kHalfRoot});
  return e(aten<"mul.Tensor">, {slope, grad});
}

// clang-format off
constexpr OpDef kPointwiseBackwardOps[] = {
    op<"aten::sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor", strict_fraction_promoted, fraction_gradient<kSigmoidGradient>>,
    op<"aten::tanh_backward(Tensor grad_output, Tensor output) -> Tensor", strict_fraction_promoted, fraction_gradient<kTanhGradient>>,
    op<"aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor", strict_fraction_promoted, fraction_gradient<kSiluGradient>, silu_backward_formula>,
    op<"aten::mish_backward(Tensor grad_output, Tensor self) -> Tensor", mish_backward_meta, mish_backward, mish_backward_formula>,
    op<"aten::hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor", strict_float_promoted, float_function<kHardsigmoidGradient>>,
    op<"aten::hardswish_backward(Tensor grad_output, Tensor self) -> Tensor", strict_float_promoted, hardswish_backward>,
    op<"aten::gelu_backward(Tensor grad_output, Tensor self, *, str approximate=\"none\") -> Tensor", gelu_backward_meta, gelu_backward>,
    op<"aten::infinitely_differentiable_gelu_backward(Tensor grad, Tensor self) -> Tensor", differentiable_gelu_backward>.with({.slope = Slope::linear, .linear_in = "grad"}),
    op<"aten::elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor", elu_backward_meta, elu_backward>,
    op<"aten::hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor", two_and_numbers<strict_float_promoted, Scalar, Scalar>, hardtanh_backward>,
    op<"aten::leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor", leaky_relu_backward_meta, leaky_relu_backward>,
    op<"aten::threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor", threshold_backward_meta, threshold_backward>,
    op<"aten::softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor", two_and_numbers<strict_float_promoted, Scalar, Scalar>, softplus_backward>,
    op<"aten::hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor", shrink_backward_meta, shrink_backward>,
    op<"aten::softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor", shrink_backward_meta, shrink_backward>,
    op<"aten::logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor", strict_float_promoted, logit_backward>,
    op<"aten::_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)", prelu_backward>,
    op<"aten::glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor", glu_backward>,
    op<"aten::log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor", strict_float_promoted, log_sigmoid_backward>,
    composed<"aten::select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor", of_input_sizes, select_backward>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    composed<"aten::slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor", of_input_sizes, slice_backward>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    composed<"aten::diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor", of_input_sizes, diagonal_backward>.with({.slope = Slope::linear, .linear_in = "grad_output"}),
    op<"aten::value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes, bool keepdim) -> Tensor", value_selecting_reduction_backward>.with({.slope = Slope::linear, .linear_in = "grad"}),
    composed<"aten::unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor", of_input_sizes, unfold_backward>.with({.slope = Slope::linear, .linear_in = "grad_in"}),
};
// clang-format on

}  // namespace

std::span<const OpDef> pointwise_backward_ops() { return kPointwiseBackwardOps; }

}  // namespace pt2::ops
