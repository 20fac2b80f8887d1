// Losses with a margin, and the gradients of elementwise losses.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/neural/loss_reduction.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

Result<Tensor> clamp_below(const Tensor& tensor) {
  return apply(aten<"clamp_min.default">, {tensor, int64_t{0}});
}

// max(0, -y (x1 - x2) + margin)
Result<Tensor> margin_ranking(const Tensor& input1, const Tensor& input2, const Tensor& target,
                              double margin, int64_t reduction) {
  if (input1.dim() != input2.dim() || input1.dim() != target.dim())
    return operator_error("found " + input1.type_text() + ", " + input2.type_text() + " and " +
                          target.type_text() + ", expected equal ranks");
  PT2_TRY(const Tensor negative, apply(aten<"neg.default">, {target}));
  PT2_TRY(const Tensor difference, apply(aten<"sub.Tensor">, {input1, input2}));
  PT2_TRY(const Tensor product, apply(aten<"mul.Tensor">, {negative, difference}));
  PT2_TRY(const Tensor shifted, apply(aten<"add.Scalar">, {product, margin}));
  PT2_TRY(const Tensor loss, clamp_below(shifted));
  return reduce_loss(loss, reduction);
}

// x where y is 1, max(0, margin - x) where it is -1.
Result<Tensor> hinge_embedding(const Tensor& self, const Tensor& target, double margin,
                               int64_t reduction) {
  PT2_TRY(const Tensor distance, apply(aten<"rsub.Scalar">, {self, margin}));
  PT2_TRY(const Tensor beyond, clamp_below(distance));
  PT2_TRY(const Tensor not_one, apply(aten<"ne.Scalar">, {target, int64_t{1}}));
  PT2_TRY(const Tensor not_minus_one, apply(aten<"ne.Scalar">, {target, int64_t{-1}}));
  // A target that is neither 1 nor -1 gets both terms.
  PT2_TRY(const Tensor apart, apply(aten<"where.ScalarOther">, {not_minus_one, self, int64_t{0}}));
  PT2_TRY(const Tensor together, apply(aten<"where.ScalarOther">, {not_one, beyond, int64_t{0}}));
  PT2_TRY(const Tensor swapped, apply(aten<"add.Tensor">, {apart, together}));
  return reduce_loss(swapped, reduction);
}

// 1 - cos where y is 1, max(0, cos - margin) where it is -1 (ATen/native/Loss.cpp).
Result<Tensor> cosine_embedding(const Tensor& input1, const Tensor& input2, const Tensor& target,
                                double margin, int64_t reduction) {
  if ((target.dim() != 0 && target.dim() != 1) || input1.dim() != target.dim() + 1 ||
      input2.dim() != target.dim() + 1)
    return operator_error("found " + input1.type_text() + ", " + input2.type_text() + " and " +
                          target.type_text() + ", expected a target with one dim less, at most 1");
  const Value::List last{target.dim()};
  auto sum_of = [&](const Tensor& a, const Tensor& b) -> Result<Tensor> {
    PT2_TRY(const Tensor product, apply(aten<"mul.Tensor">, {a, b}));
    return apply(aten<"sum.dim_IntList">, {product, last});
  };
  constexpr double kEpsilon = 1e-12;
  PT2_TRY(const Tensor product, sum_of(input1, input2));
  PT2_TRY(const Tensor square1, sum_of(input1, input1));
  PT2_TRY(const Tensor square2, sum_of(input2, input2));
  PT2_TRY(const Tensor norm1, apply(aten<"add.Scalar">, {square1, kEpsilon}));
  PT2_TRY(const Tensor norm2, apply(aten<"add.Scalar">, {square2, kEpsilon}));
  PT2_TRY(const Tensor norms, apply(aten<"mul.Tensor">, {norm1, norm2}));
  PT2_TRY(const Tensor length, apply(aten<"sqrt.default">, {norms}));
  PT2_TRY(const Tensor cosine, apply(aten<"div.Tensor">, {product, length}));
  PT2_TRY(const Tensor apart, apply(aten<"rsub.Scalar">, {cosine, int64_t{1}}));
  PT2_TRY(const Tensor shifted, apply(aten<"sub.Scalar">, {cosine, margin}));
  PT2_TRY(const Tensor beyond, clamp_below(shifted));
  PT2_TRY(const Tensor is_one, apply(aten<"eq.Scalar">, {target, int64_t{1}}));
  PT2_TRY(const Tensor is_minus_one, apply(aten<"eq.Scalar">, {target, int64_t{-1}}));
  PT2_TRY(const Tensor positive, apply(aten<"where.ScalarOther">, {is_one, apart, int64_t{0}}));
  PT2_TRY(const Tensor negative,
          apply(aten<"where.ScalarOther">, {is_minus_one, beyond, int64_t{0}}));
  PT2_TRY(const Tensor loss, apply(aten<"add.Tensor">, {positive, negative}));
  return reduce_loss(loss, reduction);
}

Result<Tensor> poisson_nll(const Tensor& input, const Tensor& target, bool log_input, bool full,
                           double eps, int64_t reduction) {
  Tensor loss;
  if (log_input) {
    PT2_TRY(const Tensor rate, apply(aten<"exp.default">, {input}));
    PT2_TRY(const Tensor product, apply(aten<"mul.Tensor">, {target, input}));
    PT2_TRY(loss, apply(aten<"sub.Tensor">, {rate, product}));
  } else {
    PT2_TRY(const Tensor shifted, apply(aten<"add.Scalar">, {input, eps}));
    PT2_TRY(const Tensor log, apply(aten<"log.default">, {shifted}));
    PT2_TRY(const Tensor product, apply(aten<"mul.Tensor">, {target, log}));
    PT2_TRY(loss, apply(aten<"sub.Tensor">, {input, product}));
  }
  if (!full) return reduce_loss(loss, reduction);
  // Stirling's approximation of log(target!), for targets above 1.
  PT2_TRY(const Tensor log, apply(aten<"log.default">, {target}));
  PT2_TRY(const Tensor product, apply(aten<"mul.Tensor">, {target, log}));
  PT2_TRY(const Tensor less, apply(aten<"sub.Tensor">, {product, target}));
  PT2_TRY(const Tensor circle, apply(aten<"mul.Scalar">, {target, 2 * std::numbers::pi}));
  PT2_TRY(const Tensor log_circle, apply(aten<"log.default">, {circle}));
  PT2_TRY(const Tensor stirling, apply(aten<"add.Tensor">, {less, log_circle, 0.5}));
  PT2_TRY(const Tensor small, apply(aten<"le.Scalar">, {target, int64_t{1}}));
  PT2_TRY(const Tensor term, apply(aten<"masked_fill.Scalar">, {stirling, small, int64_t{0}}));
  PT2_TRY(loss, apply(aten<"add.Tensor">, {loss, term}));
  return reduce_loss(loss, reduction);
}

Result<Tensor> triplet_margin(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                              double margin, double p, double eps, bool swap, int64_t reduction) {
  if (anchor.dim() != positive.dim() || anchor.dim() != negative.dim())
    return operator_error("found " + anchor.type_text() + ", " + positive.type_text() + " and " +
                          negative.type_text() + ", expected equal ranks");
  if (!(margin > 0)) return operator_error("margin: expected a number above 0");
  PT2_TRY(const Tensor near, apply(aten<"pairwise_distance.default">, {anchor, positive, p, eps}));
  PT2_TRY(Tensor far, apply(aten<"pairwise_distance.default">, {anchor, negative, p, eps}));
  if (swap) {
    PT2_TRY(const Tensor other,
            apply(aten<"pairwise_distance.default">, {positive, negative, p, eps}));
    PT2_TRY(far, apply(aten<"minimum.default">, {far, other}));
  }
  PT2_TRY(const Tensor shifted, apply(aten<"add.Scalar">, {near, margin}));
  PT2_TRY(const Tensor difference, apply(aten<"sub.Tensor">, {shifted, far}));
  PT2_TRY(const Tensor loss, clamp_below(difference));
  return reduce_loss(loss, reduction);
}

// --- Margins between classes: [C] or [N, C]

struct ClassRows {
  int64_t rows = 1;
  int64_t classes = 0;
};
Result<ClassRows> class_rows(const Tensor& self) {
  PT2_TRY_VOID(check_floating(self, "self"));
  if (dtype_size(self.dtype()) < 4)
    return operator_error("self: found " + std::string(dtype_name(self.dtype())) +
                          ", expected float32 or float64");
  if (self.dim() > 2 || (self.dim() == 2 && self.size(1) == 0) ||
      (self.dim() == 1 && self.size(0) == 0))
    return operator_error("self: found " + self.type_text() + ", expected [C] or [N, C]");
  ClassRows out{self.dim() == 2 ? self.size(0) : 1, 1};
  if (self.dim() > 0) out.classes = self.size(self.dim() - 1);
  return out;
}

Result<Tensor> reduce_rows_loss(const std::vector<double>& losses, const Tensor& self,
                                int64_t reduction) {
  Sizes sizes;
  if (self.dim() == 2) sizes.push_back(self.size(0));
  PT2_TRY(Tensor out, allocate(Meta(self.dtype(), sizes)));
  store_elements<double>(losses.data(), out.numel(), out.dtype(), 1, out.raw_data());
  return reduce_loss(out, reduction);
}

Result<Tensor> multi_margin(const Tensor& self, const Tensor& target, const Scalar& p,
                            const Scalar& margin, const OptionalTensor& weight, int64_t reduction) {
  PT2_TRY(const ClassRows layout, class_rows(self));
  const int64_t power = p.to_int();
  if (power != 1 && power != 2) return operator_error("p: found " + std::to_string(power));
  if (target.dim() > 1 || target.numel() != layout.rows)
    return operator_error("target: found " + target.type_text() + ", expected " +
                          std::to_string(layout.rows) + " classes");
  PT2_TRY_VOID(check_index_dtype(target, "target"));
  if (weight) PT2_TRY_VOID(check_sizes(*weight, {layout.classes}, "weight"));
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
      const double z = std::max(margin.to_double() - values[label] + values[c], 0.0);
      sum += (power == 1 ? z : z * z) * (weight ? weights[label] : 1.0);
    }
    losses.push_back(sum / static_cast<double>(layout.classes));
  }
  return reduce_rows_loss(losses, self, reduction);
}

using MultilabelResult = std::tuple<Tensor, Tensor>;

// The target classes of a row end at its first negative number.
Result<MultilabelResult> multilabel_margin_forward(const Tensor& self, const Tensor& target,
                                                   int64_t reduction) {
  PT2_TRY(const ClassRows layout, class_rows(self));
  PT2_TRY_VOID(check_sizes(target, self.sizes(), "target"));
  PT2_TRY_VOID(check_index_dtype(target, "target"));
  PT2_TRY(Tensor is_target, allocate(Meta(self.dtype(), target.sizes())));
  const Input<double> x(self);
  const Input<int64_t> labels(target);
  std::vector<double> losses;
  {
    Output<double> marks(is_target);
    for (int64_t row = 0; row < layout.rows; ++row) {
      const int64_t begin = row * layout.classes;
      std::vector<int64_t> own;
      for (int64_t c = 0; c < layout.classes && labels[begin + c] >= 0; ++c) {
        if (labels[begin + c] >= layout.classes)
          return operator_error("target: found " + std::to_string(labels[begin + c]) +
                                ", expected less than " + std::to_string(layout.classes));
        own.push_back(labels[begin + c]);
        marks[begin + own.back()] = 1;
      }
      double sum = 0;
      for (int64_t label : own)
        for (int64_t c = 0; c < layout.classes; ++c)
          if (marks[begin + c] == 0) sum += std::max(1 - x[begin + label] + x[begin + c], 0.0);
      losses.push_back(sum / static_cast<double>(layout.classes));
    }
  }
  PT2_TRY(Tensor loss, reduce_rows_loss(losses, self, reduction));
  return MultilabelResult{std::move(loss), std::move(is_target)};
}
Result<Tensor> multilabel_margin(const Tensor& self, const Tensor& target, int64_t reduction) {
  PT2_TRY(auto parts, multilabel_margin_forward(self, target, reduction));
  return std::move(std::get<0>(parts));
}

// --- Gradients: slope(self, target) times the incoming gradient, divided by the count for a mean

template <class F>
Result<Tensor> loss_gradient(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                             int64_t reduction, F&& slope) {
  PT2_TRY_VOID(check_floating(self, "self"));
  const std::array all{self.sizes(), target.sizes(), grad_output.sizes()};
  PT2_TRY(const Sizes sizes, broadcast_sizes(all));
  PT2_TRY(Tensor out, allocate(Meta(self.dtype(), sizes)));
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
Result<Tensor> soft_margin_backward(const Tensor& grad_output, const Tensor& self,
                                    const Tensor& target, int64_t reduction) {
  return loss_gradient(grad_output, self, target, reduction, [](double x, double y) {
    const double z = std::exp(-y * x);
    return -y * z / (z + 1);
  });
}
Result<Tensor> binary_cross_entropy_backward(const Tensor& grad_output, const Tensor& self,
                                             const Tensor& target, const OptionalTensor& weight,
                                             int64_t reduction) {
  PT2_TRY(Tensor out, loss_gradient(grad_output, self, target, reduction, [](double x, double y) {
            return (x - y) / std::max((1 - x) * x, 1e-12);
          }));
  return weight ? apply(aten<"mul.Tensor">, {out, *weight}) : Result<Tensor>(out);
}

// The incoming gradient is one number for reduced losses, else one per row.
Result<Tensor> scale_rows(const std::vector<double>& slopes, const Tensor& self,
                          const Tensor& grad_output, int64_t reduction, const ClassRows& layout) {
  const bool whole = reduction != kNoReduction || grad_output.dim() == 0;
  if (grad_output.numel() != (whole ? 1 : layout.rows))
    return operator_error("grad_output: found " + grad_output.type_text());
  const double mean = reduction == kMeanLoss ? 1.0 / static_cast<double>(layout.rows) : 1.0;
  PT2_TRY(Tensor out, allocate(Meta(self.dtype(), self.sizes())));
  const Input<double> grads(grad_output);
  Output<double> result(out);
  for (int64_t i = 0; i < out.numel(); ++i)
    result[i] = slopes[static_cast<size_t>(i)] * mean / static_cast<double>(layout.classes) *
                grads[whole ? 0 : i / layout.classes];
  return out;
}

Result<Tensor> multi_margin_backward(const Tensor& grad_output, const Tensor& self,
                                     const Tensor& target, const Scalar& p, const Scalar& margin,
                                     const OptionalTensor& weight, int64_t reduction) {
  PT2_TRY_VOID(multi_margin(self, target, p, margin, weight, reduction));  // the same conditions
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

Result<Tensor> multilabel_margin_backward(const Tensor& grad_output, const Tensor& self,
                                          const Tensor& target, int64_t reduction,
                                          const Tensor& is_target) {
  PT2_TRY_VOID(multilabel_margin_forward(self, target, reduction));  // the same conditions
  PT2_TRY_VOID(check_sizes(is_target, self.sizes(), "is_target"));
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
constexpr OpDef kOps[] = {
    op<"aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor", margin_ranking>.with({.autocast = AutocastRule::float32, .composite = true}),
    op<"aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor", hinge_embedding>.with({.autocast = AutocastRule::float32, .composite = true}),
    op<"aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor", cosine_embedding>.with({.autocast = AutocastRule::float32, .composite = true}),
    op<"aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor", poisson_nll>.with({.autocast = AutocastRule::float32, .composite = true}),
    op<"aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor", triplet_margin>.with({.autocast = AutocastRule::float32, .composite = true}),
    op<"aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) -> Tensor", multi_margin>.with({.autocast = AutocastRule::float32}),
    op<"aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", multilabel_margin>.with({.autocast = AutocastRule::float32, .composite = true}),
    op<"aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)", multilabel_margin_forward>.with({.autocast = AutocastRule::float32}),
    op<"aten::multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p, Scalar margin, Tensor? weight=None, int reduction=1) -> Tensor", multi_margin_backward>,
    op<"aten::multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, Tensor is_target) -> Tensor", multilabel_margin_backward>,
    op<"aten::smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta) -> Tensor", smooth_l1_backward>,
    op<"aten::huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta) -> Tensor", huber_backward>,
    op<"aten::soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor", soft_margin_backward>,
    op<"aten::binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor", binary_cross_entropy_backward>,
};
// clang-format on

}  // namespace

std::span<const OpDef> margin_losses_ops() { return kOps; }

}  // namespace pt2::ops
