// Softmax of float32 or double over a dimension that is not contiguous, such as the channels of
// images in PyTorch's order. That dimension runs along columns; as many columns as fill a few
// vectors are computed at a time.
#ifndef PT2_KERNELS_COLUMNS_H
#define PT2_KERNELS_COLUMNS_H

#include <cstdint>

#include "kernels/threads.h"

namespace pt2::kernels {

// Contiguous matrices [rows, columns], one after another without gaps.
struct ColumnShape {
  int64_t matrices = 1;
  int64_t rows = 0;
  int64_t columns = 0;
};

// exp(x) / sum of exp(x) over each column, or its logarithm, with the conventions of softmax_rows.
// `out` may be `in`.
void softmax_columns(bool logarithm, const ColumnShape& shape, const float* in, float* out,
                     ThreadPool* pool = nullptr);
void softmax_columns(bool logarithm, const ColumnShape& shape, const double* in, double* out,
                     ThreadPool* pool = nullptr);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_COLUMNS_H
