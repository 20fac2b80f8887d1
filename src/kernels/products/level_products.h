// Products with weights of int8, the levels of a quantized type, which become floats in registers:
// memory gives a quarter of the bytes of float32. Each column of sums is multiplied with a factor,
// its scale, before anything is added.
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
  const float* factors = nullptr;  // one for each column, or null
};

// How many levels packed weights take.
int64_t packed_level_size(int64_t depth, int64_t columns);
// Into panels as wide as the target's registers, for best speed at a multiple of 64 bytes.
void pack_levels(const LevelWeights& weights, int8_t* packed, ThreadPool* pool = nullptr);
// weights.right is not read; columns, depth and what stands for the packed operand are those of
// `weights`.
void multiply_packed_levels(const Product& product, const LevelWeights& weights,
                            const int8_t* packed, ThreadPool* pool = nullptr);

// Of few rows with weights as they lie, one of whose strides is 1: columns, depth and what stands
// for the right operand are those of `weights`. Worth it up to four rows.
void multiply_level_rows(const RowProduct& product, const LevelWeights& weights,
                         ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_PRODUCTS_LEVEL_PRODUCTS_H
