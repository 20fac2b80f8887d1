// Steps of optimizers on lists of parameters (ATen/native/cpu/FusedAdamKernel.cpp and its
// neighbours).
#include <array>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/pointwise/copying.h"
#include "ops/pointwise/pointwise.h"

namespace pt2::ops {
namespace {

// Common to all optimizers: the gradients are divided by a scale, and nothing changes if a gradient
// was not finite.
struct Scaling {
  const OptionalTensor& grad_scale;
  const OptionalTensor& found_inf;
};

Result<void> check_lengths(std::initializer_list<const Tensors*> lists) {
  const size_t length = (*lists.begin())->size();
  for (const Tensors* list : lists)
    if (list->size() != length)
      return operator_error("found lists of " + std::to_string(length) + " and " +
                            std::to_string(list->size()) + " items, expected equally many");
  return {};
}

// PyTorch computes half floats in float32 and rounds the results.
Result<Tensor> widened(Emitter& e, const Tensor& tensor) {
  return converted(e, tensor, wide_dtype(tensor.dtype()));
}

// Appends the new value of `before`, in the dtype of `before`.
Result<void> keep(Emitter& e, Tensors& out, const Tensor& before, const Result<Tensor>& after,
                  const Scaling& scaling) {
  const auto kept =
      scaling.found_inf
          ? e(aten<"where.self">, {e(aten<"eq.Scalar">, {*scaling.found_inf, 1}), before, after})
          : after;
  PT2_TRY(Tensor tensor, converted(e, kept, before.dtype()));
  out.push_back(std::move(tensor));
  return {};
}

// Returns the learning rate, a number or a tensor, divided by a divisor.
template <class Rate>
Result<Tensor> rate_over(Emitter& e, const Rate& rate, const Result<Tensor>& divisor) {
  if constexpr (std::is_same_v<Rate, double>)
    return e(aten<"mul.Scalar">, {e(aten<"reciprocal.default">, {divisor}), rate});
  else
    return e(aten<"div.Tensor">, {e(aten<"_to_copy.default">, {rate, Dtype::float64}), divisor});
}
template <class Rate>
Result<Tensor> times_rate(Emitter& e, const Result<Tensor>& tensor, const Rate& rate) {
  if constexpr (std::is_same_v<Rate, double>)
    return e(aten<"mul.Scalar">, {tensor, rate});
  else
    return e(aten<"mul.Tensor">, {tensor, rate});
}

// The gradient that is written back, and the gradient that is used.
struct Gradient {
  Result<Tensor> stored;
  Result<Tensor> used;
};
Gradient gradient_of(Emitter& e, const Tensor& grad, const Scaling& scaling, bool maximize) {
  const Result<Tensor> stored = scaling.grad_scale
                                    ? e(aten<"div.Tensor">, {widened(e, grad), *scaling.grad_scale})
                                    : e(aten<"clone.default">, {widened(e, grad)});
  return {stored, maximize ? e(aten<"neg.default">, {stored}) : stored};
}
// Appends copies of unchanged tensors: results of functional forms share no memory with arguments.
Result<void> keep_all(Emitter& e, Tensors& out, const Tensors& before) {
  for (const Tensor& tensor : before) {
    PT2_TRY(Tensor copy, e(aten<"clone.default">, {tensor}));
    out.push_back(std::move(copy));
  }
  return {};
}
Result<Tensor> with_decay(Emitter& e, const Result<Tensor>& grad, const Result<Tensor>& parameter,
                          double weight_decay) {
  if (weight_decay == 0) return grad;
  return e(aten<"add.Tensor">, {grad, parameter, weight_decay});
}

using AdamLists = std::tuple<Tensors, Tensors, Tensors, Tensors, Tensors>;

// With `Apart`, which is AdamW, the weight decay does not change the gradient.
template <bool Apart, class Rate>
Result<AdamLists> adam(Emitter& e, const Tensors& self, const Tensors& grads,
                       const Tensors& averages, const Tensors& squares, const Tensors& maxima,
                       const Tensors& steps, const Rate& lr, double beta1, double beta2,
                       double weight_decay, double eps, bool amsgrad, bool maximize,
                       const OptionalTensor& grad_scale, const OptionalTensor& found_inf) {
  PT2_TRY_VOID(check_lengths({&self, &grads, &averages, &squares, &steps}));
  if (amsgrad)
    PT2_TRY_VOID(check_lengths({&self, &maxima}));
  else if (!maxima.empty())
    return operator_error("found a list of maxima, expected none where amsgrad is false");
  const Scaling scaling{grad_scale, found_inf};
  // 1 - beta ^ step, in float64.
  const auto correction = [&](double beta, const Result<Tensor>& step) {
    return e(aten<"rsub.Scalar">, {e(aten<"pow.Scalar">, {beta, step}), 1});
  };
  AdamLists out;
  auto& [parameters, gradients, new_averages, new_squares, new_maxima] = out;
  for (size_t i = 0; i < self.size(); ++i) {
    const Gradient gradient = gradient_of(e, grads[i], scaling, maximize);
    const auto step = e(aten<"_to_copy.default">, {steps[i], Dtype::float64});
    Result<Tensor> parameter = widened(e, self[i]);
    Result<Tensor> grad = gradient.used;
    if (Apart && weight_decay != 0) {
      const auto lost = e(aten<"mul.Scalar">, {parameter, weight_decay});
      parameter = e(aten<"sub.Tensor">, {parameter, times_rate(e, lost, lr)});
    } else {
      grad = with_decay(e, grad, parameter, weight_decay);
    }
    const auto average = e(aten<"lerp.Scalar">, {widened(e, averages[i]), grad, 1 - beta1});
    const auto square =
        e(aten<"add.Tensor">,
          {e(aten<"mul.Scalar">, {widened(e, squares[i]), beta2}),
           e(aten<"mul.Tensor">, {e(aten<"mul.Scalar">, {grad, 1 - beta2}), grad})});
    const auto largest =
        amsgrad ? e(aten<"maximum.default">, {widened(e, maxima[i]), square}) : square;
    const auto root = e(aten<"sqrt.default">, {largest});
    const auto scale = e(aten<"sqrt.default">, {correction(beta2, step)});
    const auto width = e(aten<"add.Scalar">, {e(aten<"div.Tensor">, {root, scale}), eps});
    const auto rate = rate_over(e, lr, correction(beta1, step));
    const auto change = e(aten<"div.Tensor">, {e(aten<"mul.Tensor">, {average, rate}), width});
    PT2_TRY_VOID(keep(e, parameters, self[i], e(aten<"sub.Tensor">, {parameter, change}), scaling));
    PT2_TRY_VOID(keep(e, gradients, grads[i], gradient.stored, scaling));
    PT2_TRY_VOID(keep(e, new_averages, averages[i], average, scaling));
    PT2_TRY_VOID(keep(e, new_squares, squares[i], square, scaling));
    if (amsgrad) PT2_TRY_VOID(keep(e, new_maxima, maxima[i], largest, scaling));
  }
  return out;
}

using SgdLists = std::tuple<Tensors, Tensors, Tensors>;

template <class Rate>
Result<SgdLists> sgd(Emitter& e, const Tensors& self, const Tensors& grads, const Tensors& buffers,
                     double weight_decay, double momentum, const Rate& lr, double dampening,
                     bool nesterov, bool maximize, bool is_first_step,
                     const OptionalTensor& grad_scale, const OptionalTensor& found_inf) {
  PT2_TRY_VOID(check_lengths({&self, &grads}));
  const bool moves = momentum != 0;
  if (moves) PT2_TRY_VOID(check_lengths({&self, &buffers}));
  const Scaling scaling{grad_scale, found_inf};
  SgdLists out;
  auto& [parameters, gradients, new_buffers] = out;
  for (size_t i = 0; i < self.size(); ++i) {
    const Gradient gradient = gradient_of(e, grads[i], scaling, maximize);
    const auto parameter = widened(e, self[i]);
    Result<Tensor> grad = with_decay(e, gradient.used, parameter, weight_decay);
    if (moves) {
      const auto buffer =
          is_first_step
              ? e(aten<"clone.default">, {grad})
              : e(aten<"add.Tensor">,
                  {e(aten<"mul.Scalar">, {widened(e, buffers[i]), momentum}), grad, 1 - dampening});
      grad = nesterov ? e(aten<"add.Tensor">, {grad, buffer, momentum}) : buffer;
      PT2_TRY_VOID(keep(e, new_buffers, buffers[i], buffer, scaling));
    }
    PT2_TRY_VOID(keep(e, parameters, self[i],
                      e(aten<"sub.Tensor">, {parameter, times_rate(e, grad, lr)}), scaling));
    PT2_TRY_VOID(keep(e, gradients, grads[i], gradient.stored, scaling));
  }
  if (!moves) PT2_TRY_VOID(keep_all(e, new_buffers, buffers));
  return out;
}

// The overload with a number as learning rate declares that it writes the steps; it does not.
template <class Rate>
using AdagradLists =
    std::conditional_t<std::is_same_v<Rate, double>, std::tuple<Tensors, Tensors, Tensors, Tensors>,
                       std::tuple<Tensors, Tensors, Tensors>>;

template <class Rate>
Result<AdagradLists<Rate>> adagrad(Emitter& e, const Tensors& self, const Tensors& grads,
                                   const Tensors& sums, const Tensors& steps, const Rate& lr,
                                   double lr_decay, double weight_decay, double eps, bool maximize,
                                   const OptionalTensor& grad_scale,
                                   const OptionalTensor& found_inf) {
  PT2_TRY_VOID(check_lengths({&self, &grads, &sums, &steps}));
  const Scaling scaling{grad_scale, found_inf};
  AdagradLists<Rate> out;
  for (size_t i = 0; i < self.size(); ++i) {
    const Gradient gradient = gradient_of(e, grads[i], scaling, maximize);
    const auto parameter = widened(e, self[i]);
    const auto grad = with_decay(e, gradient.used, parameter, weight_decay);
    const auto done =
        e(aten<"sub.Scalar">, {e(aten<"_to_copy.default">, {steps[i], Dtype::float64}), 1});
    const auto rate =
        rate_over(e, lr, e(aten<"add.Scalar">, {e(aten<"mul.Scalar">, {done, lr_decay}), 1}));
    const auto sum = e(aten<"addcmul.default">, {widened(e, sums[i]), grad, grad});
    const auto width = e(aten<"add.Scalar">, {e(aten<"sqrt.default">, {sum}), eps});
    const auto change = e(aten<"div.Tensor">, {e(aten<"mul.Tensor">, {grad, rate}), width});
    PT2_TRY_VOID(
        keep(e, std::get<0>(out), self[i], e(aten<"sub.Tensor">, {parameter, change}), scaling));
    PT2_TRY_VOID(keep(e, std::get<1>(out), grads[i], gradient.stored, scaling));
    PT2_TRY_VOID(keep(e, std::get<2>(out), sums[i], sum, scaling));
  }
  if constexpr (std::is_same_v<Rate, double>) PT2_TRY_VOID(keep_all(e, std::get<3>(out), steps));
  return out;
}

// --- Scaling of losses (ATen/native/cpu/AmpGradScalerKernels.cpp)

Result<void> check_one_element(const Tensor& tensor, std::string_view what) {
  if (tensor.numel() == 1) return {};
  return operator_error(std::string(what) + ": found " + tensor.type_text() +
                        ", expected one element");
}

using Unscaled = std::tuple<Tensors, Tensor>;

// Sets found_inf to 1 if any number is not finite.
Result<Unscaled> unscale(Emitter& e, const Tensors& self, const Tensor& found_inf,
                         const Tensor& inv_scale) {
  PT2_TRY_VOID(check_one_element(found_inf, "found_inf"));
  PT2_TRY_VOID(check_one_element(inv_scale, "inv_scale"));
  PT2_TRY(const Tensor factor, e(aten<"reshape.default">, {inv_scale, Sizes{}}));
  Unscaled out;
  auto& [scaled, found] = out;
  PT2_TRY(found, e(aten<"clone.default">, {found_inf}));
  for (const Tensor& tensor : self) {
    PT2_TRY_VOID(check_floating(tensor, "self"));
    const auto finite = e(aten<"all.default">, {e(aten<"isfinite.default">, {tensor})});
    PT2_TRY(found, e(aten<"where.ScalarOther">, {finite, found, 1}));
    PT2_TRY(Tensor product, e(aten<"mul.Tensor">, {tensor, factor}));
    scaled.push_back(std::move(product));
  }
  return out;
}

// The scale grows after `interval` steps without infinities, unless it would become infinite
// itself.
Result<std::tuple<Tensor, Tensor>> update_scale(Emitter& e, const Tensor& self,
                                                const Tensor& growth_tracker,
                                                const Tensor& found_inf, double growth,
                                                double backoff, int64_t interval) {
  PT2_TRY_VOID(check_one_element(self, "self"));
  PT2_TRY_VOID(check_one_element(growth_tracker, "growth_tracker"));
  PT2_TRY_VOID(check_one_element(found_inf, "found_inf"));
  if (self.dtype() != Dtype::float32 || growth_tracker.dtype() != Dtype::int32)
    return operator_error("found " + self.type_text() + " and " + growth_tracker.type_text() +
                          ", expected a scale of float32 and a count of int32");
  const auto failed = e(aten<"ne.Scalar">, {found_inf, 0});
  const auto steps = e(aten<"add.Scalar">, {growth_tracker, 1});
  const auto is_due = e(aten<"eq.Scalar">, {steps, interval});
  const auto grown = e(aten<"mul.Scalar">, {self, growth});
  const auto grows = e(aten<"logical_and.default">, {is_due, e(aten<"isfinite.default">, {grown})});
  const auto kept = e(aten<"where.self">, {grows, grown, self});
  PT2_TRY(Tensor scale,
          e(aten<"where.self">, {failed, e(aten<"mul.Scalar">, {self, backoff}), kept}));
  const auto restarts = e(aten<"logical_or.default">, {failed, is_due});
  PT2_TRY(Tensor count, e(aten<"masked_fill.Scalar">, {steps, restarts, 0}));
  return std::tuple(std::move(scale), std::move(count));
}

// Implements the in-place form: copies the results of the functional form into the arguments.
Result<void> copy_back(Emitter& e, const Tensors& targets, const Tensors& sources) {
  for (size_t i = 0; i < targets.size(); ++i)
    PT2_TRY_VOID(e(aten<"copy_.default">, {targets[i], sources[i]}));
  return {};
}
// The in-place form of an optimizer: its first `Count` results replace the arguments in the same
// places, unless the optimizer leaves them as they are: gradients (the second) that are not scaled,
// and buffers (the third) whose momentum, the argument number `Momentum`, is 0.
template <auto Optimizer, size_t Count, size_t Momentum, class = decltype(Optimizer)>
struct InPlace;
template <auto Optimizer, size_t Count, size_t Momentum, class Lists, class... A>
struct InPlace<Optimizer, Count, Momentum, Result<Lists> (*)(Emitter&, A...)> {
  static Result<void> call(Emitter& e, A... argument) {
    PT2_TRY(const Lists results, Optimizer(e, argument...));
    const auto arguments = std::tie(argument...);
    std::array<bool, Count> changes;
    changes.fill(true);
    const OptionalTensor& grad_scale = std::get<sizeof...(A) - 2>(arguments);
    changes[1] = grad_scale.has_value();
    if constexpr (Momentum != 0) changes[2] = std::get<Momentum>(arguments) != 0;
    return replace(e, arguments, results, changes);
  }
  template <size_t I = 0>
  static Result<void> replace(Emitter& e, const auto& arguments, const Lists& results,
                              const std::array<bool, Count>& changes) {
    if constexpr (I == Count) {
      return {};
    } else {
      if (changes[I]) PT2_TRY_VOID(copy_back(e, std::get<I>(arguments), std::get<I>(results)));
      return replace<I + 1>(e, arguments, results, changes);
    }
  }
};
template <auto Optimizer, size_t Count, size_t Momentum = 0>
inline constexpr auto in_place = &InPlace<Optimizer, Count, Momentum>::call;

Result<void> unscale_in_place(Emitter& e, const Tensors& self, const Tensor& found_inf,
                              const Tensor& inv_scale) {
  PT2_TRY(const auto results, unscale(e, self, found_inf, inv_scale));
  PT2_TRY_VOID(copy_back(e, self, std::get<0>(results)));
  return copy_back(e, {found_inf}, {std::get<1>(results)});
}
Result<Tensor> update_scale_in_place(Emitter& e, const Tensor& self, const Tensor& growth_tracker,
                                     const Tensor& found_inf, double growth, double backoff,
                                     int64_t interval) {
  PT2_TRY(const auto results,
          update_scale(e, self, growth_tracker, found_inf, growth, backoff, interval));
  PT2_TRY_VOID(e(aten<"copy_.default">, {growth_tracker, std::get<1>(results)}));
  return e(aten<"copy_.default">, {self, std::get<0>(results)});
}

// clang-format off
// The functional and the in-place form, for a learning rate that is a number or a tensor.
#define PT2_ADAM_RATE(name, apart, overload, named, rate, type) \
  op<"aten::_fused_" name overload "(Tensor[] self, Tensor[] grads, Tensor[] exp_avgs, Tensor[] exp_avg_sqs, Tensor[] max_exp_avg_sqs, Tensor[] state_steps, *, " rate " lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> (Tensor[] self_out, Tensor[] grads_out, Tensor[] exp_avgs_out, Tensor[] exp_avg_sqs_out, Tensor[] max_exp_avg_sqs_out)", \
     adam<apart, type>>, \
  op<"aten::_fused_" name "_" overload "(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, " rate " lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()", \
     in_place<adam<apart, type>, 5>>.with({.functional_form = "_fused_" name named})
#define PT2_ADAM(name, apart) \
  PT2_ADAM_RATE(name, apart, "", ".default", "float", double), PT2_ADAM_RATE(name, apart, ".tensor_lr", ".tensor_lr", "Tensor", Tensor)
#define PT2_SGD_RATE(overload, named, rate, type) \
  op<"aten::_fused_sgd" overload "(Tensor[] self, Tensor[] grads, Tensor[] momentum_buffer_list, *, float weight_decay, float momentum, " rate " lr, float dampening, bool nesterov, bool maximize, bool is_first_step, Tensor? grad_scale=None, Tensor? found_inf=None) -> (Tensor[] self_out, Tensor[] grads_out, Tensor[] momentum_buffer_list_out)", \
     sgd<type>>, \
  op<"aten::_fused_sgd_" overload "(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] momentum_buffer_list, *, float weight_decay, float momentum, " rate " lr, float dampening, bool nesterov, bool maximize, bool is_first_step, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()", \
     in_place<sgd<type>, 3, 4>>.with({.functional_form = "_fused_sgd" named})
#define PT2_ADAGRAD_RATE(overload, named, rate, type, written_steps, returned_steps) \
  op<"aten::_fused_adagrad" overload "(Tensor[] self, Tensor[] grads, Tensor[] state_sums, Tensor[] state_steps, *, " rate " lr, float lr_decay, float weight_decay, float eps, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> (Tensor[] self_out, Tensor[] grads_out, Tensor[] state_sums_out" returned_steps ")", \
     adagrad<type>>, \
  op<"aten::_fused_adagrad_" overload "(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] state_sums, " written_steps " state_steps, *, " rate " lr, float lr_decay, float weight_decay, float eps, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()", \
     in_place<adagrad<type>, 3>>.with({.functional_form = "_fused_adagrad" named})

constexpr OpDef kOps[] = {
    PT2_ADAM("adam", false),
    PT2_ADAM("adamw", true),
    PT2_SGD_RATE("", ".default", "float", double),
    PT2_SGD_RATE(".tensor_lr", ".tensor_lr", "Tensor", Tensor),
    PT2_ADAGRAD_RATE("", ".default", "float", double, "Tensor(d!)[]", ", Tensor[] state_steps_out"),
    PT2_ADAGRAD_RATE(".tensor_lr", ".tensor_lr", "Tensor", Tensor, "Tensor[]", ""),
    op<"aten::_amp_foreach_non_finite_check_and_unscale(Tensor[] self, Tensor found_inf, Tensor inv_scale) -> (Tensor[] self_out, Tensor found_inf_out)", unscale>,
    op<"aten::_amp_foreach_non_finite_check_and_unscale_(Tensor(a!)[] self, Tensor(b!) found_inf, Tensor inv_scale) -> ()", unscale_in_place>.with({.functional_form = "_amp_foreach_non_finite_check_and_unscale.default"}),
    op<"aten::_amp_update_scale(Tensor self, Tensor growth_tracker, Tensor found_inf, float scale_growth_factor, float scale_backoff_factor, int growth_interval) -> (Tensor, Tensor growth_tracker_out)", update_scale>,
    op<"aten::_amp_update_scale_(Tensor(a!) self, Tensor(b!) growth_tracker, Tensor found_inf, float scale_growth_factor, float scale_backoff_factor, int growth_interval) -> Tensor(a!)", update_scale_in_place>.with({.functional_form = "_amp_update_scale.default"}),
};
// clang-format on
#undef PT2_ADAGRAD_RATE
#undef PT2_SGD_RATE
#undef PT2_ADAM
#undef PT2_ADAM_RATE

}  // namespace

std::span<const OpDef> optimizers_ops() { return kOps; }

}  // namespace pt2::ops
