// Products of quantized rows and quantized weights, both with levels of one byte, to floats or to
// other levels. Integer sums are exact along the depth, in blocks of at most 1024, and are
// converted to floats before any other operation.
//
// Processors with dot products of four bytes (AVX512_VNNI) use them, other x86 processors multiply
// pairs of int16, all others multiply floats.
#ifndef PT2_KERNELS_PRODUCTS_QUANTIZED_PRODUCTS_H
#define PT2_KERNELS_PRODUCTS_QUANTIZED_PRODUCTS_H

#include <cstdint>

#include "kernels/dtypes/levels.h"
#include "kernels/products/level_products.h"
#include "kernels/products/product.h"
#include "kernels/threads.h"

namespace pt2::kernels {

// A source of rows of levels. `copy` copies elements first_depth .. first_depth + depth - 1 of
// `rows` rows, row r to `to` + r * pitch.
struct LevelRows {
  using Copy = void (*)(const void* source, int64_t first_row, int64_t rows, int64_t first_depth,
                        int64_t depth, uint8_t* to, int64_t pitch);
  Copy copy = nullptr;
  const void* source = nullptr;
};
// Rows in memory; row r begins at data + r * stride.
struct LevelMatrix {
  const uint8_t* data = nullptr;
  int64_t stride = 0;
  // The result is valid for as long as the matrix.
  LevelRows rows() const;
};

// Number of scratch rooms for parts whose float results are converted to levels. Many parts are
// distributed over the threads, with a room for each thread. Few parts are computed one after
// another, each by all threads, in one room.
inline int64_t room_count(int64_t parts, int threads) { return parts >= 2 * threads ? threads : 1; }
// Calls function(part, room, pool) for each part; `pool` is what the part may use (null: one
// thread).
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
  bool is_signed = false;  // levels are int8, else uint8
  // A level stands for the number (level - zero) * scale; `zero` is a level.
  float scale = 1;
  int64_t zero = 0;
  float* out = nullptr;  // row r begins at out + r * out_stride
  int64_t out_stride = 0;
  Epilogue epilogue;
  // If not null, results are converted part by part to levels in `out_levels`, and `out` is not
  // used.
  const Requantization* requantization = nullptr;
  uint8_t* out_levels = nullptr;
  float* scratch = nullptr;  // quantized_scratch_size floats
};
// `threads` is 0 if results stay floats.
int64_t quantized_scratch_size(int64_t rows, int64_t depth, int64_t columns, int threads);

// Size of the packed weights in bytes.
int64_t packed_quantized_size(int64_t depth, int64_t columns);
// Packs weights into panels as wide as the target's registers. `packed` is at a multiple of 64
// bytes.
void pack_quantized(const LevelWeights& weights, int8_t* packed, ThreadPool* pool = nullptr);
// Does not read weights.right. weights.factors are the scales of the columns.
void multiply_quantized(const QuantizedProduct& product, const LevelWeights& weights,
                        const int8_t* packed, ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_PRODUCTS_QUANTIZED_PRODUCTS_H
