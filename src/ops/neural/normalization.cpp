// Layer, group and root-mean-square normalisation. Batch normalisation is in batch_norm.cpp.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/rows.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/loops.h"
#include "ops/memory_format.h"
#include "ops/neural/dense_rows.h"
#include "ops/neural/norm_parameters.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"
#include "ops/reduction/sums.h"

namespace pt2::ops {
namespace {

// The sizes of mean and rstd: the dims before normalized_shape, then ones.
Result<Sizes> statistics_sizes(const Tensor& input, const Sizes& normalized_shape) {
  const size_t count = normalized_shape.size();
  const Sizes& sizes = input.sizes();
  if (count == 0 || count > sizes.size() ||
      !std::equal(normalized_shape.begin(), normalized_shape.end(), sizes.end() - count))
    return operator_error("input: found sizes " + sizes_text(sizes) + ", expected what ends in " +
                          sizes_text(normalized_shape));
  Sizes out = sizes;
  std::fill(out.end() - count, out.end(), 1);
  return out;
}

int64_t product_of(const Sizes& sizes) {
  int64_t out = 1;
  for (int64_t size : sizes) out *= size;
  return out;
}

Result<std::array<Meta, 3>> native_layer_norm_meta(const Tensor& input,
                                                   const Sizes& normalized_shape,
                                                   const OptionalTensor& weight,
                                                   const OptionalTensor& bias, double) {
  PT2_TRY_VOID(check_floating(input, "input"));
  PT2_TRY(const Sizes statistics, statistics_sizes(input, normalized_shape));
  PT2_TRY_VOID(check_parameter(weight, input, normalized_shape, "weight"));
  PT2_TRY_VOID(check_parameter(bias, input, normalized_shape, "bias"));
  const Dtype dtype = statistics_dtype(input, {&weight, &bias});
  return std::array{Meta::like(input), Meta(dtype, statistics), Meta(dtype, statistics)};
}

// Normalises one row: (x - mean) * scale, then weight and bias, which may be null.
template <class C>
void normalize_row(const C* x, int64_t count, double mean, double scale, const C* weight,
                   const C* bias, C* y) {
  for (int64_t i = 0; i < count; ++i) {
    double value = (static_cast<double>(x[i]) - mean) * scale;
    if (weight != nullptr) value *= static_cast<double>(weight[i]);
    if (bias != nullptr) value += static_cast<double>(bias[i]);
    y[i] = static_cast<C>(value);
  }
}

// src/kernels computes rows of floats.
template <>
void normalize_row<float>(const float* x, int64_t count, double mean, double scale,
                          const float* weight, const float* bias, float* y) {
  kernels::normalize_row(x, count, static_cast<float>(mean), static_cast<float>(scale), weight,
                         bias, y);
}

template <class C>
Moments moments_of(const C* values, int64_t count) {
  if constexpr (std::is_same_v<C, float>) {
    const kernels::RowMoments moments = kernels::row_moments(values, count);
    return {moments.mean, moments.squares};
  } else {
    return row_moments(values, count);
  }
}

// y = x * scale + shift.
template <class C>
void scale_row(const C* x, int64_t count, C scale, C shift, C* y) {
  if constexpr (std::is_same_v<C, float>)
    kernels::scale_row(x, count, scale, shift, y);
  else
    for (int64_t i = 0; i < count; ++i) y[i] = x[i] * scale + shift;
}

template <class C>
struct Parameters {
  std::optional<Input<C>> weight;
  std::optional<Input<C>> bias;
  Parameters(const OptionalTensor& weight_in, const OptionalTensor& bias_in) {
    if (weight_in) weight.emplace(*weight_in);
    if (bias_in) bias.emplace(*bias_in);
  }
  const C* weight_data() const { return weight ? weight->data() : nullptr; }
  const C* bias_data() const { return bias ? bias->data() : nullptr; }
};

void native_layer_norm(Tensor& out, Tensor& mean, Tensor& rstd, const Tensor& input,
                       const Sizes& normalized_shape, const OptionalTensor& weight,
                       const OptionalTensor& bias, double eps) {
  with_float_compute_type(input.dtype(), [&]<class C>() {
    const int64_t length = product_of(normalized_shape);
    InputRows<C> x(input, length);
    const Parameters<C> parameters(weight, bias);
    Output<double> means(mean);
    Output<double> rstds(rstd);
    fill_rows<C>(out, mean.numel(), length, [&](int64_t row, C* y) {
      const C* values = x.row(row);
      const Moments moments = moments_of(values, length);
      // The mean of no elements is 0 here in PyTorch; only the variance is NaN.
      means[row] = length == 0 ? 0 : moments.mean;
      rstds[row] = 1 / std::sqrt(moments.squares / static_cast<double>(length) + eps);
      normalize_row(values, length, means[row], rstds[row], parameters.weight_data(),
                    parameters.bias_data(), y);
    });
  });
}

Result<std::array<Meta, 3>> native_group_norm_meta(const Tensor& input,
                                                   const OptionalTensor& weight,
                                                   const OptionalTensor& bias, int64_t batch,
                                                   int64_t channels, int64_t area, int64_t groups,
                                                   double) {
  PT2_TRY_VOID(check_floating(input, "input"));
  if (groups < 1 || channels < 0 || channels % groups != 0)
    return operator_error("found " + std::to_string(channels) + " channels and " +
                          std::to_string(groups) + " groups, expected a multiple");
  if (area == 0) return operator_error("HxW: found 0, expected at least 1");
  const Sizes sizes{batch, channels, area};
  const auto numel = checked_numel(sizes);
  if (!numel || *numel != input.numel())
    return operator_error("input: found " + input.type_text() + ", expected N, C and HxW of " +
                          sizes_text(sizes));
  PT2_TRY_VOID(check_parameter(weight, input, {channels}, "weight"));
  PT2_TRY_VOID(check_parameter(bias, input, {channels}, "bias"));
  const Dtype dtype = statistics_dtype(input, {&weight, &bias});
  const Meta statistics(dtype, {batch, groups});
  return std::array{like_in_format(input), statistics, statistics};
}

void native_group_norm(Tensor& out, Tensor& mean, Tensor& rstd, const Tensor& input,
                       const OptionalTensor& weight, const OptionalTensor& bias, int64_t batch,
                       int64_t channels, int64_t area, int64_t groups, double eps) {
  with_float_compute_type(input.dtype(), [&]<class C>() {
    const Input<C> x(input);
    const Parameters<C> parameters(weight, bias);
    Output<C> y(out);
    Output<double> means(mean);
    Output<double> rstds(rstd);
    const int64_t group_channels = channels / groups;
    const int64_t length = group_channels * area;
    for (int64_t group = 0; group < batch * groups; ++group) {
      const Moments moments = moments_of(x.data() + group * length, length);
      means[group] = moments.mean;
      rstds[group] = 1 / std::sqrt(moments.squares / static_cast<double>(length) + eps);
      for (int64_t c = 0; c < group_channels; ++c) {
        const int64_t channel = group % groups * group_channels + c;
        // Rounds mean * scale like x * scale, so that a group of equal numbers becomes exactly the
        // bias (ATen/native/cpu/group_norm_kernel.cpp).
        C scale = static_cast<C>(rstds[group]);
        if (weight) scale *= (*parameters.weight)[channel];
        const C moved = scale * static_cast<C>(means[group]);
        const C shift = (bias ? (*parameters.bias)[channel] : C(0)) - moved;
        const int64_t begin = group * length + c * area;
        scale_row(x.data() + begin, area, scale, shift, y.data() + begin);
      }
    }
  });
}

Result<Tensor> group_norm(Emitter& e, const Tensor& input, int64_t groups,
                          const OptionalTensor& weight, const OptionalTensor& bias, double eps,
                          bool) {
  PT2_TRY_VOID(check_rank_at_least(input, 2, "input"));
  if (input.size(1) == 0)
    return operator_error("input: found " + input.type_text() + ", expected channels");
  int64_t area = 1;
  for (int64_t dim = 2; dim < input.dim(); ++dim) area *= input.size(dim);
  return e(aten<"native_group_norm.default">,
           {input, weight, bias, input.size(0), input.size(1), area, groups, eps});
}

// Half inputs are computed in float32, so float32's epsilon is their default.
double rms_epsilon(Dtype dtype, std::optional<double> eps) {
  if (eps) return *eps;
  return real_dtype(dtype) == Dtype::float64
             ? std::numeric_limits<double>::epsilon()
             : static_cast<double>(std::numeric_limits<float>::epsilon());
}

Result<std::array<Meta, 2>> fused_rms_norm_meta(const Tensor& input, const Sizes& normalized_shape,
                                                const OptionalTensor& weight,
                                                const std::optional<double>&) {
  PT2_TRY_VOID(check_floating_or_complex(input, "input"));
  PT2_TRY(const Sizes statistics, statistics_sizes(input, normalized_shape));
  const bool is_complex = dtype_category(input.dtype()) == DtypeCategory::complex;
  if (weight) {
    PT2_TRY_VOID(check_sizes(*weight, normalized_shape, "weight"));
    if (!is_complex) PT2_TRY_VOID(check_not_complex(*weight, "weight"));
  }
  return std::array{
      like_in_format(input),
      Meta(dtype_size(input.dtype()) < 4 ? Dtype::float32 : input.dtype(), statistics)};
}

// ATen/native/layer_norm.cpp rms_norm_composite.
Result<std::tuple<Tensor, Tensor>> fused_rms_norm_formula(Emitter& e, const Tensor& input,
                                                          const Sizes& normalized_shape,
                                                          const OptionalTensor& weight,
                                                          const std::optional<double>& eps) {
  const auto wide = converted(e, input, is_half(input.dtype()) ? Dtype::float32 : input.dtype());
  Sizes dims;
  for (size_t i = 0; i < normalized_shape.size(); ++i) dims.push_back(-1 - static_cast<int64_t>(i));
  const auto squares = e(aten<"pow.Tensor_Scalar">, {wide, 2});
  const auto mean = e(aten<"mean.dim">, {squares, dims, true});
  const auto above = e(aten<"add.Scalar">, {mean, rms_epsilon(input.dtype(), eps)});
  PT2_TRY(Tensor rstd, e(aten<"rsqrt.default">, {above}));
  PT2_TRY(Tensor out, e(aten<"mul.Tensor">, {wide, rstd}));
  if (weight) {
    PT2_TRY(out, e(aten<"mul.Tensor">, {out, *weight}));
  }
  PT2_TRY(out, converted(e, out, input.dtype()));
  // The dims of the products lie in the input's order; views of the result may rely on its format.
  const MemoryFormat format = suggest_memory_format(input);
  const bool has_format =
      format == MemoryFormat::contiguous ? out.is_contiguous() : dense_memory_format(out) == format;
  if (!has_format) {
    PT2_TRY(out, e(aten<"clone.default">, {out, format}));
  }
  return std::tuple(std::move(out), std::move(rstd));
}

Result<void> fused_rms_norm(Tensor& out, Tensor& rstd, const Tensor& input,
                            const Sizes& normalized_shape, const OptionalTensor& weight,
                            const std::optional<double>& eps) {
  // Complex numbers are squared by x * x, not by the squared magnitude.
  if (dtype_category(input.dtype()) == DtypeCategory::complex) {
    Context context;
    Runner runner(context);
    PT2_TRY(const auto both, fused_rms_norm_formula(runner, input, normalized_shape, weight, eps));
    copy_elements(out, std::get<0>(both));
    copy_elements(rstd, std::get<1>(both));
    return {};
  }
  with_float_compute_type(out.dtype(), [&]<class C>() {
    const Input<C> x(input);
    const Parameters<C> parameters(weight, std::nullopt);
    Output<C> y(out);
    Output<double> rstds(rstd);
    const int64_t length = product_of(normalized_shape);
    for (int64_t row = 0; row < rstd.numel(); ++row) {
      const C* values = x.data() + row * length;
      const double squares = sum_terms(
          values, length, [](C v) { return static_cast<double>(v) * static_cast<double>(v); });
      rstds[row] =
          1 / std::sqrt(squares / static_cast<double>(length) + rms_epsilon(input.dtype(), eps));
      normalize_row<C>(values, length, 0, rstds[row], parameters.weight_data(), nullptr,
                       y.data() + row * length);
    }
  });
  return {};
}

Result<Tensor> rms_norm(const Tensor& input, const Sizes& normalized_shape,
                        const OptionalTensor& weight, const std::optional<double>& eps) {
  return compute<fused_rms_norm_meta, fused_rms_norm>(input, normalized_shape, weight, eps);
}

Result<Meta> rms_norm_meta(const Tensor& input, const Sizes& normalized_shape,
                           const OptionalTensor& weight, const std::optional<double>& eps) {
  PT2_TRY(auto metas, fused_rms_norm_meta(input, normalized_shape, weight, eps));
  return std::move(metas[0]);
}

Result<Tensor> layer_norm_formula(Emitter& e, const Tensor& input, const Sizes& normalized_shape,
                                  const OptionalTensor& weight, const OptionalTensor& bias,
                                  double eps, bool) {
  return e(aten<"native_layer_norm.default">, {input, normalized_shape, weight, bias, eps});
}

Result<Tensor> rms_norm_formula(Emitter& e, const Tensor& input, const Sizes& normalized_shape,
                                const OptionalTensor& weight, const std::optional<double>& eps) {
  PT2_TRY_VOID(rms_norm_meta(input, normalized_shape, weight, eps));
  PT2_TRY(auto both, fused_rms_norm_formula(e, input, normalized_shape, weight, eps));
  return std::move(std::get<0>(both));
}

// clang-format off
constexpr OpDef kNormalizationOps[] = {
    op<"aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
       native_layer_norm_meta, native_layer_norm>,
    op<"aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor",
       layer_norm_formula>,
    op<"aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)",
       native_group_norm_meta, native_group_norm>,
    op<"aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor", group_norm>,
    op<"aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)",
       fused_rms_norm_meta, fused_rms_norm, fused_rms_norm_formula>,
    composed<"aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
       rms_norm_meta, rms_norm, rms_norm_formula>,
};
// clang-format on

}  // namespace

std::span<const OpDef> normalization_ops() { return kNormalizationOps; }

}  // namespace pt2::ops
