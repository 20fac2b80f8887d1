// Products with weights of float16 or bfloat16, which are converted to floats in registers: memory
// delivers half as many bytes as for float32. Sums are computed in float32, as those of product.h
// and row_products.h.
//
// Processors with dot products of bfloat16 use them: two products at a time, not rounded before
// they are added, with numbers below 2^-126 treated as 0.
#ifndef PT2_KERNELS_PRODUCTS_HALF_PRODUCTS_H
#define PT2_KERNELS_PRODUCTS_HALF_PRODUCTS_H

#include <cstdint>

#include "kernels/products/row_products.h"
#include "kernels/threads.h"
#include "kernels/tiles.h"

namespace pt2::kernels {

// Element (k, n) of the weights is right[n * column_stride + k * depth_stride].
struct HalfWeights {
  Rounding type = Rounding::bfloat16;  // or half
  int64_t depth = 0;
  int64_t columns = 0;
  const uint16_t* right = nullptr;
  int64_t depth_stride = 1;
  int64_t column_stride = 0;
};

struct HalfProduct {
  int64_t rows = 0;
  const uint16_t* left = nullptr;  // row r at left + r * left_stride, of the weights' type
  int64_t left_stride = 0;
  const float* bias = nullptr;  // one per column, or null
  float* out = nullptr;         // row r at out + r * out_stride
  int64_t out_stride = 0;
};

// Size of the packed weights in halves.
int64_t packed_half_size(int64_t depth, int64_t columns);
// Packs weights into panels as wide as the target's registers. `packed` is best aligned to 64
// bytes.
void pack_halves(const HalfWeights& weights, uint16_t* packed, ThreadPool* pool = nullptr);
// Does not read weights.right.
void multiply_packed_halves(const HalfProduct& product, const HalfWeights& weights,
                            const uint16_t* packed, ThreadPool* pool = nullptr);

// Row r begins at data + r * stride.
struct HalfRows {
  const uint16_t* data = nullptr;
  int64_t stride = 0;
};

// Multiplies few rows with unpacked weights, one of whose strides is 1. Columns, depth and the
// right operand are those of `weights`. product.left holds the rows as floats; `rows` holds them as
// halves, or is null. The target reads one of the two. Worthwhile up to four rows.
void multiply_half_rows(const RowProduct& product, const HalfWeights& weights, const HalfRows& rows,
                        ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_PRODUCTS_HALF_PRODUCTS_H
