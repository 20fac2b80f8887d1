// Explicit quantization in programs: quantized_decomposed.* of torch.ao. Each operator is the
// composition that PyTorch uses (torch/ao/quantization/fx/_decomposed.py), so that every rounding
// agrees.
#include <array>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"
#include "ops/pointwise/pointwise.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

using TensorPair = std::tuple<Tensor, Tensor>;

// Error if the bounds exceed the range of a quantized integer dtype, or if `dtype` is neither such
// a dtype nor a supported float8 dtype, which has no limits.
Result<void> check_bounds(int64_t quant_min, int64_t quant_max, Dtype dtype) {
  struct Bounds {
    Dtype dtype;
    int64_t low, high;
  };
  constexpr Bounds kBounds[] = {
      {Dtype::uint8, 0, 255},
      {Dtype::int8, -128, 127},
      {Dtype::int16, -32768, 32767},
      {Dtype::uint16, 0, 65535},
      {Dtype::int32, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}};
  for (const Bounds& bounds : kBounds) {
    if (bounds.dtype != dtype) continue;
    if (quant_min < bounds.low || quant_max > bounds.high)
      return operator_error("found the range [" + std::to_string(quant_min) + ", " +
                            std::to_string(quant_max) + "], expected it within [" +
                            std::to_string(bounds.low) + ", " + std::to_string(bounds.high) + "]");
    return {};
  }
  if (dtype == Dtype::float8_e4m3fn || dtype == Dtype::float8_e5m2) return {};
  return operator_error("found dtype " + std::string(dtype_name(dtype)) +
                        ", expected one to quantise to");
}

Result<Tensor> as_float32(const Tensor& input) {
  if (is_half(input.dtype())) return copy_as(input, Dtype::float32, std::nullopt);
  PT2_TRY_VOID(check_dtype(input, Dtype::float32, "input"));
  return input;
}
Result<Tensor> to(Emitter& e, const Tensor& tensor, Dtype dtype) {
  return e(aten<"to.dtype">, {tensor, dtype});
}
// Quantizes to levels that are still floats. The zero points are added after rounding.
Result<Tensor> levels_of(Emitter& e, const Tensor& real, const Operand& inverse_scale,
                         const Operand& zero_point, int64_t quant_min, int64_t quant_max) {
  PT2_TRY(const Tensor scaled, e(aten<"mul.Tensor">, {real, inverse_scale}));
  PT2_TRY(const Tensor rounded, e(aten<"round.default">, {scaled}));
  PT2_TRY(const Tensor shifted, e(aten<"add.Tensor">, {rounded, zero_point}));
  return e(aten<"clamp.default">, {shifted, quant_min, quant_max});
}

Result<double> number_of(const Tensor& tensor) {
  if (tensor.numel() != 1)
    return operator_error("found " + std::to_string(tensor.numel()) + " elements, expected 1");
  double value = 0;
  load_elements<double>(tensor.raw_data(), 1, tensor.dtype(), 1, &value);
  return value;
}
Result<int64_t> integer_of(const Tensor& tensor) {
  PT2_TRY(const double value, number_of(tensor));
  return Scalar(value).to_int();
}

// --- One scale for the whole tensor: numbers, or tensors of one element

Result<int64_t> integer_of(int64_t number) { return number; }

Result<Tensor> quantize(const Tensor& input, double scale, int64_t zero_point, int64_t quant_min,
                        int64_t quant_max, Dtype dtype) {
  PT2_TRY_VOID(check_bounds(quant_min, quant_max, dtype));
  PT2_TRY(const Tensor real, as_float32(input));
  Context context;
  Runner e(context);
  PT2_TRY(const Tensor levels, levels_of(e, real, 1.0 / scale, zero_point, quant_min, quant_max));
  return to(e, levels, dtype);
}

Result<void> check_quantized(const Tensor& input, Dtype dtype) {
  PT2_TRY_VOID(check_dtype(input, dtype, "input"));
  return check_bounds(0, 0, dtype);
}
Result<Tensor> dequantize(const Tensor& input, double scale, int64_t zero_point, int64_t, int64_t,
                          Dtype dtype, OptionalDtype out_dtype) {
  PT2_TRY_VOID(check_quantized(input, dtype));
  PT2_TRY(const Tensor real, apply(aten<"to.dtype">, {input, out_dtype.value_or(Dtype::float32)}));
  PT2_TRY(const Tensor shifted, apply(aten<"sub.Tensor">, {real, zero_point}));
  return apply(aten<"mul.Tensor">, {shifted, scale});
}

// Reads the numbers that are tensors.
template <auto F, class Bound, class... Dtypes>
Result<Tensor> by_tensors(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                          const Bound& quant_min, const Bound& quant_max, Dtypes... dtypes) {
  PT2_TRY(const int64_t low, integer_of(quant_min));
  PT2_TRY(const int64_t high, integer_of(quant_max));
  PT2_TRY(const double number, number_of(scale));
  PT2_TRY(const int64_t zero, integer_of(zero_point));
  return F(input, number, zero, low, high, dtypes...);
}

// --- A scale per channel. The channel axis is moved first for the computation; the result keeps
// that layout.

Result<Tensor> axis_first(const Tensor& tensor, int64_t axis) {
  if (axis < -tensor.dim() || axis >= tensor.dim())
    return operator_error("axis " + std::to_string(axis) + " is out of range for rank " +
                          std::to_string(tensor.dim()));
  return transpose(tensor, 0, axis);
}
Result<Tensor> along_first(const Tensor& values, int64_t rank) {
  if (values.dim() == 0) return values;
  Sizes sizes(static_cast<size_t>(rank), 1);
  sizes[0] = values.size(0);
  return view(values, sizes);
}

Result<Tensor> quantize_channels(const Tensor& input, const Tensor& scales,
                                 const Tensor& zero_points, int64_t axis, int64_t quant_min,
                                 int64_t quant_max, Dtype dtype) {
  PT2_TRY_VOID(check_bounds(quant_min, quant_max, dtype));
  PT2_TRY(const Tensor real, as_float32(input));
  PT2_TRY(const Tensor turned, axis_first(real, axis));
  PT2_TRY(const Tensor factors, along_first(scales, input.dim()));
  PT2_TRY(const Tensor zeros, along_first(zero_points, input.dim()));
  Context context;
  Runner e(context);
  PT2_TRY(const Tensor inverse, e(aten<"reciprocal.default">, {factors}));
  PT2_TRY(const Tensor levels, levels_of(e, turned, inverse, zeros, quant_min, quant_max));
  PT2_TRY(const Tensor back, axis_first(levels, axis));
  return to(e, back, dtype);
}
Result<Tensor> dequantize_channels(const Tensor& input, const Tensor& scales,
                                   const OptionalTensor& zero_points, int64_t axis, int64_t,
                                   int64_t, Dtype dtype, OptionalDtype out_dtype) {
  PT2_TRY_VOID(check_quantized(input, dtype));
  PT2_TRY(Tensor turned, axis_first(input, axis));
  if (zero_points) {
    PT2_TRY(const Tensor zeros, along_first(*zero_points, input.dim()));
    PT2_TRY(turned, apply(aten<"sub.Tensor">, {turned, zeros}));
  }
  PT2_TRY(const Tensor factors, along_first(scales, input.dim()));
  PT2_TRY(const Tensor scaled, apply(aten<"mul.Tensor">, {turned, factors}));
  PT2_TRY(const Tensor real, apply(aten<"to.dtype">, {scaled, out_dtype.value_or(Dtype::float32)}));
  return axis_first(real, axis);
}
Result<Tensor> fake_quantize_channels(Emitter& e, const Tensor& input, const Tensor& scales,
                                      const Tensor& zero_points, int64_t axis, int64_t quant_min,
                                      int64_t quant_max) {
  PT2_TRY(const Tensor turned, axis_first(input, axis));
  PT2_TRY(const Tensor float_scales, to(e, scales, Dtype::float32));
  PT2_TRY(const Tensor int_zeros, to(e, zero_points, Dtype::int32));
  PT2_TRY(const Tensor factors, along_first(float_scales, input.dim()));
  PT2_TRY(const Tensor zeros, along_first(int_zeros, input.dim()));
  PT2_TRY(const Tensor inverse, e(aten<"reciprocal.default">, {factors}));
  PT2_TRY(const Tensor levels, levels_of(e, turned, inverse, zeros, quant_min, quant_max));
  PT2_TRY(const Tensor unshifted, e(aten<"sub.Tensor">, {levels, zeros}));
  PT2_TRY(const Tensor real, e(aten<"mul.Tensor">, {unshifted, factors}));
  return axis_first(real, axis);
}

// --- A scale per token, or per group of a row: the zero point is added before rounding

Result<Tensor> quantize_rows(Emitter& e, const Tensor& input, const Tensor& scales,
                             const Tensor& zero_points, int64_t quant_min, int64_t quant_max,
                             Dtype dtype) {
  PT2_TRY_VOID(check_bounds(quant_min, quant_max, dtype));
  PT2_TRY(const Tensor inverse, e(aten<"reciprocal.default">, {scales}));
  PT2_TRY(const Tensor scaled, e(aten<"mul.Tensor">, {input, inverse}));
  PT2_TRY(const Tensor shifted, e(aten<"add.Tensor">, {scaled, zero_points}));
  PT2_TRY(const Tensor rounded, e(aten<"round.default">, {shifted}));
  PT2_TRY(const Tensor clamped, e(aten<"clamp.default">, {rounded, quant_min, quant_max}));
  return to(e, clamped, dtype);
}
Result<void> check_per_token(const Tensor& input, const Tensor& values, std::string_view what) {
  Sizes expected = input.sizes();
  if (expected.empty()) return operator_error("found a 0-dim tensor, expected rows");
  expected.back() = 1;
  if (values.sizes() == expected) return {};
  int64_t rows = 1;
  for (int64_t size : expected) rows *= size;
  if (values.numel() == rows && values.dim() == input.dim()) return {};
  return check_sizes(values, expected, what);
}
Result<Tensor> quantize_per_token(Emitter& e, const Tensor& input, const Tensor& scales,
                                  const Tensor& zero_points, int64_t quant_min, int64_t quant_max,
                                  Dtype dtype) {
  PT2_TRY_VOID(check_per_token(input, scales, "scales"));
  PT2_TRY_VOID(check_per_token(input, zero_points, "zero_points"));
  return quantize_rows(e, input, scales, zero_points, quant_min, quant_max, dtype);
}
Result<Tensor> dequantize_rows(Emitter& e, const Tensor& input, const Tensor& scales,
                               const Tensor& zero_points, Dtype output_dtype) {
  PT2_TRY(const Tensor shifted, e(aten<"sub.Tensor">, {input, zero_points}));
  PT2_TRY(const Tensor scaled, e(aten<"mul.Tensor">, {shifted, scales}));
  return to(e, scaled, output_dtype);
}
Result<Tensor> dequantize_per_token(Emitter& e, const Tensor& input, const Tensor& scales,
                                    const Tensor& zero_points, int64_t quant_min, int64_t quant_max,
                                    Dtype dtype, Dtype output_dtype) {
  PT2_TRY_VOID(check_bounds(quant_min, quant_max, dtype));
  PT2_TRY_VOID(check_per_token(input, scales, "scales"));
  PT2_TRY_VOID(check_per_token(input, zero_points, "zero_points"));
  return dequantize_rows(e, input, scales, zero_points, output_dtype);
}

// Splits the rows of a matrix into groups of `group_size`; each group has a scale.
Result<Tensor> grouped_rows(Emitter& e, const Tensor& input, const Tensor& scales,
                            int64_t group_size) {
  PT2_TRY_VOID(check_rank(input, 2, "input"));
  PT2_TRY_VOID(check_rank(scales, 2, "scales"));
  if (group_size > input.size(1) && scales.size(1) == 1) group_size = input.size(1);
  if (group_size <= 1 || input.size(1) % group_size != 0)
    return operator_error("found group_size " + std::to_string(group_size) +
                          ", expected a divisor of " + std::to_string(input.size(1)) + " above 1");
  if (scales.numel() != input.numel() / group_size)
    return operator_error("found " + std::to_string(scales.numel()) + " scales, expected " +
                          std::to_string(input.numel() / group_size));
  return e(aten<"reshape.default">, {input, Sizes{-1, group_size}});
}
Result<Tensor> quantize_groups(Emitter& e, const Tensor& input, const Tensor& scales,
                               const Tensor& zero_points, int64_t quant_min, int64_t quant_max,
                               Dtype dtype, int64_t group_size) {
  PT2_TRY(const Tensor rows, grouped_rows(e, input, scales, group_size));
  PT2_TRY(const Tensor factors, e(aten<"reshape.default">, {scales, Sizes{-1, 1}}));
  PT2_TRY(const Tensor zeros, e(aten<"reshape.default">, {zero_points, Sizes{-1, 1}}));
  PT2_TRY(const Tensor quantized,
          quantize_rows(e, rows, factors, zeros, quant_min, quant_max, dtype));
  return e(aten<"reshape.default">, {quantized, input.sizes()});
}
Result<Tensor> dequantize_groups(Emitter& e, const Tensor& input, const Tensor& scales,
                                 const OptionalTensor& zero_points, int64_t, int64_t, Dtype,
                                 int64_t group_size, Dtype output_dtype) {
  PT2_TRY(const Tensor rows, grouped_rows(e, input, scales, group_size));
  PT2_TRY(const Tensor factors, e(aten<"reshape.default">, {scales, Sizes{-1, 1}}));
  Tensor zeros = Tensor::zeros(Dtype::int32, {1, 1});
  if (zero_points) {
    PT2_TRY(zeros, e(aten<"reshape.default">, {*zero_points, Sizes{-1, 1}}));
  }
  PT2_TRY(const Tensor shifted, e(aten<"sub.Tensor">, {rows, zeros}));
  PT2_TRY(const Tensor scaled, e(aten<"mul.Tensor">, {shifted, factors}));
  PT2_TRY(const Tensor whole, e(aten<"reshape.default">, {scaled, input.sizes()}));
  return to(e, whole, output_dtype);
}

// --- Choosing scale and zero point

Tensor one_element(Dtype dtype, double value) {
  Tensor out = Tensor::zeros(dtype, {1});
  fill_elements(out, value);
  return out;
}
struct Extremes {
  float low = 0;
  float high = 0;
};
// Returns the smallest and the largest element, extended to include 0.
Result<Extremes> range_with_zero(const Tensor& input) {
  PT2_TRY(const Tensor real, as_float32(input));
  if (real.numel() == 0)
    return operator_error("input: found no elements, expected some to choose a range from");
  PT2_TRY(const Tensor low, apply(aten<"amin.default">, {real}));
  PT2_TRY(const Tensor high, apply(aten<"amax.default">, {real}));
  return Extremes{std::min(*low.data<float>(), 0.0f), std::max(*high.data<float>(), 0.0f)};
}
// Computes in double, because the difference of two int64 may overflow.
float step_count(int64_t quant_min, int64_t quant_max) {
  return static_cast<float>(static_cast<double>(quant_max) - static_cast<double>(quant_min));
}
// Rounds the value as a store to a half dtype does; other dtypes keep it.
float rounded_as(Dtype dtype, float value) {
  if (is_half(dtype)) round_elements(dtype, 1, &value);
  return value;
}
Result<std::array<Meta, 2>> qparams_meta(const Tensor&, int64_t quant_min, int64_t quant_max) {
  if (quant_min >= quant_max)
    return operator_error("quant_min: found " + std::to_string(quant_min) +
                          ", expected less than quant_max, " + std::to_string(quant_max));
  return std::array{Meta(Dtype::float64, {1}), Meta(Dtype::int64, {1})};
}
// Source: torch/ao/quantization/utils.py determine_qparams.
Result<TensorPair> choose_qparams(const Tensor& input, int64_t quant_min, int64_t quant_max,
                                  double eps) {
  PT2_TRY_VOID(qparams_meta(input, quant_min, quant_max));
  PT2_TRY(const Extremes range, range_with_zero(input));
  const auto steps = step_count(quant_min, quant_max);
  const float width = rounded_as(input.dtype(), range.high - range.low);
  const float scale = std::max(rounded_as(input.dtype(), width / steps), static_cast<float>(eps));
  const double zero =
      static_cast<double>(quant_min) - static_cast<double>(std::nearbyint(range.low / scale));
  const double clamped =
      std::clamp(zero, static_cast<double>(quant_min), static_cast<double>(quant_max));
  return TensorPair(one_element(Dtype::float64, scale), one_element(Dtype::int64, clamped));
}
Result<TensorPair> choose_qparams_symmetric(const Tensor& input, int64_t quant_min,
                                            int64_t quant_max, double eps, Dtype dtype) {
  PT2_TRY_VOID(qparams_meta(input, quant_min, quant_max));
  PT2_TRY(const Extremes range, range_with_zero(input));
  const float reach = std::max(-range.low, range.high);
  const float steps = step_count(quant_min, quant_max) / 2;
  const float scale = std::max(rounded_as(input.dtype(), reach / steps), static_cast<float>(eps));
  return TensorPair(one_element(Dtype::float64, scale),
                    one_element(Dtype::int64, dtype == Dtype::uint8 ? 128 : 0));
}

Result<Tensor> row_extreme(Emitter& e, Handle handle, const Tensor& input) {
  if (input.dim() == 0) return operator_error("found a 0-dim tensor, expected rows");
  return e(handle, {input, Value::List{int64_t{-1}}, true});
}
Result<TensorPair> choose_qparams_per_token(Emitter& e, const Tensor& input, Dtype dtype) {
  if (dtype != Dtype::int8)
    return operator_error("found dtype " + std::string(dtype_name(dtype)) + ", expected int8");
  PT2_TRY(const Tensor magnitudes, e(aten<"abs.default">, {input}));
  PT2_TRY(Tensor scales, row_extreme(e, aten<"amax.default">, magnitudes));
  if (scales.dtype() == Dtype::float16) {
    PT2_TRY(scales, to(e, scales, Dtype::float32));
  }
  PT2_TRY(const Tensor clamped, e(aten<"clamp.default">, {scales, 1e-5}));
  PT2_TRY(Tensor divided, e(aten<"div.Tensor">, {clamped, int64_t{127}}));
  PT2_TRY(Tensor zeros, e(aten<"zeros_like.default">, {divided}));
  return TensorPair(std::move(divided), std::move(zeros));
}
Result<TensorPair> choose_qparams_per_token_asymmetric(Emitter& e, const Tensor& input) {
  PT2_TRY(const Tensor lowest, row_extreme(e, aten<"amin.default">, input));
  PT2_TRY(const Tensor highest, row_extreme(e, aten<"amax.default">, input));
  PT2_TRY(const Tensor low, e(aten<"clamp_max.default">, {lowest, int64_t{0}}));
  PT2_TRY(const Tensor high, e(aten<"clamp_min.default">, {highest, int64_t{0}}));
  PT2_TRY(const Tensor span, e(aten<"sub.Tensor">, {high, low}));
  PT2_TRY(const Tensor step, e(aten<"div.Tensor">, {span, 255.0}));
  PT2_TRY(
      const Tensor scale,
      e(aten<"clamp.default">, {step, static_cast<double>(std::numeric_limits<float>::epsilon())}));
  PT2_TRY(const Tensor scaled_low, e(aten<"div.Tensor">, {low, scale}));
  PT2_TRY(const Tensor scaled_high, e(aten<"div.Tensor">, {high, scale}));
  PT2_TRY(const Tensor low_error, e(aten<"add.Tensor">, {scaled_low, int64_t{-128}}));
  PT2_TRY(const Tensor high_error, e(aten<"add.Tensor">, {scaled_high, int64_t{127}}));
  PT2_TRY(const Tensor errors, e(aten<"add.Tensor">, {low_error, high_error}));
  PT2_TRY(const Tensor positive, e(aten<"gt.Scalar">, {errors, int64_t{0}}));
  PT2_TRY(const Tensor from_low, e(aten<"rsub.Scalar">, {scaled_low, int64_t{-128}}));
  PT2_TRY(const Tensor from_high, e(aten<"rsub.Scalar">, {scaled_high, int64_t{127}}));
  PT2_TRY(const Tensor chosen, e(aten<"where.self">, {positive, from_low, from_high}));
  PT2_TRY(const Tensor clamped, e(aten<"clamp.default">, {chosen, int64_t{-128}, int64_t{127}}));
  PT2_TRY(const Tensor rounded, e(aten<"round.default">, {clamped}));
  PT2_TRY(Tensor scales, to(e, scale, Dtype::float64));
  PT2_TRY(Tensor zeros, to(e, rounded, Dtype::int64));
  return TensorPair(std::move(scales), std::move(zeros));
}

Result<Tensor> convert_no_fuse(const Tensor& input, Dtype dtype) {
  return copy_as(input, dtype, std::nullopt);
}

// Result metadata: the sizes of the input, with the dtype given by an argument, if any.
Result<std::vector<Meta>> quantized_meta(std::span<const Value> arguments) {
  Meta meta = Meta::like(*arguments[0].get_if<Tensor>());
  for (const Value& argument : arguments.subspan(1))
    if (const auto* dtype = argument.get_if<Dtype>()) meta.dtype = *dtype;
  return meta_list(std::move(meta));
}
Result<std::vector<Meta>> dequantized_meta(std::span<const Value> arguments) {
  const auto* dtype = arguments.back().get_if<Dtype>();
  return meta_list(
      Meta(dtype != nullptr ? *dtype : Dtype::float32, arguments[0].get_if<Tensor>()->sizes()));
}

// clang-format off
constexpr OpDef kQuantizedOps[] = {
    composed<"quantized_decomposed::quantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor", quantized_meta, quantize>,
    composed<"quantized_decomposed::quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor", quantized_meta, by_tensors<quantize, int64_t, Dtype>>,
    composed<"quantized_decomposed::quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype) -> Tensor", quantized_meta, by_tensors<quantize, Tensor, Dtype>>,
    composed<"quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor", dequantized_meta, dequantize>,
    composed<"quantized_decomposed::dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor", dequantized_meta, by_tensors<dequantize, int64_t, Dtype, OptionalDtype>>,
    composed<"quantized_decomposed::dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor", dequantized_meta, by_tensors<dequantize, Tensor, Dtype, OptionalDtype>>,
    composed<"quantized_decomposed::quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max, ScalarType dtype) -> Tensor", quantized_meta, quantize_channels>,
    composed<"quantized_decomposed::dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor", dequantized_meta, dequantize_channels>,
    kept<"quantized_decomposed::fake_quant_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max) -> Tensor", fake_quantize_channels>,
    kept<"quantized_decomposed::quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype) -> Tensor", quantize_per_token>,
    kept<"quantized_decomposed::dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype, ScalarType output_dtype) -> Tensor", dequantize_per_token>,
    kept<"quantized_decomposed::quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype, int group_size) -> Tensor", quantize_groups>,
    kept<"quantized_decomposed::dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, int quant_min, int quant_max, ScalarType dtype, int group_size, ScalarType output_dtype) -> Tensor", dequantize_groups>,
    composed<"quantized_decomposed::choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)", qparams_meta, choose_qparams>,
    composed<"quantized_decomposed::choose_qparams_symmetric.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)", qparams_meta, choose_qparams_symmetric>,
    kept<"quantized_decomposed::choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)", choose_qparams_per_token>,
    kept<"quantized_decomposed::choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)", choose_qparams_per_token_asymmetric>,
    composed<"quantized_decomposed::convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor", quantized_meta, convert_no_fuse>,
};
// clang-format on

}  // namespace

std::span<const OpDef> quantized_ops() { return kQuantizedOps; }

}  // namespace pt2::ops
