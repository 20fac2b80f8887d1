#include "ops/reduction/reduce.h"

#include <algorithm>

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

}  // namespace pt2::ops
