// Products of float32 matrices, out = left right + bias, whose right operand (the weights, as a
// rule) is packed before: into panels as wide as the target's registers, which the product then
// streams.
//
// Sums run along `depth` in blocks of at most 256, which are added in order; one result is the same
// to the bit for any number of threads and however many rows and columns are computed beside it.
#ifndef PT2_KERNELS_PRODUCTS_PRODUCT_H
#define PT2_KERNELS_PRODUCTS_PRODUCT_H

#include <cstdint>

#include "kernels/activation.h"
#include "kernels/threads.h"

namespace pt2::kernels {

// What follows the sums: out = activation(sum + bias + addend).
struct Epilogue {
  const float* bias = nullptr;    // one for each column, or null
  const float* addend = nullptr;  // rows x columns, or null; may be `out` itself
  int64_t addend_stride = 0;      // from row to row
  Activation activation = Activation::none;
};

// How many floats a packed operand of `depth` rows and `columns` columns takes.
int64_t packed_size(int64_t depth, int64_t columns);

// Packs rows first_depth .. first_depth + count - 1 of an operand of `depth` rows and `columns`
// columns. Element (k, n) of these is right[k * depth_stride + n * column_stride], so both [K, N]
// (strides N, 1) and the weights [N, K] of a linear layer (strides 1, K) are packed in place.
// `packed` has packed_size floats, for best speed at a multiple of 64 bytes.
struct Packing {
  int64_t depth = 0;
  int64_t columns = 0;
  int64_t depth_stride = 0;
  int64_t column_stride = 0;
  int64_t first_depth = 0;
  int64_t count = 0;  // 0 for all
};
void pack_right(const float* right, const Packing& packing, float* packed,
                ThreadPool* pool = nullptr);

// Rows of the left operand are made where they do not lie ready (windows of images). Writes
// elements first_depth .. first_depth + depth - 1 of `rows` rows, at tile[r * kTilePitch + k]. It
// may write up to 16 floats more after each row, in ascending order of rows.
inline constexpr int64_t kTileDepth = 256;
inline constexpr int64_t kTilePitch = kTileDepth + 16;
struct LeftRows {
  using Fill = void (*)(const void* source, int64_t first_row, int64_t rows, int64_t first_depth,
                        int64_t depth, float* tile);
  Fill fill = nullptr;
  const void* source = nullptr;
};

struct Product {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t depth = 0;  // at least 0: the sum of nothing is 0
  // Row r begins at left + r * left_stride, its elements side by side; or, if left is null, what
  // left_rows makes.
  const float* left = nullptr;
  int64_t left_stride = 0;
  LeftRows left_rows;
  // Its size if the product takes only its first rows or columns; 0 if all.
  const float* packed = nullptr;
  int64_t packed_depth = 0;
  int64_t packed_columns = 0;
  // Row r begins at out + r * out_stride. `out` overlaps no operand but an addend equal to it.
  float* out = nullptr;
  int64_t out_stride = 0;
  Epilogue epilogue;
  // What sums are multiplied with before the epilogue, one for each column: level_products.h says
  // it, and products of floats have none.
  const float* factors = nullptr;
  // Of whole numbers (quantized_products.h): what is taken from their sums, for each column of each
  // block of depth, before they become floats.
  const int32_t* shifts = nullptr;
};
void multiply_packed(const Product& product, ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_PRODUCTS_PRODUCT_H
