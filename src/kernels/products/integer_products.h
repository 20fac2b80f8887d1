// Products of int8 matrices, or of uint8 with int8, to int32: exact modulo 2^32, as PyTorch's
// _int_mm.
#ifndef PT2_KERNELS_PRODUCTS_INTEGER_PRODUCTS_H
#define PT2_KERNELS_PRODUCTS_INTEGER_PRODUCTS_H

#include <cstdint>

#include "kernels/threads.h"

namespace pt2::kernels {

struct IntegerProduct {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t depth = 0;
  // Row r begins at left + r * left_stride; uint8 if is_unsigned, else int8.
  const void* left = nullptr;
  bool is_unsigned = false;
  int64_t left_stride = 0;
  const int8_t* right = nullptr;  // column n at right + n * right_stride
  int64_t right_stride = 0;
  int32_t* out = nullptr;  // row r at out + r * out_stride
  int64_t out_stride = 0;
};
void multiply_integers(const IntegerProduct& product, ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_PRODUCTS_INTEGER_PRODUCTS_H
