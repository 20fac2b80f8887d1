// Shared by reductions: the sizes of their results, and the iteration over the rows that they
// reduce.
#ifndef PT2_OPS_REDUCTION_REDUCE_H
#define PT2_OPS_REDUCTION_REDUCE_H

#include <optional>

#include "kernels/rows.h"
#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/loops.h"

namespace pt2::ops {

// Returns the sizes without `dims` (wrapped), or with 1 in their place.
Sizes reduced_sizes(const Tensor& self, const Sizes& dims, bool keepdim);
// Returns the dims of a reduction as a list: the given dim, or all.
Result<Sizes> one_dim(const std::optional<int64_t>& dim, int64_t rank);
// Error for an empty reduction without an identity, such as a maximum.
Result<void> check_not_empty(const Tensor& self, const Sizes& dims);

// Sets out[row] = function(values, count) for every row along `dims`. The elements, cast to
// `dtype`, are of type C; the results are of type R.
template <class C, class R, class F>
void reduce_rows(Tensor& out, const Tensor& self, const Sizes& dims, Dtype dtype, F&& function) {
  int64_t length = 1;
  for (int64_t dim : dims) length *= self.size(dim);
  const Input<C> rows(dims_last(self, dims), dtype);
  Output<R> results(out);
  for (int64_t row = 0; row < out.numel(); ++row)
    results[row] = static_cast<R>(function(rows.data() + row * length, length));
}

// Reduces a dense float32 tensor by kernels, or sums the parts of a complex64 one. False for
// another dtype, or if the kept dimensions are not in memory order. The maximum and the minimum of
// complex numbers are not defined.
bool reduce_floats(kernels::Reduction reduction, Tensor& out, const Tensor& self,
                   const Sizes& dims);

}  // namespace pt2::ops

#endif  // PT2_OPS_REDUCTION_REDUCE_H
