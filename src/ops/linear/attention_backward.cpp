// The gradients of attention, computed from its saved output and logsumexp.
#include <cmath>

#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"

namespace pt2::ops {
namespace {

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

Result<Tensor> turned_matrices(Emitter& e, const Result<Tensor>& matrices) {
  return e(aten<"transpose.int">, {matrices, 2, 3});
}
Result<Tensor> matrix_product(Emitter& e, const Result<Tensor>& left, const Result<Tensor>& right) {
  return e(aten<"matmul.default">, {left, right});
}

Result<Tensor> masked_scores(Emitter& e, const Result<Tensor>& query, const Result<Tensor>& key,
                             double scale, bool is_causal, const OptionalTensor& mask) {
  const auto hide = [&](const Result<Tensor>& scores, const Result<Tensor>& hidden) {
    return e(aten<"masked_fill.Scalar">, {scores, hidden, -HUGE_VAL});
  };
  auto scores = e(aten<"mul.Scalar">, {matrix_product(e, query, turned_matrices(e, key)), scale});
  if (is_causal) {
    const auto upper =
        e(aten<"triu.default">, {e(aten<"ones_like.default">, {scores}), int64_t{1}});
    scores = hide(scores, e(aten<"ne.Scalar">, {upper, int64_t{0}}));
  }
  if (!mask) return scores;
  return mask->dtype() == Dtype::bool_ ? hide(scores, e(aten<"logical_not.default">, {*mask}))
                                       : e(aten<"add.Tensor">, {scores, *mask});
}

using AttentionGradients = std::tuple<Tensor, Tensor, Tensor>;

// Computed in the dtype in which sums are accumulated.
Result<AttentionGradients> flash_backward(Emitter& e, const Tensor& grad_out, const Tensor& query,
                                          const Tensor& key, const Tensor& value, const Tensor& out,
                                          const Tensor& logsumexp, double dropout_p, bool is_causal,
                                          const OptionalTensor& attn_mask,
                                          const std::optional<double>& scale) {
  PT2_TRY_VOID(check_operands(grad_out, query, key, value, out, logsumexp));
  if (dropout_p != 0)
    return Error{ErrorCode::unsupported,
                 "dropout_p: found " + std::to_string(dropout_p) + ", expected 0", ""};
  const Dtype wide = query.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32;
  const int64_t heads = query.size(1), key_heads = key.size(1);
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(query.size(3))));
  const auto widened = [&](const Tensor& tensor) {
    return e(aten<"contiguous.default">, {converted(e, tensor, wide)});
  };
  // Several query heads may share a head of key and value: repeats it for each of them, and adds up
  // their gradients.
  const auto for_each_query = [&](const Tensor& tensor) {
    const auto shared = widened(tensor);
    return key_heads == heads
               ? shared
               : e(aten<"repeat_interleave.self_int">, {shared, heads / key_heads, int64_t{1}});
  };
  const auto of_shared = [&](const Result<Tensor>& gradient) {
    if (key_heads == heads) return gradient;
    const Sizes groups{key_heads, heads / key_heads};
    return e(aten<"sum.dim_IntList">,
             {e(aten<"unflatten.int">, {gradient, int64_t{1}, groups}), Sizes{2}});
  };
  // A tensor [B, H, L, E] stored in the order [B, L, H, E], as the fused kernel leaves it.
  const auto stored = [&](const Result<Tensor>& gradient) {
    const auto by_length = converted(e, e(aten<"transpose.int">, {gradient, 1, 2}), query.dtype());
    return e(aten<"transpose.int">, {e(aten<"contiguous.default">, {by_length}), 1, 2});
  };
  const auto queries = widened(query), keys = for_each_query(key), values = for_each_query(value);
  const auto gradient = widened(grad_out);
  const auto scores = masked_scores(e, queries, keys, factor, is_causal, attn_mask);
  const auto totals = e(aten<"unsqueeze.default">, {widened(logsumexp), -1});
  const auto weights = e(aten<"exp.default">, {e(aten<"sub.Tensor">, {scores, totals})});
  const auto sums = e(aten<"sum.dim_IntList">,
                      {e(aten<"mul.Tensor">, {gradient, widened(out)}), Sizes{-1}, true});
  const auto centered =
      e(aten<"sub.Tensor">, {matrix_product(e, gradient, turned_matrices(e, values)), sums});
  const auto grad_scores =
      e(aten<"mul.Scalar">, {e(aten<"mul.Tensor">, {weights, centered}), factor});
  PT2_TRY(Tensor q, stored(matrix_product(e, grad_scores, keys)));
  PT2_TRY(Tensor k, stored(of_shared(matrix_product(e, turned_matrices(e, grad_scores), queries))));
  PT2_TRY(Tensor v, stored(of_shared(matrix_product(e, turned_matrices(e, weights), gradient))));
  return AttentionGradients{std::move(q), std::move(k), std::move(v)};
}

// clang-format off
constexpr OpDef kAttentionBackwardOps[] = {
    kept<"aten::_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)",
       flash_backward>,
};
// clang-format on

}  // namespace

std::span<const OpDef> attention_backward_ops() { return kAttentionBackwardOps; }

}  // namespace pt2::ops
