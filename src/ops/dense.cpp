#include "ops/dense.h"

#include <algorithm>

#include "ops/loops.h"

namespace pt2::ops {

Tensor to_dense(const Tensor& tensor, Dtype dtype, Dtype storage) {
  if (tensor.dtype() == storage && dtype == storage) return tensor.contiguous();
  Tensor dense = Tensor::zeros(storage, tensor.sizes());
  if (dtype == tensor.dtype() || dtype == storage) {
    copy_elements(dense, tensor);
    return dense;
  }
  Tensor rounded = Tensor::zeros(dtype, tensor.sizes());
  copy_elements(rounded, tensor);
  copy_elements(dense, rounded);
  return dense;
}

Tensor dense_result(const Tensor& out, Dtype storage) {
  if (out.dtype() == storage && out.is_contiguous()) return out;
  return Tensor::zeros(storage, out.sizes());
}

void finish_dense(Tensor& out, const Tensor& dense) {
  if (out.storage() != dense.storage()) copy_elements(out, dense);
}

Tensor dims_last(const Tensor& tensor, std::span<const int64_t> dims) {
  Sizes sizes;
  Sizes strides;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
    if (std::ranges::find(dims, dim) != dims.end()) continue;
    sizes.push_back(tensor.size(dim));
    strides.push_back(tensor.stride(dim));
  }
  for (int64_t dim : dims) {
    sizes.push_back(tensor.size(dim));
    strides.push_back(tensor.stride(dim));
  }
  return tensor.with_view(std::move(sizes), std::move(strides), tensor.storage_offset());
}

}  // namespace pt2::ops
