// Tensors of float32 as kernels take them: channels-last images, contiguous rows.
#ifndef PT2_RUN_PLAN_LAYOUT_H
#define PT2_RUN_PLAN_LAYOUT_H

#include <optional>
#include <span>
#include <vector>

#include "kernels/images/convolution.h"
#include "kernels/tiles.h"
#include "run/plan/frame.h"

namespace pt2::run {

// Returns the strides of a dense channels-last tensor [N, C, spatial...].
Sizes channels_last_strides(const Sizes& sizes);
// True if a tensor [N, C, spatial...] is channels last without gaps.
bool is_channels_last(const Tensor& tensor);

// Returns the index of dimension `dim` of `rank`, counted from the end if it is negative; nullopt
// if it is out of range. PyTorch gives 0-dim tensors one dimension, which steps leave to the
// operators.
inline std::optional<size_t> wrapped_dim(int64_t dim, int64_t rank) {
  if (dim < -rank || dim >= rank) return std::nullopt;
  return static_cast<size_t>(dim < 0 ? dim + rank : dim);
}

// True if the elements fill one block of memory, in any order.
bool fills_block(const Tensor& tensor);

// Returns a new channels-last tensor [N, C, spatial...]. Throws std::bad_alloc for sizes that
// exceed all memory.
Tensor make_images(Frame& frame, const Sizes& sizes, Dtype dtype = Dtype::float32);

// Returns the tensor in row-major order, itself if it is row-major. The copy is fast for
// channels-last images and for transposed matrices.
Tensor to_row_major(Frame& frame, const Tensor& tensor);
// Returns a tensor whose dimensions lie in memory in this order, the outermost first, without gaps:
// itself if it lies so.
Tensor to_order(Frame& frame, const Tensor& tensor, std::span<const size_t> order);
// Gives a kernel's result the memory order that the program records. A node writes to the result,
// so its views must share its memory, and exist for its strides.
void lay_as_recorded(Frame& frame, ValueId id);

// Views of complex numbers as real ones: with a last dimension for the real and the imaginary part,
// or one of the two alone.
Tensor parts_of(const Tensor& numbers);
Tensor part_of(const Tensor& numbers, bool imaginary);

// Returns how many windows `stride` apart fit; 0 if none fits. With `rounds_up`, the last window
// begins inside the image or the padding before it (ATen/native/Pool.h
// pooling_output_shape_pad_lr).
int64_t window_count(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t padding,
                     bool rounds_up);

// True if sizes, strides and the like of windows are at least `least`, and so small that sizes
// computed from them cannot overflow. No real program comes near the bound.
bool are_window_sizes(const Sizes& numbers, int64_t least);

// Returns a value as dense channels-last images. They replace the frame's value where it may be
// rearranged, so that later users find them.
Tensor channels_last_value(Frame& frame, const BoundArgument& argument);
Tensor channels_last_value(Frame& frame, ValueId id);

// The tensor as `rows` of its last dimension, `stride` apart, each row contiguous. rows_of()
// returns nullopt for other layouts.
struct RowsOf {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t stride = 0;
};
std::optional<RowsOf> rows_of(const Tensor& tensor);

// Loops of tiles over a dense result and over operands that broadcast to its sizes: dimensions in
// the order of the result's strides, adjacent ones merged. tile_loops() returns nullopt if too many
// dimensions remain.
struct TileLoops {
  kernels::TileSizes sizes{1, 1, 1, 1, 1};
  std::vector<kernels::TileOperand> operands;
};
std::optional<TileLoops> tile_loops(const Sizes& sizes, const Sizes& strides,
                                    std::span<const Tensor> tensors);
void launch_tiles(Frame& frame, const TileLoops& loops,
                  const std::vector<kernels::TileInstruction>& instructions, Tensor& out);
// Returns the tile element of a dtype; nullopt if tiles do not take the dtype.
std::optional<kernels::TileElement> tile_element(Dtype dtype);
// Returns the tensor's stride along a dimension of the `rank` that it broadcasts to; 0 if its size
// there is 1.
int64_t stride_along(const Tensor& tensor, size_t dim, size_t rank);

// True if kernels can read the elements as numbers. A file may place a weight at an unaligned
// address.
inline bool is_aligned(const Tensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.raw_data()) %
             static_cast<uintptr_t>(dtype_size(tensor.dtype())) ==
         0;
}

// True if the tensor exists, is not empty, has the dtype and is aligned.
inline bool has_elements(const Tensor* tensor, Dtype dtype) {
  return tensor != nullptr && tensor->defined() && tensor->dtype() == dtype &&
         tensor->numel() > 0 && is_aligned(*tensor);
}
inline bool is_float(const Tensor* tensor) { return has_elements(tensor, Dtype::float32); }

}  // namespace pt2::run

#endif  // PT2_RUN_PLAN_LAYOUT_H
