// Products with weights of float16 or bfloat16, which become floats in registers, so that memory
// gives half as many bytes as for float32. Sums are made in float32, as those of product.h and
// row_products.h.
//
// Processors with instructions for dot products of bfloat16 take them: two products at a time, not
// rounded before they are added, with numbers below 2^-126 taken for 0.
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
  const float* bias = nullptr;  // one for each column, or null
  float* out = nullptr;         // row r at out + r * out_stride
  int64_t out_stride = 0;
};

// How many halves packed weights take.
int64_t packed_half_size(int64_t depth, int64_t columns);
// Into panels as wide as the target's registers, for best speed at a multiple of 64 bytes.
void pack_halves(const HalfWeights& weights, uint16_t* packed, ThreadPool* pool = nullptr);
// weights.right is not read.
void multiply_packed_halves(const HalfProduct& product, const HalfWeights& weights,
                            const uint16_t* packed, ThreadPool* pool = nullptr);

// Of few rows with weights as they lie, one of whose strides is 1: columns, depth and what stands
// for the right operand are those of `weights`. product.left are the rows as floats, `rows` as
// halves with the same stride, or null; the target takes what it likes. Worth it up to four rows.
void multiply_half_rows(const RowProduct& product, const HalfWeights& weights, const uint16_t* rows,
                        ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_PRODUCTS_HALF_PRODUCTS_H
