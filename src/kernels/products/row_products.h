// Products of few float32 rows with an unpacked operand, which is read once: decoding a token with
// mapped weights. Worthwhile up to four rows; more rows work, but are slower than multiply_packed.
#ifndef PT2_KERNELS_PRODUCTS_ROW_PRODUCTS_H
#define PT2_KERNELS_PRODUCTS_ROW_PRODUCTS_H

#include <cstdint>

#include "kernels/products/product.h"
#include "kernels/threads.h"

namespace pt2::kernels {

struct RowProduct {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t depth = 0;
  const float* left = nullptr;  // row r at left + r * left_stride
  int64_t left_stride = 0;
  // Element (k, n) is right[n * right_stride + k] if `turned` (the weights [N, K] of a linear
  // layer), right[k * right_stride + n] if not.
  const float* right = nullptr;
  int64_t right_stride = 0;
  bool turned = true;
  float* out = nullptr;  // row r at out + r * out_stride; overlaps only an equal addend
  int64_t out_stride = 0;
  Epilogue epilogue;
  const float* factors = nullptr;  // as Product::factors
};
void multiply_rows(const RowProduct& product, ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_PRODUCTS_ROW_PRODUCTS_H
