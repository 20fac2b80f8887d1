// The windows of a convolution as an operand of a matrix product, gathered while packing.
#ifndef PT2_OPS_LINEAR_CONVOLUTION_WINDOW_OPERAND_H
#define PT2_OPS_LINEAR_CONVOLUTION_WINDOW_OPERAND_H

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
    std::vector<Window> positions(static_cast<size_t>(lines));
    for (int64_t line = 0; line < lines; ++line) {
      const int64_t position = first_line + line;
      positions[static_cast<size_t>(line)] = {position / (out_[1] * out_[2]),
                                              position / out_[2] % out_[1], position % out_[2]};
    }
    const int64_t area = product(kernel_);
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t tap = (first_k + k) % area;
      const Window offset{tap / (kernel_[1] * kernel_[2]), tap / kernel_[2] % kernel_[1],
                          tap % kernel_[2]};
      const C* channel = input_ + (first_k + k) / area * product(in_);
      for (int64_t line = 0; line < lines; ++line)
        panel[k * width + line] = element(channel, positions[static_cast<size_t>(line)], offset);
    }
  }

 private:
  // The input index along one dimension; -1 in the padding.
  int64_t source(size_t dim, int64_t out_index, int64_t tap) const {
    const int64_t index =
        out_index * shape_.stride[dim] - shape_.padding[dim] + tap * shape_.dilation[dim];
    return index >= 0 && index < in_[dim] ? index : -1;
  }

  C element(const C* channel, const Window& position, const Window& tap) const {
    int64_t index = 0;
    for (size_t dim = 0; dim < 3; ++dim) {
      const int64_t at = source(dim, position[dim], tap[dim]);
      if (at < 0) return C(0);
      index = index * in_[dim] + at;
    }
    return channel[index];
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
