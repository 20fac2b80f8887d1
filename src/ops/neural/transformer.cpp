// The fused blocks of torch.nn.MultiheadAttention and torch.nn.TransformerEncoderLayer, computed
// step by step.
#include <cmath>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/linear/matmul.h"
#include "ops/loops.h"
#include "ops/op_def.h"
#include "ops/shape/view.h"

namespace pt2::ops {
namespace {

using Attended = std::tuple<Tensor, OptionalTensor>;

// Values of a mask's type. shaped_mask() shapes a mask (true: leave out) for scores of [batch,
// heads, length, keys].
enum MaskType : int64_t { kAttention = 0, kPadding = 1, kBoth = 2 };

Result<Tensor> shaped_mask(const Tensor& mask, const std::optional<int64_t>& type, int64_t batch,
                           int64_t length) {
  if (mask.dtype() != Dtype::bool_) {
    PT2_TRY(const Tensor truth, apply(aten<"ne.Scalar">, {mask, int64_t{0}}));
    return shaped_mask(truth, type, batch, length);
  }
  if (type.value_or(kAttention) == kPadding && mask.dim() == 2) {
    PT2_TRY_VOID(check_sizes(mask, {batch, length}, "mask"));
    return view(mask.contiguous(), {batch, 1, 1, length});
  }
  if (mask.dim() == 2) PT2_TRY_VOID(check_sizes(mask, {length, length}, "mask"));
  return mask;
}

struct MultiHead {
  int64_t embed_dim;
  int64_t heads;
  const Tensor& qkv_weight;
  const Tensor& qkv_bias;
  const Tensor& proj_weight;
  const Tensor& proj_bias;
  const OptionalTensor& mask;
  std::optional<int64_t> mask_type;
};

// Queries, keys and values side by side, without bias.
Result<Tensor> projected_qkv(const Tensor& query, const Tensor& key, const Tensor& value,
                             const MultiHead& block) {
  if (is_set_to(query, key) && is_set_to(query, value))
    return linear(query, block.qkv_weight, std::nullopt);
  Value::List parts;
  for (const Tensor* source : {&query, &key, &value}) {
    PT2_TRY_VOID(check_sizes(*source, query.sizes(), "key and value"));
    const int64_t begin = static_cast<int64_t>(parts.size()) * block.embed_dim;
    PT2_TRY(const Tensor weight, narrow(block.qkv_weight, 0, begin, block.embed_dim));
    PT2_TRY(Tensor part, linear(*source, weight, std::nullopt));
    parts.emplace_back(std::move(part));
  }
  return apply(aten<"cat.default">, {std::move(parts), int64_t{2}});
}

Result<Tensor> heads_of(const Tensor& packed, int64_t which, int64_t heads) {
  const int64_t width = packed.size(2) / 3;
  PT2_TRY(const Tensor part, narrow(packed, 2, which * width, width));
  PT2_TRY(const Tensor split, reshape(part, {part.size(0), part.size(1), heads, width / heads}));
  return transpose(split, 1, 2);
}

Result<void> check_block(const Tensor& input, const MultiHead& block) {
  PT2_TRY_VOID(check_rank(input, 3, "query"));
  PT2_TRY_VOID(check_floating(input, "query"));
  if (block.heads < 1 || block.embed_dim < 1 || block.embed_dim % block.heads != 0 ||
      input.size(2) != block.embed_dim)
    return operator_error("query: found " + input.type_text() + ", expected " +
                          std::to_string(block.embed_dim) + " features in " +
                          std::to_string(block.heads) + " heads");
  return check_sizes(block.qkv_weight, {3 * block.embed_dim, block.embed_dim}, "qkv_weight");
}

// Each step is rounded as in PyTorch's kernels; half floats show the difference
// (ATen/native/transformers/attention.cpp native_multi_head_attention_cpu).
Result<Attended> attention(const Tensor& input, const Tensor& keys, const Tensor& values,
                           const MultiHead& block, bool need_weights, bool average) {
  PT2_TRY_VOID(check_block(input, block));
  PT2_TRY(const Tensor projected, projected_qkv(input, keys, values, block));
  PT2_TRY(const Tensor packed, apply(aten<"add.Tensor">, {projected, block.qkv_bias}));
  PT2_TRY(const Tensor query, heads_of(packed, 0, block.heads));
  PT2_TRY(const Tensor key, heads_of(packed, 1, block.heads));
  PT2_TRY(const Tensor value, heads_of(packed, 2, block.heads));
  const double scale = 1 / std::sqrt(static_cast<double>(block.embed_dim / block.heads));
  PT2_TRY(const Tensor scaled, apply(aten<"mul.Scalar">, {query, scale}));
  PT2_TRY(const Tensor turned, transpose(key, 2, 3));
  PT2_TRY(Tensor scores, matmul(scaled, turned));
  if (block.mask) {
    PT2_TRY(const Tensor mask,
            shaped_mask(*block.mask, block.mask_type, input.size(0), input.size(1)));
    PT2_TRY(scores, apply(aten<"masked_fill.Scalar">, {scores, mask, -HUGE_VAL}));
  }
  PT2_TRY(const Tensor weights, apply(aten<"softmax.int">, {scores, int64_t{-1}}));
  PT2_TRY(const Tensor mixed, matmul(weights, value));
  PT2_TRY(const Tensor joined, transpose(mixed, 1, 2));
  PT2_TRY(const Tensor flat, reshape(joined, {input.size(0), input.size(1), block.embed_dim}));
  PT2_TRY(Tensor out, linear(flat, block.proj_weight, block.proj_bias));
  if (!need_weights) return Attended{out, std::nullopt};
  if (!average) return Attended{out, weights};
  PT2_TRY(const Tensor sum, apply(aten<"sum.dim_IntList">, {weights, Value::List{int64_t{1}}}));
  PT2_TRY(Tensor mean, apply(aten<"div.Scalar">, {sum, block.heads}));
  return Attended{out, mean};
}

// No Meta describes weights that are None because nobody needs them.
Result<std::array<Meta, 2>> multi_head_attention_meta(
    const Tensor& query, const Tensor&, const Tensor&, int64_t embed_dim, int64_t num_head,
    const Tensor& qkv_weight, const Tensor& qkv_bias, const Tensor& proj_weight,
    const Tensor& proj_bias, const OptionalTensor& mask, bool need_weights,
    bool average_attn_weights, const std::optional<int64_t>& mask_type) {
  PT2_TRY_VOID(check_block(
      query, {embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, mask_type}));
  if (!need_weights) return Error{ErrorCode::unsupported, "a result is None", ""};
  const int64_t batch = query.size(0), length = query.size(1);
  const Sizes of_heads{batch, num_head, length, length}, averaged{batch, length, length};
  Sizes projected{batch, length};
  if (proj_weight.dim() == 2) projected.push_back(proj_weight.size(0));
  return std::array{Meta(query.dtype(), std::move(projected)),
                    Meta(query.dtype(), average_attn_weights ? averaged : of_heads)};
}
Result<Attended> native_multi_head_attention(const Tensor& query, const Tensor& key,
                                             const Tensor& value, int64_t embed_dim,
                                             int64_t num_head, const Tensor& qkv_weight,
                                             const Tensor& qkv_bias, const Tensor& proj_weight,
                                             const Tensor& proj_bias, const OptionalTensor& mask,
                                             bool need_weights, bool average_attn_weights,
                                             const std::optional<int64_t>& mask_type) {
  return attention(
      query, key, value,
      {embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, mask_type},
      need_weights, average_attn_weights);
}

Result<Tensor> normalized(const Tensor& input, const Tensor& weight, const Tensor& bias,
                          int64_t embed_dim, double eps) {
  return apply(aten<"layer_norm.default">, {input, Value::List{embed_dim}, weight, bias, eps});
}

Result<Tensor> transformer_encoder_layer(
    const Tensor& src, int64_t embed_dim, int64_t num_heads, const Tensor& qkv_weight,
    const Tensor& qkv_bias, const Tensor& proj_weight, const Tensor& proj_bias, bool use_gelu,
    bool norm_first, double eps, const Tensor& norm_weight_1, const Tensor& norm_bias_1,
    const Tensor& norm_weight_2, const Tensor& norm_bias_2, const Tensor& ffn_weight_1,
    const Tensor& ffn_bias_1, const Tensor& ffn_weight_2, const Tensor& ffn_bias_2,
    const OptionalTensor& mask, const std::optional<int64_t>& mask_type) {
  const MultiHead block{embed_dim,   num_heads, qkv_weight, qkv_bias,
                        proj_weight, proj_bias, mask,       mask_type};
  Tensor x = src;
  if (norm_first) {
    PT2_TRY(x, normalized(x, norm_weight_1, norm_bias_1, embed_dim, eps));
  }
  PT2_TRY(const Attended attended, attention(x, x, x, block, false, true));
  PT2_TRY(x, apply(aten<"add.Tensor">, {std::get<0>(attended), src}));
  if (!norm_first) {
    PT2_TRY(x, normalized(x, norm_weight_1, norm_bias_1, embed_dim, eps));
  }
  Tensor residual = x;
  if (norm_first) {
    PT2_TRY(x, normalized(x, norm_weight_2, norm_bias_2, embed_dim, eps));
  }
  PT2_TRY(x, linear(x, ffn_weight_1, ffn_bias_1));
  PT2_TRY(x, apply(use_gelu ? Handle(aten<"gelu.default">) : aten<"relu.default">, {x}));
  PT2_TRY(x, linear(x, ffn_weight_2, ffn_bias_2));
  PT2_TRY(x, apply(aten<"add.Tensor">, {x, residual}));
  if (norm_first) return x;
  return normalized(x, norm_weight_2, norm_bias_2, embed_dim, eps);
}

// Queries, keys and values of each head. The queries are divided by the square root of the head's
// size.
Result<std::tuple<Tensor, Tensor, Tensor>> transform_qkv(Emitter& e, const Tensor& qkv,
                                                         const Tensor& bias, int64_t num_heads) {
  PT2_TRY_VOID(check_rank(qkv, 3, "qkv"));
  PT2_TRY_VOID(check_floating(qkv, "qkv"));
  PT2_TRY_VOID(check_same_dtype(bias, qkv, "qkv_bias"));
  PT2_TRY_VOID(check_sizes(bias, {qkv.size(2)}, "qkv_bias"));
  if (num_heads < 1 || qkv.size(2) % 3 != 0 || qkv.size(2) / 3 % num_heads != 0)
    return operator_error(
        "qkv: found " + qkv.type_text() + " for " + std::to_string(num_heads) +
        " heads, expected a last size that is a multiple of three times the heads");
  const int64_t length = qkv.size(2) / 3 / num_heads;
  PT2_TRY(Tensor parts, e(aten<"add.Tensor">, {qkv, bias}));
  PT2_TRY(parts,
          e(aten<"view.default">, {parts, Sizes{qkv.size(0), qkv.size(1), 3, num_heads, length}}));
  PT2_TRY(parts, e(aten<"permute.default">, {parts, Sizes{2, 0, 3, 1, 4}}));
  PT2_TRY(parts, e(aten<"contiguous.default">, {parts}));
  PT2_TRY(const std::vector<Tensor> all, e.pieces(aten<"unbind.int">, {parts}));
  const double scale = 1 / std::sqrt(static_cast<double>(length));
  PT2_TRY(Tensor query, e(aten<"mul.Scalar">, {all[0], Scalar(scale)}));
  return std::tuple(std::move(query), all[1], all[2]);
}

// clang-format off
constexpr OpDef kTransformerOps[] = {
    op<"aten::_transform_bias_rescale_qkv(Tensor qkv, Tensor qkv_bias, int num_heads) -> (Tensor, Tensor, Tensor)", transform_qkv>.with({.slope = Slope::linear, .linear_in = "qkv qkv_bias"}),
    composed<"aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, bool need_weights=True, bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)",
       multi_head_attention_meta, native_multi_head_attention>.with({.autocast = AutocastRule::lower_precision}),
    composed<"aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor",
       like_first, transformer_encoder_layer>,
};
// clang-format on

}  // namespace

std::span<const OpDef> transformer_ops() { return kTransformerOps; }

}  // namespace pt2::ops
