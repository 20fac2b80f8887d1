// Weighted sums of float32 lines and of single elements: what resampling, bags of embeddings and
// reductions over leading dimensions consist of.
#ifndef PT2_KERNELS_LINES_H
#define PT2_KERNELS_LINES_H

#include <cstdint>

#include "kernels/rows.h"

namespace pt2::kernels {

// out[i] = the sum over k of weights[k] * lines[k][i], in the order of k. Null weights are ones.
struct Lines {
  const float* const* lines = nullptr;
  const float* weights = nullptr;
  int64_t lines_count = 0;
  int64_t length = 0;
};
void sum_lines(const Lines& sum, float* out);

// out[i] = the sum over k of weights[k * pitch + i] * plane[offsets[k * pitch + i]]. Elements at
// negative offsets are 0. `plane` has an element.
struct Taps {
  const int32_t* offsets = nullptr;
  const float* weights = nullptr;
  int64_t taps = 0;
  int64_t pitch = 0;
};
void sum_taps(const Taps& taps, const float* plane, int64_t count, float* out);

// One result for each column of rows that lie in_stride apart. Sums are made in blocks of 32 rows,
// and the blocks in double; out_stride is that of the results. Else as reduce_rows.
void reduce_columns(Reduction reduction, const RowShape& shape, const float* in, float* out);

}  // namespace pt2::kernels

#endif  // PT2_KERNELS_LINES_H
