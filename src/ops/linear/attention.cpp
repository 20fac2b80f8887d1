// Scaled dot-product attention: softmax(scale * q k^T + mask) v, for one block of query rows at a
// time.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/memory_account.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/linear/gemm.h"
#include "ops/linear/matrices.h"
#include "ops/loops.h"
#include "ops/neural/softmax.h"
#include "ops/op_def.h"
#include "ops/pointwise/copying.h"
#include "ops/reduction/sums.h"

namespace pt2::ops {
namespace {

constexpr int64_t kQueryBlock = 256;

// Views with equal leading sizes: query [..., L, E], key [..., S, E], value [..., S, F] and mask
// [..., L, S].
struct Operands {
  Tensor query;
  Tensor key;
  Tensor value;
  OptionalTensor mask;
  bool causal = false;
  double scale = 1;
  double dropout_p = 0;
  std::optional<Dtype> half;
};

// Applies a row of the mask to a row of scores. Numbers are added; false sets a score to -inf.
template <class C>
void add_mask(const Tensor& mask, int64_t batch, int64_t row, int64_t count, C* scores) {
  std::vector<C> values(static_cast<size_t>(count));
  const int64_t first = batch_offset(mask, batch) + row * mask.stride(mask.dim() - 2);
  load_elements<C>(mask.raw_data() + first * dtype_size(mask.dtype()), mask.strides().back(),
                   mask.dtype(), count, values.data());
  const bool keep = mask.dtype() == Dtype::bool_;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!keep)
      scores[i] += values[i];
    else if (values[i] == C(0))
      scores[i] = -std::numeric_limits<C>::infinity();
  }
}

// Computes the fused kernel's weights for half floats and returns their sum, by which they are not
// yet divided. The weights are rounded to `dtype`, the sum is not
// (ATen/native/cpu/FlashAttentionKernel.cpp).
template <class C>
double weigh_half_row(C* scores, int64_t count, C maximum, Dtype dtype) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    scores[i] = std::exp(scores[i] - maximum);
    sum += static_cast<double>(scores[i]);
  }
  round_elements<C>(dtype, count, scores);
  return sum;
}

// The result of turning a row of scores into weights. log_sum is log(sum(exp(scores))). If all
// scores are -inf, the weights are zeros and log_sum is 0.
template <class C>
struct RowWeight {
  double log_sum = 0;
  C divisor = 1;  // to divide the weighted sum of values by
};
template <class C>
RowWeight<C> weigh_row(C* scores, int64_t count, std::optional<Dtype> half) {
  const C infinity = std::numeric_limits<C>::infinity();
  C maximum = -infinity;
  for (int64_t i = 0; i < count; ++i)
    if (scores[i] > maximum || std::isnan(scores[i])) maximum = scores[i];
  if (maximum == -infinity) {
    std::fill(scores, scores + count, C(0));
    return {};
  }
  if (half) {
    const double sum = weigh_half_row(scores, count, maximum, *half);
    return {static_cast<double>(maximum) + std::log(sum), static_cast<C>(sum)};
  }
  const double sum = sum_terms(
      scores, count, [maximum](C v) { return static_cast<double>(std::exp(v - maximum)); });
  softmax_row(scores, count, scores);
  return {static_cast<double>(maximum) + std::log(sum), C(1)};
}

template <class C>
void drop_weights(Context& context, double p, C* weights, int64_t count) {
  if (p == 0) return;
  for (int64_t i = 0; i < count; ++i)
    weights[i] = context.random().bernoulli(1 - p) ? static_cast<C>(weights[i] / (1 - p)) : C(0);
}

// Attention of one head. `out` is dense [L, F]; `logsumexp` has L elements or is null.
template <class C>
void attend_head(Context& context, const Operands& operands, int64_t batch, C* out, C* logsumexp) {
  const Tensor& query = operands.query;
  const int64_t length = rows_of(query), depth = columns_of(query);
  const int64_t keys = rows_of(operands.key), features = columns_of(operands.value);
  const auto q = row_operand<C>(query, batch);
  const auto k = row_operand<C>(operands.key, batch);
  const auto v = column_operand<C>(operands.value, batch);
  Scratch<C> scores(static_cast<size_t>(std::min(length, kQueryBlock) * keys));
  Scratch<C> divisors(static_cast<size_t>(std::min(length, kQueryBlock)));
  for (int64_t begin = 0; begin < length; begin += kQueryBlock) {
    const int64_t rows = std::min(kQueryBlock, length - begin);
    const LinesFrom<C> block(q, begin);
    gemm<C>(rows, keys, depth, block, k, scores.data(), keys, 1);
    for (int64_t i = 0; i < rows; ++i) {
      C* row = scores.data() + i * keys;
      for (int64_t j = 0; j < keys; ++j) row[j] = static_cast<C>(row[j] * operands.scale);
      if (operands.causal && begin + i + 1 < keys)
        std::fill(row + begin + i + 1, row + keys, -std::numeric_limits<C>::infinity());
      if (operands.mask) add_mask(*operands.mask, batch, begin + i, keys, row);
      const RowWeight<C> weight = weigh_row(row, keys, operands.half);
      divisors[static_cast<size_t>(i)] = weight.divisor;
      drop_weights(context, operands.dropout_p, row, keys);
      if (logsumexp != nullptr) logsumexp[begin + i] = static_cast<C>(weight.log_sum);
    }
    const MatrixOperand<C> weights(scores.data(), keys, 1);
    C* block_out = out + begin * features;
    gemm<C>(rows, features, keys, weights, v, block_out, features, 1);
    for (int64_t i = 0; i < rows * features; ++i)
      block_out[i] /= divisors[static_cast<size_t>(i / features)];
  }
}

void attend(Context& context, Tensor& out, Tensor* logsumexp, const Operands& operands) {
  // Return early: the batch may hold any number of empty heads.
  if (out.numel() == 0 && (logsumexp == nullptr || logsumexp->numel() == 0)) return;
  // Counts the exponential functions of the weights. The matrix products count their own work.
  MemoryAccount::count_loops(
      {batch_count(operands.query), rows_of(operands.query), rows_of(operands.key)}, 1);
  with_float_compute_type(out.dtype(), [&]<class C>() {
    Output<C> y(out);
    Tensor none = Tensor::zeros(kDtypeOf<C>, {0});
    Output<C> totals(logsumexp != nullptr ? *logsumexp : none);
    const int64_t length = rows_of(operands.query), features = columns_of(operands.value);
    for (int64_t batch = 0; batch < batch_count(operands.query); ++batch)
      attend_head<C>(context, operands, batch, y.data() + batch * length * features,
                     logsumexp != nullptr ? totals.data() + batch * length : nullptr);
  });
}

// A view of [..., H, L, E] as [..., H / repeat, repeat, L, E].
Tensor split_heads(const Tensor& tensor, int64_t repeat) {
  Sizes sizes = tensor.sizes();
  sizes[static_cast<size_t>(tensor.dim() - 3)] /= repeat;
  sizes.insert(sizes.end() - 2, repeat);
  return *view(tensor, sizes);
}

// A view of [..., H, S, E] as [..., H, 1, S, E], which broadcasts.
Tensor single_group(const Tensor& tensor) { return *unsqueeze(tensor, -3); }

Result<int64_t> head_repeat(const Tensor& query, const Tensor& key, const Tensor& value) {
  if (query.dim() < 3 || key.dim() < 3 || value.dim() < 3)
    return operator_error("enable_gqa: found " + query.type_text() + ", expected a head dimension");
  const int64_t heads = query.size(query.dim() - 3);
  const int64_t key_heads = key.size(key.dim() - 3);
  if (key_heads < 1 || heads % key_heads != 0 || value.size(value.dim() - 3) != key_heads)
    return operator_error("enable_gqa: found " + std::to_string(heads) +
                          " query heads, expected a multiple of the " + std::to_string(key_heads) +
                          " of key and value");
  return heads / key_heads;
}

// Key and value may also differ in their number of heads.
Result<void> check_heads(const Tensor& query, const Tensor& key, const Tensor& value) {
  PT2_TRY_VOID(head_repeat(query, key, key));
  PT2_TRY_VOID(head_repeat(query, value, value));
  return {};
}

Result<void> check_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                             const OptionalTensor& mask, double dropout_p, bool causal) {
  PT2_TRY_VOID(check_floating(query, "query"));
  for (const Tensor* tensor : {&query, &key, &value}) {
    PT2_TRY_VOID(check_rank_at_least(*tensor, 2, "query, key and value"));
    PT2_TRY_VOID(check_same_dtype(*tensor, query, "key and value"));
  }
  if (key.size(key.dim() - 1) != query.size(query.dim() - 1))
    return operator_error("key: found " + key.type_text() + ", expected the last size of query " +
                          query.type_text());
  if (value.size(value.dim() - 2) != key.size(key.dim() - 2))
    return operator_error("value: found " + value.type_text() + ", expected the length of key " +
                          key.type_text());
  if (mask && causal)
    return operator_error("found both attn_mask and is_causal, expected one of them");
  if (mask && mask->dtype() != Dtype::bool_) PT2_TRY_VOID(check_floating(*mask, "attn_mask"));
  if (!(dropout_p >= 0 && dropout_p <= 1))
    return operator_error("dropout_p: found " + std::to_string(dropout_p) + ", expected 0 to 1");
  return {};
}

// Broadcasts the leading sizes of all operands to their common leading sizes.
Result<Operands> broadcast_operands(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const OptionalTensor& mask) {
  const std::array batches{batch_of(query), batch_of(key), batch_of(value)};
  PT2_TRY(const Sizes batch, broadcast_sizes(batches));
  Operands operands;
  operands.query = with_batch(query, batch);
  operands.key = with_batch(key, batch);
  operands.value = with_batch(value, batch);
  if (mask) {
    Sizes scores = batch;
    scores.insert(scores.end(), {rows_of(query), rows_of(key)});
    PT2_TRY_VOID(check_broadcasts(mask->sizes(), scores, "attn_mask"));
    operands.mask = broadcast_to(*mask, scores);
  }
  return operands;
}

// The batch sizes of the result. Heads of key and value that several query heads share do not
// count.
Result<Sizes> result_batch(const Tensor& query, const Tensor& key, const Tensor& value,
                           bool shares_heads) {
  return broadcast_sizes(std::array{batch_of(query), batch_of(shares_heads ? query : key),
                                    batch_of(shares_heads ? query : value)});
}

// Meta of [B, H, L, F]: with the query's layout if the fused kernel runs, else row-major.
Meta attention_meta(const Tensor& query, const Tensor& value, const Sizes& batch, bool fused) {
  Sizes sizes = batch;
  sizes.insert(sizes.end(), {rows_of(query), columns_of(value)});
  const Tensor* like = &query;
  Sizes strides = fused && query.dim() == 4 && query.sizes() == sizes
                      ? elementwise_strides(sizes, std::span(&like, 1))
                      : Sizes{};
  return Meta(query.dtype(), std::move(sizes), std::move(strides));
}

struct Attention {
  double dropout_p = 0;
  bool causal = false;
  std::optional<double> scale;
  bool fused = true;
  // The number of query heads that share one key and value head.
  int64_t repeat = 1;
};

// With repeated heads, each operand gets one more dimension, along which key and value broadcast.
OptionalTensor grouped_mask(const OptionalTensor& mask, int64_t repeat) {
  if (!mask || mask->dim() < 3) return mask;
  return mask->size(mask->dim() - 3) == 1 ? single_group(*mask) : split_heads(*mask, repeat);
}

Result<Tensor> run_attention(Context& context, const Tensor& query, const Tensor& key,
                             const Tensor& value, const OptionalTensor& mask,
                             const Attention& attention, Tensor* logsumexp) {
  const bool grouped = attention.repeat > 1;
  PT2_TRY(const Sizes batch, result_batch(query, key, value, grouped));
  if (mask && grouped && mask->dim() >= 3 && mask->size(mask->dim() - 3) != 1 &&
      mask->size(mask->dim() - 3) != query.size(query.dim() - 3))
    return operator_error("attn_mask: found " + mask->type_text() + ", expected the heads of " +
                          query.type_text());
  PT2_TRY(
      Operands operands,
      broadcast_operands(grouped ? split_heads(query, attention.repeat) : query,
                         grouped ? single_group(key) : key, grouped ? single_group(value) : value,
                         grouped ? grouped_mask(mask, attention.repeat) : mask));
  // Shared heads do not broadcast further.
  if (batch_count(operands.query) != checked_numel(batch))
    return operator_error("key: found " + key.type_text() + ", expected the batch of " +
                          query.type_text());
  operands.causal = attention.causal;
  // Products of no numbers are 0, and would become NaN with the infinite scale of depth 0.
  const int64_t depth = query.size(query.dim() - 1);
  operands.scale =
      depth == 0 ? 0 : attention.scale.value_or(1 / std::sqrt(static_cast<double>(depth)));
  operands.dropout_p = attention.dropout_p;
  // PyTorch's fused kernel rounds the weights of half floats. Its other kernel, which takes the
  // other calls, computes half floats in float32.
  if (attention.fused && dtype_size(query.dtype()) == 2 && attention.dropout_p == 0 &&
      query.size(3) == value.size(3))
    operands.half = query.dtype();
  PT2_TRY(Tensor out, allocate(attention_meta(query, value, batch, attention.fused)));
  Tensor target = grouped ? split_heads(out, attention.repeat) : out;
  attend(context, target, logsumexp, operands);
  return out;
}

Result<Tensor> checked_attention(Context& context, const Tensor& query, const Tensor& key,
                                 const Tensor& value, const OptionalTensor& attn_mask,
                                 Attention attention, bool enable_gqa) {
  PT2_TRY_VOID(
      check_attention(query, key, value, attn_mask, attention.dropout_p, attention.causal));
  if (!enable_gqa) return run_attention(context, query, key, value, attn_mask, attention, nullptr);
  PT2_TRY_VOID(check_heads(query, key, value));
  if (key.size(key.dim() - 3) == value.size(value.dim() - 3)) {
    PT2_TRY(attention.repeat, head_repeat(query, key, value));
    return run_attention(context, query, key, value, attn_mask, attention, nullptr);
  }
  const auto for_each_query = [&](const Tensor& tensor) {
    const int64_t heads = tensor.dim() - 3;
    return apply(aten<"repeat_interleave.self_int">,
                 {tensor, query.size(query.dim() - 3) / tensor.size(heads), heads});
  };
  PT2_TRY(const Tensor keys, for_each_query(key));
  PT2_TRY(const Tensor values, for_each_query(value));
  return run_attention(context, query, keys, values, attn_mask, attention, nullptr);
}

// True if the fused kernel accepts the layouts: it needs batches of heads, and rows of contiguous
// elements (ATen/native/transformers/sdp_utils_cpp.h check_last_dim_stride_equals_1_dense).
bool may_be_fused(const Tensor& query, const Tensor& key, const Tensor& value,
                  const OptionalTensor& mask) {
  const auto has_rows = [](const Tensor& tensor) {
    return tensor.dim() == 0 || tensor.strides().back() == 1;
  };
  const auto is_batch = [&](const Tensor* tensor) {
    return tensor->dim() == 4 && has_rows(*tensor);
  };
  return std::ranges::all_of(std::array{&query, &key, &value}, is_batch) &&
         (!mask || has_rows(*mask));
}

Result<Tensor> scaled_dot_product_attention(Context& context, const Tensor& query,
                                            const Tensor& key, const Tensor& value,
                                            const OptionalTensor& attn_mask, double dropout_p,
                                            bool is_causal, const std::optional<double>& scale,
                                            bool enable_gqa) {
  const bool fused = may_be_fused(query, key, value, attn_mask);
  return checked_attention(
      context, query, key, value, attn_mask,
      {.dropout_p = dropout_p, .causal = is_causal, .scale = scale, .fused = fused}, enable_gqa);
}

Result<void> check_flash(const Tensor& query, const Tensor& key, const Tensor& value) {
  for (const Tensor* tensor : {&query, &key, &value})
    PT2_TRY_VOID(check_rank(*tensor, 4, "query, key and value"));
  if (key.size(3) != value.size(3))
    return operator_error("value: found " + value.type_text() + ", expected the last size of key " +
                          key.type_text());
  return {};
}

using FlashResult = std::tuple<Tensor, Tensor>;

// logsumexp is [B, H, L], stored in the order [B, L, H]. Key and value may have fewer heads.
Result<FlashResult> flash_for_cpu(Context& context, const Tensor& query, const Tensor& key,
                                  const Tensor& value, double dropout_p, bool is_causal,
                                  const OptionalTensor& attn_mask,
                                  const std::optional<double>& scale) {
  PT2_TRY_VOID(check_flash(query, key, value));
  PT2_TRY_VOID(check_attention(query, key, value, attn_mask, dropout_p, is_causal));
  Attention attention{.dropout_p = dropout_p, .causal = is_causal, .scale = scale};
  if (query.size(1) != key.size(1)) {
    PT2_TRY(attention.repeat, head_repeat(query, key, value));
  }
  const Dtype totals = query.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32;
  const int64_t heads = query.size(1);
  const int64_t length = query.size(2);
  PT2_TRY(Tensor logsumexp,
          allocate(Meta(totals, {query.size(0), heads, length}, {length * heads, 1, heads})));
  PT2_TRY(Tensor out, run_attention(context, query, key, value, attn_mask, attention, &logsumexp));
  return FlashResult{std::move(out), std::move(logsumexp)};
}

using FlashTuple =
    std::tuple<Tensor, Tensor, Tensor, Tensor, int64_t, int64_t, Tensor, Tensor, Tensor>;

// torch 2.1 and 2.2 called this operator on CPUs as well; only its first two results are meaningful
// there.
Result<FlashTuple> flash_attention(Context& context, const Tensor& query, const Tensor& key,
                                   const Tensor& value, double dropout_p, bool is_causal, bool,
                                   const std::optional<double>& scale) {
  PT2_TRY(auto pair,
          flash_for_cpu(context, query, key, value, dropout_p, is_causal, std::nullopt, scale));
  const Tensor empty = Tensor::zeros(Dtype::int64, {});
  return FlashTuple{std::get<0>(pair),
                    std::get<1>(pair),
                    Tensor::zeros(Dtype::int64, {0}),
                    Tensor::zeros(Dtype::int64, {0}),
                    query.size(2),
                    key.size(2),
                    empty,
                    empty,
                    Tensor::zeros(query.dtype(), {0})};
}

// Also returns the weights, computed as attention with the identity matrix as values.
Result<FlashResult> attention_math(Context& context, const Tensor& query, const Tensor& key,
                                   const Tensor& value, const OptionalTensor& attn_mask,
                                   double dropout_p, bool is_causal,
                                   const OptionalTensor& dropout_mask,
                                   const std::optional<double>& scale, bool enable_gqa) {
  if (dropout_mask) return Error{ErrorCode::unsupported, "attention with a dropout_mask", ""};
  // A direct call of this operator adds bool masks, too, as zeros and ones.
  OptionalTensor mask = attn_mask;
  if (mask && mask->dtype() == Dtype::bool_) mask = to_dense(*mask, Dtype::bool_, Dtype::float32);
  Attention attention{.dropout_p = dropout_p, .causal = is_causal, .scale = scale, .fused = false};
  PT2_TRY(Tensor out, checked_attention(context, query, key, value, mask, attention, enable_gqa));
  const int64_t keys = key.size(key.dim() - 2);
  PT2_TRY(Tensor identity, allocate(Meta(query.dtype(), {keys, keys})));
  Tensor ones = identity.with_view({keys}, {keys + 1}, 0);
  fill_elements(ones, Scalar(1));
  Sizes sizes = value.sizes();
  sizes.back() = keys;
  attention.dropout_p = 0;
  PT2_TRY(Tensor weights, checked_attention(context, query, key, broadcast_to(identity, sizes),
                                            mask, attention, enable_gqa));
  return FlashResult{out.contiguous(), weights.contiguous()};
}

Result<Meta> scaled_dot_product_attention_meta(const Tensor& query, const Tensor& key,
                                               const Tensor& value, const OptionalTensor& attn_mask,
                                               double dropout_p, bool is_causal,
                                               const std::optional<double>&, bool enable_gqa) {
  PT2_TRY_VOID(check_attention(query, key, value, attn_mask, dropout_p, is_causal));
  if (enable_gqa) PT2_TRY_VOID(check_heads(query, key, value));
  PT2_TRY(const Sizes batch, result_batch(query, key, value, enable_gqa));
  if (attn_mask) {
    Sizes scores = batch;
    scores.insert(scores.end(), {rows_of(query), rows_of(key)});
    PT2_TRY_VOID(check_broadcasts(attn_mask->sizes(), scores, "attn_mask"));
  }
  return attention_meta(query, value, batch, true);
}

Result<std::array<Meta, 2>> flash_meta(const Tensor& query, const Tensor& key, const Tensor& value,
                                       double dropout_p, bool is_causal,
                                       const OptionalTensor& attn_mask,
                                       const std::optional<double>& scale) {
  PT2_TRY_VOID(check_flash(query, key, value));
  PT2_TRY(Meta out,
          scaled_dot_product_attention_meta(query, key, value, attn_mask, dropout_p, is_causal,
                                            scale, query.size(1) != key.size(1)));
  const Dtype totals = query.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32;
  return std::array{std::move(out), Meta(totals, {query.size(0), query.size(1), query.size(2)})};
}

Result<std::array<Meta, 4>> efficient_attention_meta(
    const Tensor& query, const Tensor& key, const Tensor& value, const OptionalTensor& attn_bias,
    bool compute_log_sumexp, double dropout_p, bool is_causal, const std::optional<double>& scale) {
  for (const Tensor* tensor : {&query, &key, &value})
    PT2_TRY_VOID(check_rank(*tensor, 4, "query, key and value"));
  PT2_TRY(Meta out, scaled_dot_product_attention_meta(query, key, value, attn_bias, dropout_p,
                                                      is_causal, scale, false));
  constexpr int64_t kBlock = 32;
  const int64_t blocks = query.size(2) / kBlock + (query.size(2) % kBlock != 0);
  PT2_TRY(const int64_t length, multiply_add(compute_log_sumexp ? blocks : 0, kBlock));
  return std::array{std::move(out), Meta(Dtype::float32, {query.size(0), query.size(1), length}),
                    Meta(Dtype::int64, {}), Meta(Dtype::int64, {})};
}
// For programs that were decomposed on a GPU. There logsumexp is padded with infinity to whole
// blocks of rows (torch/_meta_registrations.py meta__scaled_dot_product_efficient_attention).
Result<std::tuple<Tensor, Tensor, Tensor, Tensor>> efficient_attention(
    Context& context, const Tensor& query, const Tensor& key, const Tensor& value,
    const OptionalTensor& attn_bias, bool compute_log_sumexp, double dropout_p, bool is_causal,
    const std::optional<double>& scale) {
  PT2_TRY(const auto metas,
          efficient_attention_meta(query, key, value, attn_bias, compute_log_sumexp, dropout_p,
                                   is_causal, scale));
  const Attention attention{.dropout_p = dropout_p, .causal = is_causal, .scale = scale};
  const Dtype totals = query.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32;
  PT2_TRY(Tensor rows, allocate({totals, {query.size(0), query.size(1), query.size(2)}}));
  PT2_TRY(Tensor out, run_attention(context, query, key, value, attn_bias, attention, &rows));
  PT2_TRY(Tensor logsumexp, allocate(metas[1]));
  if (logsumexp.size(2) > 0) {
    fill_elements(logsumexp, Scalar(HUGE_VAL));
    Tensor used = logsumexp.with_view(rows.sizes(), logsumexp.strides(), 0);
    copy_elements(used, rows);
  }
  const Tensor none = Tensor::zeros(Dtype::int64, {});
  return std::tuple(std::move(out), std::move(logsumexp), none, none);
}

// Only the first two results are meaningful on CPUs.
Result<std::vector<Meta>> flash_attention_meta(std::span<const Value> arguments) {
  PT2_TRY(auto metas,
          flash_meta(*arguments[0].get_if<Tensor>(), *arguments[1].get_if<Tensor>(),
                     *arguments[2].get_if<Tensor>(), 0, false, std::nullopt, std::nullopt));
  return meta_list(std::move(metas));
}

// Repeats each key or value head `times` times, once for each query head that it serves.
Result<Tensor> repeat_heads(Emitter& e, const Tensor& tensor, int64_t times) {
  if (times == 1) return tensor;
  const int64_t heads = tensor.dim() - 3;
  Sizes sizes = tensor.sizes();
  sizes.insert(sizes.begin() + heads + 1, times);
  const auto apart = e(aten<"unsqueeze.default">, {tensor, heads + 1});
  const auto whole = e(aten<"expand.default">, {apart, sizes});
  sizes.erase(sizes.begin() + heads);
  sizes[static_cast<size_t>(heads)] = tensor.size(heads) * times;
  return e(aten<"reshape.default">, {whole, sizes});
}

// The softmax of the scores. Rows that the mask excludes entirely are zero.
Result<Tensor> attention_weights(Emitter& e, const Tensor& scores, const OptionalTensor& mask,
                                 bool causal) {
  if (!mask && !causal) return e(aten<"_softmax.default">, {scores, int64_t{-1}, false});
  OptionalTensor kept = mask;
  if (causal) {
    const Sizes square(scores.sizes().end() - 2, scores.sizes().end());
    const auto rows = e(aten<"arange.start_step">, {0, square[0], 1, Dtype::int64});
    const auto columns = e(aten<"arange.start_step">, {0, square[1], 1, Dtype::int64});
    PT2_TRY(kept, e(aten<"le.Tensor">, {columns, e(aten<"unsqueeze.default">, {rows, 1})}));
  }
  const auto lowest = [&] { return e(aten<"full.default">, {Sizes{}, -HUGE_VAL, scores.dtype()}); };
  const auto masked = kept->dtype() == Dtype::bool_
                          ? e(aten<"where.self">, {*kept, scores, lowest()})
                          : e(aten<"add.Tensor">, {scores, *kept});
  // PyTorch's nodes (torch/_decomp/decompositions.py, safe_softmax): plans find attention by them.
  const auto weights = e(aten<"_softmax.default">, {masked, int64_t{-1}, false});
  const auto shown = e(aten<"logical_not.default">, {e(aten<"eq.Scalar">, {masked, -HUGE_VAL})});
  const auto empty =
      e(aten<"logical_not.default">, {e(aten<"any.dim">, {shown, int64_t{-1}, true})});
  const auto zeros = e(aten<"full_like.default">, {weights, int64_t{0}});
  return e(aten<"where.self">, {empty, zeros, weights});
}

// The result and the weights. Half floats are computed in float32.
using Attended = std::tuple<Tensor, Tensor>;
Result<Attended> attend(Emitter& e, const Tensor& query, const Tensor& key, const Tensor& value,
                        const OptionalTensor& attn_mask, double dropout_p, bool is_causal,
                        const std::optional<double>& scale, bool enable_gqa) {
  PT2_TRY_VOID(check_attention(query, key, value, attn_mask, dropout_p, is_causal));
  if (enable_gqa) PT2_TRY_VOID(check_heads(query, key, value));
  const bool widens = is_half(query.dtype());
  const auto wide = [&](const Tensor& tensor) {
    return widens && dtype_category(tensor.dtype()) == DtypeCategory::floating
               ? converted(e, tensor, Dtype::float32)
               : Result<Tensor>(tensor);
  };
  PT2_TRY(const Tensor queries, wide(query));
  PT2_TRY(Tensor keys, wide(key));
  PT2_TRY(Tensor values, wide(value));
  if (enable_gqa) {
    PT2_TRY(keys, repeat_heads(e, keys, query.size(query.dim() - 3) / key.size(key.dim() - 3)));
    PT2_TRY(values,
            repeat_heads(e, values, query.size(query.dim() - 3) / value.size(value.dim() - 3)));
  }
  OptionalTensor mask;
  if (attn_mask) {
    PT2_TRY(mask, wide(*attn_mask));
  }
  const int64_t depth = query.size(query.dim() - 1);
  const double whole = scale.value_or(1 / std::sqrt(static_cast<double>(depth)));
  const double factor = std::sqrt(std::fabs(whole));
  Sizes order;
  for (int64_t dim = 0; dim < keys.dim(); ++dim) order.push_back(dim);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  const auto turned = e(aten<"permute.default">, {keys, order});
  PT2_TRY(const Tensor scores,
          e(aten<"matmul.default">, {e(aten<"mul.Scalar">, {queries, std::copysign(factor, whole)}),
                                     e(aten<"mul.Scalar">, {turned, factor})}));
  PT2_TRY(Tensor weights, attention_weights(e, scores, mask, is_causal));
  if (dropout_p > 0) {
    PT2_TRY(weights, e(aten<"native_dropout.default">, {weights, dropout_p, true}));
  }
  PT2_TRY(Tensor out, e(aten<"matmul.default">, {weights, values}));
  PT2_TRY(out, converted(e, out, query.dtype()));
  PT2_TRY(weights, converted(e, weights, query.dtype()));
  return Attended(std::move(out), std::move(weights));
}

// A direct call of this operator adds bool masks, too, as zeros and ones.
Result<Attended> attention_math_formula(Emitter& e, const Tensor& query, const Tensor& key,
                                        const Tensor& value, const OptionalTensor& attn_mask,
                                        double dropout_p, bool is_causal,
                                        const OptionalTensor& dropout_mask,
                                        const std::optional<double>& scale, bool enable_gqa) {
  if (dropout_mask) return Error{ErrorCode::unsupported, "attention with a dropout_mask", ""};
  OptionalTensor mask = attn_mask;
  if (mask && mask->dtype() == Dtype::bool_) {
    PT2_TRY(mask, e(aten<"to.dtype">, {*mask, query.dtype()}));
  }
  return attend(e, query, key, value, mask, dropout_p, is_causal, scale, enable_gqa);
}

Result<Tensor> attention_formula(Emitter& e, const Tensor& query, const Tensor& key,
                                 const Tensor& value, const OptionalTensor& attn_mask,
                                 double dropout_p, bool is_causal,
                                 const std::optional<double>& scale, bool enable_gqa) {
  PT2_TRY(const auto both,
          attend(e, query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa));
  const Tensor& out = std::get<0>(both);
  PT2_TRY(const Meta meta,
          scaled_dot_product_attention_meta(query, key, value, attn_mask, dropout_p, is_causal,
                                            scale, enable_gqa));
  // During export, PyTorch takes the fused kernel for a bool mask of any strides, and the views
  // that it records later depend on this choice.
  const bool is_bool = attn_mask && attn_mask->dtype() == Dtype::bool_;
  if (meta.strides.empty() || !may_be_fused(query, key, value, is_bool ? std::nullopt : attn_mask))
    return out;
  // The fused kernel stores its result in the query's order of dimensions.
  Sizes in_memory{0, 1, 2, 3}, back(4);
  std::ranges::stable_sort(in_memory, std::greater(),
                           [&](int64_t dim) { return meta.strides[static_cast<size_t>(dim)]; });
  for (size_t i = 0; i < 4; ++i) back[static_cast<size_t>(in_memory[i])] = static_cast<int64_t>(i);
  const auto ordered = e(aten<"permute.default">, {out, in_memory});
  const auto dense = e(aten<"clone.default">, {ordered, MemoryFormat::contiguous});
  return e(aten<"permute.default">, {dense, back});
}

// clang-format off
constexpr OpDef kAttentionOps[] = {
    op<"aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)",
       attention_math, attention_math_formula>,
    composed<"aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
       scaled_dot_product_attention_meta, scaled_dot_product_attention, attention_formula>.with({.autocast = AutocastRule::lower_precision}),
    composed<"aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
       flash_meta, flash_for_cpu>,
    composed<"aten::_scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)",
       flash_attention_meta, flash_attention>,
    composed<"aten::_scaled_dot_product_efficient_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, bool compute_log_sumexp, float dropout_p=0., bool is_causal=False, *, float? scale=None) -> (Tensor output, Tensor log_sumexp, Tensor philox_seed, Tensor philox_offset)",
       efficient_attention_meta, efficient_attention>,
};
// clang-format on

}  // namespace

std::span<const OpDef> attention_ops() { return kAttentionOps; }

}  // namespace pt2::ops
