// The windows of a convolution: the positions that they join, and the windows as an operand of a
// matrix product, gathered while packing.
#ifndef PT2_OPS_LINEAR_CONVOLUTION_WINDOW_OPERAND_H
#define PT2_OPS_LINEAR_CONVOLUTION_WINDOW_OPERAND_H

#include <algorithm>
#include <vector>

#include "ops/linear/convolution/convolution.h"
#include "ops/linear/gemm.h"

namespace pt2::ops {

// The spatial sizes, with 1 for dimensions that a conv1d or conv2d lacks.
inline Window spatial_sizes(const Tensor& tensor, int64_t spatial) {
  Window out{1, 1, 1};
  for (int64_t i = 0; i < spatial; ++i)
    out[static_cast<size_t>(3 - spatial + i)] = tensor.size(tensor.dim() - spatial + i);
  return out;
}

inline int64_t product(const Window& window) { return window[0] * window[1] * window[2]; }

// Position number `k` of a window of these sizes.
inline Window place_in(const Window& kernel, int64_t k) {
  return {k / (kernel[1] * kernel[2]), k / kernel[2] % kernel[1], k % kernel[2]};
}

// The indices i of one dimension for which i * stride + offset is a valid index of the other
// dimension.
struct IndexRange {
  int64_t begin, end;
};
inline IndexRange range_within(int64_t in, int64_t out, int64_t stride, int64_t offset) {
  // A sum of offset and stride could overflow, because strides may be any int64.
  const int64_t begin = offset >= 0 ? 0 : (-offset - 1) / stride + 1;
  const int64_t end = offset >= out ? 0 : (out - offset - 1) / stride + 1;
  return {begin, std::min(in, end)};
}

// Finds the positions that kernel position `k` connects between `narrow` (the output, or the input
// of a transposed convolution) and `wide`. Calls visit(i, j, count) for each row of such positions,
// which begins at element i of `narrow` and element j of `wide`. In `wide`, the positions are a
// stride apart.
template <class Visit>
void join_rows(const Window& narrow, const Window& wide, const Window& k,
               const ConvolutionShape& shape, const Visit& visit) {
  Window offset;
  std::array<IndexRange, 3> ranges;
  for (size_t dim = 0; dim < 3; ++dim) {
    offset[dim] = k[dim] * shape.dilation[dim] - shape.padding[dim];
    ranges[dim] = range_within(narrow[dim], wide[dim], shape.stride[dim], offset[dim]);
  }
  const auto [begin, end] = ranges[2];
  if (begin >= end) return;
  for (int64_t d = ranges[0].begin; d < ranges[0].end; ++d)
    for (int64_t h = ranges[1].begin; h < ranges[1].end; ++h) {
      const int64_t row =
          (d * shape.stride[0] + offset[0]) * wide[1] + h * shape.stride[1] + offset[1];
      visit((d * narrow[1] + h) * narrow[2] + begin,
            row * wide[2] + begin * shape.stride[2] + offset[2], end - begin);
    }
}

// A line is an output position, the depth is (channel, kernel position). The element is the input
// under that kernel position, or zero in the padding.
template <class C>
class WindowOperand : public GemmOperand<C> {
 public:
  WindowOperand(const C* input, const Window& input_sizes, const Window& output_sizes,
                const Window& kernel, const ConvolutionShape& shape)
      : input_(input), in_(input_sizes), out_(output_sizes), kernel_(kernel), shape_(shape) {}

  void load(int64_t first_line, int64_t lines, int64_t first_k, int64_t depth, int64_t width,
            C* panel) const override {
    // The lines in runs of positions that differ in the last dimension alone.
    struct Run {
      int64_t begin, count;
      Window position;
    };
    std::vector<Run> runs;
    for (int64_t line = 0; line < lines; line += runs.back().count) {
      const Window at = place_in(out_, first_line + line);
      runs.push_back({line, std::min(lines - line, out_[2] - at[2]), at});
    }
    const int64_t area = product(kernel_);
    for (int64_t k = 0; k < depth; ++k) {
      const Window offset = place_in(kernel_, (first_k + k) % area);
      const C* channel = input_ + (first_k + k) / area * product(in_);
      for (const Run& run : runs)
        load_run(channel, run.position, offset, run.count, panel + k * width + run.begin);
    }
  }

 private:
  // The input index along one dimension; -1 in the padding.
  int64_t source(size_t dim, int64_t out_index, int64_t tap) const {
    const int64_t index =
        out_index * shape_.stride[dim] - shape_.padding[dim] + tap * shape_.dilation[dim];
    return index >= 0 && index < in_[dim] ? index : -1;
  }

  // The elements under one kernel position for `count` output positions from `position` on.
  void load_run(const C* channel, const Window& position, const Window& tap, int64_t count,
                C* to) const {
    const int64_t depth = source(0, position[0], tap[0]), height = source(1, position[1], tap[1]);
    if (depth < 0 || height < 0) {
      std::fill_n(to, count, C(0));
      return;
    }
    const C* row = channel + (depth * in_[1] + height) * in_[2];
    const int64_t first = source(2, position[2], tap[2]);
    const int64_t last = source(2, position[2] + count - 1, tap[2]);
    if (first >= 0 && last >= 0) {
      const int64_t step = shape_.stride[2];
      row += first;
      if (step == 1)
        for (int64_t i = 0; i < count; ++i) to[i] = row[i];
      else
        for (int64_t i = 0; i < count; ++i) to[i] = row[i * step];
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = source(2, position[2] + i, tap[2]);
      to[i] = at < 0 ? C(0) : row[at];
    }
  }

  const C* input_;
  Window in_;
  Window out_;
  Window kernel_;
  const ConvolutionShape& shape_;
};

// An operand with lines and depth swapped.
template <class C>
class TransposedOperand : public GemmOperand<C> {
 public:
  explicit TransposedOperand(const GemmOperand<C>& operand) : operand_(operand) {}
  void load(int64_t first_line, int64_t lines, int64_t first_k, int64_t depth, int64_t width,
            C* panel) const override {
    std::vector<C> turned(static_cast<size_t>(lines * depth));
    operand_.load(first_k, depth, first_line, lines, depth, turned.data());
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t line = 0; line < lines; ++line)
        panel[k * width + line] = turned[static_cast<size_t>(line * depth + k)];
  }

 private:
  const GemmOperand<C>& operand_;
};

}  // namespace pt2::ops

#endif  // PT2_OPS_LINEAR_CONVOLUTION_WINDOW_OPERAND_H
