// Products of activations, quantised to 8 bits row by row, with 4-bit weights
// (ATen/native/cpu/int4mm_kernel.cpp, ref_dyn_quant_matmul_4bit_*). Every step is in float32, so
// that every rounding is PyTorch's.
#include <algorithm>
#include <cmath>

#include "base/memory_account.h"
#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/op_def.h"

namespace pt2::ops {
namespace {

// The matrix [out_features, in_features] holds two numbers per byte and has one scale for each
// block of a row.
Result<void> check_features(int64_t block_size, int64_t in_features, int64_t out_features) {
  if (in_features < 1 || out_features < 1 || in_features % 2 != 0)
    return operator_error("found " + std::to_string(in_features) + " in_features and " +
                          std::to_string(out_features) +
                          " out_features, expected both above 0 and in_features even");
  if (block_size < 1 || in_features % block_size != 0)
    return operator_error("block_size: found " + std::to_string(block_size) +
                          ", expected a divisor of " + std::to_string(in_features));
  return {};
}

Result<Meta> pack_meta(const Tensor& weights, const Tensor& scales,
                       const std::optional<Tensor>& bias, int64_t block_size, int64_t in_features,
                       int64_t out_features) {
  PT2_TRY_VOID(check_features(block_size, in_features, out_features));
  PT2_TRY_VOID(check_dtype(weights, Dtype::uint8, "weights"));
  PT2_TRY_VOID(check_floating(scales, "scales_zeros"));
  PT2_TRY_VOID(check_sizes(weights, {out_features, in_features / 2}, "weights"));
  PT2_TRY_VOID(check_sizes(scales, {out_features, in_features / block_size}, "scales_zeros"));
  if (bias) PT2_TRY_VOID(check_sizes(*bias, {out_features}, "bias"));
  return Meta(Dtype::float32, {weights.numel() + scales.numel() + (bias ? bias->numel() : 0)});
}

void pack(Tensor& out, const Tensor& weights, const Tensor& scales,
          const std::optional<Tensor>& bias, int64_t, int64_t, int64_t) {
  Output<float> packed(out);
  float* next = packed.data();
  const auto append = [&](const Tensor& part) {
    const Input<float> elements(part);
    next = std::copy_n(elements.data(), elements.size(), next);
  };
  append(weights);
  append(scales);
  if (bias) append(*bias);
}

Result<Meta> product_meta(const Tensor& inp, const Tensor& packed, int64_t block_size,
                          int64_t in_features, int64_t out_features) {
  PT2_TRY_VOID(check_features(block_size, in_features, out_features));
  PT2_TRY_VOID(check_rank(inp, 2, "inp"));
  PT2_TRY_VOID(check_dtype(inp, Dtype::float32, "inp"));
  PT2_TRY_VOID(check_dtype(packed, Dtype::float32, "packed_weights"));
  PT2_TRY_VOID(check_sizes(inp, {inp.size(0), in_features}, "inp"));
  // Each packed row has one element for every two columns and one for each block. There may be one
  // more element per row for the bias.
  const int64_t row = in_features / 2 + in_features / block_size;
  const int64_t rows = packed.numel() / out_features;
  if (packed.numel() % out_features != 0 || (rows != row && rows != row + 1))
    return operator_error("packed_weights: found " + packed.type_text() + ", expected " +
                          std::to_string(row) + " or " + std::to_string(row + 1) +
                          " numbers for each of " + std::to_string(out_features));
  return Meta(Dtype::float32, {inp.size(0), out_features});
}

// The integer that x holds. A file may hold NaN or any other number instead: the result is clamped.
int64_t whole(float x) {
  return std::isnan(x) ? 0 : static_cast<int64_t>(std::clamp(x, -1e6f, 1e6f));
}

struct QuantizedRow {
  Scratch<int64_t> numbers;  // zero point already subtracted
  float scale = 0;
};

// Quantises a row. The range spans its least and its largest element, and 0.
void quantize(const float* row, QuantizedRow& out) {
  constexpr float kLow = -128, kHigh = 127;
  const auto count = static_cast<int64_t>(out.numbers.size());
  const float least = std::min(0.0f, *std::min_element(row, row + count));
  const float most = std::max(0.0f, *std::max_element(row, row + count));
  const float scale = least == most ? 1.0f : (kHigh - kLow) / (most - least);
  out.scale = scale != 0 ? 1.0f / scale : 0.0f;
  const float low = least * scale, high = most * scale;
  const float zero = (kLow + low) + (kHigh + high) > 0 ? kLow - low : kHigh - high;
  const int64_t point = whole(std::nearbyint(std::clamp(zero, kLow, kHigh)));
  for (int64_t k = 0; k < count; ++k) {
    const int64_t number = whole(std::round(row[k] * scale)) + point;
    out.numbers[static_cast<size_t>(k)] = std::clamp<int64_t>(number, -128, 127) - point;
  }
}

void product(Tensor& out, const Tensor& inp, const Tensor& packed, int64_t block_size,
             int64_t in_features, int64_t out_features) {
  const Input<float> x(inp);
  const Input<float> parts(packed);
  const float* weights = parts.data();
  const int64_t blocks = in_features / block_size;
  const float* scales = weights + out_features * in_features / 2;
  const float* bias = scales + out_features * blocks;
  const bool has_bias = bias != parts.data() + parts.size();
  Output<float> y(out);
  QuantizedRow row;
  row.numbers.resize(static_cast<size_t>(in_features));
  for (int64_t i = 0; i < inp.size(0); ++i) {
    quantize(x.data() + i * in_features, row);
    for (int64_t column = 0; column < out_features; ++column) {
      const float* bytes = weights + column * in_features / 2;
      float sum = 0;
      for (int64_t block = 0; block < blocks; ++block) {
        int64_t dot = 0;
        for (int64_t k = block * block_size; k < (block + 1) * block_size; ++k) {
          const auto byte = static_cast<uint8_t>(whole(bytes[k / 2]));
          dot += row.numbers[static_cast<size_t>(k)] * ((k % 2 == 0 ? byte & 0xf : byte >> 4) - 8);
        }
        sum += static_cast<float>(dot) * scales[column * blocks + block];
      }
      y[i * out_features + column] = sum * row.scale + (has_bias ? bias[column] : 0.0f);
    }
  }
}

// clang-format off
constexpr OpDef kDynamicProductsOps[] = {
    op<"aten::_dyn_quant_pack_4bit_weight(Tensor weights, Tensor scales_zeros, Tensor? bias, int block_size, int in_features, int out_features) -> Tensor", pack_meta, pack>,
    op<"aten::_dyn_quant_matmul_4bit(Tensor inp, Tensor packed_weights, int block_size, int in_features, int out_features) -> Tensor", product_meta, product>,
};
// clang-format on

}  // namespace

std::span<const OpDef> dynamic_products_ops() { return kDynamicProductsOps; }

}  // namespace pt2::ops
