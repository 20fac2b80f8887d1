// Linear layers of torch.ao's dynamic quantisation. A script object holds int8 weights; every call
// quantises its activations anew (ATen/native/quantized/cpu/qlinear_dynamic.cpp).
#include <algorithm>
#include <cmath>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

constexpr std::string_view kPackedClass =
    "__torch__.torch.classes.quantized.LinearPackedParamsBase";

// The state that LinearPackedParamsBase.__getstate__ returns: (weight, bias).
struct PackedLinear {
  Tensor weight;                     // int8 [n, k]; of a float dtype for the fp16 operators
  std::vector<double> scales;        // one scale, or one per row
  std::vector<int64_t> zero_points;  // one zero point, or one per row
  OptionalTensor bias;

  double scale(int64_t row) const { return scales[index(row)]; }
  int64_t zero_point(int64_t row) const { return zero_points[index(row)]; }

 private:
  size_t index(int64_t row) const { return scales.size() == 1 ? 0 : static_cast<size_t>(row); }
};

Error wrong_state(std::string_view what) {
  return operator_error("W_prepack: found a state with " + std::string(what) +
                        ", expected that of " + std::string(kPackedClass));
}

// Reads the parts of a quantised tensor: integers, then a scale and a zero point, or scales, zero
// points and their axis.
Result<void> read_weight(const Value::List& parts, PackedLinear& out) {
  const auto* integers = parts.empty() ? nullptr : parts[0].get_if<Tensor>();
  if (integers == nullptr || integers->dtype() != Dtype::int8 || integers->dim() != 2)
    return wrong_state("another weight");
  out.weight = *integers;
  if (parts.size() == 3) {
    const auto* scale = parts[1].get_if<double>();
    const auto* zero_point = parts[2].get_if<int64_t>();
    if (scale == nullptr || zero_point == nullptr) return wrong_state("another quantizer");
    out.scales = {*scale};
    out.zero_points = {*zero_point};
    return {};
  }
  const auto* scales = parts.size() == 4 ? parts[1].get_if<Tensor>() : nullptr;
  const auto* zero_points = parts.size() == 4 ? parts[2].get_if<Tensor>() : nullptr;
  const auto* axis = parts.size() == 4 ? parts[3].get_if<int64_t>() : nullptr;
  if (scales == nullptr || zero_points == nullptr || axis == nullptr || *axis != 0)
    return wrong_state("another quantizer");
  const Sizes rows = {integers->size(0)};
  PT2_TRY_VOID(check_sizes(*scales, rows, "scales"));
  PT2_TRY_VOID(check_sizes(*zero_points, rows, "zero points"));
  const Input<double> scale(*scales);
  const Input<int64_t> zero_point(*zero_points);
  out.scales.assign(scale.data(), scale.data() + scale.size());
  out.zero_points.assign(zero_point.data(), zero_point.data() + zero_point.size());
  return {};
}

Result<PackedLinear> unpack(const Object& object) {
  if (object == nullptr || object->class_name != kPackedClass)
    return operator_error("W_prepack: found an object of class '" +
                          (object == nullptr ? std::string() : object->class_name) +
                          "', expected " + std::string(kPackedClass));
  const auto* state = object->state.get_if<Value::List>();
  if (state == nullptr || state->size() != 2) return wrong_state("other parts");
  PackedLinear out;
  const Value& weight = (*state)[0];
  if (const auto* plain = weight.get_if<Tensor>()) {
    out.weight = *plain;
  } else {
    const auto* parts = weight.get_if<Value::List>();
    if (parts == nullptr) return wrong_state("another weight");
    PT2_TRY_VOID(read_weight(*parts, out));
  }
  PT2_TRY_VOID(check_rank(out.weight, 2, "weight"));
  if (const auto* bias = (*state)[1].get_if<Tensor>()) {
    out.bias = *bias;
    PT2_TRY_VOID(check_sizes(*bias, {out.weight.size(0)}, "bias"));
  } else if (!(*state)[1].is_none()) {
    return wrong_state("another bias");
  }
  return out;
}

Result<Meta> result_meta(const Tensor& x, const PackedLinear& linear) {
  PT2_TRY_VOID(check_dtype(x, Dtype::float32, "X"));
  if (x.dim() == 0 || x.sizes().back() != linear.weight.size(1))
    return operator_error("X: found " + x.type_text() + ", expected a last dim of " +
                          std::to_string(linear.weight.size(1)));
  Sizes sizes = x.sizes();
  sizes.back() = linear.weight.size(0);
  return Meta(Dtype::float32, std::move(sizes));
}

struct Quantization {
  float scale = 1;
  int32_t zero_point = 0;
};

// ATen/native/quantized/cpu/QuantUtils.h ChooseQuantizationParams, without preserve_sparsity.
Quantization choose_quantization(float min, float max, bool reduce_range) {
  constexpr float kSmallScale = 6.1e-5f;
  constexpr int32_t kLow = 0;
  const int32_t high = reduce_range ? 127 : 255;
  min = std::min(min, 0.0f);
  max = std::max(max, 0.0f);
  double scale = (static_cast<double>(max) - min) / (high - kLow);
  if (static_cast<float>(scale) == 0.0f || std::isinf(1.0f / static_cast<float>(scale)))
    scale = 0.1;
  if (scale < kSmallScale) {
    const float amplifier = kSmallScale / static_cast<float>(scale);
    scale = kSmallScale;
    const float widest = kSmallScale * static_cast<float>(high - kLow);
    if (min == 0.0f) {
      max = widest;
    } else if (max == 0.0f) {
      min = -widest;
    } else {
      min *= amplifier;
      max *= amplifier;
    }
  }
  // Computes the zero point from the end of the range that has the smaller rounding error.
  const double from_min = kLow - min / scale;
  const double from_max = high - max / scale;
  const double min_error = std::abs(kLow) - std::abs(min / scale);
  const double max_error = std::abs(high) - std::abs(max / scale);
  const double zero_point = min_error < max_error ? from_min : from_max;
  const double inside = std::clamp(zero_point, double{kLow}, double{static_cast<double>(high)});
  return {static_cast<float>(scale), static_cast<int32_t>(std::nearbyint(inside))};
}

// fbgemm/QuantUtils.h Quantize: adds the zero point before rounding.
int32_t quantize(float x, const Quantization& how, float inverse_scale) {
  const float shifted = std::fma(x, inverse_scale, static_cast<float>(how.zero_point));
  if (std::isnan(shifted)) return 0;
  return static_cast<int32_t>(std::clamp(std::nearbyint(shifted), 0.0f, 255.0f));
}

std::vector<int32_t> quantize_all(const Input<float>& x, const Quantization& how) {
  std::vector<int32_t> out(static_cast<size_t>(x.size()));
  const float inverse_scale = 1.0f / how.scale;
  for (int64_t i = 0; i < x.size(); ++i)
    out[static_cast<size_t>(i)] = quantize(x[i], how, inverse_scale);
  return out;
}

void multiply(Tensor& out, const Input<float>& x, const PackedLinear& linear, bool reduce_range) {
  float min = 0, max = 0;
  if (x.size() > 0) {
    const auto [lowest, highest] = std::minmax_element(x.data(), x.data() + x.size());
    min = *lowest;
    max = *highest;
  }
  const Quantization how = choose_quantization(min, max, reduce_range);
  const std::vector<int32_t> integers = quantize_all(x, how);
  const int64_t rows = linear.weight.size(0), depth = linear.weight.size(1);
  const Input<int64_t> weight(linear.weight);
  const OptionalTensor none;
  const Input<float> bias(linear.bias ? *linear.bias : Tensor::zeros(Dtype::float32, {rows}));
  Output<float> y(out);
  for (int64_t i = 0; i < out.numel(); ++i) {
    const int64_t row = i % rows;
    const int32_t* left = integers.data() + i / rows * depth;
    const int64_t* right = weight.data() + row * depth;
    int64_t sum = 0;
    for (int64_t k = 0; k < depth; ++k)
      sum += (left[k] - how.zero_point) * (right[k] - linear.zero_point(row));
    const float scale = how.scale * static_cast<float>(linear.scale(row));
    y[i] = static_cast<float>(sum) * scale + bias[row];
  }
}

Result<Tensor> linear_dynamic(const Tensor& x, const Object& packed, bool reduce_range) {
  PT2_TRY(const PackedLinear linear, unpack(packed));
  if (linear.scales.empty()) return wrong_state("a weight that is not quantised");
  PT2_TRY(const Meta meta, result_meta(x, linear));
  PT2_TRY(Tensor out, allocate(meta));
  multiply(out, Input<float>(x), linear, reduce_range);
  return out;
}

// The weight is rounded to float16; everything else is float32. Out-of-range weights saturate
// (fbgemm's PackedGemmMatrixFP16).
Result<Tensor> linear_dynamic_fp16(const Tensor& x, const Object& packed) {
  PT2_TRY(const PackedLinear linear, unpack(packed));
  if (!linear.scales.empty()) return wrong_state("a quantised weight");
  PT2_TRY_VOID(result_meta(x, linear));
  constexpr double kLargest = 65504;
  PT2_TRY(Tensor weight, apply(aten<"clamp.default">, {linear.weight, -kLargest, kLargest}));
  PT2_TRY(weight, apply(aten<"to.dtype">, {weight, Dtype::float16}));
  PT2_TRY(weight, apply(aten<"to.dtype">, {weight, Dtype::float32}));
  return apply(aten<"linear.default">, {x, weight, linear.bias ? Value(*linear.bias) : Value()});
}

Result<Tensor> linear_relu_dynamic(const Tensor& x, const Object& packed, bool reduce_range) {
  PT2_TRY(Tensor out, linear_dynamic(x, packed, reduce_range));
  return apply(aten<"relu.default">, {out});
}
Result<Tensor> linear_relu_dynamic_fp16(const Tensor& x, const Object& packed) {
  PT2_TRY(Tensor out, linear_dynamic_fp16(x, packed));
  return apply(aten<"relu.default">, {out});
}

// clang-format off
constexpr OpDef kQuantizedLinearOps[] = {
    composed<"quantized::linear_dynamic(Tensor X, __torch__.torch.classes.quantized.LinearPackedParamsBase W_prepack, bool reduce_range=False) -> Tensor Y", depends_on_data, linear_dynamic>,
    composed<"quantized::linear_relu_dynamic(Tensor X, __torch__.torch.classes.quantized.LinearPackedParamsBase W_prepack, bool reduce_range=False) -> Tensor Y", depends_on_data, linear_relu_dynamic>,
    composed<"quantized::linear_dynamic_fp16(Tensor X, __torch__.torch.classes.quantized.LinearPackedParamsBase W_prepack) -> Tensor Y", depends_on_data, linear_dynamic_fp16>,
    composed<"quantized::linear_relu_dynamic_fp16(Tensor X, __torch__.torch.classes.quantized.LinearPackedParamsBase W_prepack) -> Tensor Y", depends_on_data, linear_relu_dynamic_fp16>,
};
// clang-format on

}  // namespace

std::span<const OpDef> quantized_linear_ops() { return kQuantizedLinearOps; }

}  // namespace pt2::ops
