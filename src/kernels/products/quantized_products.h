// Products of quantized rows with quantized weights, both levels of one byte, to floats or to other
// levels: whole numbers are summed exactly along the depth, in blocks of at most 1024, and become
// floats before anything else is done.
//
// Processors with instructions for dot products of four bytes (AVX512_VNNI) take them, others of
// x86 multiply pairs of int16, the rest floats.
#ifndef PT2_KERNELS_PRODUCTS_QUANTIZED_PRODUCTS_H
#define PT2_KERNELS_PRODUCTS_QUANTIZED_PRODUCTS_H

#include <cstdint>

#include "kernels/dtypes/levels.h"
#include "kernels/products/level_products.h"
#include "kernels/products/product.h"
#include "kernels/threads.h"

namespace pt2::kernels {

// Where rows of levels come from: copies elements first_depth .. first_depth + depth - 1 of `rows`
// rows, row r to `to` + r * pitch.
struct LevelRows {
  using Copy = void (*)(const void* source, int64_t first_row, int64_t rows, int64_t first_depth,
                        int64_t depth, uint8_t* to, int64_t pitch);
  Copy copy = nullptr;
  const void* source = nullptr;
};
// Rows that lie in memory; row r begins at data + r * stride.
struct LevelMatrix {
  const uint8_t* data = nullptr;
  int64_t stride = 0;
  // Valid for as long as the matrix.
  LevelRows rows() const;
};

// Parts of results that need room before they become levels. Many are dealt out, with a room for
// each thread; a few are computed by all threads each, in one room.
inline int64_t room_count(int64_t parts, int threads) { return parts >= 2 * threads ? threads : 1; }
// Calls function(part, room, pool) for each, with the pool that a part may use.
template <class Function>
void run_parts(ThreadPool* pool, int64_t parts, const Function& function) {
  if (room_count(parts, thread_count(pool)) == 1) {
    for (int64_t part = 0; part < parts; ++part) function(part, 0, pool);
    return;
  }
  run_tasks(pool, parts, [&](int64_t part, int thread) {
    function(part, thread, static_cast<ThreadPool*>(nullptr));
  });
}

struct QuantizedProduct {
  int64_t first_row = 0;  // of `left`
  int64_t rows = 0;
  LevelRows left;
  bool is_signed = false;  // of int8, else of uint8
  // The number of a level is (level - zero) * scale; `zero` is a level.
  float scale = 1;
  int64_t zero = 0;
  float* out = nullptr;  // row r begins at out + r * out_stride
  int64_t out_stride = 0;
  Epilogue epilogue;
  // Or null. Else results become these levels, out_levels, in place of `out`, part by part.
  const Requantization* requantization = nullptr;
  uint8_t* out_levels = nullptr;
  float* scratch = nullptr;  // quantized_scratch_size floats
};
// `threads` is 0 where results stay floats.
int64_t quantized_scratch_size(int64_t rows, int64_t depth, int64_t columns, int threads);

// How many bytes packed weights take.
int64_t packed_quantized_size(int64_t depth, int64_t columns);
// Into panels as wide as the target's registers, at a multiple of 64 bytes.
void pack_quantized(const LevelWeights& weights, int8_t* packed, ThreadPool* pool = nullptr);
// weights.right is not read; weights.factors are the scales of the columns.
void multiply_quantized(const QuantizedProduct& product, const LevelWeights& weights,
                        const int8_t* packed, ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_PRODUCTS_QUANTIZED_PRODUCTS_H
