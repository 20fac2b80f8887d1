// Iterates over strided positions, and over positions that index tensors give.
#ifndef PT2_OPS_SHAPE_OFFSETS_H
#define PT2_OPS_SHAPE_OFFSETS_H

#include "base/memory_account.h"
#include "ops/meta.h"

namespace pt2::ops {

// Calls visit(i, offset) for every position of `sizes` in row-major order. i is the number of the
// position; offset is the position times `strides`, in elements.
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

// As for_each_offset, one line along the last dim at a time: calls visit(i, offset, count, stride)
// for `count` positions, starting with number i, whose offsets are `stride` apart.
template <class F>
void for_each_line(const Sizes& sizes, const Sizes& strides, F&& visit) {
  if (sizes.empty()) return visit(int64_t{0}, int64_t{0}, int64_t{1}, int64_t{0});
  const int64_t count = sizes.back();
  if (count == 0) return;
  for_each_offset(
      Sizes(sizes.begin(), sizes.end() - 1), Sizes(strides.begin(), strides.end() - 1),
      [&](int64_t i, int64_t offset) { visit(i * count, offset, count, strides.back()); });
}

// The elements that advanced indexing (self[i, :, j]) selects. Line (b, i, a) of the result, in
// row-major order, begins before[b] + index[i] + after[a] elements after self's first element. Its
// `line` elements are adjacent.
struct IndexPlan {
  Sizes sizes;
  Scratch<int64_t> before;
  Scratch<int64_t> index;
  Scratch<int64_t> after;
  int64_t line = 1;

  // Calls visit(position in the result, position in self) for each line.
  template <class F>
  void for_each(F&& visit) const {
    int64_t i = 0;
    for (int64_t b : before)
      for (int64_t p : index)
        for (int64_t a : after) {
          visit(i, b + p + a);
          i += line;
        }
  }
};

// Indices are int64, int32, or masks of bool or uint8, which stand for the positions of their true
// elements (ATen/native/TensorAdvancedIndexing.cpp make_info). With `wrap`, negative indices count
// from the end; all others must be in range.
Result<IndexPlan> plan_index(const Tensor& self, const std::vector<std::optional<Tensor>>& indices,
                             bool wrap = true);
// Returns the sizes of the result for integer indices. Error `unsupported` for masks, whose sizes
// depend on elements.
Result<Sizes> indexed_sizes(const Tensor& self, const std::vector<std::optional<Tensor>>& indices);
// Returns the strides of the result; empty if it is row-major. They follow the strides of self
// where TensorIterator keeps them.
Result<Sizes> indexed_strides(const Tensor& self,
                              const std::vector<std::optional<Tensor>>& indices);
// Returns the plan for one dimension and an index of at most one dimension.
Result<IndexPlan> plan_index_dim(const Tensor& self, int64_t dim, const Tensor& index, bool wrap);

// Returns one byte per element, row-major: 1 if it is true, else 0.
Scratch<uint8_t> true_flags(const Tensor& mask);
int64_t count_of(const Scratch<uint8_t>& flags);
// Writes the positions of the true elements: a column for each dimension of `sizes`, one after
// another.
void write_positions(const Sizes& sizes, const Scratch<uint8_t>& flags, int64_t count,
                     int64_t* columns);
// Returns one tensor of positions per dimension of `mask`.
std::vector<Tensor> true_positions(const Tensor& mask);

}  // namespace pt2::ops

#endif  // PT2_OPS_SHAPE_OFFSETS_H
