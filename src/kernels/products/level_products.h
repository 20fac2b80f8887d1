// Products with int8 weights, the levels of a quantized type, which are converted to floats in
// registers: memory delivers a quarter of the bytes of float32. Each column of sums is multiplied
// by a factor, its scale, before anything is added.
#ifndef PT2_KERNELS_PRODUCTS_LEVEL_PRODUCTS_H
#define PT2_KERNELS_PRODUCTS_LEVEL_PRODUCTS_H

#include <cstdint>

#include "kernels/products/row_products.h"
#include "kernels/threads.h"

namespace pt2::kernels {

// Element (k, n) of the weights is right[n * column_stride + k * depth_stride].
struct LevelWeights {
  int64_t depth = 0;
  int64_t columns = 0;
  const int8_t* right = nullptr;
  int64_t depth_stride = 1;
  int64_t column_stride = 0;
  const float* factors = nullptr;  // one per column, or null
};

// Size of the packed weights in levels.
int64_t packed_level_size(int64_t depth, int64_t columns);
// Packs weights into panels as wide as the target's registers. `packed` is best aligned to 64
// bytes.
void pack_levels(const LevelWeights& weights, int8_t* packed, ThreadPool* pool = nullptr);
// Does not read weights.right. Columns, depth and the packed operand are those of `weights`.
void multiply_packed_levels(const Product& product, const LevelWeights& weights,
                            const int8_t* packed, ThreadPool* pool = nullptr);

// Multiplies few rows with unpacked weights, one of whose strides is 1. Columns, depth and the
// right operand are those of `weights`. Worthwhile up to four rows.
void multiply_level_rows(const RowProduct& product, const LevelWeights& weights,
                         ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_PRODUCTS_LEVEL_PRODUCTS_H
