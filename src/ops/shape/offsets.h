// Walks over strided positions that come from indices.
#ifndef PT2_OPS_SHAPE_OFFSETS_H
#define PT2_OPS_SHAPE_OFFSETS_H

#include "ops/meta.h"

namespace pt2::ops {

// Calls visit(i, offset) for every position of `sizes` in row-major order; i counts the positions,
// and offset is the position times `strides`, in elements.
template <class F>
void for_each_offset(const Sizes& sizes, const Sizes& strides, F&& visit) {
  for (int64_t size : sizes)
    if (size == 0) return;
  Sizes position(sizes.size(), 0);
  int64_t offset = 0;
  for (int64_t i = 0;; ++i) {
    visit(i, offset);
    size_t dim = sizes.size();
    for (;; --dim) {
      if (dim == 0) return;
      offset += strides[dim - 1];
      if (++position[dim - 1] < sizes[dim - 1]) break;
      offset -= strides[dim - 1] * sizes[dim - 1];
      position[dim - 1] = 0;
    }
  }
}

// The elements that advanced indexing (self[i, :, j]) selects: element (b, i, a) of the result, in
// row-major order, is before[b] + index[i] + after[a] elements from self's first element.
struct IndexPlan {
  Sizes sizes;
  std::vector<int64_t> before;
  std::vector<int64_t> index;
  std::vector<int64_t> after;

  template <class F>
  void for_each(F&& visit) const {
    int64_t i = 0;
    for (int64_t b : before)
      for (int64_t p : index)
        for (int64_t a : after) visit(i++, b + p + a);
  }
};

// Indices are int64, int32, or masks of bool or uint8, which stand for the positions of their true
// elements (ATen/native/TensorAdvancedIndexing.cpp make_info). With `wrap`, negative indices count
// from the end; all others must be in range.
Result<IndexPlan> plan_index(const Tensor& self, const std::vector<std::optional<Tensor>>& indices,
                             bool wrap = true);
// The sizes of the result for integer indices; error `unsupported` for masks, whose sizes depend on
// data.
Result<Sizes> indexed_sizes(const Tensor& self, const std::vector<std::optional<Tensor>>& indices);
// The plan for one dimension and an index of at most one dimension.
Result<IndexPlan> plan_index_dim(const Tensor& self, int64_t dim, const Tensor& index, bool wrap);

// One tensor of positions per dimension of `mask`.
std::vector<Tensor> true_positions(const Tensor& mask);

}  // namespace pt2::ops

#endif  // PT2_OPS_SHAPE_OFFSETS_H
