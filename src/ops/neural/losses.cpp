// Losses. `reduction` is 0 for none, 1 for the mean, 2 for the sum.
#include <algorithm>
#include <cmath>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/neural/loss_reduction.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"
#include "ops/pointwise/pointwise.h"

namespace pt2::ops {
namespace {

// Applies function(self, target, more...) to every element. Operands are broadcast, and computed in
// `dtype`.
template <class F, class... More>
Result<Tensor> elementwise_loss_in(Dtype dtype, int64_t reduction, F&& function, const Tensor& self,
                                   const Tensor& target, const More&... more) {
  const std::array sizes_list{self.sizes(), target.sizes(), more.sizes()...};
  PT2_TRY(const Sizes sizes, broadcast_sizes(sizes_list));
  if (dtype_category(dtype) != DtypeCategory::floating)
    return operator_error("self: found " + std::string(dtype_name(dtype)) +
                          ", expected a floating dtype");
  const std::array<const Tensor*, 2 + sizeof...(More)> operands{&self, &target, &more...};
  PT2_TRY(Tensor out, allocate(Meta(dtype, sizes, elementwise_strides(sizes, operands))));
  with_float_compute_type(dtype, [&]<class C>() {
    elementwise<C>(
        out, kDtypeOf<C>, [&](auto... x) { return static_cast<C>(function(double{x}...)); }, self,
        target, more...);
  });
  return reduce_loss(out, reduction);
}
template <class F, class... More>
Result<Tensor> elementwise_loss(int64_t reduction, F&& function, const Tensor& self,
                                const Tensor& target, const More&... more) {
  return elementwise_loss_in(Promotion().add(self).add(target).result(), reduction, function, self,
                             target, more...);
}

// For half floats: the difference is rounded before squaring.
Result<Tensor> half_mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  PT2_TRY(const Tensor difference, apply(aten<"sub.Tensor">, {self, target}));
  PT2_TRY(const Tensor square, apply(aten<"mul.Tensor">, {difference, difference}));
  return reduce_loss(square, reduction);
}

Result<Tensor> mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  if (self.dtype() == target.dtype() && dtype_size(self.dtype()) == 2)
    return half_mse_loss(self, target, reduction);
  return elementwise_loss(
      reduction, [](double x, double y) { return (x - y) * (x - y); }, self, target);
}

// With z = |x - y|: z * z / 2 up to `bound`, the tangent at `bound` beyond it; times `factor`.
// Computed without a branch, which would be unpredictable.
Result<Tensor> bent_loss(Dtype dtype, int64_t reduction, double bound, double factor,
                         const Tensor& self, const Tensor& target) {
  return elementwise_loss_in(
      dtype, reduction,
      [=](double x, double y) {
        const double z = std::fabs(x - y), near = bound < z ? bound : z;
        return near * (z - 0.5 * near) * factor;
      },
      self, target);
}

Result<Tensor> smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction,
                              double beta) {
  if (!(beta >= 0))
    return operator_error("beta: found " + std::to_string(beta) + ", expected 0 or more");
  constexpr double kNoBend = 1e-300;
  if (beta < kNoBend)
    return elementwise_loss(
        reduction, [](double x, double y) { return std::fabs(x - y); }, self, target);
  return bent_loss(Promotion().add(self).add(target).result(), reduction, beta, 1 / beta, self,
                   target);
}

// Computed in self's dtype, unlike the neighbouring losses.
Result<Tensor> huber_loss(const Tensor& self, const Tensor& target, int64_t reduction,
                          double delta) {
  if (!(delta > 0))
    return operator_error("delta: found " + std::to_string(delta) + ", expected above 0");
  return bent_loss(self.dtype(), reduction, delta, 1, self, target);
}

Tensor one_like(const Tensor& tensor) { return scalar_tensor(Scalar(1.0), tensor.dtype()); }

// Error for elements outside of 0 to 1. Logarithms are clamped at -100, so that probabilities 0 and
// 1 have a finite loss (ATen/native/Loss.cpp).
Result<void> check_probabilities(const Tensor& tensor, std::string_view what) {
  const Input<double> numbers(tensor);
  for (int64_t i = 0; i < numbers.size(); ++i)
    if (!(numbers[i] >= 0 && numbers[i] <= 1))
      return operator_error(std::string(what) + ": found " + std::to_string(numbers[i]) +
                            ", expected 0 to 1");
  return {};
}
Result<Tensor> binary_cross_entropy(const Tensor& self, const Tensor& target,
                                    const OptionalTensor& weight, int64_t reduction) {
  PT2_TRY_VOID(check_sizes(target, self.sizes(), "target"));
  PT2_TRY_VOID(check_probabilities(self, "self"));
  PT2_TRY_VOID(check_probabilities(target, "target"));
  return elementwise_loss(
      reduction,
      [](double x, double y, double w) {
        return w * ((y - 1) * std::max(std::log1p(-x), -100.0) - y * std::max(std::log(x), -100.0));
      },
      self, target, weight.value_or(one_like(self)));
}

// ATen/native/Loss.cpp binary_cross_entropy_with_logits writes into (1 - target), which determines
// dtype and sizes of the loss.
Result<Tensor> binary_cross_entropy_with_logits(Emitter& e, const Tensor& self,
                                                const Tensor& target, const OptionalTensor& weight,
                                                const OptionalTensor& pos_weight,
                                                int64_t reduction) {
  PT2_TRY_VOID(check_floating(self, "self"));
  PT2_TRY_VOID(check_floating(target, "target"));
  const auto written_to = [&](const Tensor& written,
                              const Result<Tensor>& value) -> Result<Tensor> {
    if (!value) return value;
    PT2_TRY_VOID(check_sizes(*value, written.sizes(), "an operand"));
    return converted(e, value, written.dtype());
  };
  PT2_TRY(Tensor log_sigmoid, e(aten<"log_sigmoid.default">, {self}));
  if (pos_weight) {
    const auto more = e(aten<"sub.Scalar">, {*pos_weight, 1});
    const auto factor = e(aten<"add.Scalar">, {e(aten<"mul.Tensor">, {more, target}), 1});
    PT2_TRY(log_sigmoid, written_to(self, e(aten<"mul.Tensor">, {log_sigmoid, factor})));
  }
  PT2_TRY(Tensor loss, e(aten<"rsub.Scalar">, {target, 1}));
  PT2_TRY(loss, written_to(target, e(aten<"mul.Tensor">, {loss, self})));
  PT2_TRY(loss, written_to(target, e(aten<"sub.Tensor">, {loss, log_sigmoid})));
  if (weight) {
    PT2_TRY(loss, written_to(target, e(aten<"mul.Tensor">, {loss, *weight})));
  }
  return reduce_loss(e, loss, reduction);
}

// ATen/native/Loss.cpp soft_margin_loss_out, which computes in self's dtype.
Result<Tensor> soft_margin_loss(Emitter& e, const Tensor& self, const Tensor& target,
                                int64_t reduction) {
  PT2_TRY_VOID(check_floating_or_complex(self, "self"));
  // PyTorch writes the loss to a tensor of self's sizes.
  PT2_TRY_VOID(check_broadcasts(target.sizes(), self.sizes(), "target"));
  const auto opposite = e(aten<"neg.default">, {converted(e, target, self.dtype())});
  const auto power = e(aten<"exp.default">, {e(aten<"mul.Tensor">, {self, opposite})});
  return reduce_loss(e, e(aten<"log1p.default">, {power}), reduction);
}

// The layout of the log probabilities of the classes: [C], [N, C] or [N, C, positions...].
struct Classes {
  int64_t batch = 1;
  int64_t classes = 1;
  int64_t area = 1;
  Sizes target_sizes;
};

Result<Classes> class_layout(const Tensor& self, const Tensor& target,
                             const OptionalTensor& weight) {
  PT2_TRY_VOID(check_floating(self, "self"));
  PT2_TRY_VOID(check_rank_at_least(self, 1, "self"));
  Classes layout;
  if (self.dim() == 1) {
    layout.classes = self.size(0);
    // A single sample may give its class as [] or [1].
    layout.target_sizes = target.dim() == 1 && target.size(0) == 1 ? Sizes{1} : Sizes{};
  } else {
    layout.batch = self.size(0);
    layout.classes = self.size(1);
    layout.target_sizes = self.sizes();
    layout.target_sizes.erase(layout.target_sizes.begin() + 1);
    for (size_t i = 1; i < layout.target_sizes.size(); ++i) layout.area *= layout.target_sizes[i];
  }
  PT2_TRY_VOID(check_sizes(target, layout.target_sizes, "target"));
  if (target.dtype() != Dtype::int64 && target.dtype() != Dtype::uint8)
    return operator_error("target: found " + std::string(dtype_name(target.dtype())) +
                          ", expected int64 or uint8");
  if (weight) PT2_TRY_VOID(check_sizes(*weight, {layout.classes}, "weight"));
  return layout;
}

// Calls visit(i, label, position of the label's log probability) for each label that is not to be
// ignored. Error for a label that is no class.
template <class F>
Result<void> for_each_label(const Classes& layout, const Tensor& target, int64_t ignore_index,
                            F&& visit) {
  const Input<int64_t> labels(target);
  for (int64_t i = 0; i < labels.size(); ++i) {
    const int64_t label = labels[i];
    if (label == ignore_index) continue;
    if (label < 0 || label >= layout.classes)
      return operator_error("target: found " + std::to_string(label) + ", expected 0 to " +
                            std::to_string(layout.classes - 1));
    visit(i, label, (i / layout.area * layout.classes + label) * layout.area + i % layout.area);
  }
  return {};
}

// Loads single elements, for callers that read only one element of each row.
class FewElements {
 public:
  explicit FewElements(const Tensor& tensor) : dense_(tensor.contiguous()) {}
  double operator[](int64_t index) const {
    double number = 0;
    load_elements<double>(dense_.raw_data() + index * dtype_size(dense_.dtype()), 1, dense_.dtype(),
                          1, &number);
    return number;
  }

 private:
  Tensor dense_;
};

using NllResult = std::tuple<Tensor, Tensor>;

Result<NllResult> nll_loss_of(const Tensor& self, const Tensor& target,
                              const OptionalTensor& weight, int64_t reduction,
                              int64_t ignore_index) {
  PT2_TRY(const Classes layout, class_layout(self, target, weight));
  const FewElements values(self);
  const Input<double> weights(weight.value_or(Tensor::zeros(Dtype::float64, {0})));
  std::vector<double> losses(static_cast<size_t>(target.numel()), 0.0);
  double total = 0;
  double sum = 0;
  PT2_TRY_VOID(
      for_each_label(layout, target, ignore_index, [&](int64_t i, int64_t label, int64_t position) {
        const double w = weight ? weights[label] : 1.0;
        const double loss = -w * values[position];
        losses[static_cast<size_t>(i)] = loss;
        sum += loss;
        total += w;
      }));
  Tensor total_weight = Tensor::zeros(self.dtype(), {});
  if (reduction == kNoReduction && self.dim() == 1) fill_elements(total_weight, Scalar(total));
  if (reduction == kNoReduction) {
    PT2_TRY(Tensor out, allocate(Meta(self.dtype(), self.dim() == 1 ? Sizes{} : target.sizes())));
    store_elements<double>(losses.data(), out.numel(), out.dtype(), 1, out.raw_data());
    return NllResult{std::move(out), std::move(total_weight)};
  }
  if (reduction != kMeanLoss && reduction != kSumLoss)
    return operator_error("reduction: found " + std::to_string(reduction) + ", expected 0 to 2");
  fill_elements(total_weight, Scalar(total));
  return NllResult{scalar_tensor(Scalar(reduction == kMeanLoss ? sum / total : sum), self.dtype()),
                   std::move(total_weight)};
}

Result<void> check_planar(const Tensor& self) {
  if (self.dim() > 2)
    return operator_error("self: found " + self.type_text() + ", expected 1 or 2 dims");
  return {};
}

Result<NllResult> nll_loss_forward(const Tensor& self, const Tensor& target,
                                   const OptionalTensor& weight, int64_t reduction,
                                   int64_t ignore_index) {
  PT2_TRY_VOID(check_planar(self));
  return nll_loss_of(self, target, weight, reduction, ignore_index);
}

Result<NllResult> nll_loss2d_forward(const Tensor& self, const Tensor& target,
                                     const OptionalTensor& weight, int64_t reduction,
                                     int64_t ignore_index) {
  PT2_TRY_VOID(check_rank(self, 4, "self"));
  return nll_loss_of(self, target, weight, reduction, ignore_index);
}

Dtype common_dtype(const Tensor& grad_output, const Tensor& self, const Tensor& target) {
  return Promotion().add(self).add(target).add(grad_output).result();
}
Result<Meta> mse_loss_backward_meta(const Tensor& grad_output, const Tensor& self,
                                    const Tensor& target, int64_t) {
  const Dtype common = common_dtype(grad_output, self, target);
  PT2_TRY_VOID(expect_not_bool(common));
  PT2_TRY_VOID(expect_real(common));
  PT2_TRY(Meta meta, elementwise_meta(self.dtype(), {&self, &target, &grad_output}));
  meta.strides = {};
  return meta;
}
// Computed in the dtype of self. If that is an integer dtype, the factor is truncated
// (ATen/native/cpu/BinaryOpsKernel.cpp mse_backward_cpu_kernel).
void mse_loss_backward(Tensor& out, const Tensor& grad_output, const Tensor& self,
                       const Tensor& target, int64_t reduction) {
  const double scale = reduction == kMeanLoss ? 2.0 / static_cast<double>(self.numel()) : 2.0;
  const Dtype common = common_dtype(grad_output, self, target);
  with_real_compute_type(common, [&]<class C>() {
    elementwise<C>(
        out, common,
        [factor = static_cast<C>(scale)](C x, C y, C g) {
          return times(times(factor, minus(x, y)), g);
        },
        self, target, grad_output);
  });
}

Result<Meta> nll_loss_backward_meta(const Tensor& grad_output, const Tensor& self,
                                    const Tensor& target, const OptionalTensor& weight,
                                    int64_t reduction, int64_t, const Tensor& total_weight) {
  PT2_TRY_VOID(class_layout(self, target, weight));
  const int64_t wanted = reduction == kNoReduction ? target.numel() : 1;
  if (grad_output.numel() != wanted || total_weight.numel() != 1)
    return operator_error("grad_output: found " + grad_output.type_text() + ", expected " +
                          std::to_string(wanted) + " elements");
  return Meta::like(self);
}
Result<void> nll_loss_backward(Tensor& out, const Tensor& grad_output, const Tensor& self,
                               const Tensor& target, const OptionalTensor& weight,
                               int64_t reduction, int64_t ignore_index,
                               const Tensor& total_weight) {
  PT2_TRY(const Classes layout, class_layout(self, target, weight));
  const Input<double> grads(grad_output);
  const Input<double> total(total_weight);
  const Input<double> weights(weight.value_or(Tensor::zeros(Dtype::float64, {0})));
  return for_each_label(
      layout, target, ignore_index, [&](int64_t i, int64_t label, int64_t position) {
        const double grad =
            grads[reduction == kNoReduction ? i : 0] * (weight ? weights[label] : 1.0);
        const double own = -(reduction == kMeanLoss ? grad / total[0] : grad);
        store_elements<double>(&own, 1, out.dtype(), 1,
                               out.raw_data() + position * dtype_size(out.dtype()));
      });
}

// The Meta of a loss: the broadcast sizes of self and target, or one number after a reduction.
Result<std::vector<Meta>> loss_meta(Dtype dtype, const Tensor& self, const Tensor& target,
                                    int64_t reduction) {
  const std::array operands{self.sizes(), target.sizes()};
  PT2_TRY(Sizes sizes, broadcast_sizes(operands));
  return meta_list(Meta(dtype, reduction == kNoReduction ? std::move(sizes) : Sizes{}));
}
// The first integer argument of an elementwise loss is its reduction.
Result<std::vector<Meta>> elementwise_loss_meta(std::span<const Value> arguments) {
  const Tensor& self = *arguments[0].get_if<Tensor>();
  const Tensor& target = *arguments[1].get_if<Tensor>();
  for (const Value& argument : arguments)
    if (const auto* reduction = argument.get_if<int64_t>())
      return loss_meta(Promotion().add(self).add(target).result(), self, target, *reduction);
  return operator_error("reduction: found none, expected 0 to 2");
}
Result<std::vector<Meta>> huber_loss_meta(std::span<const Value> arguments) {
  const Tensor& self = *arguments[0].get_if<Tensor>();
  return loss_meta(self.dtype(), self, *arguments[1].get_if<Tensor>(),
                   *arguments[2].get_if<int64_t>());
}
Result<Meta> nll_loss_meta(const Tensor& self, const Tensor& target, const OptionalTensor& weight,
                           int64_t reduction, int64_t) {
  PT2_TRY_VOID(class_layout(self, target, weight));
  const bool one = reduction != kNoReduction || self.dim() == 1;
  return Meta(self.dtype(), one ? Sizes{} : target.sizes());
}
Result<std::array<Meta, 2>> nll_loss_forward_meta(const Tensor& self, const Tensor& target,
                                                  const OptionalTensor& weight, int64_t reduction,
                                                  int64_t ignore_index) {
  PT2_TRY(Meta loss, nll_loss_meta(self, target, weight, reduction, ignore_index));
  return std::array{std::move(loss), Meta(self.dtype(), {})};
}
Result<Meta> cross_entropy_loss_meta(const Tensor& self, const Tensor& target,
                                     const OptionalTensor& weight, int64_t reduction,
                                     int64_t ignore_index, double label_smoothing) {
  PT2_TRY_VOID(check_rank_at_least(self, 1, "self"));
  if (label_smoothing > 1)
    return operator_error("label_smoothing: found " + std::to_string(label_smoothing) +
                          ", expected no more than 1");
  if (self.sizes() != target.sizes())
    return nll_loss_meta(self, target, weight, reduction, ignore_index);
  if (ignore_index >= 0)
    return operator_error("ignore_index: found " + std::to_string(ignore_index) +
                          ", expected a negative one for targets that are probabilities");
  Sizes sizes = self.sizes();
  sizes.erase(sizes.begin() + (self.dim() == 1 ? 0 : 1));
  return Meta(self.dtype(), reduction == kNoReduction ? std::move(sizes) : Sizes{});
}

Result<Tensor> l1_loss(Emitter& e, const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduce_loss(e, e(aten<"abs.default">, {e(aten<"sub.Tensor">, {self, target})}), reduction);
}

Result<Tensor> kl_div(Emitter& e, const Tensor& self, const Tensor& target, int64_t reduction,
                      bool log_target) {
  PT2_TRY_VOID(check_floating(self, "self"));
  PT2_TRY_VOID(check_floating(target, "target"));
  const auto product = e(aten<"mul.Tensor">, {target, self});
  const auto loss =
      log_target ? e(aten<"mul.Tensor">,
                     {e(aten<"exp.default">, {target}), e(aten<"sub.Tensor">, {target, self})})
                 : e(aten<"sub.Tensor">, {e(aten<"xlogy.Tensor">, {target, target}), product});
  return reduce_loss(e, loss, reduction);
}

// For more than two position dimensions: flattens them to one.
Result<Tensor> nll_loss_nd(Emitter& e, const Tensor& self, const Tensor& target,
                           const OptionalTensor& weight, int64_t reduction, int64_t ignore_index) {
  PT2_TRY_VOID(class_layout(self, target, weight));
  if (self.dim() <= 2)
    return e(aten<"nll_loss_forward.default">, {self, target, weight, reduction, ignore_index});
  if (self.dim() == 4)
    return e(aten<"nll_loss2d_forward.default">, {self, target, weight, reduction, ignore_index});
  int64_t area = 1;
  for (int64_t dim = 2; dim < self.dim(); ++dim) area *= self.size(dim);
  const auto values =
      e(aten<"reshape.default">, {self, Sizes{self.size(0), self.size(1), 1, area}});
  const auto labels = e(aten<"reshape.default">, {target, Sizes{self.size(0), 1, area}});
  const auto loss =
      e(aten<"nll_loss2d_forward.default">, {values, labels, weight, reduction, ignore_index});
  return reduction == kNoReduction ? e(aten<"view.default">, {loss, target.sizes()}) : loss;
}

Result<Tensor> nll_loss(Emitter& e, const Tensor& self, const Tensor& target,
                        const OptionalTensor& weight, int64_t reduction, int64_t ignore_index) {
  return e(aten<"nll_loss_forward.default">, {self, target, weight, reduction, ignore_index});
}
Result<Tensor> nll_loss2d(Emitter& e, const Tensor& self, const Tensor& target,
                          const OptionalTensor& weight, int64_t reduction, int64_t ignore_index) {
  return e(aten<"nll_loss2d_forward.default">, {self, target, weight, reduction, ignore_index});
}

// Log probabilities multiplied by the weight of their class.
Result<Tensor> times_weights(Emitter& e, const Result<Tensor>& logs, const OptionalTensor& weight,
                             int64_t rank, int64_t class_dim) {
  if (!weight) return logs;
  Sizes sizes(static_cast<size_t>(rank), 1);
  sizes[static_cast<size_t>(class_dim)] = weight->numel();
  return e(aten<"mul.Tensor">, {logs, e(aten<"view.default">, {*weight, sizes})});
}

// The loss for a uniform target, to be weighted by `label_smoothing`.
Result<Tensor> smooth_loss(Emitter& e, const Result<Tensor>& logs, const Tensor& target,
                           const OptionalTensor& weight, int64_t rank, int64_t reduction,
                           int64_t ignore_index) {
  const int64_t class_dim = rank == 1 ? 0 : 1;
  const auto products = times_weights(e, logs, weight, rank, class_dim);
  const auto all =
      e(aten<"neg.default">, {e(aten<"sum.dim_IntList">, {products, Sizes{class_dim}})});
  PT2_TRY(const Tensor ignored, e(aten<"eq.Scalar">, {target, ignore_index}));
  PT2_TRY(const Tensor known, all);
  const auto zero = [&](Dtype dtype) { return e(aten<"full.default">, {Sizes{}, 0, dtype}); };
  const auto loss = e(aten<"where.self">, {ignored, zero(known.dtype()), known});
  if (reduction != kMeanLoss) return reduce_loss(e, loss, reduction);
  auto counts = e(aten<"logical_not.default">, {ignored});
  if (weight) {
    const auto labels = e(aten<"where.self">, {ignored, zero(target.dtype()), target});
    const auto flat = e(aten<"reshape.default">, {labels, Sizes{-1}});
    const auto weights = e(aten<"reshape.default">,
                           {e(aten<"index_select.default">, {*weight, 0, flat}), target.sizes()});
    counts = e(aten<"where.self">, {ignored, zero(weight->dtype()), weights});
  }
  return e(aten<"div.Tensor">, {e(aten<"sum.default">, {loss}), e(aten<"sum.default">, {counts})});
}

Result<Tensor> cross_entropy_loss(Emitter& e, const Tensor& self, const Tensor& target,
                                  const OptionalTensor& weight, int64_t reduction,
                                  int64_t ignore_index, double label_smoothing) {
  PT2_TRY_VOID(
      cross_entropy_loss_meta(self, target, weight, reduction, ignore_index, label_smoothing));
  // Negative numbers and NaN smooth nothing, as in PyTorch.
  const bool smooths = label_smoothing > 0;
  const int64_t class_dim = self.dim() == 1 ? 0 : 1;
  const auto classes = static_cast<double>(std::max<int64_t>(self.size(class_dim), 1));
  const auto logs = e(aten<"_log_softmax.default">, {self, class_dim, false});
  if (self.sizes() != target.sizes()) {
    const auto loss =
        e(aten<"nll_loss_nd.default">, {logs, target, weight, reduction, ignore_index});
    if (!smooths) return loss;
    const auto smooth = smooth_loss(e, logs, target, weight, self.dim(), reduction, ignore_index);
    return e(aten<"add.Tensor">, {e(aten<"mul.Scalar">, {loss, 1 - label_smoothing}),
                                  e(aten<"mul.Scalar">, {smooth, label_smoothing / classes})});
  }
  auto wanted = Result<Tensor>(target);
  if (smooths)
    wanted = e(aten<"add.Scalar">,
               {e(aten<"mul.Scalar">, {target, 1 - label_smoothing}), label_smoothing / classes});
  const auto products =
      times_weights(e, e(aten<"mul.Tensor">, {logs, wanted}), weight, self.dim(), class_dim);
  if (reduction == kMeanLoss) {
    const auto sum = e(aten<"sum.default">, {products});
    return e(aten<"div.Scalar">, {sum, -(self.numel() / static_cast<int64_t>(classes))});
  }
  const auto loss =
      e(aten<"neg.default">, {e(aten<"sum.dim_IntList">, {products, Sizes{class_dim}})});
  return reduce_loss(e, loss, reduction);
}

// clang-format off
constexpr OpDef kLossesOps[] = {
    op<"aten::mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor", mse_loss_backward_meta, mse_loss_backward>,
    op<"aten::nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor",
       nll_loss_backward_meta, nll_loss_backward>,
    op<"aten::nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor",
       nll_loss_backward_meta, nll_loss_backward>,
    composed<"aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", elementwise_loss_meta, mse_loss>.with({.autocast = AutocastRule::float32}),
    op<"aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", l1_loss>.with({.autocast = AutocastRule::float32}),
    composed<"aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor", elementwise_loss_meta, smooth_l1_loss>.with({.autocast = AutocastRule::float32}),
    composed<"aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor", huber_loss_meta, huber_loss>.with({.autocast = AutocastRule::float32}),
    op<"aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", soft_margin_loss>.with({.autocast = AutocastRule::float32}),
    composed<"aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor", elementwise_loss_meta, binary_cross_entropy>.with({.autocast = AutocastRule::float32}),
    op<"aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor",
       binary_cross_entropy_with_logits>.with({.autocast = AutocastRule::float32}),
    op<"aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor", kl_div>.with({.autocast = AutocastRule::float32}),
    composed<"aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)",
       nll_loss_forward_meta, nll_loss_forward>,
    composed<"aten::nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)",
       nll_loss_forward_meta, nll_loss2d_forward>,
    op<"aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor", nll_loss>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor", nll_loss2d>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor", nll_loss_nd>.with({.autocast = AutocastRule::float32, .slope = Slope::linear}),
    op<"aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor",
       cross_entropy_loss>.with({.autocast = AutocastRule::float32}),
};
// clang-format on

}  // namespace

Result<Tensor> reduce_loss(const Tensor& loss, int64_t reduction) {
  Context context;
  Runner runner(context);
  return reduce_loss(runner, loss, reduction);
}

Result<Tensor> reduce_loss(Emitter& e, const Result<Tensor>& loss, int64_t reduction) {
  if (reduction == kNoReduction) return loss;
  if (reduction != kMeanLoss && reduction != kSumLoss)
    return operator_error("reduction: found " + std::to_string(reduction) + ", expected 0 to 2");
  return reduction == kMeanLoss ? e(aten<"mean.default">, {loss}) : e(aten<"sum.default">, {loss});
}

std::span<const OpDef> losses_ops() { return kLossesOps; }

}  // namespace pt2::ops
