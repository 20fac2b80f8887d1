// Matrix products of any dtype, blocked for the cache. This is the plain one: the referee of faster
// ones.
#ifndef PT2_OPS_LINEAR_GEMM_H
#define PT2_OPS_LINEAR_GEMM_H

#include <cstddef>
#include <cstdint>

#include "ops/convert.h"
#include "pt2/tensor.h"

namespace pt2::ops {

// An operand of a product: `lines` (rows of the left matrix, columns of the right one), each as
// long as the product is deep.
template <class C>
class GemmOperand {
 public:
  virtual ~GemmOperand() = default;
  // panel[k * width + line] = element `first_k + k` of line `first_line + line`, for line < lines
  // and k < depth. Entries with line >= lines are left alone.
  virtual void load(int64_t first_line, int64_t lines, int64_t first_k, int64_t depth,
                    int64_t width, C* panel) const = 0;
};

// The two dimensions of a view; any strides, any dtype.
template <class C>
class MatrixOperand : public GemmOperand<C> {
 public:
  MatrixOperand(const std::byte* data, Dtype dtype, int64_t line_stride, int64_t depth_stride)
      : data_(data), dtype_(dtype), line_stride_(line_stride), depth_stride_(depth_stride) {}
  void load(int64_t first_line, int64_t lines, int64_t first_k, int64_t depth, int64_t width,
            C* panel) const override;

 private:
  const std::byte* data_;
  Dtype dtype_;
  int64_t line_stride_;
  int64_t depth_stride_;
};

// An operand from one of its lines on.
template <class C>
class LinesFrom : public GemmOperand<C> {
 public:
  LinesFrom(const GemmOperand<C>& operand, int64_t begin) : operand_(operand), begin_(begin) {}
  void load(int64_t first_line, int64_t lines, int64_t first_k, int64_t depth, int64_t width,
            C* panel) const override {
    operand_.load(begin_ + first_line, lines, first_k, depth, width, panel);
  }

 private:
  const GemmOperand<C>& operand_;
  int64_t begin_;
};

// out[i, j] = sum over k of left line i times right line j. Elements of `out` lie row_stride and
// column_stride apart. C is float, double, int64_t or Complex. Floats are summed in runs of 16,
// these in double within panels of 128, and the panels in float: the error is below that of one
// float sum along `depth`.
template <class C>
void gemm(int64_t rows, int64_t columns, int64_t depth, const GemmOperand<C>& left,
          const GemmOperand<C>& right, C* out, int64_t row_stride, int64_t column_stride);

}  // namespace pt2::ops

#endif  // PT2_OPS_LINEAR_GEMM_H
