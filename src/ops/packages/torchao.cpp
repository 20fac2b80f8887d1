// Operators of torchao: block-wise quantisation (torchao/quantization/quant_primitives.py). Each
// operator follows torchao's composition, so that every rounding agrees. For blocks of contiguous
// elements, a kernel with the same rounding is used.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>

#include "base/memory_account.h"
#include "kernels/dtypes/levels.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/convert.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

using OptionalScalar = std::optional<Scalar>;
using TensorPair = std::tuple<Tensor, Tensor>;

struct Bounds {
  Dtype dtype;
  double low, high;
};
constexpr Bounds kBounds[] = {
    {Dtype::uint8, 0, 255},
    {Dtype::int8, -128, 127},
    {Dtype::int16, -32768, 32767},
    {Dtype::int32, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()},
    {Dtype::float8_e4m3fn, -448, 448},
    {Dtype::float8_e5m2, -57344, 57344},
    {Dtype::float8_e4m3fnuz, -240, 240},
    {Dtype::float8_e5m2fnuz, -57344, 57344},
};

struct Range {
  Scalar low, high;
};

Result<Range> range_of(Dtype dtype, const OptionalScalar& quant_min,
                       const OptionalScalar& quant_max) {
  for (const Bounds& bounds : kBounds) {
    if (bounds.dtype != dtype) continue;
    const bool whole = dtype_category(dtype) == DtypeCategory::integer;
    const auto number = [&](double value) {
      return whole ? Scalar(static_cast<int64_t>(value)) : Scalar(value);
    };
    const Range range{quant_min.value_or(number(bounds.low)),
                      quant_max.value_or(number(bounds.high))};
    if (range.low.to_double() < bounds.low || range.high.to_double() > bounds.high)
      return operator_error("quant_min and quant_max: found a range beyond that of " +
                            std::string(dtype_name(dtype)) + ", expected one within it");
    return range;
  }
  return operator_error("found dtype " + std::string(dtype_name(dtype)) +
                        ", expected one to quantise to");
}

// `split` are the sizes that give each block dimensions of its own; `kept` are the sizes with one
// number per block.
struct Blocks {
  Sizes split, kept;
  Value::List reduced;
};

Result<Blocks> blocks_of(const Sizes& sizes, const std::vector<int64_t>& block_size) {
  if (sizes.size() != block_size.size())
    return operator_error("block_size: found " + std::to_string(block_size.size()) +
                          " numbers, expected " + std::to_string(sizes.size()) +
                          ", one for each dim");
  Blocks out;
  const auto add = [&](int64_t size, bool reduces) {
    if (reduces) out.reduced.emplace_back(static_cast<int64_t>(out.split.size()));
    out.split.push_back(size);
    out.kept.push_back(reduces ? 1 : size);
  };
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t block = block_size[i];
    if (block <= 1 || block == sizes[i]) {
      add(sizes[i], block != 1);
      continue;
    }
    if (sizes[i] % block != 0)
      return operator_error("size " + std::to_string(sizes[i]) +
                            " is not a multiple of its block " + std::to_string(block));
    add(sizes[i] / block, false);
    add(block, true);
  }
  return out;
}

// The sizes of a tensor with one element per block.
Sizes counts_of_blocks(const Sizes& sizes, const std::vector<int64_t>& block_size) {
  Sizes out;
  for (size_t i = 0; i < block_size.size(); ++i)
    out.push_back(block_size[i] > 0 ? sizes[i] / block_size[i] : 0);
  return out;
}

Result<Tensor> reshape(Emitter& e, const Tensor& tensor, const Sizes& sizes) {
  return e(aten<"reshape.default">, {tensor, sizes});
}
Result<Tensor> to(Emitter& e, const Tensor& tensor, Dtype dtype) {
  return e(aten<"to.dtype">, {tensor, dtype});
}
Value value_of(const Scalar& scalar) {
  return scalar.is_integral() ? Value(scalar.to_int()) : Value(scalar.to_double());
}

// The quantisation levels of blocks, each of `length` contiguous elements.
struct Runs {
  int64_t length = 0;
  Scratch<kernels::Levels> levels;
};

// The blocks as contiguous runs. Nothing (nullopt) if blocks are not contiguous, are short, or have
// parameters that kernels do not take: scales that are not float32, zero points that are large or
// not integers.
std::optional<Runs> runs_of(const Blocks& blocks, const Tensor& scales, const Tensor& zeros) {
  constexpr int64_t kShort = 16;
  size_t dim = blocks.kept.size();
  Runs out{1, {}};
  while (dim > 0 && blocks.kept[dim - 1] == 1) out.length *= blocks.split[--dim];
  while (dim > 0 && blocks.kept[dim - 1] == blocks.split[dim - 1]) --dim;
  if (dim > 0 || out.length < kShort || scales.dtype() != Dtype::float32 ||
      scales.numel() != zeros.numel() || dtype_category(zeros.dtype()) > DtypeCategory::floating)
    return std::nullopt;
  const Tensor steps = scales.contiguous(), offsets = zeros.contiguous();
  Scratch<double> whole(static_cast<size_t>(offsets.numel()));
  out.levels.reserve(whole.size());
  load_elements<double>(offsets.raw_data(), 1, offsets.dtype(), offsets.numel(), whole.data());
  for (size_t i = 0; i < whole.size(); ++i) {
    if (!(std::abs(whole[i]) <= kernels::Levels::kLargestZero) ||
        whole[i] != std::nearbyint(whole[i]))
      return std::nullopt;
    const float scale = steps.data<float>()[i], zero = static_cast<float>(whole[i]);
    out.levels.push_back({.inverse = 1 / scale,
                          .zero = zero,
                          .low = 0,
                          .high = 0,
                          .scale = scale,
                          .back_zero = zero});
  }
  return out;
}

template <class Level>
Result<Tensor> quantize_runs(const Tensor& input, const Runs& runs, const Range& range) {
  PT2_TRY(Tensor out, allocate(Meta(dtype_of<Level>(), input.sizes())));
  const float* in = input.data<float>();
  auto* to = reinterpret_cast<Level*>(out.raw_data());
  for (kernels::Levels levels : runs.levels) {
    levels.low = static_cast<float>(range.low.to_double()) - levels.zero;
    levels.high = static_cast<float>(range.high.to_double()) - levels.zero;
    kernels::to_levels(in, runs.length, levels, to);
    in += runs.length;
    to += runs.length;
  }
  return out;
}

template <class Level>
Result<Tensor> dequantize_runs(const Tensor& input, const Runs& runs) {
  PT2_TRY(Tensor out, allocate(Meta(Dtype::float32, input.sizes())));
  const auto* in = reinterpret_cast<const Level*>(input.raw_data());
  float* to = out.data<float>();
  for (const kernels::Levels& levels : runs.levels) {
    kernels::from_levels(in, runs.length, levels, to);
    in += runs.length;
    to += runs.length;
  }
  return out;
}

Result<Meta> quantize_affine_meta(const Tensor& input, const std::vector<int64_t>& block_size,
                                  const Tensor&, const std::optional<Tensor>& zero_point,
                                  Dtype output_dtype, const OptionalScalar& quant_min,
                                  const OptionalScalar& quant_max) {
  PT2_TRY_VOID(range_of(output_dtype, quant_min, quant_max));
  PT2_TRY_VOID(check_floating(input, "input"));
  PT2_TRY_VOID(blocks_of(input.sizes(), block_size));
  if (!zero_point || zero_point->numel() == 0)
    return operator_error("found no zero_point, expected one for each block");
  return Meta(output_dtype, input.sizes());
}
Result<Tensor> quantize_affine(const Tensor& input, const std::vector<int64_t>& block_size,
                               const Tensor& scale, const std::optional<Tensor>& zero_point,
                               Dtype output_dtype, const OptionalScalar& quant_min,
                               const OptionalScalar& quant_max) {
  PT2_TRY_VOID(quantize_affine_meta(input, block_size, scale, zero_point, output_dtype, quant_min,
                                    quant_max));
  PT2_TRY(const Range range, range_of(output_dtype, quant_min, quant_max));
  PT2_TRY(const Blocks blocks, blocks_of(input.sizes(), block_size));
  Context context;
  Runner e(context);
  PT2_TRY(const Tensor split, reshape(e, input, blocks.split));
  PT2_TRY(const Tensor scales, reshape(e, scale, blocks.kept));
  PT2_TRY(const Tensor zeros, reshape(e, *zero_point, blocks.kept));
  if (input.dtype() == Dtype::float32 && input.numel() > 0 && range.low.is_integral() &&
      range.high.is_integral() && range.low.to_double() <= range.high.to_double()) {
    const auto runs = runs_of(blocks, scales, zeros);
    if (runs && output_dtype == Dtype::int8)
      return quantize_runs<int8_t>(input.contiguous(), *runs, range);
    if (runs && output_dtype == Dtype::uint8)
      return quantize_runs<uint8_t>(input.contiguous(), *runs, range);
  }
  PT2_TRY(const Tensor inverse, e(aten<"reciprocal.default">, {scales}));
  PT2_TRY(const Tensor scaled, e(aten<"mul.Tensor">, {split, inverse}));
  PT2_TRY(const Tensor rounded, e(aten<"round.default">, {scaled}));
  PT2_TRY(const Tensor moved, e(aten<"add.Tensor">, {rounded, zeros}));
  PT2_TRY(const Tensor clamped,
          e(aten<"clamp.default">, {moved, value_of(range.low), value_of(range.high)}));
  PT2_TRY(const Tensor whole, reshape(e, clamped, input.sizes()));
  return to(e, whole, output_dtype);
}

Result<Meta> dequantize_affine_meta(const Tensor& input, const std::vector<int64_t>& block_size,
                                    const Tensor&, const std::optional<Tensor>&, Dtype input_dtype,
                                    const OptionalScalar& quant_min,
                                    const OptionalScalar& quant_max, Dtype output_dtype) {
  PT2_TRY_VOID(check_dtype(input, input_dtype, "input"));
  PT2_TRY_VOID(range_of(input_dtype, quant_min, quant_max));
  PT2_TRY_VOID(blocks_of(input.sizes(), block_size));
  return Meta(output_dtype, input.sizes());
}
Result<Tensor> dequantize_affine(const Tensor& input, const std::vector<int64_t>& block_size,
                                 const Tensor& scale, const std::optional<Tensor>& zero_point,
                                 Dtype input_dtype, const OptionalScalar& quant_min,
                                 const OptionalScalar& quant_max, Dtype output_dtype) {
  PT2_TRY_VOID(dequantize_affine_meta(input, block_size, scale, zero_point, input_dtype, quant_min,
                                      quant_max, output_dtype));
  PT2_TRY(const Blocks blocks, blocks_of(input.sizes(), block_size));
  Context context;
  Runner e(context);
  PT2_TRY(const Tensor split, reshape(e, input, blocks.split));
  PT2_TRY(const Tensor scales, reshape(e, scale, blocks.kept));
  if (zero_point && output_dtype == Dtype::float32 && input.numel() > 0) {
    PT2_TRY(const Tensor zeros, reshape(e, *zero_point, blocks.kept));
    const auto runs = runs_of(blocks, scales, zeros);
    if (runs && input_dtype == Dtype::int8)
      return dequantize_runs<int8_t>(input.contiguous(), *runs);
    if (runs && input_dtype == Dtype::uint8)
      return dequantize_runs<uint8_t>(input.contiguous(), *runs);
  }
  PT2_TRY(Tensor values, to(e, split, output_dtype));
  PT2_TRY_VOID(check_floating(values, "output_dtype"));
  if (zero_point) {
    PT2_TRY(const Tensor zeros, reshape(e, *zero_point, blocks.kept));
    PT2_TRY(const Tensor subtracted, to(e, zeros, output_dtype));
    PT2_TRY(values, e(aten<"sub.Tensor">, {values, subtracted}));
  }
  PT2_TRY(const Tensor scaled, e(aten<"mul.Tensor">, {values, scales}));
  PT2_TRY(const Tensor whole, reshape(e, scaled, input.sizes()));
  return to(e, whole, output_dtype);
}

struct Extremes {
  Tensor low, high;  // low is at most 0, high at least 0
};

Result<Extremes> extremes_of(Emitter& e, const Tensor& split, const Blocks& blocks, bool keepdim) {
  Extremes out;
  PT2_TRY(const Tensor least, e(aten<"amin.default">, {split, blocks.reduced, keepdim}));
  PT2_TRY(const Tensor most, e(aten<"amax.default">, {split, blocks.reduced, keepdim}));
  PT2_TRY(const Tensor zeros, e(aten<"zeros_like.default">, {least}));
  PT2_TRY(out.low, e(aten<"minimum.default">, {least, zeros}));
  PT2_TRY(out.high, e(aten<"maximum.default">, {most, zeros}));
  return out;
}

// The scale before clamping.
Result<Tensor> scale_of(Emitter& e, const std::string& mapping, const Extremes& extremes,
                        const Range& range) {
  const double steps = range.high.to_double() - range.low.to_double();
  if (mapping == "ASYMMETRIC") {
    PT2_TRY(const Tensor width, e(aten<"sub.Tensor">, {extremes.high, extremes.low}));
    return e(aten<"div.Tensor">, {width, steps});
  }
  PT2_TRY(const Tensor negative, e(aten<"neg.default">, {extremes.low}));
  if (mapping == "SYMMETRIC") {
    PT2_TRY(const Tensor reach, e(aten<"maximum.default">, {negative, extremes.high}));
    return e(aten<"div.Tensor">, {reach, steps / 2});
  }
  if (mapping != "SYMMETRIC_NO_CLIPPING_ERR")
    return operator_error("found the mapping '" + mapping +
                          "', expected SYMMETRIC, "
                          "SYMMETRIC_NO_CLIPPING_ERR or ASYMMETRIC");
  PT2_TRY(const Tensor low, e(aten<"div.Tensor">, {extremes.low, range.low.to_double()}));
  PT2_TRY(const Tensor high, e(aten<"div.Tensor">, {extremes.high, range.high.to_double()}));
  PT2_TRY(const Tensor is_low, e(aten<"gt.Tensor">, {low, high}));
  return e(aten<"where.self">, {is_low, low, high});
}

Result<Tensor> zero_point_of(Emitter& e, const std::string& mapping, const Extremes& extremes,
                             const Tensor& scale, const Range& range) {
  if (mapping != "ASYMMETRIC") {
    const double middle = (range.high.to_double() + range.low.to_double() + 1) / 2;
    return e(aten<"full_like.default">, {scale, static_cast<int64_t>(middle)});
  }
  PT2_TRY(const Tensor steps, e(aten<"div.Tensor">, {extremes.low, scale}));
  PT2_TRY(const Tensor rounded, e(aten<"round.default">, {steps}));
  PT2_TRY(const Tensor moved, e(aten<"rsub.Scalar">, {rounded, value_of(range.low)}));
  return e(aten<"clamp.default">, {moved, value_of(range.low), value_of(range.high)});
}

Result<TensorPair> choose_qparams_affine(
    Emitter& e, const std::optional<Tensor>& input, const std::string& mapping_type,
    const std::vector<int64_t>& block_size, Dtype target_dtype, const OptionalScalar& quant_min,
    const OptionalScalar& quant_max, const std::optional<double>& eps,
    const std::optional<Dtype>& scale_dtype, const std::optional<Dtype>& zero_point_dtype,
    bool keepdim) {
  if (!input) return operator_error("input: found none, expected a tensor");
  PT2_TRY_VOID(check_floating(*input, "input"));
  PT2_TRY(const Range range, range_of(target_dtype, quant_min, quant_max));
  PT2_TRY(const Blocks blocks, blocks_of(input->sizes(), block_size));
  PT2_TRY(const Tensor split, reshape(e, *input, blocks.split));
  PT2_TRY(const Extremes extremes, extremes_of(e, split, blocks, keepdim));
  // torch.finfo(dtype).smallest_normal
  const double smallest = input->dtype() == Dtype::float16   ? 0x1p-14
                          : input->dtype() == Dtype::float64 ? 0x1p-1022
                                                             : 0x1p-126;
  PT2_TRY(const Tensor unclamped, scale_of(e, mapping_type, extremes, range));
  PT2_TRY(Tensor scale, e(aten<"clamp.default">, {unclamped, eps.value_or(smallest)}));
  // A symmetric zero point takes dtype and sizes from the scale; clamping the scale changes
  // neither.
  PT2_TRY(Tensor zero_point, zero_point_of(e, mapping_type, extremes, scale, range));
  if (keepdim) {
    const Sizes sizes = counts_of_blocks(input->sizes(), block_size);
    PT2_TRY(scale, reshape(e, scale, sizes));
    PT2_TRY(zero_point, reshape(e, zero_point, sizes));
  }
  const bool is_int = mapping_type == "ASYMMETRIC";
  const Dtype zeros = zero_point_dtype.value_or(is_int ? Dtype::int32 : zero_point.dtype());
  PT2_TRY(scale, to(e, scale, scale_dtype.value_or(input->dtype())));
  PT2_TRY(zero_point, to(e, zero_point, zeros));
  return TensorPair(std::move(scale), std::move(zero_point));
}

Result<double> largest_float8(Dtype float8_dtype) {
  if (dtype_category(float8_dtype) != DtypeCategory::floating)
    return operator_error("float8_dtype: found " + std::string(dtype_name(float8_dtype)) +
                          ", expected a float8 dtype");
  PT2_TRY(const Range range, range_of(float8_dtype, std::nullopt, std::nullopt));
  return range.high.to_double();
}

Result<Tensor> choose_scale_float8(Emitter& e, const Tensor& tensor,
                                   const std::vector<int64_t>& block_size, Dtype float8_dtype,
                                   Dtype scale_dtype, const std::optional<double>& hp_value_lb,
                                   const std::optional<double>& hp_value_ub) {
  PT2_TRY(const double largest, largest_float8(float8_dtype));
  PT2_TRY(const Blocks blocks, blocks_of(tensor.sizes(), block_size));
  PT2_TRY(const Tensor split, reshape(e, tensor, blocks.split));
  PT2_TRY(const Tensor absolute, e(aten<"abs.default">, {split}));
  PT2_TRY(Tensor reach, e(aten<"amax.default">, {absolute, blocks.reduced, true}));
  if (hp_value_lb || hp_value_ub) {
    PT2_TRY(reach, e(aten<"clamp.default">, {reach, hp_value_lb, hp_value_ub}));
  }
  PT2_TRY(const Tensor divided, e(aten<"div.Tensor">, {reach, largest}));
  PT2_TRY(Tensor scale, reshape(e, divided, counts_of_blocks(tensor.sizes(), block_size)));
  if (scale_dtype != Dtype::float32) {
    if (scale_dtype != Dtype::float8_e8m0fnu)
      return operator_error("scale_dtype: found " + std::string(dtype_name(scale_dtype)) +
                            ", expected float32 or float8_e8m0fnu");
    // The nearest power of two; its dtype remains that of the tensor.
    PT2_TRY(const Tensor exponent, e(aten<"log2.default">, {scale}));
    PT2_TRY(const Tensor whole, e(aten<"round.default">, {exponent}));
    PT2_TRY(scale, e(aten<"exp2.default">, {whole}));
  }
  return to(e, scale, Dtype::float32);
}

// The scale itself if it broadcasts to the sizes, else each element repeated over its block.
Result<Tensor> expand_scale(Emitter& e, const Tensor& scale, const Sizes& sizes) {
  if (scale.numel() == 1) return scale;
  const auto broadcasts = [](int64_t size, int64_t from) { return from == size || from == 1; };
  // From the first dim on, as torchao compares them.
  const size_t common = std::min(scale.sizes().size(), sizes.size());
  const auto end = sizes.begin() + static_cast<std::ptrdiff_t>(common);
  if (std::equal(sizes.begin(), end, scale.sizes().begin(), broadcasts)) return scale;
  PT2_TRY_VOID(check_rank(scale, static_cast<int64_t>(sizes.size()), "scale"));
  Tensor out = scale;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t count = scale.sizes()[i];
    if (count == 0 || sizes[i] % count != 0)
      return operator_error("scale: found size " + std::to_string(count) + " at dim " +
                            std::to_string(i) + ", expected a divisor of " +
                            std::to_string(sizes[i]));
    if (sizes[i] > count) {
      PT2_TRY(out, e(aten<"repeat_interleave.self_int">,
                     {out, sizes[i] / count, static_cast<int64_t>(i)}));
    }
  }
  return out;
}

Result<Tensor> quantize_affine_float8(Emitter& e, const Tensor& tensor, const Tensor& scale,
                                      Dtype float8_dtype) {
  PT2_TRY(const double largest, largest_float8(float8_dtype));
  PT2_TRY(const Tensor values, to(e, tensor, Dtype::float32));
  PT2_TRY(const Tensor scales, expand_scale(e, scale, tensor.sizes()));
  PT2_TRY(const Tensor scaled, e(aten<"div.Tensor">, {values, scales}));
  PT2_TRY(const Tensor clamped, e(aten<"clamp.default">, {scaled, -largest, largest}));
  return to(e, clamped, float8_dtype);
}

Result<Tensor> dequantize_affine_float8(Emitter& e, const Tensor& tensor, const Tensor& scale,
                                        Dtype output_dtype) {
  PT2_TRY(const Tensor levels, to(e, tensor, Dtype::float32));
  PT2_TRY(const Tensor scales, expand_scale(e, scale, tensor.sizes()));
  PT2_TRY(const Tensor values, e(aten<"mul.Tensor">, {levels, scales}));
  return to(e, values, output_dtype);
}

// clang-format off
constexpr OpDef kTorchaoOps[] = {
    kept<"torchao::choose_qparams_affine(Tensor? input, str mapping_type, SymInt[] block_size, ScalarType target_dtype, Scalar? quant_min=None, Scalar? quant_max=None, float? eps=None, ScalarType? scale_dtype=None, ScalarType? zero_point_dtype=None, bool keepdim=False) -> (Tensor, Tensor)", choose_qparams_affine>,
    composed<"torchao::quantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType output_dtype, Scalar? quant_min=None, Scalar? quant_max=None) -> Tensor", quantize_affine_meta, quantize_affine>,
    composed<"torchao::dequantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType input_dtype, Scalar? quant_min=None, Scalar? quant_max=None, ScalarType output_dtype=6) -> Tensor", dequantize_affine_meta, dequantize_affine>,
    kept<"torchao::choose_scale_float8(Tensor tensor, SymInt[] block_size, ScalarType float8_dtype=24, ScalarType scale_dtype=6, float? hp_value_lb=None, float? hp_value_ub=None) -> Tensor", choose_scale_float8>,
    kept<"torchao::quantize_affine_float8_non_decomposed(Tensor tensor, Tensor scale, ScalarType float8_dtype=24) -> Tensor", quantize_affine_float8>,
    kept<"torchao::dequantize_affine_float8_non_decomposed(Tensor tensor, Tensor scale, ScalarType output_dtype=6) -> Tensor", dequantize_affine_float8>,
};
// clang-format on

}  // namespace

std::span<const OpDef> torchao_ops() { return kTorchaoOps; }

}  // namespace pt2::ops
