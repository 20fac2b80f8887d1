// Batch and instance normalisation. Running statistics are updated in place, in the tensors passed
// in.
#include <algorithm>
#include <cmath>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/memory_format.h"
#include "ops/neural/norm_parameters.h"
#include "ops/op_def.h"
#include "ops/reduction/sums.h"

namespace pt2::ops {
namespace {

// The arguments besides input. Running statistics may be absent.
struct BatchNorm {
  const OptionalTensor& weight;
  const OptionalTensor& bias;
  OptionalTensor running_mean;
  OptionalTensor running_var;
  bool training;
  double momentum;
  double eps;
};

int64_t channels_of(const Tensor& input) { return input.dim() > 1 ? input.size(1) : input.size(0); }

// Strides of the result. If all operands are dense, sizes of 1 do not hide a memory format
// (ATen/native/Normalization.cpp suggest_memory_format_contig).
Sizes result_strides(const Tensor& input, const BatchNorm& norm) {
  const auto is_dense = [](const OptionalTensor* tensor) {
    return !*tensor || (*tensor)->is_contiguous();
  };
  const std::array parameters{&norm.weight, &norm.bias, &norm.running_mean, &norm.running_var};
  if (std::ranges::all_of(parameters, is_dense)) {
    if (input.is_contiguous()) return {};
    const MemoryFormat dense = dense_memory_format(input);
    if (dense != MemoryFormat::contiguous) return format_strides(input.sizes(), dense);
  }
  return format_strides(input.sizes(), suggest_memory_format(input));
}

Result<std::array<Meta, 3>> batch_norm_metas(const Tensor& input, const BatchNorm& norm) {
  PT2_TRY_VOID(check_floating(input, "input"));
  PT2_TRY_VOID(check_rank_at_least(input, input.numel() == 0 ? 1 : 2, "input"));
  const Sizes sizes{channels_of(input)};
  PT2_TRY_VOID(check_parameter(norm.weight, input, sizes, "weight"));
  PT2_TRY_VOID(check_parameter(norm.bias, input, sizes, "bias"));
  PT2_TRY_VOID(check_parameter(norm.running_mean, input, sizes, "running_mean"));
  PT2_TRY_VOID(check_parameter(norm.running_var, input, sizes, "running_var"));
  if (!norm.training && (!norm.running_mean || !norm.running_var))
    return operator_error("found no running_mean and running_var, expected them in evaluation");
  if (norm.training)
    for (const OptionalTensor* running : {&norm.running_mean, &norm.running_var})
      if (*running && (*running)->defined() && (*running)->storage()->is_read_only())
        return operator_error("the running statistics are read-only, expected writable tensors");
  const Dtype dtype =
      statistics_dtype(input, {&norm.weight, &norm.bias, &norm.running_mean, &norm.running_var});
  const Meta statistics(dtype, norm.training ? sizes : Sizes{0});
  return std::array{Meta(input.dtype(), input.sizes(), result_strides(input, norm)), statistics,
                    statistics};
}

void store_doubles(Tensor& out, const std::vector<double>& values) {
  Output<double> output(out);
  std::copy(values.begin(), values.end(), output.data());
}

// The mean and the sum of squared deviations of every channel of x[batch, channel, area].
template <class C>
std::vector<Moments> channel_moments(const C* x, int64_t batch, int64_t channels, int64_t area) {
  std::vector<Moments> out(static_cast<size_t>(channels));
  for (int64_t channel = 0; channel < channels; ++channel) {
    Moments& moments = out[static_cast<size_t>(channel)];
    auto sum_over_batch = [&](auto&& term) {
      double sum = 0;
      for (int64_t n = 0; n < batch; ++n)
        sum += sum_terms(x + (n * channels + channel) * area, area, term);
      return sum;
    };
    moments.mean = sum_over_batch([](C v) { return static_cast<double>(v); }) /
                   static_cast<double>(batch * area);
    moments.squares = sum_over_batch([mean = moments.mean](C v) {
      const double distance = static_cast<double>(v) - mean;
      return distance * distance;
    });
  }
  return out;
}

// PyTorch computes statistics of bfloat16 in bfloat16, those of float16 in float32.
double stored_as(Dtype dtype, double number) {
  if (dtype == Dtype::bfloat16) round_elements(dtype, 1, &number);
  return number;
}
double variance_of(const Moments& moments, Dtype dtype, int64_t divisor) {
  return stored_as(dtype, stored_as(dtype, moments.squares) / static_cast<double>(divisor));
}

// running = (1 - momentum) * running + momentum * statistic. The running variance uses the unbiased
// estimate.
void update_running(const BatchNorm& norm, const std::vector<Moments>& moments, int64_t count) {
  auto update = [&](const OptionalTensor& running, auto&& share_of) {
    if (!running) return;
    const Dtype dtype = running->dtype();
    const double momentum = stored_as(dtype, norm.momentum);
    const double rest = stored_as(dtype, 1 - momentum);
    std::vector<double> values = doubles(running);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = stored_as(dtype, rest * values[i]) + share_of(moments[i], dtype, momentum);
    Tensor target = *running;
    store_doubles(target, values);
  };
  update(norm.running_mean, [](const Moments& m, Dtype dtype, double momentum) {
    return stored_as(dtype, momentum * stored_as(dtype, m.mean));
  });
  // PyTorch does not round this product.
  update(norm.running_var, [count](const Moments& m, Dtype dtype, double momentum) {
    return momentum * variance_of(m, dtype, count - 1);
  });
}

// The moments of the channels of an input with elements. Updates the running statistics.
template <class C>
std::vector<Moments> observed_moments(const Tensor& input, const Input<C>& x,
                                      const BatchNorm& norm) {
  const int64_t channels = channels_of(input), count = input.numel() / channels;
  std::vector<Moments> moments =
      channel_moments(x.data(), input.size(0), channels, count / input.size(0));
  update_running(norm, moments, count);
  return moments;
}

template <class C>
void scale_channels(Tensor& out, const Input<C>& x, const BatchNorm& norm,
                    const std::vector<double>& mean, const std::vector<double>& invstd) {
  const auto channels = static_cast<int64_t>(mean.size());
  const int64_t batch = out.size(0);
  const int64_t area = channels == 0 || batch == 0 ? 0 : out.numel() / (batch * channels);
  const std::vector<double> weight = doubles(norm.weight), bias = doubles(norm.bias);
  Output<C> y(out);
  for (int64_t row = 0; row < batch * channels && area > 0; ++row) {
    const auto channel = static_cast<size_t>(row % channels);
    const double scale = invstd[channel] * (norm.weight ? weight[channel] : 1.0);
    const double shift = norm.bias ? bias[channel] : 0.0;
    for (int64_t i = row * area; i < (row + 1) * area; ++i)
      y[i] = static_cast<C>((static_cast<double>(x[i]) - mean[channel]) * scale + shift);
  }
}

void run_batch_norm(Tensor& out, Tensor& save_mean, Tensor& save_invstd, const Tensor& input,
                    const BatchNorm& norm) {
  with_float_compute_type(input.dtype(), [&]<class C>() {
    const Input<C> x(input);
    if (!norm.training) {
      std::vector<double> invstd = doubles(norm.running_var);
      for (double& value : invstd) value = 1 / std::sqrt(value + norm.eps);
      scale_channels(out, x, norm, doubles(norm.running_mean), invstd);
      return;
    }
    if (input.numel() == 0) return;
    const int64_t count = input.numel() / channels_of(input);
    std::vector<double> mean;
    std::vector<double> invstd;
    for (const Moments& m : observed_moments(input, x, norm)) {
      mean.push_back(m.mean);
      // A channel without variance, with eps = 0, has invstd 0 (ATen/native/Normalization.cpp
      // InvStd).
      const double variance = variance_of(m, save_mean.dtype(), count) + norm.eps;
      invstd.push_back(variance == 0 ? 0 : 1 / std::sqrt(variance));
    }
    store_doubles(save_mean, mean);
    store_doubles(save_invstd, invstd);
    // Half statistics are rounded to their stored values before use.
    if (dtype_size(save_mean.dtype()) < 4)
      scale_channels(out, x, norm, doubles(save_mean), doubles(save_invstd));
    else
      scale_channels(out, x, norm, mean, invstd);
  });
}

Result<std::array<Meta, 3>> native_meta(const Tensor& input, const OptionalTensor& weight,
                                        const OptionalTensor& bias,
                                        const OptionalTensor& running_mean,
                                        const OptionalTensor& running_var, bool training,
                                        double momentum, double eps) {
  return batch_norm_metas(input,
                          {weight, bias, running_mean, running_var, training, momentum, eps});
}

void native_kernel(Tensor& out, Tensor& save_mean, Tensor& save_invstd, const Tensor& input,
                   const OptionalTensor& weight, const OptionalTensor& bias,
                   const OptionalTensor& running_mean, const OptionalTensor& running_var,
                   bool training, double momentum, double eps) {
  run_batch_norm(out, save_mean, save_invstd, input,
                 {weight, bias, running_mean, running_var, training, momentum, eps});
}

// The mean and the variance of each channel, without a normalization.
Result<std::array<Meta, 2>> update_stats_meta(const Tensor& input,
                                              const OptionalTensor& running_mean,
                                              const OptionalTensor& running_var, double momentum) {
  PT2_TRY(const auto metas, batch_norm_metas(input, {std::nullopt, std::nullopt, running_mean,
                                                     running_var, true, momentum, 0}));
  if (input.numel() == 0)
    return operator_error("input: found " + input.type_text() + ", expected elements");
  return std::array{metas[1], metas[2]};
}

void update_stats(Tensor& mean, Tensor& variance, const Tensor& input,
                  const OptionalTensor& running_mean, const OptionalTensor& running_var,
                  double momentum) {
  const BatchNorm norm{std::nullopt, std::nullopt, running_mean, running_var, true, momentum, 0};
  const int64_t count = input.numel() / channels_of(input);
  std::vector<double> means, variances;
  with_float_compute_type(input.dtype(), [&]<class C>() {
    for (const Moments& m : observed_moments(input, Input<C>(input), norm)) {
      means.push_back(m.mean);
      variances.push_back(variance_of(m, variance.dtype(), count));
    }
  });
  store_doubles(mean, means);
  store_doubles(variance, variances);
}

using NativeRule = decltype(&native_meta);
using NativeKernel = decltype(&native_kernel);

// The arguments of native_batch_norm for another form of it, whose parameters have the same names.
// Statistics that the form lacks are absent; a form without `training` does not train.
std::vector<Value> native_arguments(const OpDef& form, std::span<const Value> arguments) {
  std::vector<Value> out;
  for (const Parameter& parameter : *aten<"native_batch_norm.default">().def->signature) {
    const Parameter* own = form.signature->find(parameter.name);
    if (own != nullptr)
      out.push_back(arguments[static_cast<size_t>(own - form.signature->begin())]);
    else
      out.push_back(parameter.name == "training" ? Value(false) : Value());
  }
  return out;
}
Result<std::vector<Meta>> infer_form(const OpDef& form, std::span<const Value> arguments) {
  PT2_TRY(std::vector<Meta> metas,
          infer_by_rule<NativeRule>(form, native_arguments(form, arguments)));
  metas.resize(form.signature->return_count);
  return metas;
}
Result<std::vector<Value>> compute_form(const OpDef& form, Context& context,
                                        std::span<const Value> arguments) {
  PT2_TRY(std::vector<Value> results, (compute_kernel<NativeRule, NativeKernel>(
                                          form, context, native_arguments(form, arguments))));
  results.resize(form.signature->return_count);
  return results;
}
// A form that gives the first results of native_batch_norm.
template <SignatureText S, auto... Formula>
constexpr OpDef native_form_row() {
  const OpDef def{&kSignature<S>, &kAddress<&native_meta>, &kAddress<&native_kernel>, &compute_form,
                  &infer_form};
  if constexpr (sizeof...(Formula) == 0)
    return def;
  else
    return written<S, Formula..., true>(def);
}
template <SignatureText S, auto... Formula>
inline constexpr OpDef native_form = native_form_row<S, Formula...>();

Result<std::array<Meta, 5>> functional_meta(const Tensor& input, const OptionalTensor& weight,
                                            const OptionalTensor& bias, const Tensor& running_mean,
                                            const Tensor& running_var, bool training,
                                            double momentum, double eps) {
  // The functional form returns new running statistics and leaves its arguments unchanged.
  const Tensor mean = Tensor::without_elements(running_mean.dtype(), running_mean.sizes());
  const Tensor var = Tensor::without_elements(running_var.dtype(), running_var.sizes());
  PT2_TRY(auto metas, native_meta(input, weight, bias, mean, var, training, momentum, eps));
  return std::array{metas[0], metas[1], metas[2], Meta::like(running_mean),
                    Meta::like(running_var)};
}

void functional_kernel(Tensor& out, Tensor& save_mean, Tensor& save_invstd,
                       Tensor& running_mean_out, Tensor& running_var_out, const Tensor& input,
                       const OptionalTensor& weight, const OptionalTensor& bias,
                       const Tensor& running_mean, const Tensor& running_var, bool training,
                       double momentum, double eps) {
  copy_elements(running_mean_out, running_mean);
  copy_elements(running_var_out, running_var);
  native_kernel(out, save_mean, save_invstd, input, weight, bias, running_mean_out, running_var_out,
                training, momentum, eps);
}

OptionalTensor repeated(const OptionalTensor& parameter, int64_t times) {
  if (!parameter) return std::nullopt;
  Tensor out = Tensor::zeros(parameter->dtype(), {times, parameter->numel()});
  copy_elements(out, *parameter);
  return out.with_view({out.numel()}, {1}, 0);
}

// Each running statistic becomes the mean over the batch of the statistics of single instances.
void store_mean_over_batch(const OptionalTensor& running, const OptionalTensor& all) {
  if (!running) return;
  const std::vector<double> values = doubles(all);
  const auto channels = static_cast<size_t>(running->numel());
  std::vector<double> mean(channels, 0.0);
  const double batch = static_cast<double>(values.size() / std::max<size_t>(channels, 1));
  for (size_t i = 0; i < values.size(); ++i) mean[i % channels] += values[i] / batch;
  Tensor target = *running;
  store_doubles(target, mean);
}

// Normalises every instance as a batch of its own: [n, c, ...] as [1, n * c, ...]
// (ATen/native/Normalization.cpp instance_norm).
Result<Tensor> instance_norm(const Tensor& input, const OptionalTensor& weight,
                             const OptionalTensor& bias, const OptionalTensor& running_mean,
                             const OptionalTensor& running_var, bool use_input_stats,
                             double momentum, double eps, bool) {
  PT2_TRY_VOID(check_rank_at_least(input, 2, "input"));
  for (const OptionalTensor* parameter : {&weight, &bias, &running_mean, &running_var})
    PT2_TRY_VOID(check_parameter(*parameter, input, {input.size(1)}, "a parameter"));
  if (!use_input_stats && (!running_mean || !running_var))
    return operator_error(
        "found no running_mean and running_var, expected them without input stats");
  const int64_t batch = input.size(0);
  const Tensor dense = input.contiguous();
  Sizes sizes = input.sizes();
  sizes[1] *= batch;
  sizes[0] = 1;
  const Tensor flat = dense.with_view(sizes, contiguous_strides(sizes), dense.storage_offset());
  const OptionalTensor all_mean = repeated(running_mean, batch);
  const OptionalTensor all_var = repeated(running_var, batch);
  PT2_TRY(const Tensor out,
          (compute<native_meta, native_kernel>(flat, repeated(weight, batch), repeated(bias, batch),
                                               all_mean, all_var, use_input_stats, momentum, eps)));
  if (use_input_stats) {
    store_mean_over_batch(running_mean, all_mean);
    store_mean_over_batch(running_var, all_var);
  }
  return out.with_view(input.sizes(), contiguous_strides(input.sizes()), 0);
}

Result<Tensor> batch_norm_formula(Emitter& e, const Tensor& input, const OptionalTensor& weight,
                                  const OptionalTensor& bias, const OptionalTensor& running_mean,
                                  const OptionalTensor& running_var, bool training, double momentum,
                                  double eps, bool) {
  if (!running_mean || !running_var) {
    if (!training || running_mean || running_var)
      return operator_error(
          "running_mean and running_var: found one of them or none, expected both, or "
          "neither in training");
    return e(aten<"_native_batch_norm_legit.no_stats">,
             {input, weight, bias, training, momentum, eps});
  }
  if (!training)
    return e(aten<"_native_batch_norm_legit_no_training.default">,
             {input, weight, bias, *running_mean, *running_var, momentum, eps});
  return e(aten<"_native_batch_norm_legit.default">,
           {input, weight, bias, *running_mean, *running_var, training, momentum, eps});
}

// The formula of instance_norm().
Result<Tensor> instance_norm_formula(Emitter& e, const Tensor& input, const OptionalTensor& weight,
                                     const OptionalTensor& bias, const OptionalTensor& running_mean,
                                     const OptionalTensor& running_var, bool use_input_stats,
                                     double momentum, double eps, bool cudnn_enabled) {
  PT2_TRY_VOID(check_rank_at_least(input, 2, "input"));
  const int64_t batch = input.size(0);
  Sizes sizes = input.sizes();
  sizes[1] *= sizes[0];
  sizes[0] = 1;
  OptionalTensor all[4];
  const OptionalTensor* const given[] = {&weight, &bias, &running_mean, &running_var};
  for (size_t i = 0; i < 4; ++i)
    if (*given[i]) {
      PT2_TRY(all[i], e(aten<"repeat.default">, {**given[i], Sizes{batch}}));
    }
  // Emits a view even if it keeps the sizes: the last view must be a view of the result.
  const auto flat = e(aten<"view.default">, {e(aten<"contiguous.default">, {input}), sizes});
  const auto out = e(aten<"batch_norm.default">, {flat, all[0], all[1], all[2], all[3],
                                                  use_input_stats, momentum, eps, cudnn_enabled});
  // batch_norm wrote to the repeated statistics: their mean over the batch is the new value.
  for (size_t i = 2; i < 4 && use_input_stats; ++i)
    if (all[i]) {
      const auto each = e(aten<"view.default">, {*all[i], Sizes{batch, input.size(1)}});
      PT2_TRY_VOID(
          e(aten<"copy_.default">, {**given[i], e(aten<"mean.dim">, {each, Sizes{0}, false})}));
    }
  return e(aten<"view.default">, {out, input.sizes()});
}

// clang-format off
constexpr OpDef kBatchNormOps[] = {
    native_form<"aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
       batch_norm_formula>.with({.updates_statistics_if = "training", .functional_form = "_native_batch_norm_legit_functional.default"}),
    op<"aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
       native_meta, native_kernel>.with({.updates_statistics_if = "training", .functional_form = "_native_batch_norm_legit_functional.default"}),
    native_form<"aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)">.with({.updates_statistics_if = "training", .functional_form = "_native_batch_norm_legit_functional.default"}),
    native_form<"aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)">,
    native_form<"aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)">,
    op<"aten::_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)",
       functional_meta, functional_kernel>,
    // No parameter decides whether this one updates: it always does.
    op<"aten::batch_norm_update_stats(Tensor input, Tensor? running_mean, Tensor? running_var, float momentum) -> (Tensor, Tensor)",
       update_stats_meta, update_stats>.with({.updates_statistics_if = "always"}),
    composed<"aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
       like_first, instance_norm, instance_norm_formula>.with({.updates_statistics_if = "use_input_stats"}),
};
// clang-format on

}  // namespace

std::span<const OpDef> batch_norm_ops() { return kBatchNormOps; }

}  // namespace pt2::ops
