// Connectionist temporal classification: the log probability of a target, summed over all its
// alignments.
#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/neural/loss_reduction.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

struct Ctc {
  Tensor log_probs;  // [T, N, C]
  Tensor targets;    // [N, S], or all targets concatenated
  Sizes input_lengths;
  Sizes target_lengths;
  int64_t blank;

  int64_t batch() const { return log_probs.size(1); }
  int64_t longest() const {
    return target_lengths.empty() ? 0 : *std::ranges::max_element(target_lengths);
  }
};

Result<void> check_ctc(const Ctc& ctc) {
  PT2_TRY_VOID(check_rank(ctc.log_probs, 3, "log_probs"));
  PT2_TRY_VOID(check_float_or_double(ctc.log_probs, "log_probs"));
  PT2_TRY_VOID(check_index_dtype(ctc.targets, "targets"));
  const int64_t batch = ctc.batch();
  if (ctc.blank < 0 || ctc.blank >= ctc.log_probs.size(2))
    return operator_error("blank: found " + std::to_string(ctc.blank) + ", expected a class of " +
                          ctc.log_probs.type_text());
  if (static_cast<int64_t>(ctc.input_lengths.size()) != batch ||
      static_cast<int64_t>(ctc.target_lengths.size()) != batch)
    return operator_error("found " + std::to_string(ctc.input_lengths.size()) + " and " +
                          std::to_string(ctc.target_lengths.size()) + " lengths, expected " +
                          std::to_string(batch));
  int64_t sum = 0;
  for (int64_t length : ctc.target_lengths) {
    if (length < 0)
      return operator_error("target_lengths: found " + std::to_string(length) +
                            ", expected 0 or more");
    PT2_TRY(sum, multiply_add(1, sum, length));
  }
  for (int64_t length : ctc.input_lengths)
    if (length < 0 || length > ctc.log_probs.size(0))
      return operator_error("input_lengths: found " + std::to_string(length) + ", expected 0 to " +
                            std::to_string(ctc.log_probs.size(0)));
  if (ctc.targets.dim() == 1) {
    if (ctc.targets.size(0) != sum)
      return operator_error("targets: found " + ctc.targets.type_text() + ", expected " +
                            std::to_string(sum) + " classes");
    return {};
  }
  PT2_TRY_VOID(check_rank(ctc.targets, 2, "targets"));
  if (ctc.targets.size(0) != batch || ctc.targets.size(1) < ctc.longest())
    return operator_error("targets: found " + ctc.targets.type_text() + ", expected " +
                          std::to_string(batch) + " rows of at least " +
                          std::to_string(ctc.longest()));
  return {};
}

double log_sum(double a, double b, double c) {
  const double most = std::max({a, b, c});
  // A NaN behind -inf is not the maximum, but the sum.
  if (most == -HUGE_VAL) return a + b + c;
  return most + std::log(std::exp(a - most) + std::exp(b - most) + std::exp(c - most));
}

// The forward recursion over blank, l1, blank, l2, ..., blank (Graves et al. 2006). `alpha` has a
// row of 2 S + 1 numbers for each time step. Returns the loss.
double forward_sums(const double* log_probs, int64_t time_stride, const int64_t* target,
                    int64_t input_length, int64_t target_length, int64_t blank, double* alpha,
                    int64_t width) {
  auto label = [&](int64_t s) { return s % 2 == 0 ? blank : target[s / 2]; };
  const int64_t states = 2 * target_length + 1;
  if (input_length == 0) return target_length == 0 ? -0.0 : HUGE_VAL;
  alpha[0] = log_probs[blank];
  if (target_length > 0) alpha[1] = log_probs[target[0]];
  for (int64_t t = 1; t < input_length; ++t) {
    const double* before = alpha + (t - 1) * width;
    double* now = alpha + t * width;
    for (int64_t s = 0; s < states; ++s) {
      const double one = s > 0 ? before[s - 1] : -HUGE_VAL;
      const double two =
          s > 1 && label(s) != label(s - 2) && s % 2 == 1 ? before[s - 2] : -HUGE_VAL;
      now[s] = log_sum(before[s], one, two) + log_probs[t * time_stride + label(s)];
    }
  }
  const double* last = alpha + (input_length - 1) * width;
  const double end = last[states - 1];
  return -log_sum(end, target_length > 0 ? last[states - 2] : -HUGE_VAL, -HUGE_VAL);
}

using CtcResult = std::tuple<Tensor, Tensor>;

Result<CtcResult> run_ctc(const Ctc& ctc) {
  PT2_TRY_VOID(check_ctc(ctc));
  const int64_t batch = ctc.batch();
  const int64_t classes = ctc.log_probs.size(2);
  const int64_t times = ctc.log_probs.size(0);
  PT2_TRY(const int64_t width, multiply_add(2, ctc.longest(), 1));
  PT2_TRY(Tensor losses, allocate(Meta(ctc.log_probs.dtype(), {batch})));
  PT2_TRY(Tensor alphas, allocate(Meta(ctc.log_probs.dtype(), {batch, times, width})));
  const Input<double> probabilities(ctc.log_probs);
  const Input<int64_t> labels(ctc.targets);
  Output<double> loss(losses);
  Output<double> alpha(alphas);
  std::fill(alpha.data(), alpha.data() + alphas.numel(), -HUGE_VAL);
  int64_t begin = 0;
  for (int64_t n = 0; n < batch; ++n) {
    const auto at = static_cast<size_t>(n);
    const int64_t length = ctc.target_lengths[at];
    const int64_t* target =
        labels.data() + (ctc.targets.dim() == 1 ? begin : n * ctc.targets.size(1));
    begin += length;
    for (int64_t s = 0; s < length; ++s)
      if (target[s] < 0 || target[s] >= classes)
        return operator_error("targets: found " + std::to_string(target[s]) + ", expected 0 to " +
                              std::to_string(classes - 1));
    loss[n] = forward_sums(probabilities.data() + n * classes, batch * classes, target,
                           ctc.input_lengths[at], length, ctc.blank,
                           alpha.data() + n * times * width, width);
  }
  return CtcResult{losses, alphas};
}

Result<Sizes> lengths_of(const Tensor& lengths) {
  PT2_TRY_VOID(check_index_dtype(lengths, "lengths"));
  const Input<int64_t> numbers(lengths);
  return Sizes(numbers.data(), numbers.data() + numbers.size());
}

Result<std::array<Meta, 2>> inner_ctc_meta(const Tensor& log_probs, const Tensor& targets,
                                           const Sizes& input_lengths, const Sizes& target_lengths,
                                           int64_t blank, bool) {
  const Ctc ctc{log_probs, targets, input_lengths, target_lengths, blank};
  PT2_TRY_VOID(check_ctc(ctc));
  PT2_TRY(const int64_t width, multiply_add(2, ctc.longest(), 1));
  return std::array{Meta(log_probs.dtype(), {ctc.batch()}),
                    Meta(log_probs.dtype(), {ctc.batch(), log_probs.size(0), width})};
}
Result<CtcResult> inner_ctc(const Tensor& log_probs, const Tensor& targets,
                            const Sizes& input_lengths, const Sizes& target_lengths, int64_t blank,
                            bool) {
  return run_ctc({log_probs, targets, input_lengths, target_lengths, blank});
}
Result<CtcResult> inner_ctc_tensors(const Tensor& log_probs, const Tensor& targets,
                                    const Tensor& input_lengths, const Tensor& target_lengths,
                                    int64_t blank, bool zero_infinity) {
  PT2_TRY(const Sizes inputs, lengths_of(input_lengths));
  PT2_TRY(const Sizes outputs, lengths_of(target_lengths));
  return inner_ctc(log_probs, targets, inputs, outputs, blank, zero_infinity);
}

// --- Gradients (ATen/native/LossCTC.cpp ctc_loss_backward_cpu_template)

// One element of the batch. Each time step is a row: rows of log_probs are `time_stride` numbers
// apart, rows of alpha `width` numbers.
struct Alignments {
  const double* log_probs;
  const double* alpha;
  const int64_t* target;
  int64_t time_stride;
  int64_t width;
  int64_t times;
  int64_t length;  // length of the target
  int64_t blank;

  int64_t label(int64_t s) const { return s % 2 == 0 ? blank : target[s / 2]; }
};

// The backward recursion. For each time and class, adds up the probabilities of all alignments that
// pass there, as logarithms, into `passing`, which has the strides of log_probs.
void add_passing(const Alignments& of, double* passing) {
  const int64_t states = 2 * of.length + 1;
  std::vector<double> later(static_cast<size_t>(states), -HUGE_VAL), now(later);
  for (int64_t t = of.times; t-- > 0;) {
    const double* log_probs = of.log_probs + t * of.time_stride;
    for (int64_t s = 0; s < states; ++s) {
      const auto at = static_cast<size_t>(s);
      const int64_t label = of.label(s);
      double rest = s >= states - 2 ? 0 : -HUGE_VAL;
      if (t + 1 < of.times) {
        const bool skips = s + 2 < states && of.label(s + 2) != label;
        rest = log_sum(later[at], s + 1 < states ? later[at + 1] : -HUGE_VAL,
                       skips ? later[at + 2] : -HUGE_VAL);
      }
      now[at] = rest + log_probs[label];
      double& sum = passing[t * of.time_stride + label];
      sum = log_sum(sum, of.alpha[t * of.width + s] + now[at], -HUGE_VAL);
    }
    std::swap(later, now);
  }
}

Result<void> check_forward(const Ctc& ctc, const Tensor& grad, const Tensor& neg_log_likelihood,
                           const Tensor& log_alpha) {
  PT2_TRY_VOID(check_ctc(ctc));
  PT2_TRY(const int64_t width, multiply_add(2, ctc.longest(), 1));
  PT2_TRY_VOID(check_sizes(grad, {ctc.batch()}, "grad"));
  PT2_TRY_VOID(check_sizes(neg_log_likelihood, {ctc.batch()}, "neg_log_likelihood"));
  PT2_TRY_VOID(check_sizes(log_alpha, {ctc.batch(), ctc.log_probs.size(0), width}, "log_alpha"));
  for (const Tensor* tensor : {&grad, &neg_log_likelihood, &log_alpha})
    PT2_TRY_VOID(check_same_dtype(*tensor, ctc.log_probs, "a result of the forward pass"));
  return {};
}

Result<Tensor> ctc_backward(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                            const Sizes& input_lengths, const Sizes& target_lengths,
                            const Tensor& neg_log_likelihood, const Tensor& log_alpha,
                            int64_t blank, bool zero_infinity) {
  const Ctc ctc{log_probs, targets, input_lengths, target_lengths, blank};
  PT2_TRY_VOID(check_forward(ctc, grad, neg_log_likelihood, log_alpha));
  PT2_TRY(Tensor gradient, allocate(Meta(log_probs.dtype(), log_probs.sizes())));
  const int64_t classes = log_probs.size(2), stride = ctc.batch() * classes;
  const Input<double> upstream(grad), probabilities(log_probs), losses(neg_log_likelihood),
      alphas(log_alpha);
  const Input<int64_t> labels(targets);
  Output<double> result(gradient);
  std::vector<double> passing(static_cast<size_t>(log_probs.numel()), -HUGE_VAL);
  int64_t begin = 0;
  for (int64_t n = 0; n < ctc.batch(); ++n) {
    const auto at = static_cast<size_t>(n);
    Alignments of{.log_probs = probabilities.data() + n * classes,
                  .alpha = alphas.data() + n * log_alpha.size(1) * log_alpha.size(2),
                  .target = labels.data() + (targets.dim() == 1 ? begin : n * targets.size(1)),
                  .time_stride = stride,
                  .width = log_alpha.size(2),
                  .times = input_lengths[at],
                  .length = target_lengths[at],
                  .blank = blank};
    begin += of.length;
    for (int64_t s = 0; s < of.length; ++s)
      if (of.target[s] < 0 || of.target[s] >= classes)
        return operator_error("targets: found " + std::to_string(of.target[s]) +
                              ", expected 0 to " + std::to_string(classes - 1));
    if (zero_infinity && std::isinf(losses[n])) continue;
    add_passing(of, passing.data() + n * classes);
    for (int64_t t = 0; t < of.times; ++t)
      for (int64_t c = 0; c < classes; ++c) {
        const int64_t i = t * stride + n * classes + c;
        const double log_prob = probabilities[i];
        result[i] = (std::exp(log_prob) -
                     std::exp(passing[static_cast<size_t>(i)] + losses[n] - log_prob)) *
                    upstream[n];
      }
  }
  return gradient;
}
// Lengths are Sizes or a Tensor.
template <class Lengths>
Meta ctc_backward_meta(const Tensor&, const Tensor& log_probs, const Tensor&, const Lengths&,
                       const Lengths&, const Tensor&, const Tensor&, int64_t, bool) {
  return Meta::like(log_probs);
}
Result<Tensor> ctc_backward_tensors(const Tensor& grad, const Tensor& log_probs,
                                    const Tensor& targets, const Tensor& input_lengths,
                                    const Tensor& target_lengths, const Tensor& neg_log_likelihood,
                                    const Tensor& log_alpha, int64_t blank, bool zero_infinity) {
  PT2_TRY(const Sizes inputs, lengths_of(input_lengths));
  PT2_TRY(const Sizes outputs, lengths_of(target_lengths));
  return ctc_backward(grad, log_probs, targets, inputs, outputs, neg_log_likelihood, log_alpha,
                      blank, zero_infinity);
}

// With reduction 1: the mean over the batch, after dividing each loss by its target's length
// (ATen/native/LossCTC.cpp).
Result<Tensor> ctc_loss(Emitter& e, const Tensor& log_probs, const Tensor& targets,
                        const Sizes& input_lengths, const Sizes& target_lengths, int64_t blank,
                        int64_t reduction, bool zero_infinity) {
  const bool batched = log_probs.dim() == 3;
  const auto whole =
      batched ? Result<Tensor>(log_probs) : e(aten<"unsqueeze.default">, {log_probs, 1});
  auto loss = e(aten<"_ctc_loss.default">,
                {whole, targets, input_lengths, target_lengths, blank, zero_infinity});
  if (zero_infinity)
    loss = e(aten<"masked_fill.Scalar">, {loss, e(aten<"isinf.default">, {loss}), 0});
  if (reduction == kMeanLoss) {
    Tensors lengths;
    for (const int64_t length : target_lengths) {
      PT2_TRY(Tensor number,
              e(aten<"full.default">, {Sizes{1}, std::max<int64_t>(length, 1), Dtype::int64}));
      lengths.push_back(std::move(number));
    }
    loss = e(aten<"div.Tensor">, {loss, e(aten<"cat.default">, {lengths})});
  }
  if (!batched && reduction == kNoReduction) return e(aten<"squeeze.dim">, {loss, 0});
  return reduce_loss(e, loss, reduction);
}
// Lengths in tensors decide only about elements.
Result<Meta> ctc_loss_tensors_meta(const Tensor& log_probs, const Tensor&, const Tensor&,
                                   const Tensor&, int64_t, int64_t reduction, bool) {
  const bool batched = log_probs.dim() == 3;
  if (!batched) PT2_TRY_VOID(check_rank(log_probs, 2, "log_probs"));
  const bool has_rows = batched && reduction == kNoReduction;
  return Meta(log_probs.dtype(), has_rows ? Sizes{log_probs.size(1)} : Sizes{});
}
Result<Tensor> ctc_loss_tensors(const Tensor& log_probs, const Tensor& targets,
                                const Tensor& input_lengths, const Tensor& target_lengths,
                                int64_t blank, int64_t reduction, bool zero_infinity) {
  PT2_TRY(const Sizes inputs, lengths_of(input_lengths));
  PT2_TRY(const Sizes outputs, lengths_of(target_lengths));
  return apply(aten<"ctc_loss.IntList">,
               {log_probs, targets, inputs, outputs, blank, reduction, zero_infinity});
}

// clang-format off
constexpr OpDef kCtcOps[] = {
    composed<"aten::_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)", inner_ctc_meta, inner_ctc>,
    composed<"aten::_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)", depends_on_data, inner_ctc_tensors>,
    composed<"aten::_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor", ctc_backward_meta<Sizes>, ctc_backward>.with({.slope = Slope::linear, .linear_in = "grad"}),
    composed<"aten::_ctc_loss_backward.Tensor(Tensor grad, Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor", ctc_backward_meta<Tensor>, ctc_backward_tensors>.with({.slope = Slope::linear, .linear_in = "grad"}),
    op<"aten::ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor", ctc_loss>.with({.autocast = AutocastRule::float32}),
    composed<"aten::ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor", ctc_loss_tensors_meta, ctc_loss_tensors>.with({.autocast = AutocastRule::float32, .undecomposed = Undecomposed::reads_elements}),
};
// clang-format on

}  // namespace

std::span<const OpDef> ctc_ops() { return kCtcOps; }

}  // namespace pt2::ops
