// Leaky ReLU with random slopes in training.
#include "base/text.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

using OptionalGenerator = std::optional<Generator>;
using TensorPair = std::tuple<Tensor, Tensor>;

Result<void> check_bounds(const Scalar& lower, const Scalar& upper) {
  if (lower.to_double() <= upper.to_double()) return {};
  return operator_error("lower: found " + print_float(lower.to_double()) +
                        ", expected at most upper, " + print_float(upper.to_double()));
}

double mean_slope(const Scalar& lower, const Scalar& upper) {
  return (lower.to_double() + upper.to_double()) / 2;
}

// Draws one number for each element that is not positive, in row-major order. Returns the result
// and the slopes (`noise`) (ATen/native/Activation.cpp _rrelu_with_noise_train).
Result<TensorPair> train(Context& context, const Tensor& self, double lower, double upper) {
  PT2_TRY_VOID(check_floating(self, "self"));
  PT2_TRY(Tensor out, allocate(Meta::like(self)));
  PT2_TRY(Tensor noise, allocate(Meta::like(self)));
  const Input<double> x(self);
  std::vector<double> slopes(static_cast<size_t>(x.size()), 1.0);
  for (int64_t i = 0; i < x.size(); ++i)
    if (x[i] <= 0)
      slopes[static_cast<size_t>(i)] = context.random().uniform() * (upper - lower) + lower;
  store_elements<double>(slopes.data(), x.size(), noise.dtype(), 1, noise.raw_data());
  // Slopes are rounded before use.
  const Input<double> rounded(noise);
  Output<double> result(out);
  for (int64_t i = 0; i < x.size(); ++i) result[i] = x[i] <= 0 ? x[i] * rounded[i] : x[i];
  return TensorPair{out, noise};
}

Result<Tensor> leaky(const Tensor& self, const Scalar& lower, const Scalar& upper) {
  return apply(aten<"leaky_relu.default">, {self, mean_slope(lower, upper)});
}

// ATen/native/Activation.cpp rrelu.
Result<Tensor> rrelu_formula(Emitter& e, const Tensor& self, const Scalar& lower,
                             const Scalar& upper, bool training, OptionalGenerator) {
  return e(aten<"rrelu_with_noise_functional.default">,
           {self, e(aten<"empty_like.default">, {self}), lower, upper, training, Value()});
}

// Writes the slopes into `noise`, only if `training`.
Result<Tensor> rrelu_with_noise(Context& context, const Tensor& self, Tensor noise,
                                const Scalar& lower, const Scalar& upper, bool training,
                                OptionalGenerator) {
  PT2_TRY_VOID(check_bounds(lower, upper));
  PT2_TRY_VOID(check_sizes(noise, self.sizes(), "noise"));
  if (!training) return leaky(self, lower, upper);
  PT2_TRY(auto parts, train(context, self, lower.to_double(), upper.to_double()));
  copy_elements(noise, std::get<1>(parts));
  return std::move(std::get<0>(parts));
}
Result<Tensor> rrelu(Context& context, const Tensor& self, const Scalar& lower, const Scalar& upper,
                     bool training, OptionalGenerator generator) {
  PT2_TRY(Tensor noise, allocate(Meta::like(self)));
  return rrelu_with_noise(context, self, std::move(noise), lower, upper, training, generator);
}
Result<Tensor> rrelu_with_noise_in_place(Context& context, Tensor self, const Tensor& noise,
                                         const Scalar& lower, const Scalar& upper, bool training,
                                         OptionalGenerator generator) {
  PT2_TRY(const Tensor out,
          rrelu_with_noise(context, self, noise, lower, upper, training, generator));
  copy_elements(self, out);
  return self;
}
Result<std::array<Meta, 2>> rrelu_functional_meta(const Tensor& self, const Tensor& noise,
                                                  const Scalar&, const Scalar&, bool,
                                                  OptionalGenerator) {
  return std::array{Meta::like(self), Meta::like(noise)};
}
Result<TensorPair> rrelu_with_noise_functional(Context& context, const Tensor& self,
                                               const Tensor& noise, const Scalar& lower,
                                               const Scalar& upper, bool training,
                                               OptionalGenerator generator) {
  Tensor written = noise.clone();
  PT2_TRY(Tensor out, rrelu_with_noise(context, self, written, lower, upper, training, generator));
  return TensorPair{std::move(out), std::move(written)};
}

Result<Tensor> rrelu_backward(Emitter& e, const Tensor& grad_output, const Tensor& self,
                              const Tensor& noise, const Scalar& lower, const Scalar& upper,
                              bool training, bool self_is_result) {
  constexpr double kNarrow = 1e-6;
  if (training && upper.to_double() - lower.to_double() > kNarrow)
    return e(aten<"mul.Tensor">, {noise, grad_output});
  return e(aten<"leaky_relu_backward.default">,
           {grad_output, self, mean_slope(lower, upper), self_is_result});
}

// clang-format off
constexpr OpDef kRreluOps[] = {
    op<"aten::rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor", rrelu, rrelu_formula>.with({.draws = Facts::Draws::by_elements}),
    composed<"aten::rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor", like_first, rrelu_with_noise>.with({.functional_form = "rrelu_with_noise_functional.default"}),
    composed<"aten::rrelu_with_noise_(Tensor(a!) self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor(a!)", like_first, rrelu_with_noise_in_place>,
    composed<"aten::rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> (Tensor, Tensor noise_out)", rrelu_functional_meta, rrelu_with_noise_functional>,
    kept<"aten::rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training, bool self_is_result) -> Tensor", rrelu_backward>,
};
// clang-format on

}  // namespace

std::span<const OpDef> rrelu_ops() { return kRreluOps; }

}  // namespace pt2::ops
