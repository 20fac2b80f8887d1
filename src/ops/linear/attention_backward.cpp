// The gradients of attention, computed from its saved output and logsumexp.
#include <array>
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

// All tensors have the dtype in which sums are accumulated.
struct Forward {
  Tensor query, key, value, output, gradient;
  Tensor weights;  // softmax of the scores
  double scale;
};

Result<void> check_operands(const Tensor& grad_out, const Tensor& query, const Tensor& key,
                            const Tensor& value, const Tensor& out, const Tensor& logsumexp) {
  PT2_TRY_VOID(check_floating(query, "query"));
  for (const Tensor* tensor : {&grad_out, &query, &key, &value, &out}) {
    PT2_TRY_VOID(check_rank(*tensor, 4, "query, key, value, out and grad_out"));
    PT2_TRY_VOID(check_same_dtype(*tensor, query, "key, value, out and grad_out"));
  }
  const int64_t batch = query.size(0);
  const int64_t heads = query.size(1);
  const int64_t key_heads = key.size(1);
  if (key_heads != heads && (key_heads < 1 || heads % key_heads != 0))
    return operator_error("query: found " + std::to_string(heads) +
                          " heads, expected a multiple of the " + std::to_string(key_heads) +
                          " of key and value");
  PT2_TRY_VOID(check_sizes(key, {batch, key_heads, key.size(2), query.size(3)}, "key"));
  PT2_TRY_VOID(check_sizes(value, {batch, key_heads, key.size(2), value.size(3)}, "value"));
  PT2_TRY_VOID(check_sizes(out, {batch, heads, query.size(2), value.size(3)}, "out"));
  PT2_TRY_VOID(check_sizes(grad_out, out.sizes(), "grad_out"));
  Result<void> checked = check_sizes(logsumexp, {batch, heads, query.size(2)}, "logsumexp");
  // torch.export's own decomposition of a joint graph passes the attention weights here, and
  // computes wrong gradients.
  if (!checked && logsumexp.dim() == 4)
    return operator_error(checked.error().message + "; it is given the weights of the attention");
  return checked;
}

Result<std::array<Meta, 3>> flash_backward_meta(const Tensor& grad_out, const Tensor& query,
                                                const Tensor& key, const Tensor& value,
                                                const Tensor& out, const Tensor& logsumexp, double,
                                                bool, const OptionalTensor&,
                                                const std::optional<double>&) {
  PT2_TRY_VOID(check_operands(grad_out, query, key, value, out, logsumexp));
  return std::array{Meta::like(query), Meta::like(key), Meta::like(value)};
}

Result<Tensor> masked_scores(const Forward& forward, bool is_causal, const OptionalTensor& mask) {
  PT2_TRY(const Tensor turned, transpose(forward.key, 2, 3));
  PT2_TRY(const Tensor product, matmul(forward.query, turned));
  PT2_TRY(Tensor scores, apply(aten<"mul.Scalar">, {product, forward.scale}));
  if (is_causal) {
    PT2_TRY(const Tensor ones, apply(aten<"ones_like.default">, {scores}));
    PT2_TRY(const Tensor upper, apply(aten<"triu.default">, {ones, int64_t{1}}));
    PT2_TRY(const Tensor hidden, apply(aten<"ne.Scalar">, {upper, int64_t{0}}));
    PT2_TRY(scores, apply(aten<"masked_fill.Scalar">, {scores, hidden, -HUGE_VAL}));
  }
  if (!mask) return scores;
  if (mask->dtype() != Dtype::bool_) return apply(aten<"add.Tensor">, {scores, *mask});
  PT2_TRY(const Tensor hidden, apply(aten<"logical_not.default">, {*mask}));
  return apply(aten<"masked_fill.Scalar">, {scores, hidden, -HUGE_VAL});
}

// Several query heads may share a head of key and value: repeats it for each of them, and adds up
// their gradients.
Result<Tensor> repeat_heads(const Tensor& tensor, int64_t heads) {
  if (tensor.size(1) == heads) return tensor;
  return apply(aten<"repeat_interleave.self_int">, {tensor, heads / tensor.size(1), int64_t{1}});
}
Result<Tensor> add_shared_heads(const Tensor& gradient, int64_t heads) {
  if (gradient.size(1) == heads) return gradient;
  PT2_TRY(const Tensor groups,
          apply(aten<"unflatten.int">,
                {gradient, int64_t{1}, box(Sizes{heads, gradient.size(1) / heads})}));
  return apply(aten<"sum.dim_IntList">, {groups, Value::List{int64_t{2}}});
}

// A tensor [B, H, L, E] stored in the order [B, L, H, E], as the fused kernel leaves it.
Result<Tensor> as_heads(const Tensor& gradient, Dtype dtype) {
  PT2_TRY(const Tensor turned, transpose(gradient, 1, 2));
  return transpose(to_dense(turned, dtype, dtype), 1, 2);
}

using AttentionGradients = std::tuple<Tensor, Tensor, Tensor>;

Result<AttentionGradients> gradients_of(const Forward& forward, int64_t key_heads, Dtype dtype) {
  PT2_TRY(const Tensor weights_turned, transpose(forward.weights, 2, 3));
  PT2_TRY(const Tensor value_gradients, matmul(weights_turned, forward.gradient));
  PT2_TRY(const Tensor grad_value, add_shared_heads(value_gradients, key_heads));
  PT2_TRY(const Tensor value_turned, transpose(forward.value, 2, 3));
  PT2_TRY(const Tensor grad_weights, matmul(forward.gradient, value_turned));
  PT2_TRY(const Tensor products, apply(aten<"mul.Tensor">, {forward.gradient, forward.output}));
  PT2_TRY(const Tensor sums,
          apply(aten<"sum.dim_IntList">, {products, Value::List{int64_t{-1}}, true}));
  PT2_TRY(const Tensor centered, apply(aten<"sub.Tensor">, {grad_weights, sums}));
  PT2_TRY(const Tensor weighted, apply(aten<"mul.Tensor">, {forward.weights, centered}));
  PT2_TRY(const Tensor grad_scores, apply(aten<"mul.Scalar">, {weighted, forward.scale}));
  PT2_TRY(const Tensor grad_query, matmul(grad_scores, forward.key));
  PT2_TRY(const Tensor scores_turned, transpose(grad_scores, 2, 3));
  PT2_TRY(const Tensor key_gradients, matmul(scores_turned, forward.query));
  PT2_TRY(const Tensor grad_key, add_shared_heads(key_gradients, key_heads));
  PT2_TRY(Tensor q, as_heads(grad_query, dtype));
  PT2_TRY(Tensor k, as_heads(grad_key, dtype));
  PT2_TRY(Tensor v, as_heads(grad_value, dtype));
  return AttentionGradients{std::move(q), std::move(k), std::move(v)};
}

Result<AttentionGradients> flash_backward(const Tensor& grad_out, const Tensor& query,
                                          const Tensor& key, const Tensor& value, const Tensor& out,
                                          const Tensor& logsumexp, double dropout_p, bool is_causal,
                                          const OptionalTensor& attn_mask,
                                          const std::optional<double>& scale) {
  PT2_TRY_VOID(check_operands(grad_out, query, key, value, out, logsumexp));
  if (dropout_p != 0)
    return operator_error("dropout_p: found " + std::to_string(dropout_p) + ", expected 0");
  const Dtype wide = query.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32;
  auto widened = [&](const Tensor& tensor) { return to_dense(tensor, tensor.dtype(), wide); };
  PT2_TRY(Tensor keys, repeat_heads(widened(key), query.size(1)));
  PT2_TRY(Tensor values, repeat_heads(widened(value), query.size(1)));
  Forward forward{.query = widened(query),
                  .key = std::move(keys),
                  .value = std::move(values),
                  .output = widened(out),
                  .gradient = widened(grad_out),
                  .weights = {},
                  .scale = scale.value_or(1 / std::sqrt(static_cast<double>(query.size(3))))};
  PT2_TRY(const Tensor scores, masked_scores(forward, is_causal, attn_mask));
  PT2_TRY(const Tensor totals, unsqueeze(widened(logsumexp), -1));
  PT2_TRY(const Tensor shifted, apply(aten<"sub.Tensor">, {scores, totals}));
  PT2_TRY(forward.weights, apply(aten<"exp.default">, {shifted}));
  return gradients_of(forward, key.size(1), query.dtype());
}

// clang-format off
constexpr OpDef kAttentionBackwardOps[] = {
    composed<"aten::_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)",
       flash_backward_meta, flash_backward>,
};
// clang-format on

}  // namespace

std::span<const OpDef> attention_backward_ops() { return kAttentionBackwardOps; }

}  // namespace pt2::ops
