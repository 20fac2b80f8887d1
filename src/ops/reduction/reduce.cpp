#include "ops/reduction/reduce.h"

#include <algorithm>

#include "kernels/lines.h"

namespace pt2::ops {

Sizes reduced_sizes(const Tensor& self, const Sizes& dims, bool keepdim) {
  Sizes sizes;
  for (int64_t dim = 0; dim < self.dim(); ++dim) {
    if (std::ranges::find(dims, dim) == dims.end())
      sizes.push_back(self.size(dim));
    else if (keepdim)
      sizes.push_back(1);
  }
  return sizes;
}

Result<Sizes> one_dim(const std::optional<int64_t>& dim, int64_t rank) {
  return wrap_dims(dim ? Sizes{*dim} : Sizes{}, rank);
}

Result<void> check_not_empty(const Tensor& self, const Sizes& dims) {
  for (int64_t dim : dims)
    if (self.size(dim) == 0)
      return operator_error("self: found " + self.type_text() + ", expected elements along dim " +
                            std::to_string(dim));
  return {};
}

bool reduce_floats(kernels::Reduction reduction, Tensor& out, const Tensor& self,
                   const Sizes& dims) {
  if (self.dtype() != Dtype::float32 || out.dtype() != Dtype::float32 || !self.is_contiguous() ||
      !out.is_contiguous() || self.numel() == 0 || dims.empty())
    return false;
  const auto [first, last] = std::ranges::minmax(dims);
  if (last - first + 1 != static_cast<int64_t>(dims.size())) return false;
  int64_t before = 1, reduced = 1, after = 1;
  for (int64_t dim = 0; dim < self.dim(); ++dim)
    (dim < first ? before : dim <= last ? reduced : after) *= self.size(dim);
  const float* in = self.data<float>();
  float* result = out.data<float>();
  if (after == 1) {
    kernels::reduce_rows(reduction, {before, reduced, reduced, 1}, in, result);
    return true;
  }
  for (int64_t i = 0; i < before; ++i)
    kernels::reduce_columns(reduction, {reduced, after, after, 1}, in + i * reduced * after,
                            result + i * after);
  return true;
}

}  // namespace pt2::ops
