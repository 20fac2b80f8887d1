// Scaled dot-product attention of float32, softmax(scale * query key^T + mask) value. The scores
// are never held all at once: blocks of keys are processed in turn, with a running sum and maximum
// for each query. Keys and values may be halves, which are widened to floats a block at a time.
#ifndef PT2_KERNELS_ATTENTION_H
#define PT2_KERNELS_ATTENTION_H

#include <cstdint>

#include "kernels/threads.h"
#include "kernels/tiles.h"

namespace pt2::kernels {

// A tensor [batch, head, row, element]. The elements of a row are contiguous; the other dimensions
// have any stride (0 if broadcast).
struct Heads {
  const float* data = nullptr;
  const uint16_t* halves = nullptr;  // instead of `data`
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
  // Type of keys and values, and of the numbers that the queries hold as floats; none: floats.
  Rounding halves = Rounding::none;
  // Added to the scores; each row has one element per key. `data` is null without a mask. Boolean
  // masks are converted to 0 and -inf beforehand.
  Heads mask;
  // True if an element of the mask other than 0 replaces the score, whatever that is (NaN).
  bool mask_replaces = false;
  // Query i attends only to keys 0 .. i + causal_offset. The offset is 0 for PyTorch's is_causal,
  // and p for a cache of p earlier keys.
  bool causal = false;
  int64_t causal_offset = 0;
  float scale = 1;
  // The result of a query that may attend to no key: NaN (the softmax of nothing) if true, zeros if
  // false.
  bool empty_rows_are_nan = false;
  // The result; overlaps no operand.
  float* out = nullptr;
  int64_t out_batch_stride = 0;
  int64_t out_head_stride = 0;
  int64_t out_row_stride = 0;
};

// Number of floats of scratch that `attend` needs with a pool of `threads` threads. The scratch is
// best aligned to 64 bytes.
int64_t attention_scratch_size(const Attention& attention, int threads);

void attend(const Attention& attention, float* scratch, ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_ATTENTION_H
