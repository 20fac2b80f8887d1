// Products of complex64 matrices [M, K] and [K, N] by one product of float32 matrices. The right
// matrix is read in place, a number as a pair of floats: if its rows are contiguous, it is a float
// matrix [K, 2 N]; if its columns are (`turned`), it is [2 K, N]. The left matrix is split into
// 2 M rows, and the product of floats holds all sums, which join_complex() adds in pairs.
#ifndef PT2_KERNELS_PRODUCTS_COMPLEX_PARTS_H
#define PT2_KERNELS_PRODUCTS_COMPLEX_PARTS_H

#include <cstdint>

#include "kernels/threads.h"

namespace pt2::kernels {

struct ComplexSplit {
  int64_t count = 0;  // of left matrices
  int64_t rows = 0;   // of each
  int64_t columns = 0;
  bool turned = false;
  const float* from = nullptr;  // rows of pairs, `stride` floats apart, over all matrices
  int64_t stride = 0;
  // For each matrix `rows` real and `rows` imaginary rows of as many floats as columns. If turned,
  // rows of pairs instead: (real, -imaginary), then (imaginary, real).
  float* to = nullptr;
};
void split_complex(const ComplexSplit& split, ThreadPool* pool = nullptr);

struct ComplexJoin {
  int64_t count = 0;  // of products
  int64_t rows = 0;   // of each
  int64_t columns = 0;
  bool turned = false;
  // The product of floats: for each matrix 2 `rows` rows of 2 `columns` floats, `columns` if
  // turned.
  const float* from = nullptr;
  const float* bias = nullptr;  // a pair for each column, or null
  float* to = nullptr;          // rows of pairs, without gaps
};
void join_complex(const ComplexJoin& join, ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_PRODUCTS_COMPLEX_PARTS_H
