// The windows of a convolution as an operand of a matrix product, gathered while packing.
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
      const int64_t position = first_line + line;
      const Window at{position / (out_[1] * out_[2]), position / out_[2] % out_[1],
                      position % out_[2]};
      runs.push_back({line, std::min(lines - line, out_[2] - at[2]), at});
    }
    const int64_t area = product(kernel_);
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t tap = (first_k + k) % area;
      const Window offset{tap / (kernel_[1] * kernel_[2]), tap / kernel_[2] % kernel_[1],
                          tap % kernel_[2]};
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
