// Activation functions.
#include <numbers>

#include "base/text.h"
#include "kernels/pointwise.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/pointwise/copying.h"
#include "ops/pointwise/pointwise.h"
#include "ops/pointwise/unsigned_order.h"

namespace pt2::ops {
namespace {

// clang-format off
constexpr auto kRelu = []<class C>(C x) { return x < C(0) ? C(0) : x; };
constexpr auto kRelu6 = []<class C>(C x) { return smaller(larger(x, C(0)), C(6)); };
constexpr auto kSilu = []<class C>(C x) {
  if constexpr (kIsComplex<C>)
    return complex_quotient(x, C(1) + std::exp(-x));
  else
    return x / (C(1) + std::exp(-x));
};
constexpr auto kHardsigmoid = []<class C>(C x) { return smaller(larger(x + C(3), C(0)), C(6)) / C(6); };
constexpr auto kHardswish = []<class C>(C x) { return x * smaller(larger(x + C(3), C(0)), C(6)) / C(6); };
constexpr auto kMish = []<class C>(C x) { return x * std::tanh(std::log1p(std::exp(x))); };
constexpr auto kLogSigmoid = []<class C>(C x) { return smaller(x, C(0)) - std::log1p(std::exp(-std::fabs(x))); };
constexpr auto kGelu = []<class C>(C x) { return C(0.5) * x * (C(1) + std::erf(x * C(std::numbers::sqrt2 / 2))); };
// clang-format on
constexpr auto kGeluTanh = []<class C>(C x) {
  const C inner = C(std::numbers::sqrt2 * std::numbers::inv_sqrtpi) * (x + C(0.044715) * x * x * x);
  return C(0.5) * x * (C(1) + std::tanh(inner));
};

// elu's factors for the negative side, for the positive side, and for the input of the exponential.
struct EluSlopes {
  double negative;
  double positive;
  double input;
};
void elu_with(Tensor& out, const Tensor& self, const EluSlopes& slopes) {
  map_floats(
      out,
      [=]<class C>(C x) {
        return x < C(0) ? std::expm1(x * C(slopes.input)) * C(slopes.negative)
                        : x * C(slopes.positive);
      },
      self);
}
void elu(Tensor& out, const Tensor& self, const Scalar& alpha, const Scalar& scale,
         const Scalar& input_scale) {
  elu_with(out, self,
           {alpha.to_double() * scale.to_double(), scale.to_double(), input_scale.to_double()});
}
Result<Meta> celu_meta(const Tensor& self, const Scalar& alpha) {
  if (alpha.to_double() == 0)
    return operator_error("found alpha 0, expected a number to divide by");
  return with_numbers(strict_float_as_self(self), {alpha, 1 / alpha.to_double()});
}
void celu(Tensor& out, const Tensor& self, const Scalar& alpha) {
  elu_with(out, self, {alpha.to_double(), 1, 1 / alpha.to_double()});
}
constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;
void selu(Tensor& out, const Tensor& self) {
  elu_with(out, self, {kSeluAlpha * kSeluScale, kSeluScale, 1});
}

Result<Meta> gelu_meta(const Tensor& self, const std::string& approximate) {
  if (approximate != "none" && approximate != "tanh")
    return operator_error("found approximate '" + approximate + "', expected 'none' or 'tanh'");
  return strict_float_as_self(self);
}
// Only half floats use these kernels: rounding hides their differences from the C library's
// functions.
bool activate_halves(kernels::Activation activation, Tensor& out, const Tensor& self) {
  if (!is_half(self.dtype())) return false;
  const std::array operands{self};
  const auto loop = [](void* chosen, float* to, const float* const* from, int64_t count) {
    kernels::apply(*static_cast<kernels::Activation*>(chosen), from[0], to, count);
  };
  run_chunks<float>(out, out.dtype(), operands, loop, &activation);
  return true;
}

void gelu(Tensor& out, const Tensor& self, const std::string& approximate) {
  using kernels::Activation;
  if (activate_halves(approximate == "tanh" ? Activation::gelu_tanh : Activation::gelu, out, self))
    return;
  if (approximate == "tanh")
    float_unary<kGeluTanh>(out, self);
  else
    float_unary<kGelu>(out, self);
}

void leaky_relu(Tensor& out, const Tensor& self, const Scalar& negative_slope) {
  map_floats(
      out,
      [slope = negative_slope.to_double()]<class C>(C x) { return x > C(0) ? x : x * C(slope); },
      self);
}

void softplus(Tensor& out, const Tensor& self, const Scalar& beta, const Scalar& threshold) {
  map_floats(
      out,
      [slope = beta.to_double(), limit = threshold.to_double()]<class C>(C x) {
        const C scaled = x * C(slope);
        return scaled > C(limit) ? x : std::log1p(std::exp(scaled)) / C(slope);
      },
      self);
}

Result<Meta> shrink_meta(const Tensor& self, const Scalar& lambd) {
  const double most = largest_finite(self.dtype());
  if (!(lambd.to_double() >= 0 && lambd.to_double() <= most))
    return operator_error("lambd: found " + print_float(lambd.to_double()) +
                          ", expected a number from 0 to the largest of " +
                          std::string(dtype_name(self.dtype())));
  return strict_float_as_self(self);
}
void softshrink(Tensor& out, const Tensor& self, const Scalar& lambd) {
  map_floats(
      out,
      [lambda = as_stored(out.dtype(), lambd.to_double())]<class C>(C x) {
        const C limit = C(lambda);
        return x > limit ? x - limit : (x < -limit ? x + limit : x * C(0));
      },
      self);
}
Result<Meta> hardshrink_meta(const Tensor& self, const Scalar& lambd) {
  PT2_TRY_VOID(expect_representable(lambd, self.dtype()));
  return strict_float_as_self(self);
}
void hardshrink(Tensor& out, const Tensor& self, const Scalar& lambd) {
  map_floats(
      out,
      [limit = as_stored(out.dtype(), lambd.to_double())]<class C>(C x) {
        return x >= C(-limit) && x <= C(limit) ? C(0) : x;
      },
      self);
}

template <const auto& F>
void clipped(Tensor& out, const Tensor& self) {
  with_real_compute_type(out.dtype(),
                         [&]<class C>() { ordered_elementwise<C>(out, out.dtype(), F, self); });
}

Result<Meta> hardtanh_meta(const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  PT2_TRY(Meta meta, real_number_as_self(self));
  const bool is_whole = dtype_category(self.dtype()) == DtypeCategory::integer;
  for (const Scalar& bound : {min_val, max_val})
    PT2_TRY_VOID(expect_representable(bound, is_whole ? Dtype::int64 : self.dtype()));
  return meta;
}
void hardtanh(Tensor& out, const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  with_real_compute_type(out.dtype(), [&]<class C>() {
    const C low = scalar_as<C>(min_val);
    const C high = scalar_as<C>(max_val);
    ordered_elementwise<C>(
        out, out.dtype(),
        [=]<class X>(X x) { return smaller(larger(x, static_cast<X>(low)), static_cast<X>(high)); },
        self);
  });
}

Result<Meta> threshold_meta(const Tensor& self, const Scalar& threshold, const Scalar& value) {
  PT2_TRY(Meta meta, real_number_as_self(self));
  PT2_TRY_VOID(expect_representable(threshold, wide_dtype(self.dtype())));
  PT2_TRY_VOID(expect_representable(value, self.dtype()));
  return meta;
}
// Both numbers are converted to self's dtype first: -1 is 255 for uint8.
void threshold(Tensor& out, const Tensor& self, const Scalar& threshold, const Scalar& value) {
  const Dtype common = wide_dtype(self.dtype());
  const Tensor limit = scalar_tensor(threshold, common);
  const Tensor below = scalar_tensor(value, common);
  with_real_compute_type(out.dtype(), [&]<class C>() {
    elementwise<C>(
        out, common, [](C x, C low, C replacement) { return x <= low ? replacement : x; }, self,
        limit, below);
  });
}

// Returns the weight as a tensor that broadcasts with self: one value, or one per channel (dim 1).
Result<Tensor> channel_weight(const Tensor& self, const Tensor& weight) {
  if (weight.numel() == 1) return weight.with_view({}, {}, weight.storage_offset());
  const int64_t channels = self.dim() > 1 ? self.size(1) : 1;
  if (weight.dim() != 1 || self.dim() == 0 || weight.numel() != channels)
    return operator_error("found a weight of sizes " + sizes_text(weight.sizes()) +
                          ", expected 1 or " + std::to_string(channels) + " elements");
  Sizes sizes(self.sizes().size(), 1);
  Sizes strides(sizes.size(), 0);
  sizes[1] = channels;
  strides[1] = weight.stride(0);
  return weight.with_view(std::move(sizes), std::move(strides), weight.storage_offset());
}
Result<Meta> prelu_meta(const Tensor& self, const Tensor& weight) {
  PT2_TRY_VOID(check_same_dtype(weight, self, "weight"));
  PT2_TRY_VOID(channel_weight(self, weight));
  return strict_float_as_self(self);
}
constexpr auto kPrelu = []<class C>(C x, C slope) { return x > C(0) ? x : x * slope; };
Result<void> prelu(Tensor& out, const Tensor& self, const Tensor& weight) {
  PT2_TRY(const Tensor slopes, channel_weight(self, weight));
  float_function<kPrelu>(out, self, slopes);
  return {};
}
Result<Meta> prelu_kernel_meta(const Tensor& self, const Tensor& weight) {
  PT2_TRY_VOID(expect_real(self.dtype()));
  return elementwise_meta(self.dtype(), {&self, &weight});
}
// The second result is a buffer for the backward pass, exp(-|x|). Both are row-major.
Result<Meta> log_sigmoid_meta(const Tensor& self) {
  PT2_TRY(Meta meta, strict_float_as_self(self));
  meta.strides.clear();
  return meta;
}
Result<std::array<Meta, 2>> log_sigmoid_forward_meta(const Tensor& self) {
  PT2_TRY(Meta output, log_sigmoid_meta(self));
  return std::array<Meta, 2>{output, output};
}
void log_sigmoid_forward(Tensor& output, Tensor& buffer, const Tensor& self) {
  float_unary<kLogSigmoid>(output, self);
  map_floats(
      buffer, [](auto x) { return std::exp(-std::fabs(x)); }, self);
}

// Returns the dim that is halved.
Result<int64_t> glu_dim(const Tensor& self, int64_t dim) {
  if (self.dim() == 0) return operator_error("found a 0-dim tensor, expected one to halve");
  PT2_TRY(const int64_t axis, wrap_dim(dim, self.dim()));
  if (self.size(axis) % 2 == 0) return axis;
  return operator_error("found size " + std::to_string(self.size(axis)) + " of dim " +
                        std::to_string(axis) + ", expected an even one");
}
Result<Tensor> glu_formula(Emitter& e, const Tensor& self, int64_t dim) {
  PT2_TRY_VOID(strict_float_as_self(self));
  PT2_TRY(const int64_t axis, glu_dim(self, dim));
  const int64_t half = self.size(axis) / 2;
  // Half floats are rounded once, at the end.
  const Dtype wide = wide_dtype(self.dtype());
  const auto part = [&](int64_t from) {
    return converted(e, e(aten<"narrow.default">, {self, axis, from, half}), wide);
  };
  const auto gate = e(aten<"sigmoid.default">, {part(half)});
  return converted(e, e(aten<"mul.Tensor">, {part(0), gate}), self.dtype());
}
Result<Tensor> relu6_formula(Emitter& e, const Tensor& self) {
  return e(aten<"hardtanh.default">, {self, 0.0, 6.0});
}
Result<Tensor> selu_formula(Emitter& e, const Tensor& self) {
  return e(aten<"elu.default">, {self, kSeluAlpha, kSeluScale, 1.0});
}
Result<Tensor> log_sigmoid_formula(Emitter& e, const Tensor& self) {
  const auto small =
      e(aten<"exp.default">, {e(aten<"neg.default">, {e(aten<"abs.default">, {self})})});
  return e(aten<"sub.Tensor">, {e(aten<"clamp.default">, {self, std::nullopt, 0.0}),
                                e(aten<"log1p.default">, {small})});
}
Result<Tensor> prelu_formula(Emitter& e, const Tensor& self, const Tensor& weight) {
  PT2_TRY_VOID(prelu_meta(self, weight));
  Sizes sizes(self.sizes().size(), 1);
  if (weight.numel() != 1) sizes[1] = weight.numel();
  const auto slope = weight.sizes() == sizes ? Result<Tensor>(weight)
                                             : e(aten<"reshape.default">, {weight, sizes});
  return e(aten<"where.self">,
           {e(aten<"gt.Scalar">, {self, 0}), self, e(aten<"mul.Tensor">, {slope, self})});
}

// Returns the dim along which glu splits x and the tangent of x.
Result<int64_t> halved_dim(const Tensor& x, const Tensor& dx, int64_t dim) {
  PT2_TRY(const int64_t wrapped, wrap_dim(dim, x.dim()));
  PT2_TRY_VOID(check_sizes(dx, x.sizes(), "dx"));
  if (x.dim() == 0 || x.size(wrapped) % 2 != 0)
    return operator_error("x: found " + x.type_text() + ", expected an even size of dim " +
                          std::to_string(dim));
  return wrapped;
}
// Returns the tangent of glu(x), from glu(x) and the tangent of x.
Result<Tensor> glu_jvp(Emitter& e, const Tensor& glu, const Tensor& x, const Tensor& dx,
                       int64_t dim) {
  PT2_TRY(const int64_t wrapped, halved_dim(x, dx, dim));
  const int64_t half = x.size(wrapped) / 2;
  PT2_TRY(const Tensor gate,
          e(aten<"sigmoid.default">, {e(aten<"narrow.default">, {x, wrapped, half, half})}));
  PT2_TRY(
      const Tensor by_value,
      e(aten<"mul.Tensor">, {e(aten<"narrow.default">, {dx, wrapped, int64_t{0}, half}), gate}));
  PT2_TRY(const Tensor by_gate, e(aten<"narrow.default">, {dx, wrapped, half, half}));
  PT2_TRY(const Tensor kept,
          e(aten<"sub.Tensor">, {by_gate, e(aten<"mul.Tensor">, {gate, by_gate})}));
  return e(aten<"add.Tensor">, {by_value, e(aten<"mul.Tensor">, {glu, kept})});
}

// Returns the tangent of the gradient of x, from that gradient and the tangents of g and x. The
// gradient is [g s, g s a (1 - s)] with s = sigmoid(b) for x = [a, b].
Result<Tensor> glu_backward_jvp(Emitter& e, const Tensor& grad_x, const Tensor& grad_glu,
                                const Tensor& x, const Tensor& dgrad_glu, const Tensor& dx,
                                int64_t dim) {
  PT2_TRY(const int64_t wrapped, halved_dim(x, dx, dim));
  PT2_TRY_VOID(check_sizes(grad_x, x.sizes(), "grad_x"));
  PT2_TRY_VOID(check_sizes(dgrad_glu, grad_glu.sizes(), "dgrad_glu"));
  const int64_t half = x.size(wrapped) / 2;
  const auto part = [&](const Tensor& whole, int64_t begin) {
    return e(aten<"narrow.default">, {whole, wrapped, begin, half});
  };
  const auto times = [&](const Result<Tensor>& a, const Result<Tensor>& b) {
    return e(aten<"mul.Tensor">, {a, b});
  };
  const auto a = part(x, 0);
  const auto da = part(dx, 0);
  const auto db = part(dx, half);
  const auto grad_a = part(grad_x, 0);
  const auto gate = e(aten<"sigmoid.default">, {part(x, half)});
  const auto closed = e(aten<"rsub.Scalar">, {gate, 1});
  const auto by_gate = times(grad_a, times(db, closed));
  const auto change_a = e(aten<"add.Tensor">, {times(dgrad_glu, gate), by_gate});
  const auto moved = e(aten<"add.Tensor">, {times(change_a, a), times(grad_a, da)});
  const auto lost = times(times(times(grad_a, a), gate), db);
  const auto change_b = times(e(aten<"sub.Tensor">, {moved, lost}), closed);
  PT2_TRY(const Tensor first, change_a);
  PT2_TRY(const Tensor second, change_b);
  return e(aten<"cat.default">, {Tensors{first, second}, wrapped});
}

// Refuses the dtypes that PyTorch refuses.
Result<void> check_add_relu(const Tensor& self) {
  PT2_TRY_VOID(check_not_complex(self, "self"));
  PT2_TRY_VOID(check_not_bool(self, "self"));
  if (dtype_category(self.dtype()) == DtypeCategory::floating && dtype_size(self.dtype()) < 4)
    return operator_error("self: found " + self.type_text() + ", expected no half floats");
  return {};
}
template <Handle Add, class Other>
Result<Tensor> add_relu(Emitter& e, const Tensor& self, const Other& other, const Scalar& alpha) {
  PT2_TRY_VOID(check_add_relu(self));
  // Clamps the sum to the finite numbers >= 0; NaN becomes 0.
  return e(aten<"relu.default">, {e(aten<"nan_to_num.default">, {e(Add, {self, other, alpha})})});
}

// clang-format off
constexpr OpDef kActivationOps[] = {
    op<"aten::celu(Tensor self, Scalar alpha=1.) -> Tensor", celu_meta, celu>,
    op<"aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", one_and_numbers<strict_float_as_self, Scalar, Scalar, Scalar>, elu>,
    op<"aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor", gelu_meta, gelu>,
    op<"aten::glu_jvp(Tensor glu, Tensor x, Tensor dx, int dim) -> Tensor", glu_jvp>.with({.slope = Slope::linear, .linear_in = "dx"}),
    op<"aten::glu_backward_jvp(Tensor grad_x, Tensor grad_glu, Tensor x, Tensor dgrad_glu, Tensor dx, int dim) -> Tensor", glu_backward_jvp>.with({.slope = Slope::linear, .linear_in = "dgrad_glu dx"}),
    op<"aten::_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", add_relu<aten<"add.Tensor">, Tensor>>,
    op<"aten::_add_relu.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", add_relu<aten<"add.Scalar">, Scalar>>,
    op<"aten::glu(Tensor self, int dim=-1) -> Tensor", glu_formula>,
    op<"aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", hardshrink_meta, hardshrink>,
    op<"aten::hardsigmoid(Tensor self) -> Tensor", strict_float_as_self, float_unary<kHardsigmoid>>,
    op<"aten::hardswish(Tensor self) -> Tensor", strict_float_as_self, float_unary<kHardswish>>,
    op<"aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", hardtanh_meta, hardtanh>,
    op<"aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", one_and_numbers<strict_float_as_self, Scalar>, leaky_relu>,
    op<"aten::log_sigmoid(Tensor self) -> Tensor", log_sigmoid_meta, float_unary<kLogSigmoid>, log_sigmoid_formula>,
    op<"aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)", log_sigmoid_forward_meta, log_sigmoid_forward>,
    op<"aten::mish(Tensor self) -> Tensor", strict_float_as_self, float_unary<kMish>>,
    op<"aten::prelu(Tensor self, Tensor weight) -> Tensor", prelu_meta, prelu, prelu_formula>.with({.autocast = AutocastRule::lower_precision}),
    op<"aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor", prelu_kernel_meta, float_function<kPrelu>>,
    op<"aten::relu(Tensor self) -> Tensor", real_number_as_self, clipped<kRelu>>,
    op<"aten::relu6(Tensor self) -> Tensor", real_number_as_self, clipped<kRelu6>, relu6_formula>,
    op<"aten::selu(Tensor self) -> Tensor", strict_float_as_self, selu, selu_formula>,
    op<"aten::silu(Tensor self) -> Tensor", strict_fraction_as_self, single_fraction_unary<kSilu>>,
    op<"aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", one_and_numbers<strict_float_as_self, Scalar, Scalar>, softplus>,
    op<"aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", shrink_meta, softshrink>,
    op<"aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", threshold_meta, threshold>,
};
// clang-format on

}  // namespace

std::span<const OpDef> activation_ops() { return kActivationOps; }

}  // namespace pt2::ops
