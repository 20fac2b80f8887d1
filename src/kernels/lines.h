// Weighted sums of float32 lines and of single elements: used by resampling, embedding bags and
// reductions over leading dimensions.
#ifndef PT2_KERNELS_LINES_H
#define PT2_KERNELS_LINES_H

#include <cstdint>

#include "kernels/rows.h"

namespace pt2::kernels {

// out[i] = the sum over k of weights[k] * lines[k][i], in the order of k. Null weights mean ones.
struct Lines {
  const float* const* lines = nullptr;
  const float* weights = nullptr;
  int64_t lines_count = 0;
  int64_t length = 0;
};
void sum_lines(const Lines& sum, float* out);

// out[i] = the sum over k of weights[k * pitch + i] * plane[offsets[k * pitch + i]]. Elements at
// negative offsets count as 0. `plane` has at least one element.
struct Taps {
  const int32_t* offsets = nullptr;
  const float* weights = nullptr;
  int64_t taps = 0;
  int64_t pitch = 0;
};
void sum_taps(const Taps& taps, const float* plane, int64_t count, float* out);

// Writes one result per column of rows that are in_stride apart; out_stride is the stride of the
// results. Blocks of 32 rows are summed in float, the sums of blocks in double. Otherwise as
// reduce_rows.
void reduce_columns(Reduction reduction, const RowShape& shape, const float* in, float* out);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_LINES_H
