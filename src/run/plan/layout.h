// Tensors of float32 as kernels take them: images channels last, rows side by side.
#ifndef PT2_RUN_PLAN_LAYOUT_H
#define PT2_RUN_PLAN_LAYOUT_H

#include <optional>
#include <span>
#include <vector>

#include "kernels/images/convolution.h"
#include "kernels/tiles.h"
#include "run/plan/frame.h"

namespace pt2::run {

// Strides of a dense tensor [N, C, spatial...] whose channels lie side by side.
Sizes channels_last_strides(const Sizes& sizes);
// Whether a tensor [N, C, spatial...] lies so without gaps.
bool is_channels_last(const Tensor& tensor);

// A dimension of `rank`, counted from the end where it is negative; nothing where there is none of
// that number. PyTorch gives tensors without dimensions one, which steps leave to the operators.
inline std::optional<size_t> wrapped_dim(int64_t dim, int64_t rank) {
  if (dim < -rank || dim >= rank) return std::nullopt;
  return static_cast<size_t>(dim < 0 ? dim + rank : dim);
}

// Whether the elements fill one block of memory, in whatever order.
bool fills_block(const Tensor& tensor);

// A new tensor [N, C, spatial...] that lies channels last. Throws std::bad_alloc for sizes that no
// memory holds.
Tensor make_images(Frame& frame, const Sizes& sizes, Dtype dtype = Dtype::float32);

// A tensor in row-major order, itself if it is; the copy is fast for images that lie channels last,
// and for matrices that are turned.
Tensor to_row_major(Frame& frame, const Tensor& tensor);

// How many windows fit that lie `stride` apart; rounded up, the last one begins inside the image or
// the padding before it (ATen/native/Pool.h pooling_output_shape_pad_lr). 0 if none fits.
int64_t window_count(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t padding,
                     bool rounds_up);

// Whether sizes, strides and the like of windows are so small that sizes computed of them cannot
// overflow; no real program comes near the bound.
bool are_window_sizes(const Sizes& numbers, int64_t least);

// A value as dense images, channels last; the frame's own value becomes that, too, so that others
// who need it find it.
Tensor channels_last_value(Frame& frame, const BoundArgument& argument);
Tensor channels_last_value(Frame& frame, ValueId id);

// The tensor as `rows` of its last dimension, `stride` apart, each with its elements side by side;
// nothing where it does not lie so.
struct RowsOf {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t stride = 0;
};
std::optional<RowsOf> rows_of(const Tensor& tensor);

// How tiles walk through a result that lies densely, and through tensors of their elements that
// broadcast to its sizes: dimensions in the order of its strides, those that lie behind one another
// joined. Nothing where these are too many.
struct TileLoops {
  kernels::TileSizes sizes{1, 1, 1, 1, 1};
  std::vector<kernels::TileOperand> operands;
};
std::optional<TileLoops> tile_loops(const Sizes& sizes, const Sizes& strides,
                                    std::span<const Tensor> tensors);
void launch_tiles(Frame& frame, const TileLoops& loops,
                  const std::vector<kernels::TileInstruction>& instructions, Tensor& out);
// The elements of a dtype as tiles know them; nothing for others.
std::optional<kernels::TileElement> tile_element(Dtype dtype);
// The tensor's stride along a dimension of the `rank` that it broadcasts to; 0 where it has one
// element there.
int64_t stride_along(const Tensor& tensor, size_t dim, size_t rank);

// Whether kernels can read the elements as numbers: a file may place a weight at any address.
inline bool is_aligned(const Tensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.raw_data()) %
             static_cast<uintptr_t>(dtype_size(tensor.dtype())) ==
         0;
}

// Whether the tensor exists, has elements and is of the dtype.
inline bool has_elements(const Tensor* tensor, Dtype dtype) {
  return tensor != nullptr && tensor->defined() && tensor->dtype() == dtype &&
         tensor->numel() > 0 && is_aligned(*tensor);
}
inline bool is_float(const Tensor* tensor) { return has_elements(tensor, Dtype::float32); }

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_LAYOUT_H
