// Functions of whole rows of float32 or double: reductions over the last dimension, softmax,
// normalization. The elements of a row are contiguous; rows have any stride. `out` may be `in` with
// equal strides. Blocks of 512 elements are summed in several partial sums; the sums of blocks are
// added in double.
#ifndef PT2_KERNELS_ROWS_H
#define PT2_KERNELS_ROWS_H

#include <cstdint>

#include "kernels/threads.h"

namespace pt2::kernels {

// Rows to read, and rows or single results to write.
struct RowShape {
  int64_t rows = 1;
  int64_t columns = 0;
  int64_t in_stride = 0;   // from row to row
  int64_t out_stride = 0;  // from row to row, or from result to result
};

enum class Reduction : uint8_t { sum, mean, maximum, minimum };

// Writes one result per row. Maximum and minimum need at least one column; they are NaN if an
// element is NaN.
void reduce_rows(Reduction reduction, const RowShape& shape, const float* in, float* out,
                 ThreadPool* pool = nullptr);

// exp(x) / sum of exp(x), or its logarithm. A row of -inf gives NaN, as in PyTorch.
void softmax_rows(bool logarithm, const RowShape& shape, const float* in, float* out,
                  ThreadPool* pool = nullptr);
void softmax_rows(bool logarithm, const RowShape& shape, const double* in, double* out,
                  ThreadPool* pool = nullptr);

// Returns the sum of exp(x - shift) over one row.
double sum_of_exponentials(const float* row, int64_t columns, float shift);
double sum_of_exponentials(const double* row, int64_t columns, double shift);

// (x - mean) / sqrt(variance + epsilon) * weight + bias over each row. weight and bias have one
// number per column, or are null.
void layer_norm_rows(const RowShape& shape, const float* in, const float* weight, const float* bias,
                     double epsilon, float* out, ThreadPool* pool = nullptr);

// x / sqrt(mean of x^2 + epsilon) * weight.
void rms_norm_rows(const RowShape& shape, const float* in, const float* weight, double epsilon,
                   float* out, ThreadPool* pool = nullptr);

// For normalizations that need the statistics or use other parameters: the mean of one row, and the
// sum of squared deviations from it.
struct RowMoments {
  double mean = 0;
  double squares = 0;
};
RowMoments row_moments(const float* row, int64_t columns);
// (x - center) * factor * weight + bias; weight and bias may be null.
void normalize_row(const float* in, int64_t columns, float center, float factor,
                   const float* weight, const float* bias, float* out);
// x * factor + shift.
void scale_row(const float* in, int64_t columns, float factor, float shift, float* out);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_ROWS_H
