#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>

#include "kernels/dtypes/halves.h"
#include "kernels/products/half_products.h"
#include "kernels/products/product.h"
#include "kernels/products/row_products.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "kernels/reductions-inl.h"
#include "kernels/vectors-inl.h"

// Defined once for all targets.
#ifndef PT2_KERNELS_ATTENTION_ROW
#define PT2_KERNELS_ATTENTION_ROW
namespace pt2::kernels {
namespace {

// One query against a block of keys, with its running maximum, sum and output over all blocks so
// far.
struct QueryRow {
  float* scores;
  int64_t count;
  int64_t allowed;  // the query may attend to the first `allowed` keys of the block
  const float* mask;
  bool mask_replaces;
  float& maximum;
  float& sum;  // sum of weights
  float* out;  // sum of weighted values
};

}  // namespace
}  // namespace pt2::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace pt2::kernels {
namespace HWY_NAMESPACE {

// Turns the scores into weights exp(score - maximum), which are 0 from `allowed` on. Rescales the
// sums of earlier blocks to the new maximum.
void weigh_scores(const QueryRow& row, float scale, int64_t value_depth) {
  float* const scores = row.scores;
  const int64_t allowed = row.allowed;
  const V factor = set(scale);
  const float block_largest = largest_of_span(allowed, [&](int64_t i, int64_t lanes) HWY_ATTR {
    V score = hn::Mul(load_first(scores + i, lanes), factor);
    if (row.mask != nullptr) {
      const V mask = load_first(row.mask + i, lanes);
      score = row.mask_replaces ? hn::IfThenElse(hn::Eq(mask, set(0.0f)), score, mask)
                                : hn::Add(score, mask);
    }
    store_first(score, scores + i, lanes);
    return score;
  });
  const float largest = std::max(row.maximum, block_largest);
  std::fill(scores + allowed, scores + row.count, 0.0f);
  if (largest == -std::numeric_limits<float>::infinity()) {
    // The query attends to no key: all weights are 0, but a NaN score stays NaN.
    for (int64_t i = 0; i < allowed; ++i) scores[i] = std::isnan(scores[i]) ? scores[i] : 0.0f;
    return;
  }
  const V shift = set(largest);
  const double block_sum = sum_span(allowed, [&](int64_t i, int64_t lanes) HWY_ATTR {
    const V weight = exp_of_difference(hn::Sub(load_first(scores + i, lanes), shift));
    store_first(weight, scores + i, lanes);
    return weight;
  });
  if (row.maximum != largest && row.sum != 0) {
    const float shrink = std::exp(row.maximum - largest);
    const V shrinks = set(shrink);
    row.sum *= shrink;
    map_span(row.out, row.out, value_depth, [&](V x) HWY_ATTR { return hn::Mul(x, shrinks); });
  }
  row.sum += static_cast<float>(block_sum);
  row.maximum = largest;
}

void divide_span(float* values, int64_t count, float divisor) {
  const V factor = set(divisor);
  map_span(values, values, count, [&](V x) HWY_ATTR { return hn::Div(x, factor); });
}

}  // namespace HWY_NAMESPACE
}  // namespace pt2::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt2::kernels {
PT2_EXPORT(weigh_scores);
PT2_EXPORT(divide_span);

namespace {

// The scores of a block of queries and a block of keys fit the L2 cache together with the packed
// keys.
constexpr int64_t kQueryBlock = 64;
constexpr int64_t kKeyBlock = 512;
// Panel widths are at most this and divide it: a packed operand cut at a multiple of it is cut
// between panels.
constexpr int64_t kPanelStep = 64;
// Up to this many queries, keys and values are read in place, without packing.
constexpr int64_t kFewQueries = 4;

int64_t round_up(int64_t count, int64_t step) { return (count + step - 1) / step * step; }

struct Scratch {
  float* scores;
  float* keys;         // packed; or few queries, as rows of halves
  float* values;       // packed
  float* wide_keys;    // keys widened from halves
  float* wide_values;  // values widened from halves
  float* maxima;
  float* sums;
};

// Number of blocks of queries in a task. Every task packs the keys and values anew.
int64_t blocks_at_once(const Attention& attention, int threads) {
  const int64_t blocks = round_up(attention.queries, kQueryBlock) / kQueryBlock;
  const int64_t heads = attention.batch * attention.heads;
  if (threads == 1 || heads >= 2 * threads)
    return std::max<int64_t>(1, std::min<int64_t>(blocks, 16));
  const int64_t wanted = (2 * threads + heads - 1) / std::max<int64_t>(1, heads);
  return std::max<int64_t>(1, std::min<int64_t>(16, blocks / wanted));
}

bool has_few_queries(const Attention& attention) { return attention.queries <= kFewQueries; }

struct Layout {
  int64_t scores, keys, values, wide_keys, wide_values, rows;
  int64_t total() const { return scores + keys + values + wide_keys + wide_values + 2 * rows; }
};
Layout lay_out(const Attention& attention, int threads) {
  const int64_t block = std::min(attention.keys, kKeyBlock);
  if (has_few_queries(attention)) {
    const bool is_bfloat16 = attention.halves == Rounding::bfloat16;
    const int64_t rows = is_bfloat16 ? round_up(kFewQueries * attention.depth, 16) : 0;
    return {round_up(kFewQueries * block, 16), rows, 0, 0, 0, 16};
  }
  const bool widens = attention.halves != Rounding::none;
  const int64_t wide_keys = widens ? round_up(block * attention.depth, 16) : 0;
  const int64_t wide_values = widens ? round_up(block * attention.value_depth, 16) : 0;
  return {round_up(kQueryBlock * block, 16),
          round_up(packed_size(attention.depth, block), 16),
          round_up(packed_size(block, attention.value_depth), 16),
          wide_keys,
          wide_values,
          kQueryBlock * blocks_at_once(attention, threads)};
}

// For one query per head: queries of heads that share keys become rows of one head, so the keys are
// read once for all of them. Other attentions are returned as they are.
Attention with_shared_keys(const Attention& given) {
  const int64_t group = given.heads / std::max<int64_t>(1, given.key_heads);
  int64_t rows = std::min(group, kFewQueries);
  while (rows > 1 && group % rows != 0) --rows;
  if (given.queries != 1 || given.causal || rows <= 1) return given;
  Attention out = given;
  out.heads = given.heads / rows;
  out.queries = rows;
  for (Heads* heads : {&out.query, &out.mask}) {
    heads->row_stride = heads->head_stride;
    heads->head_stride *= rows;
  }
  out.out_row_stride = given.out_head_stride;
  out.out_head_stride *= rows;
  return out;
}

// The rows of one head.
struct Head {
  const float* query;
  Heads key;
  Heads value;
  const float* mask;
  float* out;
};
Heads one_head(const Heads& heads, int64_t batch, int64_t head) {
  const int64_t offset = batch * heads.batch_stride + head * heads.head_stride;
  Heads out = heads;
  if (heads.data != nullptr) out.data += offset;
  if (heads.halves != nullptr) out.halves += offset;
  return out;
}
Head find_head(const Attention& attention, int64_t index) {
  const int64_t batch = index / attention.heads;
  const int64_t head = index % attention.heads;
  const int64_t key_head = head / (attention.heads / attention.key_heads);
  return {one_head(attention.query, batch, head).data, one_head(attention.key, batch, key_head),
          one_head(attention.value, batch, key_head), one_head(attention.mask, batch, head).data,
          attention.out + batch * attention.out_batch_stride + head * attention.out_head_stride};
}

// Rows of keys or values as floats: in place, or widened into `memory`.
struct FloatRows {
  const float* data;
  int64_t stride;
};
FloatRows float_rows(Rounding type, const Heads& head, int64_t first, int64_t count, int64_t width,
                     float* memory) {
  if (head.halves == nullptr) return {head.data + first * head.row_stride, head.row_stride};
  const auto widen = type == Rounding::half ? half_to_float : bfloat16_to_float;
  const uint16_t* from = head.halves + first * head.row_stride;
  if (head.row_stride == width)
    widen(from, count * width, memory);
  else
    for (int64_t row = 0; row < count; ++row)
      widen(from + row * head.row_stride, width, memory + row * width);
  return {memory, width};
}
FloatRows keys_of(const Attention& attention, const Head& head, int64_t first, int64_t count,
                  const Scratch& scratch) {
  return float_rows(attention.halves, head.key, first, count, attention.depth, scratch.wide_keys);
}
FloatRows values_of(const Attention& attention, const Head& head, int64_t first, int64_t count,
                    const Scratch& scratch) {
  return float_rows(attention.halves, head.value, first, count, attention.value_depth,
                    scratch.wide_values);
}

// Queries begin .. end - 1 and keys first .. first + count - 1.
struct Block {
  int64_t begin, end;
  int64_t first, count;
};

// Returns the number of keys of the block that query `row` may attend to.
int64_t allowed_keys(const Attention& attention, const Block& block, int64_t row) {
  if (!attention.causal) return block.count;
  return std::clamp<int64_t>(row + attention.causal_offset + 1 - block.first, 0, block.count);
}

bool is_open(float mask) { return mask != -std::numeric_limits<float>::infinity(); }

// Compares 64 elements at a time so that compilers vectorize the comparison.
bool any_open(std::span<const float> mask) {
  constexpr size_t kAtOnce = 64;
  for (; mask.size() >= kAtOnce; mask = mask.subspan(kAtOnce)) {
    int open = 0;
    for (size_t i = 0; i < kAtOnce; ++i) open |= is_open(mask[i]) ? 1 : 0;
    if (open != 0) return true;
  }
  return std::ranges::any_of(mask, is_open);
}

// The mask of query `row` for the block's keys. Rows block.begin .. end_of_masks() - 1 have all
// masks of the block: with a row stride of 0, all queries share one.
std::span<const float> mask_of(const Attention& attention, const Head& head, const Block& block,
                               int64_t row) {
  return {head.mask + row * attention.mask.row_stride + block.first,
          static_cast<size_t>(block.count)};
}
int64_t end_of_masks(const Attention& attention, const Block& block) {
  return attention.mask.row_stride == 0 ? block.begin + 1 : block.end;
}

// True if the mask keeps every query of the block from all of its keys. Such keys and values are
// not read: their weight is 0, and in a cache of fixed size they may be most of all keys.
bool is_masked_out(const Attention& attention, const Head& head, const Block& block) {
  if (head.mask == nullptr) return false;
  for (int64_t row = block.begin; row < end_of_masks(attention, block); ++row)
    if (any_open(mask_of(attention, head, block, row))) return false;
  return true;
}

// Returns the block without the keys at its ends that are masked for every query.
Block without_masked_ends(const Attention& attention, const Head& head, const Block& block) {
  if (head.mask == nullptr) return block;
  int64_t begin = block.count, end = 0;
  for (int64_t row = block.begin; row < end_of_masks(attention, block); ++row) {
    const std::span<const float> mask = mask_of(attention, head, block, row);
    const auto first = mask.begin(), last = mask.end();
    begin = std::find_if(first, first + begin, is_open) - first;
    const auto reversed_end = std::make_reverse_iterator(first + end);
    end = std::find_if(std::make_reverse_iterator(last), reversed_end, is_open).base() - first;
  }
  return {block.begin, block.end, block.first + begin, std::max<int64_t>(0, end - begin)};
}

// scratch.scores holds `count` scores for each query. `offset` is the row of the first element of
// scratch.maxima and scratch.sums.
void weigh_block(const Attention& attention, const Head& head, const Block& block, int64_t count,
                 int64_t offset, const Scratch& scratch) {
  for (int64_t row = block.begin; row < block.end; ++row) {
    const float* mask =
        head.mask == nullptr ? nullptr : head.mask + row * attention.mask.row_stride + block.first;
    const QueryRow query{scratch.scores + (row - block.begin) * count,
                         count,
                         std::min(count, allowed_keys(attention, block, row)),
                         mask,
                         attention.mask_replaces,
                         scratch.maxima[row - offset],
                         scratch.sums[row - offset],
                         head.out + row * attention.out_row_stride};
    PT2_DISPATCH(weigh_scores)(query, attention.scale, attention.value_depth);
  }
}

void start_rows(const Attention& attention, const Head& head, int64_t begin, int64_t end,
                const Scratch& scratch) {
  for (int64_t row = begin; row < end; ++row) {
    scratch.maxima[row - begin] = -std::numeric_limits<float>::infinity();
    scratch.sums[row - begin] = 0;
    float* out = head.out + row * attention.out_row_stride;
    std::fill(out, out + attention.value_depth, 0.0f);
  }
}

void finish_rows(const Attention& attention, const Head& head, int64_t begin, int64_t end,
                 const Scratch& scratch) {
  for (int64_t row = begin; row < end; ++row) {
    const float sum = scratch.sums[row - begin];
    if (sum == 0 && !attention.empty_rows_are_nan) continue;
    PT2_DISPATCH(divide_span)
    (head.out + row * attention.out_row_stride, attention.value_depth, sum);
  }
}

// `count` is the number of keys that the last query may attend to.
void attend_block(const Attention& attention, const Head& head, const Block& block, int64_t count,
                  int64_t offset, const Scratch& scratch) {
  count = std::min(block.count, round_up(count, kPanelStep));
  Product scores;
  scores.rows = block.end - block.begin;
  scores.columns = count;
  scores.depth = attention.depth;
  scores.left = head.query + block.begin * attention.query.row_stride;
  scores.left_stride = attention.query.row_stride;
  scores.packed = scratch.keys;
  scores.packed_columns = block.count;
  scores.out = scratch.scores;
  scores.out_stride = count;
  multiply_packed(scores);
  weigh_block(attention, head, block, count, offset, scratch);
  Product sums;
  sums.rows = scores.rows;
  sums.columns = attention.value_depth;
  sums.depth = count;
  sums.left = scratch.scores;
  sums.left_stride = count;
  sums.packed = scratch.values;
  sums.packed_depth = block.count;
  sums.out = head.out + block.begin * attention.out_row_stride;
  sums.out_stride = attention.out_row_stride;
  sums.epilogue.addend = sums.out;
  sums.epilogue.addend_stride = sums.out_stride;
  multiply_packed(sums);
}

void pack_block(const Attention& attention, const Head& head, const Block& block,
                const Scratch& scratch) {
  const FloatRows keys = keys_of(attention, head, block.first, block.count, scratch);
  pack_right(keys.data,
             {.depth = attention.depth,
              .columns = block.count,
              .depth_stride = 1,
              .column_stride = keys.stride},
             scratch.keys);
  const FloatRows values = values_of(attention, head, block.first, block.count, scratch);
  pack_right(values.data,
             {.depth = block.count,
              .columns = attention.value_depth,
              .depth_stride = values.stride,
              .column_stride = 1},
             scratch.values);
}

void attend_many(const Attention& attention, const Head& head, int64_t begin, int64_t end,
                 const Scratch& scratch) {
  start_rows(attention, head, begin, end, scratch);
  for (int64_t first = 0; first < attention.keys; first += kKeyBlock) {
    Block block{begin, end, first, std::min(kKeyBlock, attention.keys - first)};
    if (allowed_keys(attention, block, end - 1) == 0) break;
    bool packed = false;
    for (int64_t row = begin; row < end; row += kQueryBlock) {
      block.begin = row;
      block.end = std::min(end, row + kQueryBlock);
      const int64_t count = allowed_keys(attention, block, block.end - 1);
      if (count == 0 || is_masked_out(attention, head, block)) continue;
      if (!packed) pack_block(attention, head, block, scratch);
      packed = true;
      attend_block(attention, head, block, count, begin, scratch);
    }
  }
  finish_rows(attention, head, begin, end, scratch);
}

// Multiplies rows with keys or values in place, from row `first` on. `halves` has the same rows, or
// is null.
void multiply_rows_of(Rounding type, RowProduct product, const Heads& head, int64_t first,
                      const HalfRows& halves) {
  if (head.halves == nullptr) {
    product.right = head.data + first * head.row_stride;
    product.right_stride = head.row_stride;
    return multiply_rows(product);
  }
  multiply_half_rows(product,
                     {.type = type,
                      .depth = product.depth,
                      .columns = product.columns,
                      .right = head.halves + first * head.row_stride,
                      .depth_stride = product.turned ? 1 : head.row_stride,
                      .column_stride = product.turned ? head.row_stride : 1},
                     halves);
}

// Returns queries of bfloat16 as they were before they were widened; null for other types.
HalfRows half_queries(const Attention& attention, const Head& head, const Scratch& scratch) {
  if (attention.halves != Rounding::bfloat16) return {};
  auto* rows = reinterpret_cast<uint16_t*>(scratch.keys);
  for (int64_t row = 0; row < attention.queries; ++row)
    float_to_bfloat16(head.query + row * attention.query.row_stride, attention.depth,
                      rows + row * attention.depth);
  return {rows, attention.depth};
}

void attend_few(const Attention& attention, const Head& head, const Scratch& scratch) {
  start_rows(attention, head, 0, attention.queries, scratch);
  const HalfRows queries = half_queries(attention, head, scratch);
  for (int64_t first = 0; first < attention.keys; first += kKeyBlock) {
    const Block block = without_masked_ends(
        attention, head,
        {0, attention.queries, first, std::min(kKeyBlock, attention.keys - first)});
    const int64_t count = allowed_keys(attention, block, block.end - 1);
    if (count == 0) continue;
    RowProduct scores;
    scores.rows = attention.queries;
    scores.columns = count;
    scores.depth = attention.depth;
    scores.left = head.query;
    scores.left_stride = attention.query.row_stride;
    scores.out = scratch.scores;
    scores.out_stride = count;
    multiply_rows_of(attention.halves, scores, head.key, block.first, queries);
    weigh_block(attention, head, block, count, 0, scratch);
    RowProduct sums;
    sums.rows = attention.queries;
    sums.columns = attention.value_depth;
    sums.depth = count;
    sums.left = scratch.scores;
    sums.left_stride = count;
    sums.turned = false;
    sums.out = head.out;
    sums.out_stride = attention.out_row_stride;
    sums.epilogue.addend = head.out;
    sums.epilogue.addend_stride = attention.out_row_stride;
    multiply_rows_of(attention.halves, sums, head.value, block.first, {});
  }
  finish_rows(attention, head, 0, attention.queries, scratch);
}

}  // namespace

int64_t attention_scratch_size(const Attention& attention, int threads) {
  return lay_out(with_shared_keys(attention), threads).total() * threads;
}

void attend(const Attention& given, float* scratch, ThreadPool* pool) {
  if (given.queries <= 0 || given.value_depth <= 0) return;
  const Attention attention = with_shared_keys(given);
  const int threads = thread_count(pool);
  const Layout layout = lay_out(attention, threads);
  const int64_t chunk = kQueryBlock * blocks_at_once(attention, threads);
  const int64_t chunks = (attention.queries + chunk - 1) / chunk;
  const int64_t heads = attention.batch * attention.heads;
  run_tasks(pool, heads * chunks, [&](int64_t task, int thread) {
    Scratch own;
    own.scores = scratch + layout.total() * thread;
    own.keys = own.scores + layout.scores;
    own.values = own.keys + layout.keys;
    own.wide_keys = own.values + layout.values;
    own.wide_values = own.wide_keys + layout.wide_keys;
    own.maxima = own.wide_values + layout.wide_values;
    own.sums = own.maxima + layout.rows;
    const Head head = find_head(attention, task / chunks);
    if (has_few_queries(attention)) return attend_few(attention, head, own);
    const int64_t begin = task % chunks * chunk;
    attend_many(attention, head, begin, std::min(attention.queries, begin + chunk), own);
  });
}

}  // namespace pt2::kernels
#endif
