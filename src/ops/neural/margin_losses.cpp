// Losses with a margin, and the gradients of elementwise losses.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/memory_account.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/neural/loss_reduction.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"

namespace pt2::ops {
namespace {

// --- Formulas (ATen/native/Loss.cpp)

// The loss max(0, -y (x1 - x2) + margin).
Result<Tensor> margin_ranking(Emitter& e, const Tensor& input1, const Tensor& input2,
                              const Tensor& target, double margin, int64_t reduction) {
  const auto difference = e(aten<"sub.Tensor">, {input1, input2});
  const auto product = e(aten<"mul.Tensor">, {e(aten<"neg.default">, {target}), difference});
  const auto shifted = e(aten<"add.Scalar">, {product, margin});
  return reduce_loss(e, e(aten<"clamp_min.default">, {shifted, 0}), reduction);
}

// The loss x if y is 1, max(0, margin - x) if y is -1, and their sum for other y.
Result<Tensor> hinge_embedding(Emitter& e, const Tensor& self, const Tensor& target, double margin,
                               int64_t reduction) {
  const auto limit = e(aten<"full_like.default">, {self, margin});
  const auto beyond = e(aten<"clamp_min.default">, {e(aten<"sub.Tensor">, {limit, self}), 0});
  const auto together =
      e(aten<"where.ScalarOther">, {e(aten<"ne.Scalar">, {target, 1}), beyond, 0});
  const auto apart = e(aten<"where.ScalarOther">, {e(aten<"ne.Scalar">, {target, -1}), self, 0});
  return reduce_loss(e, e(aten<"add.Tensor">, {together, apart}), reduction);
}

// The loss 1 - cos if y is 1, max(0, cos - margin) if y is -1.
Result<Tensor> cosine_embedding(Emitter& e, const Tensor& input1, const Tensor& input2,
                                const Tensor& target, double margin, int64_t reduction) {
  if ((target.dim() != 0 && target.dim() != 1) || input1.dim() != target.dim() + 1 ||
      input2.dim() != target.dim() + 1)
    return operator_error("found " + input1.type_text() + ", " + input2.type_text() + " and " +
                          target.type_text() + ", expected a target with one dim less, at most 1");
  const Sizes last{target.dim()};
  const auto sum_of = [&](const Tensor& a, const Tensor& b) {
    return e(aten<"sum.dim_IntList">, {e(aten<"mul.Tensor">, {a, b}), last});
  };
  constexpr double kEpsilon = 1e-12;
  const auto product = sum_of(input1, input2);
  const auto square1 = e(aten<"add.Scalar">, {sum_of(input1, input1), kEpsilon});
  const auto square2 = e(aten<"add.Scalar">, {sum_of(input2, input2), kEpsilon});
  const auto length = e(aten<"sqrt.default">, {e(aten<"mul.Tensor">, {square1, square2})});
  const auto cosine = e(aten<"div.Tensor">, {product, length});
  const auto apart = e(aten<"rsub.Scalar">, {cosine, 1});
  const auto beyond = e(aten<"clamp_min.default">, {e(aten<"sub.Scalar">, {cosine, margin}), 0});
  const auto positive = e(aten<"where.ScalarOther">, {e(aten<"eq.Scalar">, {target, 1}), apart, 0});
  const auto negative =
      e(aten<"where.ScalarOther">, {e(aten<"eq.Scalar">, {target, -1}), beyond, 0});
  return reduce_loss(e, e(aten<"add.Tensor">, {positive, negative}), reduction);
}

Result<Tensor> poisson_nll(Emitter& e, const Tensor& input, const Tensor& target, bool log_input,
                           bool full, double eps, int64_t reduction) {
  const auto log = log_input ? Result<Tensor>(input)
                             : e(aten<"log.default">, {e(aten<"add.Scalar">, {input, eps})});
  const auto product = e(aten<"mul.Tensor">, {target, log});
  const auto rate = log_input ? e(aten<"exp.default">, {input}) : Result<Tensor>(input);
  auto loss = e(aten<"sub.Tensor">, {rate, product});
  if (full) {
    // Stirling's approximation of log(target!), for targets above 1.
    const auto circle = e(aten<"mul.Scalar">, {target, 2 * std::numbers::pi});
    const auto half_log = e(aten<"mul.Scalar">, {e(aten<"log.default">, {circle}), 0.5});
    const auto entropy = e(aten<"mul.Tensor">, {target, e(aten<"log.default">, {target})});
    const auto stirling =
        e(aten<"add.Tensor">, {e(aten<"sub.Tensor">, {entropy, target}), half_log});
    const auto small = e(aten<"le.Scalar">, {target, 1});
    // PyTorch adds it in place, so the dtype stays.
    PT2_TRY(const Tensor base, std::move(loss));
    loss = e(aten<"add.Tensor">, {base, e(aten<"masked_fill.Scalar">, {stirling, small, 0})});
    loss = converted(e, loss, base.dtype());
  }
  return reduce_loss(e, loss, reduction);
}

Result<Tensor> triplet_margin(Emitter& e, const Tensor& anchor, const Tensor& positive,
                              const Tensor& negative, double margin, double p, double eps,
                              bool swap, int64_t reduction) {
  if (anchor.dim() != positive.dim() || anchor.dim() != negative.dim())
    return operator_error("found " + anchor.type_text() + ", " + positive.type_text() + " and " +
                          negative.type_text() + ", expected equal ranks");
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    return e(aten<"pairwise_distance.default">, {a, b, p, eps});
  };
  const auto near = distance(anchor, positive);
  auto far = distance(anchor, negative);
  if (swap) far = e(aten<"minimum.default">, {far, distance(positive, negative)});
  const auto shifted = e(aten<"sub.Tensor">, {e(aten<"add.Scalar">, {near, margin}), far});
  return reduce_loss(e, e(aten<"clamp_min.default">, {shifted, 0}), reduction);
}

Result<Tensor> multilabel_margin(Emitter& e, const Tensor& self, const Tensor& target,
                                 int64_t reduction) {
  return e(aten<"multilabel_margin_loss_forward.default">, {self, target, reduction});
}

// --- Margins between classes: [C] or [N, C]

struct ClassRows {
  int64_t rows = 1;
  int64_t classes = 0;
};
Result<ClassRows> class_rows(const Tensor& self) {
  PT2_TRY_VOID(check_floating(self, "self"));
  PT2_TRY_VOID(check_float_or_double(self, "self"));
  if (self.dim() > 2 || (self.dim() == 2 && self.size(1) == 0) ||
      (self.dim() == 1 && self.size(0) == 0))
    return operator_error("self: found " + self.type_text() + ", expected [C] or [N, C]");
  ClassRows out{self.dim() == 2 ? self.size(0) : 1, 1};
  if (self.dim() > 0) out.classes = self.size(self.dim() - 1);
  return out;
}

// Reduces one loss for each row. Without a reduction, the result has `sizes`.
Result<Tensor> reduce_rows_loss(const std::vector<double>& losses, Dtype dtype, Sizes sizes,
                                int64_t reduction) {
  PT2_TRY(Tensor out, allocate(Meta(dtype, std::move(sizes))));
  store_elements<double>(losses.data(), out.numel(), out.dtype(), 1, out.raw_data());
  return reduce_loss(out, reduction);
}

Result<Meta> multi_margin_meta(const Tensor& self, const Tensor& target, const Scalar& p,
                               const Scalar&, const OptionalTensor& weight, int64_t reduction) {
  PT2_TRY(const ClassRows layout, class_rows(self));
  const int64_t power = p.to_int();
  if (power != 1 && power != 2)
    return operator_error("p: found " + std::to_string(power) + ", expected 1 or 2");
  if (target.dim() > 1 || target.numel() != layout.rows)
    return operator_error("target: found " + target.type_text() + ", expected " +
                          std::to_string(layout.rows) + " classes");
  PT2_TRY_VOID(check_index_dtype(target, "target"));
  if (weight && (weight->dim() > 1 || weight->numel() != layout.classes))
    return operator_error("weight: found " + weight->type_text() + ", expected " +
                          std::to_string(layout.classes) + " elements");
  return Meta(self.dtype(), reduction == kNoReduction ? target.sizes() : Sizes{});
}
Result<Tensor> multi_margin(const Tensor& self, const Tensor& target, const Scalar& p,
                            const Scalar& margin, const OptionalTensor& weight, int64_t reduction) {
  PT2_TRY_VOID(multi_margin_meta(self, target, p, margin, weight, reduction));
  PT2_TRY(const ClassRows layout, class_rows(self));
  const int64_t power = p.to_int();
  const Input<double> x(self);
  const Input<int64_t> labels(target);
  const Input<double> weights(weight.value_or(Tensor::zeros(Dtype::float64, {0})));
  std::vector<double> losses;
  for (int64_t row = 0; row < layout.rows; ++row) {
    const int64_t label = labels[row];
    if (label < 0 || label >= layout.classes)
      return operator_error("target: found " + std::to_string(label) + ", expected 0 to " +
                            std::to_string(layout.classes - 1));
    const double* values = x.data() + row * layout.classes;
    double sum = 0;
    for (int64_t c = 0; c < layout.classes; ++c) {
      if (c == label) continue;
      const double z = margin.to_double() - values[label] + values[c];
      if (z > 0) sum += (power == 1 ? z : z * z) * (weight ? weights[label] : 1.0);
    }
    losses.push_back(sum / static_cast<double>(layout.classes));
  }
  // The mean of no rows is 0, not NaN.
  if (losses.empty() && reduction != kNoReduction) return Tensor::zeros(self.dtype(), {});
  return reduce_rows_loss(losses, self.dtype(), target.sizes(), reduction);
}

using MultilabelResult = std::tuple<Tensor, Tensor>;

// For a single row, self and target may each be a number or a vector.
Result<void> check_multilabel_target(const Tensor& target, const Tensor& self) {
  if (self.dim() < 2 && target.dim() < 2 && target.numel() == self.numel()) return {};
  return check_sizes(target, self.sizes(), "target");
}

Result<std::array<Meta, 2>> multilabel_margin_meta(const Tensor& self, const Tensor& target,
                                                   int64_t reduction) {
  PT2_TRY(const ClassRows layout, class_rows(self));
  PT2_TRY_VOID(check_multilabel_target(target, self));
  const bool has_rows = reduction == kNoReduction && self.dim() == 2;
  return std::array{Meta(self.dtype(), has_rows ? Sizes{layout.rows} : Sizes{}),
                    Meta(self.dtype(), target.sizes())};
}

// The target classes of a row end at its first negative number.
Result<MultilabelResult> multilabel_margin_forward(const Tensor& self, const Tensor& target,
                                                   int64_t reduction) {
  PT2_TRY(const ClassRows layout, class_rows(self));
  PT2_TRY_VOID(check_multilabel_target(target, self));
  PT2_TRY_VOID(check_index_dtype(target, "target"));
  PT2_TRY(Tensor is_target, allocate(Meta(self.dtype(), target.sizes())));
  const Input<double> x(self);
  const Input<int64_t> labels(target);
  for (int64_t i = 0; i < labels.size(); ++i)
    if (labels[i] < -1 || labels[i] >= layout.classes)
      return operator_error("target: found " + std::to_string(labels[i]) + ", expected -1 to " +
                            std::to_string(layout.classes - 1));
  std::vector<double> losses;
  {
    Output<double> marks(is_target);
    for (int64_t row = 0; row < layout.rows; ++row) {
      const int64_t begin = row * layout.classes;
      std::vector<int64_t> own;
      for (int64_t c = 0; c < layout.classes && labels[begin + c] >= 0; ++c) {
        own.push_back(labels[begin + c]);
        marks[begin + own.back()] = 1;
      }
      double sum = 0;
      MemoryAccount::count_loops({std::ssize(own), layout.classes}, MemoryAccount::kScalarSteps);
      for (int64_t label : own)
        for (int64_t c = 0; c < layout.classes; ++c)
          if (const double beyond = 1 - x[begin + label] + x[begin + c];
              marks[begin + c] == 0 && beyond > 0)
            sum += beyond;
      losses.push_back(sum / static_cast<double>(layout.classes));
    }
  }
  PT2_TRY(Tensor loss, reduce_rows_loss(losses, self.dtype(),
                                        self.dim() == 2 ? Sizes{layout.rows} : Sizes{}, reduction));
  return MultilabelResult{std::move(loss), std::move(is_target)};
}
// --- Gradients: slope(self, target) times the incoming gradient, divided by the count for a mean

// The result is row-major, unless a format is given.
Result<Meta> loss_gradient_meta(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                                MemoryFormat format = MemoryFormat::contiguous) {
  PT2_TRY_VOID(check_floating(self, "self"));
  const std::array all{self.sizes(), target.sizes(), grad_output.sizes()};
  PT2_TRY(const Sizes sizes, broadcast_sizes(all));
  return meta_like(broadcast_to(self, sizes), self.dtype(), format);
}
// For losses with one number, beside the reduction.
Result<Meta> bent_gradient_meta(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                                int64_t, double) {
  return loss_gradient_meta(grad_output, self, target);
}
template <class F>
Result<Tensor> loss_gradient(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                             int64_t reduction, F&& slope,
                             MemoryFormat format = MemoryFormat::contiguous) {
  PT2_TRY(const Meta meta, loss_gradient_meta(grad_output, self, target, format));
  PT2_TRY(Tensor out, allocate(meta));
  const double scale = reduction == kMeanLoss ? 1.0 / static_cast<double>(self.numel()) : 1.0;
  with_float_compute_type(out.dtype(), [&]<class C>() {
    elementwise<C>(
        out, kDtypeOf<C>,
        [&](C x, C y, C g) {
          return static_cast<C>(slope(static_cast<double>(x), static_cast<double>(y)) *
                                static_cast<double>(g) * scale);
        },
        self, target, grad_output);
  });
  return out;
}
Result<Tensor> smooth_l1_backward(const Tensor& grad_output, const Tensor& self,
                                  const Tensor& target, int64_t reduction, double beta) {
  return loss_gradient(grad_output, self, target, reduction, [beta](double x, double y) {
    const double z = x - y;
    if (z <= -beta) return -1.0;
    return z >= beta ? 1.0 : z / beta;
  });
}
Result<Tensor> huber_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                              int64_t reduction, double delta) {
  return loss_gradient(grad_output, self, target, reduction, [delta](double x, double y) {
    const double z = x - y;
    if (z <= -delta) return -delta;
    return z >= delta ? delta : z;
  });
}
// ATen/native/Loss.cpp soft_margin_loss_backward_out.
Result<Tensor> soft_margin_backward(Emitter& e, const Tensor& grad_output, const Tensor& self,
                                    const Tensor& target, int64_t reduction) {
  PT2_TRY_VOID(check_floating_or_complex(self, "self"));
  const double scale = reduction == kMeanLoss ? 1.0 / static_cast<double>(self.numel()) : 1.0;
  const auto power =
      e(aten<"exp.default">, {e(aten<"mul.Tensor">, {e(aten<"neg.default">, {target}), self})});
  const auto weighted = e(aten<"mul.Scalar">, {e(aten<"mul.Tensor">, {target, power}), -scale});
  const auto slope = e(aten<"div.Tensor">, {weighted, e(aten<"add.Scalar">, {power, 1})});
  return converted(e, e(aten<"mul.Tensor">, {slope, grad_output}), self.dtype());
}
Result<Meta> binary_cross_entropy_backward_meta(const Tensor& grad_output, const Tensor& self,
                                                const Tensor& target, const OptionalTensor& weight,
                                                int64_t) {
  PT2_TRY(Meta meta, loss_gradient_meta(grad_output, self, target, MemoryFormat::preserve));
  if (!weight) return meta;
  // Promotion needs a tensor of this rank, whatever its sizes are.
  const Tensor slope = Tensor::without_elements(meta.dtype, Sizes(meta.sizes.size(), 1));
  const std::array both{meta.sizes, weight->sizes()};
  PT2_TRY(Sizes sizes, broadcast_sizes(both));
  return Meta(Promotion().add(slope).add(*weight).result(), std::move(sizes));
}
Result<Tensor> binary_cross_entropy_backward(const Tensor& grad_output, const Tensor& self,
                                             const Tensor& target, const OptionalTensor& weight,
                                             int64_t reduction) {
  PT2_TRY(Tensor out, loss_gradient(
                          grad_output, self, target, reduction,
                          [](double x, double y) { return (x - y) / std::max((1 - x) * x, 1e-12); },
                          MemoryFormat::preserve));
  return weight ? apply(aten<"mul.Tensor">, {out, *weight}) : Result<Tensor>(out);
}

// The incoming gradient is one number for reduced losses, else one number per row.
bool has_one_gradient(const Tensor& grad_output, int64_t reduction) {
  return reduction != kNoReduction || grad_output.dim() == 0;
}
Result<void> check_row_gradients(const Tensor& grad_output, int64_t reduction,
                                 const ClassRows& layout) {
  const int64_t wanted = has_one_gradient(grad_output, reduction) ? 1 : layout.rows;
  if (grad_output.numel() == wanted) return {};
  return operator_error("grad_output: found " + grad_output.type_text() + ", expected " +
                        std::to_string(wanted) + " elements");
}
Result<Tensor> scale_rows(const std::vector<double>& slopes, const Tensor& self,
                          const Tensor& grad_output, int64_t reduction, const ClassRows& layout) {
  PT2_TRY_VOID(check_row_gradients(grad_output, reduction, layout));
  const bool whole = has_one_gradient(grad_output, reduction);
  const double mean = reduction == kMeanLoss ? 1.0 / static_cast<double>(layout.rows) : 1.0;
  PT2_TRY(Tensor out, allocate(Meta(self.dtype(), self.sizes())));
  const Input<double> grads(grad_output);
  Output<double> result(out);
  for (int64_t i = 0; i < out.numel(); ++i)
    result[i] = slopes[static_cast<size_t>(i)] * mean / static_cast<double>(layout.classes) *
                grads[whole ? 0 : i / layout.classes];
  return out;
}

Result<Meta> multi_margin_backward_meta(const Tensor& grad_output, const Tensor& self,
                                        const Tensor& target, const Scalar& p, const Scalar& margin,
                                        const OptionalTensor& weight, int64_t reduction) {
  PT2_TRY_VOID(multi_margin_meta(self, target, p, margin, weight, reduction));
  PT2_TRY(const ClassRows layout, class_rows(self));
  PT2_TRY_VOID(check_row_gradients(grad_output, reduction, layout));
  return Meta::like(self);
}
Result<Tensor> multi_margin_backward(const Tensor& grad_output, const Tensor& self,
                                     const Tensor& target, const Scalar& p, const Scalar& margin,
                                     const OptionalTensor& weight, int64_t reduction) {
  PT2_TRY_VOID(multi_margin(self, target, p, margin, weight, reduction));  // the same checks
  PT2_TRY(const ClassRows layout, class_rows(self));
  const bool squared = p.to_int() == 2;
  const Input<double> x(self);
  const Input<int64_t> labels(target);
  const Input<double> weights(weight.value_or(Tensor::zeros(Dtype::float64, {0})));
  std::vector<double> slopes(static_cast<size_t>(self.numel()), 0.0);
  for (int64_t i = 0; i < self.numel(); ++i) {
    const int64_t row = i / layout.classes;
    const int64_t own = row * layout.classes + labels[row];
    const double z = margin.to_double() - x[own] + x[i];
    if (i == own || !(z > 0)) continue;
    const double slope = (squared ? 2 * z : 1) * (weight ? weights[labels[row]] : 1.0);
    slopes[static_cast<size_t>(i)] += slope;
    slopes[static_cast<size_t>(own)] -= slope;
  }
  return scale_rows(slopes, self, grad_output, reduction, layout);
}

Result<Meta> multilabel_margin_backward_meta(const Tensor& grad_output, const Tensor& self,
                                             const Tensor& target, int64_t reduction,
                                             const Tensor& is_target) {
  PT2_TRY_VOID(multilabel_margin_meta(self, target, reduction));
  PT2_TRY_VOID(check_multilabel_target(is_target, self));
  PT2_TRY(const ClassRows layout, class_rows(self));
  PT2_TRY_VOID(check_row_gradients(grad_output, reduction, layout));
  return Meta::like(self);
}
Result<Tensor> multilabel_margin_backward(const Tensor& grad_output, const Tensor& self,
                                          const Tensor& target, int64_t reduction,
                                          const Tensor& is_target) {
  PT2_TRY_VOID(multilabel_margin_forward(self, target, reduction));  // the same checks
  PT2_TRY_VOID(check_multilabel_target(is_target, self));
  PT2_TRY(const ClassRows layout, class_rows(self));
  const Input<double> x(self);
  const Input<int64_t> labels(target);
  const Input<double> marks(is_target);
  std::vector<double> slopes(static_cast<size_t>(self.numel()), 0.0);
  for (int64_t row = 0; row < layout.rows; ++row) {
    const int64_t begin = row * layout.classes;
    for (int64_t k = 0; k < layout.classes && labels[begin + k] >= 0; ++k) {
      const int64_t own = begin + labels[begin + k];
      for (int64_t i = begin; i < begin + layout.classes; ++i) {
        if (marks[i] != 0 || !(1 - x[own] + x[i] > 0)) continue;
        slopes[static_cast<size_t>(own)] -= 1;
        slopes[static_cast<size_t>(i)] += 1;
      }
    }
  }
  return scale_rows(slopes, self, grad_output, reduction, layout);
}

// clang-format off
constexpr OpDef kMarginLossesOps[] = {
    op<"aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor", margin_ranking>.with({.autocast = AutocastRule::float32}),
    op<"aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor", hinge_embedding>.with({.autocast = AutocastRule::float32}),
    op<"aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor", cosine_embedding>.with({.autocast = AutocastRule::float32}),
    op<"aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor", poisson_nll>.with({.autocast = AutocastRule::float32}),
    op<"aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor", triplet_margin>.with({.autocast = AutocastRule::float32}),
    composed<"aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) -> Tensor", multi_margin_meta, multi_margin>.with({.autocast = AutocastRule::float32}),
    op<"aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", multilabel_margin>.with({.autocast = AutocastRule::float32}),
    composed<"aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)", multilabel_margin_meta, multilabel_margin_forward>.with({.autocast = AutocastRule::float32}),
    composed<"aten::multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p, Scalar margin, Tensor? weight=None, int reduction=1) -> Tensor", multi_margin_backward_meta, multi_margin_backward>,
    composed<"aten::multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, Tensor is_target) -> Tensor", multilabel_margin_backward_meta, multilabel_margin_backward>,
    composed<"aten::smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta) -> Tensor", bent_gradient_meta, smooth_l1_backward>,
    composed<"aten::huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta) -> Tensor", bent_gradient_meta, huber_backward>,
    op<"aten::soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor", soft_margin_backward>,
    composed<"aten::binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor", binary_cross_entropy_backward_meta, binary_cross_entropy_backward>,
};
// clang-format on

}  // namespace

std::span<const OpDef> margin_losses_ops() { return kMarginLossesOps; }

}  // namespace pt2::ops
