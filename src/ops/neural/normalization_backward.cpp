// Gradients of batch, layer and group normalisation. With xhat = (x - mean) * rstd and g the
// gradient of xhat, the gradient of x is rstd * (g - mean(g) - xhat * mean(g * xhat)). The means
// are over the elements that share a statistic.
#include <algorithm>
#include <cmath>

#include "base/memory_account.h"
#include "kernels/gradients/rows.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/memory_format.h"
#include "ops/neural/norm_parameters.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

using Gradients = std::tuple<OptionalTensor, OptionalTensor, OptionalTensor>;

// Divides the elements of x, in their order, into spans. All elements of a span have the same
// statistic. They share one parameter, or have one parameter each.
struct Layout {
  int64_t span = 1;  // number of elements of a span
  int64_t statistics = 0;
  int64_t spans_of_statistic = 1;  // number of consecutive spans with the same statistic
  int64_t count = 1;               // number of elements that share one statistic
  int64_t parameters = 0;
  bool has_rows_of_parameters = false;
  size_t statistic_of(int64_t at) const {
    return static_cast<size_t>(at / spans_of_statistic % statistics);
  }
  size_t parameter_of(int64_t at) const { return static_cast<size_t>(at % parameters); }
};

struct Problem {
  const Tensor& grad_out;
  const Tensor& input;
  std::vector<double> mean;
  std::vector<double> rstd;
  std::vector<double> weight;  // none if there is no weight
  Layout layout;
  // False if the statistics are constants.
  bool through_statistics = true;
};

template <class C>
class Spans {
 public:
  explicit Spans(const Problem& problem)
      : problem_(problem),
        layout_(problem.layout),
        gradient_(problem.grad_out),
        x_(problem.input),
        count_(row_count(x_.size(), layout_.span)) {
    if (layout_.has_rows_of_parameters)
      weights_.assign(problem.weight.begin(), problem.weight.end());
  }

  Tensor input_gradient() const {
    const auto statistics = static_cast<size_t>(layout_.statistics);
    Scratch<double> sum(statistics, 0.0);
    Scratch<double> dot(statistics, 0.0);
    for (int64_t at = 0; at < (problem_.through_statistics ? count_ : 0); ++at) {
      const size_t s = layout_.statistic_of(at);
      const kernels::NormalizedSums sums = kernels::sum_normalized(span(at));
      sum[s] += sums.gradient * weight_of(at);
      dot[s] += sums.product * weight_of(at);
    }
    Tensor out = Tensor::zeros(problem_.input.dtype(), problem_.input.sizes());
    Output<C> result(out);
    const double number = static_cast<double>(layout_.count);
    for (int64_t at = 0; at < count_; ++at) {
      const size_t s = layout_.statistic_of(at);
      const double factor = problem_.rstd[s];
      kernels::combine_normalized(span(at), factor * weight_of(at),
                                  -factor * factor * factor * dot[s] / number,
                                  -factor * sum[s] / number, result.data() + at * layout_.span);
    }
    return out;
  }

  // Sums over all elements that share a parameter: of the gradient times xhat for weights, of the
  // gradient for biases.
  std::pair<Scratch<double>, Scratch<double>> parameter_gradients() const {
    const auto parameters = static_cast<size_t>(layout_.parameters);
    std::pair<Scratch<double>, Scratch<double>> out;
    auto& [weights, biases] = out;
    weights.assign(parameters, 0.0);
    biases.assign(parameters, 0.0);
    for (int64_t at = 0; at < count_; ++at) {
      const double factor = problem_.rstd[layout_.statistic_of(at)];
      if (layout_.has_rows_of_parameters) {
        kernels::add_normalized(span(at), factor, weights.data(), biases.data());
        continue;
      }
      const kernels::NormalizedSums sums = kernels::sum_normalized(span(at));
      weights[layout_.parameter_of(at)] += sums.product * factor;
      biases[layout_.parameter_of(at)] += sums.gradient;
    }
    return out;
  }

 private:
  kernels::NormalizedSpan<C> span(int64_t at) const {
    return {.gradient = gradient_.data() + at * layout_.span,
            .x = x_.data() + at * layout_.span,
            .weight = weights_.empty() ? nullptr : weights_.data(),
            .count = layout_.span,
            .center = static_cast<C>(problem_.mean[layout_.statistic_of(at)])};
  }
  // The weight of the whole span; 1 if the span has none or one per element.
  double weight_of(int64_t at) const {
    const bool has_one = !layout_.has_rows_of_parameters && !problem_.weight.empty();
    return has_one ? problem_.weight[layout_.parameter_of(at)] : 1.0;
  }

  const Problem& problem_;
  const Layout& layout_;
  Input<C> gradient_;
  Input<C> x_;
  int64_t count_;
  Scratch<C> weights_;
};

Result<void> check_gradients(const Tensor& grad_out, const Tensor& input,
                             const std::vector<bool>& mask) {
  PT2_TRY_VOID(check_floating(input, "input"));
  PT2_TRY_VOID(check_sizes(grad_out, input.sizes(), "grad_out"));
  if (mask.size() != 3) return operator_error("output_mask: expected 3 bools");
  return {};
}

using GradientMetas = std::array<Meta, 3>;

// No Meta describes a gradient that is None because the mask excludes it.
Result<GradientMetas> gradient_metas(const Tensor& grad_out, const Tensor& input,
                                     const std::vector<bool>& mask, Dtype dtype,
                                     const Sizes& parameter_sizes) {
  PT2_TRY_VOID(check_gradients(grad_out, input, mask));
  if (std::ranges::find(mask, false) != mask.end())
    return Error{ErrorCode::unsupported, "a result is None", ""};
  const Meta parameter(dtype, parameter_sizes);
  return GradientMetas{Meta::like(input), parameter, parameter};
}

Result<Gradients> gradients(const Problem& problem, const std::vector<bool>& mask, Dtype dtype,
                            const Sizes& parameter_sizes) {
  PT2_TRY_VOID(check_gradients(problem.grad_out, problem.input, mask));
  const auto statistics = static_cast<size_t>(problem.layout.statistics);
  if (problem.input.numel() > 0 &&
      (problem.mean.size() != statistics || problem.rstd.size() != statistics))
    return operator_error("mean and rstd: found " + std::to_string(problem.mean.size()) +
                          " elements, expected " + std::to_string(statistics));
  const auto parameters = static_cast<size_t>(problem.layout.parameters);
  if (!problem.weight.empty() && problem.weight.size() != parameters)
    return operator_error("weight: found " + std::to_string(problem.weight.size()) +
                          " elements, expected " + std::to_string(parameters));
  Gradients out;
  with_float_compute_type(problem.input.dtype(), [&]<class C>() {
    const Spans<C> spans(problem);
    if (mask[0]) std::get<0>(out) = spans.input_gradient();
    if (!mask[1] && !mask[2]) return;
    const auto [weights, biases] = spans.parameter_gradients();
    const auto store = [&](const Scratch<double>& values) {
      Tensor stored = Tensor::zeros(dtype, parameter_sizes);
      store_elements<double>(values.data(), stored.numel(), dtype, 1, stored.raw_data());
      return stored;
    };
    if (mask[1]) std::get<1>(out) = store(weights);
    if (mask[2]) std::get<2>(out) = store(biases);
  });
  return out;
}

// Gives the gradient of the input the input's memory format.
Result<GradientMetas> formatted(Result<GradientMetas> metas, const Tensor& input) {
  if (metas) (*metas)[0] = like_in_format(input);
  return metas;
}
Result<Gradients> formatted(Gradients out, const Tensor& input) {
  const Meta meta = like_in_format(input);
  if (!std::get<0>(out) || meta.strides.empty()) return out;
  PT2_TRY(Tensor gradient, allocate(meta));
  copy_elements(gradient, *std::get<0>(out));
  std::get<0>(out) = std::move(gradient);
  return out;
}

// The number of elements that share a statistic.
Result<int64_t> normalized_length(const Tensor& input, const Sizes& normalized_shape) {
  const auto length = checked_numel(normalized_shape);
  const size_t rank = normalized_shape.size();
  if (!length || rank > input.sizes().size() ||
      !std::equal(normalized_shape.begin(), normalized_shape.end(),
                  input.sizes().end() - static_cast<int64_t>(rank)))
    return operator_error("input: found " + input.type_text() + ", expected what ends in " +
                          sizes_text(normalized_shape));
  return *length;
}
Dtype layer_norm_dtype(const Tensor& input, const OptionalTensor& weight,
                       const OptionalTensor& bias) {
  const OptionalTensor& parameter = weight ? weight : bias;
  return parameter ? parameter->dtype() : input.dtype();
}
Result<GradientMetas> layer_norm_backward_meta(const Tensor& grad_out, const Tensor& input,
                                               const Sizes& normalized_shape, const Tensor&,
                                               const Tensor&, const OptionalTensor& weight,
                                               const OptionalTensor& bias,
                                               const std::vector<bool>& output_mask) {
  PT2_TRY_VOID(normalized_length(input, normalized_shape));
  return gradient_metas(grad_out, input, output_mask, layer_norm_dtype(input, weight, bias),
                        normalized_shape);
}
Result<Gradients> native_layer_norm_backward(const Tensor& grad_out, const Tensor& input,
                                             const Sizes& normalized_shape, const Tensor& mean,
                                             const Tensor& rstd, const OptionalTensor& weight,
                                             const OptionalTensor& bias,
                                             const std::vector<bool>& output_mask) {
  PT2_TRY(const int64_t length, normalized_length(input, normalized_shape));
  const Layout layout{.span = length,
                      .statistics = row_count(input.numel(), length),
                      .count = length,
                      .parameters = length,
                      .has_rows_of_parameters = true};
  return gradients({grad_out, input, doubles(mean), doubles(rstd), doubles(weight), layout},
                   output_mask, layer_norm_dtype(input, weight, bias), normalized_shape);
}

// The number of statistics: one for each group of each sample.
Result<int64_t> group_count(const Tensor& input, const Tensor& mean, int64_t batch,
                            int64_t channels, int64_t area, int64_t groups) {
  const Sizes sizes{batch, channels, area};
  const auto numel = checked_numel(sizes);
  if (!numel || *numel != input.numel() || groups < 1 || channels % groups != 0)
    return operator_error("input: found " + input.type_text() + ", expected N, C and HxW of " +
                          sizes_text(sizes) + " in " + std::to_string(groups) + " groups");
  const auto statistics = checked_numel(Sizes{batch, groups});
  if (!statistics || mean.numel() != *statistics)
    return operator_error("mean: found " + mean.type_text() + ", expected one for each of the " +
                          std::to_string(groups) + " groups of the " + std::to_string(batch) +
                          " samples");
  return *statistics;
}
Dtype parameter_dtype(const Tensor& input, const OptionalTensor& weight) {
  return weight ? weight->dtype() : input.dtype();
}
Result<GradientMetas> group_norm_backward_meta(const Tensor& grad_out, const Tensor& input,
                                               const Tensor& mean, const Tensor&,
                                               const OptionalTensor& weight, int64_t batch,
                                               int64_t channels, int64_t area, int64_t groups,
                                               const std::vector<bool>& output_mask) {
  PT2_TRY_VOID(group_count(input, mean, batch, channels, area, groups));
  return formatted(
      gradient_metas(grad_out, input, output_mask, parameter_dtype(input, weight), {channels}),
      input);
}
Result<Gradients> native_group_norm_backward(const Tensor& grad_out, const Tensor& input,
                                             const Tensor& mean, const Tensor& rstd,
                                             const OptionalTensor& weight, int64_t batch,
                                             int64_t channels, int64_t area, int64_t groups,
                                             const std::vector<bool>& output_mask) {
  PT2_TRY(const int64_t statistics, group_count(input, mean, batch, channels, area, groups));
  const Layout layout{.span = area,
                      .statistics = statistics,
                      .spans_of_statistic = channels / groups,
                      .count = channels / groups * area,
                      .parameters = channels};
  PT2_TRY(Gradients out,
          gradients({grad_out, input, doubles(mean), doubles(rstd), doubles(weight), layout},
                    output_mask, parameter_dtype(input, weight), {channels}));
  return formatted(std::move(out), input);
}

Result<GradientMetas> batch_norm_backward_meta(const Tensor& grad_out, const Tensor& input,
                                               const OptionalTensor& weight, const OptionalTensor&,
                                               const OptionalTensor&, const OptionalTensor&,
                                               const OptionalTensor&, bool, double,
                                               const std::vector<bool>& output_mask) {
  PT2_TRY_VOID(check_rank_at_least(input, 2, "input"));
  return formatted(
      gradient_metas(grad_out, input, output_mask, parameter_dtype(input, weight), {input.size(1)}),
      input);
}
Result<Gradients> native_batch_norm_backward(const Tensor& grad_out, const Tensor& input,
                                             const OptionalTensor& weight,
                                             const OptionalTensor& running_mean,
                                             const OptionalTensor& running_var,
                                             const OptionalTensor& save_mean,
                                             const OptionalTensor& save_invstd, bool train,
                                             double eps, const std::vector<bool>& output_mask) {
  PT2_TRY_VOID(check_rank_at_least(input, 2, "input"));
  const Layout layout{.span = row_count(row_count(input.numel(), input.size(0)), input.size(1)),
                      .statistics = input.size(1),
                      .count = row_count(input.numel(), input.size(1)),
                      .parameters = input.size(1)};
  std::vector<double> mean = doubles(train ? save_mean : running_mean);
  std::vector<double> rstd = doubles(train ? save_invstd : running_var);
  if (!train)
    for (double& value : rstd) value = 1 / std::sqrt(value + eps);
  Problem problem{grad_out, input, std::move(mean), std::move(rstd), doubles(weight),
                  layout,   train};
  PT2_TRY(Gradients out,
          gradients(problem, output_mask, parameter_dtype(input, weight), {input.size(1)}));
  return formatted(std::move(out), input);
}

// --- Gradients of weight norm and RMS norm, composed of other operators

using TensorPair = std::tuple<Tensor, Tensor>;

Value dims_but(const Tensor& tensor, int64_t dim) {
  Value::List dims;
  for (int64_t i = 0; i < tensor.dim(); ++i)
    if (i != dim) dims.emplace_back(i);
  return Value(std::move(dims));
}

// w = g v / |v|, with one norm for each position of `dim`, which is the first or the last dim
// (ATen/native/WeightNorm.cpp _weight_norm_differentiable_backward).
Result<TensorPair> weight_norm_backward(Emitter& e, const Tensor& grad_w, const Tensor& v,
                                        const Tensor& g, const Tensor& norms, int64_t dim) {
  PT2_TRY_VOID(check_floating(v, "saved_v"));
  PT2_TRY_VOID(check_sizes(grad_w, v.sizes(), "grad_w"));
  if (dim != 0 && dim != v.dim() - 1)
    return operator_error("dim: found " + std::to_string(dim) + ", expected the first or last of " +
                          v.type_text());
  PT2_TRY(const Tensor product, e(aten<"mul.Tensor">, {grad_w, v}));
  PT2_TRY(const Tensor along, e(aten<"sum.dim_IntList">, {product, dims_but(v, dim), true}));
  PT2_TRY(const Tensor lengths, e(aten<"view.default">, {norms, box(along.sizes())}));
  PT2_TRY(const Tensor grad_g, e(aten<"div.Tensor">, {along, lengths}));
  PT2_TRY(const Tensor square, e(aten<"mul.Tensor">, {lengths, lengths}));
  PT2_TRY(const Tensor share, e(aten<"div.Tensor">, {along, square}));
  PT2_TRY(const Tensor part, e(aten<"mul.Tensor">, {v, share}));
  PT2_TRY(const Tensor across, e(aten<"sub.Tensor">, {grad_w, part}));
  PT2_TRY(const Tensor factor, e(aten<"div.Tensor">, {g, lengths}));
  PT2_TRY(Tensor grad_v, e(aten<"mul.Tensor">, {across, factor}));
  return TensorPair(std::move(grad_v), grad_g);
}

Result<std::vector<Meta>> weight_norm_backward_meta(std::span<const Value> arguments) {
  return aten<"_weight_norm_differentiable_backward.default">().def->infer(arguments);
}
Result<TensorPair> weight_norm_interface_backward(const Tensor& grad_w, const Tensor& v,
                                                  const Tensor& g, const Tensor& norms,
                                                  int64_t dim) {
  Context context;
  Runner runner(context);
  return weight_norm_backward(runner, grad_w, v, g, norms, dim);
}

// clang-format off
constexpr OpDef kNormalizationBackwardOps[] = {
    composed<"aten::_weight_norm_interface_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g, Tensor saved_norms, int dim) -> (Tensor, Tensor)", weight_norm_backward_meta, weight_norm_interface_backward>,
    op<"aten::_weight_norm_differentiable_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g, Tensor saved_norms, int dim) -> (Tensor, Tensor)", weight_norm_backward>,
    composed<"aten::native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
       layer_norm_backward_meta, native_layer_norm_backward>,
    composed<"aten::native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
       group_norm_backward_meta, native_group_norm_backward>,
    composed<"aten::native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
       batch_norm_backward_meta, native_batch_norm_backward>,
};
// clang-format on

}  // namespace

std::span<const OpDef> normalization_backward_ops() { return kNormalizationBackwardOps; }

}  // namespace pt2::ops
