// Products of float32 matrices, out = left right + bias. The right operand (usually the weights) is
// packed beforehand into panels as wide as the target's registers, which the product then streams.
//
// Sums run along `depth` in blocks of at most 256, which are added in order. Each result is bitwise
// the same for any number of threads and of rows and columns computed beside it.
#ifndef PT2_KERNELS_PRODUCTS_PRODUCT_H
#define PT2_KERNELS_PRODUCTS_PRODUCT_H

#include <cstdint>

#include "kernels/activation.h"
#include "kernels/threads.h"

namespace pt2::kernels {

// Applied to the sums: out = activation(sum + bias + addend).
struct Epilogue {
  const float* bias = nullptr;    // one per column, or null
  const float* addend = nullptr;  // rows x columns, or null; may be `out` itself
  int64_t addend_stride = 0;      // from row to row
  Activation activation = Activation::none;
};

// Size in floats of a packed operand of `depth` rows and `columns` columns.
int64_t packed_size(int64_t depth, int64_t columns);

// Packs rows first_depth .. first_depth + count - 1 of an operand of `depth` rows and `columns`
// columns. Element (k, n) of these rows is right[k * depth_stride + n * column_stride]: [K, N] has
// strides N, 1, and the weights [N, K] of a linear layer have strides 1, K. `packed` has
// packed_size floats and is best aligned to 64 bytes.
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

// Makes rows of the left operand that are not stored in memory (windows of images). `fill` writes
// elements first_depth .. first_depth + depth - 1 of `rows` rows, at tile[r * kTilePitch + k]. It
// may write up to 16 floats beyond each row, and must go through rows in ascending order.
inline constexpr int64_t kTileDepth = 256;
inline constexpr int64_t kTilePitch = kTileDepth + 16;
// Rows of a left operand, and some elements of each.
struct LeftPart {
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t first_depth = 0;
  int64_t depth = 0;
};
struct LeftRows {
  using Fill = void (*)(const void* source, int64_t first_row, int64_t rows, int64_t first_depth,
                        int64_t depth, float* tile);
  // Returns a part of `part` outside which all its elements are 0. The product skips these,
  // whatever they would be multiplied with (even infinity).
  using Nonzero = LeftPart (*)(const void* source, const LeftPart& part);
  Fill fill = nullptr;
  const void* source = nullptr;
  Nonzero nonzero = nullptr;  // or null if zeros are not known
};

struct Product {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t depth = 0;  // at least 0; an empty sum is 0
  // Row r begins at left + r * left_stride; its elements are contiguous. If `left` is null,
  // left_rows makes the rows.
  const float* left = nullptr;
  int64_t left_stride = 0;
  LeftRows left_rows;
  // The packed operand. If the product uses only its first rows or columns, packed_depth or
  // packed_columns is its whole size; else 0.
  const float* packed = nullptr;
  int64_t packed_depth = 0;
  int64_t packed_columns = 0;
  // Row r begins at out + r * out_stride. `out` overlaps no operand except an addend equal to it.
  float* out = nullptr;
  int64_t out_stride = 0;
  Epilogue epilogue;
  // Factors that multiply the sums before the epilogue, one per column (level_products.h). Null for
  // products of floats.
  const float* factors = nullptr;
  // For integer products (quantized_products.h): subtracted from the sums before the conversion to
  // floats, one per column and block of depth.
  const int32_t* shifts = nullptr;
};
void multiply_packed(const Product& product, ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_PRODUCTS_PRODUCT_H
