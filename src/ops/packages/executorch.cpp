// Embeddings of quantised rows, which executorch adds to PyTorch's quantized_decomposed
// (exir/passes/_quant_patterns_and_replacements.py). Executorch dequantises the whole matrix before
// the look-up. This code dequantises only the rows that are looked up; the rounding is the same.
#include <limits>
#include <string>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/op_def.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

// The sizes of the unpacked matrix [rows, columns]. Each row is divided into groups, which have one
// scale each.
struct QuantizedRows {
  int64_t columns = 0;
  int64_t groups = 0;
};
// A checked call, and the number of bits of a level.
struct EmbeddingCall {
  Tensor weight, scales;
  OptionalTensor zeros;
  Tensor indices;
  QuantizedRows rows;
  Dtype dtype;
  int bits;
};

Result<void> check_levels_dtype(const Tensor& weight) {
  if (weight.dtype() == Dtype::int8 || weight.dtype() == Dtype::uint8) return {};
  return operator_error("weight: found " + weight.type_text() + ", expected int8 or uint8");
}

// Checks for one number per row, or one for each group of each row.
Result<void> check_row_parameters(const Tensor& tensor, int64_t rows, std::string_view what) {
  if ((tensor.dim() != 1 && tensor.dim() != 2) || tensor.size(0) != rows)
    return operator_error(std::string(what) + ": found " + tensor.type_text() +
                          ", expected 1 or 2 dimensions, the first of size " +
                          std::to_string(rows));
  return {};
}

Result<void> check_scales(const Tensor& weight, const Tensor& scales) {
  if (scales.dtype() != Dtype::float32 && !is_half(scales.dtype()))
    return operator_error("weight_scales: found " + scales.type_text() +
                          ", expected float16, float32 or bfloat16");
  return check_row_parameters(scales, weight.size(0), "weight_scales");
}

// If there is only one zero point, it applies to all groups.
Result<void> check_zero_points(const Tensor& weight, const Tensor& scales, const Tensor& zeros) {
  PT2_TRY_VOID(check_same_dtype(zeros, scales, "weight_zero_points"));
  PT2_TRY_VOID(check_row_parameters(zeros, weight.size(0), "weight_zero_points"));
  const int64_t groups = scales.dim() == 2 ? scales.size(1) : 1;
  const int64_t found = zeros.dim() == 2 ? zeros.size(1) : 1;
  if (found == groups || zeros.numel() == 1) return {};
  return operator_error("weight_zero_points: found " + zeros.type_text() + ", expected " +
                        std::to_string(groups) + " for each row, as there are weight_scales");
}

// Only levels smaller than a byte have a range to check.
Result<void> check_range(int bits, int64_t quant_min, int64_t quant_max) {
  const int64_t half = int64_t{1} << (bits - 1);
  if (bits == 8 || (quant_min == -half && quant_max == half - 1)) return {};
  return operator_error("found the range [" + std::to_string(quant_min) + ", " +
                        std::to_string(quant_max) + "], expected [" + std::to_string(-half) + ", " +
                        std::to_string(half - 1) + "]");
}

Result<QuantizedRows> rows_of(int bits, const Tensor& weight, const Tensor& scales,
                              const OptionalTensor& zeros) {
  PT2_TRY_VOID(check_levels_dtype(weight));
  PT2_TRY_VOID(check_rank(weight, 2, "weight"));
  PT2_TRY_VOID(check_scales(weight, scales));
  if (zeros) PT2_TRY_VOID(check_zero_points(weight, scales, *zeros));
  QuantizedRows out;
  PT2_TRY(out.columns, multiply_add(weight.size(1), 8 / bits));
  out.groups = scales.dim() == 2 ? scales.size(1) : 1;
  if (out.groups < 1 || out.columns % out.groups != 0 || out.columns / out.groups < 2)
    return operator_error("weight_scales: found " + std::to_string(out.groups) +
                          " for each row, expected groups of 2 or more of " +
                          std::to_string(out.columns) + " columns");
  return out;
}

template <int Bits>
Result<EmbeddingCall> embedding_of(const Tensor& weight, const Tensor& scales,
                                   const OptionalTensor& zeros, int64_t quant_min,
                                   int64_t quant_max, const Tensor& indices) {
  PT2_TRY_VOID(check_range(Bits, quant_min, quant_max));
  PT2_TRY(const QuantizedRows rows, rows_of(Bits, weight, scales, zeros));
  PT2_TRY_VOID(check_index_dtype(indices, "indices"));
  return EmbeddingCall{weight, scales, zeros, indices, rows, scales.dtype(), Bits};
}
template <int Bits>
Result<EmbeddingCall> embedding_in(const Tensor& weight, const Tensor& scales,
                                   const OptionalTensor& zeros, int64_t quant_min,
                                   int64_t quant_max, const Tensor& indices, OptionalDtype dtype) {
  PT2_TRY(EmbeddingCall call,
          embedding_of<Bits>(weight, scales, zeros, quant_min, quant_max, indices));
  // The default is none, but PyTorch has no kernel for it.
  if (!dtype) return operator_error("dtype: found none, expected one");
  call.dtype = *dtype;
  return call;
}

Meta embedding_meta(const EmbeddingCall& call) {
  Sizes sizes = call.indices.sizes();
  sizes.push_back(call.rows.columns);
  return {call.dtype, std::move(sizes)};
}

// Unpacks the levels of a byte. The first of two 4-bit levels is in the high half of the byte, the
// first of four 2-bit levels in the lowest quarter. The highest level of an int8 keeps the sign, as
// in PyTorch.
void unpack_levels(int bits, int byte, int8_t* levels) {
  if (bits == 4) {
    levels[0] = static_cast<int8_t>(byte / 16 - 8);
    levels[1] = static_cast<int8_t>((byte & 15) - 8);
  } else {
    for (int i = 0; i < 3; ++i) levels[i] = static_cast<int8_t>(((byte >> (2 * i)) & 3) - 2);
    levels[3] = static_cast<int8_t>((byte >> 6) - 2);
  }
}

Result<Tensor> unpacked(int bits, const Tensor& packed, int64_t columns) {
  if (bits == 8) return packed;
  Sizes sizes = packed.sizes();
  sizes.back() = columns;
  PT2_TRY(Tensor out, allocate(Meta(Dtype::int8, std::move(sizes))));
  const auto* bytes = reinterpret_cast<const uint8_t*>(packed.raw_data());
  const bool is_signed = packed.dtype() == Dtype::int8;
  for (int64_t i = 0; i < packed.numel(); ++i) {
    const int byte = is_signed ? static_cast<int8_t>(bytes[i]) : bytes[i];
    unpack_levels(bits, byte, out.data<int8_t>() + i * (8 / bits));
  }
  return out;
}

// The parameters of the rows that are looked up, one group per row of the result.
Result<Tensor> looked_up(const Tensor& parameters, const Tensor& indices) {
  PT2_TRY(
      const Tensor table,
      reshape(parameters, {parameters.size(0), parameters.dim() == 2 ? parameters.size(1) : 1}));
  PT2_TRY(const Tensor found, apply(aten<"embedding.default">, {table, indices}));
  return reshape(found, {found.numel(), 1});
}

Result<Tensor> dequantized_rows(const EmbeddingCall& call) {
  const auto& [weight, scales, zeros, indices, rows, dtype, bits] = call;
  PT2_TRY(const Tensor packed, apply(aten<"embedding.default">, {weight, indices}));
  PT2_TRY(const Tensor levels, unpacked(bits, packed, rows.columns));
  PT2_TRY(const Tensor factors, looked_up(scales, indices));
  PT2_TRY(Tensor values, reshape(levels, {factors.numel(), rows.columns / rows.groups}));
  if (zeros) {
    const auto moved = zeros->numel() == 1 ? reshape(*zeros, {1, 1}) : looked_up(*zeros, indices);
    PT2_TRY(values, apply(aten<"sub.Tensor">, {values, moved}));
  }
  PT2_TRY(const Tensor scaled, apply(aten<"mul.Tensor">, {values, factors}));
  PT2_TRY(const Tensor whole, reshape(scaled, embedding_meta(call).sizes));
  return apply(aten<"to.dtype">, {whole, dtype});
}

// clang-format off
constexpr OpDef kExecutorchOps[] = {
    composed<"quantized_decomposed::embedding_byte(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices) -> Tensor", gathered<embedding_of<8>, embedding_meta>, gathered<embedding_of<8>, dequantized_rows>>,
    composed<"quantized_decomposed::embedding_byte.dtype(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? dtype=None) -> Tensor", gathered<embedding_in<8>, embedding_meta>, gathered<embedding_in<8>, dequantized_rows>>,
    composed<"quantized_decomposed::embedding_4bit(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices) -> Tensor", gathered<embedding_of<4>, embedding_meta>, gathered<embedding_of<4>, dequantized_rows>>,
    composed<"quantized_decomposed::embedding_4bit.dtype(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? dtype=None) -> Tensor", gathered<embedding_in<4>, embedding_meta>, gathered<embedding_in<4>, dequantized_rows>>,
    composed<"quantized_decomposed::embedding_2bit(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices) -> Tensor", gathered<embedding_of<2>, embedding_meta>, gathered<embedding_of<2>, dequantized_rows>>,
    composed<"quantized_decomposed::embedding_2bit.dtype(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? dtype=None) -> Tensor", gathered<embedding_in<2>, embedding_meta>, gathered<embedding_in<2>, dequantized_rows>>,
};
// clang-format on

}  // namespace

std::span<const OpDef> executorch_ops() { return kExecutorchOps; }

}  // namespace pt2::ops
