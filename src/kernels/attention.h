// Scaled dot-product attention of float32, softmax(scale * query key^T + mask) value, without ever
// holding all scores: blocks of keys in turn, sums and maxima kept for each query. Keys and values
// may be halves, which become floats a block at a time.
#ifndef PT2_KERNELS_ATTENTION_H
#define PT2_KERNELS_ATTENTION_H

#include <cstdint>

#include "kernels/threads.h"
#include "kernels/tiles.h"

namespace pt2::kernels {

// [batch, head, row, element]; elements of a row lie side by side, all else at any stride (0 where
// it is broadcast).
struct Heads {
  const float* data = nullptr;
  const uint16_t* halves = nullptr;  // instead of them
  int64_t batch_stride = 0;
  int64_t head_stride = 0;
  int64_t row_stride = 0;
};

struct Attention {
  int64_t batch = 1;
  int64_t heads = 1;
  int64_t key_heads = 1;  // divides heads: head h attends to key head h / (heads / key_heads)
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t depth = 0;        // of query and key
  int64_t value_depth = 0;  // of value and result
  Heads query;
  Heads key;
  Heads value;
  Rounding halves = Rounding::none;  // what keys and values are, unless floats
  // Added to the scores, its rows as long as there are keys; null data if there is none. Bools
  // become 0 and -inf before.
  Heads mask;
  // Query i attends to keys 0 .. i + causal_offset only (PyTorch's is_causal has offset 0; a cache
  // of p earlier keys, p).
  bool causal = false;
  int64_t causal_offset = 0;
  float scale = 1;
  // A query that may attend to no key: NaN, which is the softmax of nothing, or zeros.
  bool empty_rows_are_nan = false;
  // The result, which overlaps nothing.
  float* out = nullptr;
  int64_t out_batch_stride = 0;
  int64_t out_head_stride = 0;
  int64_t out_row_stride = 0;
};

// How many floats of scratch `attend` needs with a pool of `threads`; best at a multiple of 64
// bytes.
int64_t attention_scratch_size(const Attention& attention, int threads);

void attend(const Attention& attention, float* scratch, ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_ATTENTION_H
